"""Oracle and SQL Server on SYNTHETIC conversations (tests/peers), which no server ever said: as far as that goes."""

import contextlib
import json
import os
import re
import sqlite3
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tdelta.cli.main import main
from tdelta.engines.oracle.driver import own_tablespace
from tdelta.session.server_check import steps

PEERS = Path(__file__).parents[2] / "peers"
ASKED = "tls=disable&password-env=PEER_PASSWORD"
DSNS = {
    "oracle": (f"oracle://bench@db1/PDB1?{ASKED}", f"oracle://bench@db2/PDB2?{ASKED}"),
    "sqlserver": (f"sqlserver://bench@db1/?{ASKED}", f"sqlserver://bench@db2/?{ASKED}"),
}
ONE = f"oracle://bench@db3/PDB1?{ASKED}"
BRIEF = ("--size", "100kB", "--trial-time", "0.02s", "--blocks", "2", "--rounds", "1..1")
ALONE = ("--no-aa", "--no-bb")
BACKUPS = (
    "backup",
    "backup:transfer=1024",
    *(f"backup:compress=server{transfer}" for transfer in ("", ":transfer=64", ":transfer=1024")),
    "restore:compress=server",
)
NOT_OFFERED = {"oracle": {"backup and restore"}, "sqlserver": set[str]()}
CHANGES = {
    "oracle": ["encrypt", "encrypt:mode=offline", "rekey", "decrypt", "decrypt:mode=offline"],
    "sqlserver": ["encrypt", "encrypt:pause=3", "rekey", "decrypt"],
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the peers of all runs keep statements as SQLite takes them."""
    return tmp_path_factory.mktemp("written") / "statements"


def at(baseline: str, encrypted: str) -> tuple[str, ...]:
    return ("--baseline", baseline, "--encrypted", encrypted)


PLACES = at(f"{ONE}&tablespace=plain_ts", f"{ONE}&tablespace=SECRET_TS")


class Peers:
    """Runs on the peers, which keep the statements that they were given."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def ran(self, *words: str) -> tuple[int, Any]:
        with pytest.raises(SystemExit) as ended:
            main((*words, "--json"))
        written = self._capsys.readouterr()
        assert isinstance(ended.value.code, int)
        assert written.out.startswith("{"), written.err
        return ended.value.code, json.loads(written.out)

    def answer(self, study: str, servers: tuple[str, ...], *words: str, alone: tuple[str, ...] = ALONE) -> Any:
        """The result of a run, with the rows and the encryption that it should have."""
        store = ("--store", str(self.folder / "runs.sqlite"))
        code, result = self.ran("run", study, *servers, *BRIEF, *alone, *store, *words)
        assert code in (0, 3), json.dumps(result)
        assert state_of(result, "rows-before") == state_of(result, "files-encrypted") == "ok"
        assert {"engine-untried", "results-licensed"} <= cautions_of(result)
        return result

    def refused(self, *words: str) -> tuple[int, list[str]]:
        code, document = self.ran("run", *words)
        return code, [refusal["code"] for refusal in document["refusals"]]

    def check(self, servers: tuple[str, ...]) -> tuple[Any, Path]:
        """The report of a passed check of servers, and its file."""
        sent = self.folder / "sent.json"
        code, report = self.ran("check-servers", *servers, "--report", str(sent))
        assert code == 0, [step for step in report["steps"] if step["outcome"] == "failed"]
        return report, sent

    def query(self, host: str, sql: str) -> list[Any]:
        with contextlib.closing(sqlite3.connect(self.folder / "peer" / f"{host}-notes")) as opened:
            return [row[0] for row in opened.execute(sql)]

    def said(self, host: str) -> list[str]:
        return self.query(host, "SELECT sql FROM ran")


def state_of(result: Any, check: str) -> str:
    return {found["code"]: found["state"] for found in result["validity"]}[check]


def cautions_of(result: Any) -> set[str]:
    return {caution["code"] for caution in result["caution_codes"]}


def changes_of(result: Any) -> dict[str, Any]:
    """The changes of encryption by their levels, each in two trials; the rows are the same after them."""
    assert state_of(result, "rows-after") == "ok"
    changed = {one["action"]: one for one in result["actions"]}
    assert all(one["trials"] == 2 and one["seconds"]["median"] > 0 for one in changed.values())
    return changed


@pytest.fixture(autouse=True)
def peers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, written: Path, capsys: pytest.CaptureFixture[str]) -> Peers:
    """Workers find the peers where they look for the drivers."""
    (tmp_path / "peer").mkdir()
    monkeypatch.setenv("PEER_PASSWORD", "x")
    monkeypatch.setenv("TDELTA_PEER", str(tmp_path / "peer"))
    monkeypatch.setenv("TDELTA_PEER_WRITTEN", str(written))
    monkeypatch.setenv("PYTHONPATH", ":".join((str(PEERS), *filter(None, sys.path))))
    monkeypatch.delenv("TDELTA_CONVERSATION", raising=False)
    monkeypatch.setattr(steps, "LONG_SECONDS", 0)
    return Peers(tmp_path, capsys)


@pytest.mark.parametrize("engine", DSNS)
def test_a_run_goes_through_to_an_answer_that_says_that_nobody_ran_it_on_a_real_server(
    engine: str, peers: Peers
) -> None:
    result = peers.answer("order-entry", at(*DSNS[engine]), "--threads", "1")
    assert result["settings"]["engine"] == engine
    assert state_of(result, "rows-after") == "ok"
    cautions = cautions_of(result)
    assert "servers-cpu-accounted" in cautions
    assert ("network-open" in cautions) is ("redo-archived" in cautions) is (engine == "oracle")


@pytest.mark.long
@pytest.mark.parametrize("study", ["warehouse", "dml-trace", "spill", "backup", "direct-load", "read-only-sweep"])
def test_studies_of_sql_server_go_through_to_an_answer(study: str, peers: Peers) -> None:
    varied = {"read-only-sweep": "threads=1,2", "spill": "maxdop=1,2"}
    more = ("--vary", varied[study]) if study in varied else ()
    result = peers.answer(study, at(*(dsn.replace("sqlserver:", "mssql:") for dsn in DSNS["sqlserver"])), *more)
    assert [
        check["code"] for check in result["validity"] if check["state"] == "failed" and check["makes_invalid"]
    ] == []
    seen = {verdict["condition"].get("work") for verdict in result["verdicts"]}
    works = {"warehouse": {"load", "rebuild", "warm", "cold"}, "backup": set(BACKUPS), "direct-load": {"load"}}
    works["dml-trace"] = {"routine", "warm"}
    assert seen == works.get(study, {None})
    said = peers.said("db2")
    if study == "backup":
        ratios = {one["condition"]["cipher"]: one["ratio"] for one in result["backups"]}
        assert ratios == {"none": 4.0, "encrypted": pytest.approx(4194304 / 4190208)}
        assert not any(one["markers"] for one in result["backups"])
        restoring = [one for one in said if "_restored]" in one or "dumpdevice" in one or "dropdevice" in one]
        steps = ("sp_addumpdevice", "RESTORE DATABASE", "COUNT_BIG", "DROP DATABASE [", "sp_dropdevice") * 2
        assert [step in one for step, one in zip(steps, restoring, strict=True)] == [True] * len(steps)
    if study == "read-only-sweep":
        assert {verdict["condition"]["threads"] for verdict in result["verdicts"]} == {1, 2}
    if study == "direct-load":
        load_shown(result)
    assert ("bulk copy into fact_sales" in said) is (study in {"direct-load", "warehouse"})
    if study == "dml-trace":
        assert all(one["calls"] and one["cpu_us"] > 0 for one in result["traces"]["statements"])
    if study == "spill":
        assert all(one["counters"]["temporary_bytes"] > 0 for one in result["temporary"])
        assert {one.rpartition(" ")[2] for one in said if "SET MAXDOP" in one} == {"1", "2"}


@pytest.mark.long
def test_databases_are_encrypted_rekeyed_suspended_and_decrypted_while_their_load_goes_on(peers: Peers) -> None:
    levels = ("encrypt", "encrypt:pause=1", "rekey", "decrypt")
    asked = ("--vary", f"during={','.join(levels)}", "--warmup", "0s")
    changed = changes_of(peers.answer("convert", at(*DSNS["sqlserver"]), *asked))
    assert tuple(changed) == levels
    assert {one["counted"]["file_bytes"] for one in changed.values()} == {1 << 20}
    assert changed["encrypt:pause=1"]["counted"]["suspended_at_percent"] == 42
    assert changed["encrypt:pause=1"]["seconds"]["median"] > 1
    assert {one["condition"]["cipher"] for one in changed.values()} == {"none"}
    said, elsewhere = peers.said("db2"), peers.said("db1")
    altered = [one for one in said if "_rekey]" in one and "DROP DATABASE [" not in one]
    rekeyed = [one for one in altered if "KEY" in one or "SET ENCRYPTION" in one]
    steps = ("CREATE DATABASE ENCRYPTION KEY", "ENCRYPTION ON", "REGENERATE", "ENCRYPTION OFF", "DROP DATABASE ENC") * 2
    assert [step in one for step, one in zip(steps, rekeyed, strict=True)] == [True] * len(steps)
    assert not any("SET ENCRYPTION O" in one for one in elsewhere)
    assert all(any("Batch Requests/sec" in one for one in notes) for notes in (said, elsewhere)), "work is counted"


@pytest.mark.parametrize(
    ("level", "code"),
    [
        ("backup:transfer=65", "out-of-range"),
        ("backup:transfer=8192", "out-of-range"),
        ("backup:compress=zstd", "out-of-range"),
        ("restore:transfer=65", "out-of-range"),
        ("restore:tool=dump", "unknown"),
        ("restart", "unsupported"),
    ],
)
def test_a_backup_that_sql_server_does_not_make_is_refused(level: str, code: str, peers: Peers) -> None:
    assert peers.refused("backup", *at(*DSNS["sqlserver"]), "--vary", f"work={level}") == (2, [code])


STUDIES = ("read-only-sweep", "warehouse", "direct-load", "dml-trace", "spill", "capacity", "soak")
FEW = ("--vary", "threads=1", "--vary", "fetch_size=10,1000")


@pytest.mark.long
@pytest.mark.parametrize("study", STUDIES)
def test_every_study_of_oracles_goes_through_to_an_answer(study: str, peers: Peers) -> None:
    more = FEW if study == "read-only-sweep" else ("--vary", "rate=60%") if study == "capacity" else ()
    result = peers.answer(study, at(*DSNS["oracle"]), "--warmup", "0s", *more)
    assert result["settings"]["study"] == study
    assert result["errors"] == {}
    assert not {"other-plan", "trace-without-cpu"} & cautions_of(result)
    SHOWN.get(study, lambda _: None)(result)
    said = peers.said("db2")
    assert all(any(text in statement for statement in said) for text in SAID.get(study, ()))
    if study == "warehouse":
        marks = ("path load of FACT_SALES", "INDEX fact_sales_pk REBUILD")
        loads = [mark is marks[0] for one in said for mark in marks if mark in one]
        assert loads.count(True) >= 2
        assert not any(one and other for one, other in pairwise([*loads, True])), "every load is followed by a rebuild"


def warehouse_shown(result: Any) -> None:
    works = {verdict["condition"]["work"] for verdict in result["verdicts"]}
    assert works == {"load", "rebuild", "warm", "cold"}
    assert state_of(result, "rows-after") == "ok"


def load_shown(result: Any) -> None:
    assert {step["condition"]["load_by"] for step in result["actions"]} == {"direct", "arrays"}


def sweep_shown(result: Any) -> None:
    assert {verdict["condition"]["fetch_size"] for verdict in result["verdicts"]} == {10, 1000}


def trace_shown(result: Any) -> None:
    assert {verdict["condition"]["work"] for verdict in result["verdicts"]} == {"routine", "warm"}
    assert set(result["traces"]["headings"]) == {"physical", "logical", "current"}
    assert all(one["calls"] > 0 and one["cpu_us"] > 0 for one in result["traces"]["statements"])
    of_routine = {one["statement"] for one in result["traces"]["statements"] if one["condition"]["work"] == "routine"}
    assert of_routine == {"INSERT execute", "INSERT parse", "SELECT execute", "SELECT fetch"}
    assert round(result["traces"]["published"]["INSERT"]["CPU"], 2) == 2.19


def spill_shown(result: Any) -> None:
    assert state_of(result, "temporary-data") == "ok"


SHOWN = {
    "warehouse": warehouse_shown,
    "direct-load": load_shown,
    "dml-trace": trace_shown,
    "read-only-sweep": sweep_shown,
    "spill": spill_shown,
}
SAID = {
    "warehouse": ("FLUSH BUFFER_CACHE", "MOVE ROW STORE", "INDEX fact_sales_pk REBUILD", "path load of FACT_SALES"),
    "direct-load": ("direct path load of FACT_SALES",),
    "dml-trace": ("FROM v$sesstat", "FROM v$sqlstats", "EXPLAIN PLAN FOR", "FORALL i IN 1 .. ids.COUNT"),
    "spill": ("SORT_AREA_SIZE",),
}


@pytest.mark.long
def test_two_tablespaces_of_one_oracle_database_are_twins(peers: Peers) -> None:
    result = peers.answer("order-entry", PLACES, "--threads", "1")
    assert state_of(result, "rows-after") == "ok"
    (shared,) = (one for one in result["caution_codes"] if one["code"] == "one-server-two-places")
    assert (shared["parameters"]["baseline"], shared["parameters"]["encrypted"]) == ("PLAIN_TS", "SECRET_TS")
    assert all(word in shared["parameters"]["shared"] for word in ("buffer", "redo", "undo", "temporary"))
    made = [said.split() for said in peers.said("db3") if said.startswith("CREATE USER")]
    (plain, encrypted) = ((words[2], words[7]) for words in made)
    assert encrypted[0] == f"{plain[0]}_encrypted"
    assert (plain[1], encrypted[1]) == ('"PLAIN_TS"', '"SECRET_TS"')
    assert sum("'DROP USER " in said for said in peers.said("db3")) == 2


@pytest.mark.long
def test_sql_loader_loads_a_file_that_is_written_once_and_its_log_says_how_long_it_took(
    peers: Peers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{PEERS}:{os.environ['PATH']}")
    result = peers.answer("direct-load", at(*DSNS["oracle"]), "--vary", "load_by=sqlldr")
    assert state_of(result, "rows-after") == "ok"
    assert {step["condition"]["load_by"] for step in result["actions"]} == {"sqlldr"}
    assert all(1.5 <= step["seconds"]["median"] < 1.7 for step in result["actions"])


@pytest.mark.parametrize(
    ("engine", "client", "code"),
    [("oracle", "", "program-missing"), ("oracle", "&client=thick", "conflict"), ("sqlserver", "", "unsupported")],
)
def test_loads_that_cannot_be_had_are_refused(
    engine: str, client: str, code: str, peers: Peers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    load = () if client else ("--vary", "load_by=sqlldr")
    assert peers.refused("direct-load", *at(*(f"{dsn}{client}" for dsn in DSNS[engine])), *load) == (2, [code])


@pytest.mark.long
def test_several_encrypted_tablespaces_are_compared_with_one_baseline(peers: Peers) -> None:
    several = (*PLACES[:-1], f"{ONE}&tablespace=SMALL_TS,secret_ts")
    result = peers.answer("order-entry", several, "--threads", "1", alone=())
    assert state_of(result, "rows-after") == "ok"
    assert {verdict["condition"]["cipher"] for verdict in result["verdicts"]} == {"small_ts", "secret_ts"}
    said = peers.said("db3")
    made = {words[2]: words[7] for words in map(str.split, said) if words[:2] == ["CREATE", "USER"]}
    schema = next(iter(made))
    places = {"": "PLAIN", "_aa": "PLAIN", "_encrypted": "SMALL", "_bb": "SMALL"}
    places |= {"_encrypted_secret_ts": "SECRET", "_bb_secret_ts": "SECRET"}
    assert made == {f"{schema}{role}": f'"{place}_TS"' for role, place in places.items()}
    assert {found[1] for one in said if (found := re.search(r"'DROP USER (\w+) ", one))} == made.keys()


def altered(said: list[str], level: str) -> list[str]:
    """The changes of the tablespace of the schema that a level converts."""
    (schema,) = (found[1] for one in said if (found := re.match(rf"CREATE USER (\w+_{level}) ", one)))
    start = f"ALTER TABLESPACE {own_tablespace(schema)} "
    return [one.removeprefix(start) for one in said if one.startswith(start)]


OFFLINE_SECONDS = 0.3


@pytest.mark.long
def test_tablespaces_of_tdeltas_are_encrypted_rekeyed_and_decrypted_while_their_load_goes_on(peers: Peers) -> None:
    changed = changes_of(peers.answer("convert", PLACES, "--warmup", "0s"))
    assert tuple(changed) == ("encrypt", "rekey", "decrypt")
    said = peers.said("db3")
    assert {name: [one.split()[-1] for one in altered(said, name)] for name in changed} == {
        "encrypt": ["ENCRYPT", "DECRYPT"] * 2,
        "rekey": ["ENCRYPT", "REKEY", "DECRYPT"] * 2,
        "decrypt": ["ENCRYPT", "DECRYPT"] * 2,
    }
    sessions = peers.query("db3", "SELECT session FROM ran WHERE sql LIKE 'ALTER TABLESPACE%'")
    assert len(set(sessions)) == 6  # one for each trial, which waits without a limit
    made, dropped = (
        [found[1] for one in said if (found := re.search(rf"{what} TABLESPACE (\w+)", one))]
        for what in ("CREATE", "DROP")
    )
    assert {*made} < {*dropped}
    assert len(made) == 3


@pytest.mark.long
def test_a_tablespace_is_converted_offline_and_its_load_waits(peers: Peers) -> None:
    levels = ("encrypt:mode=offline", "decrypt:mode=offline")
    asked = ("--vary", f"during={','.join(levels)}", "--warmup", "0s", "--trial-time", "0.5s")
    result = peers.answer("convert", PLACES, *asked)
    changed = changes_of(result)
    assert tuple(changed) == levels
    assert all(one["seconds"]["median"] > OFFLINE_SECONDS for one in changed.values())
    assert result["errors"] == {}
    assert result["retries"]["offline"] > 0
    measured = ["OFFLINE NORMAL", "ENCRYPTION OFFLINE DECRYPT", "ONLINE"]
    converted = altered(peers.said("db3"), "decrypt_mode_offline")
    assert converted == ["ENCRYPTION ONLINE USING 'AES256' ENCRYPT", *measured] * 2


@pytest.mark.long
def test_another_key_is_for_tablespaces_that_are_online(peers: Peers) -> None:
    assert peers.refused("convert", *PLACES, *BRIEF, "--vary", "during=rekey:mode=offline") == (2, ["unknown"])


@pytest.mark.long
def test_the_check_is_passed_by_two_tablespaces_of_one_database(peers: Peers) -> None:
    report, _ = peers.check(PLACES)
    assert {s["ability"] for s in report["steps"] if s["outcome"] != "passed"} == NOT_OFFERED["oracle"]


@pytest.mark.parametrize(
    ("baseline", "encrypted", "ended", "refused"),
    [
        ("", "", 2, "one-place-twice"),
        ("&tablespace=SECRET_TS", "&tablespace=secret_ts", 2, "one-place-twice"),
        ("", "&tablespace=MISSING", 2, "unknown"),
        ("&tablespace=SECRET_TS", "&tablespace=PLAIN_TS", 4, "server-encrypted"),
    ],
)
def test_two_places_that_are_no_twins_are_refused(
    baseline: str, encrypted: str, ended: int, refused: str, peers: Peers
) -> None:
    assert peers.refused("order-entry", *at(ONE + baseline, ONE + encrypted)) == (ended, [refused])


@pytest.mark.parametrize("engine", DSNS)
def test_the_check_is_passed_and_its_file_has_what_was_said_without_names(engine: str, peers: Peers) -> None:
    report, sent = peers.check(at(*DSNS[engine]))
    assert {s["ability"] for s in report["steps"] if s["outcome"] != "passed"} == NOT_OFFERED[engine]
    changed = {s["ability"]: [*s["found"]] for s in report["steps"]}["encryption changed"]
    assert changed == CHANGES[engine]
    said = json.loads(sent.read_text(encoding="utf-8"))["conversation"]
    assert any("kinds" in entry and entry["kinds"] for entry in said)  # what worked on tables
    assert any(entry.get("error", [""])[0] == "constraint" for entry in said)
    assert any(entry.get("rows") for entry in said)
    text = sent.read_text(encoding="utf-8").lower()
    names = r"\bbench\b|\bdb[12]\b|/opt/wallets"  # whole words: names of sessions are drawn, in hex
    assert re.findall(names, text) == []
    assert "TDELTA_CONVERSATION" not in os.environ
