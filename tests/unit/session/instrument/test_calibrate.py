"""A calibration from its runs to its row in the store, and the runs that begin with it; all on fake twins."""

import itertools
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.fake_twins import FakeTwin, FakeTwins, Script
from support.refused import Part, has
from tdelta.design import stream
from tdelta.errors import UsageError
from tdelta.inference.instrument import calibration as simulation
from tdelta.processes.jobs import TrialJob
from tdelta.records import MachineCalibration, Measurement, Phase, Role, RunResult
from tdelta.session import RunRequest, calibration_lookup
from tdelta.session.calibration_lookup import key_of
from tdelta.session.instrument.calibrate import calibrate_machine
from tdelta.session.run_plan import plan
from tdelta.store import RunStatus, Store
from tdelta.store.store import add_calibration, newest_calibration

from ..conducting import Sitting

OPTIONS = {"workload": "point-select", "size_bytes": 1_000_000, "blocks_per_round": 3}


@pytest.fixture(autouse=True, scope="module")
def few_experiments() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation, "_EXPERIMENTS", 20)
        yield


def lucky(sd: float = 0.002, noise: float = 0.005) -> Callable[[FakeTwin, TrialJob], float]:
    """Instances that keep some luck, trials that have some noise; only injected twins cost more."""

    def cost_ns(twin: FakeTwin, job: TrialJob) -> float:
        instance_effect = stream(job.seed, f"luck {twin.name}").normal(0.0, sd)
        noisy = stream(job.seed, f"noise {twin.name}", job.stream).normal(0.0, noise)
        return 100_000.0 * (1.0 + float(instance_effect) + float(noisy))

    return cost_ns


class Place:
    def __init__(self, base: Path, **script: Any) -> None:
        self.sitting = Sitting(base, FakeTwins(Script(**{"cost_ns": lucky(), **script})))

    def request(self, **options: Any) -> RunRequest:
        given = {"seed": 3, "directory": self.sitting.base / "twins", "store": self.sitting.store, "max_seconds": 120.0}
        return RunRequest(**{**given, **OPTIONS, **options})

    def calibrate(self, **options: Any) -> MachineCalibration:
        twins = self.sitting.twins
        return calibrate_machine(self.request(**options), self.sitting.events.append, make_twins=twins, now=twins.clock)

    def run(self, **options: Any) -> RunResult:
        return self.sitting.conduct(**{**OPTIONS, **options})


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, MachineCalibration]:
    """A calibration of two minutes, for tests that only read it and its store."""
    made = Place(tmp_path_factory.mktemp("filled"))
    return made, made.calibrate()


@pytest.fixture(scope="module")
def brief(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, MachineCalibration]:
    """The store of a calibration of half a minute, and what that found."""
    made = Place(tmp_path_factory.mktemp("brief"))
    found = made.calibrate(max_seconds=30.0)
    return made.sitting.store, found


@pytest.fixture
def known(place: Place, brief: tuple[Path, MachineCalibration]) -> MachineCalibration:
    """The content of ``place``'s store before the test begins."""
    store, found = brief
    shutil.copy(store, place.sitting.store)
    return found


def test_a_calibration_fills_its_time_with_whole_runs_and_keeps_them(filled: tuple[Place, MachineCalibration]) -> None:
    place, found = filled
    assert place.sitting.twins.clock() <= 120.0
    assert len(found.run_ids) >= 3
    with Store.open(place.sitting.store) as store:
        results = [store.result(run_id) for run_id in found.run_ids]
        assert {store.status(run_id) for run_id in found.run_ids} == {RunStatus.DONE}
    assert [result.counts.rounds for result in results] == [3] * len(results)
    assert len({result.settings.seed for result in results}) == len(results)
    roles = [condition.role for condition in results[0].settings.conditions]
    assert roles == [Role.BASELINE, Role.AA, Role.IDENTICAL, Role.INJECTED]


def test_a_calibration_is_in_the_store_under_what_a_run_must_have_in_common(
    filled: tuple[Place, MachineCalibration],
) -> None:
    place, found = filled
    with Store.open(place.sitting.store) as store:
        assert newest_calibration(store, found.key, since_unix_seconds=0.0) == found


def test_what_was_scripted_is_found(place: Place) -> None:
    found = place.calibrate(max_seconds=200.0)
    assert found.is_valid
    responses = found.noise[0]
    assert responses.metric == "response_time"
    assert responses.trial_sd == pytest.approx(0.005, rel=0.3)
    assert responses.instance_sd_interval[0] < 0.002 < responses.instance_sd_interval[1]
    assert found.identical.false_calls.count == 0
    (of_time, of_cpu) = found.injected
    assert of_time.actual == pytest.approx(1.025, abs=0.002)
    assert of_cpu.actual == pytest.approx(1.05, abs=0.002)
    assert abs(of_time.bias) < 0.005
    assert found.minimum_detectable_effect[0].minutes == 5.0
    assert found.minimum_detectable_effect[0].critical_log_ratio is not None


def test_the_same_seed_calibrates_the_same(tmp_path: Path) -> None:
    one, other = (Place(tmp_path / name) for name in ("one", "other"))
    for made in (one, other):
        made.sitting.base.mkdir()
    first, second = (made.calibrate(max_seconds=60.0) for made in (one, other))
    assert (first.noise, first.identical, first.minimum_detectable_effect) == (
        second.noise,
        second.identical,
        second.minimum_detectable_effect,
    )


def test_every_injected_cost_has_a_twin_and_5_percent_is_the_default(place: Place, known: MachineCalibration) -> None:
    assert {tally.injected for tally in known.injected} == {0.05}
    assert {tally.injected for tally in place.calibrate(max_seconds=30.0, inject=(0.02, 0.2)).injected} == {0.02, 0.2}


def test_a_first_run_that_had_time_for_fewer_rounds_is_one_and_that_is_said(known: MachineCalibration) -> None:
    assert len(known.run_ids) == 1
    assert any(caution.startswith("1 run: ") for caution in map(str, known.cautions))


def test_progress_says_which_run_it_is(filled: tuple[Place, MachineCalibration]) -> None:
    place, _ = filled
    said = [e.detail for e in place.sitting.events if isinstance(e, Phase) and e.name == "calibrate"]
    assert said[0] == "run 1"
    assert any(text.startswith("run 2 of ") for text in said)


class DearerThird(FakeTwins):
    """The third twin of every block, which is the judged plain one, costs a tenth more."""

    def block(self, entries: Any, order: Any) -> tuple[Measurement, ...]:
        measured = super().block(entries, order)
        return tuple(_dearer(m) if at == 2 else m for at, m in enumerate(measured))


def _dearer(measured: Measurement) -> Measurement:
    spans = {name: replace(s, total_ns=round(1.1 * s.total_ns)) for name, s in measured.transactions.items()}
    return replace(measured, transactions=spans, elapsed_ns=round(1.1 * measured.elapsed_ns))


def test_an_instrument_that_calls_identical_twins_different_is_invalid(tmp_path: Path) -> None:
    biased = Place(tmp_path)
    biased.sitting.twins = DearerThird(Script(cost_ns=lucky()))
    found = biased.calibrate(max_seconds=80.0)
    assert not found.is_valid
    assert has(found.faults[:1], "false-calls", count=3, of=3)
    result = biased.run()
    assert result.settings.calibration is None
    assert has(result.cautions, "calibration-invalid", calibration=found.calibration_id)


def test_a_run_that_fails_a_check_makes_the_calibration_invalid(tmp_path: Path) -> None:
    numbers = itertools.count()

    def rows(_settings: Any, tables: Any, trials: int) -> Any:
        """The same before the first trial, different afterwards."""
        return {table: (next(numbers) if trials else 1000, "5eed" * 8) for table, _ in tables}

    found = Place(tmp_path, rows=rows).calibrate(max_seconds=30.0)
    assert has([found.faults[0]], "check-failed-in-runs", failed=1, runs=1, check=Part("rows"))
    assert (found.noise, found.minimum_detectable_effect) == ((), ())


def test_ctrl_c_ends_with_the_runs_that_have_their_answer(tmp_path: Path) -> None:
    blocks: list[TrialJob] = []

    def press_in_the_second_run(_twin: FakeTwin, job: TrialJob) -> None:
        if job.stream < 1 << 40:
            blocks.append(job)
            if len({j.seed for j in blocks}) == 2 and len(blocks) == 45:
                signal.raise_signal(signal.SIGINT)

    found = Place(tmp_path, before_trial=press_in_the_second_run).calibrate(max_seconds=1000.0)
    assert (found.interrupted, len(found.run_ids)) == (True, 1)
    assert any("interrupted" in caution for caution in map(str, found.cautions))


def test_ctrl_c_before_the_first_answer_is_no_calibration(tmp_path: Path) -> None:
    def press(_twin: FakeTwin, job: TrialJob) -> None:
        if job.stream == 1:
            signal.raise_signal(signal.SIGINT)

    stopped = Place(tmp_path, before_trial=press)
    with pytest.raises(KeyboardInterrupt):
        stopped.calibrate()


def test_what_has_no_place_in_a_calibration_is_named_at_once(place: Place) -> None:
    with pytest.raises(UsageError) as fault:
        place.calibrate(budget=0.05, vary={"threads": (1, 2)}, study="order-entry")
    assert all(name in str(fault.value) for name in ("STUDY", "--vary", "--budget"))
    assert not place.sitting.store.exists()


# Runs that begin with it


def test_a_run_that_matches_begins_with_the_calibration_and_is_narrower_for_it(place: Place) -> None:
    before = place.run()
    found = place.calibrate(max_seconds=80.0)
    after = place.run()
    assert before.settings.calibration is None
    assert after.settings.calibration == found.used()
    widths = [v.ratio.hdi95[1] - v.ratio.hdi95[0] for result in (before, after) for v in result.primary]
    assert widths[1] < widths[0]


@pytest.mark.usefixtures("known")
def test_no_calibration_leaves_it_out(place: Place) -> None:
    assert place.run(use_calibration=False).settings.calibration is None
    assert place.run().settings.calibration is not None


@pytest.mark.usefixtures("known")
def test_runs_of_a_calibration_never_begin_with_an_earlier_one(place: Place) -> None:
    (run_id,) = place.calibrate(max_seconds=30.0).run_ids
    with Store.open(place.sitting.store) as store:
        assert store.settings(run_id).calibration is None


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        {"threads": 2},
        {"cache": 0.2},
        {"page_size": 8192},
        {"synchronous": "full"},
        {"temp_store": "memory"},
        {"trial_seconds": 0.5},
        {"warmup_seconds": 0.1},
        {"size_bytes": 2_000_000},
        {"workload": "read-only"},
        {"rate": 400.0},
        {"vary": {"cipher": ("aes-256",), "threads": (1, 2)}},
    ],
    ids=str,
)
@pytest.mark.usefixtures("known")
def test_a_run_of_other_work_or_other_trials_does_not_match(place: Place, options: dict[str, Any]) -> None:
    assert place.run(**options).settings.calibration is None


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        {"tolerance": 0.01},
        {"budget": 0.05},
        {"blocks_per_round": 2},
        {"max_rounds": 3},
        {"seed": 99},
        {"page_size": 4096},
        {"self_test": True},
        {"inject": (0.1,)},
        {"vary": {"cipher": ("aes-256",), "cache": (0.10,)}},
    ],
    ids=str,
)
@pytest.mark.usefixtures("known")
def test_what_does_not_change_a_plain_twins_instance_effects_may_differ(place: Place, options: dict[str, Any]) -> None:
    assert place.run(**options).settings.calibration is not None


def test_another_machine_does_not_match_and_a_host_name_is_not_asked_for(place: Place) -> None:
    made = plan(place.request(), "r")
    facts = {"cpu_model": "A", "memory_total_bytes": 8 * 2**30 - 4096, "kernel": "6.1", "load_average": [0.1]}
    here = key_of(made, facts)
    assert here is not None
    assert here.machine["memory_gib"] == 8
    assert key_of(made, {**facts, "kernel": "6.2", "load_average": [9.0]}) == here
    assert key_of(made, {**facts, "cpu_model": "B"}) != here
    assert not any("host" in name for name in here.machine)


def test_runs_that_differ_in_the_seed_alone_have_one_key(place: Place) -> None:
    one, other = (key_of(plan(place.request(seed=seed), "r"), {}) for seed in (1, 2))
    assert one == other


def test_a_run_keeps_what_it_must_have_in_common(place: Place, known: MachineCalibration) -> None:
    place.run()
    assert place.sitting.state().key == known.key


def test_a_calibration_that_is_too_old_is_not_used(
    place: Place, known: MachineCalibration, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = known.created_unix_seconds + 86_400 * (calibration_lookup.MOST_DAYS + 1)
    monkeypatch.setattr(calibration_lookup.time, "time", lambda: later)
    assert place.run().settings.calibration is None


@pytest.mark.usefixtures("known")
def test_the_newest_calibration_counts(place: Place) -> None:
    newest = place.calibrate(max_seconds=30.0, seed=4)
    assert place.run().settings.calibration == newest.used()


def test_a_resumed_run_keeps_what_it_began_with(tmp_path: Path) -> None:
    pressed: list[int] = []

    def press_once(_twin: FakeTwin, job: TrialJob) -> None:
        if job.seed == 11 and job.stream == 1 and not pressed:
            pressed.append(1)
            signal.raise_signal(signal.SIGINT)

    place = Place(tmp_path, before_trial=press_once)
    found = place.calibrate(max_seconds=30.0)
    assert place.run(seed=11).interrupted
    with Store.open(place.sitting.store) as store:
        add_calibration(store, replace(found, calibration_id="cal-later", noise=()))
    resumed = place.sitting.resume()
    assert resumed.settings.calibration == found.used()
