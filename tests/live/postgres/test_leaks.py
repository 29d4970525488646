import pytest

from support.leaking import all_searched, condition, states
from tdelta.engines.server.evidence import ENCRYPTED_FILE
from tdelta.evidence import validity
from tdelta.records import EvidenceState, FileEvidence

from .servers import stock_engine

KINDS = ("tables", "wal", "temp tables", "temp")


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> tuple[FileEvidence, ...]:
    return all_searched(stock_engine(), tmp_path_factory.mktemp("leaks"), ("none", "all"))


def of(evidence: tuple[FileEvidence, ...], scope: str) -> dict[str, FileEvidence]:
    return {one.file_class: one for one in evidence if one.condition == condition(scope)}


def test_a_plain_server_shows_markers_in_every_class_that_holds_rows(evidence: tuple[FileEvidence, ...]) -> None:
    found = states(evidence, "none")
    assert {kind: found[kind] for kind in KINDS} == dict.fromkeys(KINDS, EvidenceState.PLAIN)


def test_on_gocryptfs_none_is_found_in_the_files_that_are_really_on_the_disk(
    evidence: tuple[FileEvidence, ...],
) -> None:
    hidden = of(evidence, "all")
    assert {hidden[kind].state for kind in KINDS} == {EvidenceState.ENCRYPTED}
    names = [name for kind in KINDS for name in hidden[kind].files if "files)" not in name]
    assert names
    assert all(name.endswith(ENCRYPTED_FILE) for name in names)
    assert all(check.ok for check in validity(evidence))


def test_the_files_of_every_class_have_their_counterparts_among_the_encrypted_ones(
    evidence: tuple[FileEvidence, ...],
) -> None:
    plain, hidden = of(evidence, "none"), of(evidence, "all")
    for kind in KINDS:
        assert hidden[kind].scanned_bytes >= 0.5 * plain[kind].scanned_bytes
