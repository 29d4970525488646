"""The grid on which the verdict is checked against simulated truth, and what is asked of every cell.

What is asked (docs/statistics.md, "How often it is wrong"): where a run is long enough for five stalls of the
encrypted twins to be expected, or there are none, the 95 % interval of the ratio of means covers the truth in 93 % of
runs (90 % with odd instances in three rounds or fewer), or the verdict is ``undecided`` there; `costly` and `faster`
at truth 0 come in at most 1 % (2 % with odd instances), and `negligible` at a true 5 % or more in at most 1 %. In
shorter runs with stalls ``negligible`` at a true 5 % or more comes in at most 5 % of the runs that met any.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from calibration.processes import Process, simulate
from calibration.simulation import TREATMENT, settings
from tdelta.inference.costs import panels
from tdelta.inference.decisions import decide_gate_means, decide_means
from tdelta.inference.fits import fit_metrics
from tdelta.inference.verdicts import grounds_of
from tdelta.records import Decision, Estimate

ROPE = 0.02
BUDGET = 0.05


@dataclass(frozen=True)
class Outcome:
    """One experiment: the ratio of means, the decision, and how many stalls of the encrypted twins were met."""

    ratio: Estimate
    typical: Estimate
    decision: Decision
    gate: Decision
    stalls: int
    missed_share: float


@dataclass(frozen=True)
class CellTally:
    """What came of a cell's experiments, in shares.

    ``covered`` is of the 95 % interval, ``answered`` of those that cover or are ``undecided``; ``around`` is the same
    with the mean over instances as truth where there are odd ones. ``blind`` is ``negligible`` among runs that met a
    stall. ``points`` are the median width of the interval, ``typical_points`` of the typical ratio's.
    """

    covered: float
    answered: float
    costly: float
    faster: float
    negligible: float
    undecided: float
    blind: float
    met: float
    points: float
    typical_points: float
    over: float
    within: float


def cells() -> dict[str, Process]:
    """Every cell by its name."""
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
    return found | _instances() | _unequal()


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
    for luck in (0.005, 0.01, 0.02, 0.03, 0.05):
        for rounds in (1, 2, 3, 5, 20):
            found[f"instance effects {100 * luck:g} %, {rounds} rounds"] = Process(luck_sd=luck, rounds=rounds)
    found["instance effects 1 %, quiet trials, 3 rounds"] = Process(luck_sd=0.01, sd=0.01, rounds=3)
    found["instance effects 3 %, quiet trials, 3 rounds"] = Process(luck_sd=0.03, sd=0.01, rounds=3)
    for factor in (1.2, 1.5, 2.0):
        for rounds in (3, 10):
            for odd in ("encrypted", "plain", "any"):
                name = f"one {odd} instance of {rounds} rounds × {factor:g}"
                found[name] = Process(odd_factor=factor, odd_one_of=rounds, odd=odd, rounds=rounds)  # type: ignore[arg-type]
    return found


def _unequal() -> dict[str, Process]:
    found = {}
    for rounds in (3, 5, 20):
        found[f"encrypted noise × 3, {rounds} rounds"] = Process(encrypted_noise=3.0, rounds=rounds)
        both = Process(encrypted_noise=3.0, encrypted_luck=3.0, luck_sd=0.01, sd=0.01, rounds=rounds)
        found[f"encrypted noise and instance effects × 3, {rounds} rounds"] = both
    for rounds in (1, 3, 5):
        found[f"5 % a place in the block, {rounds} rounds"] = Process(place=0.05, rounds=rounds)
    return found


def outcome(process: Process, name: str, index: int) -> Outcome:
    """One experiment of a cell, judged as a run's primary verdict is."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), index])
    asked = settings(process.conditions, budget=None)
    fit = fit_metrics(panels(simulate(process, rng), asked), (asked.metric,))[asked.metric]
    answer = next(a for a in fit.answers() if a.condition == TREATMENT)
    ratio, grounds = answer.posterior.estimate(ROPE), grounds_of(answer, ROPE)
    return Outcome(
        ratio=ratio,
        typical=grounds.typical,
        decision=decide_means(ratio, grounds, ROPE),
        gate=decide_gate_means(ratio, grounds, BUDGET),
        stalls=len(answer.events.above),
        missed_share=answer.events.missed_share,
    )


def outcomes(process: Process, name: str, experiments: int) -> Iterator[Outcome]:
    """The experiments of a cell."""
    return (outcome(process, name, index) for index in range(experiments))


def tally(process: Process, found: list[Outcome]) -> CellTally:
    """What came of a cell."""
    truth = float(np.exp(process.typical_truth))
    covered = np.array([o.ratio.hdi95[0] <= truth <= o.ratio.hdi95[1] for o in found])
    said = [o.decision for o in found]
    undecided = np.array([d is Decision.UNDECIDED for d in said])
    met = [o for o in found if o.stalls]

    def share(decision: Decision) -> float:
        return float(np.mean([d is decision for d in said]))

    return CellTally(
        covered=float(covered.mean()),
        answered=float((covered | undecided).mean()),
        costly=share(Decision.COSTLY),
        faster=share(Decision.FASTER),
        negligible=share(Decision.NEGLIGIBLE),
        undecided=float(undecided.mean()),
        blind=float(np.mean([o.decision is Decision.NEGLIGIBLE for o in met])) if met else 0.0,
        met=len(met) / len(found),
        points=100.0 * float(np.median([o.ratio.hdi95[1] - o.ratio.hdi95[0] for o in found])),
        typical_points=100.0 * float(np.median([o.typical.hdi95[1] - o.typical.hdi95[0] for o in found])),
        over=float(np.mean([o.gate is Decision.OVER for o in found])),
        within=float(np.mean([o.gate is Decision.WITHIN for o in found])),
    )


@dataclass(frozen=True)
class Limit:
    """A share that must not be above (or, if ``is_least``, below) a limit."""

    what: str
    seen: float
    limit: float
    is_least: bool = False

    def is_kept(self, experiments: int, deviations: float = 0.0) -> bool:
        """Whether it is, with so many binomial standard deviations of room for chance."""
        room = deviations * float(np.sqrt(self.limit * (1.0 - self.limit) / experiments))
        return self.seen >= self.limit - room if self.is_least else self.seen <= self.limit + room


def limits(process: Process, found: CellTally) -> Iterator[Limit]:
    """What is asked of a cell."""
    truth = float(np.expm1(process.typical_truth))
    is_odd = process.has_odd_instances
    is_long = process.stall_share == 0.0 or process.stalled == "plain" or process.expected_stalls >= 5.0
    if is_long:
        least = 0.90 if is_odd and process.rounds <= 3 else 0.93
        yield Limit("covered or undecided", found.answered, least, is_least=True)
    if abs(truth) < 1e-3:
        yield Limit("costly or faster at 0", found.costly + found.faster, 0.02 if is_odd else 0.01)
    if truth >= 0.05 and not is_odd:
        if is_long:
            yield Limit("negligible at 5 % or more", found.negligible, 0.01)
        else:
            yield Limit("negligible at 5 % or more where stalls were met", found.blind, 0.05)


def faults(results: Mapping[str, tuple[Process, CellTally]], experiments: int, deviations: float) -> Iterator[str]:
    """Cells that do not keep what is asked, in words."""
    for name, (process, found) in results.items():
        for limit in limits(process, found):
            if not limit.is_kept(experiments, deviations):
                yield f"{name}: {limit.what}: {100 * limit.seen:.1f} %, limit {100 * limit.limit:g} %"
