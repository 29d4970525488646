"""Percentages, sizes, durations and lists as people type them, with errors that say what was expected and found.

A unit is always asked for where its absence could be misread: ``5`` could be 5 % or a ratio of 5, so it is neither.
"""

from __future__ import annotations

import math
import re

import click

from tdelta.records import Level

_NUMBER = r"(\d+(?:\.\d*)?|\.\d+)"
_PERCENT = re.compile(rf"{_NUMBER}\s*%")
_SIZE = re.compile(rf"{_NUMBER}\s*([A-Za-z]*)")
_DURATION_PART = re.compile(rf"{_NUMBER}\s*(ms|s|min|m|h)")
_RESPONSE_TIME = re.compile(rf"{_NUMBER}\s*(us|µs|μs|ms|s)")
_ROUNDS = re.compile(r"(\d+)(?:\.\.(\d+)?)?")
_EXPONENTS = {"us": "e-6", "µs": "e-6", "μs": "e-6", "ms": "e-3", "s": ""}
_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_BYTES = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
_SHARE_FACTORS = frozenset({"cache", "at"})
_SIZE_FACTORS = frozenset({"page_size"})


class Percent(click.ParamType[float]):
    """``5%`` as the share 0.05. The sign is required."""

    name = "percent"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Turn the text into a share."""
        if isinstance(value, float):
            return value
        match = _PERCENT.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"expected a percentage such as 5% or 0.5%, found {value!r}", param, ctx)
        return _share(match[1])


class Size(click.ParamType[int]):
    """``50MB``, ``64MiB`` or plain bytes, as whole bytes."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Turn the text into bytes."""
        if isinstance(value, int):
            return value
        found = size_bytes(str(value))
        if found is None:
            self.fail(
                f"expected a size such as 50MB, 1.5GB or 64MiB (kB, MB, GB, TB; KiB, MiB, GiB, TiB), found {value!r}",
                param,
                ctx,
            )
        return found


class Duration(click.ParamType[float]):
    """``90s``, ``5m``, ``1h30m`` or ``250ms``, as seconds. A unit is required; so is more than 0s, unless ``zero``."""

    name = "duration"

    def __init__(self, *, zero: bool = False) -> None:
        self._zero = zero

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Turn the text into seconds."""
        if isinstance(value, float):
            return value
        text = str(value).strip()
        parts = _DURATION_PART.findall(text)
        seconds = math.fsum(float(number) * _SECONDS[unit] for number, unit in parts)
        is_allowed = seconds > 0 or (self._zero and bool(parts))
        if _DURATION_PART.sub("", text).strip() or not is_allowed:
            self.fail(f"expected a duration such as 90s, 5m, 1h30m or 250ms, found {value!r}", param, ctx)
        return seconds


class ResponseTime(click.ParamType[float]):
    """``20ms``, ``250us`` or ``1.5s``, as seconds: how long a transaction may take. The unit is required."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Turn the text into seconds."""
        if isinstance(value, float):
            return value
        match = _RESPONSE_TIME.fullmatch(str(value).strip())
        seconds = float(f"{match[1]}{_EXPONENTS[match[2]]}") if match else 0.0
        if seconds <= 0:
            self.fail(f"expected a time such as 20ms, 250us or 1.5s, found {value!r}", param, ctx)
        return seconds


class Rounds(click.ParamType[tuple[int, int | None]]):
    """``3`` (at least), ``3..8`` (at least and at most) or ``3..`` as ``(minimum, maximum or None)``."""

    name = "rounds"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int | None]:
        """Turn the text into a minimum and perhaps a maximum."""
        if isinstance(value, tuple):
            return value
        match = _ROUNDS.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"expected MIN or MIN..MAX such as 3 or 3..8, found {value!r}", param, ctx)
        least, most = int(match[1]), int(match[2]) if match[2] else None
        if least < 1 or (most is not None and most < least):
            self.fail(f"expected 1 <= MIN <= MAX, found {value!r}", param, ctx)
        return least, most


class Vary(click.ParamType[tuple[str, tuple[Level, ...]]]):
    """``threads=1,2,4`` as the factor and its levels, in the order typed."""

    name = "factor"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[Level, ...]]:
        """Turn the text into a factor and its levels."""
        if isinstance(value, tuple):
            return value
        factor, equals, listed = str(value).partition("=")
        factor, words = factor.strip().replace("-", "_"), [word.strip() for word in listed.split(",")]
        if not equals or not factor or not all(words):
            self.fail(f"expected FACTOR=LEVEL,LEVEL such as threads=1,4, found {value!r}", param, ctx)
        levels = tuple(_level(factor, word) for word in words)
        repeated = sorted({str(level) for level in levels if levels.count(level) > 1})
        if repeated:
            self.fail(f"expected each level once, found {', '.join(repeated)} more than once in {value!r}", param, ctx)
        return factor, levels


def size_bytes(text: str) -> int | None:
    """A size as whole bytes, or None if the text is not one (or does not come out at a whole byte)."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or match[2].lower() not in _BYTES:
        return None
    size = float(match[1]) * _BYTES[match[2].lower()]
    return int(size) if size.is_integer() and size > 0 else None


def _share(number: str) -> float:
    """Per cent as a share, without the dust of binary division: ``7`` is 0.07 and not 0.07000000000000001."""
    return float(f"{number}e-2")


def _level(factor: str, word: str) -> Level:
    percentage = _PERCENT.fullmatch(word)
    if percentage and factor in _SHARE_FACTORS:
        return _share(percentage[1])
    if factor in _SIZE_FACTORS and (size := size_bytes(word)) is not None:
        return size
    for number in (int, float):
        try:
            return number(word)
        except ValueError:
            continue
    return word
