"""Many simulated experiments, and how often tdelta's answers hold the truth.

The bands are binomial. Of 200 intervals of 95 %, fewer than 182 (0.91) hold the truth once in 300 times by chance; of
intervals half as wide about 135 do. The upper end, 0.985, keeps intervals from being made safe by being wide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from calibration.simulation import NOISES, TREATMENT, TWINS, Machine, settings, simulate
from tdelta.inference import decide, judge, look, precise_enough, width
from tdelta.records import Condition, Decision, Estimate

LEAST_COVERAGE, MOST_COVERAGE = 0.91, 0.985
MOST_FALSE_ALARMS = 0.09
"""HDIs that exclude 0 where nothing differs: 5 % nominal; more than 18 of 200 come by chance once in 200 times."""

LOG_RATIOS = (0.0, 0.05, 0.8, 2.0)
MACHINES = tuple(Machine(noise=noise, luck_sd=luck) for noise in NOISES for luck in (0.003, 0.01))
ROPE = 0.02


@dataclass(frozen=True)
class Tally:
    """What came of many experiments.

    ``covered`` and ``false_alarms`` (costly or faster where the truth lies inside the ROPE) are shares; ``bias`` and
    ``points`` (median width of the 95 % HDI) are points of the ratio.
    """

    covered: float
    false_alarms: float
    bias: float
    points: float

    @property
    def is_calibrated(self) -> bool:
        """Whether coverage lies in the band."""
        return LEAST_COVERAGE <= self.covered <= MOST_COVERAGE


def tally(answers: Iterable[tuple[float, Estimate]]) -> Tally:
    """Compare answers with their true log ratios."""
    pairs = [(float(np.exp(truth)), estimate) for truth, estimate in answers]
    wrong = [abs(truth - 1.0) < ROPE and decide(e, ROPE) in (Decision.COSTLY, Decision.FASTER) for truth, e in pairs]
    return Tally(
        covered=float(np.mean([e.hdi95[0] <= truth <= e.hdi95[1] for truth, e in pairs])),
        false_alarms=float(np.mean(wrong)),
        bias=float(np.mean([100.0 * (e.median - truth) for truth, e in pairs])),
        points=float(np.median([100.0 * width(e) for _, e in pairs])),
    )


def fixed_rounds(
    machine: Machine,
    log_ratio: float,
    experiments: int,
    *,
    rounds: Sequence[int] = (3, 4, 5, 6, 7, 8),
    conditions: Sequence[Condition] = TWINS,
) -> Tally:
    """Experiments of 3 to 8 rounds, their number not depending on what was seen."""

    def answer(index: int) -> tuple[float, Estimate]:
        rng = np.random.default_rng([1, index])
        trials = simulate(rng, machine, [log_ratio], rounds=rounds[index % len(rounds)], conditions=conditions)
        return log_ratio, look(trials, settings(conditions))[0][1]

    return tally(map(answer, range(experiments)))


def stopped_on_precision(
    machine: Machine, log_ratio: float, experiments: int, *, fewest: int = 3, most: int = 10, precision: float = 0.03
) -> tuple[Tally, float]:
    """Experiments that look at the end of each round, and end when the interval is narrow enough or at a cap.

    The aim, 3 points, is one that these machines reach after five or so of ten rounds: the rule has a choice.

    Returns:
        The tally, and the mean number of rounds.
    """
    used: list[int] = []

    def answer(index: int) -> tuple[float, Estimate]:
        trials = simulate(np.random.default_rng([2, index]), machine, [log_ratio], rounds=most)
        for rounds in range(fewest, most + 1):
            looks = look([t for t in trials if t.round < rounds], settings(), precision=precision)
            if precise_enough(looks):
                break
        used.append(rounds)
        return log_ratio, looks[0][1]

    found = tally(map(answer, range(experiments)))
    return found, float(np.mean(used))


def called_unsound(machine: Machine, experiments: int) -> float:
    """The share of experiments of sound twins, 3 to 8 rounds, in which the A/A check fails."""

    def fails(index: int) -> bool:
        trials = simulate(np.random.default_rng([4, index]), machine, [0.05], rounds=3 + index % 6)
        return not all(check.ok for check in judge(trials, settings()).validity)

    return float(np.mean([fails(index) for index in range(experiments)]))


def transaction_types(
    machine: Machine, spread: float, experiments: int, *, types: int = 6, own_luck: float = 0.5
) -> Tally:
    """Experiments whose transaction types cost 5 % on average, and differ among themselves by ``spread`` (log sd)."""

    def answers(index: int) -> Iterable[tuple[float, Estimate]]:
        rng = np.random.default_rng([3, index])
        truths = 0.05 + spread * rng.normal(size=types)
        trials = simulate(rng, machine, list(truths), rounds=3 + index % 6, own_luck=own_luck)
        verdicts = [v for v in judge(trials, settings()).verdicts if v.transaction != "all"]
        by_name = {v.transaction: v.ratio for v in verdicts if v.condition == TREATMENT}
        return [(float(truth), by_name[f"type{i}"]) for i, truth in enumerate(truths)]

    return tally(pair for index in range(experiments) for pair in answers(index))
