"""What pages cost Turso itself, that bytes count them, and the line that makes of a run."""

from __future__ import annotations

import secrets
import statistics
from pathlib import Path

import pytest
from sqlite.running import Answered, Place

from tdelta.driver import Worker
from tdelta.engines.turso.engine import CIPHERS, TursoEngine, TursoSettings
from tdelta.engines.turso.pricing import ask_page_prices
from tdelta.engines.turso.proof import PAGE_BYTES
from tdelta.engines.turso.twins import PROGRAM

from .conftest import ENGINE


def test_a_page_of_every_cipher_costs_to_read_and_to_write(tmp_path: Path) -> None:
    for cipher in (cipher for cipher in CIPHERS if cipher != "none"):
        home = tmp_path / cipher
        found = ask_page_prices(TursoEngine(), PROGRAM, home, {}, TursoSettings(cipher, 1, 0))
        assert (found["page_bytes"], found["counted"]) == (PAGE_BYTES, "bytes")
        assert not home.exists()
        passes = found["passes"]
        assert isinstance(passes, dict)
        medians = {name: statistics.median(each) for name, each in passes.items()}
        assert medians.keys() == {"plain_read", "plain_write", "read", "write"}
        assert min(medians.values()) > 0, medians


def test_what_is_moved_from_the_log_into_the_file_is_encrypted_anew(tmp_path: Path) -> None:
    """So bytes written count pages encrypted: nonces are drawn anew, and a page has other bytes in the file."""
    path = tmp_path / "twin.db"
    options = TursoEngine().options(path, TursoSettings("aes-256-gcm", 1, 4 << 20), secrets.token_hex(32))
    made = ["CREATE TABLE page (number INTEGER PRIMARY KEY, body BLOB NOT NULL)"]
    made += [f"INSERT INTO page VALUES ({number}, zeroblob(3000))" for number in range(3)]
    with Worker(program=PROGRAM) as worker:
        worker.ask("open", options=options, connections=1)
        worker.ask("facts", queries=dict(zip(map(str, range(len(made))), made, strict=True)))
        log = Path(f"{path}-wal").read_bytes()
        worker.ask("facts", queries={"checkpoint": "PRAGMA wal_checkpoint(TRUNCATE)"})
        held = path.read_bytes()
    pages = [held[at : at + PAGE_BYTES] for at in range(PAGE_BYTES, len(held), PAGE_BYTES)]
    assert len(log) > len(pages) * PAGE_BYTES > 0, "they were in the log before"
    assert not [page for page in pages if page[100:200] in log]


@pytest.fixture(scope="module")
def scans(tmp_path_factory: pytest.TempPathFactory, library: None) -> Answered:
    options = ("--workload", "scan", "--no-aa-twin", "--size", "10MB", "--cold", "--vary", "cipher=aegis-256")
    return Place(tmp_path_factory.mktemp("prices")).answered(*ENGINE, *options)


def test_the_cipher_is_what_a_cold_scan_pays_for(scans: Answered) -> None:
    (breakdown,) = scans.document["cost_breakdown"]
    lines = {line["kind"]: line for line in breakdown["components"]}
    assert lines.keys() == {"cipher", "io", "residual"}
    (decrypted, *_) = lines["cipher"]["items"]
    assert decrypted["what"] == "pages decrypted"
    assert decrypted["count"] > 1000, "of a file of 10 MB"
    low, high = (us / breakdown["cpu"]["us"] for us in lines["residual"]["amount"]["hdi95"])
    assert low < 0.4, lines
    assert high > -0.4, lines
