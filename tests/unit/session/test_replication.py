import pytest

from support.refused import has
from tdelta.errors import UsageError
from tdelta.messages.checks import REPLICAS
from tdelta.records import CheckState, Measurement, Trial, Validity
from tdelta.records.trials import CONFIRMED, UNCONFIRMED
from tdelta.session import RunRequest
from tdelta.session.collectors.checks import Checks
from tdelta.session.context import Jobs
from tdelta.session.planning import Plan, plan
from tdelta.session.state import RunState, TrialSize

from .served import installed

LEVELS = ("none", "async", "semisync")
SIZE = TrialSize(dict.fromkeys(range(3), 100), 1.0, 0.0, 0.0)


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)


def made(**options: object) -> Plan:
    given = {"engine": "mariadb", "workload": "insert", "seed": 1, "vary": {"replication": LEVELS}, "aa_control": False}
    return plan(RunRequest(**{**given, **options}), "r1")


def test_one_pair_of_servers_serves_all_levels() -> None:
    of = made(vary={"cipher": ("aes-256",), "replication": LEVELS})
    assert len(of.conditions) == 6
    assert [len(sharing) for sharing in of.instances().values()] == [3, 3]
    assert {of.twin_settings(c, 0).replication for c in of.conditions} == {*LEVELS}
    assert all(of.twin_settings(c, 0).has_binlog for c in made(scope="data").conditions)


def test_replicas_count_for_disk_memory_and_time() -> None:
    plain, replicated = (made(vary=vary, size_bytes=10**9, cache=1.2) for vary in ({}, {"replication": ("async",)}))
    few, many = (of.engine.estimate(of.layout) for of in (plain, replicated))
    assert many.disk_bytes == pytest.approx(1.5 * few.disk_bytes, rel=0.01)  # two loads, and two servers or four
    assert many.memory_bytes > 1.8 * few.memory_bytes
    assert many.applied_trials > few.applied_trials == 0


def test_nothing_of_a_trial_is_left_out_that_a_replica_applies() -> None:
    (alone, *_), (replicated, *_) = made(vary={}).conditions, made().conditions
    assert Jobs(made(vary={}), SIZE).in_block(alone, 0).discard > 0
    assert Jobs(made(), SIZE).in_block(replicated, 0).discard == 0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"trace": True}, "--trace"),
        ({"cold": True}, "--cold"),
        ({"load_generator": "sysbench oltp_insert run"}, "--load-generator"),
        ({"vary": {"replication": LEVELS, "work": ("warm", "restart")}}, "--vary work=restart"),
        ({"vary": {"replication": LEVELS, "during": ("encrypt",)}}, "--vary during=encrypt"),
    ],
)
def test_what_does_not_go_with_replicas_is_refused(options: dict[str, object], named: str) -> None:
    with pytest.raises(UsageError) as refused:
        made(**options)
    (refusal,) = [one for one in refused.value.refusals if one.code == "conflict"]
    assert refusal.parameters["one"] == named


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_engines_without_replicas_refuse_them(engine: str) -> None:
    with pytest.raises(UsageError) as refused:
        made(engine=engine)
    assert "not-supported" in [one.code for one in refused.value.refusals]


def check(replica: dict[str, tuple[int, str]] | None, **counted: int) -> Validity:
    of = made()
    checks = Checks(of, RunState())
    if replica is not None:
        checks.replicated(of.conditions[0], {"t": (3, "abc")}, replica)
    measured = Measurement(1, 1, {}, {}, engine_counters=counted)
    (found,) = [
        one for one in checks.validity([Trial(0, 0, 0, of.conditions[0], "i", 0.0, measured)]) if one.code == REPLICAS
    ]
    return found


def test_a_replica_with_its_primarys_rows_is_one() -> None:
    found = check({"t": (3, "abc")}, **{CONFIRMED: 1_234, UNCONFIRMED: 0})
    assert found.state is CheckState.OK
    assert has(found.details, "replicas-compared", commits=1234)


@pytest.mark.parametrize("rows", [(2, "abc"), (3, "abd")])
def test_a_replica_with_other_rows_makes_the_run_invalid(rows: tuple[int, str]) -> None:
    assert check({"t": rows}).is_invalid


def test_a_commit_that_did_not_wait_makes_the_run_invalid() -> None:
    found = check({"t": (3, "abc")}, **{CONFIRMED: 9, UNCONFIRMED: 1})
    assert found.is_invalid
    assert has(found.details, "commits-unconfirmed", commits=1)


def test_replicas_that_nobody_compared_are_not_shown_to_be_any() -> None:
    assert check(None).state is CheckState.NOT_SHOWN


def test_a_run_without_replicas_has_no_such_check() -> None:
    assert REPLICAS not in {one.code for one in Checks(made(vary={}), RunState()).validity(())}
