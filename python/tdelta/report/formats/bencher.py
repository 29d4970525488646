"""Bencher Metric Format: ``{benchmark: {measure: {value, lower_value, upper_value}}}``.

https://bencher.dev/docs/reference/bencher-metric-format: names of benchmarks have at most 1024 characters, those of
measures are slugs, and ``latency`` is built in, in nanoseconds. Overheads are in percent, with the ends of their 95 %
HDI. An unsound verdict is left out, since nothing should be tracked or alarmed by it.
"""

from __future__ import annotations

import json
import math

from tdelta.records import Decision, Metric, Verdict
from tdelta.report.formats.answered import Answered

_LONGEST = 1024
_NS_PER_US = 1e3


def bencher(answered: Answered) -> str:
    """One benchmark per condition and transaction type: an overhead per metric, in percent, and the latency in ns."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for verdict in answered.result.verdicts:
        if verdict.decision is not Decision.UNSOUND:
            name = f"{answered.name}: {answered.label(verdict)}"[:_LONGEST]
            measures = found.setdefault(name, {})
            measures |= _measures(verdict)
    named = {name: measures for name, measures in found.items() if measures}
    return json.dumps(named, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _measures(verdict: Verdict) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    ends = (verdict.ratio.median, *verdict.ratio.hdi95)
    if all(math.isfinite(end) for end in ends):
        value, low, high = (100 * (end - 1) for end in ends)
        slug = f"{verdict.metric.value.replace('_', '-')}-overhead"
        found[slug] = {"value": value, "lower_value": low, "upper_value": high}
    if verdict.metric is Metric.RESPONSE_TIME and math.isfinite(verdict.condition_value):
        found["latency"] = {"value": verdict.condition_value * _NS_PER_US}
    return found
