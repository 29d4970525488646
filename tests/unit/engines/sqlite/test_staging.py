"""A user's database is copied by plain reads: as it is at one moment, and without a trace."""

import ast
import contextlib
import errno
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tdelta.engines.sqlite.staging as module
from support.data import state
from support.refused import Coded, Part, coded, has, refused
from tdelta.engines.sqlite.staging import Original, copy_original, find_original
from tdelta.errors import DatabaseFault, StorageFault

WRITER = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA journal_mode = " + sys.argv[2])
for count, _ in enumerate(sys.stdin):
    database.execute("UPDATE one SET x = ?", (count,))
    print("written", flush=True)
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database in WAL mode whose last rows are in its log only."""
    path = tmp_path / "users" / "app.db"
    path.parent.mkdir()
    left = "import os, sqlite3, sys; d = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
    left += "d.execute('PRAGMA journal_mode = wal'); d.execute('CREATE TABLE one (x)')\n"
    left += "d.execute('INSERT INTO one VALUES (0)'); d.execute('PRAGMA wal_checkpoint(truncate)')\n"
    left += "d.execute('INSERT INTO one VALUES (1)'); os._exit(0)"  # a close would fold the log in
    subprocess.run([sys.executable, "-c", left, str(path)], check=True)
    return path


def rows(path: Path) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(path)) as opened:
        return opened.execute("SELECT x FROM one ORDER BY x").fetchall()


@contextlib.contextmanager
def writer(path: Path, mode: str) -> Iterator[Callable[..., None]]:
    """Another process that has the database open, and writes to it whenever what is yielded is called."""
    command = [sys.executable, "-c", WRITER, str(path), mode]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def write(*_progress: int) -> None:
            process.stdin.write("write\n")
            assert process.stdout.readline() == "written\n"

        yield write
        process.stdin.close()


def test_the_copy_has_the_rows_of_the_log_and_the_original_is_as_it_was(database: Path, tmp_path: Path) -> None:
    before = state(database.parent)
    original = copy_original(find_original(database), tmp_path / "copy.db")
    assert state(database.parent) == before
    assert set(before) == {"app.db", "app.db-wal", "app.db-shm"}
    assert not (tmp_path / "copy.db-shm").exists()
    assert rows(tmp_path / "copy.db") == [(0,), (1,)]
    assert original.size_bytes == sum(len(before[name][0]) for name in ("app.db", "app.db-wal"))
    assert rows(database) == [(0,), (1,)]


def test_a_hot_journal_is_copied_and_undone_in_the_copy_only(tmp_path: Path) -> None:
    path = tmp_path / "users" / "app.db"
    path.parent.mkdir()
    broken = "import os, sqlite3, sys; d = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
    broken += "d.execute('CREATE TABLE one (x)'); d.execute('INSERT INTO one VALUES (0)')\n"
    broken += "d.execute('PRAGMA cache_size = 1'); d.execute('BEGIN')\n"
    broken += "d.executemany('INSERT INTO one VALUES (?)', (('x' * 3000,) for _ in range(200))); os._exit(0)"
    subprocess.run([sys.executable, "-c", broken, str(path)], check=True)
    before = state(path.parent)
    assert set(before) == {"app.db", "app.db-journal"}
    copy_original(find_original(path), tmp_path / "copy.db")
    assert rows(tmp_path / "copy.db") == [(0,)]
    assert state(path.parent) == before


def test_nothing_here_can_open_a_database() -> None:
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= {
        "__future__",
        "tdelta.evidence.headers",
        "os",
        "time",
        "collections.abc",
        "contextlib",
        "dataclasses",
        "pathlib",
        "tdelta.engines.sqlite.messages",
        "tdelta.errors",
        "tdelta.inputs",
        "tdelta.measure.private",
        "typing",
        "tdelta.messages",
    }


def test_the_progress_is_told_up_to_the_last_byte(database: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    original = copy_original(find_original(database), tmp_path / "copy.db", lambda *progress: told.append(progress))
    assert told == sorted(told)
    assert told[-1] == (original.size_bytes, original.size_bytes)


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_database_that_another_process_keeps_writing_to_is_refused_with_what_to_do(
    database: Path, tmp_path: Path, mode: str
) -> None:
    with writer(database, mode) as write, refused(DatabaseFault, "database-written-to", tries=5):
        copy_original(find_original(database), tmp_path / "copy.db", write, sleep=lambda _seconds: time.sleep(0.06))
    assert [path.name for path in tmp_path.iterdir()] == ["users"]


def test_a_write_while_the_copy_is_made_is_noticed_and_the_copy_made_again(database: Path, tmp_path: Path) -> None:
    writes = iter([True, True, False])
    pauses: list[float] = []

    def write(_done: int, _total: int) -> None:
        if next(writes, False):
            with contextlib.closing(sqlite3.connect(database)) as opened:
                opened.execute("INSERT INTO one VALUES (2)")
                opened.commit()

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        time.sleep(seconds)

    original = copy_original(find_original(database), tmp_path / "copy.db", write, sleep=sleep)
    assert rows(tmp_path / "copy.db") == rows(database)
    assert 0.2 in pauses
    assert original.files == find_original(database).files


def test_a_log_that_goes_while_the_copy_is_made_is_noticed(database: Path, tmp_path: Path) -> None:
    left = iter([database.with_name("app.db-wal")])

    def close(_done: int, _total: int) -> None:
        with contextlib.suppress(StopIteration):
            next(left).unlink()

    original = copy_original(find_original(database), tmp_path / "copy.db", close)
    assert "-wal" not in original.files
    assert not (tmp_path / "copy.db-wal").exists()


def test_a_file_stamped_just_now_is_looked_at_again_a_little_later(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    stamped_ns = time.time_ns() + 10_000_000
    os.utime(database, ns=(stamped_ns, stamped_ns))
    monkeypatch.setattr(module.time, "time_ns", lambda: stamped_ns + len(waits) * 50_000_000)
    copy_original(find_original(database), tmp_path / "copy.db", sleep=waits.append)
    assert waits == [0.05]
    os.utime(database, ns=(1, 1))
    os.utime(database.with_name("app.db-wal"), ns=(1, 1))
    copy_original(find_original(database), tmp_path / "copy.db", sleep=waits.append)
    assert waits == [0.05]


def test_a_symbolic_link_is_followed_with_its_log_beside_the_target(database: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(database)
    original = find_original(link)
    assert (original.named, original.path, original.file_name) == (link, database, "link.db")
    copy_original(original, tmp_path / "copy.db")
    assert rows(tmp_path / "copy.db") == [(0,), (1,)]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", coded("missing", where="app.db", what="its content")),
        (b"SQLite format 3\x00" + bytes(20), coded("unexpected", where="app.db")),
        (
            b"** This file contains an SQLite 2.1 database **" + bytes(100),
            coded("unexpected", found=Part("SQLite 2"), where="app.db"),
        ),
        (bytes(8) + b"DUCK" + bytes(4096), coded("unexpected", found=Part("DuckDB database"), where="app.db")),
        (b"\x1f\x8b" + bytes(100), coded("unexpected", found=Part("gzip"), where="app.db")),
        (b"\x37\x7f\x06\x82" + bytes(100), coded("unexpected", found=Part("write-ahead"), where="app.db")),
        (bytes.fromhex("d9d505f920a163d7") + bytes(100), coded("unexpected", found=Part("rollback"), where="app.db")),
        (b"name,value\n" * 30, coded("unexpected", where="app.db")),
        (os.urandom(16) + b"\x10\x00\x01\x01\x00\x40\x20\x20" + os.urandom(4000), coded("unexpected", where="app.db")),
        (b"\xaa" * 4096, coded("unexpected", where="app.db")),
        (
            b"SQLite format 3\x00\x10\x00\x01\x01\x50\x40\x20\x20" + bytes(8) + os.urandom(9 * 4096 - 32),
            coded("plain-header", where="app.db"),
        ),
    ],
)
def test_what_is_no_plain_database_is_refused_with_what_was_found(tmp_path: Path, content: bytes, told: Coded) -> None:
    path = tmp_path / "app.db"
    path.write_bytes(content)
    with pytest.raises(DatabaseFault) as raised:
        find_original(path)
    assert str(raised.value).startswith(f"database {path}: ")
    assert has(raised.value.refusals, told), raised.value.refusals
    assert raised.value.exit_code == 2


def test_a_file_that_is_not_there_or_no_file_is_refused(tmp_path: Path) -> None:
    circle = tmp_path / "circle.db"
    circle.symlink_to(circle)
    fifo = tmp_path / "fifo.db"
    os.mkfifo(fifo)
    for path, told in (
        (tmp_path / "missing.db", "No such file or directory"),
        (tmp_path, "a folder"),
        (circle, "circles"),
        (fifo, "a named pipe"),
        (Path("/dev/null"), "a device"),
    ):
        with pytest.raises(DatabaseFault, match=told):
            find_original(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_is_refused(database: Path) -> None:
    database.chmod(0)
    with pytest.raises(DatabaseFault, match="Permission denied"):
        find_original(database)


def test_a_copy_that_does_not_fit_is_about_the_disk(database: Path, tmp_path: Path) -> None:
    (tmp_path / "copy.db").symlink_to("/dev/full")
    with refused(StorageFault, "cannot-copy", source=database, target="copy.db", fault=os.strerror(errno.ENOSPC)):
        copy_original(find_original(database), tmp_path / "copy.db")


def test_a_journal_of_several_databases_is_refused_before_a_library_could_follow_it(tmp_path: Path) -> None:
    path, magic = tmp_path / "app.db", bytes.fromhex("d9d505f920a163d7")
    with contextlib.closing(sqlite3.connect(path)) as opened:
        opened.execute("CREATE TABLE one (x)")
    Path(f"{path}-journal").write_bytes(magic + bytes(512) + b"/somewhere/app.db-mj0123" + bytes(8) + magic)
    with refused(DatabaseFault, "journal-of-several", where="app.db"):
        copy_original(find_original(path), tmp_path / "copy.db")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("copy")]
    Path(f"{path}-journal").write_bytes(bytes(28) + bytes(512) + magic)  # a persistent journal that is over
    copy_original(find_original(path), tmp_path / "copy.db")


def test_a_name_that_is_no_text_can_be_told_all_the_same() -> None:
    named = Path(os.fsdecode(b"/data/\xff.db"))
    assert Original(named, named, {}).file_name == "\ufffd.db"


def test_what_it_looked_like_is_kept_as_sizes_and_times(database: Path) -> None:
    told = find_original(database).as_json()
    size, modified_ns = told[""] or [0, 0]
    assert (size, modified_ns) == (database.stat().st_size, database.stat().st_mtime_ns)
    assert told["-journal"] is None
