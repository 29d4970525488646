"""What a picture of a run needs beyond its figures: the posteriors' densities, and each block's own ratio.

Worked out again from the trials, with the same fits as the verdicts; a store keeps an estimate's figures, not its
curve. Deterministic, so the curve is the one that the figures were taken from, as long as the model is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tdelta.inference.costs import Panel, metric_costs, panels
from tdelta.inference.fits import PLAIN, fit_metrics
from tdelta.inference.posterior import FloatArray
from tdelta.inference.validity import twins_apart
from tdelta.records import Condition, Estimate, Measurement, Role, RunSettings, Trial
from tdelta.records.trials import by_condition


@dataclass(frozen=True, slots=True)
class Density:
    """The posterior of one ratio as a curve.

    Attributes:
        condition: a judged condition, or an A/A twin (then over the other plain twin, as for the noise floor).
        ratio: shape (n,), increasing quotients that hold 99.99% of the posterior.
        density: shape (n,), of the ratio (not of its logarithm); the whole posterior's area is 1.
        estimate: the figures of this very posterior.
    """

    condition: Condition
    ratio: FloatArray
    density: FloatArray
    estimate: Estimate


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


def densities(trials: Iterable[Trial], settings: RunSettings) -> tuple[Density, ...]:
    """The posterior curves of the primary metric: judged conditions first, then A/A twins, each in the design's order.

    A condition without a complete block has none, since its posterior is the prior.

    Raises:
        TdeltaError: if a stratum has not exactly one baseline.
    """
    fit = fit_metrics(panels(trials, settings), (settings.metric,), settings.instance_effect)[settings.metric]
    judged = {a.condition.key: a for a in fit.answers() if a.condition.role.is_judged}
    twins = {a.condition.key: a for a in twins_apart(fit).answers() if a.condition.role is Role.AA}
    ordered = [found[c.key] for found in (judged, twins) for c in settings.conditions if c.key in found]
    return tuple(
        Density(one.condition, *one.posterior.ratio_density(), one.posterior.estimate(settings.tolerance))
        for one in ordered
    )


def paired_ratios(trials: Iterable[Trial], settings: RunSettings) -> tuple[PairedRatios, ...]:
    """Each complete block's ratios of the primary metric, in the order of `densities`.

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
