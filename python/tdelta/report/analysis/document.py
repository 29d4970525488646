"""The ``--json`` document of ``tdelta analyze``; every field is described in ``docs/json.md``."""

from __future__ import annotations

from tdelta.records import AnalysisResult, Comparison
from tdelta.report.analysis.sentence import answer
from tdelta.report.values import record_values

ANALYSIS_SCHEMA = "tdelta.analysis/2"


def analysis_document(result: AnalysisResult, exit_code: int) -> dict[str, object]:
    """The answer as JSON values.

    Args:
        result: what was compared.
        exit_code: what the command ends with.
    """
    return {
        "schema": ANALYSIS_SCHEMA,
        "decision": result.decision.value,
        "exit_code": exit_code,
        "is_encryption": result.is_encryption,
        "answer": answer(result),
        "comparisons": [_comparison(c) for c in result.comparisons],
        "rope": result.rope,
        "is_rope_given": result.is_rope_given,
        "stated_run_sd": result.stated_run_sd,
        "budget": result.budget,
        "baseline": result.baseline,
        "prior": result.prior_words,
        "formats": dict(result.formats),
        "source": result.source,
        "cautions": list(result.cautions),
        "left_out": list(result.left_out),
    }


def _comparison(comparison: Comparison) -> dict[str, object]:
    return record_values(comparison) | {"levels": dict(comparison.levels)}
