"""Names, labels and figures of the comparisons of ``tdelta analyze``, in units that people read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tdelta.document.labels import decision_word, level_text
from tdelta.document.quantities import (
    MINUS,
    MISSING,
    SECONDS,
    amounts,
    change,
    counted,
    decimals,
    percent,
    printable,
    rate,
    share,
    sides_text,
)
from tdelta.importers.conditions import is_about_encryption
from tdelta.records import (
    ALL,
    RESPONSE_TIME,
    THROUGHPUT,
    AnalysisResult,
    Comparison,
    Decision,
    Estimate,
    Level,
    NoteCode,
    Spread,
)

if TYPE_CHECKING:
    from tdelta.inference.posterior import FloatArray

_MICROSECONDS = {"µs": 1.0, "us": 1.0, "ms": 1e3, "s": 1e6}
_MOST_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class UnitScale:
    """From a file's unit to the one that is shown: multiplies by ``factor``, and is called ``name``."""

    unit: str
    name: str
    factor: float = 1.0

    def __call__(self, value: float) -> float:
        return value * self.factor

    def array(self, values: FloatArray) -> FloatArray:
        return values * self.factor


def display_unit(values: Iterable[float], unit: str) -> UnitScale:
    """The time unit that suits the largest of these values; of what is no time, its own."""
    if unit not in _MICROSECONDS:
        return UnitScale(unit, printable(unit))
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0) * _MICROSECONDS[unit]
    name, size = next((step for step in SECONDS if largest >= step[1]), SECONDS[-1])
    return UnitScale(unit, name, _MICROSECONDS[unit] / size)


def unit_amounts(values: Sequence[float], unit: str) -> tuple[str, ...]:
    """Absolute values side by side in one unit that suits them: times in theirs, ``1,673 /s``, all else as it came."""
    if unit in _MICROSECONDS:
        return amounts([value * _MICROSECONDS[unit] for value in values], "µs")
    behind = f" {printable(unit)}" if unit else ""
    return tuple(f"{rate(value)}{behind}" if math.isfinite(value) else MISSING for value in values)


def spread_text(spread: Spread, unit: str, *, is_signed: bool = False) -> str:
    """A posterior on the scale of the values, in decimals that suit it: ``12.412 ms (12.301 to 12.523)``."""
    scale = display_unit((spread.median, *spread.hdi95), unit)
    shown = [scale(value) for value in (spread.median, *spread.hdi95)]
    width = max(shown) - min(shown)
    places = min(_MOST_DECIMALS, max(0, 1 - math.floor(math.log10(width)))) if width > 0 else 2
    texts = [f"{value:,.{places}f}" if math.isfinite(value) else MISSING for value in shown]
    median, low, high = (
        signed(t, v) if is_signed else t.replace("-", MINUS) for t, v in zip(texts, shown, strict=True)
    )
    return f"{f'{median} {scale.name}'.rstrip()} ({low} to {high})"


def signed(text: str, value: float) -> str:
    """A figure with its sign, a true minus; zero has none."""
    bare = text.removeprefix("-")
    if not math.isfinite(value) or not bare.strip("0.,"):
        return bare
    return f"+{bare}" if value > 0 else f"{MINUS}{bare}"


_METRICS = {RESPONSE_TIME: "response time", THROUGHPUT: "time per operation", "cpu": "CPU"}
_UNITS_OF_TIME = frozenset({"ns", "us", "µs", "ms", "s", "sec", "seconds", "milliseconds", "microseconds"})
"""A column that is called by its unit alone: what it holds is a time."""

_DETAILED_LEVELS = frozenset({"threads"})
_RUNS_DIFFER = "runs differ by"


def metric_words(metric: str) -> str:
    """A metric as the cost that is judged: ``response time``; of throughput, ``time per operation``."""
    if metric.lower() in _UNITS_OF_TIME:
        return "time"
    return _METRICS.get(metric, printable(metric).replace("_", " "))


def value_words(metric: str) -> str:
    """A metric as its values are given: of throughput, which is per second, that."""
    return "throughput" if metric == THROUGHPUT else metric_words(metric)


def transaction_words(transaction: str) -> str:
    """A transaction type as its file calls it; ``the mix`` for all of them."""
    return "the mix" if transaction == ALL else printable(transaction)


def level_words(name: str, level: Level) -> str:
    """A level: ``16 threads``, ``buffer pool 5 GB``."""
    if name in _DETAILED_LEVELS and isinstance(level, int):
        return level_text(name, level)
    return printable(f"{name.replace('_', ' ')} {level}")


def bounds_of(result: AnalysisResult) -> tuple[float, ...]:
    """The quotients that primary comparisons are held against: the budget, or both edges of the tolerance."""
    return (1 + result.budget,) if result.budget is not None else tolerance_of(result)


def tolerance_of(result: AnalysisResult) -> tuple[float, float]:
    """Both edges of the region that does not matter."""
    return 1 - result.tolerance, 1 + result.tolerance


def varying(comparisons: Iterable[Comparison]) -> frozenset[str]:
    """The factors that differ between these comparisons; only they are named in labels."""
    seen: dict[str, set[Level | None]] = {}
    found = tuple(comparisons)
    names = {name for c in found for name, _ in c.levels}
    for name in names:
        seen[name] = {dict(c.levels).get(name) for c in found}
    return frozenset(name for name, levels in seen.items() if len(levels) > 1)


def place_words(comparison: Comparison, within: Sequence[Comparison]) -> tuple[str, ...]:
    """The words that distinguish a comparison beside its metric and conditions: transaction, then varied levels."""
    names = varying(within)
    is_named = len({c.transaction for c in within}) > 1 or comparison.transaction != ALL
    what = (transaction_words(comparison.transaction),) if is_named else ()
    return (*what, *(level_words(name, level) for name, level in comparison.levels if name in names))


def label(comparison: Comparison, result: AnalysisResult) -> str:
    """A comparison as a row is called, without its metric: ``tde, New Order, 16 threads``."""
    return ", ".join(label_parts(comparison, result.comparisons))


def label_parts(comparison: Comparison, within: Sequence[Comparison]) -> tuple[str, ...]:
    """The words of a label; the condition is named where there are several, or nothing else is to be said."""
    place = place_words(comparison, within)
    is_named = len({c.condition.condition for c in within}) > 1 or not place
    return (*((printable(comparison.condition.condition),) if is_named else ()), *place)


def side_titles(result: AnalysisResult) -> tuple[str, str]:
    """The conditions' names where there are two, as headings of their columns."""
    names = dict.fromkeys(c.condition.condition for c in result.comparisons)
    return printable(result.baseline), printable(next(iter(names))) if len(names) == 1 else "condition"


def run_sd_name(result: AnalysisResult) -> str | None:
    """The name of the wider intervals of single runs; None where no comparison has one."""
    return next((single_run[0] for c in result.comparisons if (single_run := single_run_estimate(c)) is not None), None)


def deciding(comparison: Comparison) -> Estimate | None:
    single_run = single_run_estimate(comparison)
    return comparison.ratio if single_run is None else single_run[1]


def decided_word(comparison: Comparison) -> str:
    """The decision as people read it: ``slower``, of CPU time ``more CPU``."""
    return decision_word(comparison.decision, metric_words(comparison.metric))


def limit_words(result: AnalysisResult, *, both_ways: bool = False) -> str:
    """The tolerance in words: the user's own where it was given, else the default."""
    limit = f"{'±' if both_ways else ''}{share(result.tolerance)}"
    if not result.is_tolerance_given:
        return f"the default {limit}"
    return f"your limit of {limit}"


def is_lone(comparison: Comparison) -> bool:
    """Whether each side is a single run, so that nothing shows how much runs differ."""
    is_single = comparison.baseline.runs == comparison.condition.runs == 1
    return is_single and comparison.scatter.run_sd is None and comparison.decision is Decision.UNDECIDED


def quotient_text(comparison: Comparison, bounds: Sequence[float] = ()) -> str:
    """The change of a cost: the posterior's median, else the plain quotient."""
    ratio = comparison.ratio
    shown = (comparison.quotient,) if ratio is None else (ratio.median, *ratio.hdi95)
    return change(shown[0], decimals(shown, bounds))


def throughput_change(comparison: Comparison, bounds: Sequence[float] = ()) -> str | None:
    """The change of throughput itself, ``−6.6%``; the cost that is judged is its inverse."""
    if comparison.metric != THROUGHPUT:
        return None
    ratio = comparison.ratio
    cost = comparison.quotient if ratio is None else ratio.median
    shown = (cost,) if ratio is None else (ratio.median, *ratio.hdi95)
    return percent(1.0 / cost, max(1, decimals(shown, bounds)))


def throughput_text(result: AnalysisResult) -> str | None:
    """``1,673 → 1,548 /s (−7.5%)`` of the only comparison that decides; None if there are several, or no throughput."""
    if len(result.primary) != 1:
        return None

    def place(one: Comparison) -> tuple[object, ...]:
        return one.transaction, one.levels, one.condition.condition, one.baseline.condition

    (only,) = result.primary
    found = (only, *result.comparisons) if only.metric in (RESPONSE_TIME, THROUGHPUT) else ()
    for one in found:
        if one.metric == THROUGHPUT and place(one) == place(only):
            sides = unit_amounts((one.baseline.value, one.condition.value), one.unit)
            return f"{sides_text(*sides)} ({throughput_change(one, bounds_of(result))})"
    return None


def single_run_estimate(comparison: Comparison) -> tuple[str, Estimate] | None:
    """Where each condition has one run: the estimate with room for runs to differ, which decides, and its name."""
    return next(((n, e) for n, e in comparison.priors.items() if n.startswith(_RUNS_DIFFER)), None)


def is_of_encryption(comparison: Comparison, result: AnalysisResult) -> bool:
    """Whether encryption is what these two conditions differ in: by a column's name, or by the names of the two.

    Where names of some conditions speak of it, those of the others are of something else.
    """
    pair = {comparison.baseline.condition, comparison.condition.condition}
    named = {c.condition.condition for c in result.comparisons} | {result.baseline}
    return result.is_encryption and (is_about_encryption(pair) or not is_about_encryption(named))


_WORST_FIRST = {
    code: at
    for at, code in enumerate(
        (
            # the figures are not of what is compared
            "tests-differ",
            "copy-suspected",
            "run-aborted",
            "report-missing",
            "file-cut-off",
            "clock-coarser-than-means",
            "confounded",
            "runs-of-one-file",
            "two-clusters",
            "two-clusters-of-condition",
            # the interval may be wrong
            "clock-too-coarse",
            "unequal-lengths",
            "heavy-tailed",
            "failed-included",
            "rows-failed",
            "failed-transactions",
            "mean-with-failed",
            "few-runs",
        )
    )
}
"""Reasons and cautions by their weight; all others come after them."""

_NOTES = {
    NoteCode.UNSTEADY: "throughput is not steady within {runs}",
    NoteCode.WARM_UP: "a warm-up is in {runs}",
    NoteCode.ZEROS: "response times of 0 in {runs} (a clock too coarse)",
    NoteCode.HEAVY_TAIL: "values with a heavy tail in {runs}",
    NoteCode.SERIES_SHORT: "few figures over time in {runs}",
    NoteCode.SERIES_TOO_SHORT: "few figures over time in {runs}",
    NoteCode.FEW_VALUES: "few values in {runs}",
}
"""Of notes that speak against trusting an answer, in few words; worst first."""


def files_against_trust(result: AnalysisResult) -> list[str]:
    """Reasons to distrust the answer, worst first; of the same reason for many comparisons, the worst."""
    messages = (*(r for c in result.primary for r in c.reasons), *result.cautions)
    of_code: dict[str, dict[str, float]] = {}
    for message in messages:
        if text := message.against_trust:
            drift = message.parameters.get("drift", 0.0)
            of_code.setdefault(message.code, {})[text] = abs(drift) if isinstance(drift, float) else 0.0
    said = []
    for code in sorted(of_code, key=lambda code: _WORST_FIRST.get(code, len(_WORST_FIRST))):
        texts = sorted(of_code[code], key=lambda text: -of_code[code][text])
        more = f" (and {len(texts) - 1} more like it)" if len(texts) > 1 else ""
        said.append(f"{texts[0]}{more}")
    notes = [note for comparison in result.primary for note in comparison.notes]
    for words in dict.fromkeys(_NOTES.values()):
        if runs := {(note.condition, note.run) for note in notes if _NOTES.get(note.code) == words}:
            said.append(words.format(runs=counted(len(runs), "run")))
    return [printable(text) for text in said]
