"""How many modules a value passes through on its way: few, since each is one more to know."""

import pytest

from support.ways import Ways, environment
from tdelta.session import RunRequest, conduct
from tdelta.store import Store

CIPHER = "aes-128"
MOST_OF_LEVEL = 22
MOST_OF_TIME = 22


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ways, list[int]]:
    """A short run on SQLite, its workers traced as well; the ways, and the times of its trials in nanoseconds."""
    folder = tmp_path_factory.mktemp("ways")
    store = folder / "runs.db"
    ways = Ways(CIPHER)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(folder, CIPHER).items():
            patch.setenv(name, value)
        ways.start()
        try:
            result = conduct(
                RunRequest(
                    vary={"cipher": (CIPHER,)},
                    size_bytes=3_000_000,
                    trial_seconds=0.1,
                    blocks_per_round=2,
                    min_rounds=1,
                    max_rounds=1,
                    directory=folder,
                    store=store,
                    use_calibration=False,
                ),
                lambda _event: None,
            )
        finally:
            ways.stop()
    ways.add(folder)
    with Store.open(store) as opened:
        times = [trial.measurement.elapsed_ns for trial in opened.trials(result.settings.run_id)]
    return ways, times


def test_a_level_passes_through_few_modules(traced: tuple[Ways, list[int]]) -> None:
    ways, _ = traced
    assert len(ways.of_level) <= MOST_OF_LEVEL, "\n".join(sorted(ways.of_level))


def test_a_trials_time_passes_through_few_modules(traced: tuple[Ways, list[int]]) -> None:
    ways, times = traced
    found = ways.of_number(times)
    assert {"tdelta.processes.worker_host", "tdelta.store.rows"} <= found, "processes are traced from worker to store"
    assert len(found) <= MOST_OF_TIME, "\n".join(sorted(found))
