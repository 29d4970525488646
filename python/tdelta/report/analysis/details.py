"""The answer of ``tdelta analyze`` as JSON, and everything below it as blocks; terminal and page share them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

from tdelta.document.blocks import Block, Cell, Code, Column, Listing, Medium, Paragraph, Table, headed
from tdelta.document.quantities import (
    MISSING,
    counted,
    estimate_text,
    interval_of,
    percent,
    printable,
    rate,
    small_share,
)
from tdelta.inference.observed.pictures import ComparisonPicture
from tdelta.inference.observed.settings import NO_SPEEDUP
from tdelta.records import AnalysisResult, Comparison, Decision, Level, NoteCode, RunNote
from tdelta.report.analysis.tails import tail_blocks
from tdelta.report.analysis.words import (
    bounds_of,
    decided_word,
    files_against_trust,
    label,
    quotient_text,
    run_sd_name,
    side_titles,
    single_run_estimate,
    unit_amounts,
    value_words,
)
from tdelta.report.answer import files_answer
from tdelta.report.values import record_values, values_of

_Run: TypeAlias = tuple[frozenset[tuple[str, Level]], str, str]
_FEW_NAMED = 2
_WITHOUT_ORDER = (
    "has no order, so its values are taken for independent; where stalls or drift make them depend on each other, the"
    " interval is too narrow (simulated, with a coverage of 19% at worst)"
)


def note_lines(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Every kind of note once, with how many of the runs have it and the range of its numbers."""
    total = _runs_in_all(comparisons)
    found: dict[NoteCode, dict[_Run, RunNote]] = {}
    for comparison in comparisons:
        for note in comparison.notes:
            run = (frozenset(comparison.levels), note.condition, note.run)
            found.setdefault(note.code, {}).setdefault(run, note)
    for code, runs in found.items():
        words = _note_words(code, [note.figures for note in runs.values()])
        yield f"{_who(list(runs.values()), total)}: {words}"


def _runs_in_all(comparisons: Iterable[Comparison]) -> int:
    most: dict[tuple[frozenset[tuple[str, Level]], str], int] = {}
    for comparison in comparisons:
        for side in (comparison.baseline, comparison.condition):
            place = (frozenset(comparison.levels), side.condition)
            most[place] = max(most.get(place, 0), side.runs)
    return sum(most.values())


def _who(notes: Sequence[RunNote], total: int) -> str:
    if total <= _FEW_NAMED or (len(notes) == 1 and total > _FEW_NAMED):
        named = (f"{note.condition}, run {note.run}" if total > _FEW_NAMED else note.condition for note in notes)
        return "; ".join(printable(name) for name in named)
    return f"{len(notes)} of {total} runs"


class _Span:
    """The numbers of several runs in one place of a text: ``28``, or ``28 to 42`` where runs differ."""

    def __init__(self, values: Sequence[float]) -> None:
        self._ends = min(values), max(values)

    def __format__(self, spec: str) -> str:
        factor, sign = (100, "%") if spec.endswith("%") else (1, "")
        low, high = (f"{factor * end:{spec.replace('%', 'f')}}" for end in self._ends)
        return (low if low == high else f"{low} to {high}") + sign


def _note_words(code: NoteCode, figures: Sequence[tuple[float, ...]]) -> str:
    if code is not NoteCode.UNSTEADY:
        return _WORDS[code].format(*map(_Span, zip(*figures, strict=True)))
    shown = [f"from {rate(earlier)} to {rate(later)} /s" for earlier, later in figures[:_FEW_NAMED]]
    if len(figures) > _FEW_NAMED:
        changes = [later / earlier for earlier, later in figures if earlier] or [1.0]
        shown = [f"by {percent(min(changes), 0)} to {percent(max(changes), 0)}"]
    return (
        f"throughput is not steady: it goes {'; '.join(shown)} within the run (means of its fifths), so a longer or"
        " shorter run would have another mean"
    )


_WORDS = {
    NoteCode.ZEROS: (
        "{0:,.0f} of {1:,.0f} response times are 0, shorter than a step of the clock: the mean counts them as 0"
    ),
    NoteCode.DEPENDENT_VALUES: (
        "response times within the run depend on each other: {0:,.0f} of them are worth about {1:,.0f}; the interval"
        " is taken from the means of its stretches"
    ),
    NoteCode.FEW_INDEPENDENT: (
        "worth about {0:,.0f} independent values, fewer than 30: simulated, such an interval of a mean covered the true"
        " value in 87 of 100 cases, and that of a ratio in 95 to 99"
    ),
    NoteCode.HEAVY_TAIL: (
        "the values scatter {0:.2f} times as much as a gamma of their shape would: the run's interval is widened by as"
        " much"
    ),
    NoteCode.HISTOGRAM_WITHOUT_ORDER: f"a histogram {_WITHOUT_ORDER}",
    NoteCode.SUMMARY_WITHOUT_ORDER: f"a summary {_WITHOUT_ORDER}",
    NoteCode.FEW_VALUES: (
        "only {0:,.0f} values: the interval of a summary needs 30 or more (simulated with 20, that of a mean covered"
        " the true value in 92 of 100 cases)"
    ),
    NoteCode.NO_SPREAD: "the values are all equal, or too few, to tell how far the mean is known",
    NoteCode.SERIES_TOO_SHORT: (
        "{0:,.0f} figures over time: at least 16 are needed to tell how far their mean is known"
    ),
    NoteCode.SERIES_SHORT: (
        "{0:,.0f} figures over time are few: slow waves cannot be seen in a short series; simulated, with waves of 20"
        " figures, the coverage was 67 to 78% (60 figures) and 91 to 96% (300)"
    ),
    NoteCode.SERIES_DEPENDENT: (
        "neighbouring figures depend on each other: {0:,.0f} are worth about {1:,.0f}; simulated, the coverage for such"
        " series was 94 to 98%"
    ),
    NoteCode.WARM_UP: (
        "the first {0:g} s run at {1:.0%} of the rest: warm-up, or a cold cache; nothing was cut, so start the figures"
        " later if it should not count"
    ),
    NoteCode.CYCLE: (
        "the figures repeat themselves every {0:g} s (checkpoints, or a job?): a regular dip is taken for chance, which"
        " makes the interval too wide, not too narrow"
    ),
    NoteCode.WIDTH_FROM_SERIES: (
        "the interval has the width of the run's throughput over time, {0:.1f} times that of its values taken for"
        " independent"
    ),
}


ANALYSIS_SCHEMA = "tdelta.analysis/1"


def analysis_document(result: AnalysisResult, exit_code: int) -> dict[str, object]:
    head = {"schema": ANALYSIS_SCHEMA, "exit_code": exit_code, "sentence": files_answer(result).sentence}
    texts = {
        "cautions": list(map(str, result.cautions)),
        "caution_codes": values_of(result.cautions),
        "against_trust": files_against_trust(result),
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


def analysis_blocks(
    result: AnalysisResult,
    *,
    details: bool = False,
    command: str = "",
    page: str | None = None,
) -> Iterator[Block]:
    """The answer, and with ``details`` everything below it.

    Args:
        command: the command line that gave it.
        page: the path of the HTML page that was written as well.
    """
    yield from files_answer(result, command).blocks()
    if details:
        yield from comparison_table(result)
        yield from support_blocks(result)
        yield from tail_blocks(result)
        yield from caution_blocks(result)
        yield from source_blocks(result)
    if page:
        yield Code(page, "HTML page", Medium.TERMINAL)


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


_MOST_REASONS = 12
_SPELLED_OUT = 3


def support_blocks(result: AnalysisResult) -> Iterator[Block]:
    """Blocks about the support of these results, and how much the prior matters."""
    reasons = (("", printable(reason)) for reason in support_lines(result))
    yield from headed("What these results can support", reasons, "cautions")
    for line in prior_lines(result):
        yield Paragraph(line, "note")


def support_lines(result: AnalysisResult) -> tuple[str, ...]:
    """Every reason once, with how many comparisons have it if not all do.

    Reasons that quote an interval are left out: the answer and the table have the same figures.
    """
    counts = Counter(
        reason
        for c in result.comparisons
        for reason in dict.fromkeys(map(str, c.reasons))
        if "% interval" not in reason
    )
    ordered = sorted(counts, key=lambda reason: -sum(reason in map(str, c.reasons) for c in result.primary))
    every = len(result.comparisons)
    shown = [r if counts[r] == every else f"{r} ({counts[r]} of {every} comparisons)" for r in ordered]
    shown += note_lines(result.comparisons)
    more = len(shown) - _MOST_REASONS
    return (*shown[:_MOST_REASONS], *((f"and {more} more, in --json",) if more > 0 else ()))


def prior_lines(result: AnalysisResult) -> Iterator[str]:
    """How much the prior matters: the deciding figures under every other prior."""
    named = {single_run[0] for c in result.primary if (single_run := single_run_estimate(c)) is not None}
    if not result.is_encryption:
        named.add(NO_SPEEDUP.name)
    for name in dict.fromkeys(name for c in result.primary for name in c.priors if name not in named):
        yield from _under(name, result)
    if result.prior_words and any(c.ratio is not None for c in result.comparisons):
        yield f"Default prior: {result.prior_words}."


def _under(name: str, result: AnalysisResult) -> Iterator[str]:
    bounds = bounds_of(result)
    words = "With a prior that forbids a speed-up" if name == NO_SPEEDUP.name else f"With the prior {printable(name)}"
    given = [(c, c.ratio, c.priors[name]) for c in result.primary if name in c.priors and c.ratio is not None]
    moved = [(c, other) for c, ratio, other in given if estimate_text(ratio, bounds) != estimate_text(other, bounds)]
    if not moved:
        yield f"{words}: the same figures."
    for comparison, other in moved[:_SPELLED_OUT]:
        yield f"{words}, {label(comparison, result)}: {estimate_text(other, bounds)}."
    if len(moved) > _SPELLED_OUT:
        yield f"{words}: {len(moved) - _SPELLED_OUT} more differ; --json has them."


def comparison_table(result: AnalysisResult) -> Iterator[Block]:
    """Every comparison, those that decide first. Columns that are the same in every row, or empty, are left out."""
    if not result.comparisons:
        return
    rows: list[tuple[str | Cell, ...]] = []
    groups = _grouped(result)
    for metric, comparisons in groups:
        if len(groups) > 1:
            rows.append((value_words(metric),))
        rows += [_row(comparison, result) for comparison in comparisons]
    columns = [Column(""), *(Column(title, is_number=True, is_brief=is_brief) for title, is_brief in _titles(result))]
    name = value_words(groups[0][0]) if len(groups) == 1 else ""
    yield Table("All comparisons", [*columns, Column("verdict")], rows, name=name)
    has_runs = any(c.baseline.runs + c.condition.runs > 2 for c in result.comparisons)
    parts = [
        "Changes are of cost: of throughput, baseline over condition."
        if "throughput" in {m for m, _ in groups}
        else "",
        "Values are geometric means over the runs." if has_runs else "",
        "Rows marked * decide." if 0 < len(result.primary) < len(result.comparisons) else "",
    ]
    if note := " ".join(filter(None, parts)):
        yield Paragraph(note, "note")


def _titles(result: AnalysisResult) -> Iterator[tuple[str, bool]]:
    """Of the columns between a row's name and its verdict; False for those of the page alone."""
    yield from ((title, True) for title in (*side_titles(result), "change"))
    if _has_posterior(result):
        yield "95% interval", True
    if single_run := run_sd_name(result):
        yield f"if {single_run}", True
    if _shows_bearable(result):
        yield "decides if runs differ by under", True
    if _has_published(result):
        yield "published", True
    if _has_posterior(result):
        yield "values", False
    if _has_models(result):
        yield "model", False


def _row(comparison: Comparison, result: AnalysisResult) -> tuple[str | Cell, ...]:
    bounds, ratio = bounds_of(result), comparison.ratio
    decides = " *" if comparison.primary and len(result.primary) < len(result.comparisons) else ""
    state = comparison.decision.value if comparison.primary else ""
    cells = [
        *unit_amounts((comparison.baseline.value, comparison.condition.value), comparison.unit),
        quotient_text(comparison, bounds),
    ]
    if _has_posterior(result):
        cells.append(MISSING if ratio is None else interval_of(ratio, ratio.hdi95, bounds))
    if run_sd_name(result):
        single_run = single_run_estimate(comparison)
        cells.append(MISSING if single_run is None else interval_of(single_run[1], single_run[1].hdi95, bounds))
    if _shows_bearable(result):
        bearable = comparison.scatter.run_sd_bearable
        cells.append(MISSING if bearable is None else small_share(bearable) if bearable else "never")
    if _has_published(result):
        cells.append(printable(comparison.source.published or ""))
    if _has_posterior(result):
        cells.append(_counts(comparison))
    if _has_models(result):
        cells.append(str(comparison.model))
    name = Cell(f"{label(comparison, result)}{decides}", "strong" if comparison.primary else "")
    return (name, *cells, Cell(decision_words(comparison), state))


def _grouped(result: AnalysisResult) -> list[tuple[str, list[Comparison]]]:
    """By metric; those that decide first, then in the result's order."""
    metrics = list(dict.fromkeys(c.metric for c in (*result.primary, *result.comparisons)))

    def rank(comparison: Comparison) -> tuple[int, bool]:
        return metrics.index(comparison.metric), not comparison.primary

    ordered = sorted(result.comparisons, key=rank)
    return [(metric, list(rows)) for metric, rows in groupby(ordered, key=lambda c: c.metric)]


def _has_posterior(result: AnalysisResult) -> bool:
    return any(c.ratio is not None for c in result.comparisons)


def _has_published(result: AnalysisResult) -> bool:
    return any(c.source.published for c in result.comparisons)


def _has_models(result: AnalysisResult) -> bool:
    return len({c.model for c in result.comparisons}) > 1


def _shows_bearable(result: AnalysisResult) -> bool:
    """Whether single runs decide nothing because the variation between runs is unknown."""
    return result.stated_run_sd is None and any(c.scatter.run_sd_bearable is not None for c in result.comparisons)


def _counts(comparison: Comparison) -> str:
    """Values of both sides, and their runs if there are several: ``1,200 + 1,180 in 3 + 3 runs``."""
    sides = (comparison.baseline, comparison.condition)
    values = " + ".join(f"{side.count:,}" for side in sides)
    runs = " + ".join(str(side.runs) for side in sides)
    return f"{values} in {runs} runs" if any(side.runs > 1 for side in sides) else values


def decision_words(comparison: Comparison) -> str:
    """The decision as a table has it: ``slower``, ``undecided: one figure each``."""
    is_bare = comparison.ratio is None and comparison.decision is Decision.UNDECIDED
    return f"{comparison.decision.value}: one figure each" if is_bare else decided_word(comparison)


def caution_blocks(result: AnalysisResult) -> Iterator[Block]:
    yield from headed("Cautions", (("", printable(str(caution))) for caution in result.cautions), "cautions")
    yield from headed("Left out", (("", printable(str(words))) for words in result.left_out), "facts")


def source_blocks(result: AnalysisResult) -> Iterator[Block]:
    files = ", ".join(f"{counted(number, 'file')} of {name}" for name, number in result.formats.items())
    texts = (f"read: {files}" if files else "", f"source: {printable(result.source)}" if result.source else "")
    yield Listing([("", text) for text in texts if text], "facts", Medium.TERMINAL)
