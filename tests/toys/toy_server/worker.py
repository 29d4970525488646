import contextlib
import fcntl
import json
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from tdelta.engines.server.dbapi import Driver, Said
from tdelta.engines.server.dbapi_worker import DrivenHost
from tdelta.processes.rpc import serve

OWN = "server"
"""The file with the settings, which is no schema."""


class Folder:
    """The SQL functions of the server: each public method is a function of its sessions."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: dict[str, Any] = {}

    def schemas(self) -> str:
        return json.dumps([[file.stem, self.mark(file.stem)] for file in self._path.glob("*.db") if file.stem != OWN])

    def mark(self, schema: str) -> str:
        with contextlib.suppress(OSError):
            return (self._path / f"{schema}.mark").read_text()
        return ""

    def make_schema(self, schema: str, mark: str) -> int:
        (self._path / f"{schema}.mark").write_text(mark)
        (self._path / f"{schema}.db").touch()
        return 1

    def drop_schema(self, schema: str) -> int:
        for file in self._path.glob(f"{schema}.*"):
            file.unlink()
        return 1

    def tables(self, schema: str) -> str:
        with contextlib.closing(sqlite3.connect(self._path / f"{schema}.db")) as asked:
            return json.dumps(
                [name for (name,) in asked.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            )

    def size(self, schema: str) -> int:
        return (self._path / f"{schema}.db").stat().st_size

    def take(self, lock: str) -> int:
        self._held[lock] = (self._path / f"{lock}.lock").open("w")
        return self._locks(self._held[lock])

    def is_held(self, lock: str) -> int:
        with (self._path / f"{lock}.lock").open("w") as file:
            return 1 - self._locks(file)

    def release(self, lock: str) -> int:
        self._held.pop(lock).close()
        return 1

    def _locks(self, file: Any) -> int:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return 0
        return 1


def functions() -> Iterable[tuple[str, int]]:
    """Each function with the number of its arguments."""
    for name, method in vars(Folder).items():
        if not name.startswith("_"):
            yield name, method.__code__.co_argcount - 1


def connect(module: ModuleType, options: Mapping[str, Any]) -> Any:
    folder = Path(options["socket"])
    file = folder / f"{options.get('database', OWN)}.db"
    found = module.connect(file, isolation_level=None, check_same_thread=False, timeout=60.0)
    server = Folder(folder)
    for name, arguments in functions():
        found.create_function(name, arguments, getattr(server, name))
    return found


def said(module: ModuleType, error: BaseException) -> Said | None:
    return ("sql", str(error), False) if isinstance(error, module.Error) else None


DRIVER = Driver("sqlite3", "pytest", {"parameters": "qmark"}, connect, said, "sqlite")
"""A driver is a distribution; this one is installed wherever the toy is."""

if __name__ == "__main__":
    serve(DrivenHost(DRIVER))
