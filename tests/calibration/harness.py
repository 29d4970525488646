"""Many simulated experiments, and how often tdelta's answers hold the truth.

Every cell (what is studied, machine, log ratio) draws from a seed of its own, so cells are independent experiments, and
what several say may be added up. Experiments come without end, and a test takes as many as it needs
(`calibration.sequential`). A single cell has no useful upper bound, so that is asked of many cells together.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

import numpy as np

from calibration.grid import LAST_LOOK, Limit, gate
from calibration.simulation import (
    AA,
    BASELINE,
    HEAVIER,
    NOISES,
    TREATMENT,
    TWINS,
    Machine,
    generator,
    settings,
    simulate,
)
from tdelta.inference.aa_check import alike_checks, noise_floors, with_invalid
from tdelta.inference.decisions import (
    LEAST_WIDTH,
    decide,
    precise_enough,
    width,
)
from tdelta.inference.fits import fit_metrics, fit_transactions, panels, places
from tdelta.inference.run_analysis import contrasts_of, interim_estimates
from tdelta.inference.verdicts import primary_verdicts, transaction_verdicts
from tdelta.records import Condition, Decision, Estimate, Role, RunSettings, Trial, Verdict

LEAST_COVERAGE = 0.91
MOST_POOLED_COVERAGE = 0.99

LOG_RATIOS = (0.0, 0.05, 0.8, 2.0)
MACHINES = tuple(
    Machine(noise=noise, instance_sd=instance_effect) for noise in NOISES for instance_effect in (0.003, 0.01)
)
TOLERANCE = 0.02


@dataclass(frozen=True)
class Tally:
    """The results of many experiments.

    ``covered`` and ``false_alarms`` (slower or faster where the truth lies inside the tolerance) are shares; ``bias``
    and ``points`` (median width of the 95 % HDI) are points of the ratio.
    """

    covered: float
    false_alarms: float
    bias: float
    points: float


@dataclass(frozen=True)
class GateTally:
    """The answers of a gate, in shares, its mean number of rounds, and how good the estimate was that it stopped on."""

    over: float
    within: float
    rounds: float
    covered: float
    bias: float


@dataclass(frozen=True)
class TwinTally:
    """How often the A/A check failed, and how often the twins were seen to differ at all (95 % HDI without 0)."""

    invalid: float
    differing: float


Pair: TypeAlias = tuple[float, Estimate]


def is_missed(pair: Pair) -> bool:
    truth, (low, high) = float(np.exp(pair[0])), pair[1].hdi95
    return not low <= truth <= high


def is_false_alarm(pair: Pair) -> bool:
    """Whether something is called slower or faster that is not."""
    return abs(np.expm1(pair[0])) < TOLERANCE and decide(pair[1], TOLERANCE) in (Decision.SLOWER, Decision.FASTER)


MISSED = Limit("missed by the 95 % HDI", 0.07, is_missed)
FALSE_ALARM = Limit("slower or faster where the truth lies inside the tolerance", 0.025, is_false_alarm)


def tally(answers: Iterable[Pair]) -> Tally:
    pairs = tuple(answers)
    return Tally(
        covered=1.0 - float(np.mean([is_missed(pair) for pair in pairs])),
        false_alarms=float(np.mean([is_false_alarm(pair) for pair in pairs])),
        bias=float(np.mean([100.0 * (e.median - np.exp(truth)) for truth, e in pairs])),
        points=float(np.median([100.0 * width(e) for _, e in pairs])),
    )


def answers(
    machine: Machine,
    log_ratio: float,
    *,
    rounds: Sequence[int] = (3, 4, 5, 6, 7, 8),
    conditions: Sequence[Condition] = TWINS,
) -> Iterator[Pair]:
    """Experiments of 3 to 8 rounds, their number not depending on what was seen; without end."""
    for index in count():
        rng = generator(index, "fixed", machine.name, log_ratio, tuple(rounds), len(conditions))
        trials = simulate(rng, machine, [log_ratio], rounds=rounds[index % len(rounds)], conditions=conditions)
        found = {condition: estimate for condition, estimate, _ in interim_estimates(trials, settings(conditions))}
        yield log_ratio, found[TREATMENT]


@dataclass(frozen=True)
class Stopped:
    """An experiment that looked at the end of each round: its truth and answer, and after how many rounds it ended."""

    pair: Pair
    rounds: int


def stopping_on_precision(
    machine: Machine, log_ratio: float, *, precision: float = LEAST_WIDTH, fewest: int = 3, most: int
) -> Iterator[Stopped]:
    """Experiments that end when the interval is narrow enough, or at a cap that is far off; without end."""
    for index in count():
        rng = generator(index, "precision", machine.name, log_ratio, precision, most)
        trials = simulate(rng, machine, [log_ratio], rounds=most)
        for rounds in range(fewest, most + 1):
            looks = interim_estimates([t for t in trials if t.round < rounds], settings(), precision=precision)
            if precise_enough(looks):
                break
        yield Stopped((log_ratio, looks[0][1]), rounds)


def gated(machine: Machine, overhead: float, experiments: int, *, budget: float = 0.05) -> GateTally:
    """Experiments that end when the budget is answered, at a look of the shipped schedule, or undecided at the last."""
    log_ratio = float(np.log1p(overhead))

    def answer(index: int) -> tuple[int, Estimate, Decision]:
        rng = generator(index, "gate", machine.name, overhead, budget)
        return gate(simulate(rng, machine, [log_ratio], rounds=LAST_LOOK), settings(budget=budget), budget)

    answers = [answer(index) for index in range(experiments)]
    decisions = [decision for _, _, decision in answers]
    found = tally((log_ratio, estimate) for _, estimate, _ in answers)
    return GateTally(
        over=float(np.mean([d is Decision.OVER for d in decisions])),
        within=float(np.mean([d is Decision.WITHIN for d in decisions])),
        rounds=float(np.mean([rounds for rounds, _, _ in answers])),
        covered=found.covered,
        bias=found.bias,
    )


def plain_twins(
    machine: Machine,
    apart: float,
    experiments: int,
    *,
    budget: float | None = None,
    rounds: Sequence[int] = range(3, 9),
) -> TwinTally:
    """Experiments of 3 to 8 rounds whose A/A twin truly costs ``apart`` more than the baseline (0: sound twins)."""

    def found(index: int) -> tuple[bool, bool]:
        rng = generator(index, "twins", machine.name, apart, budget)
        aa = float(np.log1p(apart))
        trials = simulate(rng, machine, [0.05], rounds=rounds[index % len(rounds)], aa_log_ratio=aa)
        asked = settings(budget=budget)
        of = panels(trials, asked)
        fit = fit_metrics(of, (asked.metric,))[asked.metric]
        floors = noise_floors(fit, asked)
        verdicts = tuple(primary_verdicts(of, fit, asked))
        checked = with_invalid(verdicts, floors, alike_checks(floors, verdicts, asked, places(of)))
        (aa_floor,) = (floor for floor in floors if floor.condition is None)
        low, high = aa_floor.ratio.hdi95
        return any(v.decision is Decision.INVALID for v in checked), not low <= 1.0 <= high

    both = np.mean([found(index) for index in range(experiments)], axis=0)
    return TwinTally(invalid=float(both[0]), differing=float(both[1]))


def contrasts(machine: Machine, log_ratio: float, heavier: float) -> Iterator[Pair]:
    """Experiments of 3 to 8 rounds with two treatments, the second costing ``heavier`` (log) more than the first."""
    conditions = (BASELINE, AA, TREATMENT, HEAVIER)
    for index in count():
        rng = generator(index, "contrast", machine.name, log_ratio, heavier)
        trials = simulate(rng, machine, [log_ratio], rounds=3 + index % 6, conditions=conditions, heavier=heavier)
        asked = settings(conditions)
        fit = fit_metrics(panels(trials, asked), (asked.metric,))[asked.metric]
        (found,) = contrasts_of(fit, asked.metric, TOLERANCE)
        yield heavier, found.ratio


def types_of(trials: Sequence[Trial], asked: RunSettings) -> list[Verdict]:
    found = panels(trials, asked)
    mix = fit_metrics(found, (asked.metric,))[asked.metric]
    return list(transaction_verdicts(fit_transactions(found), mix, TOLERANCE))


def types(
    machine: Machine, spread: float, *, count_of: int = 6, own_luck: float = 0.5, fewest_rounds: int = 3
) -> Iterator[list[Pair]]:
    """Experiments whose transaction types cost 5 % on average, and differ among themselves by ``spread`` (log sd)."""
    for index in count():
        rng = generator(index, "types", machine.name, spread, count_of, own_luck)
        truths = 0.05 + spread * rng.normal(size=count_of)
        trials = simulate(rng, machine, list(truths), rounds=fewest_rounds + index % 6, own_luck=own_luck)
        by_name = {v.transaction: v.ratio for v in types_of(trials, settings()) if v.condition == TREATMENT}
        yield [(float(truth), by_name[f"type{i}"]) for i, truth in enumerate(truths)]


def identical_types(machine: Machine, *, conditions: int, count_of: int = 6) -> Iterator[int]:
    """How many types of identical conditions are called slower or faster, in experiments of three rounds."""
    treatments = (Condition((("cipher", f"aes-256-{number}"),), Role.TREATMENT) for number in range(conditions))
    all_conditions = (BASELINE, AA, *treatments)
    for index in count():
        rng = generator(index, "identical types", machine.name, conditions, count_of)
        trials = simulate(rng, machine, [0.0] * count_of, rounds=3, conditions=all_conditions, own_luck=1.0)
        said = [verdict.decision for verdict in types_of(trials, settings(all_conditions))]
        yield sum(decision in (Decision.SLOWER, Decision.FASTER) for decision in said)
