"""``tdelta run --engine duckdb`` from command line to answer, on small data."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest
from sqlite.running import SMALL, Answered, Place, end, read_until, workers_left
from sqlite.test_answers import checks, trials_of

from tdelta.engines.duckdb.engine import DuckdbEngine
from tdelta.messages.checks import FINDS, NO_MARKER

from .conftest import ENGINE

IN_FORCE = "cipher-in-force"
ENCRYPTED = {"database": "encrypted", "wal": "encrypted", "temp": "encrypted"}
SCAN = (*ENGINE, "--workload", "scan", "--no-aa-twin")


def states(document: Any, cipher: str) -> dict[str, str]:
    """The states of the classes that hold rows, of the twins of one cipher."""
    found: dict[str, str] = {}
    for one in document["evidence"]:
        if one["condition"]["cipher"] == cipher and one["file_class"] != "other":
            assert found.setdefault(one["file_class"], one["state"]) == one["state"]
    return found


def mean(trials: list[dict[str, Any]], name: str, **levels: object) -> float:
    chosen = [t[name] for t in trials if all(t[factor] == level for factor, level in levels.items())]
    assert chosen
    return sum(chosen) / len(chosen)


def test_a_default_run_is_sound_and_says_what_the_loop_costs(default_run: Answered) -> None:
    document = default_run.document
    found = checks(document)
    assert found["rows-before"][0] == "ok"
    assert found["rows-after"] == ("ok", "by checksum, at the end of 2 rounds")
    assert found["settings"][0] == "ok"
    assert found[IN_FORCE] == ("ok", "none: a plain file, aes-256-gcm: GCM by openssl")
    assert 100 < document["loop_cost_ns"] < 100_000
    assert 0 < document["dilution"] < 0.1
    assert any("one limit of memory" in caution for caution in document["cautions"])


def test_every_class_of_file_is_plain_on_plain_twins_and_encrypted_on_the_others(default_run: Answered) -> None:
    document = default_run.document
    assert states(document, "none") == {"database": "plain", "wal": "plain", "temp": "plain"}
    assert states(document, "aes-256-gcm") == ENCRYPTED
    assert checks(document)[NO_MARKER][0] == "ok"
    assert checks(document)[FINDS] == ("ok", "markers in database, wal, temp of 2 twins")
    # Temporary files are encrypted on every twin: only the control shows what a search would find in them.
    for one in document["evidence"]:
        if one["file_class"] == "temp" and one["condition"]["cipher"] == "none":
            assert any("control" in name for name in one["files"])


def test_temporary_files_are_in_the_clear_where_the_scope_leaves_them_out(place: Place) -> None:
    scopes = ("--vary", "scope=data,+temp")
    brief = ("--size", "1MB", "--trial-seconds", "0.1", "--blocks", "2", "--rounds", "1..1", "--no-bb-twin", "--cold")
    document = place.answer(*SCAN, *scopes, *brief)
    found = {
        (one["condition"]["scope"], one["file_class"]): one["state"]
        for one in document["evidence"]
        if one["file_class"] != "other"
    }
    assert {scope: found[scope, "temp"] for scope in ("none", "data", "+temp")} == {
        "none": "plain",
        "data": "uncovered",
        "+temp": "encrypted",
    }
    assert {state for (scope, of), state in found.items() if scope != "none" and of != "temp"} == {"encrypted"}
    assert not any("control" in name for one in document["evidence"] for name in one["files"])
    assert checks(document)[IN_FORCE][0] == "ok"
    assert [ledger["condition"]["scope"] for ledger in document["ledger"]] == ["data", "+temp"]
    ciphers = [sum(line["kind"] == "cipher" for line in ledger["lines"]) for ledger in document["ledger"]]
    assert ciphers == [0, 1]


def test_trials_hold_what_was_counted(default_run: Answered) -> None:
    for trial in trials_of(default_run.place):
        assert trial["files_bytes"]["database"] > 0
        assert trial["cpu_user_seconds"] + trial["cpu_system_seconds"] > 0
        assert trial["statements"].keys() >= {"browse_products/1"} or trial["operations"] < 20
        assert sum(span["count"] for span in trial["transactions"].values()) == trial["operations"]


def test_every_cipher_hides_the_markers_in_every_class_and_is_in_force(place: Place) -> None:
    ciphers = [cipher for cipher in DuckdbEngine().ciphers if cipher != "none"]
    document = place.answer(*SCAN, "--vary", f"cipher={','.join(ciphers)}", "--size", "1MB")
    assert {cipher: states(document, cipher) for cipher in ciphers} == dict.fromkeys(ciphers, ENCRYPTED)
    assert checks(document)[IN_FORCE] == (
        "ok",
        "none: a plain file, aes-256-gcm: GCM by openssl, aes-256-ctr: CTR by openssl,"
        " aes-256-gcm-mbedtls: GCM by mbedtls, aes-256-ctr-mbedtls: CTR by mbedtls",
    )
    assert any("not to use" in caution for caution in document["cautions"])


def test_a_cold_trial_reads_the_file_and_a_warm_one_does_not(place: Place) -> None:
    place.answer(*SCAN, "--size", "10MB", "--cold")
    cold = trials_of(place)
    place.answer(*SCAN, "--size", "10MB")
    warm = trials_of(place)
    for cipher in ("none", "aes-256-gcm"):
        size = mean(cold, "asked_read_bytes", cipher=cipher) / mean(cold, "executed_operations", cipher=cipher)
        again = mean(warm, "asked_read_bytes", cipher=cipher) / mean(warm, "executed_operations", cipher=cipher)
        assert size > 2_000_000
        assert again < size / 10


def test_aes_instructions_can_be_hidden_and_that_is_proved(place: Place) -> None:
    listed = json.loads(place.tdelta("engines", "--json").out)["engines"]
    (duckdb,) = (one for one in listed if one["name"] == "duckdb")
    assert duckdb["available"]
    if duckdb["aes_instructions"] != ["on", "off"]:
        pytest.skip("this CPU's AES instructions cannot be hidden")
    document = place.answer(*SCAN, "--size", "10MB", "--cold", "--vary", "aes_instructions=on,off")
    assert checks(document)["aes-instructions"][0] == "ok"
    trials = trials_of(place)
    encrypted = [trial for trial in trials if trial["cipher"] == "aes-256-gcm"]
    assert {trial["aes_instructions"] for trial in encrypted} == {"on", "off"}


def test_several_threads_share_an_open_loop_and_a_planted_cost_is_told(place: Place) -> None:
    options = ("--workload", "read-only", "--threads", "3", "--no-aa-twin", "--plant", "50%", "--rate", "50")
    document = place.answer(*ENGINE, *options)
    assert checks(document)["same-work"][0] == "ok"
    planted = [trial for trial in trials_of(place) if trial["planted_cpu_ns"]]
    assert len(planted) == len(trials_of(place)) / 3
    assert all(trial["planted_elapsed_ns"] >= trial["planted_cpu_ns"] for trial in planted)
    assert document["settings"]["options"]["rate"] == 50.0


def test_an_interrupted_run_leaves_nothing_and_can_be_resumed(place: Place) -> None:
    process = place.start("run", *SMALL, *SCAN, "--rounds", "3..3", "--trial-seconds", "0.3", "--blocks", "8")
    read_until(process, "round 1")
    ended = end(process, signal.SIGINT)
    assert workers_left(process.pid) == []
    assert list(place.twins.glob("twins-*")) == []
    assert ended.code == 130, ended.err
    resumed = place.tdelta("run", "--resume", "last", "--json")
    assert resumed.document["counts"]["rounds"] >= 3, resumed.err  # one that was cut off is made again


def test_a_killed_run_leaves_no_process_and_the_next_one_its_folder(place: Place) -> None:
    process = place.start("run", *SMALL, *SCAN, "--trial-seconds", "0.3")
    read_until(process, "round 1")
    end(process, signal.SIGKILL)
    assert workers_left(process.pid) == []
    assert len(list(place.twins.glob("twins-*"))) == 1
    place.answer(*SCAN, "--size", "1MB")
    assert list(place.twins.glob("twins-*")) == []
