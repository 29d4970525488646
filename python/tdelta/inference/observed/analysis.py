"""The whole answer: every comparison, which of them decide, and what holds for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tdelta.errors import UnknownName, UsageError
from tdelta.inference.decisions import most_severe
from tdelta.inference.observed.alike import levelled
from tdelta.inference.observed.comparing import COARSE, Fits, compared, fitted
from tdelta.inference.observed.pairing import Pair, formats, paired
from tdelta.inference.observed.settings import AnalysisSettings
from tdelta.inference.observed.tailing import tail_cautions
from tdelta.inference.observed.words import ONE_RUN_ONLY, PRIOR_WORDS, overall_cautions
from tdelta.messages import Refusal
from tdelta.records import ALL, RESPONSE_TIME, THROUGHPUT, AnalysisResult, Comparison, Observation

_CAUTIONS_TOLD = 10
"""Of what files say of themselves, where nothing can be compared: it may be why."""


def analyze(
    observations: Iterable[Observation], settings: AnalysisSettings, watch: Callable[[Fits], None] = lambda _: None
) -> AnalysisResult:
    """Compare every condition with the baseline, in all that both have.

    Args:
        observations: of all conditions, in any order.
        settings: what is asked.
        watch: sees the fits of each comparison, in the result's order, once; they are not kept, since they are large.

    Raises:
        UsageError: no such baseline, nothing to compare it with, or a metric or transaction that is not there.
    """
    tests = levelled(tuple(observations))
    found = tests.observations
    check(found, settings)
    pairs = paired(found, settings.baseline)
    if not pairs.pairs:
        said = dict.fromkeys(f"{o.origin.file}: {caution}" for o in found for caution in o.origin.cautions)
        listed = "\n".join(f"  {words}" for words in (*pairs.left_out, *list(said)[:_CAUTIONS_TOLD]))
        raise UsageError(Refusal.of("nothing-to-hold-against", baseline=settings.baseline, listed=listed))

    def of(pair: Pair) -> Comparison:
        fits = fitted(pair)
        watch(fits)
        return compared(fits, settings)

    comparisons = chosen([of(pair) for pair in pairs.pairs], settings)
    return AnalysisResult(
        decision=most_severe(c.decision for c in comparisons if c.primary),
        comparisons=comparisons,
        tolerance=settings.tolerance,
        baseline=settings.baseline,
        formats=formats(found),
        cautions=(*tests.cautions, *overall_cautions(comparisons, settings), *tail_cautions(comparisons)),
        left_out=pairs.left_out,
        prior_words=PRIOR_WORDS,
        source=settings.source,
        is_tolerance_given=settings.is_tolerance_given,
        stated_run_sd=settings.run_sd,
    )


def check(observations: Sequence[Observation], settings: AnalysisSettings) -> None:
    """Whether what is asked for is there at all."""
    names = tuple(dict.fromkeys(one.group.condition for one in observations))
    if not names:
        raise UsageError(Refusal.of("missing", what="a figure of a second configuration in these files"))
    if settings.baseline not in names:
        raise UnknownName("baseline", settings.baseline, names)
    metrics = tuple(dict.fromkeys(one.group.metric for one in observations))
    if settings.metric is not None and settings.metric not in metrics:
        raise UnknownName("metric", settings.metric, metrics)
    transactions = tuple(dict.fromkeys(one.group.transaction for one in observations))
    if settings.transaction is not None and settings.transaction not in transactions:
        raise UnknownName("transaction", settings.transaction, transactions)


def chosen(comparisons: Sequence[Comparison], settings: AnalysisSettings) -> tuple[Comparison, ...]:
    """Which comparisons are primary: at each level one metric, and the whole mix where it was measured.

    In a closed loop response time and throughput are one number twice, so only one of them decides, the better one at
    that level; in a table of several other metrics (CPU, elapsed) each is a finding of its own.
    """
    timed = {c.transaction for c in comparisons if c.metric in (RESPONSE_TIME, THROUGHPUT)}
    transactions = {c.transaction for c in comparisons}
    whole = {ALL} & timed or transactions
    wanted = whole if settings.transaction is None else {settings.transaction}
    places: dict[object, list[Comparison]] = {}
    for one in comparisons:
        places.setdefault(_place(one), []).append(one)
    deciding = {place: _deciding(found, settings) for place, found in places.items()}
    return tuple(replace(c, primary=c.transaction in wanted and c.metric in deciding[_place(c)]) for c in comparisons)


def _place(comparison: Comparison) -> object:
    return comparison.condition.condition, comparison.transaction, frozenset(comparison.levels)


def _deciding(having: Sequence[Comparison], settings: AnalysisSettings) -> set[str]:
    """The metrics that decide, of one transaction at one level."""
    if settings.metric is not None:
        return {settings.metric}
    twice = [c for c in having if c.metric in (RESPONSE_TIME, THROUGHPUT)]
    if not twice:
        return {c.metric for c in having if c.ratio is not None} or {c.metric for c in having}
    return {min(twice, key=lambda c: _rank(c, settings)).metric}


def _rank(comparison: Comparison, settings: AnalysisSettings) -> tuple[bool, bool, float, bool]:
    """The lower, the better: it has an interval, nothing stands in its way, it is printed finely, it is a time.

    One run a condition stands in the way of both alike.
    """
    rounding = max(comparison.baseline.rounding, comparison.condition.rounding)
    is_stopped = comparison.undecided_because not in ((), (ONE_RUN_ONLY,))
    coarse = rounding if rounding > COARSE * settings.tolerance else 0.0
    return comparison.ratio is None, is_stopped, coarse, comparison.metric != RESPONSE_TIME
