"""What goes wrong with Turso's encryption is seen, and no key is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tdelta.driver import Worker
from tdelta.engines.turso.engine import TursoEngine, TursoSettings, header
from tdelta.engines.turso.twins import PROGRAM
from tdelta.errors import StorageFault, TdeltaError
from tdelta.messages.checks import NO_MARKER
from tdelta.records import Decision, EvidenceState, FileEvidence
from tdelta.session import RunRequest, conduct

KEY = "5e" * 32
SETTINGS = TursoSettings("aegis-256", threads=1, cache_bytes=1 << 20)


def request(folder: Path) -> RunRequest:
    return RunRequest(
        engine="turso",
        workload="insert",
        size_bytes=1_000_000,
        trial_seconds=0.03,
        blocks_per_round=1,
        min_rounds=1,
        max_rounds=1,
        max_seconds=300.0,
        aa_twin=False,
        bb_twin=False,
        directory=folder / "twins",
        store=folder / "runs.sqlite",
    )


def changed(monkeypatch: pytest.MonkeyPatch, **changes: object) -> None:
    """Have encrypted twins be opened with other options than they are to have."""
    options = TursoEngine.options

    def given(self: TursoEngine, path: Path, settings: TursoSettings, key: str | None) -> dict[str, Any]:
        made = options(self, path, settings, key)
        return made if key is None else {**made, **changes}

    monkeypatch.setattr(TursoEngine, "options", given)


def test_a_twin_that_is_really_plain_makes_the_run_unsound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed(monkeypatch, key=None, cipher=None)
    result = conduct(request(tmp_path), lambda _event: None)
    assert result.decision is Decision.UNSOUND
    found = {check.code: check.ok for check in result.validity}
    assert (found["files-encrypted"], found["cipher-in-force"], found[NO_MARKER]) == (False,) * 3
    leaks = {one.file_class for one in result.of(FileEvidence) if one.state is EvidenceState.LEAK}
    assert leaks == {"database", "wal"}


def test_another_cipher_than_the_one_asked_for_makes_the_run_unsound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed(monkeypatch, cipher="aes256gcm")
    result = conduct(request(tmp_path), lambda _event: None)
    assert result.decision is Decision.UNSOUND
    assert [check.code for check in result.validity if not check.ok and check.makes_unsound] == ["cipher-in-force"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"key": "7f" * 32}, "ecrypt"),
        ({"key": None, "cipher": None}, "encrypted|not a database"),
        ({"key": "no key"}, "hex"),
    ],
)
def test_a_key_that_does_not_fit_is_a_clear_error_without_the_key(
    tmp_path: Path, options: dict[str, object], words: str
) -> None:
    path = tmp_path / "twin.db"
    right = TursoEngine().options(path, SETTINGS, KEY)
    with Worker(program=PROGRAM) as worker:
        worker.ask("open", options=right, connections=1)
        worker.ask("facts", queries={"made": "CREATE TABLE t (a INTEGER)"})
    assert header(path) == "cipher 3"
    with Worker(program=PROGRAM) as worker, pytest.raises(TdeltaError, match=words) as told:
        _read(worker, {**right, **options})
    assert not options["key"] or str(options["key"]) not in str(told.value)


def _read(worker: Worker, options: dict[str, object]) -> None:
    worker.ask("open", options=options, connections=1)
    worker.ask("facts", queries={"rows": "SELECT count(*) FROM t"})


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    options = TursoEngine().options(tmp_path / "nowhere" / "twin.db", SETTINGS, KEY)
    with Worker(program=PROGRAM) as worker, pytest.raises(StorageFault, match="nowhere"):
        worker.ask("open", options=options, connections=1)
