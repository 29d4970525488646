"""The questions that people ask before they turn encryption on, and the runs that answer them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_SHORT: Mapping[str, Any] = MappingProxyType({"blocks_per_round": 4, "min_rounds": 2})


@dataclass(frozen=True, slots=True)
class Question:
    """What people ask before they turn encryption on.

    Attributes:
        name: a factor or an operation, as runs have it.
        title: for people.
        command: what answers it by itself.
        ways: options of a run that answers it; the first that the engine takes is used.
        least_rounds: of a workload's shortest run; 0 for an operation, of which one short round is an answer.
        rounds: of a workload's whole run, and its weight where time is left; 0 for an operation, which has its own.
    """

    name: str
    title: str
    command: str
    ways: tuple[Mapping[str, Any], ...]
    least_rounds: int = 0
    rounds: int = 0

    @property
    def is_workload(self) -> bool:
        return self.rounds > 0


def _varying(*levels: Mapping[str, tuple[Any, ...]], **options: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple({**_SHORT, **options, "vary": one} for one in levels)


QUESTIONS = (
    Question("workload", "Daily work", "tdelta run", (_NOTHING,), 2, 5),
    Question(
        "encrypt",
        "Conversion of existing data",
        "tdelta run convert",
        _varying({"during": ("encrypt",)}, {"work": ("encrypt",)}),
    ),
    Question(
        "backup",
        "Backup",
        "tdelta run backup",
        _varying({"work": ("backup:compress=zstd",)}, {"work": ("backup",)}),
    ),
    Question(
        "restart",
        "Restart and recovery after a crash",
        "tdelta run restart",
        _varying({"work": ("restart", "recovery:mb=8")}, {"work": ("restart",)}),
    ),
    Question("rate", "Peak load", "tdelta run capacity", _varying({"rate": ("60%", "90%")}, threads=4), 1, 4),
    Question("spill", "Temporary files", "tdelta run spill", ({"study": "spill", **_SHORT},)),
    Question("cache", "Less or more cache", "tdelta run --vary cache=10%,120%", _varying({"cache": (0.1, 1.2)}), 1, 2),
    Question(
        "storage",
        "TDE or the disk",
        "tdelta run --vary storage=plain,luks",
        _varying(*({"storage": ("plain", one)} for one in ("luks", "fscrypt", "gocryptfs"))),
        1,
        2,
    ),
    Question("replication", "Replication", "tdelta run replicate", ({"study": "replicate"},)),
)
"""All questions, the most important first."""
