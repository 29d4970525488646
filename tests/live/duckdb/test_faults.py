"""Faults of DuckDB's encryption are seen, keys are not: wrong secrets make plain files without a word."""

import os
from pathlib import Path
from typing import Any

import pytest

from support import secrecy
from support.secrecy import seen_of, showing
from tdelta.engines.duckdb.engine import PROGRAM, DuckdbEngine, DuckdbSettings
from tdelta.errors import TdeltaError
from tdelta.processes import Worker
from tdelta.records import Decision, EvidenceState, FileEvidence, RunResult
from tdelta.session import RunRequest, conduct

keys = secrecy.keys  # a fixture

KEY = "5e" * 32
IN_FORCE = "cipher-in-force"


def request(folder: Path, **options: Any) -> RunRequest:
    given = {
        "engine": "duckdb",
        "workload": "insert",
        "size_bytes": 1_000_000,
        "trial_seconds": 0.03,
        "blocks_per_round": 1,
        "min_rounds": 1,
        "max_rounds": 1,
        "max_seconds": 300.0,
        "aa_control": False,
        "bb_control": False,
        "directory": folder / "twins",
        "store": folder / "runs.sqlite",
    }
    return RunRequest(**{**given, **options})


def applying(monkeypatch: pytest.MonkeyPatch, statement: str) -> None:
    """Have encrypted twins run one more statement before they are opened."""
    options = DuckdbEngine.options

    def given(self: DuckdbEngine, path: Path, settings: DuckdbSettings, key: str | None) -> dict:
        made = options(self, path, settings, key)
        return made if key is None else {**made, "settings": [*made["settings"], statement]}

    monkeypatch.setattr(DuckdbEngine, "options", given)


def checks(result: RunResult) -> dict[str, bool]:
    return {check.code: check.ok for check in result.validity}


def test_temporary_files_in_the_clear_make_the_run_invalid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    applying(monkeypatch, "SET temp_file_encryption = false")
    result = conduct(request(tmp_path), lambda _event: None)
    assert result.decision is Decision.INVALID
    leaks = [one for one in result.of(FileEvidence) if one.state is EvidenceState.LEAK]
    assert {one.file_class for one in leaks} == {"temp"}
    assert all(name.startswith("duckdb_temp_") for one in leaks for name in one.leaking)
    assert not checks(result)[IN_FORCE]


def opened(path: Path, key: str | None, cipher: str = "aes-256-gcm") -> None:
    options = DuckdbEngine().options(path, DuckdbSettings(cipher, engine_threads=2, working_mib=160), key)
    with Worker(program=PROGRAM) as worker:
        worker.ask("open", options=options)


@pytest.mark.parametrize("key", ["6f" * 32, None])
def test_a_wrong_key_and_no_key_are_refused_without_telling_it(tmp_path: Path, key: str | None) -> None:
    path = tmp_path / "twin.db"
    opened(path, KEY)
    with pytest.raises(TdeltaError) as raised:
        opened(path, key, "none" if key is None else "aes-256-gcm")
    told = f"{raised.value!r} {raised.value.__cause__!r}"
    assert KEY not in told
    assert key is None or key not in told


def test_a_file_that_is_no_database_is_told_without_the_key(tmp_path: Path) -> None:
    path = tmp_path / "twin.db"
    path.write_bytes(os.urandom(1_000_000))
    with pytest.raises(TdeltaError) as raised:
        opened(path, KEY)
    assert KEY not in f"{raised.value!r}"


def test_no_key_is_seen_anywhere_while_a_run_goes_on_or_after_it(tmp_path: Path, keys: list[str]) -> None:
    seen = seen_of(request(tmp_path, vary={"cipher": ("aes-256-gcm", "aes-256-ctr-mbedtls")}), tmp_path, workers=3)
    assert len(set(keys)) == 4  # those of files whose blocks are priced are drawn as well
    assert any(name.endswith("twin.db") for name, _ in seen)
    assert showing(seen, keys) == []
