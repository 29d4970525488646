import os
from functools import partial
from pathlib import Path

from support.processes import until
from support.refused import refused
from tdelta.engines.embedded.actions import disk_bytes, left_by, require_rows
from tdelta.errors import EnvironmentFault
from tdelta.processes.actions import Peak

NEEDLE = b"0123456789abcdef"
MIB = 1 << 20


def written(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.write(b"x" * size)
        file.flush()
        os.fsync(file.fileno())


def test_files_that_come_and_go_and_files_without_a_name_are_counted_beyond_what_was_there(tmp_path: Path) -> None:
    written(tmp_path / "there.db", MIB)
    peak = Peak(partial(disk_bytes, tmp_path, os.getpid()), 0.01)
    with peak.watched(), (tmp_path / "temporary").open("wb") as nameless:
        (tmp_path / "temporary").unlink()
        nameless.write(b"x" * MIB)
        nameless.flush()
        os.fsync(nameless.fileno())
        written(tmp_path / "there.db-journal", MIB)
        until(lambda: peak.rise >= 2 * MIB)
        (tmp_path / "there.db-journal").unlink()
    assert peak.rise < 3 * MIB


def test_files_with_a_planted_row_are_counted_with_what_begins_as_the_file_does(tmp_path: Path) -> None:
    (tmp_path / "new.db").write_bytes(b"hidden")
    (tmp_path / "new.db-journal").write_bytes(b"." * 9 + NEEDLE)
    (tmp_path / "source.db").write_bytes(NEEDLE)
    assert left_by(tmp_path / "new.db", [NEEDLE]) == {"file_bytes": 6, "files_in_the_clear": 1}


def test_rows_that_are_missing_fail_the_trial() -> None:
    require_rows("7", "7")
    with refused(EnvironmentFault, "unexpected", expected="7", found="none"):
        require_rows("", "7")
