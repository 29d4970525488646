"""How a run says what its intervals have, beside the 95 % that they are called."""

from __future__ import annotations

from dataclasses import asdict

from tdelta.inference import Held, held
from tdelta.inference.cautions import FEWEST_ROUNDS
from tdelta.records import Decision, RunResult
from tdelta.report.quantities import counted


def held_text(result: RunResult) -> str | None:
    """How often intervals of such runs held the truth when simulated; None where no verdict stands."""
    if all(verdict.decision is Decision.UNSOUND for verdict in result.primary):
        return None
    found = _held(result)
    runs = f"{counted(result.rounds, 'round')}" if result.rounds < FEWEST_ROUNDS else "three rounds or more"
    calibrated = " that begin with a calibration" if result.settings.calibration is not None else ""
    text = (
        f"In simulated runs of {runs}{calibrated}, 95 % intervals held the truth {found.fewest} to {found.most} times"
        " in 100"
    )
    if found.unequal is None:
        return f"{text}."
    low, high = found.unequal
    return f"{text}, and {low} to {high} where encryption doubles how far trials or instances scatter."


def held_json(result: RunResult) -> dict[str, object] | None:
    """The same as JSON values; None where no verdict stands."""
    return asdict(_held(result)) if held_text(result) else None


def _held(result: RunResult) -> Held:
    settings = result.settings
    return held(result.rounds, gated=settings.budget is not None, calibrated=settings.calibration is not None)
