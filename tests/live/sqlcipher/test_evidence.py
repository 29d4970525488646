"""SQLCipher under the same eyes: its cipher read back, its files searched, a user's database converted by it."""

import hashlib
import sqlite3
from pathlib import Path

from sqlite.test_answers import checks

from support.codes import details, file_states
from support.refused import check_messages
from support.running import ONCE, Place
from tdelta.messages.checks import IN_FORCE, ROWS_AFTER

SMALL = ("--library", "sqlcipher", "--no-aa", "--workload", "order-entry", *ONCE)


def test_no_file_of_an_encrypted_twin_shows_plaintext_and_writes_leave_the_same_rows_on_every_twin(
    place: Place,
) -> None:
    document = place.answer(*SMALL, "--vary", "cipher=aes-256,aes-256-no-hmac,aes-256-hmac-sha1")
    found = checks(document)
    assert found[IN_FORCE][0] == "ok"
    assert found[ROWS_AFTER][0] == "ok"
    check_messages(details(document, ROWS_AFTER), "rows-after-rounds", rounds=1)
    assert "secure_delete" in found["settings"][1]
    assert file_states(document, "none")["database"] == file_states(document, "none")["wal"] == "plain"
    for cipher in ("aes-256", "aes-256-no-hmac", "aes-256-hmac-sha1"):
        assert file_states(document, cipher)["database"] == file_states(document, cipher)["wal"] == "encrypted"


def test_its_temporary_files_are_in_the_clear_and_the_run_says_so_and_names_one(place: Place) -> None:
    ran = place.run(*SMALL, "--temp-store", "file")
    assert ran.code == 4, ran.err
    document = ran.document
    assert document["decision"] == "invalid"
    (leak,) = [e for e in document["evidence"] if e["state"] == "leak"]
    assert (leak["file_class"], leak["condition"]["cipher"]) == ("temp", "aes-256")
    assert leak["leaking"]
    told = next(detail for state, detail in checks(document).values() if state == "failed")
    assert leak["leaking"][0] in told


def test_instructions_are_switched_off_for_openssl_too_and_each_worker_shows_it(place: Place) -> None:
    document = place.answer(
        *SMALL, "--vary", "cipher=aes-256-no-hmac", "--vary", "aes_instructions=on,off", "--workload", "point-select"
    )
    assert checks(document)["aes-instructions"][0] == "ok"


def test_a_database_is_converted_by_the_librarys_own_export_and_left_as_it_was(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT)")
        rows = ((number, f"customer {number}", f"city {number % 97}") for number in range(1, 20_001))
        db.executemany("INSERT INTO customer VALUES (?, ?, ?)", rows)
        db.execute("CREATE INDEX by_city ON customer (city)")
        db.execute("PRAGMA user_version = 7")
    db.close()
    before = (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
    ran = place.tdelta(
        *("run", "--json", "--database", str(path), "--library", "sqlcipher", "--no-aa"),
        *("--vary", "cipher=aes-256,aes-256-no-hmac", "--trial-time", "0.03s", "--blocks", "2", "--rounds", "2..2"),
    )
    assert ran.code in (0, 3), ran.err
    assert "failed" not in {state for state, _ in checks(ran.document).values()}, checks(ran.document)
    assert file_states(ran.document, "aes-256")["database"] == "encrypted"
    assert (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) == before
