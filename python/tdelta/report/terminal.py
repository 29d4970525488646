"""The answer in a terminal or a pipe: the sentence, what it rests on, one table, and all else where it is asked for.

Text is laid out for a width and returned; colour is added only when asked for, so that what a pipe receives is what a
terminal shows, less its colours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from tdelta.records import Estimate, RunResult, StepMeasure
from tdelta.report.brief import MOST_CAUTIONS, Line, lines, sentence
from tdelta.report.calibrated import held_text, used_text
from tdelta.report.command import next_command, repeat_command
from tdelta.report.drawing import NARROWEST, draw, paragraph, parts_of
from tdelta.report.findings.registry import SHOWN
from tdelta.report.findings.servers import differing_lines
from tdelta.report.labels import (
    MARKS,
    STYLES,
    condition_label,
    database_text,
    external_servers_text,
    origin_text,
    summed_up,
    with_labels,
)
from tdelta.report.quantities import (
    MISSING,
    counted,
    duration,
    estimate_text,
    share,
    small_share,
    wrap,
)
from tdelta.report.sentence import answer, floor, limits
from tdelta.report.table import MOST_TYPES, brief_table, decision_style, full_table

DEFAULT_WIDTH = 100

MOST_LINES = 24
"""Of an answer, where there are 100 columns: what a terminal of 80 by 25 was high."""

_BESIDE_FROM = 70
"""Columns from which on texts stand beside their titles."""

_MOST_PRIORS = 3
"""Results that have a line each of what the prior does to them."""

_STOPPED_BY = {
    "precision": "ended at the aimed precision",
    "time": "ended with too little time for another round",
    "rounds": "ended at the round limit",
}


def render(result: RunResult, width: int = DEFAULT_WIDTH, *, color: bool = False, details: bool = False) -> str:
    """What a person sees of one run, as text that ends in a newline."""
    width = max(NARROWEST, width)
    if not details:
        sections = _with_room(result, width)
        sections += tuple(parts_of(one.blocks(result), width) for one in SHOWN if one.is_asked)
    else:
        sections = (*_above(result, width, MOST_CAUTIONS), full_table(result, width))
        sections += (
            _in_full(result, width),
            _notes(result, width),
            *(parts_of(one.blocks(result), width) for one in SHOWN),
            _checks(result, width),
            _cautions(result, width),
            _footer(result, width),
        )
    return draw(_parted(sections), width, color=color)


def _parted(sections: Sequence[list[Text | Table]]) -> list[Text | Table]:
    return [part for section in sections if section for part in (*section, Text())][:-1]


def _above(result: RunResult, width: int, cautions: int) -> tuple[list[Text | Table], ...]:
    """The sentence, and the lines below it."""
    return (
        [*paragraph(sentence(result), width, decision_style(result.decision))],
        brief_lines(lines(result, cautions), width),
    )


def _with_room(result: RunResult, width: int) -> tuple[list[Text | Table], ...]:
    """With as many types, and then cautions, as there is room for; in a narrow terminal as anywhere else."""
    sizes = [(MOST_CAUTIONS, types) for types in range(MOST_TYPES, 0, -1)]
    sizes += [(cautions, 1) for cautions in range(MOST_CAUTIONS - 1, 0, -1)]
    for cautions, types in sizes:
        sections = (*_above(result, width, cautions), brief_table(result, width, types))
        if width < DEFAULT_WIDTH or draw(_parted(sections), width, color=False).count("\n") <= MOST_LINES:
            break
    return sections


def brief_lines(given: Sequence[Line], width: int) -> list[Text | Table]:
    """Each line with its title before it, folded beside the titles; below them in a narrow terminal."""
    room = max((len(line.title) for line in given), default=0) + 2
    parts: list[Text | Table] = []
    for line in given:
        style = "yellow" if line.is_warning else ""
        if width < _BESIDE_FROM:
            parts += paragraph(f"{line.title}: {line.text}", width, style, indent="  ")
            continue
        for at, text in enumerate(wrap(line.text, width - room)):
            parts.append(Text.assemble((f"{line.title if at == 0 else '':<{room}}", "dim"), (text, style)))
    return parts


def _in_full(result: RunResult, width: int) -> list[Text | Table]:
    noise = floor(result)
    lines: list[Text | Table] = [*paragraph(answer(result), width, decision_style(result.decision))]
    lines += paragraph(noise, width) if noise else []
    calibrated = used_text(result)
    lines += paragraph(calibrated, width) if calibrated else []
    changed = f"Settings of the study that were changed: {'; '.join(result.overridden)}."
    return [*lines, *paragraph(changed, width)] if result.overridden else lines


def _notes(result: RunResult, width: int) -> list[Text | Table]:
    lines: list[Text | Table] = [text for line in prior_lines(result) for text in paragraph(line, width, indent="  ")]
    simulated = held_text(result)
    return [*lines, *paragraph(simulated, width, "dim")] if simulated else lines


def prior_lines(result: RunResult) -> list[str]:
    """The pull of the prior: what changes if a speed-up is ruled out from the start."""
    bounds = limits(result.settings)
    given = [(v, v.no_speedup) for v in result.primary if v.no_speedup is not None]
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


def _checks(result: RunResult, width: int) -> list[Text | Table]:
    lines: list[Text | Table] = []
    for state, text in summed_up(result.validity):
        lines += paragraph(f"{MARKS[state]:<9}  {text}", width, STYLES[state], indent=" " * 11)
    return [Text("Checks", style="dim"), *lines] if lines else []


def _cautions(result: RunResult, width: int) -> list[Text | Table]:
    said = [with_labels(str(caution), result.settings) for caution in result.cautions]
    lines = [text for one in said for text in paragraph(f"- {one}", width, "yellow", indent="  ")]
    return [Text("Cautions", style="dim"), *lines] if lines else []


def _footer(result: RunResult, width: int) -> list[Text | Table]:
    settings = result.settings
    made = result.counts
    counts = ", ".join(
        counted(number, noun)
        for number, noun in ((made.rounds, "round"), (made.blocks, "block"), (made.trials, "trial"))
    )
    lines = (
        f"run {settings.run_id}, seed {settings.seed}: {settings.engine}, workload {settings.workload}",
        *(f"library: {name}" for name in (result.versions.get("library under test"),) if name),
        *differing_lines(result),
        *(
            ()
            if settings.database is None
            else (f"{database_text(settings.database)}; {origin_text(settings.database)}",)
        ),
        *(() if settings.external_servers is None else (external_servers_text(settings.external_servers),)),
        f"{counts} of {trial_words(result)}, {_operations(result)} each;"
        f" {duration(result.counts.elapsed_seconds)} in all; {ended(result)}",
        f"tdelta's own loop: {_loop_cost(result.loop.loop_cost_ns)} per statement,"
        f" {small_share(result.loop.client_overhead_share)} of the measured time",
        *filter(None, [open_loop_words(result)]),
        *(f"tried again: {counted(count, 'transaction')} ({kind})" for kind, count in result.loop.retries.items()),
    )
    texts: list[Text | Table] = [text for line in lines for text in paragraph(line, width, "dim", indent="  ")]
    return [*texts, *(Text(f"{title:<10} {command}", style="dim") for title, command in _next_steps(result))]


def open_loop_words(result: RunResult) -> str:
    """The rates at which operations fell due, and the queue; empty in a closed loop."""
    if not result.loop.arrival_rates:
        return ""
    rates = ", ".join(_rate_text(key, rate, result) for key, rate in result.loop.arrival_rates.items())
    late = counted(result.loop.queued_operations, "queued operation")
    return f"open loop, {rates} operations due per second: {late}, backlog at most {result.loop.backlog_max:,}"


def _rate_text(key: str, rate: float, result: RunResult) -> str:
    """``1,200``, or ``1,200 (60 % of the baseline's 2,000)``."""
    if key not in result.loop.capacities:
        return f"{rate:,.4g}"
    capacity = result.loop.capacities[key]
    return f"{rate:,.0f} ({share(rate / capacity)} of the baseline's {capacity:,.0f})"


def trial_words(result: RunResult) -> str:
    """How long the baseline's trials take about; of loads and rebuilds `step_lines` tells, where there are others."""
    steps = result.of(StepMeasure)
    has_others = len(result.settings.conditions) > len(steps)
    return f"{duration(result.counts.trial_seconds)}{' (loads and rebuilds apart)' if steps and has_others else ''}"


def _operations(result: RunResult) -> str:
    """Operations of a trial; where strata differ, the record holds the fewest."""
    has_strata = len({condition.stratum for condition in result.settings.conditions}) > 1
    return f"{'at least ' if has_strata else ''}{counted(result.counts.operations_per_trial, 'operation')}"


def _loop_cost(nanoseconds: float) -> str:
    return f"{nanoseconds:.0f} ns" if math.isfinite(nanoseconds) else MISSING


def ended(result: RunResult) -> str:
    """Why no further round was run: ``ended at the aimed precision``."""
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
        ("HTML page:", next_command("report", settings)),
        ("raw data:", next_command("export", settings, "--format", "csv")),
    ]
