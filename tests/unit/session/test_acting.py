from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.fake_twins import FakeTwins, Script, cost_by_cipher
from support.refused import Coded, Part, coded, refused
from tdelta.engines.mariadb.actions import ACTIONS as OF_MARIADB
from tdelta.engines.mysql.actions import ACTIONS as OF_MYSQL
from tdelta.engines.postgres.storage import EncryptedFolder, Gocryptfs
from tdelta.engines.postgres.tde import PgTde
from tdelta.engines.server.base import ServerBinary
from tdelta.errors import UsageError
from tdelta.processes.backups import EngineAction, knobs_of
from tdelta.processes.jobs import TRACE
from tdelta.session import RunRequest
from tdelta.session.check_request import faults_of_actions
from tdelta.session.run_plan import Plan, plan

from .conducting import Sitting
from .served import is_block, is_sizing, is_warm_up

_POSTGRES = ServerBinary("postgres", "PostgreSQL", Path("/no/bin/postgres"), "15", "postgres 15")
_GOCRYPTFS = Gocryptfs(_POSTGRES, Path("/no/bin/gocryptfs")).actions
_RESTARTS = {"restart", "recovery", "storm"}


def check(levels: Mapping[str, tuple[Any, ...]], actions: Mapping[str, EngineAction]) -> None:
    known = {factor: knobs_of(actions, factor) for factor in ("work", "during")}
    if faults := tuple(faults_of_actions(RunRequest(), levels, known, "it")):
        raise UsageError(*faults)


@pytest.mark.parametrize("of_postgres", [_GOCRYPTFS, EncryptedFolder(_POSTGRES, Path("/safe"), "fscrypt").actions])
def test_what_an_engine_has_is_taken(of_postgres: Mapping[str, EngineAction]) -> None:
    restarts = ("restart", "recovery:mb=1", "storm:connections=3", "warm")
    for actions in (OF_MYSQL, of_postgres):
        check({"work": restarts}, actions)
        check({"during": ("nothing", "encrypt")}, actions)
    check({"during": ("rotate:times=9",)}, OF_MYSQL)
    check({"during": ("encrypt:rate=9",)}, of_postgres)


@pytest.mark.parametrize("study", ["backup", "convert", "restart"])
def test_a_server_has_what_the_studies_do_to_it(study: str) -> None:
    check(RunRequest(study=study).vary, OF_MARIADB)
    check(RunRequest(study=study, engine="mysql").vary, OF_MYSQL)
    check(RunRequest(study=study, engine="postgres").vary, _GOCRYPTFS)


def test_all_that_an_engine_does_not_have_is_refused_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        check({"work": ("recovery:iops=1",), "during": ("encrypt:threads=2", "rotate")}, _GOCRYPTFS)
    refused = [(one.code, one.parameters.get("found")) for one in caught.value.refusals]
    assert refused == [
        ("unknown", "iops of recovery"),
        ("unknown", "threads of encrypt"),
        ("unknown", "rotate"),
        ("conflict", None),
    ]


def test_a_base_backup_encrypts_nothing_where_the_server_itself_encrypts() -> None:
    of_tde = PgTde(_POSTGRES).actions
    assert of_tde.keys() == _RESTARTS | {"throttle", "backup", "restore"}
    with refused(UsageError, "unknown", kind="during", found="encrypt", hint=Part("it")):
        check({"during": ("encrypt",)}, of_tde)


ALL = ("load", "rebuild", "warm", "cold")
COSTS = {"none": 100_000.0, "aes-256": 150_000.0}


def made(**options: Any) -> Plan:
    given = {"engine": "sqlite", "workload": "warehouse", "seed": 1, "vary": {"work": ALL}}
    return plan(RunRequest(**{**given, **options}), "r1")


def test_a_load_is_of_the_rows_that_twins_have_and_a_rebuild_is_the_workloads_own() -> None:
    of = made()
    steps = of.workload_spec().steps
    assert steps is not None
    assert steps == of.populate_job()
    assert steps.rows == sum(table["rows"] for table in of.populate_job().plan["tables"])
    assert steps.step_request("rebuild", 1)["statements"] == ["VACUUM"]


def test_a_run_of_transactions_has_no_steps() -> None:
    assert made(vary={"work": ("warm", "cold")}).workload_spec().steps is None


def test_each_kind_of_work_is_a_stratum_of_its_own(tmp_path: Path) -> None:
    place = Sitting(tmp_path, FakeTwins(Script(cost_ns=cost_by_cipher(COSTS))))
    place.conduct(workload="warehouse", vary={"work": ALL}, aa_control=False)
    of_rounds = [twin for twin in place.twins.started if not twin.name.startswith("sizing")]
    blocks = [job for twin in of_rounds for job in twin.jobs if is_block(job)]
    assert {job.step for job in blocks} == {"", "load", "rebuild"}
    assert {(job.operations, job.discard) for job in blocks if job.step} == {(1, 0)}
    warmed = [twin for twin in of_rounds if any(is_warm_up(job) for job in twin.jobs)]
    assert not any(twin.settings.is_cold for twin in warmed)
    assert not any(job.step for twin in warmed for job in twin.jobs)
    assert not any(is_sizing(job) and job.step for twin in place.twins.started for job in twin.jobs)
    assert not any(job.step for twin in of_rounds for job in twin.searched)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"inject": (0.05,)}, (coded("conflict", one="--inject", other=Part("work=load")),)),
        ({"rate": 100.0}, (coded("conflict", one="--rate"), coded("conflict", one="--rate", other=Part("work=load")))),
        ({"cold": True}, (coded("conflict", one="--cold", other="--vary work=…"),)),
        ({"workload": "order-entry"}, (coded("no-such-step", step="rebuild", workload="order-entry"),)),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, Any], told: tuple[Coded, ...]) -> None:
    with refused(UsageError, *told):
        made(**options)


def test_rows_of_the_users_are_not_loaded_again(tmp_path: Path) -> None:
    with refused(UsageError, "conflict", one="--database", other=Part("work=load")):
        made(database=tmp_path / "app.db", workload=None, vary={"work": ("load",)})


def test_a_trace_follows_each_block_with_other_operations_the_same_for_all(tmp_path: Path) -> None:
    place = Sitting(tmp_path, FakeTwins(Script(cost_ns=cost_by_cipher(COSTS))))
    place.conduct(trace=True, aa_control=False, min_rounds=2, max_rounds=2)
    of_rounds = [twin for twin in place.twins.started if not twin.name.startswith("sizing")]
    traces = [[job for job in twin.jobs if job.step == TRACE] for twin in of_rounds]
    measured = [[job for job in twin.jobs if is_block(job) and not job.step] for twin in of_rounds]
    assert [len(jobs) for jobs in traces] == [len(jobs) for jobs in measured]
    for one, other in zip(traces, measured, strict=True):
        assert {(job.discard, job.injected) for job in one} == {(0, 0.0)}
        assert max(job.operations for job in one) <= 60
        assert not {job.first_op for job in one} & {job.first_op for job in other}
    by_stream: dict[int, set[tuple[int, int]]] = {}
    for job in (job for jobs in traces for job in jobs):
        by_stream.setdefault(job.stream, set()).add((job.first_op, job.operations))
    assert all(len(found) == 1 for found in by_stream.values())


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"cold": True}, "--cold"),
        ({"inject": (0.05,)}, "--inject"),
        ({"rate": 100.0}, "--rate"),
        ({"vary": {"work": ("warm", "cold")}}, "work=cold"),
    ],
)
def test_what_cannot_be_traced_is_refused(asked: dict[str, Any], told: str) -> None:
    given = {"workload": "dml-trace", "vary": {}, **asked}
    with refused(UsageError, "conflict", other=Part(told), one="--trace"):
        made(**given, trace=True)


def test_a_trace_of_loads_alone_is_refused_since_they_run_no_statements() -> None:
    with refused(UsageError, "requires", what="--trace", needs=Part("warm or routine")):
        made(workload="dml-trace", vary={"work": ("load", "rebuild")}, trace=True)


@pytest.mark.parametrize(
    ("vary", "told"),
    [
        (
            {"work": ("backup:tool=tape",)},
            (
                coded(
                    "out-of-range", where="backup", what="tool", found="tape", wanted="copy, vacuum-into, online, dump"
                ),
            ),
        ),
        (
            {"work": ("backup:tool=3",)},
            (coded("out-of-range", where="backup", what="tool", found=3, wanted="copy, vacuum-into, online, dump"),),
        ),
        (
            {"during": ("backup:speed=3",)},
            (coded("unknown", found=Part("backup"), hint=Part("tool, compress"), kind="parameter"),),
        ),
        (
            {"during": ("encrypt",)},
            (coded("unknown", kind="during", found="encrypt"), coded("locks-beside-load", actions="encrypt")),
        ),
        (
            {"work": ("backup:compress=own",)},
            (
                coded("out-of-range", where="backup", what="compress", found="own", wanted="none, zstd"),
                coded("unsupported", by=Part("copy"), what="compress=own"),
            ),
        ),
        (
            {"work": ("recovery",)},
            (coded("unknown", kind="work", found="recovery", hint=Part("SQLite3 Multiple Ciphers")),),
        ),
    ],
)
def test_an_action_and_its_knobs_must_be_those_of_the_engine(vary: dict[str, Any], told: tuple[Coded, ...]) -> None:
    with refused(UsageError, *told):
        made(vary=vary)


def test_an_action_takes_the_disk_that_its_backups_do() -> None:
    def disk(*works: str) -> int:
        of = made(vary={"work": works}, aa_control=False, bb_control=False)
        return of.engine.estimate(of).disk_bytes

    assert disk("backup") > disk("warm") + made().size_bytes


def test_servers_of_users_are_not_backed_up() -> None:
    request = RunRequest(engine="mysql", baseline="mysql://a@b/", vary={"work": ("backup",)})
    (fault,) = faults_of_actions(request, {"work": ("backup",)}, {}, "MySQL")
    assert (fault.code, fault.parameters["what"]) == ("unsupported", "work=backup")
