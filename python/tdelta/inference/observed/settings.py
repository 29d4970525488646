"""The settings of `tdelta analyze`: the baseline, the limits, and further priors beside the default one.

A prior is of the log ratio of costs, condition over baseline; ``published`` alone is one of each condition's mean and
spread. The default one decides; the others show how far the answer rests on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tdelta.errors import UsageError
from tdelta.inference.posterior import FloatArray, log_prior
from tdelta.inputs import out_of_range, unexpected
from tdelta.messages import Refusal


@dataclass(frozen=True, slots=True)
class DefaultPrior:
    """``log ratio ~ t3(0, 0.5)``, as for tdelta's own runs; each mean flat on its log, each CV wide on its log."""

    name: str = "default"

    def log_density(self, log_ratio: FloatArray) -> FloatArray:
        return log_prior(log_ratio)


@dataclass(frozen=True, slots=True)
class NoSpeedup:
    """The default prior, cut off below a ratio of 1: encryption adds work."""

    name: str = "no speed-up"

    def log_density(self, log_ratio: FloatArray) -> FloatArray:
        """Log density of the log ratio, less its constant; -inf below 0."""
        return np.where(log_ratio >= 0.0, log_prior(log_ratio), -np.inf)


@dataclass(frozen=True, slots=True)
class NormalPrior:
    """``log ratio ~ N(mean, sd^2)``: what is known from elsewhere."""

    mean: float
    sd: float

    @property
    def name(self) -> str:
        return f"normal:{self.mean:g},{self.sd:g}"

    def log_density(self, log_ratio: FloatArray) -> FloatArray:
        return -0.5 * ((log_ratio - self.mean) / self.sd) ** 2


@dataclass(frozen=True, slots=True)
class PublishedPrior:
    """The gamma study's own (recurrentnull, 2015), in the unit of the values.

    On both means one gamma centred on the pooled mean, on both sds Uniform(0, 100). The width of the gamma was not
    printed: its sd is taken to be its mean.
    """

    name: str = "published"
    largest_sd: float = 100.0


RatioPrior: TypeAlias = DefaultPrior | NoSpeedup | NormalPrior
Prior: TypeAlias = RatioPrior | PublishedPrior

DEFAULT = DefaultPrior()
NO_SPEEDUP = NoSpeedup()
PUBLISHED = PublishedPrior()
DEFAULT_TOLERANCE = 0.02  # the overhead that is taken not to matter where the user does not say

PRIOR_HELP = (
    "`published` (the gamma study's), `no-speedup` (always shown), "
    "or `normal:MEAN,SD` of the log ratio, e.g. normal:0.03,0.02"
)


@dataclass(frozen=True, slots=True)
class AnalysisSettings:
    """The settings of an analysis, which is deterministic: the same files and settings give the same figures."""

    baseline: str
    tolerance: float = DEFAULT_TOLERANCE  # the overhead not cared about, a share
    budget: float | None = None  # the overhead allowed, a share; replaces the tolerance by a gate on the 99% HDI
    metric: str | None = None  # the primary metric; None for response time, else throughput, else whatever there is
    transaction: str | None = None  # the primary transaction; None for the whole mix, else all of them
    priors: tuple[Prior, ...] = ()  # shown beside the default and ``no speed-up``
    run_sd: float | None = None
    """The sd of runs of one and the same system, a share, where the user states it: single runs are decided with it.
    None: nobody knows, and single runs decide nothing."""
    source: str | None = None  # where published figures come from, as the result is to say it
    latency_limit_ms: float | None = None
    """The time that the user allows a transaction, ms: how often it took longer is reported, and decides nothing."""
    is_tolerance_given: bool = True  # whether the tolerance is the user's own word; else it is the default

    def __post_init__(self) -> None:
        faults = []
        if not 0.0 < self.tolerance < 1.0:
            faults.append(out_of_range("the tolerance", "between 0 and 100%", self.tolerance))
        if self.budget is not None and not 0.0 <= self.budget < math.inf:
            faults.append(out_of_range("the budget", "0 or more", self.budget))
        if self.run_sd is not None and not 0.0 < self.run_sd < 1.0:
            faults.append(out_of_range("--run-sd", "between 0 and 100%", self.run_sd))
        if self.latency_limit_ms is not None and not 0.0 < self.latency_limit_ms < math.inf:
            faults.append(out_of_range("--latency-limit", "above 0 ms", self.latency_limit_ms))
        if faults:
            raise UsageError(*faults, text="; ".join(map(str, faults)))


def parse_priors(texts: Iterable[str]) -> tuple[Prior, ...]:
    """Priors as users write them, without repetition; the two that are always there are left out.

    Raises `UsageError`: every text that is none, at once.
    """
    found: list[Prior] = []
    faults: list[Refusal] = []
    for text in texts:
        try:
            prior = _parsed(text.strip())
        except UsageError as fault:
            faults += [said.at(f"prior {text!r}") for said in fault.refusals]
            continue
        if prior not in (*found, DEFAULT, NO_SPEEDUP):
            found.append(prior)
    if faults:
        raise UsageError(*faults, Refusal.of("what-a-prior-is", priors=PRIOR_HELP))
    return tuple(found)


def _parsed(text: str) -> Prior:
    kind, _, rest = text.partition(":")
    match kind.lower().replace("_", "-").replace(" ", "-"):
        case "default" if not rest:
            return DEFAULT
        case "no-speedup" | "no-speed-up" if not rest:
            return NO_SPEEDUP
        case "published" if not rest:
            return PUBLISHED
        case "normal":
            return _normal(rest)
    raise UsageError(Refusal.of("no-such-prior"))


def _normal(rest: str) -> NormalPrior:
    parts = rest.split(",")
    if len(parts) != 2:
        raise UsageError(unexpected("two numbers, mean and sd of the log ratio", len(parts) if rest else "none"))
    mean, sd = (_number(part) for part in parts)
    if sd <= 0.0:
        raise UsageError(out_of_range("the prior's sd", "above 0", sd))
    if abs(mean) > 10.0 or sd > 10.0:
        raise UsageError(Refusal.of("prior-in-per-cent"))
    return NormalPrior(mean, sd)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise UsageError(unexpected("a number", repr(text.strip()))) from None
    if not math.isfinite(value):
        raise UsageError(unexpected("a finite number", repr(text.strip())))
    return value
