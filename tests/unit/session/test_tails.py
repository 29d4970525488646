import pytest

from support.fake_twins import FakeTwin
from support.refused import has
from tdelta._native import histogram_of
from tdelta.records import Measurement, RunResult, TailMeasure
from tdelta.store import Store

from .conducting import Sitting


@pytest.fixture
def slow_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fake twins whose trials have histograms: of a hundred transactions 5 take 30 ms, of an encrypted twin 9."""
    measure = FakeTwin._measurement

    def with_histograms(twin: FakeTwin, *given: object) -> Measurement:
        measured = measure(twin, *given)  # type: ignore[arg-type]
        slow = 5 if twin.settings.cipher == "none" else 9
        measured.histograms.update(  # type: ignore[attr-defined]
            {"tx:work": histogram_of([5_000_000, 30_000_000], [100 - slow, slow])}
        )
        return measured

    monkeypatch.setattr(FakeTwin, "_measurement", with_histograms)


def quotients(result: RunResult) -> list[float | None]:
    return [m.exceedance.quotient for m in result.of(TailMeasure) if m.exceedance is not None]


@pytest.mark.usefixtures("slow_ones")
def test_a_threshold_is_answered_stored_and_decides_nothing(sitting: Sitting) -> None:
    result = sitting.conduct(latency_limit_seconds=0.02)
    assert quotients(result) == [pytest.approx(1.0), pytest.approx(9 / 5)]
    assert not any("--latency-limit" in caution for caution in map(str, result.cautions))
    with Store.open(sitting.store) as store:
        stored = store.result(store.resolve("last"))
    assert stored == result
    assert result.settings.options["latency_limit_seconds"] == 0.02
    assert result.decision == sitting.conduct().decision


@pytest.mark.usefixtures("slow_ones")
def test_a_run_that_goes_on_answers_the_threshold_it_began_with(sitting: Sitting, monkeypatch) -> None:
    def give_up(*_: object, **__: object) -> None:
        raise OSError("oh")

    with monkeypatch.context() as patched:
        patched.setattr("tdelta.session.run.assemble", give_up)
        with pytest.raises(OSError, match="oh"):
            sitting.conduct(latency_limit_seconds=0.02)
    assert quotients(sitting.resume()) == [pytest.approx(1.0), pytest.approx(9 / 5)]


@pytest.mark.usefixtures("slow_ones")
def test_without_a_threshold_and_with_few_blocks_there_are_percentiles_alone(sitting: Sitting) -> None:
    (found,) = sitting.conduct().of(TailMeasure)
    assert (found.transaction, found.exceedance, found.p99) == ("all", None, None)
    assert {one.quantile for one in found.percentiles} <= {0.95, 0.99}
    assert found.percentiles


def test_a_load_without_single_response_times_has_no_answer_and_says_so(sitting: Sitting) -> None:
    result = sitting.conduct(latency_limit_seconds=0.02)
    assert result.of(TailMeasure) == ()
    assert has(result.cautions, "latency-limit-no-times")
