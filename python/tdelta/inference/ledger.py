"""The ledger: of what the extra CPU of encryption is made, and what of the extra time is waiting.

Totals are measured (the posteriors of the verdicts). The cipher's line is what the engine's own calls of its cipher
took where they happened, timed in trials of their own; where they cannot be seen it is a prediction, as all other lines
are: counts of a run times prices that were measured apart from it. The rest is what lines do not explain, and nothing
is fitted to make it small. Where it is much, the functions that make it up are named, out of a profile.

Everything is propagated by draws (`tdelta.inference.draws`): totals from their posteriors, prices as
`tdelta.inference.prices` says, counts and timed calls by their scatter over trials. Shares are quotients of two such
quantities, draw by draw. Total and lines are drawn independently, though noise of the moment is in both, which makes
the rest's interval too wide rather than too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tdelta.design.actions import is_action
from tdelta.inference.costs import panels
from tdelta.inference.draws import DRAWS, Draws, amount, shortest
from tdelta.inference.fits import CostFit, fit_metrics
from tdelta.inference.ledger_lines import Difference, Part, explaining_lines
from tdelta.inference.page_counts import trials_of
from tdelta.inference.posterior import FloatArray
from tdelta.inference.prices import PagePrices
from tdelta.inference.timed import Timed
from tdelta.records import (
    Amount,
    CpuProfile,
    FunctionClass,
    FunctionShare,
    Ledger,
    LedgerKind,
    LedgerLine,
    Measurement,
    Metric,
    RunSettings,
    Trial,
)

_US = 1e6
_FEWEST_BLOCKS = 2

MUCH = 0.30
"""From this share of the extra CPU on the rest is much, and the functions that make it up are named."""

FUNCTIONS_NAMED = 5

_TOLD_APART = 2.0
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


def ledgers(trials: Iterable[Trial], settings: RunSettings, explained: Explained) -> tuple[Ledger, ...]:
    """The ledger of every encrypted condition that has a CPU time, in the design's order."""
    fits = fit_metrics(panels(trials, settings), (Metric.CPU_PER_OPERATION, Metric.RESPONSE_TIME), settings.luck)
    draws = Draws()
    elapsed = {d.condition.key: amount(d.us) for d in _differences(fits[Metric.RESPONSE_TIME], draws)}
    cpu = _differences(fits[Metric.CPU_PER_OPERATION], draws)
    return tuple(_ledger(d, elapsed.get(d.condition.key), explained, draws) for d in cpu)


def _differences(fit: CostFit, draws: Draws) -> Iterator[Difference]:
    for fitted, condition, mixture in fit.data():
        work = str(dict(condition.levels).get("work", ""))
        if condition.is_encrypted and not is_action(work):  # of what else goes on there, no pages are counted
            yield Difference(condition, fitted.panel, draws.difference(fitted, mixture))


def _ledger(cpu: Difference, elapsed: Amount | None, explained: Explained, draws: Draws) -> Ledger:
    key = cpu.condition.key
    prices, timed = explained.prices.get(key), explained.timed.get(key)
    parts, absent = explaining_lines(cpu, prices, timed, draws)
    rest = cpu.us - sum((part.us for part in parts), np.zeros(DRAWS))
    lines = tuple(_line(part, cpu.us) for part in (*parts, Part(LedgerKind.REST, rest, (), "")))
    found = Ledger(
        condition=cpu.condition,
        baseline=cpu.panel.baseline,
        cpu=amount(cpu.us),
        lines=lines,
        elapsed=elapsed,
        waiting=None if elapsed is None or len(cpu.panel.trials) < _FEWEST_BLOCKS else amount(_waited(cpu, draws)),
        in_rest=tuple(absent),
    )
    return _with_functions(found, explained) if has_much_rest(found) else found


def has_much_rest(ledger: Ledger) -> bool:
    """Whether lines leave more of the extra CPU than `MUCH`, and there is any to explain."""
    rest = ledger.line(LedgerKind.REST)
    return rest is not None and rest.share is not None and rest.share > MUCH


def may_have_much_rest(ledger: Ledger) -> bool:
    """The same by medians alone, which are all that a first round has, so that functions are sampled in time."""
    rest = ledger.line(LedgerKind.REST)
    return rest is not None and ledger.cpu.us > 0 and rest.amount.us > MUCH * ledger.cpu.us


def _with_functions(ledger: Ledger, explained: Explained) -> Ledger:
    """With the functions that a profile says the rest is made of, or why that cannot be said."""
    profile = explained.profiles.get(ledger.condition.key)
    if profile is None:
        return replace(ledger, where_unknown=explained.why_no_profile or "functions were not sampled")
    is_timed = any(line.is_timed for line in ledger.lines)
    of_rest = [one for one in profile.functions if _is_told_apart(one) and not _has_line(one, is_timed=is_timed)]
    largest = sorted(of_rest, key=lambda one: -one.difference_ns)[:FUNCTIONS_NAMED]
    samples = f"{profile.baseline.samples:,} and {profile.condition.samples:,} samples"
    unseen = f"no function outside its ciphers took more than on the plain twin that {samples} tell apart from chance"
    return replace(ledger, functions=tuple(largest), where_unknown="" if largest else unseen)


def _is_told_apart(one: FunctionShare) -> bool:
    """Whether a function took more than on the plain twin, by twice the standard error of so many samples."""
    sides = ((one.plain_ns, one.plain_samples), (one.encrypted_ns, one.encrypted_samples))
    errors = [ns / math.sqrt(samples) for ns, samples in sides if samples]
    return one.difference_ns > _TOLD_APART * math.hypot(*errors)


def _has_line(one: FunctionShare, *, is_timed: bool) -> bool:
    """Whether a function is in the cipher's line: of timed calls OpenSSL's own, of priced pages all ciphers."""
    return one.dso.startswith(_OPENSSL) if is_timed else one.function_class in _CIPHERS


def _waited(cpu: Difference, draws: Draws) -> FloatArray:
    """What an operation waited longer than the baseline's in the same block, the run queue apart where it is known."""
    own, plain = (trials_of(cpu.panel, of) for of in (cpu.condition, cpu.panel.baseline))
    longer = np.array([waiting_us(m) - waiting_us(p) for m, p in zip(own, plain, strict=True)])
    delays = [[delay_us(m) for m in side] for side in (own, plain)]
    if all(one is not None for side in delays for one in side):
        longer -= np.subtract(*np.array(delays, dtype=np.float64))
    return draws.mean(longer, cpu.panel.rounds.astype(np.float64))


def waiting_us(measured: Measurement) -> float:
    """What an operation of a trial waited: its response time less its CPU time."""
    return measured.response_ns / 1e3 - measured.cpu_seconds * _US / measured.operations


def delay_us(measured: Measurement) -> float | None:
    """What an operation of a trial stood in the run queue, ready and without a CPU; None where it is not known."""
    delay = measured.delays.run_delay_ns
    return None if delay is None else delay / 1e3 / measured.operations


def _line(part: Part, cpu: FloatArray) -> LedgerLine:
    is_told = shortest(cpu)[0] > 0.0
    shares = part.us / np.maximum(cpu, 1e-9)
    return LedgerLine(
        kind=part.kind,
        amount=amount(part.us),
        share=float(np.median(shares)) if is_told else None,
        share_hdi95=shortest(shares) if is_told else None,
        items=part.items,
        source=part.source,
        is_timed=part.is_timed,
    )
