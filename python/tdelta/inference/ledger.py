"""The ledger: of what the extra CPU of encryption is made, and what of the extra time is waiting.

Totals are measured (the posteriors of the verdicts); lines are predicted, counts of a run times prices that were
measured apart from it, and where a CPU profile was made two are from there: CPU time that threads burn while they wait
for others, and CPUs that slow one another while they are at work side by side. The rest is what lines do not explain,
and nothing is fitted to make it small. So a rest that is not zero is a finding: work that is not counted, or work that
costs other than its price.

Everything is propagated by draws from a fixed stream: totals from their posteriors, prices as `tdelta.inference.prices`
says, counts by their scatter over trials, samples by the interval of their class. Total and lines are drawn
independently, though noise of the moment is in both, which makes the rest's interval too wide rather than too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tdelta.inference.costs import Panel, panels
from tdelta.inference.fits import CostFit, Fitted, fit_metrics
from tdelta.inference.posterior import FloatArray, Mixture, posterior
from tdelta.inference.prices import TRANSFER, PagePrices, Price, less
from tdelta.records import (
    Amount,
    ClassShare,
    Condition,
    CpuProfile,
    FunctionClass,
    Ledger,
    LedgerItem,
    LedgerKind,
    LedgerLine,
    Measurement,
    Metric,
    Role,
    RunSettings,
    Trial,
)

_DRAWS = 4000
_SEED = 20_240_229
_MASS = 0.95
_INTERVAL_OF_NORMAL = 3.92
"""Standard deviations that a normal's central 95 % is wide."""

_US = 1e6
_FEWEST_BLOCKS = 2
_FEWEST_ROUNDS = 3
"""From so many rounds on a round is the unit; below, a block is, which leaves the luck of instances out."""

_CROWDED = 1.2
"""From here on it is told that busy CPUs slow one another: they share a core, or one alone has a faster clock."""

_SWITCHES_MORE = 0.05
"""From so much more than plain on it is told that threads sleep and are woken more often."""

_TOLD_APART = 2.0

OF_THE_LOOP = (0.44, 0.10)
"""The share of CPU time that others make up, over that of a loop that uses all of a core: mean, standard deviation.

Scans, AES, SHA-256 and copies of memory had 0.33 to 0.51 of the loop's (benches/crowding.py); a database mixes them.
"""

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

_SAMPLED = {LedgerKind.SPINNING: FunctionClass.SPINNING, LedgerKind.SCHEDULING: FunctionClass.SCHEDULING}
"""Lines that are classes of a CPU profile."""

Counter = Callable[[Measurement], float | None]
"""A count of one operation of a trial; None where it is not known."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Draws of what an operation of one condition takes beyond its baseline, µs."""

    condition: Condition
    panel: Panel
    us: FloatArray


class Draws:
    """One stream of standard normals for a whole ledger."""

    def __init__(self, seed: int = _SEED) -> None:
        self._random = np.random.default_rng(seed)

    def normal(self) -> FloatArray:
        """As many as every quantity has."""
        return self._random.standard_normal(_DRAWS)

    def student(self, freedom: int) -> FloatArray:
        """As many of Student's t."""
        return self._random.standard_t(freedom, _DRAWS)

    def difference(self, fitted: Fitted, mixture: Mixture) -> FloatArray:
        """Of a condition over its baseline, in the metric's unit, stratified over the posterior's quantiles."""
        found = posterior(mixture)
        at = (self._random.permutation(_DRAWS) + self._random.random(_DRAWS)) / _DRAWS
        return np.asarray(fitted.baseline_value * np.expm1(np.interp(at, found.cumulative, found.theta)))

    def mean(self, values: FloatArray, groups: FloatArray) -> FloatArray:
        """Of the mean of values that come in groups (rounds): by the groups' means, or of few groups the values."""
        means = np.array([values[groups == group].mean() for group in np.unique(groups)])
        used = means if len(means) >= _FEWEST_ROUNDS else values
        error = float(used.std(ddof=1)) / math.sqrt(len(used))
        return np.asarray(float(used.mean()) + error * self._random.standard_t(len(used) - 1, _DRAWS))

    def moments(self, values: Sequence[float]) -> FloatArray:
        """Of the mean share (0 to 1) that was seen at moments one after another, whose neighbours are alike.

        As many values as are in a first-order autoregression count for (1 - r) / (1 + r) of them, with r the
        correlation of neighbours, taken for 0 where it is below (Zięba and Ramza 2011, Metrology and Measurement
        Systems 18(4)).
        """
        seen = np.asarray(values, dtype=np.float64)
        if len(seen) < _FEWEST_BLOCKS:
            return np.asarray(np.clip(seen.mean() * (1.0 + self.normal()), 0.0, 1.0))
        apart = seen - seen.mean()
        whole = float((apart**2).sum())
        alike = min(0.9, max(0.0, float((apart[1:] * apart[:-1]).sum()) / whole)) if whole else 0.0
        independent = max(2.0, len(seen) * (1.0 - alike) / (1.0 + alike))
        error = float(seen.std(ddof=1)) / math.sqrt(independent)
        found = seen.mean() + error * self._random.standard_t(independent - 1.0, _DRAWS)
        return np.asarray(np.clip(found, 0.0, 1.0))

    def count(self, counts: FloatArray) -> FloatArray:
        """Of a count's mean over trials."""
        error = float(counts.std(ddof=1)) / math.sqrt(len(counts)) if len(counts) > 1 else 0.0
        return float(counts.mean()) + error * self.normal()


def ledgers(
    trials: Iterable[Trial],
    settings: RunSettings,
    prices: Mapping[str, PagePrices],
    profiles: Iterable[CpuProfile] = (),
    crowding: Iterable[float] = (),
) -> tuple[Ledger, ...]:
    """The ledger of every encrypted condition that has a CPU time, in the design's order.

    Args:
        trials: the run's.
        settings: the run's.
        prices: by the condition's key; of a condition without any, no page has a line.
        profiles: the run's; of a condition without any, spinning and crowding have no line.
        crowding: the CPU time of a loop while all CPUs are at work, over that of the loop alone, ahead of
            each block or round; none where that is not known, or there is one CPU.
    """
    crowded = tuple(crowding)
    sampled = {profile.condition.condition.key: profile for profile in profiles}
    fits = fit_metrics(panels(trials, settings), (Metric.CPU_PER_OPERATION, Metric.RESPONSE_TIME), settings.luck)
    draws = Draws()
    elapsed = {d.condition.key: amount(d.us) for d in _differences(fits[Metric.RESPONSE_TIME], draws)}
    cpu = _differences(fits[Metric.CPU_PER_OPERATION], draws)
    return tuple(
        _ledger(
            d,
            elapsed.get(d.condition.key),
            _Known(prices.get(d.condition.key), sampled.get(d.condition.key), crowded),
            draws,
        )
        for d in cpu
    )


def _differences(fit: CostFit, draws: Draws) -> Iterator[Difference]:
    for fitted, condition, mixture in fit.data():
        if condition.role is Role.TREATMENT and condition.level("cipher") != "none":
            yield Difference(condition, fitted.panel, draws.difference(fitted, mixture))


@dataclass(frozen=True, slots=True)
class _Part:
    """A line before it is put in figures."""

    kind: LedgerKind
    us: FloatArray
    items: tuple[LedgerItem, ...]
    source: str


@dataclass(frozen=True, slots=True)
class _Known:
    """What was measured of a condition apart from its trials."""

    prices: PagePrices | None
    profile: CpuProfile | None
    crowding: Sequence[float]
    """In the order of time."""


def _ledger(cpu: Difference, elapsed: Amount | None, known: _Known, draws: Draws) -> Ledger:
    parts, absent = _parts(cpu, known.prices, draws)
    spun = _sampled(known.profile, FunctionClass.SPINNING)
    switches = _switches(cpu)
    for kind, of in _SAMPLED.items():
        if (sampled := _sampled(known.profile, of)) is not None:
            parts.append(_of_samples(kind, sampled, switches if kind is LedgerKind.SCHEDULING else "", draws))
    crowded = _crowded(known, spun)
    if crowded is not None:
        parts.append(_crowding(crowded, known.crowding, draws))
    # A server, whose threads work side by side; with one CPU it has prices, or nothing tells that it is one.
    if known.crowding or (known.prices is not None and known.prices.counted in _SERVED):
        absent += _between_threads(known)
        if switches and all(part.kind is not LedgerKind.SCHEDULING for part in parts):
            absent.append(f"task switches: {switches}")
    rest = cpu.us - sum((part.us for part in parts), np.zeros(_DRAWS))
    lines = [_line(part, cpu.us) for part in (*parts, _Part(LedgerKind.REST, rest, (), ""))]
    return Ledger(
        condition=cpu.condition,
        baseline=cpu.panel.baseline,
        cpu=amount(cpu.us),
        lines=tuple(lines),
        elapsed=elapsed,
        waiting=None if elapsed is None or len(cpu.panel.trials) < _FEWEST_BLOCKS else amount(_waited(cpu, draws)),
        in_rest=tuple(absent),
    )


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


def _crossed(prices: PagePrices) -> tuple[Counter, Counter]:
    """What counts pages decrypted and encrypted."""
    if prices.counted in ("bytes", BLOCKS):
        return _moved(prices.page_bytes)
    read, written = _COUNTED[prices.counted]
    return _counter(read), _counter(written)


def _moved(page_bytes: int) -> tuple[Counter, Counter]:
    """Pages read and written, by the bytes that were asked of the system."""
    return (lambda m: m.asked_read_bytes / page_bytes), (lambda m: m.asked_written_bytes / page_bytes)


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
    return _Part(kind, sum(products, np.zeros(_DRAWS)), items, source)


def _log(price: Price, logged: FloatArray, counted: str, draws: Draws) -> _Part:
    item = LedgerItem(_LOGGED[counted], float(logged.mean()), price.us, price.quartiles)
    return _Part(LedgerKind.LOG, logged * price.draws(draws.normal()), (item,), "rows logged on the twins' servers")


def _io(plain: Sequence[Price], extra: Sequence[FloatArray], what: str, draws: Draws) -> _Part:
    done = tuple(f"{what} {moved} beyond plain" for moved in ("read", "written"))
    return _priced(LedgerKind.IO, extra, plain, done, f"plain {what}", draws)


def _between_threads(known: _Known) -> Iterator[str]:
    if known.profile is None:
        yield "spinning and scheduling: they are sampled with --profile"
    else:
        for kind, of in _SAMPLED.items():
            if _sampled(known.profile, of) is None:
                yield f"{kind.value}: no sample was of it"
    if known.crowding and max(known.crowding) >= _CROWDED and _crowded(known, None) is None:
        least, most = (f"{end:.1f}" for end in (min(known.crowding), max(known.crowding)))
        times = f"{most} times the CPU time" if least == most else f"{least} to {most} times the CPU time, by turns"
        how = "; how long they were is " + ("not known" if known.profile is not None else "sampled with --profile")
        yield f"CPUs that slow one another: with all at work a loop took {times}{how}"


def _switches(cpu: Difference) -> str:
    """How often threads slept and were woken beyond the plain twin's, where that is told apart from the scatter."""
    own, plain = (
        _counts(_trials_of(cpu.panel, of), lambda m: float(m.voluntary_switches))
        for of in (cpu.condition, cpu.panel.baseline)
    )
    if own is None or plain is None or len(own) < _FEWEST_BLOCKS:
        return ""
    more = own - plain
    rounds = np.unique(cpu.panel.rounds)
    # As in `Draws.mean`: blocks of a round share their instances.
    means = np.array([more[cpu.panel.rounds == at].mean() for at in rounds]) if len(rounds) >= _FEWEST_ROUNDS else more
    error = float(means.std(ddof=1)) / math.sqrt(len(means))
    if more.mean() <= max(_TOLD_APART * error, _SWITCHES_MORE * plain.mean()):
        return ""
    return f"threads slept and were woken {_rounded(more.mean())} times more an operation than plain"


def _rounded(count: float) -> str:
    return f"{count:,.0f}" if count >= 10 else f"{count:.2g}"


def _sampled(profile: CpuProfile | None, of: FunctionClass) -> ClassShare | None:
    """What was sampled of a class; None where nothing was."""
    classes = () if profile is None else profile.classes
    return next((one for one in classes if one.function_class is of), None)


def _of_samples(kind: LedgerKind, sampled: ClassShare, counted: str, draws: Draws) -> _Part:
    """A class of the profile as a line, with words of what was counted beside it.

    How rounds scatter says how sure it is: they have instances of their own, so the luck of these is in it, and the
    number of samples. The first may have more passes than others; then it weighs more, and all are less sure than as
    many alike. To that comes what prices have, too, since trials are not quite as profiles are. Of few rounds neither
    side is surer than a price is.
    """
    us = sampled.difference_ns / 1e3
    if len(sampled.rounds) >= _FEWEST_ROUNDS:
        weights = np.array([of.operations for of in sampled.rounds], dtype=np.float64)
        scatter = float(np.std([of.difference_ns for of in sampled.rounds], ddof=1)) / 1e3
        error = scatter * math.sqrt(float((weights**2).sum())) / float(weights.sum())
        found = us + error * draws.student(len(weights) - 1) + TRANSFER * us * draws.normal()
    else:
        low, high = sampled.interval95
        of_samples = (high - low) / 1e3 / _INTERVAL_OF_NORMAL
        sides = (TRANSFER * side / 1e3 for side in (sampled.plain_ns, sampled.encrypted_ns))
        found = us + math.hypot(of_samples, *sides) * draws.normal()
    source = "sampled, in the CPU profile"
    return _Part(kind, found, (), f"{source}; {counted}" if counted else source)


def _crowded(known: _Known, spun: ClassShare | None) -> tuple[float, float] | None:
    """CPU time of a plain and of an encrypted operation while all others were at work beside it, or its like, µs.

    With k of n CPUs at work, each of the k has a chance of (k - 1) / (n - 1) that the one that it shares a core with is
    among them. A thread that spins is in a line of its own, and slows nobody: PAUSE leaves the core's units to others.
    """
    if known.profile is None or not known.crowding:
        return None
    sides = known.profile.baseline.at_work_ns, known.profile.condition.at_work_ns
    if not all(len(side) > 1 for side in sides):
        return None
    spins = (0.0, 0.0) if spun is None else (spun.plain_ns, spun.encrypted_ns)
    plain, encrypted = (_beside(side, ns) / 1e3 for side, ns in zip(sides, spins, strict=True))
    return plain, encrypted


def _beside(at_work_ns: Sequence[float], spun_ns: float) -> float:
    others = len(at_work_ns) - 1
    several = {count: ns * count for count, ns in enumerate(at_work_ns, 1) if count > 1}
    weighted = sum(ns * (count - 1) / others for count, ns in several.items())
    share = weighted / sum(several.values()) if weighted else 0.0
    # Its own time, and that of whoever it would have slowed.
    return max(0.0, weighted - 2 * share * spun_ns)


def _crowding(crowded: tuple[float, float], ratios: Sequence[float], draws: Draws) -> _Part:
    """CPU time beside others times the share of it that their being at work makes up, as a loop has it."""
    plain, encrypted = crowded
    sd = math.hypot(TRANSFER * plain, TRANSFER * encrypted)
    slowed = draws.moments([1.0 - 1.0 / ratio for ratio in ratios])
    mean, scatter = OF_THE_LOOP
    slowed = slowed * (mean + scatter * draws.normal())
    us = (encrypted - plain + sd * draws.normal()) * slowed
    price = (1e3 * float(at) for at in np.percentile(slowed, (50, 25, 75)))
    item = LedgerItem("ms beside others at work", (encrypted - plain) / 1e3, next(price), (next(price), next(price)))
    return _Part(LedgerKind.CROWDING, us, (item,), "overlap in the CPU profile, a loop's CPU time")


def _extra(own: Sequence[Measurement], plain: Sequence[Measurement], counter: Counter, draws: Draws) -> FloatArray:
    """A count beyond the baseline's, block by block, since work differs between blocks."""
    counts, others = _counts(own, counter), _counts(plain, counter)
    return np.zeros(_DRAWS) if counts is None or others is None else draws.count(counts - others)


def _waited(cpu: Difference, draws: Draws) -> FloatArray:
    """What an operation waited longer: response time less CPU time, over the baseline's in the same block."""

    def off_cpu(measured: Measurement) -> float:
        return measured.response_ns / 1e3 - measured.cpu_seconds * _US / measured.operations

    own, plain = (_trials_of(cpu.panel, of) for of in (cpu.condition, cpu.panel.baseline))
    longer = np.array([off_cpu(m) - off_cpu(p) for m, p in zip(own, plain, strict=True)])
    return draws.mean(longer, cpu.panel.rounds.astype(np.float64))


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


def amount(us: FloatArray) -> Amount:
    """The median of draws, and their shortest interval of 95 %."""
    return Amount(float(np.median(us)), shortest(us))


def shortest(draws: FloatArray, mass: float = _MASS) -> tuple[float, float]:
    """The shortest interval that holds this much of the draws."""
    ordered = np.sort(draws)
    inside = math.ceil(mass * len(ordered))
    widths = ordered[inside - 1 :] - ordered[: len(ordered) - inside + 1]
    at = int(np.argmin(widths))
    return float(ordered[at]), float(ordered[at + inside - 1])


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
    )
