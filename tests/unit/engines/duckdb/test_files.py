import os
from pathlib import Path

import pytest

from tdelta.engines.duckdb.exposure import duckdb_file_class
from tdelta.evidence import FileClass, files_of


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("twin.db", FileClass.DATABASE),
        ("twin.db.wal", FileClass.WAL),
        ("twin.db.wal.checkpoint", FileClass.WAL),
        ("duckdb_temp_storage_DEFAULT-0.tmp", FileClass.TEMP),
        ("duckdb_temp_block-4611686018427387904.block", FileClass.TEMP),
        ("other.db", FileClass.OTHER),
    ],
)
def test_the_name_says_what_a_file_is_for(name: str, expected: FileClass) -> None:
    assert duckdb_file_class(name, "twin.db") is expected
    assert duckdb_file_class(name, "twin.db", is_stream=True) is FileClass.OTHER, "a stream holds no rows"


def test_all_files_below_the_folder_are_found_and_those_that_are_open_without_a_name(tmp_path: Path) -> None:
    home = tmp_path / "one"
    temporary = home / "twin.db.tmp"
    temporary.mkdir(parents=True)
    (tmp_path / "another.db").write_bytes(b"not of this twin")
    for path in (home / "twin.db", home / "twin.db.wal", temporary / "duckdb_temp_storage_S32K-0.tmp"):
        path.write_bytes(b"x")
    lost = temporary / "duckdb_temp_storage_S64K-0.tmp"
    with lost.open("wb") as held:
        held.write(b"y")
        held.flush()
        lost.unlink()
        found = {
            file.name: file.file_class
            for file in files_of(os.getpid(), home / "twin.db", duckdb_file_class, has_folder=True)
        }
    assert found["twin.db"] is FileClass.DATABASE
    assert found["twin.db.wal"] is FileClass.WAL
    assert found["duckdb_temp_storage_S32K-0.tmp"] is FileClass.TEMP
    assert found["duckdb_temp_storage_S64K-0.tmp (unlinked)"] is FileClass.TEMP
    assert "another.db" not in found
