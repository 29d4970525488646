"""Simulated results of other tools, through `observed.compare.analyze`, and how often its intervals hold.

What is true: a condition's mean, and its log ratio over the baseline. What befalls the figures: gamma or skewed
response times, stalls, neighbours that depend on each other, runs that differ, throughput with autocorrelation and
checkpoints. Experiments come without end: whoever looks at them takes as many as it needs.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from calibration.simulation import generator
from tdelta.inference.observed.compare import analyze
from tdelta.inference.observed.settings import AnalysisSettings
from tdelta.records import (
    Binned,
    Bins,
    Comparison,
    Decision,
    Figure,
    Group,
    Observation,
    Origin,
    Samples,
    Series,
    Spread,
    Summary,
)

Array = NDArray[np.float64]
Values = Callable[[np.random.Generator, int], Array]

ORIGIN = Origin("simulated", "simulated")
SETTINGS = AnalysisSettings("none")
STATED = AnalysisSettings("none", run_sd=0.03)
"""The stated variation by which single runs are decided: 3%."""

STATED_NAME = "runs differ by 3 %"


@dataclass(frozen=True)
class Answered:
    """The results of one experiment; each is true or not, but for ``points``.

    ``ratio``, ``difference``, ``mean``: the 95 % HDI holds the truth; ``roomy``: that with the stated scatter does.
    ``alarms``: decided slower or faster, whatever the truth; ``negligible``: decided so, whatever the truth;
    ``stopped``: kept from deciding by something beside the interval. ``points``: width of the ratio's interval.
    """

    ratio: bool
    difference: bool
    mean: bool
    roomy: bool
    excludes_one: bool
    alarms: bool
    negligible: bool
    stopped: bool
    points: float


@dataclass(frozen=True)
class ObservedTally:
    """Shares of experiments, by the names of `Answered`; ``points`` are a median."""

    ratio: float
    difference: float
    mean: float
    roomy: float
    excludes_one: float
    alarms: float
    negligible: float
    stopped: float
    points: float


def gamma(cv: float) -> Values:
    return lambda rng, n: rng.gamma(1.0 / cv**2, cv**2, n)


def lognormal(sigma: float) -> Values:
    """More skewed than any gamma of the same sd."""
    return lambda rng, n: np.exp(rng.normal(-0.5 * sigma**2, sigma, n))


def stalled(share: float = 0.002, factor: float = 30.0) -> Values:
    """A gamma, of which a few values are stalls: thirty times as long."""

    def draw(rng: np.random.Generator, n: int) -> Array:
        values = rng.gamma(2.8, 1.0 / 2.8, n) * np.where(rng.random(n) < share, factor, 1.0)
        return np.asarray(values / (1.0 + share * (factor - 1.0)), dtype=np.float64)

    return draw


def dependent(memory: float, sd: float = 0.3) -> Values:
    """A gamma whose mean wanders: an AR(1) from value to value on its log."""

    def draw(rng: np.random.Generator, n: int) -> Array:
        slow = ar(rng, memory, n) * sd
        return np.asarray(np.exp(slow - 0.5 * sd**2) * rng.gamma(2.8, 1.0 / 2.8, n), dtype=np.float64)

    return draw


def ar(rng: np.random.Generator, rho: float, count: int) -> Array:
    shocks = rng.normal(0.0, np.sqrt(1.0 - rho**2), count)
    shocks[0] = rng.normal()
    if rho == 0.0:
        return shocks
    out = np.empty(count)
    state = 0.0
    for at, shock in enumerate(shocks.tolist()):
        state = rho * state + shock
        out[at] = state
    return out


def as_samples(group: Group, values: Array, stretches: int = 0) -> Samples:
    parts = np.array_split(values, stretches) if stretches else []
    sums = float(values.sum()), float(np.log(values).sum()), float((values**2).sum())
    ends = float(values.min()), float(values.max())
    clusters = tuple((len(part), float(part.sum())) for part in parts)
    return Samples(group, ORIGIN, len(values), *sums, *ends, Bins((0.0, np.inf), (len(values),)), clusters)


def as_bins(width: float = 0.018) -> Callable[[Group, Array], Binned]:
    """A histogram on logarithmic bins, as sysbench prints it (1.8 % wide)."""

    def bins(group: Group, values: Array) -> Binned:
        at = np.floor(np.log(values) / width).astype(int)
        first, last = int(at.min()), int(at.max())
        counts = np.bincount(at - first, minlength=last - first + 1)
        edges = np.exp(width * np.arange(first, last + 2))
        return Binned(group, ORIGIN, Bins(tuple(map(float, edges)), tuple(map(int, counts))))

    return bins


def as_summary(group: Group, values: Array) -> Summary:
    return Summary(group, ORIGIN, len(values), float(values.mean()), float(values.std(ddof=1)))


def as_stretched(stretches: int) -> Callable[[Group, Array], Samples]:
    """Sums with the stretches of the run."""
    return lambda group, values: as_samples(group, values, stretches)


def single_runs(
    name: str,
    values: Values,
    size: int,
    log_ratio: float,
    *,
    form: Callable[[Group, Array], Observation] = as_samples,
    instance_effect: float = 0.0,
    settings: AnalysisSettings = STATED,
) -> Iterator[Answered]:
    """One run a condition; where there is luck, each run's mean is off by so much."""
    for index in count():
        rng = generator(index, "single", name, size, log_ratio, instance_effect)
        true = (10.0, 10.0 * float(np.exp(log_ratio)))
        drawn = [mean * np.exp(instance_effect * rng.normal()) * values(rng, size) for mean in true]
        found = [form(Group(c), v) for c, v in zip(("none", "tde"), drawn, strict=True)]
        yield _answered(*true, analyze(found, settings).comparisons[0])


def several_runs(
    runs: tuple[int, int], tau: float, error: float, log_ratio: float, *, bare: bool = False
) -> Iterator[Answered]:
    """Runs that differ by tau, each known to ``error`` by its own figures; or ``bare`` figures."""
    for index in count():
        rng = generator(index, "runs", runs, tau, error, log_ratio, bare)
        true = (10.0, 10.0 * float(np.exp(log_ratio)))
        found: list[Observation] = []
        for condition, mean, how_many in zip(("none", "tde"), true, runs, strict=True):
            for run in range(how_many):
                value = mean * float(np.exp(rng.normal(0.0, tau) + rng.normal(0.0, error)))
                group = Group(condition, run=str(run))
                if bare:
                    found.append(Figure(group, ORIGIN, value))
                else:  # 400 values whose sd makes the standard error
                    found.append(Summary(group, ORIGIN, 400, value, value * error * 20.0))
        yield _answered(*true, analyze(found, SETTINGS).comparisons[0])


@dataclass(frozen=True)
class Session:
    """Bare figures of runs in the order in which they were made.

    Attributes:
        runs: of baseline and condition.
        tau: what runs differ by.
        drift: from one run to the next; ``walk``: the sd of a random walk from one run to the next.
        in_turn: conditions took turns; else all runs of the baseline came first.
        has_times: whether the files say when runs began; else runs are numbered within their conditions.
        digit: the last printed digit, a share of the baseline's mean.
    """

    runs: tuple[int, int] = (5, 5)
    tau: float = 0.01
    drift: float = 0.0
    walk: float = 0.0
    in_turn: bool = False
    has_times: bool = True
    digit: float = 0.0

    def draw(self, rng: np.random.Generator, log_ratio: float) -> list[Observation]:
        count = sum(self.runs)
        sides = np.arange(count) % 2 if self.in_turn else np.repeat([0, 1], self.runs)
        logs = rng.normal(0.0, self.tau, count) + self.drift * np.arange(count)
        logs += np.cumsum(rng.normal(0.0, self.walk, count)) + log_ratio * sides
        values = 10.0 * np.exp(logs)
        if self.digit:
            values = np.round(values / (10.0 * self.digit)) * 10.0 * self.digit
        return [
            Figure(
                Group(("none", "tde")[side], run=str(place if self.has_times else np.sum(sides[:place] == side) + 1)),
                ORIGIN,
                value,
                rounding=5.0 * self.digit,
                started_unix_seconds=1e9 + 600.0 * place if self.has_times else None,
                duration_seconds=300.0,
            )
            for place, (side, value) in enumerate(zip(sides.tolist(), values.tolist(), strict=True))
        ]


def session(of: Session, log_ratio: float) -> Iterator[Answered]:
    """Runs of a session, with what its order, its drift and its rounding do."""
    for index in count():
        found = of.draw(generator(index, "session", of, log_ratio), log_ratio)
        yield _answered(10.0, 10.0 * float(np.exp(log_ratio)), analyze(found, SETTINGS).comparisons[0])


def clumped(clump: int = 50, share: float = 0.01, factor: float = 30.0) -> Values:
    def draw(rng: np.random.Generator, n: int) -> Array:
        slow = np.zeros(n, dtype=bool)
        for start in rng.integers(0, n - clump, rng.poisson(share * n / clump)):
            slow[start : start + clump] = True
        values = rng.gamma(2.8, 1.0 / 2.8, n) * np.where(slow, factor, 1.0)
        return np.asarray(values / (1.0 + share * (factor - 1.0)), dtype=np.float64)

    return draw


@dataclass(frozen=True)
class Shape:
    """Throughput over time: autocorrelation, slow waves, checkpoints every so often."""

    name: str
    rho: float = 0.0
    sd: float = 0.1
    slow_rho: float = 0.0
    slow_sd: float = 0.0
    every: int = 0

    def draw(self, rng: np.random.Generator, count: int) -> Array:
        """A series of mean 1."""
        values = 1.0 + self.sd * ar(rng, self.rho, count)
        if self.slow_sd:
            values = values + self.slow_sd * ar(rng, self.slow_rho, count)
        if self.every:
            # Each checkpoint halves the throughput for a tenth of its interval; when the first one comes is chance.
            at = (np.arange(count) + rng.integers(self.every)) % self.every
            values = values * np.where(at < self.every / 10, 0.5, 1.0) / 0.95
        return np.asarray(np.maximum(values, 0.0), dtype=np.float64)


def throughput(shape: Shape, size: int, log_ratio: float) -> Iterator[Answered]:
    """Two series; the log ratio is of costs, so throughput falls by it."""
    for index in count():
        rng = generator(index, "series", shape.name, size, log_ratio)
        true = (1000.0, 1000.0 * float(np.exp(-log_ratio)))
        found = [
            Series(
                Group(c, metric="throughput", unit="/s"), ORIGIN, 1.0, tuple(map(float, mean * shape.draw(rng, size)))
            )
            for c, mean in zip(("none", "tde"), true, strict=True)
        ]
        yield _answered(*true, analyze(found, STATED).comparisons[0])


def tally(answers: Iterable[Answered]) -> ObservedTally:
    table = np.array([astuple(one) for one in answers], dtype=np.float64)
    return ObservedTally(*map(float, table[:, :-1].mean(axis=0)), points=float(np.median(table[:, -1])))


def _answered(baseline: float, condition: float, one: Comparison) -> Answered:
    truth = baseline / condition if one.metric == "throughput" else condition / baseline
    assert one.difference is not None
    assert one.condition.mean is not None
    low, high = one.ratio.hdi95
    roomy = one.priors.get(STATED_NAME, one.ratio)
    return Answered(
        ratio=low <= truth <= high,
        difference=_holds(one.difference, condition - baseline),
        mean=_holds(one.condition.mean, condition),
        roomy=roomy.hdi95[0] <= truth <= roomy.hdi95[1],
        excludes_one=not low <= 1.0 <= high,
        alarms=one.decision in (Decision.SLOWER, Decision.FASTER),
        negligible=one.decision is Decision.NEGLIGIBLE,
        stopped=bool(one.undecided_because),
        points=100.0 * (high - low),
    )


def _holds(spread: Spread, truth: float) -> bool:
    return spread.hdi95[0] <= truth <= spread.hdi95[1]
