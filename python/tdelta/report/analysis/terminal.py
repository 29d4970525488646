"""The answer of ``tdelta analyze`` in a terminal or a pipe: sentence, what the design can bear, table, pictures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tdelta.inference.observed import ComparisonPicture
from tdelta.records import AnalysisResult, Comparison, Decision
from tdelta.report.analysis.brief import against_trust, brief_table, lines, sentence
from tdelta.report.analysis.plots import picture_lines
from tdelta.report.analysis.sentence import answer, design_lines, prior_lines
from tdelta.report.analysis.tails import tail_blocks
from tdelta.report.analysis.units import unit_amounts
from tdelta.report.analysis.words import (
    bounds_of,
    decided_word,
    label,
    overhead_text,
    run_sd_name,
    side_titles,
    single_run_estimate,
    value_words,
)
from tdelta.report.drawing import NARROWEST, draw, paragraph, parts_of, plain_table
from tdelta.report.quantities import MISSING, counted, hdi_text, printable, small_share
from tdelta.report.table import decision_style
from tdelta.report.terminal import DEFAULT_WIDTH, brief_lines
from tdelta.report.values import record_values, values_of

ANALYSIS_SCHEMA = "tdelta.analysis/1"


def analysis_document(result: AnalysisResult, exit_code: int) -> dict[str, object]:
    """The answer as JSON values."""
    head = {"schema": ANALYSIS_SCHEMA, "exit_code": exit_code, "sentence": sentence(result), "answer": answer(result)}
    texts = {
        "cautions": list(map(str, result.cautions)),
        "caution_codes": values_of(result.cautions),
        "against_trust": against_trust(result),
        "left_out": list(map(str, result.left_out)),
        "left_out_codes": values_of(result.left_out),
    }
    return head | record_values(result) | texts | {"comparisons": [_comparison(c) for c in result.comparisons]}


def _comparison(comparison: Comparison) -> dict[str, object]:
    reason = comparison.tail_reason
    return record_values(comparison) | {
        "levels": dict(comparison.levels),
        "reasons": list(map(str, comparison.reasons)),
        "reason_codes": values_of(comparison.reasons),
        "tail_reason": "" if reason is None else str(reason),
        "tail_reason_code": None if reason is None else values_of(reason),
        "undecided_because": "; ".join(map(str, comparison.undecided_because)),
        "undecided_because_codes": values_of(comparison.undecided_because),
    }


PICTURES_SHOWN = 2
"""More pictures than these are a page's work."""

_UNBOUNDED = 1000
_DECIDES = " *"
"""Marks the rows that decide, for whoever sees no bold."""

_INDENT = "  "


def analysis_text(
    result: AnalysisResult,
    pictures: Sequence[ComparisonPicture] = (),
    width: int = DEFAULT_WIDTH,
    *,
    color: bool = False,
    details: bool = False,
    command: str = "",
    page: str | None = None,
) -> str:
    """What a person sees, as text that ends in a newline.

    Args:
        pictures: the curves of those comparisons that have a posterior, in the order of the result.
        width: columns; at least 40 are used.
    """
    width = max(NARROWEST, width)
    sections: tuple[list[Text | Table], ...] = (
        [*paragraph(sentence(result), width, decision_style(result.decision))],
        brief_lines(lines(result, command), width) if result.comparisons or details else [],
        _table(result, width) if details else brief_table(result, width),
    )
    if details:
        sections += (
            [*paragraph(answer(result), width, decision_style(result.decision))],
            _listed("What this design can bear", design_lines(result), width),
            _priors(result, width),
            parts_of(tail_blocks(result), width),
            _pictures(result, pictures, width),
            _listed("Cautions", list(map(str, result.cautions)), width, "yellow"),
        )
    is_listed = details or not result.comparisons
    sections += (
        _listed("Left out", list(map(str, result.left_out)), width, "dim") if is_listed else _left_out(result, width),
        _footer(result, width, page, is_full=is_listed),
    )
    return draw([part for section in sections if section for part in (*section, Text())][:-1], width, color=color)


def _left_out(result: AnalysisResult, width: int) -> list[Text | Table]:
    """That there is something that was not compared."""
    number = len(result.left_out)
    return [*paragraph(f"Left out: {counted(number, 'item')} (--details).", width, "dim")] if number else []


def _listed(title: str, lines: Sequence[str], width: int, style: str = "") -> list[Text | Table]:
    reported = [text for line in lines for text in paragraph(f"- {printable(line)}", width, style, indent=_INDENT)]
    return [Text(title, style="dim"), *reported] if reported else []


def _table(result: AnalysisResult, width: int) -> list[Text | Table]:
    if not result.comparisons:
        return []
    has_hdi = any(c.ratio is not None for c in result.comparisons)
    has_published = any(c.source.published for c in result.comparisons)
    single_run = run_sd_name(result)
    baseline, condition = side_titles(result)
    table = plain_table(
        (
            ("", False),
            *((name, True) for name in (baseline, condition, "overhead")),
            *((("95 % HDI", True),) if has_hdi else ()),
            *(((f"if {single_run}".replace(" differ ", "\ndiffer "), True),) if single_run else ()),
            *((("decides if runs\ndiffer by under", True),) if _shows_bearable(result) else ()),
            *((("published", True),) if has_published else ()),
            ("verdict", False),
        )
    )
    table.columns[-1].no_wrap = True
    table.columns[0].overflow = "fold"
    groups = _grouped(result)
    for metric, rows in groups:
        _add_group(table, metric, rows, result, is_titled=len(groups) > 1)
    if len(groups) == 1:
        table.columns[0].header = value_words(groups[0][0])
    if Console(width=_UNBOUNDED, force_jupyter=False).measure(table).maximum > width:
        table.padding = (0, 1, 0, 0)
    note = _table_note(result)
    return [table, *([Text(), *paragraph(note, width, "dim")] if note else [])]


def _grouped(result: AnalysisResult) -> list[tuple[str, list[Comparison]]]:
    """By metric; those that decide first, then in the result's order."""
    metrics = list(dict.fromkeys(c.metric for c in (*result.primary, *result.comparisons)))

    def rank(comparison: Comparison) -> tuple[int, bool]:
        return metrics.index(comparison.metric), not comparison.primary

    ordered = sorted(result.comparisons, key=rank)
    return [(metric, list(rows)) for metric, rows in groupby(ordered, key=lambda c: c.metric)]


def _add_group(table: Table, metric: str, rows: list[Comparison], result: AnalysisResult, *, is_titled: bool) -> None:
    if is_titled:
        table.add_row(Text(value_words(metric), style="bold" if rows[0].primary else ""))
    for comparison in rows:
        mark = _DECIDES if comparison.primary and len(result.primary) < len(result.comparisons) else ""
        name = f"{_INDENT if is_titled else ''}{label(comparison, result)}{mark}"
        table.add_row(name, *_cells(comparison, result), style="bold" if comparison.primary else "")


def _cells(comparison: Comparison, result: AnalysisResult) -> tuple[str | Text, ...]:
    bounds = bounds_of(result)
    values = unit_amounts((comparison.baseline.value, comparison.condition.value), comparison.unit)
    ratio = comparison.ratio
    hdi = MISSING if ratio is None else hdi_text(ratio, ratio.hdi95, bounds)
    has_hdi = any(c.ratio is not None for c in result.comparisons)
    has_published = any(c.source.published for c in result.comparisons)
    single_run = single_run_estimate(comparison)
    roomy = MISSING if single_run is None else hdi_text(single_run[1], single_run[1].hdi95, bounds)
    return (
        *values,
        overhead_text(comparison, bounds),
        *((hdi,) if has_hdi else ()),
        *((roomy,) if run_sd_name(result) else ()),
        *((_bearable(comparison),) if _shows_bearable(result) else ()),
        *((printable(comparison.source.published or ""),) if has_published else ()),
        _decision(comparison),
    )


def _shows_bearable(result: AnalysisResult) -> bool:
    """Whether single runs decide nothing because the scatter between runs is unknown."""
    return result.stated_run_sd is None and any(c.scatter.run_sd_bearable is not None for c in result.comparisons)


def _bearable(comparison: Comparison) -> str:
    bearable = comparison.scatter.run_sd_bearable
    return MISSING if bearable is None else small_share(bearable) if bearable else "never"


def _decision(comparison: Comparison) -> Text:
    words = decision_words(comparison)
    return Text(words, style=decision_style(comparison.decision) if comparison.primary else "")


def decision_words(comparison: Comparison) -> str:
    """The decision as a table has it: ``slower``, ``undecided: no replication``."""
    is_bare = comparison.ratio is None and comparison.decision is Decision.UNDECIDED
    return f"{comparison.decision.value}: no replication" if is_bare else decided_word(comparison)


def _table_note(result: AnalysisResult) -> str:
    is_rate = any(c.metric == "throughput" for c in result.comparisons)
    has_runs = any(c.baseline.runs + c.condition.runs > 2 for c in result.comparisons)
    parts = [
        "An overhead is of cost: of throughput, baseline over condition." if is_rate else "",
        "Values are geometric means over the runs of a condition." if has_runs else "",
        "Rows marked * decide; the rest is for orientation."
        if 0 < len(result.primary) < len(result.comparisons)
        else "",
    ]
    return " ".join(part for part in parts if part)


def _priors(result: AnalysisResult, width: int) -> list[Text | Table]:
    has_posterior = any(c.ratio is not None for c in result.comparisons)
    words = (f"Default prior: {result.prior_words}.",) if result.prior_words and has_posterior else ()
    return [text for line in (*prior_lines(result), *words) for text in paragraph(line, width, indent=_INDENT)]


def _pictures(result: AnalysisResult, pictures: Sequence[ComparisonPicture], width: int) -> list[Text | Table]:
    deciding = [p for p in pictures if is_primary(p, result)]
    parts: list[Text | Table] = []
    for picture in deciding[:PICTURES_SHOWN]:
        parts += [*([Text()] if parts else []), *picture_lines(picture, picture_title(picture, result), width)]
    if len(deciding) > PICTURES_SHOWN:
        more = counted(len(deciding) - PICTURES_SHOWN, "more picture")
        parts += [Text(), *paragraph(f"{more}: --output page.html draws them all.", width, "dim")]
    return parts


def is_primary(picture: ComparisonPicture, result: AnalysisResult) -> bool:
    found = comparison_of(picture, result)
    return found is not None and found.primary


def comparison_of(picture: ComparisonPicture, result: AnalysisResult) -> Comparison | None:
    key = (picture.transaction, picture.levels, picture.metric, picture.unit, picture.condition)
    return next(
        (c for c in result.comparisons if (c.transaction, c.levels, c.metric, c.unit, c.condition.condition) == key),
        None,
    )


def picture_title(picture: ComparisonPicture, result: AnalysisResult) -> str:
    """``response time, New Order``: what a picture is of, with its conditions where there are several."""
    found = comparison_of(picture, result)
    words = label(found, result) if found is not None else printable(picture.condition)
    return f"{value_words(picture.metric)}, {words}"


def _footer(result: AnalysisResult, width: int, page: str | None, *, is_full: bool) -> list[Text | Table]:
    files = ", ".join(f"{counted(number, 'file')} of {name}" for name, number in result.formats.items())
    lines = (
        *((f"read: {files}",) if files else ()),
        *((f"source: {printable(result.source)}",) if result.source else ()),
    )
    shown = lines if is_full else ()
    footer: list[Text | Table] = [text for line in shown for text in paragraph(line, width, "dim", indent=_INDENT)]
    if page:  # in one piece, to be copied
        footer.append(Text(f"HTML page: {page}", "dim", no_wrap=True, overflow="ignore"))
    return footer
