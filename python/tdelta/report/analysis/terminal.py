"""The answer of ``tdelta analyze`` in a terminal or a pipe, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from tdelta.document.quantities import counted, printable
from tdelta.inference.observed import ComparisonPicture
from tdelta.records import AnalysisResult, Comparison
from tdelta.report.analysis.cautions import files_against_trust
from tdelta.report.analysis.details import caution_blocks, comparison_table, source_blocks, support_blocks
from tdelta.report.analysis.plots import picture_lines
from tdelta.report.analysis.tails import tail_blocks
from tdelta.report.analysis.words import label, value_words
from tdelta.report.answer import files_answer
from tdelta.report.drawing import NARROWEST, draw, paragraph, parts_of
from tdelta.report.terminal import DEFAULT_WIDTH
from tdelta.report.values import record_values, values_of

ANALYSIS_SCHEMA = "tdelta.analysis/1"
PICTURES_SHOWN = 2
"""A page has the others."""


def analysis_document(result: AnalysisResult, exit_code: int) -> dict[str, object]:
    """The answer as JSON values."""
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
        command: the command line that gave it.
        page: the path of the HTML page that was written as well.
    """
    width = max(NARROWEST, width)
    sections = [parts_of(files_answer(result, command).blocks(), width)]
    if details:
        sections += [
            parts_of([*comparison_table(result), *support_blocks(result), *tail_blocks(result)], width),
            _pictures(result, pictures, width),
            parts_of([*caution_blocks(result), *source_blocks(result)], width),
        ]
    if page:  # in one piece, to be copied
        sections.append([Text(f"HTML page: {page}", "dim", no_wrap=True, overflow="ignore")])
    return draw([part for section in sections if section for part in (*section, Text())][:-1], width, color=color)


def _pictures(result: AnalysisResult, pictures: Sequence[ComparisonPicture], width: int) -> list[Text | Table]:
    deciding = [p for p in pictures if (found := comparison_of(p, result)) is not None and found.primary]
    parts: list[Text | Table] = []
    for picture in deciding[:PICTURES_SHOWN]:
        parts += [*([Text()] if parts else []), *picture_lines(picture, picture_title(picture, result), width)]
    if len(deciding) > PICTURES_SHOWN:
        more = counted(len(deciding) - PICTURES_SHOWN, "more picture")
        parts += [Text(), *paragraph(f"{more}: --output page.html draws them all.", width, "dim")]
    return parts


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
