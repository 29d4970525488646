"""The table of a run's costs: every verdict's row with ``--details``, else the rows that an owner asks for.

Throughput and the percentiles are no verdicts: throughput is the response time said the other way round, and has its
interval; percentiles have none.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rich.table import Table
from rich.text import Text

from tdelta.records import Decision, Metric, Percentile, RunResult, RunSettings, StepMeasure, Verdict
from tdelta.report.drawing import measured, narrowest, paragraph, plain_table
from tdelta.report.effect import cipher_name
from tdelta.report.estimand import parting
from tdelta.report.labels import (
    condition_label,
    decision_word,
    metric_label,
    metric_name,
    transaction_name,
)
from tdelta.report.quantities import (
    amounts,
    counted,
    decimals,
    interval,
    multiple,
    percent,
    points,
    rate,
    ratio_cells,
)
from tdelta.report.sentence import DOUBTS, companion, limits, tolerance_edges

THROUGHPUT = "throughput"

_TYPICAL = "  typical operation"
_ALL = "all"
_METRIC_ORDER = tuple(Metric)
_STYLES = {
    Decision.SLOWER: "bold yellow",
    Decision.OVER: "bold red",
    Decision.NEGLIGIBLE: "bold green",
    Decision.WITHIN: "bold green",
    Decision.FASTER: "bold cyan",
    Decision.UNDECIDED: "bold magenta",
    Decision.INVALID: "bold white on red",
}
VALUES_NOTE = "Values are per operation: the plain twins' mean, and that times the ratio of means."
"""The meaning of the two values beside an overhead."""

MOST_TYPES = 4
"""Transaction types that a brief table has a row for."""

_MOST_CONDITIONS = 12
"""Conditions that a brief table has a row for."""

_DIFFERS = (Decision.SLOWER, Decision.FASTER, Decision.OVER)
_CLEAR = f"the interval is clear of the limit, but rests on {DOUBTS}"
_BYTES = (Metric.READ_BYTES_PER_OPERATION, Metric.WRITTEN_BYTES_PER_OPERATION)
_US = 1e6

_SIGNS = "*†‡"
"""Of footnotes, in their order."""

Cells = tuple[str | Text, ...]


class _Footnotes:
    """Why verdicts are undecided whose intervals are clear of the limit: each reason once, by its sign.

    The reason of a run's only primary verdict is in the lines above the table.
    """

    def __init__(self, result: RunResult) -> None:
        self._settings = result.settings
        self._explained = result.primary[0] if len(result.primary) == 1 else None
        self._texts: dict[str, str] = {}

    def sign(self, verdict: Verdict) -> str:
        """What stands after the verdict's word; empty where the interval says as much."""
        bounds = limits(self._settings) if verdict.primary else tolerance_edges(self._settings)
        ends = _ends(verdict, self._settings)
        is_clear = not any(ends[0] <= bound <= ends[1] for bound in bounds)
        if verdict.decision is not Decision.UNDECIDED or verdict is self._explained or not is_clear:
            return ""
        why = verdict.reasons[-1] if len(verdict.reasons) > 1 else None
        code = "" if why is None else why.code
        text = _CLEAR if why is None else why.text.replace(" % HDI", " % interval")
        self._texts.setdefault(code, f"{text[:1].upper()}{text[1:]}.")
        at = list(self._texts).index(code)
        return f" {_SIGNS[min(at, len(_SIGNS) - 1)]}"

    def texts(self) -> list[str]:
        return [f"{sign} {text}" for sign, text in zip(_SIGNS, self._texts.values(), strict=False)]


def decision_style(decision: Decision) -> str:
    return _STYLES.get(decision, "bold")


def throughputs(verdict: Verdict, result: RunResult) -> tuple[float, float] | None:
    """Operations per second, plain and encrypted, of a verdict on the mix's response time.

    None where operations fall due at a rate, where an operation is a whole load or rebuild, and of other verdicts.
    """
    is_of_mix = (verdict.metric, verdict.transaction) == (Metric.RESPONSE_TIME, _ALL)
    has_steps = any(one.condition == verdict.condition for one in result.of(StepMeasure))
    if not is_of_mix or has_steps or result.loop.arrival_rates or not verdict.baseline_value > 0:
        return None
    threads = dict(verdict.condition.levels).get("threads", result.settings.options.get("threads", 1))
    at_once = threads if isinstance(threads, int) else 1
    return at_once * _US / verdict.baseline_value, at_once * _US / verdict.condition_value


def brief_table(result: RunResult, width: int, types: int = MOST_TYPES) -> list[Text | Table]:
    """The rows that an owner asks for: of one condition its costs and transactions, of several one row each.

    Args:
        types: transaction types at most, where they have rows: those that became the slowest.
    """
    if not result.verdicts:
        return []
    is_single = len({v.condition for v in result.verdicts}) == 1
    notes = _Footnotes(result)
    table, note = _of_one(result, notes, types) if is_single else _of_several(result, notes)
    table.columns[-1].no_wrap = True
    if narrowest(table) > width:  # before that, labels fold: columns with one blank between them run together
        table.padding = (0, 1, 0, 0)
    return [table, *(line for text in (*notes.texts(), note) for line in paragraph(text, width, "dim"))]


def _ends(verdict: Verdict, settings: RunSettings) -> tuple[float, float]:
    """The interval that is shown: with a budget the one that it is decided on."""
    return verdict.ratio.hdi95 if settings.budget is None else verdict.ratio.hdi99


def _level(settings: RunSettings) -> str:
    return "95 % interval" if settings.budget is None else "99 % interval"


def _of_one(result: RunResult, notes: _Footnotes, most_types: int) -> tuple[Table, str]:
    settings = result.settings
    name = cipher_name(condition_label(result.verdicts[0].condition, settings))
    table = plain_table(
        (
            ("per operation", False),
            *((title, True) for title in ("plain", name, "change", _level(settings))),
            ("verdict", False),
        )
    )
    for verdict in (v for _, rows in _grouped(result) for v in rows if v.transaction == _ALL):
        if verdict.primary or _is_asked_for(verdict):
            style = "bold" if verdict.primary else ""
            table.add_row(metric_label(verdict.metric, settings), *_brief_cells(verdict, result, notes), style=style)
        for label, cells in _beside(verdict, result, _ends(verdict, settings), has_times=False):
            table.add_row(label, *cells)
    types = [v for v in result.verdicts if v.transaction != _ALL and v.metric is Metric.RESPONSE_TIME]
    slowest = sorted(types, key=lambda v: -v.ratio.median)[:most_types]
    for verdict in (v for v in types if v in slowest):
        table.add_row(transaction_name(verdict.transaction), *_brief_cells(verdict, result, notes))
    more = _left_out([v for v in types if v not in slowest], settings)
    return table, f"Only {metric_name(settings.metric, settings)} decides.{more}"


def _left_out(types: list[Verdict], settings: RunSettings) -> str:
    """From where to where the types without a row go: those with one are the slowest, and would mislead alone."""
    if not types:
        return ""
    least, most = (pick(types, key=lambda v: v.ratio.median).ratio for pick in (min, max))
    bounds = tolerance_edges(settings)
    places = decimals((least.median, most.median), bounds)
    ends = list(dict.fromkeys(points(ratio.median, places) for ratio in (least, most)))
    return f" {counted(len(types), 'more transaction type')} ({' to '.join(ends)} %) with --details."


def _is_asked_for(verdict: Verdict) -> bool:
    if verdict.metric in _BYTES:
        return verdict.decision in _DIFFERS
    return verdict.metric is not Metric.TIME_WITH_CHECKPOINT


def _beside(
    verdict: Verdict, result: RunResult, ends: tuple[float, float], *, has_times: bool
) -> Iterator[tuple[str, Cells]]:
    """The rows that go with a verdict on response time, with the ends of its interval: throughput and percentiles.

    With ``has_times``, quotients stand beside percentages that are far from 100.
    """
    if verdict.metric is not Metric.RESPONSE_TIME or verdict.transaction != _ALL:
        return
    if (found := throughputs(verdict, result)) is not None and min(verdict.ratio.median, *ends) > 0:
        less, across = 1 / verdict.ratio.median, (1 / ends[1], 1 / ends[0])
        places = decimals((less, *across))
        word = decision_word(verdict.decision, verdict.metric) if verdict.decision is Decision.UNDECIDED else ""
        yield (
            THROUGHPUT,
            (*(f"{rate(one)}/s" for one in found), percent(less, places), interval(across, places), word),
        )
    for one in result.of(Percentile):
        if one.condition == verdict.condition:
            sides = amounts((one.baseline_ns / 1e3, one.condition_ns / 1e3), "µs")
            times = multiple(one.quotient)
            change = percent(one.quotient, decimals((one.quotient,))) + (f" ({times})" if times and has_times else "")
            yield f"p{100 * one.quantile:g}", (*sides, change, "", "")


def _brief_cells(verdict: Verdict, result: RunResult, notes: _Footnotes) -> Cells:
    settings = result.settings
    baseline, twin = amounts((verdict.baseline_value, verdict.condition_value), verdict.unit)
    bounds = limits(settings) if verdict.primary else tolerance_edges(settings)
    ends = _ends(verdict, settings)
    places = decimals((verdict.ratio.median, *ends), bounds)
    change, across = percent(verdict.ratio.median, places), interval(ends, places)
    return baseline, twin, change, across, _decision(verdict).append(notes.sign(verdict))


def _of_several(result: RunResult, notes: _Footnotes) -> tuple[Table, str]:
    settings = result.settings
    others = [companion(verdict, result) for verdict in result.primary]
    has_cpu = any(other is not None for other in others)
    table = plain_table(
        (
            (metric_label(settings.metric, settings), False),
            *((title, True) for title in ("plain", "twin", "change", _level(settings))),
            *((("CPU" if settings.metric is not Metric.CPU_PER_OPERATION else "time", True),) if has_cpu else ()),
            ("verdict", False),
        )
    )
    for verdict, other in list(zip(result.primary, others, strict=True))[:_MOST_CONDITIONS]:
        *cells, decision = _brief_cells(verdict, result, notes)
        cpu = (
            (percent(other.ratio.median, decimals((other.ratio.median,))) if other is not None else "",)
            if has_cpu
            else ()
        )
        table.add_row(cipher_name(condition_label(verdict.condition, settings)), *cells, *cpu, decision)
    left = len(result.primary) - _MOST_CONDITIONS
    more = f" {counted(left, 'more condition')} with --details." if left > 0 else ""
    return table, f"Per operation; throughput, percentiles and transaction types of each with --details.{more}"


def full_table(result: RunResult, width: int) -> list[Text | Table]:
    """A row of every verdict, the primary ones first."""
    if not result.verdicts:
        return []
    has_truth = any(v.realised is not None for v in result.verdicts)
    table = plain_table(
        (
            ("", False),
            *((name, True) for name in ("baseline", "twin", "overhead", "95 % HDI")),
            *((("realised", True),) if has_truth else ()),
            ("verdict", False),
        )
    )
    table.columns[-1].no_wrap = True
    is_single = len({v.condition for v in result.verdicts}) == 1
    if is_single:
        table.columns[0].header = condition_label(result.verdicts[0].condition, result.settings)
    for title, rows in _grouped(result):
        _add_group(table, title, rows, result, is_single=is_single, has_truth=has_truth)
    note = VALUES_NOTE
    if measured(table) > width:
        table.padding = (0, 1, 0, 0)
    if len(result.verdicts) > len(result.primary):
        metric = metric_name(result.settings.metric, result.settings)
        note += f" Only {metric} over the mix decides; the rest is for orientation."
    return [table, Text(), *paragraph(note, width, "dim")]


def _grouped(result: RunResult) -> list[tuple[str, list[Verdict]]]:
    """Primary verdicts first, then the mix by metric, then each transaction type; the order within is the design's."""

    def rank(verdict: Verdict) -> tuple[bool, bool, int, str]:
        is_part = verdict.transaction != _ALL
        return not verdict.primary, is_part, _METRIC_ORDER.index(verdict.metric), verdict.transaction if is_part else ""

    ordered = sorted(result.verdicts, key=rank)
    return [
        (_title(rows[0], result.settings), rows) for rows in (list(group) for _, group in groupby(ordered, key=rank))
    ]


def _title(verdict: Verdict, settings: RunSettings) -> str:
    if verdict.transaction == _ALL:
        return metric_label(verdict.metric, settings)
    name = transaction_name(verdict.transaction)
    return name if verdict.metric is Metric.RESPONSE_TIME else f"{name}: {metric_label(verdict.metric, settings)}"


def _add_group(
    table: Table, title: str, rows: list[Verdict], result: RunResult, *, is_single: bool, has_truth: bool
) -> None:
    if not is_single:
        table.add_row(Text(title, style="bold" if rows[0].primary else ""))
    for verdict in rows:
        label = title if is_single else f"  {condition_label(verdict.condition, result.settings)}"
        cells = _cells(verdict, result)
        truth = (_truth(verdict),) if has_truth else ()
        table.add_row(label, *cells, *truth, _decision(verdict), style="bold" if verdict.primary else "")
        if verdict.primary and verdict.typical is not None and (is_single or parting(verdict, result)):
            row = (
                _TYPICAL,
                "",
                "",
                *ratio_cells(verdict.typical, limits(result.settings)),
                *(("",) if has_truth else ()),
                "",
            )
            table.add_row(*row)
        if is_single:
            for name, beside in _beside(verdict, result, verdict.ratio.hdi95, has_times=True):
                table.add_row(name, *beside[:-1], *(("",) if has_truth else ()), beside[-1])


def _cells(verdict: Verdict, result: RunResult) -> tuple[str, ...]:
    baseline, twin = amounts((verdict.baseline_value, verdict.condition_value), verdict.unit)
    return baseline, twin, *ratio_cells(verdict.ratio, limits(result.settings))


def _truth(verdict: Verdict) -> str:
    return "" if verdict.realised is None else percent(verdict.realised)


def _decision(verdict: Verdict) -> Text:
    return Text(
        decision_word(verdict.decision, verdict.metric),
        style=decision_style(verdict.decision) if verdict.primary else "",
    )
