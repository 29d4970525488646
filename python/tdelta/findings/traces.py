"""The cost of each statement on each twin, and its ratio over the plain twins.

CPU time, reads and rows are of extra trials, one a block, whose statements were metered one by one; elapsed time is of
the measured trials, where nothing stood between the statements. Both are compared block by block with the model of the
verdicts (`tdelta.inference.fits`), each statement by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

from tdelta import inference
from tdelta.document.blocks import Block, Medium, Paragraph, Table, columns
from tdelta.document.quantities import MISSING, amounts, cut, decimals, interval, microseconds, percent
from tdelta.document.wording import label
from tdelta.findings.base import FinishedRun, Kind
from tdelta.findings.published import METRIC, STATEMENT
from tdelta.records import Condition, Estimate, Finding, Measurement, RunResult, StatementCost
from tdelta.records.trials import by_condition

ROWS_CHANGED = "rows_changed"
"""The heading that is added to the rows fetched, and no heading of the table."""

_READS = ("physical", "logical", "current")
"""In the customary order."""

_PUBLISHED = ("CPU", "elapsed")
_US = 1e3
_LOG = "log_bytes"
_WIDTHS = {Medium.TERMINAL: 80, Medium.PAGE: 160}
_NOTE = (
    "Figures are per call. CPU (of the thread that ran it), reads, rows and log are from extra trials with metered"
    " statements; elapsed is from the measured trials. Changes compare with the unencrypted copies, with 95% intervals."
)


@dataclass(frozen=True, slots=True)
class StatementTrace:
    """One statement on one condition's twins; all but ``calls`` is of one call.

    ``statement`` is its name (``group/2``), ``sql`` its text on one line. ``calls`` were metered one by one, in
    extra trials: ``cpu_us`` is the CPU time of the thread that ran them, ``reads`` and ``rows`` (fetched and
    changed; None where the engine tells of neither) are of these too. ``reads`` are by heading (``physical``,
    ``logical``, ``current``), without those that the engine has nothing for; ``log_bytes`` is None where it does
    not tell. ``elapsed_us`` is of the measured trials. The ratios are over the plain twins; None for these, and
    where nothing can be compared.
    """

    condition: Condition
    statement: str
    sql: str
    calls: int
    cpu_us: float
    elapsed_us: float
    rows: float | None
    reads: Mapping[str, float] = field(default_factory=dict)
    log_bytes: float | None = None
    cpu_ratio: Estimate | None = None
    elapsed_ratio: Estimate | None = None


@dataclass(frozen=True, slots=True)
class Traces(Finding):
    """The statements of a run, condition by condition, and what the engine has under each heading, in words.

    ``published`` are the ratios of the run's study by statement (``INSERT``) and metric, ``source`` is where they are.
    """

    FINDING = "traces"
    IS_SINGLE = True

    statements: tuple[StatementTrace, ...]
    headings: Mapping[str, str]
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    source: str = ""


def of_run(run: FinishedRun) -> Iterator[Traces]:
    """The statements in their order in the scripts, ``NAME/N`` with N from 1; nothing where none was traced.

    Those of a routine follow, by the names that the server's own trace gives them.
    """
    traced = dict.fromkeys(name for trial in run.trials for name in trial.measurement.traced)
    if not traced:
        return
    numbered = ((f"{name}/{n}", text) for name, of in run.scripts.items() for n, text in enumerate(of, start=1))
    sql = {name: " ".join(text.split()) for name, text in numbered if name in traced}
    sql |= {name: name for name in traced if name not in sql}
    ratios = [
        inference.typical_ratios(run.trials, run.settings, {name: partial(of, name) for name in sql})
        for of in (_cpu_us, _elapsed_us)
    ]
    by_key = by_condition(run.trials)
    statements = tuple(
        _trace(
            run, condition, name, sql[name], by_key[condition.key], *(of.get((name, condition.key)) for of in ratios)
        )
        for condition in run.settings.conditions
        for name in sql
        if any(name in measured.traced for measured in by_key.get(condition.key, ()))
    )
    headings = {heading: words for heading, (_, words) in run.headings.items() if heading != ROWS_CHANGED}
    yield Traces(statements, headings, *_published(run))


def _published(run: FinishedRun) -> tuple[dict[str, dict[str, float]], str]:
    """The study's ratios of single statements, and their source."""
    found: dict[str, dict[str, float]] = {}
    source = ""
    for figure in run.published:
        levels = dict(figure.levels)
        if STATEMENT in levels and figure.ratio is not None:
            found.setdefault(str(levels[STATEMENT]), {})[str(levels[METRIC])] = figure.ratio
            source = figure.source
    return found, source


def _cpu_us(name: str, measured: Measurement) -> float:
    cost = measured.traced.get(name)
    return cost.cpu_ns / cost.calls / _US if cost and cost.calls else 0.0


def _elapsed_us(name: str, measured: Measurement) -> float:
    if spans := measured.statements.get(name):
        return spans.total_ns / spans.count / _US if spans.count else 0.0
    cost = measured.traced.get(name)  # of a routine, by the server's own trace
    return cost.elapsed_ns / cost.calls / _US if cost and cost.calls and "/" not in name else 0.0


def _trace(
    run: FinishedRun,
    condition: Condition,
    name: str,
    sql: str,
    measured: Sequence[Measurement],
    cpu: Estimate | None,
    elapsed: Estimate | None,
) -> StatementTrace:
    costs = [m.traced[name] for m in measured if name in m.traced]
    calls = sum(cost.calls for cost in costs)
    spans = [m.statements[name] for m in measured if name in m.statements]
    counted = {heading: _counted(costs, counters) / calls for heading, (counters, _) in run.headings.items()}
    changed = counted.pop(ROWS_CHANGED, None)
    fetched = sum(cost.rows for cost in costs) / calls
    tells_log = any(_LOG in cost.counters for cost in costs)
    return StatementTrace(
        condition=condition,
        statement=name,
        sql=sql,
        calls=calls,
        cpu_us=sum(cost.cpu_ns for cost in costs) / calls / _US,
        elapsed_us=sum(s.total_ns for s in spans) / max(1, sum(s.count for s in spans)) / _US
        if spans
        else sum(cost.elapsed_ns for cost in costs) / calls / _US,
        rows=fetched + changed if changed is not None else fetched or None,
        reads=counted,
        log_bytes=_counted(costs, (_LOG,)) / calls if tells_log else None,
        cpu_ratio=cpu,
        elapsed_ratio=elapsed,
    )


def _counted(costs: Iterable[StatementCost], counters: Sequence[str]) -> int:
    return sum(cost.counters.get(counter, 0) for cost in costs for counter in counters)


def blocks(found: Sequence[Traces], result: RunResult) -> Iterator[Block]:
    """The cost of each statement on each twin, twins below one another, and the ratios."""
    (traces,) = found
    reads = [heading for heading in _READS if heading in traces.headings]
    has_log = any(one.log_bytes is not None for one in traces.statements)
    counted: list[tuple[str, ...]] = []
    ratios: list[tuple[str, ...]] = []
    order = list(dict.fromkeys(one.statement for one in traces.statements))
    ordered = sorted(traces.statements, key=lambda one: order.index(one.statement))  # stable: of conditions, too
    for statement, group in groupby(ordered, key=_name):
        counted.append((statement,))
        for one in group:
            name = label(one.condition, result.settings)
            log = (MISSING if one.log_bytes is None else amounts((one.log_bytes,), "bytes")[0],) if has_log else ()
            counted.append((name, *_cells(one, reads), *log))
            if any(over := [_over(ratio) for ratio in (one.cpu_ratio, one.elapsed_ratio)]):
                published = traces.published.get(one.sql.partition(" ")[0].upper(), {})
                printed = [percent(published[of]) if of in published else MISSING for of in _PUBLISHED]
                of_study = printed if traces.published else []
                ratios.append((f"{statement}, {name}", *(words or MISSING for words in over), *of_study))
    titles = columns("calls", "CPU", "elapsed", *reads, "rows", *(("log",) if has_log else ()))
    yield Table("Statements, by configuration", titles, counted, name="Statements")
    if ratios:
        caption = "Compared with the unencrypted copies, with the 95% interval"
        of_study = [f"published {of}" for of in _PUBLISHED] if traces.published else []
        yield Table(caption, columns("CPU", "elapsed", *of_study), ratios, name="against plain")
    if traces.published:
        yield Paragraph(f"Published: {traces.source}; another product and machine, no check of this one.", "note")
    texts = {one.statement: one.sql for one in traces.statements}
    for medium, width in _WIDTHS.items():
        yield from (Paragraph(cut(f"{name}: {text}", width), medium=medium) for name, text in texts.items())
    yield Paragraph(_NOTE, "note")
    yield Paragraph(_heading_words(traces), "note")


def _name(one: StatementTrace) -> str:
    """A statement's name and first word: ``group/2 INSERT``."""
    first = one.sql.partition(" ")[0]
    return f"{one.statement} {first}" if first.isalpha() else one.statement


def _cells(one: StatementTrace, reads: Sequence[str]) -> tuple[str, ...]:
    return (
        f"{one.calls:,}",
        microseconds(one.cpu_us),
        microseconds(one.elapsed_us),
        *(_count(one.reads[heading]) for heading in reads),
        MISSING if one.rows is None else _count(one.rows),
    )


def _over(ratio: Estimate | None) -> str:
    """A ratio with its 95% interval; empty where there is none."""
    if ratio is None or not math.isfinite(ratio.median):
        return ""
    places = decimals((ratio.median, *ratio.hdi95))
    return f"{percent(ratio.median, places)} ({interval(ratio.hdi95, places)})"


def _heading_words(traces: Traces) -> str:
    """The engine's figures under each heading of reads, and headings without any."""
    shown = [f"{heading}: {traces.headings[heading]}" for heading in _READS if heading in traces.headings]
    if missing := [heading for heading in _READS if heading not in traces.headings]:
        shown.append(f"{', '.join(missing)} reads: the engine does not tell them of a statement")
    return "; ".join(shown) + "."


def _count(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


KIND = Kind(Traces, of_run, blocks, "statements", "Statements")
