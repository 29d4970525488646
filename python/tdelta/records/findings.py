"""Findings: what a run found beside its verdicts, each a record of its own; `tdelta.findings` declares the kinds."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Estimate:
    """A posterior in a few figures; all are quotients, e.g. ``hdi95 = (1.024, 1.038)``."""

    median: float
    hdi95: tuple[float, float]
    hdi99: tuple[float, float]
    mass_above_tolerance: float
    mass_in_tolerance: float
    mass_below_tolerance: float


@dataclass(frozen=True, slots=True)
class Typical:
    """A quantity over the trials of one condition: its median between the quartiles."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Typical:
        """Of at least one value."""
        found = list(values)
        if len(found) == 1:
            return cls(*found, *found, *found)
        return cls(*statistics.quantiles(found, n=4, method="inclusive"))

    @classmethod
    def of_any(cls, values: Iterable[float]) -> Typical | None:
        """None of no value."""
        found = list(values)
        return cls.of(found) if found else None


class Finding:
    """The base of findings. A run has any number of one kind; of one with ``IS_SINGLE``, one at most.

    ``FINDING`` is what a kind is called in stored results and in the JSON output.
    """

    __slots__ = ()

    FINDING: ClassVar[str]
    IS_SINGLE: ClassVar[bool] = False


FINDINGS: dict[str, type[Finding]] = {}
"""The record of every kind that was declared; `known_findings` has them all."""


def known_findings() -> Mapping[str, type[Finding]]:
    """The record of every kind of finding, by its name: what stored results are read with.

    The package that declares them is imported by its name, as an engine's is, since it builds on all that reads them.
    """
    import_module("tdelta.findings")
    return FINDINGS
