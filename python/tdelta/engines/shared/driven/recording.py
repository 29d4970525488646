"""A conversation with a server as a file that whoever has such a server can send: statements, and what they answer.

What is asked beside the load (catalogs, settings, rights) is written with its rows as texts; of what works on tables
the kinds of values alone. User, host, database, password, paths and addresses are taken out.
Each statement is written once for each answer to it. ``tests/peers`` plays conversations of this form back.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tdelta.engines.shared.external.redacting import rows_without, without

VARIABLE = "TDELTA_CONVERSATION"
"""The variable with the file that workers of this process's append to; none is recorded without."""

_HIDDEN = {
    "user": "USER",
    "password": "PASSWORD",
    "host": "HOST",
    "port": "PORT",
    "socket": "SOCKET",
    "tls_ca": "FILE",
}

_MACHINE = "machine"
"""The column of an answer in which a server names its host (`tdelta.engines.shared.external.kind.Identity`)."""


class Recorder:
    """Writes what is said in one session.

    Args:
        path: where to; lines are added.
        options: those of the session's connection, which must not be in it.
    """

    def __init__(self, path: Path, options: Mapping[str, Any]) -> None:
        self._path = path
        self._secrets = {str(options[name]): word for name, word in _HIDDEN.items() if options.get(name)}
        self._written: set[str] = set()

    def asked(self, sql: str, columns: Sequence[str], rows: Sequence[Sequence[str | None]]) -> None:
        """What was asked beside the load, and the answer."""
        for name, *cells in zip(columns, *rows, strict=True):
            if name.lower() == _MACHINE:
                self._secrets |= {cell: "HOST" for cell in cells if cell}
        titles, redacted = rows_without(columns, rows, self._secrets)
        self._write(sql, {"columns": titles, "rows": redacted})

    def worked(self, sql: str, parameters: Mapping[str, object] | Sequence[object]) -> None:
        """What was done with tables: the kinds of its values, and nothing of them."""
        values = parameters.values() if isinstance(parameters, Mapping) else parameters
        self._write(sql, {"kinds": [type(value).__name__ for value in values]})

    def refused(self, sql: str, kind: str, words: str) -> None:
        self._write(sql, {"error": [kind, without(words, self._secrets)]})

    def _write(self, sql: str, answer: Mapping[str, object]) -> None:
        text = without(" ".join(sql.split()), self._secrets)
        line = json.dumps({"sql": f"^{re.escape(text)}$", **answer}) + "\n"
        if line not in self._written:
            self._written.add(line)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line)


def recorder(options: Mapping[str, Any]) -> Recorder | None:
    """What records a session, where that is asked for."""
    path = os.environ.get(VARIABLE)
    return Recorder(Path(path), options) if path else None


class RecordingCursor:
    """A cursor of the load whose statements are recorded, once each."""

    def __init__(self, cursor: Any, recorder: Recorder, said: Any) -> None:
        self._cursor = cursor
        self._recorder = recorder
        self._said = said
        self._known: set[str] = set()

    def execute(self, sql: str, *parameters: Any) -> Any:
        try:
            answer = self._cursor.execute(sql, *parameters)
        except Exception as error:
            kind, words, _ = self._said(error)
            self._recorder.refused(sql, kind, words)
            raise
        if sql not in self._known:
            self._known.add(sql)
            self._recorder.worked(sql, parameters[0] if parameters else ())
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)
