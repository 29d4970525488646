"""The ``--json`` document of ``tdelta analyze``; every field is described in ``docs/json.md``."""

from __future__ import annotations

import dataclasses

from tdelta.records import AnalysisResult, Comparison, Estimate, ObservedTail, Side, Spread
from tdelta.report.analysis.sentence import answer

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
    return {
        "primary": comparison.primary,
        "transaction": comparison.transaction,
        "levels": dict(comparison.levels),
        "metric": comparison.metric,
        "unit": comparison.unit,
        "model": comparison.model.value,
        "baseline": _side(comparison.baseline),
        "condition": _side(comparison.condition),
        "quotient": comparison.quotient,
        "ratio": _estimate(comparison.ratio),
        "difference": _spread(comparison.difference),
        "decision": comparison.decision.value,
        "reasons": list(comparison.reasons),
        "undecided_because": comparison.undecided_because,
        "run_sd": comparison.scatter.run_sd,
        "run_sd_bearable": comparison.scatter.run_sd_bearable,
        "notes": [dataclasses.asdict(note) | {"code": note.code.value} for note in comparison.notes],
        "priors": {name: _estimate(estimate) for name, estimate in comparison.priors.items()},
        "published": comparison.source.published,
        "tail": _tail(comparison.tail),
        "tail_reason": comparison.tail_reason,
        "origins": [{"file": o.file, "format": o.format, "line": o.line} for o in comparison.source.origins],
    }


def _side(side: Side) -> dict[str, object]:
    return {
        "condition": side.condition,
        "runs": side.runs,
        "count": side.count,
        "effective_count": side.effective_count,
        "value": side.value,
        "lengths_seconds": None if side.lengths_seconds is None else list(side.lengths_seconds),
        "rounding": side.rounding,
        "mean": _spread(side.mean),
    }


def _tail(tail: ObservedTail | None) -> dict[str, object] | None:
    """Fields of the record as they are called there, the share beside its count."""
    if tail is None:
        return None
    fields = dataclasses.asdict(tail)
    for name, side in (("baseline", tail.baseline), ("condition", tail.condition)):
        fields[name]["share"] = side.share
    return fields


def _spread(spread: Spread | None) -> dict[str, object] | None:
    if spread is None:
        return None
    return {"median": spread.median, "hdi95": list(spread.hdi95), "hdi99": list(spread.hdi99)}


def _estimate(estimate: Estimate | None) -> dict[str, object] | None:
    if estimate is None:
        return None
    return {
        "median": estimate.median,
        "hdi95": list(estimate.hdi95),
        "hdi99": list(estimate.hdi99),
        "mass_above_rope": estimate.mass_above_rope,
        "mass_in_rope": estimate.mass_in_rope,
        "mass_below_rope": estimate.mass_below_rope,
    }
