"""Where each key of a TOML file stands, which the standard library's reader does not tell."""

from __future__ import annotations

import re
from collections.abc import Mapping

_HEADER = re.compile(r"\s*\[\[?([^\]]+)\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
_MULTILINE = re.compile(r'"""|\'\'\'')

_STRINGS = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"|'
    r"'''(?:[^']|'(?!''))*'''|'[^'\n]*'|#[^\n]*",
    re.DOTALL,
)
_BRACKET = re.compile(r"[\[\]{}\n]")

Path = tuple[str, ...]


def key_lines(text: str) -> Mapping[Path, int]:
    """The line, from 1, of every table header and every key at the start of a line, by its full path.

    Keys inside an inline table stand on the line of the table: look for the longest known prefix, as :func:`line_of`.
    """
    lines: dict[Path, int] = {}
    table: Path = ()
    closing: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if closing is not None:
            closing = None if closing in line else closing
            continue
        if header := _HEADER.match(line):
            table = _path(header.group(1))
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            lines.setdefault(table + _path(key.group(1)), number)
        marks = _MULTILINE.findall(line)
        closing = marks[-1] if len(marks) % 2 else None
    return lines


def line_of(lines: Mapping[Path, int], *path: str) -> int:
    """The line of ``path``, or of the nearest table around it; 0 if there is none."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return 0


def deepest_line(text: str, most: int) -> int:
    """The line of the first bracket that stands within ``most`` others; 0 if none does. Strings are passed over."""
    depth, line = 0, 1
    for sign in _BRACKET.findall(_STRINGS.sub(lambda found: "\n" * found.group().count("\n"), text)):
        if sign == "\n":
            line += 1
        else:
            depth = depth + 1 if sign in "[{" else max(0, depth - 1)
        if depth > most:
            return line
    return 0


def _path(text: str) -> Path:
    return tuple(part.strip().strip("\"'") for part in text.split("."))
