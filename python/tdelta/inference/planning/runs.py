"""Runs as planning reads them: what was measured, stratum by stratum, and what is to be planned."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tdelta.errors import UsageError
from tdelta.inference.fits import CostFit, Fitted, fit_metrics, panels, places
from tdelta.inference.noise import CARRIED_SD, InstanceMeans
from tdelta.messages import Reason, Refusal
from tdelta.records import Metric, Role, RunSettings, Trial
from tdelta.records.prospects import CarryOver, ShareEffect

LIKE_THE_BASELINE = (Role.BASELINE, Role.AA, Role.IDENTICAL)
"""Twins that are truly alike, whether one of them is judged or not: they differ by instance effects only."""


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A run to learn from: its settings, its trials, and the wall clock it took, set-up included."""

    settings: RunSettings
    trials: tuple[Trial, ...]
    elapsed_seconds: float

    @property
    def trials_of_block(self) -> int:
        return round(statistics.median(Counter((t.round, t.block) for t in self.trials).values()))

    @property
    def twins_of_round(self) -> int:
        part = {(t.round, t.condition.key) for t in self.trials}
        return round(statistics.median(Counter(number for number, _ in part).values()))


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """The run that is asked about, as it would be without advice."""

    conditions: int  # of a stratum, plain twins included
    block_conditions: int  # of a block: those of all strata
    plain: int  # plain twins of a stratum that make its baseline
    judged: int  # conditions that get a verdict, over all strata
    trial_seconds: float
    blocks_per_round: int
    set_up_seconds: float = 0.0  # at least so long before the first round; what was measured counts where it is more
    keeps_trial: bool = False  # whether the length of a trial is given, and no other may be advised
    keeps_blocks: bool = False


@dataclass(frozen=True, slots=True)
class StratumNoise:
    run: MeasuredRun
    where: str
    fitted: Fitted
    trial_seconds: float

    @property
    def means(self) -> InstanceMeans:
        return self.fitted.means

    @property
    def raw_df(self) -> int:
        return self.means.nominal_df

    @property
    def stratum(self) -> int:
        return self.fitted.panel.stratum


def extract_noise(runs: Sequence[MeasuredRun], metric: Metric) -> list[StratumNoise]:
    """Every stratum of every run.

    Raises `UsageError`: a run has nothing to learn from, or runs are not of the same kind; every such run is named.
    """
    faults: list[Refusal] = []
    found: list[StratumNoise] = []
    first = runs[0].settings
    for own in (run.settings for run in runs):
        if (own.engine, own.workload) != (first.engine, first.workload):
            other = {"other": first.run_id, "other_engine": first.engine, "other_workload": first.workload}
            faults.append(Refusal.of("runs-unlike", run=own.run_id, engine=own.engine, workload=own.workload, **other))
    for run in runs:
        parts = list(_strata(run, metric))
        if any(part.means.pooled_df == 0 for part in parts):
            faults.append(Refusal.of("one-block-a-round", run=run.settings.run_id))
        elif not parts:
            faults.append(Refusal.of("no-complete-block", run=run.settings.run_id, metric=metric.value))
        found += parts
    if faults:
        raise UsageError(*faults)
    return found


def teaches(run: MeasuredRun, metric: Metric) -> bool:
    parts = list(_strata(run, metric))
    return bool(parts) and all(part.means.pooled_df > 0 for part in parts)


def _strata(run: MeasuredRun, metric: Metric) -> Iterator[StratumNoise]:
    yield from strata_of(run, fit_metrics(panels(run.trials, run.settings), (metric,))[metric])


def strata_of(run: MeasuredRun, fit: CostFit) -> list[StratumNoise]:
    where = places([fitted.panel for fitted, _ in fit.parts])
    return [
        StratumNoise(run, where[fitted.panel.stratum].removesuffix(": "), fitted, _trial_seconds(fitted))
        for fitted, _ in fit.parts
    ]


def _trial_seconds(fitted: Fitted) -> float:
    panel = fitted.panel
    plain = panel.where(*LIKE_THE_BASELINE)
    measured = [t.measurement for row in panel.trials for t, is_plain in zip(row, plain, strict=True) if is_plain]
    return statistics.median(m.elapsed_ns / 1e9 * m.counted_operations / m.operations for m in measured)


_QUANTILE = 1.959964
_LEAST_LEARNT = 0.9  # of the prior's standard deviation: where more of it is left, trials say next to nothing


# What an encrypted trial leaves to the trial right after it: first-order carry-over, as stage 1 finds it.
#
# Blocks are rows of Williams designs, in which every condition follows every other equally often, so that a trial's
# predecessor can be told from the trial itself (Williams 1949; Jones and Kenward 2014, "Design and Analysis of
# Cross-Over Trials", chapter 4).


def carry_over(strata: Sequence[StratumNoise]) -> CarryOver:
    """The carry-over in the stratum that knows it best.

    Returns the estimate, and what cannot be estimated from these data.
    """
    unknown = (Reason.of("carry-over-to-itself"), Reason.of("carry-over-course"))
    if not any(not c.is_plain for one in strata for c in one.run.settings.conditions):
        return CarryOver(None, (Reason.of("carry-over-only-plain"), *unknown))
    known = [one.means for one in strata if 0.0 < one.means.carried_sd < _LEAST_LEARNT * CARRIED_SD]
    if not known:
        return CarryOver(None, (Reason.of("carry-over-few-trials"), *unknown))
    best = min(known, key=lambda means: means.carried_sd)
    low, median, high = (math.expm1(best.carried + at * best.carried_sd) for at in (-_QUANTILE, 0.0, _QUANTILE))
    return CarryOver(ShareEffect(median, (low, high)), unknown)
