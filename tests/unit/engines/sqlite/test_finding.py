import ctypes
import re
import shutil
from pathlib import Path

import pytest

from support.refused import Part, refused
from tdelta import _native
from tdelta.engines.sqlite.driver import ask_library, driver, find_library
from tdelta.engines.sqlite.engine import WORKER
from tdelta.engines.sqlite.libraries import WHEELS
from tdelta.engines.sqlite.loading import Loaded
from tdelta.engines.sqlite.worker import SqliteHost
from tdelta.errors import EngineUnavailable, UsageError
from tdelta.processes import Worker


@pytest.mark.parametrize("name", WHEELS)
def test_a_wheels_library_is_found_by_its_name(name: str) -> None:
    assert find_library(name) is WHEELS[name]


def test_a_name_that_does_not_exist_is_refused_with_the_nearest_one_and_the_other_way() -> None:
    with refused(UsageError, "unknown-library", unknown=Part("'sqlcipher'?")):
        find_library("sqlciper")


@pytest.mark.parametrize("text", ["./missing.so", "/proc"])
def test_a_path_without_a_file_is_refused(text: str) -> None:
    with refused(UsageError, "path-unusable", fault=Part("SQLite"), path=text):
        find_library(text)


def test_a_file_that_is_no_library_is_refused_with_what_the_loader_says(tmp_path: Path) -> None:
    (tmp_path / "notes.so").write_text("not a library at all")
    with refused(EngineUnavailable, "database-says", said=Part("notes.so: ")):
        find_library(str(tmp_path / "notes.so"))


def test_a_library_that_is_not_sqlite_is_refused_with_the_functions_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(_native.__file__, tmp_path / "other.so")  # a library, and no SQLite
    monkeypatch.chdir(tmp_path)
    with refused(EngineUnavailable, "database-says", said=Part("sqlite3_open_v2")):
        find_library("other.so")


def test_a_library_that_ends_the_process_that_loads_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    send = Worker.send

    def killing(self: Worker, do: str, **order: object) -> None:
        self._process.kill()
        self._process.wait()
        send(self, do, **order)

    monkeypatch.setattr(Worker, "send", killing)
    with refused(EngineUnavailable, "path-unusable", path="sqlcipher", fault=Part("killed")):
        ask_library("sqlcipher")


def test_a_wheel_that_is_not_installed_is_refused_by_its_worker_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sqlcipher3").mkdir()
    (tmp_path / "sqlcipher3" / "__init__.py").write_text("raise ImportError('no such wheel')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with refused(EngineUnavailable, "database-says", said="--library sqlcipher: no such wheel; pip install sqlcipher3"):
        ask_library("sqlcipher")


def test_a_library_that_cannot_be_loaded_is_not_the_end_of_the_worker() -> None:
    with Worker(program=WORKER) as worker:
        with refused(EngineUnavailable, "database-says", said=Part("/nowhere/libsqlite3.so")):
            worker.ask("library", library="/nowhere/libsqlite3.so")
        assert worker.ask("hello") == {"pid": worker.pid}


def test_a_worker_that_has_loaded_a_library_refuses_another() -> None:
    host = SqliteHost()
    host.loaded = "sqlite3mc", Loaded(Path("/lib/any.so"), None)
    answer = host.answer({"do": "library", "library": "sqlcipher"})
    kind, words = answer["error"]
    assert kind == "value"
    assert words.index("sqlite3mc") < words.index("sqlcipher")


# The client's requirements, on a table of functions like SQLite's own (the order of its entries never changes).

ENTRIES = 280
VERSION_NUMBER, MALLOC, THREADSAFE = 67, 68, 144
TO_INT = ctypes.CFUNCTYPE(ctypes.c_int)


def refusal(version: int, threadsafe: int) -> str:
    """The module's answer to a library of that version that loads it."""
    module, libc = ctypes.PyDLL(_native.__file__), ctypes.CDLL(None)
    functions = {VERSION_NUMBER: TO_INT(lambda: version), THREADSAFE: TO_INT(lambda: threadsafe), MALLOC: libc.malloc}
    table = (ctypes.c_void_p * ENTRIES)()
    for entry, function in functions.items():
        table[entry] = ctypes.cast(function, ctypes.c_void_p)
    message = ctypes.c_char_p()
    code = module.sqlite3_tdelta_init(None, ctypes.byref(message), table)
    assert code == 1
    assert message.value is not None
    return message.value.decode()


def test_a_library_that_is_too_old_is_refused_with_the_oldest_that_will_do() -> None:
    assert re.findall(r"3\.\d+\.\d+", refusal(3_031_001, 1)) == ["3.32.0", "3.31.1"]


def test_a_library_that_was_built_without_threads_is_refused() -> None:
    assert "SQLITE_THREADSAFE=0" in refusal(3_040_001, 0)


def test_a_refused_library_leaves_the_module_without_one() -> None:
    refusal(3_000_000, 1)
    assert not _native.library_loaded()


def test_libraries_beside_each_other_are_of_one_kind_and_all_faults_are_said_at_once() -> None:
    with pytest.raises(UsageError) as raised:
        driver({"vary": {"library": ("sqlite3mc", "sqlcipher", "/nope/lib.so")}, "library": "sqlite3mc"})
    assert [one.code for one in raised.value.refusals] == ["path-unusable", "libraries-of-several-kinds"]


def test_a_library_is_called_by_its_version() -> None:
    made = driver({"vary": {"library": ("sqlite3mc",)}, "library": "sqlite3mc"})
    assert [*made.versions_compared()["library"]] == [ask_library("sqlite3mc")["version"]]
