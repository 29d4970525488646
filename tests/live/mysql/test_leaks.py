import pytest

from support.leaking import all_searched, states
from support.running import server_of
from tdelta.engines.mysql.driver import MySql
from tdelta.evidence import validity
from tdelta.records import EvidenceState, FileEvidence

SCOPES = ("none", "data", "all")
KINDS = ("tables", "undo", "doublewrite", "redo log", "binlog", "temp tables", "temp")
LEFT = {"data": {*KINDS} - {"tables"}, "all": {"temp tables", "temp"}}


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> tuple[FileEvidence, ...]:
    return all_searched(MySql(server_of("mysql")), tmp_path_factory.mktemp("leaks"), SCOPES)


def test_a_plain_server_shows_markers_in_every_class_that_holds_rows(evidence: tuple[FileEvidence, ...]) -> None:
    found = states(evidence, "none")
    assert {kind: found[kind] for kind in KINDS} == dict.fromkeys(KINDS, EvidenceState.PLAIN)


@pytest.mark.parametrize("scope", SCOPES[1:])
def test_each_scope_leaves_in_the_clear_what_it_does_not_cover_and_nothing_else(
    evidence: tuple[FileEvidence, ...], scope: str
) -> None:
    """Pages of undo that are in the clear pass through the doublewrite file."""
    found = states(evidence, scope)
    assert {kind for kind in KINDS if found[kind] is EvidenceState.UNCOVERED} == LEFT[scope]
    assert {found[kind] for kind in set(KINDS) - LEFT[scope]} == {EvidenceState.ENCRYPTED}
    assert all(check.ok for check in validity(evidence))
