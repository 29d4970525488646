"""Tails in words and tables: shown for orientation, so with plain quotients, no verdict.

Where an interval cannot be given the row says what was counted, and a line below says why there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tdelta import inference
from tdelta.document.blocks import Block, Heading, Listing, Medium, Paragraph, Table, columns
from tdelta.document.labels import condition_label, sides_of
from tdelta.document.quantities import MISSING, amounts, counted, small_share
from tdelta.findings.base import FinishedRun, Kind
from tdelta.messages import Caution
from tdelta.records import ALL, BadTrials, Hosts, RunResult, TailMeasure, TailRatio
from tdelta.records.findings import Exceedance, Percentile99

_OVER_BOTH = "Ratios compare with both unencrypted copies, with 95% intervals; the A/A control with the other one."
_OVER_ONE = "Ratios compare with the unencrypted copy on the same host in every round, with 95% intervals."
_BAD_TRIALS = (
    "A trial counts once, regardless of the number of its transactions that a stall delays; the interval is of the"
    " share of trials with any."
)
_ONE_ROUND = (
    "With a single round, the variation of stalls between copies is mostly an assumption (standard deviation of about"
    " 20%): run at least three rounds."
)
_CLOSED_LOOP = "Closed loop: a stall delays one transaction per thread; --rate counts all that were due."

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


def of_run(run: FinishedRun) -> Sequence[TailMeasure]:
    return inference.tail_measures(run.trials, run.settings, run.read_trials)


def cautions(found: Sequence[TailMeasure], run: FinishedRun) -> Iterator[Caution]:
    yield from inference.tail_cautions(run.trials, found, run.settings)


def blocks(found: Sequence[TailMeasure], result: RunResult) -> Iterator[Block]:
    """How often the threshold was exceeded, and the ratios of 99th percentiles.

    Percentiles without intervals are rows of the terminal's table of costs, and of the page's figure. A terminal shows
    single transaction types where one condition is judged and there are few of them.
    """
    if not (groups := tail_groups(found, result)):
        return
    mix, types = ([group for group in groups if group.is_mix is is_mix] for is_mix in (True, False))
    is_single = len({v.condition for v in result.primary}) == 1
    shows_types = is_single and len({m.transaction for m in found} - {ALL}) <= _MOST_TYPES
    brief = groups if shows_types else mix
    sides = sides_of(result.settings)
    names = (sides.baseline, "copy")
    yield Heading(f"Tails, compared with {sides.copies}")
    yield tail_table("Tails", brief, names)
    if types and not shows_types:
        of_types = tail_table("Tails by transaction type", types, names)
        yield replace(of_types, folded=True, medium=Medium.PAGE)
    of_brief = found if shows_types else [m for m in found if m.transaction == ALL]
    for medium, shown, measures in ((Medium.TERMINAL, brief, of_brief), (Medium.PAGE, groups, found)):
        yield Listing([("", reason) for reason in _reason_lines(shown)], medium=medium)
        yield Paragraph(note(found, measures, result), "note", medium)


def tail_groups(found: Sequence[TailMeasure], result: RunResult) -> list[TailGroup]:
    """Every figure there is: the mix first, exceedances, bad trials, percentiles, conditions in the design's order."""
    thresholds = (m.exceedance.threshold_ns for m in found if m.exceedance is not None)
    limit = time_text(next(thresholds, 0))
    groups = []
    for transaction in dict.fromkeys(m.transaction for m in found):
        measures = [m for m in found if m.transaction == transaction]
        name = "" if transaction == ALL else f"{transaction}: "
        for title, row in (
            (f"longer than {limit}", _exceedance_row),
            (f"trials with any longer than {limit}", _bad_row),
            ("p99 (approximate)", _percentile_row),
        ):
            rows = tuple(made for m in measures if (made := row(m, result)) is not None)
            groups += [TailGroup(f"{name}{title}", rows, transaction == ALL)] if rows else []
    return sorted(groups, key=lambda group: not group.is_mix)


def _exceedance_row(measure: TailMeasure, result: RunResult) -> TailRow | None:
    if (found := measure.exceedance) is None:
        return None
    return _row(measure, found, (small_share(found.baseline.share), small_share(found.condition.share)), result)


def _percentile_row(measure: TailMeasure, result: RunResult) -> TailRow | None:
    if (found := measure.p99) is None:
        return None
    return _row(measure, found, amounts((found.baseline_ns / 1e3, found.condition_ns / 1e3), "µs"), result)


def _row(measure: TailMeasure, found: Exceedance | Percentile99, sides: Iterable[str], result: RunResult) -> TailRow:
    label, ratio = condition_label(measure.condition, result.settings), quotient_text(found.quotient)
    plain, other = sides
    return TailRow(label, plain, other, ratio, interval_text(found.ratio), str(found.reason or ""))


def _bad_row(measure: TailMeasure, result: RunResult) -> TailRow | None:
    if (found := _bad(measure)) is None:
        return None
    low, high = found.low or 0.0, found.high
    if high is None:
        across = f"from {_figures(low)} on"
    else:
        across = f"{_figures(low)} to {_figures(high)}" if found.condition_bad else f"at most {_figures(high)}"
    plain = f"{found.baseline_bad:,} of {found.baseline_trials:,}"
    other = f"{found.condition_bad:,} of {found.condition_trials:,}"
    label, ratio = condition_label(measure.condition, result.settings), quotient_text(found.quotient)
    return TailRow(label, plain, other, ratio, across, _missed(found))


def _bad(measure: TailMeasure) -> BadTrials | None:
    """Bad trials that have an interval."""
    found = measure.exceedance.bad_trials if measure.exceedance is not None else None
    return None if found is None or found.low is None else found


def _missed(found: BadTrials) -> str:
    """Ratios that so few bad trials cannot exclude; empty where the interval leaves 1 out."""
    low, high = found.low or 0.0, found.high
    if low > 1.0 or (high is not None and high < 1.0):
        return ""
    bad = counted(found.condition_bad + found.baseline_bad, "bad trial")
    if high is None:
        return f"{bad} in all, none of them plain: too few to exclude chance, and nothing bounds the ratio from above"
    return f"{bad} in all do not show a difference; {_figures(high)} times as often would have been missed, too"


def note(found: Sequence[TailMeasure], shown: Sequence[TailMeasure], result: RunResult) -> str:
    """The scope of the figures, and their intervals; of bad trials only where those ``shown`` have any."""
    parts = []
    if exceeding := [m.exceedance for m in found if m.exceedance is not None]:
        parts.append(f"Shares are of transactions, counted from {time_text(exceeding[0].counted_from_ns)} on.")
    parts.append(_OVER_ONE if result.of(Hosts) else _OVER_BOTH)
    ratios = [of.ratio for m in found for of in (m.exceedance, m.p99) if of is not None and of.ratio is not None]
    if units := dict.fromkeys(counted(ratio.units, ratio.unit.value) for ratio in ratios):
        parts.append(f"Those of shares and percentiles rest on {' or '.join(units)}.")
    bad = [of for m in shown if (of := _bad(m)) is not None]
    parts += [_BAD_TRIALS] if bad else []
    parts += [_ONE_ROUND] if any(of.rounds == 1 for of in bad) else []
    parts += [] if result.settings.is_open_loop else [_CLOSED_LOOP]
    return " ".join((*parts, "Informational."))


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
    return MISSING if ratio is None else " to ".join(_figures(end) for end in ratio.interval95)


def _figures(value: float) -> str:
    """Two decimals, and three figures where that would say less: ``1.45``, ``0.0213``, ``12.1``, ``1,210``."""
    if 0.1 <= value < 10:
        return f"{value:.2f}"
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def _reason_lines(groups: Iterable[TailGroup]) -> list[str]:
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


KIND = Kind(TailMeasure, of_run, blocks, "latency", cautions=cautions)
