import json
import re
import signal
from typing import Any

import pytest
from sqlite.test_answers import checks

from support.codes import cautions, details, file_states
from support.refused import check_messages
from support.running import ONCE, SMALL, Answered, Place, end, read_until, workers_left
from tdelta.engines.duckdb.engine import DuckdbEngine
from tdelta.messages.checks import FINDS, IN_FORCE, NO_MARKER, ROWS_AFTER

from .conftest import ENGINE

ENCRYPTED = {"database": "encrypted", "wal": "encrypted", "temp": "encrypted"}
SCAN = (*ENGINE, "--workload", "scan", "--no-aa")


def in_force(document: Any) -> dict[str, tuple[str, str]]:
    (seen,) = details(document, IN_FORCE, "cipher-seen")
    found = re.findall(r"([\w-]+): (GCM|CTR)\W.*?(openssl|mbedtls)", str(seen.parameters["seen"]))
    return {cipher: (mode, library) for cipher, mode, library in found}


def mean(trials: list[dict[str, Any]], name: str, **levels: object) -> float:
    chosen = [t[name] for t in trials if all(t[factor] == level for factor, level in levels.items())]
    assert chosen
    return sum(chosen) / len(chosen)


def test_a_default_run_is_sound_and_says_what_the_loop_costs(default_run: Answered) -> None:
    document = default_run.document
    found = checks(document)
    assert found["rows-before"][0] == "ok"
    assert found[ROWS_AFTER][0] == "ok"
    check_messages(details(document, ROWS_AFTER), "rows-after-rounds", rounds=2)
    assert found["settings"][0] == "ok"
    assert found[IN_FORCE][0] == "ok"
    assert in_force(document) == {"aes-256-gcm": ("GCM", "openssl")}
    assert 100 < document["loop_cost_ns"] < 100_000
    assert 0 < document["client_overhead_share"] < 0.1
    assert cautions(document, "one-memory-limit")


def test_every_class_of_file_is_plain_on_plain_twins_and_encrypted_on_the_others(default_run: Answered) -> None:
    document = default_run.document
    assert file_states(document, "none") == {"database": "plain", "wal": "plain", "temp": "plain"}
    assert file_states(document, "aes-256-gcm") == ENCRYPTED
    assert checks(document)[NO_MARKER][0] == "ok"
    assert checks(document)[FINDS][0] == "ok"
    check_messages(details(document, FINDS), "markers-present", classes="database, wal, temp", twins=2)
    # Temporary files are encrypted on every twin: only the control shows what a search would find in them.
    for one in document["evidence"]:
        if one["file_class"] == "temp" and one["condition"]["cipher"] == "none":
            assert any("control" in name for name in one["files"])


def test_temporary_files_are_in_the_clear_where_the_scope_leaves_them_out(place: Place) -> None:
    scopes = ("--vary", "scope=data,+temp")
    brief = ("--size", "1MB", "--trial-time", "0.1s", "--blocks", "2", "--rounds", "1..1", "--no-bb", "--cold")
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
    assert [breakdown["condition"]["scope"] for breakdown in document["cost_breakdown"]] == ["data", "+temp"]
    ciphers = [
        sum(line["kind"] == "cipher" for line in breakdown["components"]) for breakdown in document["cost_breakdown"]
    ]
    assert ciphers == [0, 1]


def test_trials_hold_what_was_counted(default_run: Answered) -> None:
    for trial in default_run.place.trials():
        assert trial["files_bytes"]["database"] > 0
        assert trial["cpu_user_seconds"] + trial["cpu_system_seconds"] > 0
        assert trial["statements"].keys() >= {"browse_products/1"} or trial["operations"] < 20
        assert sum(span["count"] for span in trial["transactions"].values()) == trial["operations"]


@pytest.fixture(scope="module")
def every_cipher(tmp_path_factory: pytest.TempPathFactory) -> Answered:
    ciphers = ",".join(cipher for cipher in DuckdbEngine().ciphers if cipher != "none")
    place = Place(tmp_path_factory.mktemp("ciphers"))
    return place.answered(*SCAN, "--vary", f"cipher={ciphers}", "--size", "1MB", *ONCE)


@pytest.fixture(scope="module")
def cold(tmp_path_factory: pytest.TempPathFactory) -> Answered:
    place = Place(tmp_path_factory.mktemp("cold"))
    return place.answered(*SCAN, "--size", "10MB", "--cold", "--vary", "aes_instructions=on,off", "--rounds", "1..1")


def test_every_cipher_hides_the_markers_in_every_class_and_is_in_force(every_cipher: Answered) -> None:
    ciphers, document = [cipher for cipher in DuckdbEngine().ciphers if cipher != "none"], every_cipher.document
    assert {cipher: file_states(document, cipher) for cipher in ciphers} == dict.fromkeys(ciphers, ENCRYPTED)
    assert checks(document)[IN_FORCE][0] == "ok"
    assert in_force(document) == {
        "aes-256-gcm": ("GCM", "openssl"),
        "aes-256-ctr": ("CTR", "openssl"),
        "aes-256-gcm-mbedtls": ("GCM", "mbedtls"),
        "aes-256-ctr-mbedtls": ("CTR", "mbedtls"),
    }
    check_messages(cautions(document, "software-aes"), "software-aes", library="mbedtls")


def test_a_cold_trial_reads_the_file_and_a_warm_one_does_not(cold: Answered, every_cipher: Answered) -> None:
    for cipher in ("none", "aes-256-gcm"):
        once, again = (
            mean(trials, "syscall_read_bytes", cipher=cipher) / mean(trials, "total_operations", cipher=cipher)
            for trials in (cold.place.trials(), every_cipher.place.trials())
        )
        assert once > 2_000_000
        assert again < 100_000, "a tenth of that file"


def test_aes_instructions_can_be_hidden_and_that_is_proved(cold: Answered) -> None:
    place, document = cold.place, cold.document
    listed = json.loads(place.tdelta("engines", "--json").out)["engines"]
    (duckdb,) = (one for one in listed if one["name"] == "duckdb")
    assert duckdb["available"]
    if duckdb["aes_instructions"] != ["on", "off"]:
        pytest.skip("this CPU's AES instructions cannot be hidden")
    assert checks(document)["aes-instructions"][0] == "ok"
    trials = place.trials()
    encrypted = [trial for trial in trials if trial["cipher"] == "aes-256-gcm"]
    assert {trial["aes_instructions"] for trial in encrypted} == {"on", "off"}


def test_an_interrupted_run_leaves_nothing_and_can_be_resumed(place: Place) -> None:
    process = place.start("run", *SMALL, *SCAN, "--trial-time", "0.3s", "--blocks", "4")
    read_until(process, "round 1")
    ended = end(process, signal.SIGINT)
    assert workers_left(process.pid) == []
    assert list(place.twins.glob("twins-*")) == []
    assert ended.code == 130, ended.err
    resumed = place.tdelta("run", "--resume", "last", "--json")
    assert resumed.document["counts"]["rounds"] >= 2, resumed.err  # one that was cut off is made again
