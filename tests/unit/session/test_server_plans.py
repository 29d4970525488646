import dataclasses
from pathlib import Path

import pytest

from support.refused import Coded, Part, check_messages, coded, has, refused
from tdelta.engines.server.base import ServerSettings
from tdelta.errors import EngineUnavailable, LoadGeneratorError, UsageError
from tdelta.evidence import FileClass
from tdelta.messages.checks import REPLICAS
from tdelta.records import CheckState, Measurement, Trial, Validity
from tdelta.records.trials import CONFIRMED, UNCONFIRMED
from tdelta.session import RunRequest
from tdelta.session.collectors.checks import Checks
from tdelta.session.context import Jobs
from tdelta.session.run_plan import Plan, plan
from tdelta.session.state import RunState, TrialSize

from .served import BINARIES, installed


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)


def made(**options: object) -> Plan:
    return plan(RunRequest(**{"engine": "mariadb", "workload": "point-select", "seed": 1, **options}), "r1")


def settings(of: Plan, data_bytes: int = 100_000_000) -> dict[str, ServerSettings]:
    return {condition.key: of.twin_settings(condition, data_bytes) for condition in of.conditions}


def test_a_plain_twin_encrypts_nothing_whatever_the_scope() -> None:
    found = settings(made(scope="+log", aa_control=False))
    assert {(one.cipher, one.scope) for one in found.values()} == {("none", "none"), ("aes-256", "+log")}


def test_without_a_scope_all_that_the_engine_can_is_encrypted() -> None:
    assert {one.scope for one in settings(made()).values()} == {"none", "all"}


@pytest.mark.parametrize(
    ("options", "has_binlog"),
    [({"scope": "data"}, False), ({"scope": "all"}, True), ({"vary": {"scope": ("data", "+binlog")}}, True)],
)
def test_every_twin_writes_a_binary_log_if_one_of_them_is_to_encrypt_it(options: dict, has_binlog: bool) -> None:
    assert {one.has_binlog for one in settings(made(**options)).values()} == {has_binlog}


def test_the_cache_is_a_share_of_the_data() -> None:
    found = settings(made(vary={"cipher": ("aes-256",), "cache": (0.1, 1.2)}, aa_control=False))
    assert sorted({one.cache_bytes for one in found.values()}) == [10_000_000, 120_000_000]


def test_a_session_has_as_much_memory_as_is_said_on_every_twin() -> None:
    assert {one.session_bytes for one in settings(made()).values()} == {0}
    assert {one.session_bytes for one in settings(made(session_memory=1 << 20)).values()} == {1 << 20}


def test_temporary_pages_never_settle_in_a_cache() -> None:
    assert made().warms_until_settled
    assert not made(workload="spill").warms_until_settled


def test_a_server_takes_the_connections_of_all_conditions_that_share_it_and_some_beside() -> None:
    found = settings(made(vary={"cipher": ("aes-256",), "threads": (1, 16, 2048)}, aa_control=False))
    assert {one.connections for one in found.values()} == {1 + 16 + 2048 + 3 * 8}
    assert {one.threads for one in found.values()} == {1, 16, 2048}


def test_data_is_loaded_once_for_each_cipher_and_scope() -> None:
    of = made(vary={"cipher": ("aes-128", "aes-256"), "scope": ("data", "+log"), "threads": (1, 4)})
    assert list(of.data_templates()) == [
        ("none", "none"),
        *((cipher, scope) for cipher in ("aes-128", "aes-256") for scope in ("data", "+log")),
    ]


def test_data_is_loaded_once_for_each_compression_and_each_has_its_own_baseline() -> None:
    of = made(vary={"cipher": ("aes-256",), "compression": ("none", "zlib")}, aa_control=False)
    assert sorted(str(kind[-1]) for kind in of.data_templates()) == ["none", "none", "zlib", "zlib"]
    assert [(c.stratum, c.level("cipher")) for c in of.conditions] == [
        (0, "none"), (0, "aes-256"), (1, "none"), (1, "aes-256")
    ]  # fmt: skip
    assert [one.is_compressed for one in settings(of).values()] == [False, False, True, True]


def test_servers_with_other_cores_are_others_with_the_same_data() -> None:
    of = made(vary={"cipher": ("aes-256",), "cores": (1,)}, threads=8, aa_control=False)
    assert [(one.cores, one.threads) for one in settings(of).values()] == [(1, 8), (1, 8)]
    assert len(list(of.data_templates())) == 2
    assert {one.cores for one in settings(made(aa_control=False)).values()} == {0}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"vary": {"cores": (1, 100_000)}}, coded("out-of-range", what="--vary cores")),
        ({"vary": {"compression": ("none", "lz4")}}, coded("unknown", kind="compression")),
        (
            {"vary": {"compression": ("zlib",), "work": ("load",)}, "engine": "mysql"},
            coded("conflict", one="--vary compression=…"),
        ),
        ({"vary": {"compression": ("zlib",)}, "engine": "sqlite"}, "not-supported"),
        ({"vary": {"compression": ("zlib",)}, "engine": "duckdb"}, "not-supported"),
    ],
)
def test_compression_that_a_server_does_not_have_is_refused(options: dict, code: str) -> None:
    with pytest.raises(UsageError) as refused:
        made(**options)
    assert has(refused.value.refusals, code)


def test_what_the_scope_covers_is_what_the_search_looks_for() -> None:
    of = made(scope="data", aa_control=False)
    (condition,) = [c for c in of.conditions if c.level("cipher") == "aes-256"]
    covered = of.engine.covered(of.twin_settings(condition, 0))
    assert covered is not None
    assert FileClass.TABLES in covered
    assert FileClass.REDO not in covered


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"database": Path("mine.db")}, coded("not-supported", what="--database")),
        ({"page_size": 8192}, coded("not-supported", what="--page-size")),
        ({"synchronous": "full"}, coded("not-supported", what="--synchronous")),
        ({"encrypted_dir": Path("/srv")}, coded("not-supported", what="--encrypted-dir")),
        ({"vary": {"cipher": ("aes-256",), "page_size": (4096,)}}, coded("not-supported", what="--vary page_size")),
        ({"scope": "+undo"}, coded("unknown", found="+undo", hint=Part("data, none"), kind="scope")),
        ({"warmup_seconds": 2.0}, coded("warmup-too-long", warmup=2.0, trial=2.0)),
        ({"load_operations": "done ([0-9]+)"}, coded("requires", what="--load-operations", needs="--load-generator")),
        ({"load_generator": "true", "rate": 10.0}, coded("conflict", one="--rate", other="--load-generator")),
        (
            {"load_generator": "true", "vary": {"cipher": ("aes-256",), "rate": ("50%",)}},
            coded("conflict", one="--vary rate", other="--load-generator"),
        ),
        ({"vary": {"cipher": ("chacha20",)}}, coded("unknown", kind="cipher", found="chacha20")),
    ],
)
def test_what_a_server_does_not_have_is_refused(options: dict, told: Coded) -> None:
    with pytest.raises(UsageError) as caught:
        made(**options)
    assert has(caught.value.refusals, told), caught.value.refusals


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        made(page_size=8192, scope="+undo", warmup_seconds=9.0)
    assert all(told in str(caught.value) for told in ("--page-size", "+undo", "--warmup 9s"))


def test_a_load_generator_is_checked_before_anything_is_made() -> None:
    with refused(LoadGeneratorError, "program-missing", program="no-such-program"):
        made(load_generator="no-such-program {operations}")


def test_a_server_that_is_not_installed_is_told_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr("tdelta.engines.server.installed._FOLDERS", ())
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "/nowhere")
    for name, remedy in (("mariadb", "apt-get install mariadb-server"), ("mysql", "scripts/mysql-server")):
        with refused(EngineUnavailable, "no-server", kind=name, remedy=Part(remedy)):
            made(engine=name)


def test_a_run_is_resumed_on_the_same_program_only() -> None:
    found = made().engine
    assert found.identity() == "/nowhere/sbin/mariadbd: mariadbd  Ver 10.11.19"
    assert found.versions() == {"MariaDB": "10.11.19"}


@pytest.fixture
def two_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is named is one of two servers of other versions."""
    found = {
        Path(f"/opt/{v}"): dataclasses.replace(BINARIES["mariadb"], version=v, text=v) for v in ("10.11.19", "11.8.3")
    }
    monkeypatch.setattr(
        "tdelta.engines.server.driver.named_servers", lambda _, paths: {path: found[path] for path in paths}
    )


TWO = ("/opt/10.11.19", "/opt/11.8.3")


def test_every_version_has_every_cipher_and_plain_twins_of_its_own(two_versions: None) -> None:
    of = made(vary={"cipher": ("aes-128", "aes-256"), "server": TWO})
    assert [(c.stratum, c.level("server"), c.level("cipher"), c.role.value) for c in of.conditions] == [
        (stratum, version, cipher, role)
        for stratum, version in enumerate(("10.11.19", "11.8.3"))
        for cipher, role in (("none", "baseline"), ("none", "aa"), ("aes-128", "treatment"), ("aes-256", "treatment"))
    ]
    assert of.settings.options["vary"]["server"] == list(TWO)
    assert {one.server for one in settings(of).values()} == {"10.11.19", "11.8.3"}
    assert len(of.data_templates()) == 6
    assert of.engine.versions() == {"MariaDB": "10.11.19, 11.8.3"}


def test_a_run_of_versions_is_resumed_with_the_same_programs_only(two_versions: None) -> None:
    both = made(vary={"server": TWO}).engine.identity()
    assert both != made(vary={"server": TWO[:1]}).engine.identity()
    assert all(version in both for version in ("10.11.19", "11.8.3"))


def test_one_program_is_named_in_one_way_only(two_versions: None) -> None:
    with refused(UsageError, "option-and-factor"):
        made(vary={"server": TWO}, server_binary=Path("/opt/10.11.19"))


def test_two_paths_of_one_version_are_told_apart_and_one_program_is_cautioned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "mariadbd"
    program.write_text("the same", encoding="utf-8")
    binary = dataclasses.replace(BINARIES["mariadb"], path=program)
    monkeypatch.setattr("tdelta.engines.server.driver.named_servers", lambda _, paths: dict.fromkeys(paths, binary))
    of = made(vary={"server": ("/a/b", "/a/c")})
    labels = ["10.11.19 (/a/b)", "10.11.19 (/a/c)"]
    assert list(dict.fromkeys(c.level("server") for c in of.conditions)) == labels
    check_messages(Checks(of, RunState()).cautions, coded("same-program", one=labels[0], other=labels[1]))


LEVELS = ("none", "async", "semisync")
SIZE = TrialSize(dict.fromkeys(range(3), 100), 1.0, 0.0, 0.0)


def levelled(**options: object) -> Plan:
    given = {"engine": "mariadb", "workload": "insert", "seed": 1, "vary": {"replication": LEVELS}, "aa_control": False}
    return plan(RunRequest(**{**given, **options}), "r1")


def test_one_pair_of_servers_serves_all_levels() -> None:
    of = levelled(vary={"cipher": ("aes-256",), "replication": LEVELS})
    assert len(of.conditions) == 6
    assert [len(sharing) for sharing in of.instances().values()] == [3, 3]
    assert {of.twin_settings(c, 0).replication for c in of.conditions} == {*LEVELS}
    assert all(of.twin_settings(c, 0).has_binlog for c in levelled(scope="data").conditions)


def test_replicas_count_for_disk_memory_and_time() -> None:
    plain, replicated = (levelled(vary=vary, size_bytes=10**9, cache=1.2) for vary in ({}, {"replication": ("async",)}))
    few, many = (of.engine.estimate(of) for of in (plain, replicated))
    assert many.disk_bytes == pytest.approx(1.5 * few.disk_bytes, rel=0.01)  # two loads, and two servers or four
    assert many.memory_bytes > 1.8 * few.memory_bytes
    assert many.applied_trials > few.applied_trials == 0


def test_nothing_of_a_trial_is_left_out_that_a_replica_applies() -> None:
    (alone, *_), (replicated, *_) = levelled(vary={}).conditions, levelled().conditions
    assert Jobs(levelled(vary={}), SIZE).in_block(alone, 0).discard > 0
    assert Jobs(levelled(), SIZE).in_block(replicated, 0).discard == 0


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
        levelled(**options)
    (refusal,) = [one for one in refused.value.refusals if one.code == "conflict"]
    assert refusal.parameters["one"] == named


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_engines_without_replicas_refuse_them(engine: str) -> None:
    with pytest.raises(UsageError) as refused:
        levelled(engine=engine)
    assert "not-supported" in [one.code for one in refused.value.refusals]


def check(replica: dict[str, tuple[int, str]] | None, **counted: int) -> Validity:
    of = levelled()
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
    assert REPLICAS not in {one.code for one in Checks(levelled(vary={}), RunState()).validity(())}
