"""What ``perf report`` prints, as functions with their samples and time."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tdelta.records import Sampled

_HEX = re.compile(r"0x[0-9a-f]+")
_EVENT = re.compile(r"# Samples: .* of event '([^']*)'")
_LEVEL = re.compile(r"\[(.)\] ?(.*)")
_FIELDS = 5


@dataclass(frozen=True, slots=True)
class Recording:
    """All functions that were seen in one recording.

    ``has_kernel`` says whether the kernel's could be; ``is_lost`` that perf could not write everything down.
    """

    functions: tuple[Sampled, ...]
    has_kernel: bool = True
    is_lost: bool = False


def parse_report(printed: Iterable[str], threads: Collection[int] | None = None) -> Recording:
    """Read ``perf report`` with fields that tabulators separate: samples, period (ns), thread, file, level and symbol.

    Functions of a file that does not name them are added up under no symbol.
    """
    found: dict[tuple[str, str, bool], tuple[int, int]] = {}
    has_kernel = True
    for line in printed:
        if event := _EVENT.match(line):
            has_kernel = not event[1].endswith(":u")
        fields = [field.strip() for field in line.split("\t")]
        if line.startswith("#") or len(fields) < _FIELDS or not (fields[0].isdigit() and fields[1].isdigit()):
            continue
        if threads is not None and int(fields[2].partition(":")[0]) not in threads:
            continue
        level = _LEVEL.fullmatch(fields[4])
        symbol, is_kernel = (level[2], level[1] == "k") if level else (fields[4], False)
        key = (_file_name(fields[3]), "" if _HEX.fullmatch(symbol) or symbol == "[unknown]" else symbol, is_kernel)
        samples, period = found.get(key, (0, 0))
        found[key] = (samples + int(fields[0]), period + int(fields[1]))
    functions = tuple(Sampled(*key[:2], *counted, is_kernel=key[2]) for key, counted in found.items())
    return Recording(functions, has_kernel)


def added(recordings: Iterable[Recording]) -> Recording:
    found: dict[Sampled, tuple[int, int]] = {}
    has_kernel = True
    is_lost = False
    for recording in recordings:
        has_kernel = has_kernel and recording.has_kernel
        is_lost = is_lost or recording.is_lost
        for one in recording.functions:
            key = dataclasses.replace(one, samples=0, cpu_ns=0)
            samples, cpu_ns = found.get(key, (0, 0))
            found[key] = (samples + one.samples, cpu_ns + one.cpu_ns)
    functions = tuple(
        dataclasses.replace(key, samples=samples, cpu_ns=cpu_ns) for key, (samples, cpu_ns) in found.items()
    )
    return Recording(functions, has_kernel, is_lost)


def _file_name(dso: str) -> str:
    """Without folders, which may be private, nor what perf says of a file that was replaced meanwhile."""
    return dso if dso.startswith("[") else dso.removesuffix(" (deleted)").rpartition("/")[2]
