"""The study ``direct-load`` on ClickHouse, small: with AES instructions and, where they can be hidden, without."""

from __future__ import annotations

from sqlite.running import Place
from sqlite.test_answers import checks

from .conftest import ENGINE


def test_a_serial_load_proves_its_instructions(place: Place) -> None:
    ciphers = ("--vary", "cipher=aes-128-ctr")
    brief = ("--size", "1MB", "--blocks", "1", "--rounds", "1..1", "--no-aa-twin")
    document = place.answer("direct-load", *ENGINE, *ciphers, *brief)
    found = checks(document)
    assert found["cipher-in-force"][0] == "ok"
    assert found["aes-instructions"][0] in ("ok", "not shown"), "where they cannot be hidden there is one level"
    assert {trial["cipher"] for trial in place.trials()} == {"none", "aes-128-ctr"}
