"""The cost breakdown: the components of the extra CPU of encryption, and how much of the extra time is off CPU.

Totals are measured (the posteriors of the verdicts). The cipher's component is what the engine's own calls of its
cipher took where they happened, timed in extra trials; where they cannot be observed it is predicted, as all other
components are: counts of a run × unit costs that were measured separately. The residual is what the components do not
explain, and nothing is fitted to make it small. Where it is large, the functions that it consists of are named, from a
profile.

Everything is propagated by draws from one fixed stream: totals from their posteriors, unit costs as
`tdelta.inference.unit_costs` describes, counts by their scatter over rounds, timed calls by theirs over trials. Shares
are quotients of two such quantities, draw by draw. Total and components are drawn independently, although the noise of
the moment is in both, which makes the interval of the residual too wide rather than too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tdelta.design.actions import is_action
from tdelta.inference.fits import CostFit, Fitted, Panel, fit_metrics, panels
from tdelta.inference.posterior import FloatArray, Mixture, posterior
from tdelta.inference.unit_costs import BLOCKS, Counter, PagePrices, Price, Timed, counts_of, crossed, moved
from tdelta.messages import Reason
from tdelta.records import (
    Amount,
    ComponentKind,
    Condition,
    CostBreakdown,
    CostComponent,
    CostItem,
    CpuProfile,
    FunctionClass,
    FunctionShare,
    Measurement,
    Metric,
    RunSettings,
    TimedCalls,
    Trial,
)

DRAWS = 4000
FEWEST_ROUNDS = 3  # from so many rounds on a round is the unit; below, a block is, which leaves the instance effect out

MUCH = 0.30
"""From this share of the extra CPU on the residual is large, and the functions that it consists of are named."""

FUNCTIONS_NAMED = 5
_SEED = 20_240_229
_MASS = 0.95
_FEWEST_BLOCKS = 2
_STANDARD_ERRORS = 2.0
_CIPHERS = (FunctionClass.CIPHER, FunctionClass.HASH, FunctionClass.CRYPTO)
_OPENSSL = "libcrypto."
_TIMED = "timed in the server's own calls"


@dataclass(frozen=True, slots=True)
class Explained:
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
        work = str(condition.get("work", ""))
        if condition.is_encrypted and not is_action(work):  # of what else goes on there, no pages are counted
            panel = fitted.panel
            places = (panel.conditions.index(of) for of in (condition, panel.baseline))
            own, plain = ([row[at].measurement for row in panel.trials] for at in places)
            yield Difference(condition, panel, own, plain, draws.difference(fitted, mixture))


class Draws:
    def __init__(self, seed: int = _SEED) -> None:
        self._random = np.random.default_rng(seed)
        self.transfer = self.normal()
        """The factor that all prices of the run share: `tdelta.inference.unit_costs.TRANSFER` of it."""

    def normal(self) -> FloatArray:
        return self._random.standard_normal(DRAWS)

    def difference(self, fitted: Fitted, mixture: Mixture) -> FloatArray:
        """Of a condition over its baseline, in the metric's unit, stratified over the posterior's quantiles."""
        found = posterior(mixture)
        at = (self._random.permutation(DRAWS) + self._random.random(DRAWS)) / DRAWS
        return np.asarray(fitted.baseline_value * np.expm1(np.interp(at, found.cumulative, found.theta)))

    def mean(self, values: FloatArray, groups: NDArray[np.intp]) -> FloatArray:
        """Of the mean of values that come in groups (rounds): by the groups' means, or of few groups the values.

        Instances differ in whatever is counted or timed, and trials of one instance are no independent sample of that.
        A single value has no error that could be known.
        """
        means = np.array([values[groups == group].mean() for group in np.unique(groups)])
        used = means if len(means) >= FEWEST_ROUNDS else values
        error = float(used.std(ddof=1)) / math.sqrt(len(used)) if len(used) > 1 else 0.0
        return np.asarray(float(used.mean()) + error * self._random.standard_t(max(1, len(used) - 1), DRAWS))

    def timed(self, us: FloatArray, scatter: float) -> FloatArray:
        """Of what was timed in some trials one after another, at a moment that others differ from.

        `us`: of each trial; `scatter`: the relative standard deviation of the run's trials of the same condition, at
        moments of their own.
        """
        error = float(us.std(ddof=1)) / math.sqrt(len(us)) if len(us) > 1 else 0.0
        of_trials = error * self._random.standard_t(max(1, len(us) - 1), DRAWS)
        return np.asarray((float(us.mean()) + of_trials) * (1.0 + scatter * self.normal()))


def amount(us: FloatArray) -> Amount:
    return Amount(float(np.median(us)), shortest(us))


def shortest(draws: FloatArray, mass: float = _MASS) -> tuple[float, float]:
    ordered = np.sort(draws)
    inside = math.ceil(mass * len(ordered))
    widths = ordered[inside - 1 :] - ordered[: len(ordered) - inside + 1]
    at = int(np.argmin(widths))
    return float(ordered[at]), float(ordered[at + inside - 1])


@dataclass(frozen=True, slots=True)
class Difference:
    """Draws of what an operation of one condition takes beyond its baseline, µs; the trials of both, block by block."""

    condition: Condition
    panel: Panel
    own: Sequence[Measurement]
    plain: Sequence[Measurement]
    us: FloatArray


def _breakdown(cpu: Difference, elapsed: Amount | None, explained: Explained, draws: Draws) -> CostBreakdown:
    key = cpu.condition.key
    prices, timed = explained.prices.get(key), explained.timed.get(key)
    parts, absent = _counted_components(cpu, prices, draws)
    if timed is not None and timed.trials:
        parts, absent = _timed_components(parts, timed, cpu, prices, draws)
    elif timed is not None and timed.fault:
        absent.append(Reason.of("calls-not-timed", fault=timed.fault))
    residual = cpu.us - sum((part.us for part in parts), np.zeros(DRAWS))
    components = tuple(_component(part, cpu.us) for part in (*parts, Part(ComponentKind.RESIDUAL, residual, (), "")))
    found = CostBreakdown(
        condition=cpu.condition,
        baseline=cpu.panel.baseline,
        cpu=amount(cpu.us),
        components=components,
        elapsed=elapsed,
        off_cpu=None if elapsed is None or len(cpu.panel.trials) < _FEWEST_BLOCKS else amount(_waited(cpu, draws)),
        unattributed=tuple(absent),
    )
    share = components[-1].share
    return _with_functions(found, explained) if share is not None and share > MUCH else found


def may_have_large_residual(breakdown: CostBreakdown) -> bool:
    """Whether the residual is large by medians, all that a first round has, so that functions are sampled in time."""
    residual = breakdown.component(ComponentKind.RESIDUAL)
    return residual is not None and breakdown.cpu.us > 0 and residual.amount.us > MUCH * breakdown.cpu.us


def _with_functions(breakdown: CostBreakdown, explained: Explained) -> CostBreakdown:
    """With the functions that a profile attributes the residual to, or why it cannot."""
    profile = explained.profiles.get(breakdown.condition.key)
    if profile is None:
        why = explained.why_no_profile or "functions were not sampled"
        return replace(breakdown, where_unknown=Reason.of("functions-not-sampled", why=why))
    is_timed = any(one.is_timed for one in breakdown.components)
    unexplained = [  # OpenSSL's functions have a component where calls were timed, else those of all ciphers
        one
        for one in profile.functions
        if _is_distinguishable(one)
        and not (one.dso.startswith(_OPENSSL) if is_timed else one.function_class in _CIPHERS)
    ]
    largest = sorted(unexplained, key=lambda one: -one.difference_ns)[:FUNCTIONS_NAMED]
    if largest:
        return replace(breakdown, functions=tuple(largest))
    samples = {"plain": profile.baseline.samples, "encrypted": profile.condition.samples}
    return replace(breakdown, where_unknown=Reason.of("no-function-differs", **samples))


def _is_distinguishable(one: FunctionShare) -> bool:
    """Whether a function took more than on the plain twin, by twice the standard error of so many samples."""
    sides = ((one.plain_ns, one.plain_samples), (one.encrypted_ns, one.encrypted_samples))
    errors = [ns / math.sqrt(samples) for ns, samples in sides if samples]
    return one.difference_ns > _STANDARD_ERRORS * math.hypot(*errors)


def _waited(cpu: Difference, draws: Draws) -> FloatArray:
    """How much longer an operation waited than the baseline's in the same block, without the run queue if known."""
    has_delays = all(m.delays.run_delay_ns is not None for m in (*cpu.own, *cpu.plain))

    def waiting_us(measured: Measurement) -> float:
        """The response time of an operation less its CPU time, and less its time in the run queue."""
        used_ns = 1e9 * measured.cpu_seconds + ((measured.delays.run_delay_ns or 0) if has_delays else 0)
        return (measured.response_ns - used_ns / measured.operations) / 1e3

    own, plain = (np.array(list(map(waiting_us, of))) for of in (cpu.own, cpu.plain))
    return draws.mean(own - plain, cpu.panel.rounds)


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


@dataclass(frozen=True, slots=True)
class Part:
    kind: ComponentKind
    us: FloatArray
    items: tuple[CostItem, ...]
    source: str
    is_timed: bool = False


def _timed_components(
    parts: list[Part], timed: Timed, cpu: Difference, prices: PagePrices | None, draws: Draws
) -> tuple[list[Part], list[Reason]]:
    """Components of the cipher and its MAC from the engine's own calls; of the others, extra I/O stays."""
    read, written = (counts_of(cpu.own, counter) for counter in crossed(prices))
    pages = None if read is None or written is None else (read.mean(), written.mean())
    logs = np.log([m.cpu_seconds / m.counted_operations for m in cpu.own if m.counted_operations and m.cpu_seconds])
    scatter = float(logs.std(ddof=1)) if len(logs) > 1 else 0.0
    found = []
    for kind in (ComponentKind.CIPHER, ComponentKind.INTEGRITY):
        if calls := timed.mean(kind, pages):
            us = draws.timed(timed.us(kind, pages), scatter)
            found.append(Part(kind, us, tuple(map(_item, calls)), _TIMED, is_timed=True))
    kept = [part for part in parts if part.kind is ComponentKind.IO]
    without_io = [] if kept else [Reason.of("extra-io-without-unit-cost")]
    return [*found, *kept], [*without_io, Reason.of("log-calls-in-cipher")]


def _item(calls: TimedCalls) -> CostItem:
    count = calls.starts or calls.calls
    names = {"cipher": f"{calls.name} {calls.direction}ions", "mac": f"calls of {calls.name}"}
    return CostItem(names.get(calls.kind, calls.name), count, calls.us / count, (calls.us / count,) * 2)


def _counted_components(cpu: Difference, prices: PagePrices | None, draws: Draws) -> tuple[list[Part], list[Reason]]:
    if prices is None:
        return [], [Reason.of("pages-without-unit-cost")]
    read, written = (counts_of(cpu.own, counter) for counter in crossed(prices))
    if read is None or written is None:
        return [], [Reason.of("pages-not-counted")]
    is_of_blocks = prices.counted == BLOCKS
    unit, log = ("blocks", Reason.of("log-as-blocks")) if is_of_blocks else ("pages", Reason.of("log-pages-in-cipher"))
    if is_of_blocks and cpu.condition.get("work") == "load":
        read = np.zeros_like(read)  # what such a load reads are the rows, out of files of their own
    rounds = cpu.panel.rounds
    counts = (draws.mean(read, rounds), draws.mean(written, rounds))
    done = (f"{unit} decrypted", f"{unit} encrypted")
    absent = [log]
    if prices.bare_read is None or prices.bare_write is None:
        parts = [_priced(ComponentKind.CIPHER, counts, (prices.read, prices.write), done, prices.cipher, draws)]
        if prices.mac:
            absent.insert(0, Reason.of("integrity-in-cipher", mac=prices.mac))
    else:
        bare, source = (prices.bare_read, prices.bare_write), f"{prices.cipher} without its MAC"
        macs = (prices.read.less(prices.bare_read), prices.write.less(prices.bare_write))
        checked = (f"{unit} checked", f"{unit} authenticated")
        parts = [
            _priced(ComponentKind.CIPHER, counts, bare, done, source, draws),
            _priced(ComponentKind.INTEGRITY, counts, macs, checked, prices.mac, draws),
        ]
    if prices.plain_read is None or prices.plain_write is None:
        return parts, [*absent, Reason.of("extra-io-without-unit-cost")]
    extra = [_beyond_plain(cpu, counter, draws) for counter in moved(prices.page_bytes)]
    done = (f"{unit} read beyond plain", f"{unit} written beyond plain")
    io = _priced(ComponentKind.IO, extra, (prices.plain_read, prices.plain_write), done, f"plain {unit}", draws)
    return [*parts, io], absent


def _beyond_plain(cpu: Difference, counter: Counter, draws: Draws) -> FloatArray:
    """A count beyond the baseline's, block by block, since work differs between blocks."""
    counts, others = counts_of(cpu.own, counter), counts_of(cpu.plain, counter)
    return np.zeros(DRAWS) if counts is None or others is None else draws.mean(counts - others, cpu.panel.rounds)


def _priced(
    kind: ComponentKind,
    counts: Sequence[FloatArray],
    prices: Sequence[Price],
    done: Sequence[str],
    source: str,
    draws: Draws,
) -> Part:
    products, items = np.zeros(DRAWS), []
    for what, count, price in zip(done, counts, prices, strict=True):
        products = products + count * price.draws(draws.normal(), draws.transfer)
        items.append(CostItem(what, float(count.mean()), price.us, price.quartiles))
    return Part(kind, products, tuple(items), source)
