"""Details of a run, below its answer: every verdict, findings, checks, cautions, and how it was run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby

from tdelta.document.blocks import Block, Cell, Column, Paragraph, Table, headed
from tdelta.document.effect import edges, limits
from tdelta.document.labels import (
    condition_label,
    database_text,
    decision_word,
    external_servers_text,
    metric_label,
    metric_name,
    origin_text,
    sides_of,
    summed_up,
    with_labels,
)
from tdelta.document.quantities import (
    MISSING,
    amounts,
    change,
    counted,
    decimals,
    duration,
    estimate_text,
    interval,
    rate,
    ratio_cells,
    share,
    small_share,
)
from tdelta.document.wording import has_amount, verdict_cells
from tdelta.findings import blocks_of
from tdelta.findings.actions import ActionMeasure
from tdelta.findings.base import FOUND
from tdelta.findings.servers import ServerMeasures
from tdelta.findings.stalls import parting
from tdelta.findings.twin_settings import SettingsCompared
from tdelta.messages.catalogue import SHORTAGES
from tdelta.records import Decision, Estimate, Metric, RunResult, RunSettings, TailMeasure, Verdict
from tdelta.report.answer import found, run_answer, throughputs
from tdelta.report.calibration import held_text, used_text
from tdelta.report.command import next_command, repeat_command


def values_note(settings: RunSettings) -> str:
    return f"Values are per transaction: the mean of {sides_of(settings).copies}, and that times the ratio of means."


_ALL = "all"
_TYPICAL = "  typical transaction"
_METRIC_ORDER = tuple(Metric)
_SIGNS = "*†‡"
"""Of footnotes, in their order."""

_MOST_PRIORS = 3
"""Results that have a line each for the effect of the prior."""

_STOPPED_BY = {
    "precision": "ended at the target precision",
    "time": "ended with too little time for another round",
    "rounds": "ended at the round limit",
}


def run_blocks(result: RunResult, name: str = "last", *, with_details: bool = False) -> Iterator[Block]:
    """The blocks of one run in a terminal; ``name`` is the run's name in the commands of *Next*."""
    yield from run_answer(result, name).blocks()
    if with_details:
        yield from details(result)


def details(result: RunResult) -> Iterator[Block]:
    """All blocks of a terminal below the answer, in their order."""
    if result.verdicts:
        yield from verdict_blocks(result)
    shown = sum(line.title == FOUND for line in run_answer(result).lines)
    if len(facts_found := found(result)) > shown:
        yield from headed("Found", (("", text) for text in facts_found))
    yield from notes(result)
    yield from blocks_of(result)
    checks = ((mark, with_labels(text, result.settings)) for mark, text in summed_up(result.validity))
    yield from headed("Checks", checks, "checks")
    yield from caution_blocks(result)
    yield from headed("This run", (("", text) for text in (*facts(result), *_commands(result))), "facts")


def caution_blocks(result: RunResult) -> Iterator[Block]:
    return headed("Cautions", (("", with_labels(str(one), result.settings)) for one in result.cautions), "cautions")


def notes(result: RunResult) -> Iterator[Block]:
    """The grounds of the result besides its trials: calibration, the prior, simulations, changed settings."""
    texts = [
        used_text(result) or "",
        *prior_lines(result),
        held_text(result) or "",
        f"Settings of the study that were changed: {'; '.join(result.overridden)}." if result.overridden else "",
    ]
    yield from (Paragraph(text, "note") for text in texts if text)


def verdict_blocks(result: RunResult) -> Iterator[Block]:
    """A row for every verdict, those that decide first, and why those that are clear of the limit are undecided."""
    footnotes: dict[str, str] = {}
    has_actual = any(v.actual is not None for v in result.verdicts)
    is_single = len({v.condition for v in result.verdicts}) == 1
    rows: list[tuple[str | Cell, ...]] = []
    for title, verdicts in _grouped(result):
        if not is_single:
            rows.append((title,))
        for verdict in verdicts:
            name = title if is_single else condition_label(verdict.condition, result.settings)
            rows += _rows_of(verdict, name, result, footnotes, is_single=is_single, has_actual=has_actual)
    titles = (*sides_of(result.settings).titles, "change", "95% interval", *(("actual",) if has_actual else ()))
    columns = [Column(""), *(Column(title, is_number=True) for title in titles), Column("verdict")]
    name = condition_label(result.verdicts[0].condition, result.settings) if is_single else ""
    yield Table("Every verdict", columns, rows, name=name)
    yield from (Paragraph(f"{sign} {text}", "note") for sign, text in zip(_SIGNS, footnotes.values(), strict=False))
    decides = ""
    if len(result.verdicts) > len(result.primary):
        decides = (
            f" The verdict is based on {metric_name(result.settings.metric, result.settings)} of all transactions."
        )
    yield Paragraph(f"{values_note(result.settings)}{decides}", "note")


def _grouped(result: RunResult) -> list[tuple[str, list[Verdict]]]:
    """Primary verdicts first, then the mix by metric, then each transaction type; within, the design's order."""

    def rank(verdict: Verdict) -> tuple[bool, bool, int, str]:
        is_part = verdict.transaction != _ALL
        return not verdict.primary, is_part, _METRIC_ORDER.index(verdict.metric), verdict.transaction if is_part else ""

    ordered = sorted(result.verdicts, key=rank)
    groups = (list(group) for _, group in groupby(ordered, key=rank))
    return [(_title(rows[0], result.settings), rows) for rows in groups]


def _title(verdict: Verdict, settings: RunSettings) -> str:
    if verdict.transaction == _ALL:
        return metric_label(verdict.metric, settings)
    name = verdict.transaction
    return name if verdict.metric is Metric.RESPONSE_TIME else f"{name}: {metric_label(verdict.metric, settings)}"


def _rows_of(
    verdict: Verdict, name: str, result: RunResult, footnotes: dict[str, str], *, is_single: bool, has_actual: bool
) -> Iterator[tuple[str | Cell, ...]]:
    """The row of a verdict; below it the typical transaction, throughput and percentiles, which decide nothing."""
    blank = ("",) if has_actual else ()
    sides, figures = verdict_cells(verdict, limits(result.settings))
    actual = ("" if verdict.actual is None else change(verdict.actual),) if has_actual else ()
    word = f"{decision_word(verdict.decision, verdict.metric)}{_sign(verdict, result, footnotes)}"
    state = verdict.decision.value if verdict.primary else ""
    yield (
        Cell(name, "strong" if verdict.primary else ""),
        *sides,
        *figures,
        *actual,
        Cell(word, state),
    )
    if not has_amount(verdict):
        return
    if verdict.primary and verdict.typical is not None and (is_single or parting(verdict, result)):
        yield (_TYPICAL, "", "", *ratio_cells(verdict.typical, limits(result.settings)), *blank, "")
    if is_single and verdict.metric is Metric.RESPONSE_TIME and verdict.transaction == _ALL:
        for label, cells in _beside(verdict, result):
            yield (label, *cells, *blank, "")


def _beside(verdict: Verdict, result: RunResult) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Throughput, which is response time in other words, and percentiles, which have no interval."""
    ends = verdict.ratio.hdi95
    if (found := throughputs(verdict, result)) is not None and min(verdict.ratio.median, *ends) > 0:
        less, across = 1 / verdict.ratio.median, (1 / ends[1], 1 / ends[0])
        places = decimals((less, *across))
        yield "throughput", (*(f"{rate(one)}/s" for one in found), change(less, places), interval(across, places))
    for tail in result.of(TailMeasure):
        for one in tail.percentiles if tail.condition == verdict.condition else ():
            sides = amounts((one.baseline_ns / 1e3, one.condition_ns / 1e3), "µs")
            name = f"p{100 * one.quantile:g}"
            yield name, (*sides, change(one.quotient, decimals((one.quotient,))), "(no interval)")


def _sign(verdict: Verdict, result: RunResult, footnotes: dict[str, str]) -> str:
    """The sign of the footnote that says why a verdict is undecided although its interval is clear of the limit."""
    settings = result.settings
    bounds = limits(settings) if verdict.primary else edges(settings.tolerance)
    low, high = verdict.ratio.hdi95 if settings.budget is None else verdict.ratio.hdi99
    why = verdict.reasons[-1] if len(verdict.reasons) > 1 else None
    is_plain = verdict.decision is not Decision.UNDECIDED or any(low <= bound <= high for bound in bounds)
    if is_plain and (why is None or why.code not in SHORTAGES):
        return ""
    text = "too few rounds, outlying trials or stalls" if why is None else why.text
    footnotes.setdefault("" if why is None else why.code, f"{text[:1].upper()}{text[1:]}.")
    return f" {_SIGNS[min(list(footnotes).index('' if why is None else why.code), len(_SIGNS) - 1)]}"


def prior_lines(result: RunResult) -> list[str]:
    """How much the prior matters: what changes if a speed-up is ruled out from the start."""
    bounds = limits(result.settings)
    given = [(v, v.no_speedup) for v in result.primary if v.no_speedup is not None and has_amount(v)]
    moved = [(v, other) for v, other in given if _shown(v.ratio, bounds) != _shown(other, bounds)]
    if given and not moved:
        return ["Excluding speed-ups a priori does not change the result."]
    if len(moved) > _MOST_PRIORS:
        verdict, other = max(moved, key=lambda pair: abs(pair[0].ratio.median - pair[1].median))
        label = condition_label(verdict.condition, result.settings)
        most = f"most of {label}, from {_shown(verdict.ratio, bounds)} to {_shown(other, bounds)}"
        return [f"Excluding speed-ups a priori changes {len(moved)} of {len(given)} results, {most}."]
    named = [(condition_label(v.condition, result.settings), _shown(other, bounds)) for v, other in moved]
    return [f"Excluding speed-ups a priori, {label}: {figures}." for label, figures in named]


def _shown(estimate: Estimate, bounds: tuple[float, ...]) -> str:
    return estimate_text(estimate, bounds)


def facts(result: RunResult) -> Iterator[str]:
    """How it was run."""
    settings, made = result.settings, result.counts
    counts = ", ".join(
        counted(number, noun)
        for number, noun in ((made.rounds, "round"), (made.blocks, "block"), (made.trials, "trial"))
    )
    yield f"run {settings.run_id}, seed {settings.seed}: {settings.engine}, workload {settings.workload}"
    if name := result.versions.get("library under test"):
        yield f"library: {name}"
    if (compared := result.one(SettingsCompared)) is not None and result.of(ServerMeasures):
        for kind, names in compared.differing.items():
            yield f"set on {kind}, not on unencrypted copies: {', '.join(names)}"
    if settings.database is not None:
        yield f"{database_text(settings.database)}; {origin_text(settings.database)}"
    if settings.external_servers is not None:
        yield external_servers_text(settings.external_servers)
    yield (
        f"{counts} of {trial_words(result)}, {_operations(result)} each; {duration(made.elapsed_seconds)} in all;"
        f" {ended(result)}"
    )
    if made.measured_seconds:
        share = made.measured_seconds / made.elapsed_seconds
        yield f"measured {made.measured_seconds:.0f} of {made.elapsed_seconds:.0f} s ({share:.0%})"
    yield (
        f"tdelta's own loop: {_loop_cost(result.loop.loop_cost_ns)} per statement,"
        f" {small_share(result.loop.client_overhead_share)} of the measured time"
    )
    if loop := open_loop_words(result):
        yield loop
    elif not settings.options.get("load_generator"):  # it has another loop
        yield "closed loop: as fast as the clients can"
    yield from (f"retried: {counted(count, 'transaction')} ({kind})" for kind, count in result.loop.retries.items())
    yield from (f"failed: {counted(count, 'transaction')} ({kind})" for kind, count in result.loop.errors.items())


def _commands(result: RunResult) -> Iterator[str]:
    settings = result.settings
    if result.interrupted:
        yield f"continue: {next_command('run --resume', settings)}"
    yield f"repeat: {repeat_command(settings)}"
    yield f"HTML page: {next_command('report', settings)}"
    yield f"raw data: {next_command('export', settings, '--format', 'csv')}"


def open_loop_words(result: RunResult) -> str:
    """The rates at which transactions fell due, and the queue; empty in a closed loop."""
    if not result.loop.arrival_rates:
        return ""
    rates = ", ".join(_rate_text(key, value, result) for key, value in result.loop.arrival_rates.items())
    late = counted(result.loop.queued_operations, "queued transaction")
    return f"open loop, {rates} transactions due per second: {late}, backlog at most {result.loop.backlog_max:,}"


def _rate_text(key: str, value: float, result: RunResult) -> str:
    """``1,200``, or ``1,200 (60% of the unencrypted database's 2,000)``."""
    if key not in result.loop.capacities:
        return f"{value:,.4g}"
    capacity = result.loop.capacities[key]
    return f"{value:,.0f} ({share(value / capacity)} of the unencrypted database's {capacity:,.0f})"


def trial_words(result: RunResult) -> str:
    """How long trials of the baseline take; bulk loads and rebuilds have a table of their own."""
    steps = [one for one in result.of(ActionMeasure) if one.is_step]
    has_others = len(result.settings.conditions) > len(steps)
    return (
        f"{duration(result.counts.trial_seconds)}{' (bulk loads and rebuilds apart)' if steps and has_others else ''}"
    )


def _operations(result: RunResult) -> str:
    """Transactions of a trial; if strata differ, the record has the fewest."""
    has_strata = len({condition.stratum for condition in result.settings.conditions}) > 1
    return f"{'at least ' if has_strata else ''}{counted(result.counts.operations_per_trial, 'transaction')}"


def _loop_cost(nanoseconds: float) -> str:
    return f"{nanoseconds:.0f} ns" if math.isfinite(nanoseconds) else MISSING


def ended(result: RunResult) -> str:
    """Why no further round was run: ``ended at the target precision``."""
    if result.interrupted:
        return "interrupted"
    if result.stopped_by == "precision" and result.settings.budget is not None:
        return "ended when the budget was decided"
    return _STOPPED_BY.get(result.stopped_by, f"ended by {result.stopped_by}")
