"""Texts that leave the user's machine: without names, addresses, paths and passwords of whose servers these are.

A password is one in every form: its hash, without salt or with, and whatever a statement of rights has beside it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tdelta.engines.server.dbapi import CursorProxy

_ADDRESS = re.compile(
    r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|(?<![\w:])(?:[0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{0,4}(?![\w:])"
)
_VERSION = re.compile(r"\d+(?:\.\d+){3,}\Z")
_PATH = re.compile(r"(?<![\w.])/(?:[\w.@+-]+/)+[\w.@+-]*|\b[A-Za-z]:\\[^\s'\"]+")
_ACCOUNT = re.compile(r"(['\"`])[^'\"`]*\1@(['\"`])[^'\"`]*\2")
_IDENTIFIED = re.compile(
    r"\bIDENTIFIED\s+(?:BY|VIA|WITH|USING)\b.*?(?=\s+(?:REQUIRE|WITH\s+(?:GRANT|MAX_)|ACCOUNT|PASSWORD\s+EXPIRE"
    r"|DEFAULT\s+(?:ROLE|TABLESPACE))\b|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_PASSWORD = re.compile(
    r"\b((?:password|passwd|pwd|secret|authentication_string|hashed)\b\s*(?:=>?|:|\()?\s*)"
    r"(?:N?'(?:[^']|'')*'|\"[^\"]*\"|0x[0-9a-f]+|(?<==)[^\s;,)'\"]+)",
    re.IGNORECASE,
)
_HASH = re.compile(
    r"\*[0-9A-F]{40}(?![0-9A-F])|\bSCRAM-SHA-\d+\$[^\s'\"]+|\bmd5[0-9a-f]{32}\b|\$A\$\d{3}\$[^'\"]*"
    r"|\$[0-9a-z]{1,12}\$[./0-9A-Za-z$=,+-]{16,}|\b0x0[12]00[0-9A-F]{40,}\b|\b[ST]:[0-9A-F]{40,}",
    re.IGNORECASE,
)
_SECRET_NAME = re.compile(
    r"(?i)(?:\A|[_. -])(?:password|passwd|pwd|passphrase|secret|token|auth|authentication_string|password_hash|"
    r"private_key|rolpassword|passwd_hash|spare4)\Z"
)
"""Columns and settings whose value is a secret, whatever it looks like."""

_PLACE_NAME = re.compile(r"(?i)(?:\A|_)(?:port|host|hostname|server_uuid|report_user)\Z")
"""The same for where a server is."""


def without(text: str, secrets: Mapping[str, str]) -> str:
    """A text without what must not leave; a version of four numbers that stands alone is none.

    Args:
        secrets: texts, and the word that replaces each; the longest are looked for first.
    """
    text = _HASH.sub("<SECRET>", _PASSWORD.sub(r"\1<SECRET>", _IDENTIFIED.sub("IDENTIFIED <SECRET>", text)))
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", f"<{secrets[secret]}>", text, flags=re.IGNORECASE)
    for pattern, word in ((_ACCOUNT, "<USER>"), (_ADDRESS, "<ADDRESS>"), (_PATH, "<PATH>")):
        text = text if pattern is _ADDRESS and _VERSION.match(text) else pattern.sub(word, text)
    return text


def rows_without(
    columns: Sequence[str], rows: Sequence[Sequence[str | None]], secrets: Mapping[str, str]
) -> tuple[list[str], list[list[str | None]]]:
    """An answer without what must not leave, its titles included.

    What a column is called, or the setting that a row is about, says that a value is a secret, or where a server is.
    """
    titles = [without(title, secrets) for title in columns]
    return titles, [_row_without(columns, row, secrets) for row in rows]


def _row_without(columns: Sequence[str], row: Sequence[str | None], secrets: Mapping[str, str]) -> list[str | None]:
    about = row[0] if row and row[0] and len(row) > 1 else ""
    of_row = _word_for(about)
    found: list[str | None] = []
    for number, (title, cell) in enumerate(zip(columns, row, strict=True)):
        word = _word_for(title) or (of_row if number else "")
        found.append(cell if not cell else f"<{word}>" if word else without(cell, secrets))
    return found


def _word_for(name: str) -> str:
    if _SECRET_NAME.search(name):
        return "SECRET"
    return "PLACE" if _PLACE_NAME.search(name) else ""


VARIABLE = "TDELTA_CONVERSATION"
"""The variable with the file that workers of this process's append to; none is recorded without."""

_HIDDEN = {
    "user": "USER",
    "password": "PASSWORD",
    "host": "HOST",
    "port": "PORT",
    "socket": "SOCKET",
    "tls_ca": "FILE",
    "database": "DATABASE",
}

_LISTED = "listed"
"""The column of an answer with the names of other people's objects, which are not recorded."""

_MACHINE = "machine"
"""The column of an answer in which a server names its host (`tdelta.engines.server.base.Identity`)."""


class Recorder:
    """Writes what is said in one session, as a file that whoever has such a server can send.

    What is asked beside the load (catalogs, settings, rights) is written with its rows as texts; of what works on
    tables the kinds of values alone. User, host, database, password, paths and addresses are taken out. Each statement
    is written once for each answer to it. ``tests/peers`` plays conversations of this form back.

    Args:
        path: where to; lines are added.
        options: those of the session's connection, which must not be in it.
    """

    def __init__(self, path: Path, options: Mapping[str, Any]) -> None:
        self._path = path
        self._secrets = {str(options[name]): word for name, word in _HIDDEN.items() if options.get(name)}
        self._written: set[str] = set()

    def asked(self, sql: str, columns: Sequence[str], rows: Sequence[Sequence[str | None]]) -> None:
        """A query beside the load, and the answer."""
        for name, *cells in zip(columns, *rows, strict=True):
            if name.lower() == _MACHINE:
                self._secrets |= {cell: "HOST" for cell in cells if cell}
        is_listed = [name.lower() for name in columns] == [_LISTED]
        titles, redacted = rows_without(columns, () if is_listed else rows, self._secrets)
        self._write(sql, {"columns": titles, "rows": redacted})

    def worked(self, sql: str, parameters: Mapping[str, object] | Sequence[object]) -> None:
        """An operation on tables: the kinds of its values, and nothing of them."""
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
    path = os.environ.get(VARIABLE)
    return Recorder(Path(path), options) if path else None


class RecordingCursor(CursorProxy):
    """A cursor of the load whose statements are recorded, once each."""

    def __init__(self, cursor: Any, recorder: Recorder, said: Any) -> None:
        super().__init__(cursor)
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
