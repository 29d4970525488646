"""SQL*Loader is told nothing on its command line, and believed only if its log has both times."""

import os
from pathlib import Path

import pytest

from tdelta.engines.oracle.loader import load
from tdelta.processes.dbapi import ClientError

OPTIONS = {"user": "bench", "password": "p@ss w", "host": "db1", "port": 1521, "database": "PDB1"}
TIMES = """
Elapsed time was:     01:02:03.50
CPU time was:         00:00:07.25    (May not include ORACLE CPU time)
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of that name, which keeps what it is told and does what the test appends."""
    path = tmp_path / "sqlldr"
    path.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/words\ncp {tmp_path}/rows.par {tmp_path}/kept\n')
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return path


def does(program: Path, text: str) -> None:
    program.write_text(program.read_text() + text)


def loaded(folder: Path) -> tuple[float, float]:
    found = load(OPTIONS, "S.T", ["a", "b"], folder / "rows.csv")
    return found.elapsed_seconds, found.cpu_seconds


def test_a_load_took_what_its_log_says(program: Path, tmp_path: Path) -> None:
    does(program, f"cat >{tmp_path}/rows.log <<END{TIMES}END\n")
    assert loaded(tmp_path) == (3723.5, 7.25)
    given = dict(line.split("=", 1) for line in (tmp_path / "kept").read_text().splitlines())
    assert given["userid"] == 'bench/"p@ss w"@//db1:1521/PDB1'
    assert (given["direct"], given["parallel"], given["errors"]) == ("true", "false", "0")
    assert "p@ss" not in (tmp_path / "words").read_text()
    assert not (tmp_path / "rows.par").exists()
    control = (tmp_path / "rows.ctl").read_text()
    assert f"INFILE '{tmp_path}/rows.csv' APPEND INTO TABLE S.T" in control
    assert "(a CHAR(4000) NULLIF a=X'5C4E', b CHAR(4000) NULLIF b=X'5C4E')" in control


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("echo 'SQL*Loader-704: Internal error: ulconnect'; exit 1\n", "status 1: SQL*Loader-704: Internal error"),
        ("exit 0\n", "status 0: its log"),
    ],
)
def test_a_load_that_failed_or_whose_log_says_nothing_is_a_failure(
    program: Path, tmp_path: Path, text: str, why: str
) -> None:
    does(program, text)
    with pytest.raises(ClientError) as failed:
        loaded(tmp_path)
    assert why in str(failed.value)
    assert "p@ss" not in str(failed.value)
    assert not (tmp_path / "rows.par").exists()


def test_what_a_killed_run_left_is_no_reason_to_fail_and_not_believed(program: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.par").write_text("userid=old")
    (tmp_path / "rows.log").write_text(TIMES)
    does(program, "exit 0\n")
    with pytest.raises(ClientError, match="has no elapsed and CPU time"):
        loaded(tmp_path)
    assert "old" not in (tmp_path / "kept").read_text()
    assert not (tmp_path / "rows.par").exists()


def test_a_program_that_does_not_end_is_ended(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdelta.engines.oracle.loader._LONGEST_SECONDS", 0.2)
    does(program, "exec sleep 60\n")
    with pytest.raises(ClientError, match="did not end within") as failed:
        loaded(tmp_path)
    assert failed.value.kind == "endless"
