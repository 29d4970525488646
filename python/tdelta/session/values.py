"""The kinds of values that options have: how each is read from a command line, kept as JSON and typed again.

A unit is always asked for where its absence could be misread: ``5`` could be 5% or a ratio of 5, so it is neither.
Faults say what was expected and what was found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tdelta.design import parse_level, parse_vary
from tdelta.design.factors import cache_level, page_bytes, rate_level, share_of_percent, size_bytes, size_text
from tdelta.errors import UsageError
from tdelta.messages import Refusal
from tdelta.records import Level
from tdelta.records.kept import label_fault

_NUMBER = r"(\d+(?:\.\d*)?|\.\d+)"
_PERCENT = re.compile(rf"{_NUMBER}\s*%")
_DURATION_PART = re.compile(rf"{_NUMBER}\s*(ms|s|min|m|h|d)")
_RESPONSE_TIME = re.compile(rf"{_NUMBER}\s*(us|µs|μs|ms|s)")
_ROUNDS = re.compile(r"(\d+)(?:\.\.(\d+)?)?")
_EXPONENTS = {"us": "e-6", "µs": "e-6", "μs": "e-6", "ms": "e-3", "s": ""}
_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_TIMES = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))
_MINUTE = 60.0


@dataclass(frozen=True)
class Value:
    """Text, and what every kind does unless it says otherwise. ``metavar`` stands for a value in help texts."""

    EXPECTED: ClassVar[str] = ""

    metavar: str = "TEXT"
    is_repeated: bool = False

    def parse(self, text: str) -> Any:
        """One value as typed; raises ``ValueError`` of a refusal, which says what was expected."""
        try:
            return self._read(text)
        except ValueError as error:
            if error.args and isinstance(error.args[0], Refusal):
                raise
            raise ValueError(Refusal.of("unexpected", expected=self.EXPECTED, found=repr(text))) from None

    def _read(self, text: str) -> Any:
        """The same; what is not `EXPECTED` raises any ``ValueError``."""
        return text

    def offered(self) -> Iterable[str]:
        """The names that a shell offers while a value is typed; none where there are too many, or files go, too."""
        return ()

    def gathered(self, parsed: Any) -> Any:
        """The option's value from what `parse` made: of all that was typed where it is repeatable."""
        return parsed

    def taken(self, value: Any) -> Any:
        return value

    def to_json(self, value: Any) -> Any:
        return value

    def from_json(self, value: Any) -> Any:
        return value

    def within(self, folder: Path, value: Any) -> Any:
        """The option's value where what is relative in it is meant from a folder, not from the working one."""
        del folder
        return value

    def write(self, value: Any) -> str:
        """One value as it is typed: all the figures there are, and none of the dust of binary fractions."""
        return f"{value:.12g}" if isinstance(value, float) else str(value)

    def texts(self, value: Any) -> list[str | None]:
        """The texts that give the option this value, each behind a flag of its own; None is the flag alone."""
        return [self.write(one) for one in value] if self.is_repeated else [self.write(value)]


@dataclass(frozen=True)
class Choice(Value):
    """One of a few names; ``make`` turns it into what it stands for. Without a metavar, help texts list the names."""

    metavar: str = ""
    names: tuple[str, ...] = ()
    make: Callable[[str], Any] = str

    def gathered(self, parsed: Any) -> Any:
        return self.make(parsed)

    def taken(self, value: Any) -> Any:
        """The value behind the name, or the name itself; an unknown name is left to be refused with the rest."""
        return self.make(value) if value in self.names else value

    def to_json(self, value: Any) -> Any:
        return str(value)

    def from_json(self, value: Any) -> Any:
        return self.make(value)


@dataclass(frozen=True)
class WholeNumber(Value):
    metavar: str = "N"
    least: int = 1
    most: int | None = None


class _Number(Value):
    def taken(self, value: Any) -> Any:
        return float(value) if isinstance(value, int) else value


@dataclass(frozen=True)
class Percent(_Number):
    """``5%`` as the share 0.05. The sign is required."""

    EXPECTED = "a percentage such as 5% or 0.5%"

    metavar: str = "PERCENT"

    def _read(self, text: str) -> float:
        return share_of_percent(_matched(_PERCENT, text)[1])

    def write(self, value: Any) -> str:
        return f"{100 * value:.12g}%" if isinstance(value, int | float) else str(value)


@dataclass(frozen=True)
class Size(Value):
    """``50MB``, ``64MiB``, ``10G`` or plain bytes, as whole bytes; ``of`` reads it."""

    EXPECTED = "a size such as 50MB, 1.5GB or 64MiB"

    metavar: str = "SIZE"
    of: Callable[[str], int | None] = size_bytes

    def _read(self, text: str) -> int:
        if (found := self.of(text)) is None:
            raise ValueError
        return found

    def write(self, value: Any) -> str:
        return size_text(int(value))


class _NumberOrText(_Number):
    """A number, or a text that stands for one."""

    def taken(self, value: Any) -> Any:
        """Whole numbers and texts, too; a text that is neither is left to be refused with the rest."""
        try:
            return self.parse(value) if isinstance(value, str) else super().taken(value)
        except ValueError:
            return value


@dataclass(frozen=True)
class CacheSize(_NumberOrText):
    """``10%`` as the share 0.1 of the data, or ``4GB`` as that text. One of the two signs is required."""

    EXPECTED = "a share of the data such as 10%, or a size such as 4GB or 512M"

    metavar: str = "PERCENT|SIZE"

    def _read(self, text: str) -> float | str:
        return cache_level("" if re.fullmatch(r"[\d.\s]*", text) else text.strip())

    def write(self, value: Any) -> str:
        return Percent().write(value)


@dataclass(frozen=True)
class Rate(_NumberOrText):
    """``500`` as operations per second, or ``60%`` of the plain twin's capacity as that text."""

    EXPECTED = "operations per second such as 500, or a share such as 60%"

    metavar: str = "NUMBER|PERCENT"

    def _read(self, text: str) -> float | str:
        return rate_level(text.strip())


@dataclass(frozen=True)
class PerSecond(_Number):
    """``2000/s`` as 2000.0."""

    EXPECTED = "a rate such as 2000/s"

    metavar: str = "NUMBER/s"

    def _read(self, text: str) -> float:
        return float(rate_level(text.strip().removesuffix("/s")))


@dataclass(frozen=True)
class PageSize(Size):
    """The size of a page, written as plain bytes."""

    of: Callable[[str], int | None] = page_bytes

    def write(self, value: Any) -> str:
        return str(value)


@dataclass(frozen=True)
class Duration(_Number):
    """``90s``, ``5m``, ``1h30m`` or ``250ms``, as seconds. A unit is required; so is more than 0s, unless ``zero``."""

    EXPECTED = "a duration such as 90s, 1h30m, 250ms"

    metavar: str = "DURATION"
    zero: bool = False

    def _read(self, text: str) -> float:
        parts = _DURATION_PART.findall(text.strip())
        seconds = math.fsum(float(number) * _SECONDS[unit] for number, unit in parts)
        is_allowed = seconds > 0 or (self.zero and bool(parts))
        if _DURATION_PART.sub("", text).strip() or not is_allowed:
            raise ValueError
        return seconds

    def write(self, value: Any) -> str:
        """``90s``, and whole minutes from two of them on as minutes: ``30m``."""
        is_minutes = value >= 2 * _MINUTE and value % _MINUTE == 0
        return f"{value / _MINUTE:.12g}m" if is_minutes else f"{value:.12g}s"


@dataclass(frozen=True)
class ResponseTime(_Number):
    """``20ms``, ``250us`` or ``1.5s``, as seconds: how long a transaction may take. The unit is required."""

    EXPECTED = "a time such as 20ms, 250us or 1.5s"

    metavar: str = "TIME"

    def _read(self, text: str) -> float:
        match = _matched(_RESPONSE_TIME, text)
        if not (seconds := float(f"{match[1]}{_EXPONENTS[match[2]]}")) > 0:
            raise ValueError
        return seconds

    def write(self, value: Any) -> str:
        """In the largest unit in which it is at least 1."""
        unit, size = next((step for step in _TIMES if value >= step[1]), _TIMES[-1])
        return f"{value / size:.12g}{unit}"


@dataclass(frozen=True)
class Rounds(Value):
    """``3`` (at least), ``3..8`` (at least and at most) or ``3..`` as ``(minimum, maximum or None)``."""

    EXPECTED = "MIN or MIN..MAX such as 3 or 3..8"

    metavar: str = "MIN[..MAX]"

    def _read(self, text: str) -> tuple[int, int | None]:
        match = _matched(_ROUNDS, text)
        least, most = int(match[1]), int(match[2]) if match[2] else None
        if least < 1 or (most is not None and most < least):
            raise ValueError(Refusal.of("unexpected", expected="1 <= MIN <= MAX", found=repr(text)))
        return least, most

    def write(self, value: Any) -> str:
        least, most = value
        return f"{least}" if most is None else f"{least}..{most}"


@dataclass(frozen=True)
class PathValue(Value):
    """A path; ``is_file`` and ``is_folder`` say what may be there."""

    metavar: str = "PATH"
    is_file: bool = True
    is_folder: bool = True

    def taken(self, value: Any) -> Any:
        return Path(value) if isinstance(value, str) else value

    def within(self, folder: Path, value: Any) -> Any:
        return folder / value

    def to_json(self, value: Any) -> str:
        return str(value.absolute())

    def from_json(self, value: Any) -> Path:
        return Path(value)


@dataclass(frozen=True)
class Flag(Value):
    """Something that is so where the flag is typed: the option is then ``stands_for``."""

    metavar: str = ""
    stands_for: bool = True

    def texts(self, value: Any) -> list[str | None]:
        """The flag alone, where it stands for that."""
        return [None] if value is self.stands_for else []


class Several(Value):
    """Of any sequence a tuple, which is a list in JSON."""

    def gathered(self, parsed: Any) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(parsed))

    def to_json(self, value: Any) -> list[Any]:
        return list(value)

    def from_json(self, value: Any) -> tuple[Any, ...]:
        return tuple(value)


@dataclass(frozen=True)
class Percents(Percent, Several):
    is_repeated: bool = True

    def gathered(self, parsed: Any) -> tuple[float, ...]:
        return tuple(parsed)  # one that is given twice is refused

    def taken(self, value: Any) -> Any:
        return tuple(map(float, value))


@dataclass(frozen=True)
class Labels(Several):
    metavar: str = "LABEL"
    is_repeated: bool = True

    def _read(self, text: str) -> str:
        if (fault := label_fault(text)) is not None:
            raise ValueError(fault)
        return text

    def taken(self, value: Any) -> Any:
        return (value,) if isinstance(value, str) else tuple(value)


@dataclass(frozen=True)
class Factors(Value):
    """Factors and their levels, ``threads=1,4``, each typed with a flag of its own; every fault is told at once."""

    metavar: str = "F=L1,L2"
    is_repeated: bool = True

    def gathered(self, parsed: Any) -> dict[str, tuple[Level, ...]]:
        return parse_vary(parsed)

    def taken(self, value: Any) -> dict[str, tuple[Level, ...]]:
        """Any sequences of levels, of which texts may be as typed; what cannot be read is left to be refused."""
        return {factor: tuple(_level(factor, level) for level in levels) for factor, levels in value.items()}

    def to_json(self, value: Any) -> dict[str, list[Level]]:
        return {factor: list(levels) for factor, levels in value.items()}

    def from_json(self, value: Any) -> dict[str, tuple[Level, ...]]:
        return {factor: tuple(levels) for factor, levels in value.items()}

    def texts(self, value: Mapping[str, Any]) -> list[str | None]:
        return [f"{factor}={','.join(self._level(factor, level) for level in value[factor])}" for factor in value]

    def _level(self, factor: str, level: object) -> str:
        return Percent().write(level) if factor == "cache" and not isinstance(level, str) else self.write(level)


def _level(factor: str, level: Level) -> Level:
    try:
        return parse_level(factor, level) if isinstance(level, str) else level
    except UsageError:
        return level


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    if (match := pattern.fullmatch(text.strip())) is None:
        raise ValueError
    return match
