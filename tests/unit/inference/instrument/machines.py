"""Runs of a machine whose noise, luck and times are known, as the store would hand them over."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from support.flat import measurement_of
from tdelta.inference.instrument.measured import MeasuredRun, PlannedRun
from tdelta.records import Condition, Metric, Role, RunSettings, SpanTotals, Trial

from ..builders import AA, AES, BASELINE

IDENTICAL = Condition(BASELINE.levels, Role.IDENTICAL)
PLAIN_TWINS = (BASELINE, AA, IDENTICAL)
TWINS = (BASELINE, AA, AES)
SWITCH_SECONDS = 0.02
ROUND_SECONDS = 1.5
SET_UP_SECONDS = 4.0
SEARCH_SECONDS = 3.0

PLANNED = PlannedRun(conditions=3, block_conditions=3, plain=2, judged=1, trial_seconds=0.25, blocks_per_round=6)


def orders(rng: np.random.Generator, count: int, blocks: int) -> list[tuple[int, ...]]:
    """An order for each block: all there are, in random order, again and again; for three conditions, Williams rows."""
    every = list(itertools.permutations(range(count)))
    return [every[row] for _ in range(blocks // len(every) + 1) for row in rng.permutation(len(every))][:blocks]


def run(
    *,
    noise: float = 0.02,
    instance_effect: float = 0.005,
    rounds: int = 6,
    blocks: int = 6,
    trial_seconds: float = 0.25,
    conditions: Sequence[Condition] = PLAIN_TWINS,
    after_encrypted: float = 0.0,
    later: float = 0.0,
    wander: float = 0.0,
    seed: int = 1,
    run_id: str = "20260101-abcd",
    workload: str = "order-entry",
) -> MeasuredRun:
    """A run in which everything is known.

    ``after_encrypted`` and ``later`` are logs, of what a trial after an encrypted twin and a later place cost more;
    each twin wanders from block to block.
    """
    rng = np.random.default_rng(seed)
    trials: list[Trial] = []
    now = SET_UP_SECONDS
    for round_ in range(rounds):
        now += ROUND_SECONDS
        lucks = rng.normal(0.0, instance_effect, len(conditions))
        walk = np.zeros(len(conditions))
        carried = 0.0
        for block, turns in enumerate(orders(rng, len(conditions), blocks), start=round_ * blocks):
            walk += rng.normal(0.0, wander, len(conditions)) if wander else 0.0
            drift = 0.05 * math.sin(block)
            for position, index in enumerate(turns):
                log_cost = lucks[index] + walk[index] + drift + carried + later * position + rng.normal(0.0, noise)
                trials.append(_trial(conditions[index], round_, block, position, float(log_cost), trial_seconds, now))
                carried = after_encrypted if conditions[index].role is Role.TREATMENT else 0.0
            now += len(conditions) * (trial_seconds + SWITCH_SECONDS)
        now += SEARCH_SECONDS if round_ == 0 else 0.0
    options = {"trial_seconds": trial_seconds, "blocks_per_round": blocks}
    settings = RunSettings(
        run_id, seed, "", "sqlite", workload, tuple(conditions), 0.02, None, Metric.RESPONSE_TIME, options
    )
    return MeasuredRun(settings, tuple(trials), now)


def _trial(of: Condition, round_: int, block: int, position: int, log_cost: float, seconds: float, now: float) -> Trial:
    """A tenth of the trial is its head, which is run and not recorded."""
    operations = round(9000 * seconds)
    cost_ns = 100_000 * math.exp(log_cost)
    recorded_ns = round(0.9e9 * seconds)
    measured = measurement_of(
        operations=operations,
        total_operations=operations * 10 // 9,
        elapsed_ns=recorded_ns,
        transactions={"work": SpanTotals(10**6, round(1e6 * cost_ns))},
        statements={},
        cpu_user_seconds=1e-9 * operations * cost_ns,
        syscall_read_bytes=4096,
        syscall_written_bytes=4096,
    )
    return Trial(round_, block, position, of, f"{round_}/{of.key}", now, measured)


def without_rounds(of: MeasuredRun, most: int) -> MeasuredRun:
    return replace(of, trials=tuple(t for t in of.trials if t.round < most))


def with_other_twin(of: MeasuredRun, twin: Condition, other: Condition) -> MeasuredRun:
    """The same run, another B/B twin taking the place of one in every other round."""
    trials = tuple(replace(t, condition=other) if t.condition == twin and t.round % 2 else t for t in of.trials)
    conditions = (*of.settings.conditions, other)
    return replace(of, settings=replace(of.settings, conditions=conditions), trials=trials)
