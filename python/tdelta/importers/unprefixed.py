"""Output that went through something which put a prefix before each line: a container's log, a time stamp, Ansible.

Only what is beyond doubt no part of a tool's line is taken off: ``sysbench_1  |`` of docker compose, dates and times,
``May  1 10:00:00 host name[1]:`` of syslog, quotation marks and a comma of a list of lines in JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tdelta.importers.protocol import Source

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PREFIX = re.compile(
    r"\s*(?:"
    r"[\w.-]{1,100}\s*\|(?=\s|$)"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?\s?(?:Z|[+-]\d\d:?\d\d|UTC)?\]?(?::?(?=\s|$)|,(?=\s))"
    r"|\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?:?(?=\s|$)"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,100} [\w./-]{1,100}(?:\[\d{1,9}\])?:(?=\s|$)"
    r")",
    re.ASCII,
)
_QUOTED = re.compile(r'\s*"(.*)",?\s*$')
_MOST_PREFIXES = 3


def without_prefix(line: str) -> str:
    text = _COLOUR.sub("", line) if "\x1b" in line else line
    if quoted := _QUOTED.match(text):
        text = quoted[1]
    for _ in range(_MOST_PREFIXES):
        match = _PREFIX.match(text)
        if match is None:
            break
        text = text[match.end() :]
    return text.lstrip()


class Unprefixed:
    """A file whose lines have a prefix, without it; see `tdelta.importers.protocol.Source`."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def path(self) -> Path:
        return self._source.path

    @property
    def name(self) -> str:
        return self._source.name

    @property
    def head(self) -> bytes:
        lines = self._source.head.decode("utf-8", "ignore").split("\n")
        return "\n".join(map(without_prefix, lines)).encode()

    def text_lines(self) -> Iterator[tuple[int, str]]:
        for number, line in self._source.text_lines():
            yield number, without_prefix(line)

    def content(self, limit_bytes: int) -> bytes:
        return self._source.content(limit_bytes)
