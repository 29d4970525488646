"""``tdelta run --engine turso`` from command line to answer, on small data."""

from __future__ import annotations

import json
import re
from typing import Any

from sqlite.running import Answered, Place
from sqlite.test_answers import checks

from tdelta.engines.turso.engine import CIPHERS, TursoEngine
from tdelta.messages.checks import FINDS, IN_FORCE, NO_MARKER
from tdelta_codes import cautions, details

from .conftest import ENGINE

ENCRYPTED = [cipher for cipher in CIPHERS if cipher != "none"]
SCAN = (*ENGINE, "--workload", "scan", "--no-aa-twin")


def states(document: Any, cipher: str) -> dict[str, str]:
    """The states of the classes that hold rows, of the twins of one cipher."""
    return {
        one["file_class"]: one["state"]
        for one in document["evidence"]
        if one["condition"]["cipher"] == cipher and one["file_class"] != "other"
    }


def test_the_study_is_sound_with_every_cipher_and_four_writers(study: Answered) -> None:
    found = checks(study.document)
    (seen,) = details(study.document, IN_FORCE, "cipher-seen")
    assert re.findall(r"([\w-]+): (ae\w+)\D*(\d)", str(seen.parameters["seen"])) == [
        ("aegis-256", "aegis256", "3"),
        ("aes-256-gcm", "aes256gcm", "2"),
        ("aes-128-gcm", "aes128gcm", "1"),
    ]
    for check in (IN_FORCE, "rows-before", "settings", "files-encrypted", "same-work", NO_MARKER, FINDS):
        assert found[check][0] == "ok", found[check]
    assert study.document["settings"]["options"]["threads"] == 4
    assert {one["decision"] for one in study.document["verdicts"]} != {"unsound"}
    assert cautions(study.document, "experimental-encryption")
    assert 100 < study.document["loop_cost_ns"] < 100_000


def test_tables_and_log_are_encrypted_and_temporary_files_are_in_the_clear(study: Answered) -> None:
    assert states(study.document, "none") == {"database": "plain", "wal": "plain", "temp": "plain"}
    for cipher in ENCRYPTED:
        assert states(study.document, cipher) == {"database": "encrypted", "wal": "encrypted", "temp": "uncovered"}


def test_trials_hold_what_was_counted(study: Answered) -> None:
    for trial in study.place.trials():
        assert trial["files_bytes"]["database"] > 0
        assert trial["cpu_user_seconds"] + trial["cpu_system_seconds"] > 0
        assert not trial["errors"], "writers wait for each other, and none is refused"
        assert sum(span["count"] for span in trial["transactions"].values()) == trial["operations"]


def test_cold_trials_read_the_file_and_hidden_instructions_are_proved(place: Place) -> None:
    options = ("--vary", "cipher=aes-256-gcm", "--vary", "aes_instructions=on,off", "--cold", "--rounds", "1..1")
    document = place.answer(*SCAN, *options)
    for trial in place.trials():
        assert trial["syscall_read_bytes"] > 1_000_000, "of a file of 3 MB"
    (listed,) = (one for one in json.loads(place.tdelta("engines", "--json").out)["engines"] if one["name"] == "turso")
    assert (listed["available"], listed["version"]) == (True, TursoEngine().version())
    if listed["aes_instructions"] == ["on", "off"]:  # else this CPU's cannot be hidden
        assert checks(document)["aes-instructions"][0] == "ok"
