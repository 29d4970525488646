"""A toy server that is reached by a DSN is one folder (tests/toys/toy_server) and one registry line."""

import json
import sqlite3
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
    monkeypatch.setitem(registry.ENGINES, "toyserver", "toy_server")  # the line
    monkeypatch.syspath_prepend(TOYS)
    monkeypatch.setenv("PYTHONPATH", ":".join((str(TOYS), *filter(None, sys.path))))  # of its workers


def server(path: Path, *, is_encrypted: bool) -> str:
    database = sqlite3.connect(path)
    database.executescript(
        f"CREATE TABLE about AS SELECT {int(is_encrypted)} AS encrypted; CREATE TABLE locks (name);"
        " CREATE TABLE schemas (name, run)"
    )
    database.close()
    return f"toyserver://me@/?socket={path}"


def test_two_toy_servers_are_compared_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    baseline = server(tmp_path / "plain", is_encrypted=False)
    encrypted = server(tmp_path / "hidden", is_encrypted=True)
    servers = ("--baseline", baseline, "--encrypted", encrypted)
    with pytest.raises(SystemExit) as ended:
        main(("run", *servers, *WORK, "--store", str(tmp_path / "runs.sqlite"), "--json"))
    written = capsys.readouterr()
    assert ended.value.code in (0, 3), written.err
    result = json.loads(written.out)
    assert result["settings"]["engine"] == "toyserver"
    assert not [one for one in result["validity"] if one["state"] == "failed"]
    judged = next(one for one in result["verdicts"] if one["metric"] == "response_time")
    assert judged["condition"] == {"cipher": "encrypted", "threads": 1}
    assert sqlite3.connect(tmp_path / "plain").execute("SELECT count(*) FROM schemas").fetchone() == (0,)
