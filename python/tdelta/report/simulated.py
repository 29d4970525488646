"""How a run says what its intervals have, beside the 95 % that they are called."""

from __future__ import annotations

from tdelta.inference import Held, held
from tdelta.inference.simulated import FEWEST_ROUNDS
from tdelta.records import Decision, RunResult
from tdelta.report.quantities import counted


def held_text(result: RunResult) -> str | None:
    """How often the answers of such runs were right when simulated; None where no verdict stands."""
    if all(verdict.decision is Decision.UNSOUND for verdict in result.primary):
        return None
    found = _held(result)
    rounds = result.counts.rounds
    runs = counted(rounds, "round") if rounds < FEWEST_ROUNDS else "three rounds or more"
    return (
        f"In simulated runs of {runs}, the 95 % interval covered the truth or the verdict was undecided"
        f" {found.fewest} to {found.most} times in 100."
    )


def simulated(result: RunResult) -> Held | None:
    """What simulations of such runs found; None where no verdict stands."""
    return _held(result) if held_text(result) else None


def _held(result: RunResult) -> Held:
    return held(result.counts.rounds)
