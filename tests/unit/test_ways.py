"""How many modules a value passes through on its way: few, since each is one more to know."""

from pathlib import Path

import pytest

from support.ways import Ways, environment
from tdelta.cli.main import main
from tdelta.session import RunRequest, conduct
from tdelta.store import Store

CIPHER = "aes-128"
MOST_OF_LEVEL = 22
MOST_OF_TIME = 20
MOST_OF_FIGURE = 13


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


def test_an_importers_number_passes_through_few_modules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """How many values a summary counts, from the file to the printed answer."""
    counts = {"plain": 7_000_001, "tde": 7_000_101}
    file = tmp_path / "results.csv"
    rows = (f"{condition},{count},5.0,2.0\n" for condition, count in counts.items())
    file.write_text("condition,n,mean_ms,sd\n" + "".join(rows), encoding="utf-8")
    ways = Ways(CIPHER)
    ways.start()
    try:
        with pytest.raises(SystemExit):
            main(["analyze", str(file), "--json"])
    finally:
        ways.stop()
    printed = capsys.readouterr().out
    assert all(str(count) in printed for count in counts.values())
    found = ways.of_number(counts.values())
    assert {"tdelta.importers.csv_rows", "tdelta.report.document"} <= found, "traced from the file to the answer"
    assert len(found) <= MOST_OF_FIGURE, "\n".join(sorted(found))
