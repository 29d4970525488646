"""Runs that one learns from, stratum by stratum: noise, instance effects, and where the wall clock went."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tdelta.errors import StoreError, UsageError
from tdelta.inference.fits import Fitted, fit_metrics, panels, places
from tdelta.inference.noise import InstanceMeans
from tdelta.inference.posterior import FloatArray
from tdelta.inference.rounds import RoundsFit, fit_rounds
from tdelta.messages import Refusal
from tdelta.records import Metric, Role, RunSettings, Trial
from tdelta.records.instrument import Layout, TimeCosts
from tdelta.store import Store

LIKE_THE_BASELINE = (Role.BASELINE, Role.AA, Role.IDENTICAL)
"""Twins that are truly alike, whether one of them is judged or not: they differ by instance effects only."""


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A run to learn from: its settings, its trials, and the wall clock it took, set-up included."""

    settings: RunSettings
    trials: tuple[Trial, ...]
    elapsed_seconds: float

    @classmethod
    def stored(cls, store: Store, run_id: str) -> MeasuredRun:
        """As the store has it. The wall clock of a run that was cut short is from its first block to its last."""
        trials = store.trials(run_id, histograms=False)
        try:
            elapsed = store.result(run_id).counts.elapsed_seconds
        except StoreError:
            starts = [trial.started_unix_seconds for trial in trials]
            elapsed = max(starts) - min(starts) if starts else 0.0
        return cls(store.settings(run_id), trials, elapsed)

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

    def layout(self, times: TimeCosts, trial_seconds: float, blocks_per_round: int) -> Layout:
        """The run with trials so long and so many blocks, as long as it takes on this machine."""
        return Layout(
            conditions=self.conditions,
            block_conditions=self.block_conditions,
            plain=self.plain,
            trial_seconds=trial_seconds,
            blocks_per_round=blocks_per_round,
            set_up_seconds=max(times.set_up_seconds, self.set_up_seconds),
            round_seconds=times.round_seconds,
            block_seconds=self.block_conditions * times.slot_seconds(trial_seconds),
        )


@dataclass(frozen=True, slots=True)
class StratumNoise:
    run: MeasuredRun
    where: str
    fitted: Fitted
    trial_seconds: float

    @property
    def means(self) -> InstanceMeans:
        return self.fitted.means


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
        parts = strata_of(run, metric)
        if any(part.means.pooled_df == 0 for part in parts):
            faults.append(Refusal.of("one-block-a-round", run=run.settings.run_id))
        elif not parts:
            faults.append(Refusal.of("no-complete-block", run=run.settings.run_id, metric=metric.value))
        found += parts
    if faults:
        raise UsageError(*faults)
    return found


def teaches(run: MeasuredRun, metric: Metric) -> bool:
    parts = strata_of(run, metric)
    return bool(parts) and all(part.means.pooled_df > 0 for part in parts)


def strata_of(run: MeasuredRun, metric: Metric) -> list[StratumNoise]:
    fits = [fitted for fitted, _ in fit_metrics(panels(run.trials, run.settings), (metric,))[metric].parts]
    where = places([fitted.panel for fitted in fits])
    return [
        StratumNoise(run, where[fitted.panel.stratum].removesuffix(": "), fitted, _trial_seconds(fitted))
        for fitted in fits
    ]


def _trial_seconds(fitted: Fitted) -> float:
    panel = fitted.panel
    plain = panel.where(*LIKE_THE_BASELINE)
    measured = [t.measurement for row in panel.trials for t, is_plain in zip(row, plain, strict=True) if is_plain]
    return statistics.median(m.elapsed_ns / 1e9 * m.counted_operations / m.operations for m in measured)


def instance_effects(strata: Sequence[StratumNoise]) -> RoundsFit:
    """The instance effects that all strata share, each with its own noise, by the model of verdicts.

    Twins that cost more have a theta of their own, and speak through their scatter between rounds.
    """
    return fit_rounds([s.means for s in strata], [s.fitted.thetas(*LIKE_THE_BASELINE) for s in strata])


def count_instances(strata: Sequence[StratumNoise]) -> int:
    return sum(s.means.means.size for s in strata)


def df_share(strata: Sequence[StratumNoise]) -> float:
    """Degrees of freedom of the trials' variance over those of normal noise, at most 1."""
    nominal = sum(s.means.nominal_df for s in strata)
    return min(1.0, sum(s.means.pooled_df for s in strata) / nominal) if nominal else 1.0


_LONGER = 1.5  # lengths that differ by less than this factor do not tell what a switch costs


@dataclass(frozen=True, slots=True)
class RunTimes:
    """One run's wall clock. ``slot_seconds`` is that of a trial, ``has_rounds`` whether a fresh round was timed."""

    set_up_seconds: float
    round_seconds: float
    slot_seconds: float
    has_rounds: bool


def run_times(run: MeasuredRun) -> RunTimes:
    """Split a run's wall clock. The cost of a single round is in the set-up, from which it cannot be separated."""
    conditions = run.trials_of_block
    starts = dict(sorted({(t.round, t.block): t.started_unix_seconds for t in run.trials}.items()))
    steps = [(before[0] != after[0], starts[after] - starts[before]) for before, after in itertools.pairwise(starts)]
    within = [seconds for is_new_round, seconds in steps if not is_new_round]
    block = max(statistics.median(within) if within else 0.0, _work_seconds(run))
    between = [max(0.0, seconds - block) for is_new_round, seconds in steps if is_new_round]
    rest = max(0.0, run.elapsed_seconds - len(starts) * block)
    if not between:
        return RunTimes(0.0, rest, block / conditions, has_rounds=False)
    # Behind the first round lies the search for plaintext, which no later round has.
    round_seconds = statistics.median(between[1:] or between)
    rounds = 1 + len(between)
    return RunTimes(max(0.0, rest - rounds * round_seconds), round_seconds, block / conditions, has_rounds=True)


def _work_seconds(run: MeasuredRun) -> float:
    """The least seconds of the trials of a block, median over blocks."""
    blocks: dict[int, float] = {}
    for trial in run.trials:
        blocks[trial.block] = blocks.get(trial.block, 0.0) + trial.measurement.elapsed_ns / 1e9
    return statistics.median(blocks.values())


def time_costs(
    seen: Sequence[StratumNoise],  # the strata of the runs; of each run the first one is timed
    conditions: int,  # twins of a round of the run that is planned; making and warming them takes time for each
) -> TimeCosts:
    runs = {one.run.settings.run_id: one for one in reversed(seen)}
    times = {run_id: run_times(one.run) for run_id, one in runs.items()}
    lengths = np.array([one.trial_seconds for one in runs.values()])
    slots = np.array([times[run_id].slot_seconds for run_id in runs])
    for_each = [
        times[run_id].round_seconds / one.run.twins_of_round
        for run_id, one in runs.items()
        if times[run_id].has_rounds or not any(t.has_rounds for t in times.values())
    ]
    switch, stretch = _line(lengths, slots)
    return TimeCosts(
        set_up_seconds=max(t.set_up_seconds for t in times.values()),
        round_seconds=conditions * statistics.median(for_each),
        switch_seconds=switch,
        stretch=stretch,
    )


def _line(lengths: FloatArray, slots: FloatArray) -> tuple[float, float]:
    """Switch and stretch: a line through trials of several lengths, or all that is not the trial counted as switch."""
    if lengths.max() > _LONGER * lengths.min():
        stretch, switch = (float(value) for value in np.polyfit(lengths, slots, 1))
        if switch >= 0.0 and stretch >= 1.0:
            return switch, stretch
    return max(0.0, float(np.median(slots - lengths))), 1.0
