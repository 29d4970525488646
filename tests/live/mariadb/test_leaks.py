from pathlib import Path

import pytest

from support.leaking import all_searched, asking, running, settings_of, states
from support.running import server_of
from tdelta.engines.mariadb.driver import MariaDb
from tdelta.engines.mariadb.profile import PROFILE
from tdelta.engines.registry import dialects
from tdelta.errors import StatementFault
from tdelta.evidence import validity
from tdelta.evidence.plans import NOT_EXPLAINED, Rows, compare, plans_of, sampled
from tdelta.evidence.search import FileClass
from tdelta.records import EvidenceState, FileEvidence
from tdelta.workloads import load

SCOPES = ("none", "data", "+temp", "all")
KINDS = ("tables", "system tablespace", "redo log", "binlog", "temp tables", "on-disk temp tables", "temp")
COVERED = {
    "data": {"tables", "system tablespace"},
    "+temp": {"tables", "system tablespace", "temp tables", "temp"},
    "all": {"tables", "system tablespace", "redo log", "binlog", "temp tables", "temp"},
}


@pytest.fixture(scope="module")
def engine() -> MariaDb:
    return MariaDb(server_of("mariadb"))


@pytest.fixture(scope="module")
def evidence(engine: MariaDb, tmp_path_factory: pytest.TempPathFactory) -> tuple[FileEvidence, ...]:
    return all_searched(engine, tmp_path_factory.mktemp("leaks"), SCOPES)


def test_a_plain_server_shows_markers_in_every_class_that_holds_rows(evidence: tuple[FileEvidence, ...]) -> None:
    found = states(evidence, "none")
    assert {kind: found[kind] for kind in KINDS} == dict.fromkeys(KINDS, EvidenceState.PLAIN)
    assert set(found) - set(KINDS) <= {"dictionary", "server logs", "other"}


@pytest.mark.parametrize("scope", SCOPES[1:])
def test_each_scope_leaves_in_the_clear_what_it_does_not_cover_and_nothing_else(
    evidence: tuple[FileEvidence, ...], scope: str
) -> None:
    hidden, clear = EvidenceState.ENCRYPTED, EvidenceState.UNCOVERED
    found = states(evidence, scope)
    assert {kind: found[kind] for kind in KINDS} == {
        kind: hidden if kind in COVERED[scope] else clear for kind in KINDS
    }


def test_what_a_scope_does_not_cover_is_listed_and_no_failed_check(evidence: tuple[FileEvidence, ...]) -> None:
    nothing_leaks, finds = validity(evidence)
    assert (nothing_leaks.ok, finds.ok) == (True, True)
    clear = {
        one.parameters["condition"]: str(one.parameters["classes"]).split(", ")
        for one in nothing_leaks.details
        if one.code == "left-in-the-clear"
    }
    assert FileClass.REDO in clear["cipher=aes-256,scope=data"]


def test_a_twin_without_an_index_is_told_by_the_statements_that_lack_it(engine: MariaDb, tmp_path: Path) -> None:
    workload = load("order-entry", dialects())
    statements = sampled(PROFILE.dialect, {one.name: one.text for one in workload.transactions})
    with running(engine, tmp_path / "plans", settings_of("none")) as server, asking(server) as twin:
        for sql in (*workload.tables_sql(PROFILE.dialect), *workload.indexes_sql(PROFILE.dialect)):
            twin.run(sql)
        rows: Rows = lambda sql: twin.rows(sql)[1]  # noqa: E731 - it is one line
        before, again = plans_of(PROFILE.dialect, rows, statements), plans_of(PROFILE.dialect, rows, statements)
        twin.run("DROP INDEX orders_customer ON orders")
        after = plans_of(PROFILE.dialect, rows, statements)
        with pytest.raises(StatementFault):
            twin.run("EXPLAIN SELECT * FROM nowhere")
    assert not any(NOT_EXPLAINED in plan for plan in before.values())
    assert (len(before), compare(before, again)) == (len(statements), ())
    assert [one.statement for one in compare(before, after)] == ["browse_orders/2", "browse_orders/3"]
    assert "orders ref orders_customer(customer_id) | orders index PRIMARY" in str(compare(before, after)[0])
