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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tdelta.inference.costs import Panel, panels
from tdelta.inference.draws import DRAWS, Draws, amount, shortest
from tdelta.inference.fits import CostFit, fit_metrics
from tdelta.inference.posterior import FloatArray
from tdelta.inference.prices import PagePrices, Price, less
from tdelta.inference.timed import Timed
from tdelta.records import (
    Amount,
    Condition,
    CpuProfile,
    FunctionClass,
    FunctionShare,
    Ledger,
    LedgerItem,
    LedgerKind,
    LedgerLine,
    Measurement,
    Metric,
    RunSettings,
    TimedCalls,
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

_COUNTED = {
    "cache": ("cache_misses", "cache_writes"),
    "engine": ("pages_decrypted", "pages_encrypted"),
    "pages": ("pages_read", "pages_written"),
}
"""What counts pages decrypted and encrypted, by what prices are of."""

_SERVED = ("engine", "pages")
"""Which of these are a server's."""

BLOCKS = "blocks"
"""What else counts, beside `_COUNTED` and all ``bytes`` that are moved: these, but for rows that a load reads."""

_CROSSED, _CHECKED = ("decrypted", "encrypted"), ("checked", "authenticated")
_ALL_PAGES = ("read", "written")
"""Of a server that does not count those apart which are encrypted."""

_LOGGED = {"log_writes": "writes to the log", "log_bytes": "bytes of log"}
_TIMED = "timed in the server's own calls"

Counter = Callable[[Measurement], float | None]
"""A count of one operation of a trial; None where it is not known."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Draws of what an operation of one condition takes beyond its baseline, µs."""

    condition: Condition
    panel: Panel
    us: FloatArray


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
        if condition.is_encrypted:
            yield Difference(condition, fitted.panel, draws.difference(fitted, mixture))


@dataclass(frozen=True, slots=True)
class _Part:
    """A line before it is put in figures."""

    kind: LedgerKind
    us: FloatArray
    items: tuple[LedgerItem, ...]
    source: str
    is_timed: bool = False


def _ledger(cpu: Difference, elapsed: Amount | None, explained: Explained, draws: Draws) -> Ledger:
    key = cpu.condition.key
    prices, timed = explained.prices.get(key), explained.timed.get(key)
    parts, absent = _parts(cpu, prices, draws)
    if timed is not None and timed.trials:
        parts, absent = _with_timed(parts, absent, timed, cpu, prices, draws)
    elif timed is not None and timed.fault:
        absent.append(f"timed calls: {timed.fault}")
    rest = cpu.us - sum((part.us for part in parts), np.zeros(DRAWS))
    lines = tuple(_line(part, cpu.us) for part in (*parts, _Part(LedgerKind.REST, rest, (), "")))
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


def _with_timed(
    parts: list[_Part], absent: list[str], timed: Timed, cpu: Difference, prices: PagePrices | None, draws: Draws
) -> tuple[list[_Part], list[str]]:
    """Lines of the cipher and its MAC as the engine's own calls took; of the others, extra I/O stays."""
    own = _trials_of(cpu.panel, cpu.condition)
    pages = None if prices is None else crossed_pages(cpu.panel, cpu.condition, prices)
    logs = np.log([m.cpu_seconds / m.counted_operations for m in own if m.counted_operations and m.cpu_seconds])
    scatter = float(logs.std(ddof=1)) if len(logs) > 1 else 0.0
    found = []
    for kind in (LedgerKind.CIPHER, LedgerKind.INTEGRITY):
        if calls := timed.mean(kind, pages):
            us = draws.timed(timed.us(kind, pages), scatter)
            found.append(_Part(kind, us, tuple(map(_item, calls)), _TIMED, is_timed=True))
    kept = [part for part in parts if part.kind is LedgerKind.IO]
    left = [words for words in absent if words.partition(":")[0] in ("extra I/O", "pages that the scope leaves plain")]
    left.append("log: calls for it are timed with those for pages, and in the cipher's line")
    return [*found, *kept], left


def _item(calls: TimedCalls) -> LedgerItem:
    """Starts of a cipher, which are its pages or records, and what one takes with all its calls."""
    count = calls.starts or calls.calls
    what = {"cipher": f"{calls.name} {calls.direction}ions", "mac": f"calls of {calls.name}"}.get(
        calls.kind, calls.name
    )
    us = calls.us / count
    return LedgerItem(what, count, us, (us, us))


def _parts(cpu: Difference, prices: PagePrices | None, draws: Draws) -> tuple[list[_Part], list[str]]:
    if prices is None:
        return [], ["pages: what one costs this engine's own code is not known"]
    work = dict(cpu.condition.levels).get("work")
    if prices.counted in _SERVED and work == "rebuild":
        return [], ["pages: a rebuild's are compressed, and smaller than those that prices are of"]
    own, plain = _trials_of(cpu.panel, cpu.condition), _trials_of(cpu.panel, cpu.panel.baseline)
    read, written = (_counts(own, counter) for counter in _crossed(prices))
    if read is None or written is None:
        return [], ["pages: they are not counted in these trials"]
    if prices.counted == BLOCKS and work == "load":
        read = np.zeros_like(read)  # what such a load reads are the rows, out of files of their own
    parts = list(_page_parts(prices, (draws.count(read), draws.count(written)), draws))
    logged = _counts(own, _counter(prices.log_counted))
    if prices.log is not None and logged is not None:
        parts.append(_log(prices.log, draws.count(logged), prices.log_counted, draws))
    if prices.plain_read is not None and prices.plain_write is not None:
        extra = [_extra(own, plain, counter, draws) for counter in _moved(prices.page_bytes)]
        parts.append(_io((prices.plain_read, prices.plain_write), extra, _what(prices), draws))
    return parts, list(_absent(prices))


def crossed_pages(panel: Panel, condition: Condition, prices: PagePrices) -> tuple[float, float] | None:
    """Pages that an operation decrypts and encrypts under one condition, means over trials; None where not counted."""
    read, written = (_counts(_trials_of(panel, condition), counter) for counter in _crossed(prices))
    return None if read is None or written is None else (float(read.mean()), float(written.mean()))


def crossed_of(measured: Measurement, prices: PagePrices) -> tuple[float, float] | None:
    """Pages that one trial decrypted and encrypted, in all; None where they are not counted."""
    read, written = (counter(measured) for counter in _crossed(prices))
    return None if read is None or written is None else (float(read), float(written))


def _crossed(prices: PagePrices) -> tuple[Counter, Counter]:
    """What counts pages decrypted and encrypted."""
    if prices.counted in ("bytes", BLOCKS):
        return _moved(prices.page_bytes)
    read, written = _COUNTED[prices.counted]
    return _counter(read), _counter(written)


def _moved(page_bytes: int) -> tuple[Counter, Counter]:
    """Pages read and written, by the bytes that were asked of the system."""
    return (lambda m: m.usage.asked_read_bytes / page_bytes), (lambda m: m.usage.asked_written_bytes / page_bytes)


def _what(prices: PagePrices) -> str:
    """What a page is called."""
    return "blocks" if prices.counted == BLOCKS else "pages"


def _absent(prices: PagePrices) -> Iterator[str]:
    if prices.mac and prices.bare_read is None:
        yield f"integrity: {prices.mac} is one with its cipher, and in that line"
    if prices.counted == "pages":
        yield "pages that the scope leaves plain: this server does not count them apart; they are in the cipher's line"
    if prices.counted == BLOCKS:
        yield "log: its bytes are priced as blocks; what a short record takes beyond that is in the rest"
    elif prices.counted not in _SERVED:
        yield "log: its pages are among the cipher's, since it holds whole pages"
    elif prices.log is None:
        yield "log: what it costs was not measured, or it is not encrypted"
    if prices.plain_read is None:
        yield "extra I/O: what a plain page costs this server is not known"


def _page_parts(prices: PagePrices, counts: tuple[FloatArray, FloatArray], draws: Draws) -> Iterator[_Part]:
    read, write, bare_read, bare_write = prices.read, prices.write, prices.bare_read, prices.bare_write
    done = _ALL_PAGES if prices.counted == "pages" else _CROSSED
    crossed, checked = (tuple(f"{_what(prices)} {d}" for d in each) for each in (done, _CHECKED))
    if bare_read is None or bare_write is None:
        yield _priced(LedgerKind.CIPHER, counts, (read, write), crossed, prices.cipher, draws)
        return
    source = f"{prices.cipher} without its MAC"
    yield _priced(LedgerKind.CIPHER, counts, (bare_read, bare_write), crossed, source, draws)
    macs = (less(read, bare_read), less(write, bare_write))
    yield _priced(LedgerKind.INTEGRITY, counts, macs, checked, prices.mac, draws)


def _priced(
    kind: LedgerKind,
    counts: Sequence[FloatArray],
    prices: Sequence[Price],
    done: Sequence[str],
    source: str,
    draws: Draws,
) -> _Part:
    products = [count * price.draws(draws.normal()) for count, price in zip(counts, prices, strict=True)]
    items = tuple(
        LedgerItem(what, float(count.mean()), price.us, price.quartiles)
        for what, count, price in zip(done, counts, prices, strict=True)
    )
    return _Part(kind, sum(products, np.zeros(DRAWS)), items, source)


def _log(price: Price, logged: FloatArray, counted: str, draws: Draws) -> _Part:
    item = LedgerItem(_LOGGED[counted], float(logged.mean()), price.us, price.quartiles)
    return _Part(LedgerKind.LOG, logged * price.draws(draws.normal()), (item,), "rows logged on the twins' servers")


def _io(plain: Sequence[Price], extra: Sequence[FloatArray], what: str, draws: Draws) -> _Part:
    done = tuple(f"{what} {moved} beyond plain" for moved in ("read", "written"))
    return _priced(LedgerKind.IO, extra, plain, done, f"plain {what}", draws)


def _extra(own: Sequence[Measurement], plain: Sequence[Measurement], counter: Counter, draws: Draws) -> FloatArray:
    """A count beyond the baseline's, block by block, since work differs between blocks."""
    counts, others = _counts(own, counter), _counts(plain, counter)
    return np.zeros(DRAWS) if counts is None or others is None else draws.count(counts - others)


def _waited(cpu: Difference, draws: Draws) -> FloatArray:
    """What an operation waited longer than the baseline's in the same block, the run queue apart where it is known."""
    own, plain = (_trials_of(cpu.panel, of) for of in (cpu.condition, cpu.panel.baseline))
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


def _trials_of(panel: Panel, condition: Condition) -> list[Measurement]:
    at = panel.conditions.index(condition)
    return [row[at].measurement for row in panel.trials]


def _counter(name: str) -> Counter:
    def count(measured: Measurement) -> float | None:
        return measured.engine_counters.get(name)

    return count


def _counts(measured: Sequence[Measurement], counter: Counter) -> FloatArray | None:
    """A count an operation of every trial; None where any has none."""
    found = [(counter(m), m.counted_operations) for m in measured]
    known = [count / done for count, done in found if count is not None and done]
    return np.array(known) if known and len(known) == len(found) else None


def _line(part: _Part, cpu: FloatArray) -> LedgerLine:
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
