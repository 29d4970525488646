import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from support.refused import Coded, Part, check_messages, coded, has, refused
from tdelta.engines.mariadb.driver import MariaDb
from tdelta.engines.oracle.driver import Oracle
from tdelta.engines.server.base import DATA, Encryption, Identity, Scope
from tdelta.engines.server.discovery import FoundServer
from tdelta.engines.server.dsn import parse_dsn
from tdelta.engines.server.external_twins import Access
from tdelta.engines.server.pairs import Difference, FurtherSchema, Pair, ReachedServers, external_dsns, reached
from tdelta.errors import DsnFault, ExternalServerFault, TdeltaError, UsageError
from tdelta.messages import Caution
from tdelta.records import ENCRYPTION, Metric, Role, RunSettings
from tdelta.session.preflight import with_bb_twin
from tdelta.session.request import RunRequest
from tdelta.session.run_plan import Plan, check, engine_of, plan
from tdelta.store.codec import dumps, loads

BASELINE, ENCRYPTED = "mysql://bench@db1/?password-env=A", "mariadb://bench@db2/?password-env=B"
TYPED = {"baseline": BASELINE, "encrypted": ENCRYPTED}


def server(option: str, dsn: str, *, is_encrypted: bool) -> FoundServer:
    scope = Scope(DATA, is_encrypted, f"innodb_encrypt_tables={'ON' if is_encrypted else 'OFF'}")
    return FoundServer(
        option=option,
        dsn=parse_dsn(dsn),
        connection=cast(Any, None),
        kind=MariaDb(Identity("mariadb", "MariaDB", "10.11.19", "bench@%")),
        encryption=Encryption((scope,), can_be_asked=False, remedy=""),
        settings={},
    )


def servers(differences: Sequence[Difference] = (), processes: dict[str, int] | None = None) -> ReachedServers:
    both = server("--baseline", BASELINE, is_encrypted=False), server("--encrypted", ENCRYPTED, is_encrypted=True)
    found = Pair(*both, tuple(differences), (Caution.verbatim("a caution of the pair"),), is_encrypted=True)
    return ReachedServers(
        found,
        "r1",
        "tdelta_r1",
        (FurtherSchema("aa", "tdelta_r1_aa"),),
        Access(lambda _s: None, processes or {}),
        (Caution.verbatim("left"),),
    )


def planned(found: ReachedServers, **asked: Any) -> Plan:
    return plan(RunRequest(**{**TYPED, **asked}), "r1", None, found)


def test_the_engine_and_its_defaults_follow_from_the_dsns() -> None:
    request = RunRequest(**TYPED)
    assert (request.engine, request.trial_seconds, request.max_seconds) == ("mysql", 2.0, 600.0)
    assert engine_of(request).profile.name == "mysql"  # until the server says otherwise
    assert planned(servers()).settings.engine == "mariadb"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            {"encrypted": None},
            (coded("one-server-alone", missing="--encrypted", baseline="--baseline", encrypted="--encrypted"),),
        ),
        (
            {"baseline": None},
            (coded("one-server-alone", missing="--baseline", baseline="--baseline", encrypted="--encrypted"),),
        ),
        (
            {"encrypted": "postgres://a@b"},
            (coded("servers-of-two-engines", options="--baseline, --encrypted", found="mysql and postgres"),),
        ),
        ({"engine": "postgres"}, (coded("conflict", one=Part("postgres"), other=Part("mysql")),)),
        ({"cache": 0.5}, (coded("not-supported", what="--cache"),)),
        (
            {"cold": True, "scope": "data"},
            (coded("not-supported", what="--scope"), coded("unsupported", what="--cold")),
        ),
        ({"study": "restart", "vary": {}}, (coded("study-on-own-servers", study="restart"),)),
        ({"load_generator": "sysbench run"}, (coded("not-supported", what="--load-generator"),)),
        ({"restore": "true"}, (coded("not-supported", what="--restore"),)),
        ({"vary": {"page_size": (4096,)}}, (coded("not-supported", what="--vary page_size"),)),
        ({"vary": {"cipher": ("aes-256",)}}, (coded("unknown", found="aes-256"),)),
        ({"warmup_seconds": 3.0}, (coded("warmup-too-long", warmup=3.0),)),
    ],
)
def test_what_does_not_go_with_servers_of_ones_own_is_refused(asked: dict[str, Any], told: tuple[Coded, ...]) -> None:
    request = RunRequest(**{"engine": "mysql", "trial_seconds": 2.0, **TYPED, **asked})
    with refused(UsageError, *told):
        check(request)


def test_faults_of_both_dsns_are_told_at_once_and_no_password_with_them() -> None:
    request = RunRequest(engine="mysql", baseline="mysql://a:s3cret@b/", encrypted="mysql://a@b/?password=s3cret")
    with pytest.raises(UsageError) as raised:
        external_dsns(request.baseline, request.encrypted, request.contrast)
    check_messages(raised.value.refusals, "dsn-password", "dsn-password", where=("--baseline", "--encrypted"))
    assert "s3cret" not in str(raised.value)
    with pytest.raises(DsnFault):
        external_dsns("mysql://a@b/?x=y", "mysql://a@b", ENCRYPTION)


@pytest.mark.parametrize("asked", [{"schema": "s"}, {"assume_encrypted": True}])
def test_what_is_of_servers_of_ones_own_only_is_refused_elsewhere(asked: dict[str, Any]) -> None:
    with refused(UsageError, "not-supported", only=Part("(--baseline and --encrypted)")):
        check(RunRequest(**asked))


def test_conditions_that_differ_in_the_client_share_a_schema_and_controls_have_their_own() -> None:
    made = planned(servers(), vary={"cipher": ("encrypted",), "threads": (1, 4)}, inject=(0.05, 0.1))
    places = {c.key: made.twin_settings(c, 0).place for c in made.conditions}
    assert set(places.values()) == {"baseline", "encrypted", "aa", "bb", "injected1", "injected2"}
    assert len(made.instances()) == 6
    assert {made.twin_settings(c, 0).threads for c in made.conditions} == {1, 4}
    kinds = [made.twin_settings(c, 0).loaded for c in made.data_templates().values()]
    assert kinds == ["baseline", "encrypted"]


def test_a_bb_twin_has_a_schema_on_the_encrypted_server() -> None:
    made = planned(servers(), vary={"cipher": ("encrypted",), "threads": (1, 4)})
    settings = {c.key: made.twin_settings(c, 0) for c in made.conditions if c.role is Role.BB}
    assert {(s.place, s.loaded, s.cipher) for s in settings.values()} == {("bb", "encrypted", "encrypted")}
    assert len(made.instances()) == 4
    assert with_bb_twin(planned(servers())).request.bb_control is True


def test_caches_of_others_are_emptied_only_if_that_was_typed() -> None:
    found = servers()
    busy = (Caution.of("other-sessions", sessions=2).at("--baseline"), Caution.of("other-sessions", sessions=1))
    both = [
        dataclasses.replace(one, kind=Oracle(Identity("oracle", "Oracle Database", "19.27.0.0.0", "BENCH"), "TS"))
        for one in found.both
    ]
    found.pair = Pair(*both, (), busy, is_encrypted=True)
    asked = {"baseline": "oracle://bench@db1/P", "encrypted": "oracle://bench@db2/P", "study": "warehouse"}
    with refused(ExternalServerFault, "cold-among-others", sessions=3):
        planned(found, **asked)
    works = {c.level("work") for c in planned(found, **asked, vary={"work": ("warm", "cold")}).conditions}
    assert works == {"warm", "cold"}


def test_what_goes_with_the_answer_is_said_before_the_run_too() -> None:
    found = planned(servers([Difference("innodb_buffer_pool_size", "1", "2", 1)]))
    cautions = found.cautions
    assert [*map(str, cautions[:2])] == ["left", "a caution of the pair"]
    assert "innodb_buffer_pool_size: 1 / 2" in str(cautions[2])
    assert [caution.code for caution in cautions[3:5]] == ["one-server-of-each-kind", "servers-cpu-unknown"]
    known = planned(servers(processes={"--baseline": 1, "--encrypted": 2})).cautions
    assert not has(known, "servers-cpu-unknown")


def test_many_differences_are_counted_and_the_important_ones_come_first() -> None:
    unimportant = [Difference(f"a{number}", "1", "2", 99) for number in range(12)]
    found = servers([*unimportant, Difference("version", "1", "2", -1)])
    told = [one for one in found.cautions if "differ" in one.code]
    assert "version: 1 / 2" in told[0].text
    check_messages(told[10:], "more-settings-differ", settings=3)
    assert len(found.facts().differences) == 13
    assert planned(found).engine.settings_compared().startswith("NOT ")
    assert " 13 " in planned(found).engine.settings_compared()


def test_nothing_is_made_on_this_machine() -> None:
    made = planned(servers())
    assert made.engine.estimate(made).disk_bytes == 0


def test_tables_that_are_not_as_they_have_to_be_are_a_fault() -> None:
    made = planned(servers())
    for condition in made.conditions:
        settings = made.twin_settings(condition, 0)
        right, wrong = ("plain", "encrypted") if settings.cipher == "none" else ("encrypted", "plain")
        assert made.engine.fault(settings, {"tables": right}) is None
        assert has([made.engine.fault(settings, {"tables": wrong})], "tables-unlike", wanted=right, found=wrong)


def test_what_is_stored_of_the_servers_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = planned(servers([Difference("x", None, "2", 99)])).settings
    assert loads(RunSettings, dumps(settings)).external_servers == settings.external_servers
    request = RunRequest(engine="mysql", baseline="mysql://a@b/?password-file=secret", encrypted="mysql://a@c")
    again = RunRequest.from_json(request.to_json())
    assert parse_dsn(str(again.baseline)).password_file == str(tmp_path / "secret")
    assert parse_dsn(str(again.encrypted)) == parse_dsn("mysql://a@c")


def test_servers_that_were_not_reached_make_no_twins() -> None:
    with refused(TdeltaError, "defect", said=Part("reached")):
        engine_of(RunRequest(**TYPED)).identity()


def test_a_schema_whose_further_names_are_too_long_is_refused() -> None:
    request = RunRequest(**{**TYPED, "schema": "s" * 62, "metric": Metric.RESPONSE_TIME})
    dsns = external_dsns(request.baseline, request.encrypted, request.contrast)
    assert dsns is not None
    with refused(UsageError, "too-large"), reached(request.values, dsns, "r1"):
        pass
