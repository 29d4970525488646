"""The search of a run on a real database: honest twins, planted leaks, every journal, temporary files."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.codes import details, file_states
from support.refused import Part, check_messages, has
from support.running import ONCE, Answered, Place
from tdelta.engines.embedded import exposure as of_embedded
from tdelta.engines.embedded.twins import EmbeddedTwin
from tdelta.engines.sqlite import exposure
from tdelta.engines.sqlite.engine import SqliteEngine
from tdelta.evidence import MarkerHit
from tdelta.evidence.reading import ReadState, parse_markers, read_files, regular_files
from tdelta.messages.checks import FINDS, IN_FORCE, NO_MARKER, ROWS_AFTER
from tdelta.processes import TrialJob
from tdelta.records import Decision, EvidenceState, FileEvidence, RunResult, Validity
from tdelta.session import RunRequest, conduct

from .test_answers import CIPHERS, checks

PLAIN, ENCRYPTED, NOT_TESTED = EvidenceState.PLAIN, EvidenceState.ENCRYPTED, EvidenceState.NOT_TESTED


def small(folder: Path, **options: Any) -> RunRequest:
    small_run = {
        "size_bytes": 1_000_000,
        "trial_seconds": 0.03,
        "blocks_per_round": 1,
        "min_rounds": 1,
        "max_rounds": 1,
        "bb_control": False,
    }
    places = {"directory": folder / "twins", "store": folder / "runs.sqlite", "max_seconds": 300.0}
    return RunRequest(**{**small_run, **places, **options})


def run_here(folder: Path, **options: Any) -> RunResult:
    return conduct(small(folder, **options), lambda _event: None)


def check_of(result: RunResult, name: str) -> Validity:
    (found,) = [check for check in result.validity if check.code == name]
    return found


def test_a_default_run_shows_database_and_log_encrypted_and_keeps_temporary_data_in_memory(
    default_run: Answered,
) -> None:
    document = default_run.document
    assert file_states(document, "none") == {"database": PLAIN, "wal": PLAIN, "temp": NOT_TESTED}
    assert file_states(document, "aes-256") == {"database": ENCRYPTED, "wal": ENCRYPTED, "temp": NOT_TESTED}
    assert not any(one["files"] for one in document["evidence"] if one["file_class"] == "temp")
    found = checks(document)
    assert found[NO_MARKER][0] == "ok"
    assert (found[FINDS][0], found[IN_FORCE][0], found[ROWS_AFTER][0]) == ("ok", "ok", "ok")
    check_messages(details(document, FINDS), "markers-present", classes="database, wal", twins=2)
    check_messages(details(document, IN_FORCE), "cipher-seen", seen=Part("aes256cbc"))
    check_messages(details(document, ROWS_AFTER), "rows-after-rounds", rounds=2)


def test_temporary_files_are_seen_though_they_have_no_name(place: Place) -> None:
    document = place.answer("--temp-store", "file", *ONCE)
    assert file_states(document, "none")["temp"] == "plain"
    names = {name for one in document["evidence"] if one["file_class"] == "temp" for name in one["files"]}
    assert names
    assert all(name.endswith(" (unlinked)") for name in names)
    # SQLite3 Multiple Ciphers 2.6.1 encrypts temporary files; builds before its pull request 273 did not.
    assert file_states(document, "aes-256")["temp"] == "encrypted"
    assert checks(document)[NO_MARKER][0] == "ok"


def test_every_cipher_hides_the_markers_in_every_class(every_cipher: Answered) -> None:
    document = every_cipher.document
    hidden = {"database": "encrypted", "wal": "encrypted", "temp": "encrypted"}
    assert {cipher: file_states(document, cipher) for cipher in CIPHERS} == dict.fromkeys(CIPHERS, hidden)
    assert checks(document)[IN_FORCE][0] == "ok"


def test_the_trial_under_search_is_no_trial_of_the_run_and_temporary_data_in_memory_leaves_no_file(
    place: Place,
) -> None:
    document = place.answer("--threads", "2", "--temp-store", "memory", *ONCE)
    assert file_states(document, "aes-256")["temp"] == NOT_TESTED
    assert document["counts"]["trials"] == len(place.trials()) == 2 * 3
    assert file_states(document, "aes-256")["database"] == "encrypted"


def test_a_twin_that_is_really_plain_makes_the_run_invalid_and_names_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteEngine, "needs_key", staticmethod(lambda _cipher: False))
    result = run_here(tmp_path, aa_control=False)
    assert result.decision is Decision.INVALID
    leaks = [one for one in result.of(FileEvidence) if one.state is EvidenceState.LEAK]
    assert {one.file_class for one in leaks} == {"database", "wal"}
    check = check_of(result, NO_MARKER)
    assert check.failed
    first = {"files": leaks[0].leaking[0], "file_class": "database", "condition": leaks[0].condition.key}
    assert has(check.details, "plaintext-found", **first)
    assert leaks[0].leaking[0].endswith(".db")
    assert any(leaks[0].leaking[0] in reason.text for verdict in result.primary for reason in verdict.reasons)
    assert not check_of(result, IN_FORCE).ok


def test_a_temporary_file_in_the_clear_makes_the_run_invalid_and_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a build would spill that keeps sorts in files and does not encrypt them."""
    look = exposure.SqliteExposure.scan
    held = []

    def spilling(self: exposure.SqliteExposure) -> None:
        if not self._database.read_bytes().startswith(b"SQLite"):
            spilled = self._database.with_name(f"{self._database.name}-etilqs_spill")
            spilled.write_bytes(os.urandom(4000) + self._needles[3] + os.urandom(4000))
            held.append(spilled.name)
        look(self)

    monkeypatch.setattr(exposure.SqliteExposure, "scan", spilling)
    result = run_here(tmp_path, aa_control=False)
    check = check_of(result, NO_MARKER)
    assert (check.ok, result.decision) == (False, Decision.INVALID)
    spilled = {"files": held[0], "file_class": "other", "condition": "cipher=aes-256,threads=1", "markers": 1}
    assert has(check.details, "plaintext-found", **spilled)


def test_a_search_that_is_blind_makes_the_run_invalid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search = of_embedded.search
    monkeypatch.setattr(
        of_embedded, "search", lambda files, needles: search(files, [needle[::-1] for needle in needles])
    )
    result = run_here(tmp_path, aa_control=False)
    assert (check_of(result, FINDS).ok, result.decision) == (False, Decision.INVALID)
    assert has(check_of(result, NO_MARKER).details, "not-checked", why=Part("no encrypted copy, or"))


def test_files_are_searched_between_the_order_of_a_trial_and_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[list[str]] = []
    look, evidence = exposure.SqliteExposure.scan, EmbeddedTwin.evidence

    def heard_look(self: exposure.SqliteExposure) -> None:
        if heard[-1][-1] != "look":  # as many as the trial is long
            heard[-1].append("look")
        look(self)

    def heard_evidence(self: EmbeddedTwin, job: TrialJob, needles: Sequence[bytes]) -> tuple[MarkerHit, ...]:
        heard.append([])
        worker, order = self.worker, heard[-1]
        send, answer = worker.send, worker.answer
        with monkeypatch.context() as patched:
            patched.setattr(worker, "send", lambda do, **more: (order.append(do), send(do, **more))[1])
            patched.setattr(worker, "answer", lambda *given: (order.append("answer"), answer(*given))[1])
            return evidence(self, job, needles)

    monkeypatch.setattr(exposure.SqliteExposure, "scan", heard_look)
    monkeypatch.setattr(EmbeddedTwin, "evidence", heard_evidence)
    run_here(tmp_path, aa_control=False)
    asked = [
        "facts",
        "answer",
        "expose",
        "answer",
        "trial",
        "look",
        "answer",
        "conceal",
        "answer",
        "facts",
        "answer",
        "look",
    ]
    assert heard == [asked, asked]


def test_verify_shows_a_run_again_and_finds_the_markers_in_its_plain_file_only(
    default_run: Answered,
) -> None:
    shown = default_run.place.tdelta("verify", "last", "--json")
    assert (shown.code, shown.document["evidence"]) == (0, default_run.document["evidence"])


def test_verify_tells_plain_files_of_a_twin_from_encrypted_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, dict[str, ReadState]] = {}
    take = exposure.SqliteExposure.scan_afterwards

    def read_as_well(self: exposure.SqliteExposure) -> None:
        files = [path for path in regular_files(self._database.parent) if path.name.startswith(self._database.name)]
        readings = read_files(files, parse_markers([f"hex:{self._needles[0].hex()}"]))
        kind = "plain" if self._database.read_bytes().startswith(b"SQLite") else "encrypted"
        seen[kind] = {one.path.name.removeprefix(self._database.name): one.state for one in readings}
        take(self)

    monkeypatch.setattr(exposure.SqliteExposure, "scan_afterwards", read_as_well)
    run_here(tmp_path, aa_control=False)
    assert seen["plain"] == {"": ReadState.PLAIN, "-wal": ReadState.PLAIN, "-shm": ReadState.MIXED}
    assert seen["encrypted"] == {"": ReadState.ENCRYPTED, "-wal": ReadState.LOOKS_RANDOM, "-shm": ReadState.MIXED}
