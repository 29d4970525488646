"""Every ability of a server check, with an adapter that has it and with one that fails in it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support.refused import Coded, Part, check_messages, coded, refused
from tdelta.engines.server.dsn import Dsn, parse_dsn
from tdelta.engines.server.passwords import Passwords
from tdelta.errors import ExternalServerFault, StorageFault
from tdelta.messages import Refusal
from tdelta.records import Event
from tdelta.records.server_check import Outcome, ServerCheckStep
from tdelta.session.clock import Interruption
from tdelta.session.request import RunRequest
from tdelta.session.server_check.conducting import check_servers, redacted, tried
from tdelta.session.server_check.steps import STEPS, AbilityCheck, Bench, converted

from .fakes import BASELINE, ENCRYPTED, FakeBench

ORACLE = "oracle://bench@db1/PDB1?tls=disable"


def steps_of(bench: FakeBench, interruption: Interruption | None = None) -> dict[str, ServerCheckStep]:
    seen: list[Event] = []
    made = tried(bench, interruption or Interruption(), seen.append)
    assert len(seen) == len(STEPS)
    return {step.ability: step for step in made}


def test_an_adapter_that_has_all_but_what_it_does_not_offer_passes() -> None:
    made = steps_of(FakeBench())
    absent = {name: step for name, step in made.items() if step.outcome is not Outcome.PASSED}
    assert {step.outcome for step in absent.values()} == {Outcome.NOT_OFFERED}
    check_messages(
        [refusal for step in absent.values() for refusal in step.refusals],
        coded("unsupported", what="emptying the server's caches with SQL"),
        coded("unsupported", what="backups and restores by SQL"),
        coded("unsupported", what="encrypting and decrypting a schema with rows"),
    )
    assert made["rows loaded"].found == {"tables": 2, "rows": 5}
    assert made["state read"].found["encrypted: data"] == "encrypted=True"


FAILURES = [
    ("servers reached", "reach", coded("right-missing", grant="GRANT PROCESS")),
    ("state read", "settings", coded("missing", what="the settings (a missing privilege?)")),
    ("state read", "version", coded("missing", what="the server's version")),
    ("state read", "scope", coded("missing", what=Part("data"))),
    ("state read", "state", coded("server-check-differs", what="two queries of the encryption settings")),
    ("schema made", "schema unseen", coded("missing", what="the schema, from another session,")),
    ("schema made", "mark", coded("missing", what="the run's mark in the schema")),
    ("schema made", "lock", coded("missing", what="the schema's lock, from another session,")),
    ("rows loaded", "rows", coded("server-check-differs", found="orders", what="generated and loaded rows")),
    ("tables seen", "tables unseen", coded("missing", what=Part("orders"))),
    ("tables seen", "otherwise", coded("server-check-tables-otherwise", wanted="encrypted")),
    ("tables seen", "size", coded("missing", what="the size of the loaded tables")),
    ("work done", "work", coded("server-check-work-cut", operations=10, found=9, errors="1 conflict")),
    ("work done", "times", coded("missing", what=Part("buy"))),
    ("rows alike", "rows apart", coded("server-check-differs", found="orders", what="rows after the same work")),
    ("plans read", "plans", coded("missing", what=Part("buy 2"))),
    ("statements traced", "trace", coded("missing", what="a call of each statement")),
    ("counters read", "counters", coded("missing", what=Part("1"))),
    ("evidence kept", "evidence", coded("server-check-differs", found="data", what=Part("encryption states"))),
    ("evidence kept", "alike", coded("missing")),
    ("backup and restore", "restored otherwise", coded("restored-differs", tables="orders")),
    ("encryption changed", "conversion cut", coded("server-check-work-cut", operations=10, found=9)),
    ("encryption changed", "conversion loses", coded("server-check-differs", found="orders", what=Part("changed"))),
    ("fixed lengths kept", "padded", coded("server-check-differs", found="orders", what="generated and loaded rows")),
    ("loaded and rebuilt", "rebuild loses", coded("server-check-differs", found="orders", what=Part("rebuild"))),
    ("long statement", "limited", coded("missing", what=Part("10 s"))),
    ("killed run cleaned up", "killed left", coded("server-check-left", what="the schema of a killed run")),
    ("nothing else changed", "census", coded("server-check-differs", found="cache")),
    ("refusals recognized", "kind", coded("server-check-kind", expected="sql", found="denied")),
    ("refusals recognized", "no refusal", coded("server-check-kind", expected="sql")),
    ("sessions ended", "session unseen", coded("missing", what="the marked session of the workload")),
    ("sessions ended", "immortal", coded("server-check-left", what="a session after it was ended")),
    ("sessions ended", "lost as sql", coded("server-check-kind", expected="connection", found="sql")),
    ("everything removed", "left", coded("server-check-left", what="the schema")),
    ("everything removed", "mark left", coded("server-check-left", what="a schema with the mark of this run")),
]


@pytest.mark.parametrize(("ability", "broken", "said"), FAILURES)
def test_an_ability_that_fails_is_told_with_what_was_expected_and_found(ability: str, broken: str, said: Coded) -> None:
    step = steps_of(FakeBench(broken))[ability]
    assert step.outcome is Outcome.FAILED
    check_messages(step.refusals, said)
    is_of_both = ability in ("rows alike", "plans read") or said.code == "missing"
    assert is_of_both or "encrypted" in str(step.refusals[0].parameters["where"])


@pytest.mark.parametrize(("broken", "pauses"), [("conversion", ["encrypt:pause=3"]), ("conversion unsuspended", [])])
def test_every_change_of_encryption_is_tried_with_each_word_that_it_takes(broken: str, pauses: list[str]) -> None:
    bench = FakeBench(broken)
    step = steps_of(bench)["encryption changed"]
    assert step.outcome is Outcome.PASSED
    assert [*step.found] == ["encrypt", "encrypt:mode=offline", *pauses, "decrypt"]
    assert [sql for sql in bench.kinds[1].ran if sql in step.found] == [*step.found]


def test_every_ability_has_a_case_in_which_it_fails() -> None:
    known = {ability for ability, *_ in FAILURES} | {"caches emptied"}
    assert known == {step.ability for step in STEPS}


def test_sessions_that_stay_are_told() -> None:
    bench = FakeBench("session left", "immortal")
    (said,) = steps_of(bench)["everything removed"].refusals
    check_messages([said], "server-check-left", what="a session with the mark of this run")


def test_caches_are_emptied_where_the_adapter_says_how_and_a_refusal_of_it_is_a_failure() -> None:
    bench = FakeBench()
    for kind in bench.kinds:
        kind.cooling_sql = ("CHECKPOINT",)  # type: ignore[attr-defined]
    assert steps_of(bench)["caches emptied"].outcome is Outcome.PASSED
    assert all("CHECKPOINT" in kind.ran for kind in bench.kinds)
    bench = FakeBench("kind")
    for kind in bench.kinds:
        kind.cooling_sql = ("flush no_such_table",)  # type: ignore[attr-defined]
    failed = steps_of(bench)["caches emptied"]
    assert (failed.outcome, str(failed.refusals[0])) == (Outcome.FAILED, "no such table")


@pytest.mark.parametrize(
    ("absent", "ability", "code"),
    [
        ("plans not offered", "plans read", coded("unsupported", what="plans as JSON")),
        ("counters not offered", "counters read", coded("unsupported", what="counters of such servers")),
        ("unwaiting", "long statement", coded("unsupported", what="a statement that only waits")),
    ],
)
def test_what_an_adapter_does_not_offer_is_no_failure(absent: str, ability: str, code: str) -> None:
    step = steps_of(FakeBench(absent, baseline=(absent,)))[ability]
    assert step.outcome is Outcome.NOT_OFFERED
    check_messages(step.refusals, code)


def test_what_needs_an_ability_that_failed_is_not_tried_and_all_is_removed_all_the_same() -> None:
    made = steps_of(FakeBench("rows"))
    assert made["work done"].outcome is Outcome.NOT_TRIED
    check_messages([made["work done"].refusals[0]], coded("server-check-not-tried", needs=Part("rows")))
    assert made["sessions ended"].outcome is Outcome.PASSED
    assert made["everything removed"].outcome is Outcome.PASSED
    nothing = steps_of(FakeBench("reach"))
    assert {step.outcome for step in nothing.values()} == {Outcome.FAILED, Outcome.NOT_TRIED}


def test_when_the_time_is_up_only_the_removal_is_tried() -> None:
    interruption, bench = Interruption(), FakeBench()

    def ring(_bench: Any) -> Any:
        interruption.is_late = True
        return {}

    at = [step.ability for step in STEPS].index("rows loaded")
    listed = (*STEPS[:at], AbilityCheck("slow", ring), *STEPS[at:])
    made = {step.ability: step for step in tried(bench, interruption, lambda _event: None, listed)}
    late = [step for step in made.values() if [said.code for said in step.refusals] == ["server-check-time-up"]]
    assert [step.ability for step in late] == [step.ability for step in STEPS[at:-2]]
    assert made["everything removed"].outcome is Outcome.PASSED
    assert not any(kind.schema for kind in bench.kinds)


def test_a_step_that_the_end_of_the_time_cuts_has_failed_and_a_ctrl_c_ends_the_check() -> None:
    interruption = Interruption()

    def rung(_bench: Any) -> Any:
        interruption.is_late = True
        raise KeyboardInterrupt

    (step,) = tried(FakeBench(), interruption, lambda _event: None, [AbilityCheck("slow", rung)])
    assert (step.outcome, step.refusals[0].code) == (Outcome.FAILED, "server-check-time-up")

    def interrupted(_bench: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tried(FakeBench(), Interruption(), lambda _event: None, [AbilityCheck("typed", interrupted)])


def test_names_addresses_paths_and_passwords_are_taken_out() -> None:
    said = "Access denied for user 'bench'@'db9' to db1 from 10.1.2.3:3306 and fe80::1:2:3 with s3cret in /etc/my/x.cnf"
    step = ServerCheckStep("a", Outcome.FAILED, found={"data": "keys=s3cret", "n": 2})
    step = replace(step, refusals=(Refusal.of("database-says", said=said),))
    hidden = redacted(step, {"s3cret": "PASSWORD", "db1": "HOST", "bench": "USER", "": "NOTHING"})
    told = str(hidden.refusals[0])
    assert told == "Access denied for user <USER> to <HOST> from <ADDRESS> and <ADDRESS> with <PASSWORD> in <PATH>"
    assert hidden.found == {"data": "keys=<PASSWORD>", "n": 2}


def test_what_is_hidden_is_all_that_the_dsns_say_and_what_the_servers_are_called() -> None:
    bench = FakeBench()
    assert {"bench", "db1", "db2"} <= set(bench.secrets)


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_reached(tmp_path: Path) -> None:
    request = RunRequest(baseline=BASELINE, encrypted=ENCRYPTED)
    with refused(StorageFault, "path-unusable", path="said.jsonl"):
        check_servers(request, lambda _event: None, tmp_path / "missing" / "said.jsonl")


def test_servers_on_which_no_encryption_can_be_changed_are_checked_in_all_else(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    why = Refusal.of("conflict", one="--vary during=…", other="ENCRYPT_NEW_TABLESPACES=ALWAYS")

    @contextmanager
    def reached(options: Any, _dsns: Any, _run: str) -> Iterator[Any]:
        asked.append(options["vary"]["during"])
        if asked[-1]:
            raise ExternalServerFault("the servers cannot be used as they are", why)
        yield SimpleNamespace(pair=SimpleNamespace(differences=()), both=())

    monkeypatch.setattr("tdelta.session.server_check.steps.reached", reached)
    monkeypatch.setattr(Bench, "both", ())
    on = (ORACLE, ORACLE.replace("db1", "db2"))
    with Bench(RunRequest(baseline=on[0], encrypted=on[1]), (parse_dsn(on[0]), parse_dsn(on[1])), "run") as bench:
        assert bench.reach() == 0
        (step,) = tried(bench, Interruption(), lambda _event: None, [AbilityCheck("changed", converted)])
    assert asked == [("encrypt",), ()]
    assert step.outcome is Outcome.NOT_OFFERED
    check_messages(step.refusals, coded("conflict", other=Part("ENCRYPT_NEW_TABLESPACES")))


def test_a_password_is_read_once_for_all_connections_of_a_check(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found: list[str | None] = []

    def connect(_option: str, dsn: Dsn, passwords: Passwords, _open: Any) -> Any:
        found.append(passwords.of(dsn))
        raise ExternalServerFault("db1", Refusal.of("conflict", one="--vary during=…", other="a setting"))

    monkeypatch.setattr("tdelta.engines.server.pairs.connect", connect)
    reading, writing = os.pipe()
    os.write(writing, b"secret\n")
    os.close(writing)
    try:
        on = [f"{ORACLE.replace('db1', host)}&password-file=/dev/fd/{reading}" for host in ("db1", "db2")]
        request = RunRequest(baseline=on[0], encrypted=on[1])
        check_servers(request, lambda _event: None, tmp_path / "said.jsonl")
    finally:
        os.close(reading)
    assert found == ["secret"] * 4, "both servers, with a schema whose encryption is changed and without"


def test_a_killed_run_that_cannot_make_its_schema_leaves_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    class Opened:
        def __init__(self, *_: object, **__: object) -> None:
            opened.append("session")

        def close(self) -> None:
            opened.remove("session")

    def make(_begins: object) -> None:
        raise ExternalServerFault("full", Refusal.of("server-refuses", said="no room"))

    steps = "tdelta.session.server_check.steps"
    monkeypatch.setattr(f"{steps}.Session", Opened)
    monkeypatch.setattr(f"{steps}.RunSchema", lambda *_, **__: SimpleNamespace(make=make))
    monkeypatch.setattr(f"{steps}.SchemaKeeper", lambda *_: nullcontext(SimpleNamespace(begins=None)))
    monkeypatch.setattr(f"{steps}.replace", lambda server, **_: server)
    access = SimpleNamespace(password=lambda _server: "x")
    bench = FakeBench()
    bench.servers = SimpleNamespace(schema="tdelta_x", access=access)  # type: ignore[assignment]
    dsn = SimpleNamespace(options=lambda *_, **__: {}, program="")
    server: Any = SimpleNamespace(option="--encrypted", kind=SimpleNamespace(session_sql=()), dsn=dsn)
    with pytest.raises(ExternalServerFault):
        Bench.is_cleaned(bench, server)
    assert opened == []
