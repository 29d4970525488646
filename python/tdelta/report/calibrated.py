"""How a run says which calibration of this machine it began with."""

from __future__ import annotations

import time
from collections.abc import Iterable

from tdelta.document.quantities import counted, percent, small_share
from tdelta.inference import Held, held
from tdelta.inference.simulated import FEWEST_ROUNDS
from tdelta.records import CalibrationUsed, Decision, DetectableEffect, Metric, RunResult, RunSettings
from tdelta.report.values import record_values


def held_text(result: RunResult) -> str | None:
    """How often the answers of such runs were right when simulated; None where no verdict stands."""
    if all(verdict.decision is Decision.INVALID for verdict in result.primary):
        return None
    found = _held(result)
    rounds = result.counts.rounds
    runs = counted(rounds, "round") if rounds < FEWEST_ROUNDS else "three rounds or more"
    return (
        f"In simulated runs of {runs}, the 95% interval covered the truth or the verdict was undecided"
        f" {found.fewest} to {found.most} times in 100."
    )


def simulated(result: RunResult) -> Held | None:
    """What simulations of such runs found; None where no verdict stands."""
    return _held(result) if held_text(result) else None


def _held(result: RunResult) -> Held:
    return held(result.counts.rounds)


def used_text(result: RunResult) -> str | None:
    """The calibration that a run began with, in a sentence or two; None where there was none."""
    used = result.settings.calibration
    if used is None:
        return None
    text = (
        f"Calibrated on {day(used.created_unix_seconds)} ({counted(used.runs, 'run')} here):"
        f" noise floor {small_share(used.noise_floor)}, as far apart as identical twins were read."
    )
    smallest = _smallest(used, result.settings)
    return f"{text} Smallest detectable overhead: {smallest}." if smallest else text


def used_values(settings: RunSettings) -> dict[str, object] | None:
    """The calibration that a run began with, as JSON values; None where there was none."""
    used = settings.calibration
    if used is None:
        return None
    instance_effect = [{"metric": metric, **record_values(prior)} for metric, prior in used.instance_effect.items()]
    return record_values(used) | {
        "instance_effect": instance_effect,
        "minimum_detectable_effect": detectable_values(used.minimum_detectable_effect, settings.tolerance),
    }


def detectable_values(visible: Iterable[DetectableEffect], tolerance: float) -> list[dict[str, object]]:
    """What runs of such lengths show: the overhead called slower, and the one told from 0, as shares."""
    return [
        {**record_values(one), "mde_vs_tolerance": one.overhead(tolerance), "mde_vs_zero": one.overhead(0.0)}
        for one in visible
    ]


def day(unix_seconds: float) -> str:
    """A day in UTC, so that a text is the same wherever it is read: ``2026-11-22``."""
    return time.strftime("%Y-%m-%d", time.gmtime(unix_seconds))


def _smallest(used: CalibrationUsed, settings: RunSettings) -> str:
    """For response time and the tolerance only: a calibration does not cover other metrics, nor budgets."""
    if settings.metric is not Metric.RESPONSE_TIME or settings.budget is not None:
        return ""
    known = ((one.minutes, one.overhead(settings.tolerance)) for one in used.minimum_detectable_effect)
    return ", ".join(f"{percent(1 + found)} in {minutes:g} min" for minutes, found in known if found is not None)
