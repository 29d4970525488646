"""Versions of one product beside each other: what encryption costs in each, and by how much that differs."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.records.conditions import Condition
from tdelta.records.estimates import Estimate
from tdelta.records.findings import Finding
from tdelta.records.history import OverheadChange
from tdelta.records.results import Metric


@dataclass(frozen=True, slots=True)
class VersionDifference(Finding):
    """One condition in a version beside the same condition in the first version asked for.

    Each is over the baseline of its own version. ``factor`` is ``server`` or ``library``; ``earlier`` is the ratio in
    the first version (``versus``), ``later`` in this one (``condition``). ``difference`` decides nothing.
    """

    FINDING = "version_differences"

    factor: str
    condition: Condition
    versus: Condition
    metric: Metric
    earlier: Estimate
    later: Estimate
    difference: OverheadChange
