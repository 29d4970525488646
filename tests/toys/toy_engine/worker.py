import itertools
import json
import sqlite3
from pathlib import Path

from tdelta import _native
from tdelta.processes.dbapi import explained
from tdelta.processes.rpc import Reply, Request, serve
from tdelta.processes.worker import Host


class ToyHost(Host):
    """One twin: a database in memory, written to its file when a load or a trial has ended."""

    def do_open(self, request: Request) -> Reply:
        self.path, self.key = Path(request["path"]), bytes.fromhex(request["key"])
        self.database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        if self.path.exists():
            self.database.deserialize(self._enciphered(self.path.read_bytes()))
        style = json.dumps({"parameters": "qmark"})
        self.twin = _native.DbApiTwin(
            style, lambda _old: self.database.cursor(), 1, explained, files=self._files, settle=self._save
        )
        return {"library": f"Toy on SQLite {sqlite3.sqlite_version}"}

    def do_load(self, request: Request) -> Reply:
        super().do_load(request)
        self._save()
        return {}

    def _files(self) -> dict[str, int]:
        return {"database": self.path.stat().st_size}

    def _save(self) -> bool:
        self.path.write_bytes(self._enciphered(self.database.serialize()))
        return True

    def _enciphered(self, data: bytes) -> bytes:
        return bytes(a ^ b for a, b in zip(data, itertools.cycle(self.key), strict=False)) if self.key else data


if __name__ == "__main__":
    serve(ToyHost())
