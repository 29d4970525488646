"""The ``--json`` document of ``tdelta analyze``; every field is described in ``docs/json.md``."""

from __future__ import annotations

from tdelta.records import AnalysisResult, Comparison
from tdelta.report.analysis.brief import against_trust, sentence
from tdelta.report.analysis.sentence import answer
from tdelta.report.values import record_values, values_of

ANALYSIS_SCHEMA = "tdelta.analysis/1"


def analysis_document(result: AnalysisResult, exit_code: int) -> dict[str, object]:
    """The answer as JSON values.

    Args:
        result: what was compared.
        exit_code: what the command ends with.
    """
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
