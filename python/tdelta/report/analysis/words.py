"""What comparisons of ``tdelta analyze`` are called, and their figures as people read them. Nothing is decided here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tdelta.importers.words import is_about_encryption
from tdelta.records import ALL, RESPONSE_TIME, THROUGHPUT, AnalysisResult, Comparison, Decision, Estimate, Level
from tdelta.report.labels import decision_word, level_text
from tdelta.report.quantities import decimals, multiple, percent, printable, share, small_share

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
    """What tells a comparison from the others beside its metric and conditions: transaction, then varied levels."""
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


def overhead_text(comparison: Comparison, bounds: Sequence[float] = ()) -> str:
    """The same without the multiple, as tables have it."""
    return quotient_text(comparison, bounds).split(" (")[0]


def quotient_text(comparison: Comparison, bounds: Sequence[float] = ()) -> str:
    """The overhead in per cent, and as a multiple where per cent mislead: posterior median, else the bare quotient."""
    ratio = comparison.ratio
    if ratio is None:
        return _with_multiple(comparison.quotient, decimals((comparison.quotient,), bounds))
    return _with_multiple(ratio.median, decimals((ratio.median, *ratio.hdi95), bounds))


def single_run_estimate(comparison: Comparison) -> tuple[str, Estimate] | None:
    """Where each condition has one run: the estimate with room for runs to differ, which decides, and its name."""
    return next(((n, e) for n, e in comparison.priors.items() if n.startswith(_RUNS_DIFFER)), None)


def run_sd_name(result: AnalysisResult) -> str | None:
    """What the wider intervals of single runs are called; None where no comparison has one."""
    return next((single_run[0] for c in result.comparisons if (single_run := single_run_estimate(c)) is not None), None)


def deciding(comparison: Comparison) -> Estimate | None:
    single_run = single_run_estimate(comparison)
    return comparison.ratio if single_run is None else single_run[1]


def hdi_of(estimate: Estimate, result: AnalysisResult) -> tuple[int, tuple[float, float]]:
    """A budget is decided on the 99 % HDI, everything else on the 95 % HDI."""
    return (95, estimate.hdi95) if result.budget is None else (99, estimate.hdi99)


def decided_word(comparison: Comparison) -> str:
    """The decision as people read it: ``slower``, of CPU time ``more CPU``."""
    return decision_word(comparison.decision, metric_words(comparison.metric))


def judgement(comparison: Comparison, result: AnalysisResult) -> str:
    match comparison.decision:
        case Decision.SLOWER:
            return f"more than {limit_words(result)}"
        case Decision.NEGLIGIBLE:
            return f"within {limit_words(result, both_ways=True)}"
        case Decision.FASTER:
            odd = "though encryption adds work: look for another difference between the runs"
            is_odd = is_of_encryption(comparison, result)
            return f"faster by more than {limit_words(result)}" + (f", {odd}" if is_odd else "")
        case Decision.OVER:
            return f"over the budget of {share(result.budget or 0.0)}"
        case Decision.WITHIN:
            return f"within the budget of {share(result.budget or 0.0)}"
        case _:
            return comparison.decision.value


def limit_words(result: AnalysisResult, *, both_ways: bool = False) -> str:
    """The tolerance in words: the user's own where it was given, else the default."""
    limit = f"{'±' if both_ways else ''}{share(result.tolerance)}"
    if not result.is_tolerance_given:
        return f"the default {limit}"
    return f"your limit of {limit}"


def times(ratio: float) -> str | None:
    """``6.6 x`` for costs of at least twice the baseline's; a saving is a share, 72 % at most of what there was."""
    return multiple(ratio) if ratio > 1.0 else None


def throughput_change(comparison: Comparison, bounds: Sequence[float] = ()) -> str | None:
    """Of throughput, how much less or more of it there is: ``−6.6 %``, beside the time per operation that is judged."""
    if comparison.metric != THROUGHPUT:
        return None
    ratio = comparison.ratio
    cost = comparison.quotient if ratio is None else ratio.median
    shown = (cost,) if ratio is None else (ratio.median, *ratio.hdi95)
    return percent(1.0 / cost, decimals(shown, bounds))


def throughput_beside(comparison: Comparison, result: AnalysisResult) -> str | None:
    """The change of throughput that goes with a change of response time, where the same files have both."""

    def place(one: Comparison) -> tuple[object, ...]:
        return one.transaction, one.levels, one.condition.condition, one.baseline.condition

    if comparison.metric not in (RESPONSE_TIME, THROUGHPUT):
        return None
    found = [
        one for one in (comparison, *result.comparisons) if one.metric == THROUGHPUT and place(one) == place(comparison)
    ]
    return throughput_change(found[0], bounds_of(result)) if found else None


def subject(comparison: Comparison, result: AnalysisResult) -> str:
    """What has the overhead: ``encryption (tde over plain)``; of anything else just ``mysql57 over mysql56``."""
    pair = f"{printable(comparison.condition.condition)} over {printable(comparison.baseline.condition)}"
    return f"encryption ({pair})" if is_of_encryption(comparison, result) else pair


def is_of_encryption(comparison: Comparison, result: AnalysisResult) -> bool:
    """Whether encryption is what these two conditions differ in: by a column's name, or by the names of the two.

    Where names of some conditions speak of it, those of the others are of something else.
    """
    pair = {comparison.baseline.condition, comparison.condition.condition}
    named = {c.condition.condition for c in result.comparisons} | {result.baseline}
    return result.is_encryption and (is_about_encryption(pair) or not is_about_encryption(named))


def bearable_words(comparison: Comparison) -> str:
    """How far apart identical runs must not lie for the figures of single runs to mean anything."""
    bearable = comparison.scatter.run_sd_bearable
    if not bearable:
        return "they would decide nothing even if runs of one system never differed"
    return (
        f"they mean something only where runs of one system differ by less than {small_share(bearable)} (standard"
        " deviation)"
    )


def _with_multiple(ratio: float, places: int) -> str:
    many = times(ratio)
    return percent(ratio, places) + (f" ({many})" if many else "")
