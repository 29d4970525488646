"""Which files a ClickHouse twin has, and what each is for."""

from __future__ import annotations

import os
from pathlib import Path

from tdelta.engines.clickhouse.files import clickhouse_file_class, clickhouse_files
from tdelta.evidence import FileClass


def test_the_place_says_what_a_file_is_for() -> None:
    home = Path("/runs/twin")
    for name, expected in (
        ("files/store/ab/part/data.bin", FileClass.DATABASE),
        ("state/tmp/tmp1234", FileClass.TEMP),
        ("state/store/t.sql", FileClass.OTHER),
    ):
        assert clickhouse_file_class(home / name, home) is expected
    assert clickhouse_file_class(Path("/elsewhere"), home, is_unlinked=True) is FileClass.TEMP
    assert clickhouse_file_class(home / "files/x", home, is_stream=True) is FileClass.OTHER


def test_all_files_below_the_folder_are_found_and_those_that_are_open_without_a_name(tmp_path: Path) -> None:
    home = tmp_path / "one"
    for name in ("files/store/part/data.bin", "state/tmp/tmp1", "state/metadata/t.sql"):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    (tmp_path / "another").write_bytes(b"not of this twin")
    lost = home / "state" / "lost"
    with lost.open("wb") as held:
        held.write(b"y")
        held.flush()
        lost.unlink()
        found = {file.name: file.file_class for file in clickhouse_files(os.getpid(), home)}
    assert found["part/data.bin"] is FileClass.DATABASE
    assert found["tmp/tmp1"] is FileClass.TEMP
    assert found["metadata/t.sql"] is FileClass.OTHER
    assert found["lost (unlinked)"] is FileClass.TEMP
    assert not any("another" in name for name in found)
