"""Numbers, names and JSON of strangers, and what cannot be used of a file: said in one `ImportFault` at the end."""

from __future__ import annotations

import json
import math
import re
import reprlib
from dataclasses import dataclass, field

from tdelta.errors import ImportFault
from tdelta.messages import Refusal

MOST_SHOWN = 20  # a damaged file may have a fault a line: the first ones say what it is

LARGEST = 1e15
"""No figure of a load tool is larger (31 years are 1e12 ms); what is, is damage, and would overflow when squared."""

LONGEST_NAME = 200
PRINTED = r"(\d{1,15}(?:\.\d{1,12})?)"  # the pattern of a figure as tools print it


_NUMBER = re.compile(r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?", re.ASCII)


def place(file: str, line: int | None) -> str:
    return file if line is None else f"{file}:{line}"


@dataclass(slots=True)
class Problems:
    """The faults of one file so far, all in one `ImportFault`: at the end, or once there are `MOST_SHOWN`."""

    file: str  # as the user named it
    found: list[Refusal] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.found)

    def add(self, said: Refusal, line: int | None = None) -> None:
        self.found.append(said.at(place(self.file, line)))
        if len(self.found) >= MOST_SHOWN:
            raise ImportFault(*self.found, Refusal.of("more-faults", more="perhaps"))

    def raise_if_any(self) -> None:
        """Raises ``ImportFault`` with what was noted, if anything was."""
        if self:
            raise ImportFault(*self.found)


def shown(found: object) -> str:
    """Something of a stranger's file, fit for a message: escaped, and cut."""
    text = ascii(found[:200]) if isinstance(found, str) else ascii(reprlib.repr(found))
    return text if len(text) <= 60 else f"{text[:57]}…{text[0]}"


def number(found: object) -> float | None:
    """A finite number, plainly written; None for anything else (``nan``, ``1_000``, ``1,5``, an endless row of digits).

    JSON of some tools has numbers as strings, SQLite columns may hold anything: both are taken as they come.
    """
    if isinstance(found, bool):
        return None
    if isinstance(found, str):
        text = found.strip()
        if not _NUMBER.fullmatch(text):
            return None
        value = float(text)
    elif isinstance(found, int | float):
        if isinstance(found, int) and abs(found) > LARGEST:
            return None
        value = float(found)
    else:
        return None
    return value if math.isfinite(value) and abs(value) <= LARGEST else None


def whole(found: object) -> int | None:
    """A count, 0 or more; None for anything else."""
    value = number(found)
    return int(value) if value is not None and value >= 0 and value.is_integer() else None


def plain_name(found: object) -> str | None:
    """A name of a transaction type or a phase: some printable characters; None for anything else."""
    name = found.strip() if isinstance(found, str) else ""
    return name if 0 < len(name) <= LONGEST_NAME and name.isprintable() else None


_DECIMALS = re.compile(r"\d*\.(\d*)(?:[eE]|$)|\d+(?:[eE]|$)")
_EXPONENT = re.compile(r"[eE]([+-]?\d{1,3})$")


def half_unit(printed: str) -> float:
    """``0.065`` may be off by 0.0005, ``15`` by a half, ``1.5e3`` by 50; 0 for what is no number plainly written."""
    text = printed.strip().lstrip("+-")
    match, exponent = _DECIMALS.match(text), _EXPONENT.search(text)
    if match is None:
        return 0.0
    return float(f"0.5e{(int(exponent[1]) if exponent else 0) - len(match[1] or '')}")


LARGEST_JSON_BYTES = 4 * 1024 * 1024
"""Larger texts may take a hundred times their length in memory, if they are made for that."""


def of_object(found: object, *keys: str) -> object:
    """The value below keys, each in an object below the one before; None where there is nothing."""
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def one_object(line: str) -> dict[str, object] | None:
    try:
        found = json_text(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def json_text(text: str) -> object:
    """The value; a half of a surrogate pair, which JSON can name and no text can hold, becomes a question mark."""
    found = json.loads(text)
    if "\\ud" not in text.lower():
        return found
    return json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
