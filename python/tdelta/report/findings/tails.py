"""Tails in words and tables: shown for orientation, so with plain quotients, no verdict.

Where an interval cannot be given the row says what was counted, and a line below says why there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tdelta.document.blocks import Block, Heading, Listing, Medium, Paragraph, Table, columns
from tdelta.document.labels import condition_label, transaction_name
from tdelta.document.quantities import MISSING, amounts, counted, percent, small_share
from tdelta.document.wording import label
from tdelta.records import (
    ALL,
    BadTrials,
    Exceedance,
    Hosts,
    Percentile,
    Percentile99,
    Role,
    RunResult,
    TailMeasure,
    TailRatio,
    TailUnit,
)

APPROXIMATE = "p99 (approximate)"

OVER_BOTH = "Ratios are over both plain twins, with 95% intervals; of the A/A twin over the other plain twin."
OVER_ONE = "Ratios are over the plain twin that was on the same host in every round, with 95% intervals."
BAD_TRIALS = (
    "A trial (one twin's part of a block) counts once, however many of its transactions a stall holds up; the interval"
    " is of how often trials have any."
)
ONE_ROUND = (
    "Of a single round, how far instances differ by chance in how often they stall is mostly an assumption (an sd of"
    " some 20%): take three rounds or more."
)

_UNITS = (("s", 10**9), ("ms", 10**6), ("µs", 10**3), ("ns", 1))
_MOST_TYPES = 8
_SPELLED_OUT = 2


@dataclass(frozen=True, slots=True)
class TailRow:
    """A row: whose tail, both sides' figures, their quotient and its interval. ``reason``: why there is no interval."""

    label: str
    baseline: str
    condition: str
    ratio: str
    interval: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TailGroup:
    """Rows of one figure of one transaction; ``is_mix`` of the whole mix."""

    title: str
    rows: tuple[TailRow, ...]
    is_mix: bool


def tail_groups(result: RunResult) -> tuple[TailGroup, ...]:
    """Every figure there is: the mix first, exceedances, bad trials, percentiles, conditions in the design's order."""
    found = []
    for transaction in dict.fromkeys(measure.transaction for measure in result.of(TailMeasure)):
        measures = [m for m in result.of(TailMeasure) if m.transaction == transaction]
        name = "" if transaction == ALL else f"{transaction_name(transaction)}: "
        exceeding = tuple(_exceedance_row(m, m.exceedance, result) for m in measures if m.exceedance is not None)
        percentiles = tuple(_percentile_row(m, m.p99, result) for m in measures if m.p99 is not None)
        bad = tuple(_bad_row(m, b, result) for m in measures if (b := _bad(m)) is not None)
        is_mix = transaction == ALL
        found.append(TailGroup(f"{name}longer than {_latency_limit(result)}", exceeding, is_mix))
        found.append(TailGroup(f"{name}trials with any longer than {_latency_limit(result)}", bad, is_mix))
        found.append(TailGroup(f"{name}{APPROXIMATE}", percentiles, is_mix))
    groups = [group for group in found if group.rows]
    return tuple(sorted(groups, key=lambda group: not group.is_mix))


def tail_notes(result: RunResult, *, has_types: bool = True) -> list[str]:
    exceeding = [m.exceedance for m in result.of(TailMeasure) if m.exceedance is not None]
    ratios = [ratio for m in result.of(TailMeasure) for ratio in _ratios(m)]
    parts = []
    if exceeding:
        parts.append(f"Shares are of transactions, counted from {time_text(exceeding[0].counted_from_ns)} on.")
    parts.append(OVER_ONE if result.of(Hosts) else OVER_BOTH)
    units = dict.fromkeys((ratio.unit, ratio.units) for ratio in ratios)
    parts += [f"Those of shares and percentiles rest on {_units(units)}."] if units else []
    shown = [measure for measure in result.of(TailMeasure) if has_types or measure.transaction == ALL]
    bad = [found for measure in shown if (found := _bad(measure)) is not None]
    parts += [BAD_TRIALS] if bad else []
    parts += [ONE_ROUND] if any(found.rounds == 1 for found in bad) else []
    if not result.settings.is_open_loop:
        parts.append("Closed loop: a stall holds up one transaction a thread; --rate counts all that were due.")
    parts.append("Nothing is decided on tails.")
    return [" ".join(parts)]


def tail_table(caption: str, groups: Sequence[TailGroup], sides: tuple[str, str]) -> Table:
    """The rows of figures below their titles; ``sides`` are the headings of both sides' figures."""
    rows: list[tuple[str, ...]] = []
    for group in groups:
        rows.append((group.title,))
        rows += [(row.label, row.baseline, row.condition, row.ratio, row.interval) for row in group.rows]
    return Table(caption, columns(*sides, "ratio", "95% interval"), rows, name="tails")


def time_text(nanoseconds: int) -> str:
    """A time as it was typed, or an edge to six figures: ``20 ms``, ``20.0049 ms``."""
    name, size = next(unit for unit in _UNITS if nanoseconds >= unit[1] or unit[1] == 1)
    return f"{nanoseconds / size:.6g} {name}"


def quotient_text(value: float | None) -> str:
    """How many times as often, or as long: ``1.45 x``; where there is none, a dash."""
    return MISSING if value is None else f"{_figures(value)}×"


def interval_text(ratio: TailRatio | None) -> str:
    """The ends of a ratio's interval: ``1.22 … 1.73``; where there is none, a dash."""
    return MISSING if ratio is None else " … ".join(_figures(end) for end in ratio.interval95)


def _latency_limit(result: RunResult) -> str:
    found = (m.exceedance.threshold_ns for m in result.of(TailMeasure) if m.exceedance is not None)
    return time_text(next(found, 0))


def _shows_types(result: RunResult) -> bool:
    types = {m.transaction for m in result.of(TailMeasure)} - {ALL}
    return len({v.condition for v in result.primary}) == 1 and len(types) <= _MOST_TYPES


def reason_lines(groups: Iterable[TailGroup]) -> list[str]:
    """Why rows have no interval, or what theirs misses; a reason that many rows share only once."""
    places: dict[str, list[str]] = {}
    for group in groups:
        for row in group.rows:
            if row.reason:
                places.setdefault(row.reason, []).append(f"{row.label}, {group.title}")
    return [
        f"{counted(len(where), 'row') if len(where) > _SPELLED_OUT else '; '.join(where)}: {reason}."
        for reason, where in places.items()
    ]


def _ratios(measure: TailMeasure) -> Iterator[TailRatio]:
    for part in (measure.exceedance, measure.p99):
        if part is not None and part.ratio is not None:
            yield part.ratio


def _units(units: Iterable[tuple[TailUnit, int]]) -> str:
    return " or ".join(counted(number, unit.value) for unit, number in units)


def _exceedance_row(measure: TailMeasure, found: Exceedance, result: RunResult) -> TailRow:
    plain, other = small_share(found.baseline.share), small_share(found.condition.share)
    ratio = quotient_text(found.quotient)
    return TailRow(_label(measure, result), plain, other, ratio, interval_text(found.ratio), found.reason)


def _percentile_row(measure: TailMeasure, found: Percentile99, result: RunResult) -> TailRow:
    plain, other = amounts((found.baseline_ns / 1e3, found.condition_ns / 1e3), "µs")
    ratio = quotient_text(found.quotient)
    return TailRow(_label(measure, result), plain, other, ratio, interval_text(found.ratio), found.reason)


def _bad(measure: TailMeasure) -> BadTrials | None:
    """Bad trials that have an interval."""
    found = measure.exceedance.bad_trials if measure.exceedance is not None else None
    return None if found is None or found.low is None else found


def _bad_row(measure: TailMeasure, found: BadTrials, result: RunResult) -> TailRow:
    plain = f"{found.baseline_bad:,} of {found.baseline_trials:,}"
    other = f"{found.condition_bad:,} of {found.condition_trials:,}"
    ratio = quotient_text(found.quotient)
    return TailRow(_label(measure, result), plain, other, ratio, _bad_interval(found), _missed(found))


def _bad_interval(found: BadTrials) -> str:
    low, high = found.low or 0.0, found.high
    if high is None:
        return f"from {_figures(low)} on"
    return f"{_figures(low)} … {_figures(high)}" if found.condition_bad else f"at most {_figures(high)}"


def _missed(found: BadTrials) -> str:
    """What so few bad trials cannot exclude; empty where the interval leaves 1 out."""
    low, high = found.low or 0.0, found.high
    if low > 1.0 or (high is not None and high < 1.0):
        return ""
    bad = counted(found.condition_bad + found.baseline_bad, "bad trial")
    if high is None:
        return f"{bad} in all, none of them plain: too few to exclude chance, and nothing bounds the ratio from above"
    return f"{bad} in all do not show a difference; {_figures(high)} times as often would have been missed, too"


def _label(measure: TailMeasure, result: RunResult) -> str:
    label = condition_label(measure.condition, result.settings)
    return label if measure.condition.role is not Role.AA else label.replace("A/A twin", "A/A twin over plain", 1)


def _figures(value: float) -> str:
    """Two decimals, and three figures where that would say less: ``1.45``, ``0.0213``, ``12.1``, ``1,210``."""
    if 0.1 <= value < 10:
        return f"{value:.2f}"
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def blocks(result: RunResult) -> Iterator[Block]:
    """How often the threshold was exceeded and the 99th percentiles; nothing where the run has neither.

    A terminal shows single transaction types where one condition is judged and there are few of them.
    """
    groups = tail_groups(result)
    if not groups:
        return
    shows_types = _shows_types(result)
    mix, types = ([group for group in groups if group.is_mix is is_mix] for is_mix in (True, False))
    yield Heading("Tails over the plain twins'")
    yield tail_table("Tails", groups if shows_types else mix, ("baseline", "twin"))
    if types and not shows_types:
        of_types = tail_table("Tails by transaction type", types, ("baseline", "twin"))
        yield replace(of_types, folded=True, medium=Medium.PAGE)
    yield _reasons(groups if shows_types else mix, Medium.TERMINAL)
    yield _reasons(groups, Medium.PAGE)
    for medium, has_types in ((Medium.TERMINAL, shows_types), (Medium.PAGE, True)):
        yield from (Paragraph(note, "note", medium) for note in tail_notes(result, has_types=has_types))


def _reasons(groups: Sequence[TailGroup], medium: Medium) -> Listing:
    return Listing([("", reason) for reason in reason_lines(groups)], medium=medium)


def percentile_blocks(result: RunResult) -> list[Block]:
    """Percentiles of the mix that every run has; in a terminal they are rows of the table of costs."""
    rows = []
    for one in result.of(Percentile):
        sides = amounts((one.baseline_ns / 1e3, one.condition_ns / 1e3), "µs")
        rows.append((label(one.condition, result.settings), f"p{100 * one.quantile:g}", *sides, percent(one.quotient)))
    caption = "Percentiles of the mix's response times, for orientation: without intervals"
    titles = columns("percentile", "plain", "twin", "change")
    return [Table(caption, titles, rows, medium=Medium.PAGE)] if rows else []
