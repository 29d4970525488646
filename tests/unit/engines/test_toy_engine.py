"""A toy engine is one folder (tests/toys) and one registry line: embedded, or a server that a DSN names."""

import contextlib
import json
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tdelta.cli.main import main
from tdelta.engines import registry

TOYS = Path(__file__).parents[2] / "toys"
WORK = ["--workload", "point-select", "--size", "200kB", "--trial-time", "0.02s", "--rounds", "2..2", "--seed", "5"]
WORK += ["--max-time", "10m"]  # as long as a busy machine needs
Call = Callable[..., str]


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.ENGINES, "toy", "toy_engine")  # the line
    monkeypatch.setitem(registry.ENGINES, "toyserver", "toy_server")
    monkeypatch.syspath_prepend(TOYS)
    monkeypatch.setenv("PYTHONPATH", ":".join((str(TOYS), *filter(None, sys.path))))  # of its workers


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def called(*arguments: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        written = capsys.readouterr()
        assert ended.value.code in (0, 3), written.err
        return written.out

    return called


def without_failures(out: str) -> Any:
    result = json.loads(out)
    failed = [one for one in result["validity"] if one["state"] == "failed"]
    assert not failed
    return result


@pytest.mark.parametrize("toy", ["toy_engine", "toy_server"])
def test_a_toy_is_small(toy: str) -> None:
    assert sum(len(file.read_text().splitlines()) for file in (TOYS / toy).glob("*.py")) <= 300


def test_a_toy_engine_is_run_end_to_end(tmp_path: Path, call: Call) -> None:
    where = ("--store", str(tmp_path / "runs.sqlite"))
    out = call("run", "--engine", "toy", *WORK, *where, "--dir", str(tmp_path / "twins"), "--json")
    result = without_failures(out)
    assert result["settings"]["engine"] == "toy"
    assert result["versions"]["toy"] == "1"
    states = {(one["condition"]["cipher"], one["file_class"]): one["state"] for one in result["evidence"]}
    assert (states["none", "database"], states["xor", "database"]) == ("plain", "encrypted")
    judged = next(one for one in result["verdicts"] if one["metric"] == "response_time")
    assert judged["condition"] == {"cipher": "xor", "threads": 1}
    call("report", "last", *where, "--output", str(tmp_path / "page.html"))
    assert "xor" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_two_toy_servers_are_run_end_to_end_and_nothing_is_left_there(tmp_path: Path, call: Call) -> None:
    for name, encryption in (("plain", "off"), ("tde", "on")):
        (tmp_path / name).mkdir()
        with contextlib.closing(sqlite3.connect(tmp_path / name / "server.db", isolation_level=None)) as server:
            server.execute("CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT)")
            server.execute("INSERT INTO settings VALUES ('encryption', ?)", (encryption,))
    dsns = {name: f"toyserver://me@/?socket={tmp_path / name}" for name in ("plain", "tde")}
    where = ("--store", str(tmp_path / "runs.sqlite"))
    out = call("run", "--baseline", dsns["plain"], "--encrypted", dsns["tde"], *WORK, *where, "--json")
    result = without_failures(out)
    assert result["settings"]["engine"] == "toyserver"
    assert {one["metric"] for one in result["verdicts"]} >= {"response_time"}
    call("report", "last", *where, "--output", str(tmp_path / "page.html"))
    assert "Toy Server" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.glob("*/*.db")] == ["server.db", "server.db"]
