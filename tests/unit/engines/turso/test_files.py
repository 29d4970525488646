"""Which files a Turso twin has, and what each is for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tdelta.engines.turso.files import turso_file_class, turso_files
from tdelta.evidence import FileClass


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("twin.db", FileClass.DATABASE),
        ("twin.db-wal", FileClass.WAL),
        ("tursodb-temp.db", FileClass.TEMP),
        ("tursodb-temp.db-wal", FileClass.TEMP),
        ("tursodb_temp_file", FileClass.TEMP),
        ("other.db", FileClass.OTHER),
    ],
)
def test_the_name_says_what_a_file_is_for(name: str, expected: FileClass) -> None:
    assert turso_file_class(name, "twin.db") is expected


def test_a_standard_stream_holds_no_rows_and_what_has_lost_its_name_is_temporary() -> None:
    assert turso_file_class("twin.db", "twin.db", is_stream=True) is FileClass.OTHER
    assert turso_file_class("anything", "twin.db", is_unlinked=True) is FileClass.TEMP


def test_all_files_below_the_folder_are_found_and_those_that_are_open_without_a_name(tmp_path: Path) -> None:
    home = tmp_path / "one"
    temporary = home / "temporary" / ".tmpX"
    temporary.mkdir(parents=True)
    (tmp_path / "another.db").write_bytes(b"not of this twin")
    for path in (home / "twin.db", home / "twin.db-wal", temporary / "tursodb-temp.db-wal"):
        path.write_bytes(b"x")
    lost = temporary / "lost"
    with lost.open("wb") as held:
        held.write(b"y")
        held.flush()
        lost.unlink()
        found = {file.name: file.file_class for file in turso_files(os.getpid(), home / "twin.db")}
    assert found["twin.db"] is FileClass.DATABASE
    assert found["twin.db-wal"] is FileClass.WAL
    assert found["tursodb-temp.db-wal"] is FileClass.TEMP
    assert found["lost (unlinked)"] is FileClass.TEMP
    assert "another.db" not in found
