"""Runs as planning reads them: what was measured, stratum by stratum, and what is to be planned."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tdelta.errors import UsageError
from tdelta.inference.costs import panels, places
from tdelta.inference.fits import CostFit, Fitted, fit_metrics
from tdelta.inference.noise import InstanceMeans
from tdelta.messages import Refusal
from tdelta.records import Metric, Role, RunSettings, Trial

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
        """How many trials a usual block has. Of several B/B twins only one takes part in a round."""
        return round(statistics.median(Counter((t.round, t.block) for t in self.trials).values()))

    @property
    def twins_of_round(self) -> int:
        """How many conditions a usual round has."""
        part = {(t.round, t.condition.key) for t in self.trials}
        return round(statistics.median(Counter(number for number, _ in part).values()))


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """The run that is asked about, as it would be without advice.

    Attributes:
        conditions: of a stratum, plain twins included.
        block_conditions: of a block: those of all strata.
        plain: plain twins of a stratum that make its baseline.
        judged: conditions that get a verdict, over all strata.
        trial_seconds: length of a trial.
        blocks_per_round: blocks of a round.
        set_up_seconds: at least so long before the first round; what was measured counts where it is more.
        keeps_trial: whether the length of a trial is given, and no other may be advised.
        keeps_blocks: the same for blocks per round.
    """

    conditions: int
    block_conditions: int
    plain: int
    judged: int
    trial_seconds: float
    blocks_per_round: int
    set_up_seconds: float = 0.0
    keeps_trial: bool = False
    keeps_blocks: bool = False


@dataclass(frozen=True, slots=True)
class StratumNoise:
    """One stratum of one run after stage 1."""

    run: MeasuredRun
    where: str
    fitted: Fitted
    trial_seconds: float

    @property
    def means(self) -> InstanceMeans:
        """Stage 1's answer."""
        return self.fitted.means

    @property
    def raw_df(self) -> int:
        """Degrees of freedom that normal noise would have."""
        return self.means.nominal_df

    @property
    def stratum(self) -> int:
        """The stratum's number."""
        return self.fitted.panel.stratum


def extract_noise(runs: Sequence[MeasuredRun], metric: Metric) -> list[StratumNoise]:
    """Every stratum of every run.

    Raises:
        UsageError: a run has nothing to learn from, or runs are not of the same kind; every such run is named.
    """
    faults = [*_strangers(runs)]
    found: list[StratumNoise] = []
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
    """Whether `extract_noise` could learn from this run."""
    parts = list(_strata(run, metric))
    return bool(parts) and all(part.means.pooled_df > 0 for part in parts)


def _strangers(runs: Sequence[MeasuredRun]) -> Iterator[Refusal]:
    """Runs that cannot be learned from together with the first."""
    first = runs[0].settings
    for run in runs[1:]:
        kind = (run.settings.engine, run.settings.workload)
        if kind != (first.engine, first.workload):
            yield Refusal.of(
                "runs-unlike",
                run=run.settings.run_id,
                engine=kind[0],
                workload=kind[1],
                other=first.run_id,
                other_engine=first.engine,
                other_workload=first.workload,
            )


def _strata(run: MeasuredRun, metric: Metric) -> Iterator[StratumNoise]:
    yield from strata_of(run, fit_metrics(panels(run.trials, run.settings), (metric,))[metric])


def strata_of(run: MeasuredRun, fit: CostFit) -> list[StratumNoise]:
    """The strata of one run that is fitted already."""
    where = places([fitted.panel for fitted, _ in fit.parts])
    return [
        StratumNoise(run, where[fitted.panel.stratum].removesuffix(": "), fitted, _trial_seconds(fitted))
        for fitted, _ in fit.parts
    ]


def _trial_seconds(fitted: Fitted) -> float:
    """How long a plain trial was, with its head, median."""
    panel = fitted.panel
    plain = panel.where(*LIKE_THE_BASELINE)
    measured = [t.measurement for row in panel.trials for t, is_plain in zip(row, plain, strict=True) if is_plain]
    return statistics.median(m.elapsed_ns / 1e9 * m.counted_operations / m.operations for m in measured)
