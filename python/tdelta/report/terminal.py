"""The answer in a terminal or a pipe: sentence, table, noise floor, checks, cautions, and how to go on.

Text is laid out for a width and returned; colour is added only when asked for, so that what a pipe receives is what a
terminal shows, less its colours.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tdelta.records import Decision, Estimate, Metric, RunResult, Verdict
from tdelta.report.command import next_command, repeat_command
from tdelta.report.labels import condition_label, database_text, metric_label, metric_name, transaction_name
from tdelta.report.quantities import (
    MISSING,
    amounts,
    counted,
    decimals,
    duration,
    estimate_text,
    interval,
    multiple,
    percent,
    small_share,
    wrap,
)
from tdelta.report.sentence import answer, floor, limits

DEFAULT_WIDTH = 100
NARROWEST = 80
_UNBOUNDED = 1000
_ALL = "all"
_METRIC_ORDER = tuple(Metric)
_STYLES = {
    Decision.COSTLY: "bold yellow",
    Decision.OVER: "bold red",
    Decision.NEGLIGIBLE: "bold green",
    Decision.WITHIN: "bold green",
    Decision.FASTER: "bold cyan",
    Decision.UNDECIDED: "bold magenta",
    Decision.UNSOUND: "bold white on red",
}
_STOPPED_BY = {
    "precision": "ended at the aimed precision",
    "time": "ended with too little time for another round",
    "rounds": "ended at the round limit",
}


def render(result: RunResult, width: int = DEFAULT_WIDTH, *, color: bool = False) -> str:
    """Everything a person needs to see of one run, as text that ends in a newline.

    Args:
        result: the finished (or interrupted) run.
        width: columns; at least 80 are used.
        color: whether to add ANSI colours.
    """
    width = max(NARROWEST, width)
    sections = (
        _headline(result, width),
        _table(result, width),
        _notes(result, width),
        _checks(result, width),
        _cautions(result, width),
        _footer(result, width),
    )
    return draw([part for section in sections if section for part in (*section, Text())][:-1], width, color=color)


def draw(parts: Iterable[Text | Table], width: int, *, color: bool) -> str:
    """Turn rich parts into text of ``width`` columns without trailing blanks."""
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
        _environ={},
    )
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, Text))
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())


def plain_table(headings: Iterable[tuple[str, bool]]) -> Table:
    """A table without lines; each heading says whether its column holds numbers (to the right, never folded)."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    for title, is_number in headings:
        table.add_column(title, justify="right" if is_number else "left", no_wrap=is_number)
    return table


def paragraph(text: str, width: int, style: str = "", indent: str = "") -> list[Text]:
    """A folded paragraph, one styled line an item."""
    return [Text(line, style=style) for line in wrap(text, width, indent)]


def _headline(result: RunResult, width: int) -> list[Text | Table]:
    noise = floor(result)
    lines: list[Text | Table] = [*paragraph(answer(result), width, _STYLES.get(result.decision, "bold"))]
    return [*lines, *paragraph(noise, width)] if noise else lines


def _table(result: RunResult, width: int) -> list[Text | Table]:
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
    note = "Values are of one operation: the plain twins' geometric mean, and that times the ratio."
    if Console(width=_UNBOUNDED).measure(table).maximum > width:
        table.padding = (0, 1, 0, 0)
    if len(result.verdicts) > len(result.primary):
        note += f" Only {metric_name(result.settings.metric)} over the mix decides; the rest is for orientation."
    return [table, Text(), *paragraph(note, width, "dim")]


def _grouped(result: RunResult) -> list[tuple[str, list[Verdict]]]:
    """Primary verdicts first, then the mix by metric, then each transaction type; the order within is the design's."""

    def rank(verdict: Verdict) -> tuple[bool, bool, int, str]:
        is_part = verdict.transaction != _ALL
        return not verdict.primary, is_part, _METRIC_ORDER.index(verdict.metric), verdict.transaction if is_part else ""

    ordered = sorted(result.verdicts, key=rank)
    return [(_title(rows[0]), rows) for rows in (list(group) for _, group in groupby(ordered, key=rank))]


def _title(verdict: Verdict) -> str:
    if verdict.transaction == _ALL:
        return metric_label(verdict.metric)
    name = transaction_name(verdict.transaction)
    return name if verdict.metric is Metric.RESPONSE_TIME else f"{name}: {metric_label(verdict.metric)}"


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


def _cells(verdict: Verdict, result: RunResult) -> tuple[str, ...]:
    baseline, twin = amounts((verdict.baseline_value, verdict.condition_value), verdict.unit)
    places = decimals((verdict.ratio.median, *verdict.ratio.hdi95), limits(result.settings))
    times = multiple(verdict.ratio.median)
    overhead = percent(verdict.ratio.median, places) + (f" ({times})" if times else "")
    return baseline, twin, overhead, interval(verdict.ratio.hdi95, places)


def _truth(verdict: Verdict) -> str:
    return "" if verdict.realised is None else percent(verdict.realised)


def _decision(verdict: Verdict) -> Text:
    return Text(verdict.decision.value, style=_STYLES[verdict.decision] if verdict.primary else "")


def _notes(result: RunResult, width: int) -> list[Text | Table]:
    return [text for line in _priors(result) for text in paragraph(line, width, indent="  ")]


def _priors(result: RunResult) -> list[str]:
    """The pull of the prior: what changes if a speed-up is ruled out from the start."""
    bounds = limits(result.settings)
    given = [(v, v.no_speedup) for v in result.primary if v.no_speedup is not None]
    moved = [(v, other) for v, other in given if _shown(v.ratio, bounds) != _shown(other, bounds)]
    if given and not moved:
        return ["With a prior that forbids a speed-up: the same figures."]
    named = [(condition_label(v.condition, result.settings), _shown(other, bounds)) for v, other in moved]
    return [f"With a prior that forbids a speed-up, {label}: {figures}." for label, figures in named]


def _shown(estimate: Estimate, bounds: tuple[float, ...]) -> str:
    return estimate_text(estimate, bounds)


def _checks(result: RunResult, width: int) -> list[Text | Table]:
    lines: list[Text | Table] = []
    for check in sorted(result.validity, key=lambda v: v.ok):
        mark = "ok    " if check.ok else "FAILED"
        text = f"{mark}  {check.check}: {check.detail}" if check.detail else f"{mark}  {check.check}"
        lines += paragraph(text, width, "" if check.ok else "bold red", indent=" " * 8)
    return [Text("Checks", style="dim"), *lines] if lines else []


def _cautions(result: RunResult, width: int) -> list[Text | Table]:
    lines = [text for caution in result.cautions for text in paragraph(f"- {caution}", width, "yellow", indent="  ")]
    return [Text("Cautions", style="dim"), *lines] if lines else []


def _footer(result: RunResult, width: int) -> list[Text | Table]:
    settings = result.settings
    counts = ", ".join(
        counted(number, noun)
        for number, noun in ((result.rounds, "round"), (result.blocks, "block"), (result.trials, "trial"))
    )
    lines = (
        f"run {settings.run_id}, seed {settings.seed}: {settings.engine}, workload {settings.workload}",
        *(() if settings.database is None else (f"{database_text(settings.database)}; only read, twins are copies",)),
        f"{counts} of {duration(result.trial_seconds)}, {_operations(result)}"
        f" and {counted(result.slices, 'turn')} each;"
        f" {duration(result.elapsed_seconds)} in all; {_ended(result)}",
        f"tdelta's own loop: {_loop_cost(result.loop_cost_ns)} a statement,"
        f" {small_share(result.dilution)} of the measured time",
        *_open_loop(result),
        *(f"tried again: {counted(count, 'transaction')} ({kind})" for kind, count in result.retries.items()),
    )
    texts: list[Text | Table] = [text for line in lines for text in paragraph(line, width, "dim", indent="  ")]
    return [*texts, *(Text(f"{title:<10} {command}", style="dim") for title, command in _next_steps(result))]


def _open_loop(result: RunResult) -> tuple[str, ...]:
    """What the arrival rate did to the queue; nothing in a closed loop."""
    rate = result.settings.options.get("rate")
    if rate is None:
        return ()
    late = counted(result.late_starts, "late start")
    return (f"open loop, {rate:g} operations due a second: {late}, backlog at most {result.backlog_max:,}",)


def _operations(result: RunResult) -> str:
    """Operations of a trial; where strata differ, the record holds the fewest."""
    has_strata = len({condition.stratum for condition in result.settings.conditions}) > 1
    return f"{'at least ' if has_strata else ''}{counted(result.operations_per_trial, 'operation')}"


def _loop_cost(nanoseconds: float) -> str:
    return f"{nanoseconds:.0f} ns" if math.isfinite(nanoseconds) else MISSING


def _ended(result: RunResult) -> str:
    if result.interrupted:
        return "interrupted"
    if result.stopped_by == "precision" and result.settings.budget is not None:
        return "ended when the budget was decided"
    return _STOPPED_BY.get(result.stopped_by, f"ended by {result.stopped_by}")


def _next_steps(result: RunResult) -> list[tuple[str, str]]:
    settings = result.settings
    go_on = [("go on:", next_command("run --resume", settings))] if result.interrupted else []
    return [
        *go_on,
        ("repeat:", repeat_command(settings)),
        ("see again:", next_command("show", settings)),
        ("raw data:", next_command("export", settings, "--format", "csv")),
    ]
