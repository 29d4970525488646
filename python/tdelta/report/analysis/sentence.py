"""The sentence that answers from other tools' files, worded by what was decided and never by more.

What the design can bear is said beside it (`design_lines`): a verdict on two runs is of these two runs.
"""

from __future__ import annotations

from collections import Counter

from tdelta.inference.observed import NO_SPEEDUP
from tdelta.records import AnalysisResult, Comparison, Decision, Estimate
from tdelta.report.analysis.notes import note_lines
from tdelta.report.analysis.words import (
    bearable_words,
    bounds_of,
    decided_word,
    deciding,
    hdi_of,
    is_of_encryption,
    judgement,
    label,
    limit_words,
    metric_words,
    overhead_text,
    place_words,
    quotient_text,
    single_run_estimate,
    subject,
    throughput_change,
    times,
)
from tdelta.report.labels import capitalized
from tdelta.report.page.wording import listed
from tdelta.report.quantities import estimate_text, hdi_text, printable, share, small_share

_SPELLED_OUT = 3
_MOST_REASONS = 12
_PAIR = 2
_OWN_WORDS = ("encryption", "undecided", "invalid")
"""What sentences begin with, and is written large there; names of transactions are their owner's."""


def answer(result: AnalysisResult) -> str:
    """The answer in words: a sentence for each comparison that decides, or one for all of more than three."""
    judged = result.primary
    if not judged:
        return "No answer: these files have no figure that two conditions have in common."
    if len(judged) > _SPELLED_OUT:
        return _summary(judged, result)
    return " ".join(dict.fromkeys(_sentence(comparison, result) for comparison in judged))


def headline(result: AnalysisResult) -> str:
    """The answer in a few words: ``Slower: +3.1 % response time``, ``22 comparisons: 22 undecided``."""
    judged = result.primary
    if not judged:
        return "No answer"
    if len(judged) == 1:
        only = judged[0]
        if only.ratio is None:
            return f"Undecided, no replication: {_short(only, result)} {metric_words(only.metric)}"
        if is_lone(only):
            return f"Undecided, one run per condition: {_short(only, result)} {metric_words(only.metric)}"
        return f"{capitalized(decided_word(only))}: {_short(only, result)} {metric_words(only.metric)}"
    counts = Counter(map(decided_word, judged))
    words = ", ".join(f"{number}\u00a0{word}" for word, number in counts.most_common())
    return f"{len(judged)} comparisons: {words}"


def design_lines(result: AnalysisResult) -> tuple[str, ...]:
    """What the design can bear: every reason once, with how many comparisons have it where not all do.

    Reasons that quote an interval are left to the sentence and the table, which have the same figures.
    """
    counts = Counter(
        reason for c in result.comparisons for reason in dict.fromkeys(map(str, c.reasons)) if "% HDI" not in reason
    )
    ordered = sorted(counts, key=lambda reason: -sum(reason in map(str, c.reasons) for c in result.primary))
    every = len(result.comparisons)
    shown = [r if counts[r] == every else f"{r} ({counts[r]} of {every} comparisons)" for r in ordered]
    shown += [*_scatter_lines(result), *note_lines(result.comparisons)]
    more = len(shown) - _MOST_REASONS
    return (*shown[:_MOST_REASONS], *((f"and {more} more, in --json",) if more > 0 else ()))


def _scatter_lines(result: AnalysisResult) -> list[str]:
    """What runs of one condition differ by, where there are several: over all comparisons that decide."""
    found = [
        c.scatter.run_sd
        for c in result.primary
        if c.scatter.run_sd is not None and c.baseline.runs + c.condition.runs > _PAIR
    ]
    if not found:
        return []
    low, high = map(small_share, (min(found), max(found)))
    return [f"runs of one condition differ by about {low if low == high else f'{low} to {high}'} (standard deviation)"]


def prior_lines(result: AnalysisResult) -> tuple[str, ...]:
    """The pull of the prior: what decides, again, under every other prior; the scatter of runs is said elsewhere."""
    bounds = bounds_of(result)
    named = {single_run[0] for c in result.primary if (single_run := single_run_estimate(c)) is not None}
    if not result.is_encryption:
        named.add(NO_SPEEDUP.name)
    names = dict.fromkeys(name for c in result.primary for name in c.priors if name not in named)
    return tuple(line for name in names for line in _under(name, result, bounds))


def _under(name: str, result: AnalysisResult, bounds: tuple[float, ...]) -> list[str]:
    words = "With a prior that forbids a speed-up" if name == NO_SPEEDUP.name else f"With the prior {printable(name)}"
    given = [(c, c.ratio, c.priors[name]) for c in result.primary if name in c.priors and c.ratio is not None]
    moved = [(c, other) for c, ratio, other in given if estimate_text(ratio, bounds) != estimate_text(other, bounds)]
    if not moved:
        return [f"{words}: the same figures."]
    lines = [f"{words}, {label(c, result)}: {estimate_text(other, bounds)}." for c, other in moved[:_SPELLED_OUT]]
    left = len(moved) - _SPELLED_OUT
    return [*lines, f"{words}: {left} more differ; --json has them."] if left > 0 else lines


def _sentence(comparison: Comparison, result: AnalysisResult) -> str:
    if comparison.ratio is None:
        text = _unreplicated(comparison, result)
    elif is_lone(comparison):
        text = _lone(comparison, result)
    else:
        text = _estimated(comparison, result)
    begins = text.split(maxsplit=1)[0].strip(":,")
    return text[0].upper() + text[1:] if begins in _OWN_WORDS else text


def is_lone(comparison: Comparison) -> bool:
    is_single = comparison.baseline.runs == comparison.condition.runs == 1
    return is_single and comparison.scatter.run_sd is None and comparison.decision is Decision.UNDECIDED


def _unreplicated(comparison: Comparison, result: AnalysisResult) -> str:
    what, amount = metric_words(comparison.metric), quotient_text(comparison, bounds_of(result))
    return (
        f"undecided: no replication. {_place(comparison, result)}{_pair(comparison)} reads {amount} {what}"
        f"{_as_throughput(comparison, result)}: the quotient of two figures, and nothing in the files says how far"
        " another pair would be from it."
    )


def _lone(comparison: Comparison, result: AnalysisResult) -> str:
    """One run per condition: the figure, its interval, and what would have to be true for it to mean anything."""
    clause = f"{_place(comparison, result)}{subject(comparison, result)} {_costs(comparison, result, 'reads')}"
    return f"undecided: one run per condition. {_capital(clause)} of two runs; {bearable_words(comparison)}."


def _capital(text: str) -> str:
    return text[0].upper() + text[1:] if text.startswith(_OWN_WORDS) else text


def _estimated(comparison: Comparison, result: AnalysisResult) -> str:
    clause = f"{_place(comparison, result)}{subject(comparison, result)} {_costs(comparison, result, 'costs')}"
    match comparison.decision:
        case Decision.UNDECIDED:
            return f"undecided: {clause}: {why_undecided(comparison, result)}."
        case Decision.INVALID:
            first = f" ({comparison.reasons[0]})" if comparison.reasons else ""
            return f"invalid, so no answer: {clause}, not to be relied on{first}."
        case _:
            return f"{clause}: {judgement(comparison, result)}."


def _costs(comparison: Comparison, result: AnalysisResult, verb: str) -> str:
    """``costs +3.1 % response time (95 % HDI +2.4 … +3.8)``; of a saving ``changes response time by −72 %``."""
    ratio, what = _known(comparison), metric_words(comparison.metric)
    many = times(ratio.median)
    hdi = f"{f'{many}; ' if many else ''}{hdi_words(comparison, result)}"
    amount = overhead_text(comparison, bounds_of(result))
    also = _as_throughput(comparison, result)
    if verb == "costs" and (ratio.median < 1 or not is_of_encryption(comparison, result)):
        return f"changes {what} by {amount} ({hdi}){also}"
    return f"{verb} {amount} {what} ({hdi}){also}"


def _as_throughput(comparison: Comparison, result: AnalysisResult) -> str:
    change = throughput_change(comparison, bounds_of(result))
    return "" if change is None else f", that is {change} throughput"


def hdi_words(comparison: Comparison, result: AnalysisResult) -> str:
    """``95 % HDI +2.4 … +3.8``; with a stated scatter of runs also the wider one that decides."""
    ratio, bounds = _known(comparison), bounds_of(result)
    level, ends = hdi_of(ratio, result)
    single_run = single_run_estimate(comparison)
    if single_run is None:
        return f"{level} % HDI {hdi_text(ratio, ends, bounds)}"
    name, roomy = single_run
    wider = hdi_text(roomy, hdi_of(roomy, result)[1], bounds)
    return f"{level} % HDI of these two runs {hdi_text(ratio, ends, bounds)}; {wider} if, as you state, {name}"


def why_undecided(comparison: Comparison, result: AnalysisResult) -> str:
    if comparison.undecided_because:
        return "; ".join(map(str, comparison.undecided_because))
    estimate = deciding(comparison) or _known(comparison)
    level, ends = hdi_of(estimate, result)
    stated = "" if single_run_estimate(comparison) is None else " with the stated scatter of runs"
    which = f"the {level} % HDI{stated}"
    if not any(ends[0] <= limit <= ends[1] for limit in bounds_of(result)):
        return "; ".join(map(str, comparison.reasons)) or f"too little for a verdict at a {level} % HDI"
    if result.budget is not None:
        return f"{which} reaches across the budget of {share(result.budget)}"
    return f"{which} reaches across an edge of {limit_words(result, both_ways=True)}"


def _summary(judged: tuple[Comparison, ...], result: AnalysisResult) -> str:
    least, most = (pick(judged, key=_overhead) for pick in (min, max))
    metrics = list(dict.fromkeys(metric_words(c.metric) for c in judged))
    shown = [f"{f'{metric_words(c.metric)}, ' if len(metrics) > 1 else ''}{label(c, result)}" for c in (least, most)]
    ends = " to ".join(f"{_short(c, result)} ({words})" for c, words in zip((least, most), shown, strict=True))
    counts = Counter(_count_words(c, result) for c in judged)
    words = "; ".join(f"{number} {said}" for said, number in counts.most_common())
    alone = sum(c.ratio is None for c in judged)
    many = "All" if alone == len(judged) else str(alone)
    bare = f" {many} have one figure per condition: no replication, so a quotient and no interval." if alone else ""
    lone = sum(is_lone(c) for c in judged if c.ratio is not None)
    single = f" {'All' if lone == len(judged) else lone} have one run per condition." if lone else ""
    named = listed(metrics)
    what = f"reads {ends} {named}" if alone + lone == len(judged) else f"changes {named} by {ends}"
    others = list(dict.fromkeys(printable(c.condition.condition) for c in judged))
    is_encryption = all(is_of_encryption(c, result) for c in judged)
    who = "Encryption" if is_encryption else f"{listed(others)} over {printable(result.baseline)}"
    return f"{who} {what}. Of {len(judged)} comparisons: {words}.{bare}{single}"


def _count_words(comparison: Comparison, result: AnalysisResult) -> str:
    decision = comparison.decision
    match decision:
        case Decision.SLOWER:
            return f"{decided_word(comparison)} (by more than {limit_words(result)})"
        case Decision.NEGLIGIBLE:
            return f"negligible (within ±{share(result.tolerance)})"
        case Decision.OVER | Decision.WITHIN:
            return f"{decision.value} the budget of {share(result.budget or 0.0)}"
        case _:
            return decision.value


def _overhead(comparison: Comparison) -> float:
    return comparison.quotient if comparison.ratio is None else comparison.ratio.median


def _short(comparison: Comparison, result: AnalysisResult) -> str:
    """``+3.1 %``, or ``6.6 x`` where per cent mislead."""
    return times(_overhead(comparison)) or quotient_text(comparison, bounds_of(result))


def _known(comparison: Comparison) -> Estimate:
    if comparison.ratio is None:
        raise ValueError("a comparison without replication has no posterior")
    return comparison.ratio


def _pair(comparison: Comparison) -> str:
    return f"{printable(comparison.condition.condition)} over {printable(comparison.baseline.condition)}"


def _place(comparison: Comparison, result: AnalysisResult) -> str:
    """What tells it from the others that decide: ``New Order, 16 threads: ``."""
    place = place_words(comparison, result.primary)
    return f"{', '.join(place)}: " if place else ""
