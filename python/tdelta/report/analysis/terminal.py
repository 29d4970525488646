"""The answer of ``tdelta analyze`` in a terminal or a pipe, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from tdelta.document.blocks import Block, Code, Medium
from tdelta.document.quantities import printable
from tdelta.inference.observed import ComparisonPicture
from tdelta.records import AnalysisResult, Comparison
from tdelta.report.analysis.cautions import files_against_trust
from tdelta.report.analysis.details import caution_blocks, comparison_table, source_blocks, support_blocks
from tdelta.report.analysis.tails import tail_blocks
from tdelta.report.analysis.words import label, value_words
from tdelta.report.answer import files_answer
from tdelta.report.values import record_values, values_of

ANALYSIS_SCHEMA = "tdelta.analysis/1"


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
