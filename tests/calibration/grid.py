"""The grid on which the verdict is checked against simulated truth, and what is asked of every cell.

What is asked (docs/validation.md): where a run is long enough for five stalls of the
encrypted twins to be expected, or there are none, the 95 % interval of the ratio of means covers the truth in 93 % of
runs (90 % with odd instances in three rounds or fewer), or the verdict is ``undecided`` there; `slower` and `faster`
at truth 0 come in at most 1 % (2 % with odd instances), and `negligible` at a true 5 % or more in at most 1 %. In
shorter runs with stalls ``negligible`` at a true 5 % or more comes in at most 5 % of the runs that met any, and where
stalls are as frequent as the run says it could have seen, at most 5 % of the runs met none.

A gate is asked at its edge, the truth being the budget itself: after 3, 4, 6, 9 or 14 rounds it says ``over`` in at
most 2.5 % and ``within`` in at most 2.5 % (5 % each with odd instances).
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from calibration.processes import Process, simulate
from calibration.simulation import TREATMENT, settings
from tdelta.inference.decisions import (
    LEAST_WIDTH,
    decide_gate_means,
    decide_means,
    is_gate_look,
    should_stop,
    target_width,
)
from tdelta.inference.fits import Answer, fit_metrics, panels
from tdelta.inference.posterior import Posterior
from tdelta.inference.verdicts import grounds_of
from tdelta.records import Decision, Estimate, RunSettings, Trial

TOLERANCE = 0.02
BUDGET = 0.05
FIRST_LOOK, LAST_LOOK = 3, 14

Seen = TypeVar("Seen")


@dataclass(frozen=True)
class Outcome:
    """One experiment: the ratio of means, the decision, and how many stalls of the encrypted twins were met."""

    ratio: Estimate
    typical: Estimate
    decision: Decision
    stalls: int
    missed_share: float


@dataclass(frozen=True)
class GateOutcome:
    decision: Decision
    rounds: int


@dataclass(frozen=True)
class Limit(Generic[Seen]):
    """Results in at most such a share of a cell's experiments; ``is_broken`` is None where one does not count."""

    what: str
    most: float
    is_broken: Callable[[Seen], bool | None]

    def share(self, found: Sequence[Seen]) -> float:
        """How often it came, among the experiments that count; 0 without any."""
        counted = [broken for one in found if (broken := self.is_broken(one)) is not None]
        return float(np.mean(counted)) if counted else 0.0

    def fault(self, found: Sequence[Seen]) -> str | None:
        share = self.share(found)
        return f"{self.what}: {100 * share:.1f} %, limit {100 * self.most:g} %" if share > self.most else None


@dataclass(frozen=True)
class CellTally:
    """The results of a cell's experiments, in shares.

    ``covered`` is of the 95 % interval, ``answered`` of those that cover or are ``undecided``. ``blind`` is
    ``negligible`` among runs that met a stall, ``met`` the share of those. ``points`` are the median width of the
    interval, ``typical_points`` of the typical ratio's.
    """

    covered: float
    answered: float
    slower: float
    faster: float
    negligible: float
    undecided: float
    blind: float
    met: float
    points: float
    typical_points: float


def cells() -> dict[str, Process]:
    found: dict[str, Process] = {}
    for ratio in (0.0, 0.02, 0.05, 0.3, 1.5):
        found[f"normal, log ratio {ratio:g}"] = Process(log_ratio=ratio)
    for rounds in (1, 2, 3, 20):
        found[f"normal, {rounds} rounds"] = Process(rounds=rounds)
    for noise in ("t2", "cauchy"):
        for ratio in (0.0, 0.05):
            found[f"{noise}, log ratio {ratio:g}"] = Process(noise=noise, sd=0.02, log_ratio=ratio)
    found["t4, sd 6 %"] = Process(noise="t4", sd=0.06)
    found["gamma, sd 6 %"] = Process(noise="gamma", sd=0.06)
    found |= _stalled()
    for times in (1.0, 3.0):
        for rounds in (5, 10):
            name = f"skewed, sd 6 %, encrypted × {times:g}, {rounds} rounds"
            found[name] = Process(noise="skewed", sd=0.06, encrypted_noise=times, rounds=rounds)
    for length, share, factor in ((2, 0.1, 1.5), (3, 0.2, 3.0), (5, 0.3, 5.0), (18, 0.2, 2.0)):
        name = f"bursts of {length} trials, {100 * share:g} % of the time, × {factor:g}"
        found[name] = Process(burst_length=length, burst_share=share, burst_factor=factor)
    found["slower by 50 %"] = Process(growth=0.5)
    found["slower by 200 %"] = Process(growth=2.0)
    found["a step of 50 %"] = Process(step=0.5)
    for ar in (0.3, 0.7, 0.9):
        found[f"AR(1) {ar:g}"] = Process(ar=ar)
    return found | _instances() | _unequal() | _shared() | _hostile() | _carried()


def _stalled() -> dict[str, Process]:
    found = {}
    for stalled in ("all", "encrypted"):
        for factor in (3.0, 10.0):
            of = f"stalls × {factor:g} of {stalled} twins"
            base = Process(stalled=stalled, stall_factor=factor)  # type: ignore[arg-type]
            for share in (0.01, 0.02, 0.05, 0.1):
                for rounds in (5, 20):
                    name = f"{of}, {100 * share:g} % of trials, {rounds} rounds"
                    found[name] = replace(base, stall_share=share, rounds=rounds)
            for share, rounds in ((0.05, 20), (0.1, 20), (0.1, 5)):
                name = f"{of}, {100 * share:g} % of trials in runs of three, {rounds} rounds"
                found[name] = replace(base, stall_share=share, rounds=rounds, stall_run=3)
    return found


def _instances() -> dict[str, Process]:
    found = {}
    for instance_effect in (0.005, 0.01, 0.02, 0.03, 0.05):
        for rounds in (1, 2, 3, 5, 20):
            found[f"instance effects {100 * instance_effect:g} %, {rounds} rounds"] = Process(
                instance_sd=instance_effect, rounds=rounds
            )
    found["instance effects 1 %, quiet trials, 3 rounds"] = Process(instance_sd=0.01, sd=0.01, rounds=3)
    found["instance effects 3 %, quiet trials, 3 rounds"] = Process(instance_sd=0.03, sd=0.01, rounds=3)
    for factor in (1.2, 1.5, 2.0):
        for rounds in (3, 10):
            for odd in ("encrypted", "plain", "any"):
                name = f"one {odd} instance of {rounds} rounds × {factor:g}"
                found[name] = Process(odd_factor=factor, odd_one_of=rounds, odd=odd, rounds=rounds)  # type: ignore[arg-type]
    return found


def _shared() -> dict[str, Process]:
    """The effect of a round or a block on all encrypted twins alike, which no comparison of identical twins sees."""
    found = {}
    quiet = Process(sd=0.01, instance_sd=0.003)
    for sd, rounds in ((0.01, 3), (0.02, 3), (0.03, 4), (0.01, 5), (0.02, 5), (0.05, 5), (0.02, 10), (0.02, 20)):
        found[f"encryption × round {100 * sd:g} %, {rounds} rounds"] = replace(quiet, round_sd=sd, rounds=rounds)
    for ar, rounds, blocks in ((0.0, 5, 6), (0.9, 5, 6), (0.9, 5, 20)):
        name = f"encryption × block 3 %, AR {ar:g}, {rounds} rounds of {blocks} blocks"
        found[name] = replace(quiet, block_sd=0.03, block_ar=ar, rounds=rounds, blocks=blocks)
    return found


def _carried() -> dict[str, Process]:
    """An encrypted trial that slows the next one, whoever runs; the overhead is of a trial by itself."""
    return {
        f"an encrypted trial slows the next by {100 * share:g} %, {rounds} rounds": Process(
            sd=0.01, carried=float(np.log1p(share)), rounds=rounds
        )
        for share, rounds in ((0.03, 3), (0.03, 5), (0.03, 10), (0.06, 10))
    }


def _hostile() -> dict[str, Process]:
    """Cells that a referee's model failed in, as far as the decision on one cost sees them."""
    found = {}
    for rounds in (5, 10, 20):
        for stalled in ("all", "encrypted"):
            of = Process(stall_share=0.08, stall_factor=5.0, stall_stays=0.75, stalled=stalled, rounds=rounds)  # type: ignore[arg-type]
            found[f"stalls × 5 of {stalled} twins that last 4 trials on average, 8 % of trials, {rounds} rounds"] = of
    for ratio in (0.0, 0.2):
        found[f"noise 50 %, 20 rounds, log ratio {ratio:g}"] = Process(sd=0.5, rounds=20, log_ratio=ratio)
    found["noise 50 %, encrypted × 1.5, 20 rounds"] = Process(sd=0.5, encrypted_noise=1.5, rounds=20)
    found["every fifth trial × 2"] = Process(period=5, period_factor=2.0)
    found["every fourth trial × 1.5, as long as a block"] = Process(period=4, period_factor=1.5)
    for ratio in (0.01, 0.03):
        name = f"times in steps of 5 %, sd 0.3 %, true overhead {100 * ratio:g} %"
        found[name] = Process(time_step=0.05, sd=0.003, instance_sd=0.002, log_ratio=float(np.log1p(ratio)))
    for rounds in (3, 5):
        two = Process(sd=0.01, instance_sd=0.02, instance_effect="two-point", rounds=rounds)
        found[f"two-point instance effects of 2 %, quiet trials, {rounds} rounds"] = two
    return found


def _unequal() -> dict[str, Process]:
    found = {}
    for rounds in (3, 5, 20):
        found[f"encrypted noise × 3, {rounds} rounds"] = Process(encrypted_noise=3.0, rounds=rounds)
        both = Process(encrypted_noise=3.0, encrypted_luck=3.0, instance_sd=0.01, sd=0.01, rounds=rounds)
        found[f"encrypted noise and instance effects × 3, {rounds} rounds"] = both
    for rounds in (1, 3, 5):
        found[f"5 % a place in the block, {rounds} rounds"] = Process(place=0.05, rounds=rounds)
    return found


def gate_cells() -> dict[str, Process]:
    many = Process(rounds=LAST_LOOK)
    unequal = replace(many, encrypted_noise=3.0, encrypted_luck=3.0, instance_sd=0.01, sd=0.01)
    found = {
        "normal": many,
        "t2": replace(many, noise="t2", sd=0.02),
        "stalls × 3 of all twins, 5 % of trials": replace(many, stall_share=0.05, stall_factor=3.0),
        "stalls × 10 of all twins, 2 % of trials": replace(many, stall_share=0.02, stall_factor=10.0),
        "bursts of 3 trials, 20 % of the time, × 3": replace(many, burst_length=3, burst_share=0.2, burst_factor=3.0),
        "encrypted noise × 3": replace(many, encrypted_noise=3.0),
        "encrypted noise and instance effects × 3": unequal,
        "two-point instance effects of 2 %": replace(many, instance_sd=0.02, instance_effect="two-point"),
    }
    for instance_effect in (0.01, 0.02, 0.03):
        found[f"instance effects {100 * instance_effect:g} %"] = replace(many, instance_sd=instance_effect)
    for factor in (1.2, 1.5):
        found[f"one encrypted instance of 5 rounds × {factor:g}"] = replace(many, odd_factor=factor, odd_one_of=5)
    return {f"gate: {name}": at_edge(process) for name, process in found.items()}


def at_edge(process: Process) -> Process:
    """The same with the budget for a truth."""
    return replace(process, log_ratio=process.log_ratio + float(np.log1p(BUDGET)) - process.typical_truth)


def generator(name: str, index: int) -> np.random.Generator:
    """Every experiment of every cell has a seed of its own."""
    return np.random.default_rng([zlib.crc32(name.encode()), index])


def answer_of(trials: Sequence[Trial], asked: RunSettings) -> Answer:
    fit = fit_metrics(panels(trials, asked), (asked.metric,))[asked.metric]
    return next(answer for answer in fit.answers() if answer.condition == TREATMENT)


def outcome(process: Process, name: str, index: int) -> Outcome:
    answer = answer_of(simulate(process, generator(name, index)), settings(process.conditions))
    ratio, grounds = answer.posterior.estimate(TOLERANCE), grounds_of(answer, TOLERANCE)
    return Outcome(
        ratio=ratio,
        typical=grounds.typical,
        decision=decide_means(ratio, grounds, TOLERANCE),
        stalls=len(answer.events.above),
        missed_share=answer.events.missed_share,
    )


def gate(trials: Sequence[Trial], asked: RunSettings, budget: float) -> tuple[int, Estimate, Decision]:
    """One gate: it looks by the schedule that a session uses, stops as a session does, and says what a verdict says.

    Returns after how many rounds, and the estimate that it stopped on.
    """
    for rounds in range(FIRST_LOOK, max(trial.round for trial in trials) + 2):
        if not is_gate_look(rounds, FIRST_LOOK):
            continue
        answer = answer_of([t for t in trials if t.round < rounds], asked)
        ratio = answer.posterior.estimate(asked.tolerance)
        decision = decide_gate_means(ratio, grounds_of(answer, asked.tolerance), budget)
        looks = ((TREATMENT, ratio, target_width(ratio, LEAST_WIDTH)),)
        is_enough = should_stop(looks, budget=budget, rounds_done=rounds, first_look=FIRST_LOOK)
        if is_enough and decision is not Decision.UNDECIDED:
            break
    return rounds, ratio, decision


def gate_outcome(process: Process, name: str, index: int) -> GateOutcome:
    trials, asked = simulate(process, generator(name, index)), settings(process.conditions, budget=BUDGET)
    rounds, _, decision = gate(trials, asked, BUDGET)
    return GateOutcome(decision, rounds)


def rescaled(factor: float) -> property:
    """The replacement of `Answer.posterior`: every posterior of a ratio of means so many times as wide."""
    honest: Callable[[Answer], Posterior] = Answer.posterior.func  # type: ignore[attr-defined]
    return property(lambda answer: widened(honest(answer), factor))


def widened(found: Posterior, factor: float) -> Posterior:
    """The same so many times as wide about its median."""
    middle = found.quantile(0.5)
    return Posterior(middle + factor * (found.theta - middle), found.cumulative)


def tally(process: Process, found: Sequence[Outcome]) -> CellTally:
    covered = np.array([_covers(process, o) for o in found])
    said = [o.decision for o in found]
    undecided = np.array([d is Decision.UNDECIDED for d in said])
    met = [o for o in found if o.stalls]

    def share(decision: Decision) -> float:
        return float(np.mean([d is decision for d in said]))

    return CellTally(
        covered=float(covered.mean()),
        answered=float((covered | undecided).mean()),
        slower=share(Decision.SLOWER),
        faster=share(Decision.FASTER),
        negligible=share(Decision.NEGLIGIBLE),
        undecided=float(undecided.mean()),
        blind=float(np.mean([o.decision is Decision.NEGLIGIBLE for o in met])) if met else 0.0,
        met=len(met) / len(found),
        points=100.0 * float(np.median([o.ratio.hdi95[1] - o.ratio.hdi95[0] for o in found])),
        typical_points=100.0 * float(np.median([o.typical.hdi95[1] - o.typical.hdi95[0] for o in found])),
    )


def _covers(process: Process, seen: Outcome) -> bool:
    low, high = seen.ratio.hdi95
    return bool(low <= np.exp(process.typical_truth) <= high)


def limits(process: Process) -> Iterator[Limit[Outcome]]:
    truth = float(np.expm1(process.typical_truth))
    is_odd = process.has_odd_instances or process.has_shared_effects
    has_stalls = process.expected_stalls > 0.0
    is_long = not has_stalls or process.expected_stalls >= 5.0

    def wrong(seen: Outcome) -> bool:
        return not _covers(process, seen) and seen.decision is not Decision.UNDECIDED

    def is_alarm(seen: Outcome) -> bool:
        return seen.decision in (Decision.SLOWER, Decision.FASTER)

    def is_blind(seen: Outcome) -> bool | None:
        return seen.decision is Decision.NEGLIGIBLE if is_long or seen.stalls else None

    def saw_none(seen: Outcome) -> bool | None:
        return seen.stalls == 0 if process.event_share >= seen.missed_share else None

    if is_long:
        yield Limit("outside the interval and decided", 0.10 if is_odd and process.rounds <= 3 else 0.07, wrong)
    if abs(truth) < 1e-3:
        yield Limit("slower or faster at 0", 0.02 if is_odd else 0.01, is_alarm)
    if truth >= 0.05 and not is_odd:
        where = "" if is_long else ", stalls met"
        yield Limit(f"negligible at 5 % or more{where}", 0.01 if is_long else 0.05, is_blind)
    if has_stalls:
        yield Limit("no stall met that it could have seen", 0.05, saw_none)


def gate_limits(process: Process) -> Iterator[Limit[GateOutcome]]:
    most = 0.05 if process.has_odd_instances else 0.025
    for decision in (Decision.OVER, Decision.WITHIN):
        yield Limit(f"{decision.value} at the edge", most, lambda seen, said=decision: seen.decision is said)  # type: ignore[misc]
