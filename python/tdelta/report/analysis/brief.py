"""The answer of ``tdelta analyze`` in a few lines and one table; all else is asked for by ``--details``.

As `tdelta.report.brief` is of a run: worded by what was decided, for people who know no statistics.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from tdelta.records import THROUGHPUT, AnalysisResult, Comparison, Decision, NoteCode
from tdelta.report.analysis.sentence import answer, is_lone, why_undecided
from tdelta.report.analysis.units import unit_amounts
from tdelta.report.analysis.words import (
    bounds_of,
    decided_word,
    deciding,
    is_of_encryption,
    label,
    metric_words,
    overhead_text,
    place_words,
    quotient_text,
    side_titles,
    throughput_beside,
    throughput_change,
)
from tdelta.report.brief import Line, budget_lead, caution_lines, lead
from tdelta.report.drawing import measured, paragraph, plain_table
from tdelta.report.effect import Effect, effect_of, no
from tdelta.report.quantities import MISSING, counted, decimals, interval, percent, printable, share, small_share
from tdelta.report.table import decision_style

_SPELLED_OUT = 3
_MOST_ROWS = 12
"""Comparisons that a brief table has a row for."""

_DRAWN = 0.05
"""How far an estimate is from the quotient of the means, on the scale of logarithms, when that is said."""

_TIMES = frozenset({"response time", "time per operation", "time"})
"""Metrics of which more is slower."""

_WORST_FIRST = {
    code: at
    for at, code in enumerate(
        (
            # the figures are not of what is compared
            "tests-differ",
            "copy-suspected",
            "run-aborted",
            "report-missing",
            "pgbench-report-missing",
            "file-cut-off",
            "clock-coarser-than-means",
            "confounded",
            "repetitions-in-process",
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


def sentence(result: AnalysisResult) -> str:
    """Yes or no, or within or over the budget, and how much: all that ``--quiet`` prints."""
    judged = result.primary
    if not judged or any(c.ratio is None or is_lone(c) for c in judged):
        text = answer(result)
        return f"Undecided: {text[0].lower()}{text[1:]}" if len(judged) > _SPELLED_OUT else text
    if len(judged) > _SPELLED_OUT:
        return _summary(judged, result)
    worst_first = sorted(judged, key=lambda one: one.decision is not result.decision)
    return " ".join(dict.fromkeys(_sentence(comparison, result) for comparison in worst_first))


def lines(result: AnalysisResult, command: str) -> list[Line]:
    return [
        *caution_lines(against_trust(result)),
        Line("Measured", _measured(result)),
        *_certainty(result),
        *_scatter(result),
        Line("Next", f"{command} --details" if command else "--details shows all figures"),
    ]


def _sentence(comparison: Comparison, result: AnalysisResult) -> str:
    effect = _effect(comparison, result)
    names = [printable(side.condition) for side in (comparison.condition, comparison.baseline)]
    where = "".join(f"{place}, " for place in place_words(comparison, result.primary))
    also = throughput_beside(comparison, result)
    rate = "" if also is None else f"; {also} throughput"
    is_apart = _is_apart(comparison, effect, names)
    what = metric_words(comparison.metric)
    match comparison.decision:
        case Decision.SLOWER:
            text = f"{_decided('Yes', result)}: {where}{is_apart}{rate}"
        case Decision.OVER:
            text = f"{budget_lead(comparison.decision, result.budget)}: {where}{is_apart}{rate}"
        case Decision.WITHIN:
            changes = f"{names[0]} changes {what} over {names[1]} by {effect.signed()}{rate}"
            text = f"{budget_lead(comparison.decision, result.budget)}: {where}{changes}"
        case Decision.NEGLIGIBLE:
            limit = f"within the limit of ±{share(result.tolerance)}"
            same = f"{names[0]} makes no difference that matters over {names[1]}"
            text = f"{_decided(_no(what), result)}: {where}{same}: {what} {effect.signed()}, {limit}"
        case Decision.FASTER:
            odd = ", though encryption adds work, so look for another difference between the runs"
            shown = odd if is_of_encryption(comparison, result) else ""
            text = f"{_decided(_no(what), result)}: {where}{is_apart}{rate}{shown}"
        case Decision.UNDECIDED:
            other_test = next((r for r in comparison.undecided_because if r.code == "tests-differ"), None)
            gate = "" if result.budget is None else f" whether it is within the {share(result.budget)} budget"
            span = "" if result.budget is None else ", by a 99 % interval"
            found = other_test.against_trust if other_test else f"{_between(effect, names, what)}{span}"
            text = f"Undecided{gate}: {where}{found}"
        case _:
            first = f" ({comparison.reasons[0]})" if comparison.reasons else ""
            text = f"No answer: {where}what {names[0]} costs is not to be relied on{first}"
    return f"{text}."


def _decided(word: str, result: AnalysisResult) -> str:
    """Yes or no; neither where another comparison leaves the whole undecided, as the exit code says."""
    return "Decided" if result.decision is Decision.UNDECIDED else word


def _no(what: str) -> str:
    return no(is_time=what in _TIMES, what=what)


def _is_apart(comparison: Comparison, effect: Effect, names: list[str]) -> str:
    """``tde is 6.6 % slower than plain (5.1 to 8.2 %)``; of what is no time, ``takes 12 % more CPU than``."""
    what = metric_words(comparison.metric)
    if what not in _TIMES:
        amount, _, across = effect.more(what).partition(" (")
        return f"{names[0]} takes {amount} than {names[1]} ({across}"
    amount, _, across = effect.slower().partition(" (")
    return f"{names[0]} is {amount} than {names[1]} ({across}"


def _between(effect: Effect, names: list[str], what: str) -> str:
    if what not in _TIMES:
        return f"{names[0]} over {names[1]}, {what} {effect.signed()}"
    best = effect.slower().partition(" (")[0]
    return f"{names[0]} is {effect.reach()} than {names[1]} (best estimate: {best})"


def _summary(judged: tuple[Comparison, ...], result: AnalysisResult) -> str:
    counts, said = Counter(comparison.decision for comparison in judged), Counter(map(decided_word, judged))
    least, most = (pick(judged, key=lambda c: _effect(c, result).median) for pick in (min, max))
    what = " and ".join(dict.fromkeys(metric_words(c.metric) for c in judged))
    ends = " to ".join(f"{overhead_text(c, bounds_of(result))} ({label(c, result)})" for c in (least, most))
    is_encryption = all(is_of_encryption(c, result) for c in judged)
    who = "encryption" if is_encryption else f"another condition than {printable(result.baseline)}"
    words = ", ".join(f"{number} {word}" for word, number in said.most_common())
    is_time = all(metric_words(c.metric) in _TIMES for c in judged)
    start = lead(counts, no(is_time=is_time, what=what), "comparison")
    return f"{start}: {who} changes {what} by {ends}. Of {len(judged)} comparisons: {words}."


def _effect(comparison: Comparison, result: AnalysisResult) -> Effect:
    estimate = deciding(comparison)
    if estimate is None:
        raise ValueError("a comparison without replication has no interval")
    return effect_of(estimate, bounds_of(result), is_gate=result.budget is not None)


def against_trust(result: AnalysisResult) -> list[str]:
    """What speaks against trusting the answer, worst first; of the like of many comparisons the worst one."""
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


def _measured(result: AnalysisResult) -> str:
    files = ", ".join(f"{counted(number, 'file')} of {name}" for name, number in result.formats.items())
    sides = {side.condition: side.runs for c in result.primary for side in (c.baseline, c.condition) if side.runs}
    runs = ", ".join(f"{counted(number, 'run')} of {printable(name)}" for name, number in list(sides.items())[:4])
    source = printable(result.source) if result.source else ""
    return "; ".join(part for part in (files, runs, source) if part)


def _certainty(result: AnalysisResult) -> Iterator[Line]:
    level = 95 if result.budget is None else 99
    judged = [c for c in result.primary if c.ratio is not None and not is_lone(c)]
    if not judged or len(judged) < len(result.primary):
        return
    limit = f"the budget of {share(result.budget)}" if result.budget is not None else _limit(result)
    if len(judged) > 1:
        text = f"each has its {level} % interval in the table; a verdict needs all of it on one side of {limit}"
        yield Line("How sure", text)
        return
    (only,) = judged
    if only.decision is Decision.UNDECIDED:
        why = why_undecided(only, result).replace(" % HDI", " % interval")
        yield Line("How sure", f"not enough to decide: {why}")
        return
    where = {
        Decision.SLOWER: "all of it above",
        Decision.OVER: "all of it above",
        Decision.FASTER: "all of it below",
    }.get(only.decision, "all of it within")
    yield Line("How sure", f"{level} % sure that it is {_effect(only, result).signed_span()}, {where} {limit}")


def _limit(result: AnalysisResult) -> str:
    whose = "your limit" if result.is_tolerance_given else "the default limit"
    return f"{whose} of ±{share(result.tolerance)} (--tolerance)"


def _scatter(result: AnalysisResult) -> Iterator[Line]:
    found = [c.scatter.run_sd for c in result.primary if c.scatter.run_sd is not None]
    if found:
        low, high = map(small_share, (min(found), max(found)))
        sd = low if low == high else f"{low} to {high}"
        stated = "as you state, " if result.stated_run_sd is not None else ""
        yield Line("Noise floor", f"{stated}runs of one condition differ by about {sd} (standard deviation)")


def brief_table(result: AnalysisResult, width: int) -> list[Text | Table]:
    """A row for each comparison, throughput as throughput; those that decide come first."""
    if not result.comparisons:
        return []
    level = "95 % interval" if result.budget is None else "99 % interval"
    baseline, condition = side_titles(result)
    has_ratio = any(c.ratio is not None for c in result.comparisons)
    table = plain_table(
        (
            ("", False),
            *((title, True) for title in (baseline, condition, "change")),
            *(((level, True),) if has_ratio else ()),
            ("verdict", False),
        )
    )
    table.columns[-1].no_wrap = True
    table.columns[0].overflow = "fold"
    ordered = sorted(result.comparisons, key=lambda c: not c.primary)
    metrics = {c.metric for c in result.comparisons}
    for comparison in ordered[:_MOST_ROWS]:
        table.add_row(*_row(comparison, result, has_ratio=has_ratio, names_metric=len(metrics) > 1))
    if len(metrics) == 1:
        table.columns[0].header = _metric_title(ordered[0])
    if measured(table) > width:
        table.padding = (0, 1, 0, 0)
    parts = ["Only the first row decides." if 0 < len(result.primary) < len(result.comparisons) else ""]
    if 1 < len(result.primary) < len(result.comparisons):
        parts = [f"Only the first {len(result.primary)} rows decide."]
    parts += _drawn(ordered[:_MOST_ROWS])
    left = len(ordered) - _MOST_ROWS
    parts += [f"{counted(left, 'more comparison')} with --details."] if left > 0 else []
    note = " ".join(filter(None, parts))
    return [table, *(paragraph(note, width, "dim") if note else [])]


def _drawn(shown: Sequence[Comparison]) -> list[str]:
    """That a change is not the quotient of the values in its row, where the prior moves it."""
    for one in shown:
        if one.ratio is not None and abs(math.log(one.quotient / one.ratio.median)) > _DRAWN:
            raw = percent(one.quotient)
            return [f"The means of the runs differ by {raw}; of few or scattered runs the estimate is nearer to none."]
    return []


def _metric_title(comparison: Comparison) -> str:
    return "throughput" if comparison.metric == THROUGHPUT else metric_words(comparison.metric)


def _row(comparison: Comparison, result: AnalysisResult, *, has_ratio: bool, names_metric: bool) -> list[str | Text]:
    bounds = bounds_of(result)
    words = label(comparison, result)
    title = _metric_title(comparison)
    only = len({label(c, result) for c in result.comparisons}) == 1
    name = title if names_metric and only else f"{title}, {words}" if names_metric else words
    sides = unit_amounts((comparison.baseline.value, comparison.condition.value), comparison.unit)
    change = throughput_change(comparison, bounds) or quotient_text(comparison, bounds)
    across = MISSING
    if (found := deciding(comparison)) is not None:
        ends = found.hdi95 if result.budget is None else found.hdi99
        if comparison.metric == THROUGHPUT and min(ends) > 0:
            ends = 1 / ends[1], 1 / ends[0]
        across = interval(ends, decimals((found.median, *ends), bounds))
    style = decision_style(comparison.decision) if comparison.primary else ""
    verdict = Text(decided_word(comparison), style=style)
    return [name, *sides, change, *((across,) if has_ratio else ()), verdict]
