"""A toy engine is one folder (tests/toys/toy_engine) and one registry line: rows, twins, evidence, answer, page."""

import json
import sys
from pathlib import Path

import pytest

from tdelta.cli.main import main
from tdelta.engines import registry

TOYS = Path(__file__).parents[2] / "toys"
WORK = ["--workload", "point-select", "--size", "200kB", "--trial-time", "0.02s", "--rounds", "2..2", "--seed", "5"]
WORK += ["--max-time", "10m"]  # as long as a busy machine needs


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.ENGINES, "toy", "toy_engine")  # the line
    monkeypatch.syspath_prepend(TOYS)
    monkeypatch.setenv("PYTHONPATH", ":".join((str(TOYS), *filter(None, sys.path))))  # of its workers


def test_a_toy_engine_is_small() -> None:
    assert sum(len(file.read_text().splitlines()) for file in (TOYS / "toy_engine").glob("*.py")) <= 300


def test_a_toy_engine_is_run_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def call(*arguments: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        written = capsys.readouterr()
        assert ended.value.code in (0, 3), written.err
        return written.out

    where = ("--store", str(tmp_path / "runs.sqlite"))
    out = call("run", "--engine", "toy", *WORK, *where, "--dir", str(tmp_path / "twins"), "--json")
    result = json.loads(out)
    assert result["settings"]["engine"] == "toy"
    assert result["versions"]["toy"] == "1"
    failed = [one for one in result["validity"] if one["state"] == "failed"]
    assert not failed
    states = {(one["condition"]["cipher"], one["file_class"]): one["state"] for one in result["evidence"]}
    assert (states["none", "database"], states["xor", "database"]) == ("plain", "encrypted")
    judged = next(one for one in result["verdicts"] if one["metric"] == "response_time")
    assert judged["condition"] == {"cipher": "xor", "threads": 1}
    call("report", "last", *where, "--output", str(tmp_path / "page.html"))
    assert "xor" in (tmp_path / "page.html").read_text(encoding="utf-8")
