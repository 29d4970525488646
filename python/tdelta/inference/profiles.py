"""CPU profiles side by side: time per operation by function and class, and each class's share of the difference.

Counts are taken for Poisson: a class that was sampled n times in o operations, at a period of p ns, took ``n p / o`` an
operation, and what n would have been on another day is known through ``Gamma(n + 1/2, 1)``, the posterior of a Poisson
rate under Jeffreys' prior (Box and Tiao 1973, section 1.3.4). Differences and shares are of draws from both sides'
posteriors, the interval between their 2.5% and 97.5% quantiles. perf samples at even distances of time, so sums over
many functions vary less than Poisson counts do: the intervals are rather too wide than too narrow.

Limits: this is the noise of counting alone. The effects of these instances, and whatever else differed between the
trials, is not in it; verdicts are for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tdelta.inference.posterior import FloatArray
from tdelta.profiling.functions import Functions
from tdelta.records import ClassShare, Condition, CpuProfile, FunctionClass, FunctionShare, ProfiledSide, Role, Sampled

FUNCTIONS_KEPT = 40
_DRAWS = 20_000
_SEED = 20_001
_ENDS = (2.5, 97.5)
_JEFFREYS = 0.5
_LIBRARIES = Functions()  # knows the functions of libraries and of the kernel, and no engine's


@dataclass(frozen=True, slots=True)
class Profiled:
    condition: Condition
    trials: int
    operations: int
    functions: tuple[Sampled, ...]

    @property
    def samples(self) -> int:
        return sum(one.samples for one in self.functions)


def cpu_profiles(found: Iterable[Profiled], names: Functions = _LIBRARIES) -> tuple[CpuProfile, ...]:
    """Every judged condition beside the baseline of its stratum, where both were sampled."""
    sampled = [one for one in found if one.samples and one.operations]
    baselines = {one.condition.stratum: one for one in sampled if one.condition.role is Role.BASELINE}
    return tuple(
        compare(baselines[one.condition.stratum], one, names)
        for one in sampled
        if one.condition.role.is_judged and one.condition.stratum in baselines
    )


def compare(plain: Profiled, encrypted: Profiled, names: Functions = _LIBRARIES) -> CpuProfile:
    functions = list(_functions(plain, encrypted, names))
    by_class = {of: mine for of in FunctionClass if (mine := [one for one in functions if one.function_class is of])}
    drawn = {of: _drawn(of, mine, plain, encrypted) for of, mine in by_class.items()}
    whole = np.sum(list(drawn.values()), axis=0)
    interval = _interval(whole)
    difference = sum(one.difference_ns for one in functions)
    is_distinguishable = interval[0] > 0 or interval[1] < 0
    classes = []
    for of, mine in by_class.items():
        plain_ns, encrypted_ns = sum(one.plain_ns for one in mine), sum(one.encrypted_ns for one in mine)
        classes.append(
            ClassShare(
                function_class=of,
                plain_ns=plain_ns,
                encrypted_ns=encrypted_ns,
                difference_ns=encrypted_ns - plain_ns,
                interval95=_interval(drawn[of]),
                share=(encrypted_ns - plain_ns) / difference if is_distinguishable else None,
                share_interval95=_interval(drawn[of] / whole) if is_distinguishable else None,
            )
        )
    return CpuProfile(
        baseline=_side(plain),
        condition=_side(encrypted),
        difference_ns=difference,
        interval95=interval,
        classes=tuple(classes),
        functions=tuple(sorted(functions, key=_weight, reverse=True)[:FUNCTIONS_KEPT]),
    )


def _functions(plain: Profiled, encrypted: Profiled, names: Functions) -> Iterator[FunctionShare]:
    before, after = (
        {(one.dso, one.symbol, one.is_kernel): (one.cpu_ns / side.operations, one.samples) for one in side.functions}
        for side in (plain, encrypted)
    )
    for key in dict.fromkeys((*before, *after)):
        dso, symbol, is_kernel = key
        (plain_ns, plain_samples), (encrypted_ns, encrypted_samples) = (of.get(key, (0.0, 0)) for of in (before, after))
        yield FunctionShare(
            function=symbol.partition("@")[0],
            dso=names.called(dso),
            function_class=names.class_of(symbol, dso, is_kernel=is_kernel),
            plain_ns=plain_ns,
            encrypted_ns=encrypted_ns,
            difference_ns=encrypted_ns - plain_ns,
            plain_samples=plain_samples,
            encrypted_samples=encrypted_samples,
        )


def _drawn(of: FunctionClass, mine: Sequence[FunctionShare], plain: Profiled, encrypted: Profiled) -> FloatArray:
    """Draws of a class's difference, ns per operation."""
    rng = np.random.default_rng((_SEED, list(FunctionClass).index(of)))
    counts = sum(one.plain_samples for one in mine), sum(one.encrypted_samples for one in mine)
    sides = []
    for side, counted in zip((plain, encrypted), counts, strict=True):
        period_ns = sum(one.cpu_ns for one in side.functions) / side.samples
        sides.append(rng.gamma(counted + _JEFFREYS, size=_DRAWS) * period_ns / side.operations)
    return sides[1] - sides[0]


def _interval(draws: FloatArray) -> tuple[float, float]:
    low, high = np.percentile(draws, _ENDS)
    return float(low), float(high)


def _side(of: Profiled) -> ProfiledSide:
    cpu_ns = sum(one.cpu_ns for one in of.functions) / of.operations
    return ProfiledSide(of.condition, of.trials, of.operations, of.samples, cpu_ns)


def _weight(one: FunctionShare) -> tuple[float, float, str]:
    return max(one.plain_ns, one.encrypted_ns), abs(one.difference_ns), one.function
