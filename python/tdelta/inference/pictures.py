"""Each block's own ratio, from the trials that the verdicts rest on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tdelta.inference.costs import Panel, metric_costs, panels
from tdelta.inference.fits import PLAIN
from tdelta.inference.posterior import FloatArray
from tdelta.records import Condition, Measurement, Role, RunSettings, Trial
from tdelta.records.trials import by_condition


@dataclass(frozen=True, slots=True)
class PairedRatios:
    """One condition's cost over the baseline's in every complete block: what was compared, before any model.

    Attributes:
        condition: a judged condition, over the geometric mean of the plain twins of its block; or an A/A twin, over
            the other plain twin.
        rounds: shape (b,), the round of each block, not decreasing.
        blocks: shape (b,), its number in the run.
        started_unix_seconds: shape (b,), when it began.
        ratio: shape (b,), quotients.
    """

    condition: Condition
    rounds: NDArray[np.intp]
    blocks: NDArray[np.intp]
    started_unix_seconds: FloatArray
    ratio: FloatArray


def paired_ratios(trials: Iterable[Trial], settings: RunSettings) -> tuple[PairedRatios, ...]:
    """Each complete block's ratios of the primary metric, judged conditions first, then A/A copies.

    Conditions that cost nothing in some block have no ratio and are left out.

    Raises:
        TdeltaError: if a stratum has not exactly one baseline.
    """
    found = {p.condition.key: p for panel in panels(trials, settings) for p in _paired(panel, settings)}
    judged = [c for c in settings.conditions if c.role.is_judged]
    twins = [c for c in settings.conditions if c.role is Role.AA]
    return tuple(found[c.key] for c in (*judged, *twins) if c.key in found)


def complete_blocks(trials: Iterable[Trial], settings: RunSettings) -> frozenset[tuple[int, str]]:
    """The (block, condition key) of every trial that the verdicts rest on: those of complete blocks.

    Raises:
        TdeltaError: if a stratum has not exactly one baseline.
    """
    used = (trial for panel in panels(trials, settings) for row in panel.trials for trial in row)
    return frozenset((trial.block, trial.condition.key) for trial in used)


def in_complete_blocks(trials: Sequence[Trial], settings: RunSettings) -> dict[str, list[Measurement]]:
    """What was measured of each condition in trials that the verdicts rest on, by the condition's key."""
    used = complete_blocks(trials, settings)
    return by_condition(trial for trial in trials if (trial.block, trial.condition.key) in used)


def _paired(panel: Panel, settings: RunSettings) -> Iterator[PairedRatios]:
    if not panel.trials:
        return
    costs = metric_costs(panel, settings.metric)
    used = np.asarray((costs > 0).all(axis=0), dtype=np.bool_)
    plain = panel.where(*PLAIN) & used
    baseline = panel.where(Role.BASELINE)
    if not used[baseline].all():
        return
    for at, condition in enumerate(panel.conditions):
        if used[at] and condition.role is not Role.BASELINE:
            over = baseline if condition.role is Role.AA else plain
            yield _of_condition(panel, condition, np.log(costs[:, at]) - np.log(costs[:, over]).mean(axis=1))


def _of_condition(panel: Panel, condition: Condition, log_ratio: FloatArray) -> PairedRatios:
    first: Sequence[Trial] = [row[0] for row in panel.trials]
    return PairedRatios(
        condition=condition,
        rounds=panel.rounds,
        blocks=np.array([trial.block for trial in first], dtype=np.intp),
        started_unix_seconds=np.array([trial.started_unix_seconds for trial in first], dtype=np.float64),
        ratio=np.exp(log_ratio),
    )
