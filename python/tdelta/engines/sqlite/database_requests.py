"""What a worker can be told about a copy of a user's database.

A refusal of the library is an answer here, not a fault: whoever asks knows what the user can do about it.
"""

from __future__ import annotations

import os
import resource
from typing import Any

from tdelta import _native

Request = dict[str, Any]
Reply = dict[str, Any]


class DatabaseRequests:
    def do_open(self, request: Request) -> Reply:
        raise NotImplementedError

    def _open(self) -> _native.SqliteTwin:
        raise NotImplementedError

    def do_temporary(self, request: Request) -> Reply:
        """Say where the library puts what does not fit into memory: beside the twins, not into the system's folder.

        No file that this process writes is to grow beyond ``most_bytes``, where they are given.
        """
        os.environ["SQLITE_TMPDIR"] = request["folder"]  # SQLite reads it when it starts, at the first `do_open`
        if "most_bytes" in request:
            resource.setrlimit(resource.RLIMIT_FSIZE, (request["most_bytes"], request["most_bytes"]))
        return {}

    def do_examine(self, request: Request) -> Reply:
        """Open a copy of a user's database, which recovers it."""
        try:
            return self.do_open(request)
        except _native.NativeError as error:
            return _refused(error)

    def do_query(self, request: Request) -> Reply:
        """Run one statement; the first value of its first row."""
        try:
            return {"text": self._open().text(request["sql"])}
        except _native.NativeError as error:
            return _refused(error)

    def do_convert(self, request: Request) -> Reply:
        """Run the steps of a conversion; the key is in the order and nowhere else."""
        try:
            for step in request["steps"]:
                run_step(self._open(), step, request["key"])
        except _native.NativeError as error:
            return _refused(error)
        return {}


def run_step(twin: _native.SqliteTwin, step: Request, key: str | None) -> None:
    if step["schema"] is not None:
        twin.reserve(step["schema"], step["reserved_bytes"])
    elif step["is_keyed"]:
        twin.keyed(step["sql"], key or "")
    else:
        twin.text(step["sql"])


def _refused(error: _native.NativeError) -> Reply:
    return {"refused": list(error.args)}
