"""The files of a workload folder as text and as TOML, within their limits; what is wrong goes to its faults."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from tdelta.inputs import TextFault, missing, out_of_range, text_of, too_many
from tdelta.messages import Refusal
from tdelta.workloads import limits
from tdelta.workloads.faults import Faults, hint, shown, unknown

_HEADER = re.compile(r"\s*\[\[?([^\]]+)\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
_MULTILINE = re.compile(r'"""|\'\'\'')

_STRINGS = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"|'
    r"'''(?:[^']|'(?!''))*'''|'[^'\n]*'|#[^\n]*",
    re.DOTALL,
)
_BRACKET = re.compile(r"[\[\]{}\n]")

KeyPath = tuple[str, ...]


def key_lines(text: str) -> Mapping[KeyPath, int]:
    """The line, from 1, of every table header and every key at the start of a line, by its full path.

    Keys inside an inline table stand on the line of the table: look for the longest known prefix, as :func:`line_of`.
    """
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
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


def line_of(lines: Mapping[KeyPath, int], *path: str) -> int:
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


def _path(text: str) -> KeyPath:
    return tuple(part.strip().strip("\"'") for part in text.split("."))


TOML = "workload.toml"
_T = TypeVar("_T")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}\Z")
_POSITION = re.compile(r"\s*\(at line (\d+), column (\d+)\)")
_INT64 = range(-(2**63), 2**63)


class FolderFiles:
    toml = TOML

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.faults = Faults()
        self.lines: Mapping[tuple[str, ...], int] = {}

    def text(self, name: str) -> str | None:
        """The content of a file of the folder; a fault if there is none that can be read."""
        try:
            return text_of(self.folder / name, limits.MOST_FILE_BYTES)
        except FileNotFoundError:
            near = [path.name for path in self.folder.glob("*") if path.suffix == Path(name).suffix]
            self.faults.add(name, 0, Refusal.of("file-missing", hint=hint(name, near)))
        except TextFault as fault:
            self.faults.add(name, fault.line, fault.said)
        except OSError as error:
            self.faults.add(name, 0, Refusal.of("unreadable", fault=error.strerror))
        return None

    def document(self) -> dict[str, object] | None:
        text = self.text(self.toml)
        if text is None:
            return None
        self.lines = key_lines(text)
        if line := deepest_line(text, limits.DEEPEST):
            self.faults.add(self.toml, line, too_many("levels of brackets", limits.DEEPEST))
            return None
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            place = _POSITION.search(str(error))
            why = _POSITION.sub(f", column {place.group(2)}" if place else "", str(error))
            self.faults.add(
                self.toml, int(place.group(1)) if place else 0, Refusal.of("invalid", kind="TOML", fault=why)
            )
        except (ValueError, RecursionError) as error:  # a number of thousands of digits, a key of thousands of parts
            self.faults.add(self.toml, 0, Refusal.of("invalid", kind="TOML", fault=str(error).splitlines()[0]))
        return None

    def fault(self, said: Refusal, *path: str) -> None:
        """A fault at the line of a key of the TOML file."""
        self.faults.add(self.toml, line_of(self.lines, *path), said)

    def typed(self, document: Mapping[str, object], kind: type[_T], *path: str) -> _T | None:
        """The value at ``path``; a fault if it is missing or of another type."""
        value: object = document
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is None:
            self.fault(missing(".".join(path)), *path)
        elif isinstance(value, bool) or not isinstance(value, kind) or (kind is int and value not in _INT64):
            names = {str: "a text", int: "an integer of 64 bits", dict: "a table", list: "a list"}
            self.fault(out_of_range(".".join(path), names[kind], shown(value)), *path)
        else:
            return value
        return None

    def title(self, document: Mapping[str, object], *path: str) -> str:
        """A name or a title: one line of text that can be printed."""
        text = self.typed(document, str, *path) or ""
        if len(text) > limits.LONGEST_TITLE or not text.isprintable():
            wanted = f"one line of at most {limits.LONGEST_TITLE} printable characters"
            self.fault(out_of_range(".".join(path), wanted, shown(text)), *path)
        return text

    def unknown_keys(self, table: Mapping[str, object], known: Iterable[str], *path: str) -> None:
        names = tuple(known)
        for key in sorted(table.keys() - set(names))[: limits.MOST_FAULTS]:
            self.fault(unknown("key", key, names, shown(".".join((*path, key)))), *path, key)

    def named_tables(self, document: Mapping[str, object], key: str) -> dict[str, dict[str, object]]:
        """The tables under ``key`` by name, e.g. ``[tables.orders]``."""
        found: dict[str, dict[str, object]] = {}
        for name, value in self.entries(self.typed(document, dict, key) or {}, key).items():
            if not _NAME.match(name):
                wanted = "at most 63 lower-case letters, digits and _, a letter first"
                self.fault(out_of_range("the name", wanted, shown(name)), key, name)
            elif isinstance(value, dict):
                found[name] = value
            else:
                self.fault(out_of_range(f"{key}.{name}", "a table", shown(value)), key, name)
        if not found and key in document:
            self.fault(missing(f"an entry of {key}"), key)
        return found

    def entries(self, entries: Mapping[str, object], *path: str) -> Mapping[str, object]:
        """The same entries; none, with a fault, where they are too many."""
        if len(entries) <= limits.MOST_ENTRIES:
            return entries
        self.fault(too_many(f"entries of {'.'.join(path)}", limits.MOST_ENTRIES), *path)
        return {}
