import errno
import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.refused import refused
from tdelta.errors import EnvironmentFault
from tdelta.evidence import FileClass, MarkerHit, TwinFile, files_of, merged, search

looking = importlib.import_module("tdelta.evidence.search")  # the package has a function of that name
NEEDLE = bytes(range(100, 116))
HOLDER = """
import os, sys, tempfile
folder, needle = sys.argv[1], bytes.fromhex(sys.argv[2])
database = open(f"{folder}/a.db", "wb"); database.write(b"x" * 5000 + needle); database.flush()
again = open(f"{folder}/a.db", "rb")
gone = open(f"{folder}/a.db-journal", "w+b"); gone.write(needle * 2); gone.flush(); os.unlink(gone.name)
temp = tempfile.TemporaryFile(dir=folder); temp.write(b"y" + needle); temp.flush()
memory = os.memfd_create("in memory"); os.write(memory, needle)
pipe = os.pipe()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def pid(tmp_path: Path) -> Iterator[int]:
    """A process that holds a database, a journal that was unlinked, a temporary file, and its own error stream."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(tmp_path), NEEDLE.hex()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
        process.communicate()


def listed(path: Path, file_class: FileClass) -> TwinFile:
    found = path.stat() if path.exists() else Path().stat()
    return TwinFile(path.name, str(path), file_class, (found.st_dev, found.st_ino))


def by_class(files: tuple[TwinFile, ...]) -> dict[FileClass, list[str]]:
    found: dict[FileClass, list[str]] = {}
    for file in files:
        found.setdefault(file.file_class, []).append(file.name)
    return found


def test_files_beside_the_database_and_those_without_a_name_are_all_seen_once(tmp_path: Path, pid: int) -> None:
    (tmp_path / "a.db-wal").write_bytes(b"")
    (tmp_path / "b.db").write_bytes(b"")
    files = by_class(files_of(pid, tmp_path / "a.db"))
    assert files[FileClass.DATABASE] == ["a.db"]
    assert files[FileClass.WAL] == ["a.db-wal"]
    assert files[FileClass.JOURNAL] == ["a.db-journal (unlinked)"]
    assert [name.endswith(" (unlinked)") for name in files[FileClass.TEMP]] == [True]
    assert len(files[FileClass.OTHER]) == 1  # the error stream; neither pipe nor memory nor another's file


def test_what_is_soonest_gone_is_searched_first(tmp_path: Path, pid: int) -> None:
    classes = [file.file_class for file in files_of(pid, tmp_path / "a.db")]
    assert (classes[0], classes[-1]) == (FileClass.TEMP, FileClass.DATABASE)


def test_markers_are_found_in_files_that_have_no_name(tmp_path: Path, pid: int) -> None:
    found = {one.file_class: one for one in search(files_of(pid, tmp_path / "a.db"), [NEEDLE, b"0" * 16])}
    counts = {file_class: (one.markers_found, one.scanned_bytes) for file_class, one in found.items()}
    assert counts == {
        FileClass.TEMP: (1, 17),
        FileClass.JOURNAL: (2, 32),
        FileClass.DATABASE: (1, 5016),
        FileClass.OTHER: (0, 0),
    }


def test_a_file_that_is_gone_before_it_is_read_is_left_out(tmp_path: Path) -> None:
    here, gone = tmp_path / "here", tmp_path / "gone"
    here.write_bytes(NEEDLE)
    files = [listed(path, FileClass.WAL) for path in (gone, here)]
    assert search(files, [NEEDLE]) == (MarkerHit("here", FileClass.WAL, 16, 1),)
    assert search([], [NEEDLE]) == ()


@pytest.mark.parametrize(("number", "is_left_out"), [(errno.ENOENT, True), (errno.EIO, False)])
def test_a_file_that_cannot_be_opened_again_since_it_lost_its_name_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, is_left_out: bool
) -> None:
    """On FUSE a file that is open and has no name any more cannot be opened by its descriptor."""
    here, gone = tmp_path / "here", tmp_path / "unlinked"
    for path in (here, gone):
        path.write_bytes(NEEDLE)

    def searched(paths: list[str], needles: list[bytes], threads: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = search_files(paths, needles, threads)
        found[0]["fault"] = {"errno": number, "message": "it failed"}
        return found

    search_files = looking._native.search_files
    monkeypatch.setattr(looking._native, "search_files", searched)
    files = [listed(path, FileClass.WAL) for path in (gone, here)]
    if is_left_out:
        assert search(files, [NEEDLE]) == (MarkerHit("here", FileClass.WAL, 16, 1),)
    else:
        with refused(EnvironmentFault, "twin-not-searchable", faults="unlinked: it failed"):
            search(files, [NEEDLE])


def test_a_descriptor_that_has_become_another_files_is_not_read_for_it(tmp_path: Path) -> None:
    path = tmp_path / "a.db-journal"
    path.write_bytes(b"")
    was = listed(path, FileClass.JOURNAL)
    kept = path.open("rb")  # or its inode could be used again
    path.unlink()
    path.write_bytes(NEEDLE)
    assert search([was], [NEEDLE]) == ()
    kept.close()
    path.unlink()
    path.mkdir()  # SQLite opens the folder itself, to sync it
    assert search([was], [NEEDLE]) == ()


def test_all_files_that_cannot_be_read_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> int:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    paths = [tmp_path / name for name in ("one", "other")]
    for path in paths:
        path.write_bytes(b"")
    monkeypatch.setattr(looking, "open_quietly", refuse)
    with refused(EnvironmentFault, "twin-not-searchable", faults="one: Permission denied; other: Permission denied"):
        search([listed(path, FileClass.TEMP) for path in paths], [NEEDLE])


def test_a_process_whose_files_cannot_be_listed_is_a_fault_and_not_an_absence(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"")
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    with refused(EnvironmentFault, "open-files-hidden"):
        files_of(child.pid, tmp_path / "a.db")


def test_several_looks_at_a_file_count_what_the_best_one_saw_and_all_that_was_read() -> None:
    looks = [
        MarkerHit("a.db", FileClass.DATABASE, 100, 3),
        MarkerHit("a.db-wal", FileClass.WAL, 10, 4),
        MarkerHit("a.db", FileClass.DATABASE, 120, 2),
        MarkerHit("a.db-wal", FileClass.WAL, 0, 0),
    ]
    assert merged(looks) == (MarkerHit("a.db", FileClass.DATABASE, 220, 3), MarkerHit("a.db-wal", FileClass.WAL, 10, 4))


def test_reading_a_file_leaves_its_access_time_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(NEEDLE)
    os.utime(path, ns=(1_000_000_000, 2_000_000_000))
    search([listed(path, FileClass.DATABASE)], [NEEDLE])
    assert (path.stat().st_atime_ns, path.stat().st_mtime_ns) == (1_000_000_000, 2_000_000_000)
