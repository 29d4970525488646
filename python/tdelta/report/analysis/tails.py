"""Tails of what other tools measured, in words and tables: for orientation, so with plain quotients and no verdict.

Of a bin that a threshold or a percentile lies in only the edges are known, so a cell may have two ends. Where there is
no interval the row says what was counted, and a line below says why there is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tdelta.document.blocks import Block, Listing, Medium, Paragraph
from tdelta.document.quantities import MISSING, amounts, counted, printable, small_share
from tdelta.findings.tails import TailGroup, TailRow, interval_text, quotient_text, tail_table, time_text
from tdelta.records import AnalysisResult, Comparison, ObservedSide, ObservedTail, TailRatio
from tdelta.report.analysis.words import label, side_titles

P99 = "p99"

CLOSED_LOOP = (
    "If the load's clients waited for each answer, a stall held up one transaction of each of them: those that would"
    " have come meanwhile are in no figure."
)
NO_DECISION = "Nothing is decided on tails."

_MOST_ROWS = 8
_SPELLED_OUT = 3
_NS_PER_MS = 1e6


def tail_groups(result: AnalysisResult) -> tuple[TailGroup, ...]:
    """Every figure there is: exceedances before percentiles; comparisons that decide the means come first."""
    having = _having(result)
    exceeding = tuple(
        _exceedance_row(label(c, result), tail) for c, tail in having if tail.baseline.longer_at_least is not None
    )
    percentiles = tuple(_percentile_row(label(c, result), tail) for c, tail in having)
    groups = (TailGroup(f"longer than {_threshold(having)}", exceeding, True), TailGroup(P99, percentiles, True))
    return tuple(group for group in groups if group.rows)


def tail_notes(result: AnalysisResult) -> str:
    having = _having(result)
    edges = dict.fromkeys(t.counted_from_ms for _, t in having if t.counted_from_ms is not None)
    parts = [_counting(list(edges), having)] if edges else []
    if any(_has_two_ends(side.p99_within_ms) for _, tail in having for side in (tail.baseline, tail.condition)):
        parts.append("A percentile lies between the edges of its bin; ratios are of the upper ones.")
    parts.append(f"Ratios are of condition over {printable(result.baseline)}.")
    units = dict.fromkeys(ratio.units for _, tail in having for ratio in _ratios(tail))
    if units:
        runs = " or ".join(counted(number, "run") for number in units)
        parts.append(f"The 95% intervals rest on {runs}: the run is the unit, and runs are taken to have alternated.")
    return " ".join((*parts, CLOSED_LOOP, NO_DECISION))


def reason_lines(groups: Sequence[TailGroup]) -> Iterator[str]:
    """Why rows have no interval; each reason once, with the rows that it is of."""
    rows = [(row, group) for group in groups for row in group.rows]
    places: dict[str, list[str]] = {}
    for row, group in rows:
        if row.reason:
            places.setdefault(row.reason, []).append(f"{row.label}, {group.title}")
    for reason, where in places.items():
        if len(where) == len(rows):
            yield f"{reason[0].upper()}{reason[1:]}."
        elif len(where) > _SPELLED_OUT:
            yield f"{len(where)} of {len(rows)} rows: {reason}."
        else:
            yield f"{'; '.join(where)}: {reason}."


def tail_blocks(result: AnalysisResult) -> list[Block]:
    """The tails, as many as a terminal has room for there; nothing where the files have none, or nobody asked."""
    groups = tail_groups(result)
    if not groups:
        return []
    shown = [TailGroup(group.title, group.rows[:_MOST_ROWS], True) for group in groups]
    blocks: list[Block] = []
    for medium, of in ((Medium.TERMINAL, shown), (Medium.PAGE, groups)):
        blocks.append(replace(tail_table("Tails", of, side_titles(result)), medium=medium))
        blocks.append(Listing([("", reason) for reason in reason_lines(of)], medium=medium))
    more = max(len(group.rows) for group in groups) - _MOST_ROWS
    if more > 0:
        words = f"{counted(more, 'more tail')}: --output page.html and --json have them."
        blocks.append(Paragraph(words, "note", Medium.TERMINAL))
    return [*blocks, Paragraph(tail_notes(result), "note")]


def _having(result: AnalysisResult) -> list[tuple[Comparison, ObservedTail]]:
    ordered = sorted(result.comparisons, key=lambda c: not c.primary)
    return [(c, c.tail) for c in ordered if c.tail is not None]


def _threshold(having: Sequence[tuple[Comparison, ObservedTail]]) -> str:
    return next((_time(tail.threshold_ms) for _, tail in having if tail.threshold_ms is not None), "")


def _counting(edges: Sequence[float], having: Sequence[tuple[Comparison, ObservedTail]]) -> str:
    """From where on values are counted, and what the second end of a share is."""
    begin = f"Shares are of all response times, counted from {_time(min(edges))} on"
    if len(edges) > 1:
        begin += f" (of some rows from {_time(max(edges))} on; --json has each)"
    has_two = any(_has_two_ends(_shares(side)) for _, tail in having for side in (tail.baseline, tail.condition))
    ends = "; an upper end counts the bins that the threshold lies in as well, ratios do not" if has_two else ""
    return f"{begin}{ends}."


def _exceedance_row(name: str, tail: ObservedTail) -> TailRow:
    plain, other = (_span(*map(small_share, _shares(side))) for side in (tail.baseline, tail.condition))
    ratio = quotient_text(tail.longer_quotient)
    return TailRow(
        name, plain, other, ratio, interval_text(tail.longer_ratio), printable(str(tail.longer_reason or ""))
    )


def _percentile_row(name: str, tail: ObservedTail) -> TailRow:
    within = [side.p99_within_ms or (math.nan, math.nan) for side in (tail.baseline, tail.condition)]
    texts = amounts([1e3 * end for ends in within for end in ends], "µs")
    plain, other = _span(*texts[:2]), _span(*texts[2:])
    ratio = quotient_text(tail.p99_quotient)
    return TailRow(name, plain, other, ratio, interval_text(tail.p99_ratio), printable(str(tail.p99_reason or "")))


def _shares(side: ObservedSide) -> tuple[float, float]:
    """The least and the most that may have taken longer, as shares."""
    of = max(1, side.count)
    return (side.longer_at_least or 0) / of, (side.longer_at_most or 0) / of


def _span(low: str, high: str) -> str:
    """Two figures of one unit as one cell: ``0.43 … 0.47%``; one where they read alike."""
    if MISSING in (low, high):
        return MISSING
    return low if low == high else f"{low.rsplit(' ', 1)[0]} … {high}"


def _has_two_ends(ends: tuple[float, float] | None) -> bool:
    return ends is not None and ends[0] != ends[1]


def _ratios(tail: ObservedTail) -> Iterator[TailRatio]:
    yield from (ratio for ratio in (tail.longer_ratio, tail.p99_ratio) if ratio is not None)


def _time(milliseconds: float) -> str:
    return time_text(round(_NS_PER_MS * milliseconds)) if math.isfinite(milliseconds) else MISSING
