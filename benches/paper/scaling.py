"""Overhead with more threads or cores: a model of a sweep, and simulated systems that its bands are checked against.

From the root of the repository, the share of bands that hold (some minutes), and the overhead of systems by cores and
threads::

    OMP_NUM_THREADS=1 python benches/paper/scaling.py --seed 91001
    OMP_NUM_THREADS=1 python benches/paper/scaling.py --over cores --seed 93001
    python benches/paper/scaling.py --scenarios

No part of tdelta uses it. benches/results/scaling.md has the results.

The model. One operation of N threads in a closed loop takes no less than it does alone, R, and no less than N times the
seconds C of the place that is full. Between these asymptotic bounds (Denning and Buzen 1978) a knee is at N* = R / C:

    time(N) = R (1 + (N / N*)^p)^(1/p)

The share of a further thread that becomes throughput is w(N) = 1 / (1 + (N / N*)^p). Encryption multiplies R by exp(a)
and C by exp(b), so that the log ratio is, to first order,

    d(N) = a w(N) + b (1 - w(N)) + h(N)

h is the discrepancy (Kennedy and O'Hagan 2001): a Brownian path in doublings of N plus a path whose slope is one, both
from the fewest, so that bands widen with every doubling beyond the sweep. The mean time of both twins has a path of the
first kind as well. A cell scatters about all that. a, b, R and the paths are normal and integrated out. The knee, which
may lie far beyond the sweep, its sharpness p and the scales of paths and scatter are on a grid. A sweep over cores has
the same form: N is the number of cores, and C the seconds of the serial place that is full with N* cores.

The simulation. One operation is away for a while (network, client), takes one of c cores for its own work, enters the
critical section of a latch, still on its core, leaves both, passes the one writer of the log, and a device that serves
one at a time and that encryption does not touch. Every queue is first come, first served.
"""

from __future__ import annotations

import argparse
import heapq
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Random = np.random.Generator
Law = Callable[[Random, int], FloatArray]
"""Service times of mean 1."""

# --- the model ---


@dataclass(frozen=True)
class Prior:
    """Beliefs before a sweep is seen.

    Attributes:
        knee_beyond: times the most of the sweep, the farthest that the knee may be.
        sharpness: of the knee, all equally likely.
        full_share: b is normal with a mean of this share of a,
        full_mean: plus this,
        full_sd: with this standard deviation,
        full_growth: and so much more of it per log ratio in the sweep.
    """

    knee_beyond: float
    sharpness: tuple[float, ...]
    full_share: float
    full_mean: float
    full_sd: float
    full_growth: float


PRIORS = {
    "threads": Prior(64.0, (0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 8.0), 1.0, 0.0, 0.3, 0.0),
    # More threads than cores soften a knee over threads. Over cores, all of which are busy, a serial place fills up
    # without a sign before: knees are sharp and near, from a device that encryption leaves as it is to a log that it
    # slows by much more than work on a core.
    "cores": Prior(6.0, (1.0, 2.0, 4.0, 8.0, 16.0, 40.0), 0.5, 0.18, 0.2, 1.0),
}
KNEES = 48
SCALES = np.array([0.01, 0.03, 0.1])
"""Of paths, in log per doubling: no curve is known to be right to better than 1 %."""
SCATTERS = np.array([0.001, 0.003, 0.01, 0.03, 0.1])
ALONE_SD, TIME_SD = 0.5, 10.0
DRAWS, DRAW_SEED = 4000, 20_261_126


def predicted_ratios(
    over: str, numbers: Sequence[int], plain: Sequence[float], other: Sequence[float], at: Sequence[int]
) -> FloatArray:
    """The 95 % bands of time per operation over the plain twin's, shape (at, 2), from operations per second."""
    known, n = np.array([*numbers, *at], dtype=np.float64), len(numbers)
    prior = PRIORS[over]
    log_plain, log_other = np.log(np.asarray(plain)), np.log(np.asarray(other))
    ratio, time = log_plain - log_other, np.log(known[:n]) - 0.5 * (log_plain + log_other)
    knees = np.geomspace(0.5 * known[0], prior.knee_beyond * known[n - 1], KNEES)
    knee, sharpness = (grid.ravel()[:, None] for grid in np.meshgrid(knees, prior.sharpness))
    full = np.logaddexp(0.0, sharpness * np.log(known / knee))
    alone = np.exp(-full)
    path, sloped = paths(np.log2(known / known[0]))

    times = time - time.mean() - (full / sharpness)[:, :n]
    time_cov = covariances([(SCALES, path), (SCATTERS, np.eye(len(known)))], TIME_SD**2 * np.ones((1, *path.shape)))
    log_weight = np.logaddexp.reduce(log_density(times[:, None], time_cov[:, :, :n, :n]), axis=1)

    at_full = 1.0 - alone
    full_sd = prior.full_sd * (1.0 + prior.full_growth * np.abs(ratio).max())
    effects = outer(ALONE_SD * (alone + prior.full_share * at_full)) + outer(full_sd * at_full)
    expected = prior.full_mean * at_full
    beside = ratio - expected[:, :n]
    kernels = [(SCALES, path), (np.array([0.0, *SCALES]), sloped), (SCATTERS, np.eye(len(known)))]
    cov = covariances(kernels, effects)
    log_weight = log_weight[:, None] + log_density(beside[:, None], cov[:, :, :n, :n])
    weights = np.exp(log_weight - log_weight.max()).ravel()
    gain = np.linalg.solve(cov[:, :, :n, :n], cov[:, :, :n, n:])
    means = (expected[:, None, n:] + np.einsum("ghnm,gn->ghm", gain, beside)).reshape(-1, len(at))
    left = np.diagonal(cov, axis1=2, axis2=3)[:, :, n:] - np.einsum("ghnm,ghnm->ghm", gain, cov[:, :, :n, n:])
    sds = np.sqrt(np.maximum(left, 0.0)).reshape(-1, len(at))
    random = np.random.default_rng(DRAW_SEED)
    drawn = random.choice(len(weights), DRAWS, p=weights / weights.sum())
    draws = np.exp(means[drawn] + sds[drawn] * random.standard_normal((DRAWS, 1)))
    return np.array([shortest(column) for column in draws.T])


def shortest(draws: FloatArray) -> tuple[float, float]:
    """The shortest interval that holds 95 % of the draws."""
    ordered = np.sort(draws)
    inside = int(np.ceil(0.95 * len(ordered)))
    widths = ordered[inside - 1 :] - ordered[: len(ordered) - inside + 1]
    first = int(widths.argmin())
    return float(ordered[first]), float(ordered[first + inside - 1])


def paths(doublings: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Covariances of a Brownian path of scale 1, and of its integral, both from 0."""
    first = np.minimum(doublings[:, None], doublings[None, :])
    last = np.maximum(doublings[:, None], doublings[None, :])
    return first, first**2 * (3.0 * last - first) / 6.0


def outer(values: FloatArray) -> FloatArray:
    """Each row of values, shape (g, n), times itself: (g, n, n)."""
    return np.asarray(values[:, :, None] * values[:, None, :])


def covariances(parts: list[tuple[FloatArray, FloatArray]], fixed: FloatArray) -> FloatArray:
    """Every combination of scales, shape (g, h, n, n)."""
    scales = np.stack([grid.ravel() for grid in np.meshgrid(*(scales for scales, _ in parts))], axis=1)
    own = np.einsum("hp,pnm->hnm", scales**2, np.stack([kernel for _, kernel in parts]))
    return np.asarray(fixed[:, None] + own[None])


def log_density(values: FloatArray, covariance: FloatArray) -> FloatArray:
    """Of normals about 0, less a constant, shape (g, h)."""
    root = np.linalg.cholesky(covariance)
    scaled = np.linalg.solve(root, values[..., None])[..., 0]
    return np.asarray(-0.5 * (scaled**2).sum(-1) - np.log(np.diagonal(root, axis1=2, axis2=3)).sum(-1))


# --- the simulation ---

CORE, LATCH, LOG, DEVICE = range(4)
BATCH = 4096
HEAVY = float(np.sqrt(np.log(1.0 + 4.0**2)))


def constant(_: Random, size: int) -> FloatArray:
    """No spread."""
    return np.ones(size)


def exponential(random: Random, size: int) -> FloatArray:
    """A coefficient of variation of 1."""
    return random.standard_exponential(size)


def heavy(random: Random, size: int) -> FloatArray:
    """Lognormal, a coefficient of variation of 4."""
    return np.exp(HEAVY * random.standard_normal(size) - 0.5 * HEAVY**2)


@dataclass(frozen=True)
class System:
    """Mean seconds of one operation at each place; ``law`` is that of all service times."""

    cores: int
    work: float
    away: float = 0.0
    latch: float = 0.0
    log: float = 0.0
    device: float = 0.0
    law: Law = exponential

    def encrypted(self, work: float = 1.0, latch: float = 1.0, log: float = 1.0) -> System:
        """The encrypted twin: each part times a factor."""
        return replace(self, work=self.work * work, latch=self.latch * latch, log=self.log * log)

    def steps(self) -> list[tuple[str, int, float]]:
        """The cycle of a thread: work, take and leave."""
        steps = [("work", 0, self.away), ("take", CORE, 0.0), ("work", 0, self.work)]
        if self.latch:
            steps += [("take", LATCH, 0.0), ("work", 0, self.latch), ("leave", LATCH, 0.0)]
        steps.append(("leave", CORE, 0.0))
        for place, seconds in ((LOG, self.log), (DEVICE, self.device)):
            if seconds:
                steps += [("take", place, 0.0), ("work", 0, seconds), ("leave", place, 0.0)]
        return steps


def simulate(system: System, threads: int, operations: int, seed: int) -> float:
    """Operations per second, after a start of a tenth of the operations or three per thread, whichever is more."""
    units = service_times(system.law, np.random.default_rng(seed))
    steps, order = system.steps(), count()
    free, queues = [system.cores, 1, 1, 1], [deque[tuple[int, int]]() for _ in range(4)]
    events = [(0.0, next(order), thread, 0) for thread in range(threads)]
    done, since = -max(operations // 10, 3 * threads), 0.0
    while True:
        now, _, thread, at = heapq.heappop(events)
        while True:  # until the thread has to wait
            if at == len(steps):
                at, done = 0, done + 1
                if done == 0:
                    since = now
                elif done == operations:
                    return operations / (now - since)
            kind, place, seconds = steps[at]
            at += 1
            if kind == "work":
                heapq.heappush(events, (now + seconds * next(units) if seconds else now, next(order), thread, at))
                break
            if kind == "leave":
                if queues[place]:
                    heapq.heappush(events, (now, next(order), *queues[place].popleft()))
                else:
                    free[place] += 1
            elif free[place]:
                free[place] -= 1
            else:
                queues[place].append((thread, at))
                break


def service_times(law: Law, random: Random) -> Iterator[float]:
    """One after another, drawn in batches."""
    while True:
        yield from law(random, BATCH).tolist()


# --- sweeps whose truth is known ---

LIMIT = 1.15
"""Of a limit beyond the sweep: how much more it serves than the system does at the end of the sweep."""


@dataclass(frozen=True)
class Twin:
    """A system by the number of threads or cores, and its threads there."""

    system: Callable[[int], System]
    threads: Callable[[int], int]

    def throughput(self, at: int, operations: int, seed: int) -> float:
        """Operations per second."""
        return simulate(self.system(at), self.threads(at), operations, seed)


@dataclass(frozen=True)
class Axis:
    """A sweep over threads or over cores: its numbers, and the operations that are simulated for each figure."""

    name: str
    measured: tuple[int, ...]
    operations: int


THREADS, CORES = Axis("threads", (1, 2, 4, 8, 16, 32, 64), 2000), Axis("cores", (2, 4, 8, 16), 4000)


def slowdown(random: Random, kind: str, most: int) -> tuple[Callable[[int], float], Callable[[int], float]]:
    """By how much work on a core grows with N, of the plain and of the encrypted twin."""
    if kind == "grows":  # by up to 10 % per doubling from a quarter of the sweep on; the encrypted twin by twice that
        share, more, since = random.uniform(0.0, 0.1), 2.0, most / 4
        return tuple(partial(_doublings, share * times, since) for times in (1.0, more))  # type: ignore[return-value]
    if kind == "hinders":  # throughput falls from some number on, in the sweep or beyond
        since, share, more = most * 2.0 ** random.uniform(-2.0, 1.0), random.uniform(0.02, 0.3), random.uniform(1, 1.5)
        return tuple(partial(_linear, share * times, since) for times in (1.0, more))  # type: ignore[return-value]
    return (lambda _: 1.0), (lambda _: 1.0)


def _doublings(share: float, since: float, n: int) -> float:
    return 1.0 + share * max(0.0, float(np.log2(n / since)))


def _linear(share: float, since: float, n: int) -> float:
    return 1.0 + share * max(0.0, n / since - 1.0)


def twins(axis: Axis, family: str, random: Random) -> tuple[Twin, Twin]:
    """The plain and the encrypted twin of one system of a family."""
    law, kind = FAMILIES[family]
    most, work = axis.measured[-1], random.uniform(0.2, 1.0)
    cores = int(random.integers(2, 17))
    plain = System(cores, work, away=work * random.uniform(0.05, 2.0), law=law)
    factors = {name: float(np.exp(random.uniform(0.0, 0.3))) for name in ("work", "latch", "log")}
    per_core = int(random.integers(1, 9))

    def threads(n: int) -> int:
        return n if axis is THREADS else per_core * n

    if kind in ("limit", "log"):  # a serial place that is full only beyond the sweep
        cores = most if axis is CORES else 12 * cores
        plain = replace(plain, cores=cores)
        last = simulate(plain, threads(most), axis.operations, int(random.integers(2**32)))
        place = "log" if kind == "log" else str(random.choice(["latch", "log", "device"]))
        plain = replace(plain, **{place: 1.0 / (LIMIT * last)})
        if kind == "log":  # that encryption slows by much more than work on a core
            factors = {"work": random.uniform(1.05, 1.15), "log": random.uniform(1.3, 1.5)}
    else:
        full_at = 2.0 ** random.uniform(1.0, 9.0) if axis is CORES else cores * np.exp(random.normal(1.0, 1.0))
        shares = random.permutation([1.0, *random.uniform(0.0, 0.7, 2)]) * work / full_at
        plain = replace(plain, latch=shares[0], log=shares[1], device=shares[2])
    slower = slowdown(random, kind, most)

    def twin(system: System, by: Callable[[int], float]) -> Twin:
        return Twin(lambda n: replace(system, cores=n if axis is CORES else cores, work=system.work * by(n)), threads)

    return twin(plain, slower[0]), twin(plain.encrypted(**factors), slower[1])


FAMILIES: dict[str, tuple[Law, str]] = {
    "constant": (constant, ""),
    "exponential": (exponential, ""),
    "heavy": (heavy, ""),
    "grows": (exponential, "grows"),
    "hinders": (exponential, "hinders"),
    "limit": (exponential, "limit"),
    "log": (exponential, "log"),
}
"""The law of service times, and the part that the model lacks."""


def coverage(axis: Axis, family: str, experiments: int, seed: int) -> tuple[int, int]:
    """Print one row; how many bands held, of how many."""
    measured, beyond = axis.measured, (2 * axis.measured[-1], 4 * axis.measured[-1])
    hits, widths = [], []
    for experiment in range(experiments):
        random = np.random.default_rng([seed, list(FAMILIES).index(family), experiment])
        plain, other = (
            {n: twin.throughput(n, axis.operations, int(random.integers(2**32))) for n in (*measured, *beyond)}
            for twin in twins(axis, family, random)
        )
        bands = predicted_ratios(axis.name, measured, *([of[n] for n in measured] for of in (plain, other)), beyond)
        ratios = np.array([plain[n] / other[n] for n in beyond])
        hits.append((bands[:, 0] <= ratios) & (ratios <= bands[:, 1]))
        widths.append(100 * (bands[:, 1] - bands[:, 0]))
    held, width = np.sum(hits, axis=0), np.median(widths, axis=0)
    cells = " | ".join(f"{int(of)} of {experiments}" for of in held)
    print(f"| {family} | {cells} | {100 * np.mean(hits):.0f} % | {width[0]:.0f}, {width[1]:.0f} points |", flush=True)
    return int(held.sum()), 2 * experiments


def scenarios(operations: int) -> None:
    """Print the overhead of work +10 % on a core, +20 % under the latch and +40 % in the log, by cores and threads."""
    threads = (1, 4, 16, 64, 256)
    print(f"| serial part | cores | {' | '.join(f'{n} threads' for n in threads)} |\n|---|---|" + "---|" * len(threads))
    for name in ("nothing", "log", "latch", "device"):
        for cores in (4, 16, 64):
            plain = System(cores, work=0.6, away=0.4, **({} if name == "nothing" else {name: 0.02}))
            other = plain.encrypted(work=1.1, latch=1.2, log=1.4)
            ratios = [simulate(plain, n, operations, 1) / simulate(other, n, operations, 1) for n in threads]
            print(f"| {name} | {cores} | {' | '.join(f'{100 * (of - 1):+.0f} %' for of in ratios)} |", flush=True)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--over", choices=("threads", "cores"), default="threads")
    parser.add_argument("--family", action="append", choices=tuple(FAMILIES))
    parser.add_argument("--scenarios", action="store_true")
    given = parser.parse_args()
    if given.scenarios:
        scenarios(1000 * given.experiments)
        return
    axis = CORES if given.over == "cores" else THREADS
    print(f"| systems | twice the {axis.name} | four times | held | median width |\n|---|---|---|---|---|")
    rows = [coverage(axis, family, given.experiments, given.seed) for family in given.family or FAMILIES]
    hits, total = (sum(column) for column in zip(*rows, strict=True))
    print(f"| all | | | {100 * hits / total:.0f} % ({hits} of {total}) | |")


if __name__ == "__main__":
    main()
