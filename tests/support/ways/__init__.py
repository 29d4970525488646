"""Which modules of tdelta take or return a value, seen by a profile hook in every process of a run.

A process started with `environment` on its search path traces itself (``sitecustomize`` beside this module). Values are
looked for among arguments and returned values, and in mappings, sequences and records that are passed whole.
"""

import dataclasses
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

VARIABLE = "TDELTA_WAYS"
"""The environment variable with the folder that traced processes write to, and the level they look for."""

_LEAST = 1_000_000
"""Whole numbers from here on are kept: times in nanoseconds, not counts and ports."""


class Ways:
    """The modules that a level passes through, and the large whole numbers that each module takes or returns.

    Args:
        level: the text of the level.
        file: where each find is written at once, since workers are ended by a signal.
    """

    def __init__(self, level: str, file: Path | None = None) -> None:
        self.of_level = set[str]()
        self.numbers = dict[str, set[int]]()
        self._level = level
        self._file = None if file is None else os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def start(self) -> None:
        threading.setprofile(self._seen)
        sys.setprofile(self._seen)

    def stop(self) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def add(self, folder: Path) -> None:
        """Take in what other processes wrote."""
        for path in folder.glob("*.ways"):
            for line in path.read_text(encoding="utf-8").splitlines():
                module, _, number = line.partition(" ")
                self._found(module, int(number) if number else None)

    def of_number(self, wanted: Iterable[int]) -> set[str]:
        values = set(wanted)
        return {module for module, found in self.numbers.items() if found & values}

    def _seen(self, frame: FrameType, event: str, arg: Any) -> None:
        if event not in ("call", "return"):
            return
        module = str(frame.f_globals.get("__name__", ""))
        if not module.startswith("tdelta"):
            return
        passed = [arg] if event == "return" else list(frame.f_locals.values())
        for value in _within(passed):
            if type(value) is str and value == self._level:
                self._found(module, None)
            elif type(value) is int and value >= _LEAST:
                self._found(module, value)

    def _found(self, module: str, number: int | None) -> None:
        known = self.of_level if number is None else self.numbers.setdefault(module, set())
        found = module if number is None else number
        if found not in known:
            known.add(found)  # type: ignore[arg-type]
            if self._file is not None:
                os.write(self._file, f"{module} {'' if number is None else number}\n".encode())


def _within(passed: Iterable[Any]) -> Iterator[Any]:
    """The values themselves, those anywhere in mappings, and those directly in a sequence or a record."""
    for value in passed:
        yield value
        if isinstance(value, dict):
            yield from _within(list(value.values()))
        elif isinstance(value, list | tuple):
            yield from value
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            yield from (getattr(value, field.name, None) for field in dataclasses.fields(value))


def environment(folder: Path, level: str) -> Mapping[str, str]:
    """The environment of a process that traces itself."""
    return {VARIABLE: f"{folder}:{level}", "PYTHONPATH": str(Path(__file__).parent)}
