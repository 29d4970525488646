"""``tdelta run --engine clickhouse`` from command line to answer, on small data."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sqlite.running import Answered, Place
from sqlite.test_answers import checks

from tdelta.messages.checks import FINDS, IN_FORCE, NO_MARKER
from tdelta_codes import cautions, check_refused, details

from .conftest import ENGINE


def states(document: Any, cipher: str) -> dict[str, str]:
    """The states of the classes that hold rows, of the twins of one cipher."""
    found: dict[str, str] = {}
    for one in document["evidence"]:
        if one["condition"]["cipher"] == cipher and one["file_class"] != "other":
            assert found.setdefault(one["file_class"], one["state"]) == one["state"]
    return found


def test_the_study_is_sound(study: Answered) -> None:
    found = checks(study.document)
    (seen,) = details(study.document, IN_FORCE, "cipher-seen")
    assert re.findall(r"aes-256-ctr: \D*(\d+)", str(seen.parameters["seen"])) == ["2"], "in the header of every file"
    for check in (IN_FORCE, "rows-before", "rows-after", "settings", "files-encrypted", "same-work", NO_MARKER, FINDS):
        assert found[check][0] == "ok", found[check]
    assert {trial["work"] for trial in study.place.trials()} == {"load", "rebuild", "cold"}
    assert cautions(study.document, "cache-of-system")
    assert "% cache" not in study.document["answer"], "none was limited"


def test_parts_are_encrypted_and_temporary_files_are_in_the_clear(study: Answered) -> None:
    assert states(study.document, "none") == {"database": "plain", "temp": "plain"}
    assert states(study.document, "aes-256-ctr") == {"database": "encrypted", "temp": "uncovered"}


def test_a_load_writes_what_a_rebuild_writes_again_and_a_cold_query_reads_it(study: Answered) -> None:
    for trial in study.place.trials():
        assert trial["files_bytes"]["database"] > 100_000
        moved = "syscall_written_bytes" if trial["work"] in ("load", "rebuild") else "syscall_read_bytes"
        assert trial[moved] > 100_000, trial["work"]
        assert not trial["errors"]


@pytest.mark.parametrize(
    ("options", "said", "parameters"),
    [
        (("--cache", "20%"), "not-supported", {"options": "--cache"}),
        (("--workload", "order-entry"), "writes", {"workload": "order-entry"}),
    ],
)
def test_what_clickhouse_cannot_do_is_refused_before_anything_is_made(
    place: Place, options: tuple[str, ...], said: str, parameters: dict[str, str]
) -> None:
    check_refused(place.run(*ENGINE, *options), said, **parameters)
    assert list(place.twins.glob("twins-*")) == []
