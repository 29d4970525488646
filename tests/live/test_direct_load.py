"""The study ``direct-load`` at a small scale: one serial load, with and without the CPU's AES instructions."""

from collections.abc import Iterator
from typing import Any

import pytest

from support.running import require
from support.runs import failed_checks, studied
from tdelta.engines.duckdb.engine import DuckdbEngine
from tdelta.messages.checks import AA_CHECK

SMALL = ("--size", "5MB", "--blocks", "2", "--rounds", "1..1")
CIPHERS = {"sqlite": {"none", "aes-128", "aes-256"}, "duckdb": {"none", "aes-256-gcm"}, "mariadb": {"none", "aes-128"}}
"""SQLite loads the whole 2×3 factorial; a server's 256 bits are loaded by the other studies."""


@pytest.fixture(scope="module", params=sorted(CIPHERS))
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    engine = request.param
    if engine == "duckdb":
        library = DuckdbEngine()
        require(library.version() is not None and library.module_version() is not None, library.install)
    fewer = ("--vary", "cipher=aes-128") if engine == "mariadb" else ()
    for _, document in studied("direct-load", engine, tmp_path_factory.mktemp(engine), *SMALL, *fewer):
        yield engine, document


def test_every_load_makes_the_same_rows(loaded: tuple[str, Any]) -> None:
    _, document = loaded
    assert [check for check in failed_checks(document) if check != AA_CHECK] == []
    rows = {load["counted"]["rows"] for load in document["actions"]}
    assert len(rows) == 1
    assert rows.pop() > 50_000


def test_all_of_the_factorial_is_loaded_and_rated(loaded: tuple[str, Any]) -> None:
    engine, document = loaded
    cells = {(load["condition"]["cipher"], load["condition"]["aes_instructions"]) for load in document["actions"]}
    assert {cipher for cipher, _ in cells} == CIPHERS[engine]
    assert {level for _, level in cells} == {"on", "off"} or any("aes_instructions" in c for c in document["cautions"])
    for load in document["actions"]:
        assert load["trials"] == 2
        assert load["seconds"]["median"] > 0.0
        assert load["cpu_seconds"]["median"] > 0.0
