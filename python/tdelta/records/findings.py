"""Findings: what a run found beside its verdicts, each a record of its own.

A record is a finding by its base, and is stored and shown under its ``FINDING``: what it is called in the JSON output.
What shows it is registered in `tdelta.report.findings`.
"""

from __future__ import annotations

from dataclasses import dataclass
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


FINDINGS: dict[str, type[Finding]] = {}
"""Every kind of finding, by its name: what stored results are read with."""


class Finding:
    """The base of findings. A run has any number of one kind; of one with ``IS_SINGLE``, one at most."""

    __slots__ = ()

    FINDING: ClassVar[str]
    IS_SINGLE: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Make the kind known to those who read stored results."""
        FINDINGS[cls.FINDING] = cls
