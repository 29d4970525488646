"""The cost breakdown: the components of the extra CPU of encryption, and how much of the extra time is off CPU.

Totals are measured (the posteriors of the verdicts). The cipher's component is what the engine's own calls of its
cipher took where they happened, timed in extra trials; where they cannot be observed it is predicted, as all other
components
are: counts of a run × unit costs that were measured separately. The residual is what the components do not explain, and
nothing is fitted to make it small. Where it is large, the functions that it consists of are named, from a profile.

Everything is propagated by draws (`tdelta.inference.draws`): totals from their posteriors, unit costs as
`tdelta.inference.prices` describes, counts by their scatter over rounds, timed calls by theirs over trials. Shares are
quotients of two such quantities, draw by draw. Total and components are drawn independently, although the noise of the
moment is in both, which makes the interval of the residual too wide rather than too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tdelta.design.actions import is_action
from tdelta.inference.cost_components import Difference, Part, explaining_components
from tdelta.inference.costs import panels
from tdelta.inference.draws import DRAWS, Draws, amount, shortest
from tdelta.inference.fits import CostFit, fit_metrics
from tdelta.inference.page_counts import trials_of
from tdelta.inference.posterior import FloatArray
from tdelta.inference.prices import PagePrices
from tdelta.inference.timed import Timed
from tdelta.messages import Reason
from tdelta.records import (
    Amount,
    ComponentKind,
    CostBreakdown,
    CostComponent,
    CpuProfile,
    FunctionClass,
    FunctionShare,
    Measurement,
    Metric,
    RunSettings,
    Trial,
)

_US = 1e6
_FEWEST_BLOCKS = 2

MUCH = 0.30
"""From this share of the extra CPU on the residual is large, and the functions that it consists of are named."""

FUNCTIONS_NAMED = 5

_STANDARD_ERRORS = 2.0
_CIPHERS = (FunctionClass.CIPHER, FunctionClass.HASH, FunctionClass.CRYPTO)
_OPENSSL = "libcrypto."


@dataclass(frozen=True, slots=True)
class Explained:
    """What was measured of a run's conditions apart from their trials, by the condition's key."""

    prices: Mapping[str, PagePrices]
    timed: Mapping[str, Timed]
    profiles: Mapping[str, CpuProfile]
    why_no_profile: str = ""
    """Why functions were not sampled where they should have been; empty where they were, or were not to be."""


def cost_breakdowns(trials: Iterable[Trial], settings: RunSettings, explained: Explained) -> tuple[CostBreakdown, ...]:
    """The cost breakdown of every encrypted condition that has a CPU time, in the design's order."""
    fits = fit_metrics(
        panels(trials, settings), (Metric.CPU_PER_OPERATION, Metric.RESPONSE_TIME), settings.instance_effect
    )
    draws = Draws()
    elapsed = {d.condition.key: amount(d.us) for d in _differences(fits[Metric.RESPONSE_TIME], draws)}
    cpu = _differences(fits[Metric.CPU_PER_OPERATION], draws)
    return tuple(_breakdown(d, elapsed.get(d.condition.key), explained, draws) for d in cpu)


def _differences(fit: CostFit, draws: Draws) -> Iterator[Difference]:
    for fitted, condition, mixture in fit.data():
        work = str(dict(condition.levels).get("work", ""))
        if condition.is_encrypted and not is_action(work):  # of what else goes on there, no pages are counted
            yield Difference(condition, fitted.panel, draws.difference(fitted, mixture))


def _breakdown(cpu: Difference, elapsed: Amount | None, explained: Explained, draws: Draws) -> CostBreakdown:
    key = cpu.condition.key
    prices, timed = explained.prices.get(key), explained.timed.get(key)
    parts, absent = explaining_components(cpu, prices, timed, draws)
    residual = cpu.us - sum((part.us for part in parts), np.zeros(DRAWS))
    components = tuple(_component(part, cpu.us) for part in (*parts, Part(ComponentKind.RESIDUAL, residual, (), "")))
    found = CostBreakdown(
        condition=cpu.condition,
        baseline=cpu.panel.baseline,
        cpu=amount(cpu.us),
        components=components,
        elapsed=elapsed,
        off_cpu=None if elapsed is None or len(cpu.panel.trials) < _FEWEST_BLOCKS else amount(_waited(cpu, draws)),
        unattributed_codes=tuple(absent),
    )
    return _with_functions(found, explained) if has_large_residual(found) else found


def has_large_residual(breakdown: CostBreakdown) -> bool:
    """Whether the residual is more of the extra CPU than `MUCH`, and there is any to explain."""
    residual = breakdown.component(ComponentKind.RESIDUAL)
    return residual is not None and residual.share is not None and residual.share > MUCH


def may_have_large_residual(breakdown: CostBreakdown) -> bool:
    """The same by medians alone, which are all that a first round has, so that functions are sampled in time."""
    residual = breakdown.component(ComponentKind.RESIDUAL)
    return residual is not None and breakdown.cpu.us > 0 and residual.amount.us > MUCH * breakdown.cpu.us


def _with_functions(breakdown: CostBreakdown, explained: Explained) -> CostBreakdown:
    """With the functions that a profile attributes the residual to, or why it cannot."""
    profile = explained.profiles.get(breakdown.condition.key)
    if profile is None:
        return replace(breakdown, where_unknown_code=_not_sampled(explained.why_no_profile))
    is_timed = any(one.is_timed for one in breakdown.components)
    unexplained = [
        one for one in profile.functions if _is_distinguishable(one) and not _has_component(one, is_timed=is_timed)
    ]
    largest = sorted(unexplained, key=lambda one: -one.difference_ns)[:FUNCTIONS_NAMED]
    if largest:
        return replace(breakdown, functions=tuple(largest))
    samples = {"plain": profile.baseline.samples, "encrypted": profile.condition.samples}
    return replace(breakdown, where_unknown_code=Reason.of("no-function-differs", **samples))


def _not_sampled(why: str) -> Reason:
    return Reason.of("functions-not-sampled", why=why or "functions were not sampled")


def _is_distinguishable(one: FunctionShare) -> bool:
    """Whether a function took more than on the plain twin, by twice the standard error of so many samples."""
    sides = ((one.plain_ns, one.plain_samples), (one.encrypted_ns, one.encrypted_samples))
    errors = [ns / math.sqrt(samples) for ns, samples in sides if samples]
    return one.difference_ns > _STANDARD_ERRORS * math.hypot(*errors)


def _has_component(one: FunctionShare, *, is_timed: bool) -> bool:
    """Whether a function belongs to the cipher's component: OpenSSL's where calls were timed, else all ciphers."""
    return one.dso.startswith(_OPENSSL) if is_timed else one.function_class in _CIPHERS


def _waited(cpu: Difference, draws: Draws) -> FloatArray:
    """How much longer an operation waited than the baseline's in the same block, without the run queue if known."""
    own, plain = (trials_of(cpu.panel, of) for of in (cpu.condition, cpu.panel.baseline))
    longer = np.array([waiting_us(m) - waiting_us(p) for m, p in zip(own, plain, strict=True)])
    delays = [[delay_us(m) for m in side] for side in (own, plain)]
    if all(one is not None for side in delays for one in side):
        longer -= np.subtract(*np.array(delays, dtype=np.float64))
    return draws.mean(longer, cpu.panel.rounds)


def waiting_us(measured: Measurement) -> float:
    """What an operation of a trial waited: its response time less its CPU time."""
    return measured.response_ns / 1e3 - measured.cpu_seconds * _US / measured.operations


def delay_us(measured: Measurement) -> float | None:
    """What an operation of a trial stood in the run queue, ready and without a CPU; None where it is not known."""
    delay = measured.delays.run_delay_ns
    return None if delay is None else delay / 1e3 / measured.operations


def _component(part: Part, cpu: FloatArray) -> CostComponent:
    is_positive = shortest(cpu)[0] > 0.0
    shares = part.us / np.maximum(cpu, 1e-9)
    return CostComponent(
        kind=part.kind,
        amount=amount(part.us),
        share=float(np.median(shares)) if is_positive else None,
        share_hdi95=shortest(shares) if is_positive else None,
        items=part.items,
        source=part.source,
        is_timed=part.is_timed,
    )
