"""Data gathered of a run beside its trials, each kind by a collector of its own, in the state of the run.

A collector of rounds has its turn behind the blocks, while nothing is measured: whether it is due, and then all that it
collects of the round's twins. What it found, and what is to be said of it, is the same in every sitting.
"""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.session.collectors.checks import Checks
from tdelta.session.collectors.profile import CpuProfiles
from tdelta.session.collectors.search import FileSearch
from tdelta.session.collectors.unit_costs import TimedCalls, UnitCosts
from tdelta.session.context import Ready, Round, RunContext


@dataclass(frozen=True, slots=True)
class Collectors:
    """All of a run: checks of the twins, what is measured of fresh ones, and what is collected behind the blocks."""

    checks: Checks
    unit_costs: UnitCosts
    timed_calls: TimedCalls
    profiles: CpuProfiles
    search: FileSearch

    @classmethod
    def of(cls, context: RunContext, ready: Ready, checks: Checks) -> Collectors:
        calls, profiles = TimedCalls(context, ready), CpuProfiles(context, ready.folder)
        return cls(checks, UnitCosts(context), calls, profiles, FileSearch(context, ready))

    @property
    def preferred(self) -> tuple[TimedCalls | CpuProfiles, ...]:
        """Those for which later blocks are left out where time is short."""
        return self.timed_calls, self.profiles

    @property
    def behind_blocks(self) -> tuple[TimedCalls | CpuProfiles | FileSearch, ...]:
        """Those of rounds, in their order."""
        return self.timed_calls, self.profiles, self.search
