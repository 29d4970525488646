"""The answer: the verdict in a sentence, and at most ten lines below it, for people who know no statistics.

Runs and other tools' files share it, through `tdelta.report.outcome.Outcome`. Everything else is a detail
(``--details``). A sentence follows the decision, and never says more than was decided.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tdelta.design.factors import WORKLOAD_WORKS
from tdelta.document.blocks import Block, Column, Line, Lines, Paragraph, Table
from tdelta.document.effect import Cost, Effect, cost_of, edges, effect_of, limits
from tdelta.document.labels import cipher_name, compared_label, decision_word, metric_name, sides_of, with_labels
from tdelta.document.quantities import (
    MISSING,
    change,
    counted,
    decimals,
    duration,
    printable,
    rate,
    share,
    small_share,
    wrap,
    wrap_command,
)
from tdelta.document.wording import has_amount
from tdelta.findings import answer_lines
from tdelta.findings.actions import ActionMeasure
from tdelta.findings.backups import BackupMeasure
from tdelta.findings.base import FOUND
from tdelta.inference.cipher_work import TOO_LITTLE, is_bounded
from tdelta.inference.decisions import ENOUGH_ROUNDS, WIDEST
from tdelta.messages import Caution
from tdelta.messages.catalogue import CACHED, NOTHING_ENCRYPTED
from tdelta.messages.checks import AA_CHECK, BB_CHECK, IN_FORCE, NO_MARKER
from tdelta.records import (
    THROUGHPUT,
    AnalysisResult,
    Comparison,
    Decision,
    EvidenceState,
    FileEvidence,
    Metric,
    NoiseFloor,
    Role,
    RunResult,
    RunSettings,
    Validity,
    Verdict,
)
from tdelta.report.analysis.words import files_against_trust, throughput_text
from tdelta.report.command import next_command, run_command
from tdelta.report.outcome import Kind, Limit, Outcome, is_on_fuse, of_files, of_run
from tdelta.report.subject import subject

MOST_LINES = 10
"""Lines below the sentence, of at most `WIDTH` columns."""

WIDTH = 78

_SPELLED_OUT = 3
"""Outcomes that have a clause each."""

_MOST_CAUTIONS = 2
_CPU_CHARACTERS = 30
_CHANCE = (1.96 + 0.84) / 1.96
_TOO_LONG_SECONDS = 4 * 3600.0
"""A longer run is for `tdelta plan` to weigh."""

_IN_SECONDS, _IN_MINUTES = 100, 7200
"""Shorter runs are given in seconds, then in minutes."""

_FEW_BLOCKS, _FEW_ROUNDS = "few-blocks", frozenset({"one-round", "few-rounds"})
"""Too few blocks go without saying if there are too few rounds."""

_US = 1e6
_LEAKS = 2
_DRAWN = 0.05
"""How far an estimate must be from the quotient of the means, as a logarithm, to be explained."""

_FEWEST_ROWS = 4

_OPERATIONS = (ActionMeasure, BackupMeasure)
"""Findings about the operation that a run measures; their facts come first."""

_BARE = 3
"""Cells of a row without an interval."""

_WORST_FIRST = (
    *(Decision.INVALID, Decision.OVER, Decision.UNDECIDED, Decision.SLOWER),
    *(Decision.FASTER, Decision.WITHIN, Decision.NEGLIGIBLE),
)
_NEVER_RAN = "the run ended before its first round was complete"
_ODD = "; encryption does not speed a database up, so look for another difference between the two"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer, which ``tdelta`` prints first.

    Attributes:
        sentence: the verdict word, and what was found.
        decision: what the exit code is derived from.
        lines: at most ten, in order of importance.
        rows: one for each configuration where there are several; they count as lines.
    """

    sentence: str
    decision: Decision
    lines: tuple[Line, ...]
    rows: tuple[tuple[str, ...], ...] = ()
    level: str = "95%"

    def blocks(self) -> Iterator[Block]:
        """As a terminal shows it; a page has the sentence as its heading, and a picture of the rows."""
        yield Paragraph(self.sentence, "answer", state=self.decision.value)
        if self.rows:
            titles = ["change", *([f"{self.level} interval"] if len(self.rows[0]) > _BARE else [])]
            columns = [Column(""), *(Column(title, is_number=True) for title in titles), Column("verdict")]
            yield Table("Configurations", columns, self.rows)
        yield self.lines_block()

    def lines_block(self) -> Lines:
        return Lines(self.lines)


def run_answer(result: RunResult, name: str = "last") -> Answer:
    """The answer of a run.

    Args:
        name: how the commands of *Next* call the run.
    """
    outcomes, settings = of_run(result), result.settings
    tests = [one for one in outcomes if one.kind in (Kind.IDENTICAL, Kind.INJECTED)]
    judged = [one for one in outcomes if one not in tests] or tests
    limit, decision = Limit(settings.tolerance, settings.budget), _decision(result.decision, outcomes)
    text, why = _without_answer(result)
    has_answer = not text
    if has_answer:
        text, why = _sentence(judged, limit, decision), _why(judged, limit)
        if any(one.is_little for one in judged) and (remedy := _remedy(result)) is not None:
            text = f"{text.removesuffix('.')}; {remedy[1]}."
        text += f" {_self_test(tests)}" if tests and judged is not tests else ""
    if result.interrupted:
        text = f"INTERRUPTED. {text}"
    facts = found(result)
    above = (
        *(_values(judged, result) if has_answer else ()),
        *(_cpu(result) if has_answer else ()),
        *(line for line in answer_lines(result) if has_answer and line.title != FOUND),
        Line("Compared", f"{subject(result)}; {_effort(result)}"),
        *why,
        *_noise(result),
    )
    is_valid = decision is not Decision.INVALID
    below = (
        *([Line("Valid for", _valid_for(result))] if is_valid else []),
        Line("Next", _next(result, name), is_command=True),
    )
    room = MOST_LINES - (min(len(outcomes), _FEWEST_ROWS) if has_answer and len(outcomes) > 1 else 0)
    lines = _with_found(facts, above, against_trust(result), below, room)
    rows = _rows(outcomes, MOST_LINES - _height(lines)) if has_answer else ()
    return Answer(text, decision, lines, rows, limit.level)


def files_answer(result: AnalysisResult, command: str = "") -> Answer:
    """The answer of ``tdelta analyze``.

    Args:
        command: the command line that gave it.
    """
    outcomes, limit = of_files(result), Limit(result.tolerance, result.budget)
    following = Line("Next", f"{command} --details".strip(), is_command=True)
    if not outcomes:
        text = "NO ANSWER YET: the two sides have no metric in common."
        return Answer(text, Decision.UNDECIDED, (*_left_out(result), following))
    above = (
        *_figures_of_files(outcomes, result),
        Line("Compared", _files(result)),
        *_why(outcomes, limit),
        *_scatter(result),
    )
    below = (*_left_out(result), Line("Valid for", "these results; not for other machines or workloads"), following)
    lines = _with_cautions(above, files_against_trust(result), below)
    text = _sentence(outcomes, limit, result.decision)
    return Answer(text, result.decision, lines, _rows(outcomes, MOST_LINES - _height(lines)), limit.level)


def _decision(whole: Decision, outcomes: Sequence[Outcome]) -> Decision:
    """The decision that the exit code is derived from: the worst of all."""
    failing = (Decision.INVALID, Decision.OVER, Decision.UNDECIDED)
    found = {whole, *(one.decision for one in outcomes)}
    return next((decision for decision in failing if decision in found), whole)


def _with_cautions(above: tuple[Line, ...], found: Sequence[str], below: tuple[Line, ...]) -> tuple[Line, ...]:
    """The lines with as many cautions as there is room for, at least one."""
    for shown in range(min(len(found), _MOST_CAUTIONS), -1, -1):
        rest = " (and more with --details)" if shown < len(found) else ""
        texts = [f"{text}{rest if at == shown - 1 else ''}" for at, text in enumerate(found[:shown])]
        lines = (*above, *(Line("Caution", text, is_warning=True) for text in texts), *below)
        if shown <= 1 or _height(lines) <= MOST_LINES:
            break
    return lines


def _with_found(
    facts: Sequence[str], above: tuple[Line, ...], cautions: Sequence[str], below: tuple[Line, ...], room: int
) -> tuple[Line, ...]:
    """The lines with as many facts at their head as there is room for, at least one."""
    lines = _with_cautions(above, cautions, below)
    for shown in range(len(facts), 0, -1):
        rest = f" ({len(facts) - shown} more with --details)" if shown < len(facts) else ""
        head = (*(Line(FOUND, text) for text in facts[: shown - 1]), Line(FOUND, facts[shown - 1] + rest))
        lines = _with_cautions((*head, *above), cautions, below)
        if _height(lines) <= room:
            break
    return lines


def _height(lines: Sequence[Line]) -> int:
    """Lines of a terminal."""
    room = WIDTH - max(len(line.title) for line in lines) - 2
    return sum(len((wrap_command if line.is_command else wrap)(line.text, room)) for line in lines)


def _effort(result: RunResult) -> str:
    seconds = result.counts.elapsed_seconds
    time = (
        f"{seconds:.0f} s"
        if seconds < _IN_SECONDS
        else f"{seconds / 60:.0f} min"
        if seconds < _IN_MINUTES
        else duration(seconds)
    )
    return f"{counted(result.counts.rounds, 'round')}, {time}"


def _sentence(outcomes: Sequence[Outcome], limit: Limit, decision: Decision) -> str:
    during = [one for one in outcomes if one.kind is Kind.DURING]
    if during:
        return _operation_sentence(during, outcomes, limit, decision)
    if all(one.kind in (Kind.IDENTICAL, Kind.INJECTED) for one in outcomes):
        return _self_test(outcomes)
    if len(outcomes) > _SPELLED_OUT:
        return _counted(outcomes, decision)
    parts = []
    for group in _grouped(outcomes, decision):
        if len(group) == len(outcomes) and all(map(_is_unknown, group)):
            clauses = ["too little was measured"]
        else:
            clauses = [_clause(one, limit, has_span=len(outcomes) == 1) for one in group]
        parts.append(f"{verdict_words(group[0])}: {'; '.join(dict.fromkeys(clauses))}")
    text = _without_repetition(". ".join(parts), outcomes[0].name)
    return f"{text}{'' if limit.budget is None else f'; the limit is {share(limit.budget)}'}."


def _is_unknown(one: Outcome) -> bool:
    """Whether not even a bound or a direction is known."""
    return one.is_little and one.at_most is None and one.direction is None


def _without_repetition(text: str, name: str) -> str:
    """The same clauses, each of them naming the workload, or what it has in common with the first, once."""
    for words, shorter in (("makes this workload", "makes it"), (f"with {name}, ", "")):
        first, found, rest = text.partition(words)
        text = first + found + rest.replace(words, shorter)
    return text


def _grouped(outcomes: Sequence[Outcome], first: Decision) -> list[list[Outcome]]:
    """By decision: the one that makes the whole first, then the worst first."""
    order = (first, *(one for one in _WORST_FIRST if one is not first))
    words = list(dict.fromkeys(map(verdict_words, outcomes)))
    groups = (
        [one for one in outcomes if one.decision is decision and verdict_words(one) == word]
        for decision in order
        for word in words
    )
    return [group for group in groups if group]


def verdict_words(one: Outcome) -> str:
    """The words that begin an answer: ``SLOWER``, ``NO RELEVANT DIFFERENCE``, ``PROBABLY SLOWER``."""
    if one.direction is not None:
        direction = decision_word(one.direction, one.cost.words).upper()
        return f"PROBABLY {direction}{', AMOUNT UNKNOWN' if one.is_little else ''}"
    return "NO ANSWER YET" if one.is_little else decision_word(one.decision, one.cost.words).upper()


def _clause(one: Outcome, limit: Limit, *, has_span: bool) -> str:
    """The finding on one configuration: ``AES-256 makes this workload 3.1% slower (2.4% to 3.8%)``."""
    where = f"{'for' if one.is_of_files else 'at'} {one.place}, " if one.place else ""
    effect = one.effect
    if one.is_little or one.at_most is not None:
        return where + _without_amount(one, is_alone=has_span)
    if effect is None or one.is_lone:
        return where + _without_interval(one)
    if one.decision is Decision.INVALID:
        return f"{where}the result for {one.name} is not reliable{f' ({one.doubt})' if one.doubt else ''}"
    within = f", within {share(limit.tolerance)}"
    span = f" ({effect.signed_span()})" if has_span else ""
    if one.decision is Decision.NEGLIGIBLE and effect.is_one_sided:
        change = _phrase(one, effect.degree(one.cost, *_words(one)))
        return f"{where}{change}{span and f' ({effect.span()})'}, less than {_limit_words(limit)}"
    if one.decision is Decision.NEGLIGIBLE:
        return f"{where}{_same(one)}{within}{span}"
    if not effect.is_one_sided:
        has_best = has_span and effect.ends[1] - effect.ends[0] <= WIDEST
        best = f" (best estimate {effect.degree(one.cost, *_words(one))})" if has_best else ""
        return f"{where}{_phrase(one, _reach(one, effect))}{best}"
    if one.direction is not None:
        sep = " times " if effect.is_multiple else " "
        direction = effect.degree(one.cost, *_words(one)).partition(sep)[2]
        return f"{where}{_phrase(one, f'{effect.span()} {direction}', is_multiple=effect.is_multiple)}"
    if _names_limit(one):
        direction = effect.degree(one.cost, *_words(one)).partition(" ")[2]
        best = f" (best estimate {effect.amount()})" if has_span else ""
        reached = _phrase(one, f"{effect.span()} {direction}")
        return f"{where}{reached}{best}, which may be below or above {_limit_words(limit)}"
    span = f" ({effect.span()})" if has_span else ""
    text = f"{where}{_phrase(one, effect.degree(one.cost, *_words(one)), is_multiple=effect.is_multiple)}{span}"
    if one.decision is Decision.UNDECIDED:
        return f"{text}, but {one.doubt}" if one.doubt else text
    return text + (_ODD if one.decision is Decision.FASTER and one.is_encryption and one.kind is Kind.WORKLOAD else "")


def _without_amount(one: Outcome, *, is_alone: bool) -> str:
    """Of an outcome without a figure: its bound, or how little was measured."""
    if one.at_most is not None:
        return f"at this cache and workload, {one.name} costs less than {share(one.at_most)}"
    if one.direction is not None:
        word = decision_word(one.direction, one.cost.words)
        degree = word if one.cost.is_time else f"{word.partition(' ')[0]} {one.cost.words}"
        return _phrase(one, f"{degree}; too little was measured to show by how much")
    return f"too little was measured{'' if is_alone else f' with {one.name}'}"


def _names_limit(one: Outcome) -> bool:
    """Whether the clause on an undecided outcome names the limit that its one-sided interval includes."""
    effect = one.effect
    is_short = effect is not None and effect.is_one_sided and not effect.is_multiple
    return is_short and one.decision is Decision.UNDECIDED and not one.doubt


def _limit_words(limit: Limit) -> str:
    return f"the {share(limit.tolerance)} tolerance" if limit.budget is None else f"the {share(limit.budget)} budget"


def _reach(one: Outcome, effect: Effect) -> str:
    return effect.reach(Cost("time") if one.kind is Kind.OPERATION else one.cost)


def _words(one: Outcome) -> tuple[str, str]:
    return ("longer", "less time") if one.kind is Kind.OPERATION else ("slower", "faster")


def _phrase(one: Outcome, degree: str, *, is_multiple: bool = False) -> str:
    """A clause around a degree, ``3.1% slower`` or ``between 0.6% faster and 4.4% slower``."""
    is_time = one.cost.is_time
    if one.kind is Kind.OPERATION:
        return f"with {one.name}, {one.operation} takes {degree}"
    if one.kind is Kind.DURING:
        return f"while {one.operation}, this workload {'is' if is_time and not is_multiple else 'takes'} {degree}"
    if not one.than:
        take = "" if is_time and not is_multiple else f"{one.cost.verb} "
        return f"{one.name} makes this workload {take}{degree}"
    if is_multiple:
        return f"{one.name} takes {degree} as {one.than}"
    return f"{one.name} {'is' if is_time else 'takes'} {degree} than {one.than}"


def _same(one: Outcome) -> str:
    if one.kind is Kind.OPERATION:
        return f"with {one.name}, {one.operation} takes as long as without"
    what = "is as fast" if one.cost.is_time else f"{one.cost.verb}s as much {one.cost.words}"
    if one.than:
        return f"{one.name} {what} as {one.than}"
    return f"with {one.name}, this workload {what} as without"


def _without_interval(one: Outcome) -> str:
    """Of one figure, or one run, on each side."""
    if one.effect is None and not one.values:
        return f"no result for {one.name}{f': {one.doubt}' if one.doubt else ''}"
    effect = one.effect or effect_without_interval(one.quotient)
    degree = effect.degree(one.cost)
    was = f"was {degree} than" if one.cost.is_time and not effect.is_multiple else f"took {degree} than"
    was = was.replace(" than", " as") if effect.is_multiple else was
    if one.effect is None:
        return f"one figure each; {one.name} {was} {one.than}, and another pair may differ by more"
    return f"one run each; {one.name} {was} {one.than} ({effect.span()}), and identical systems may differ by more"


def _counted(outcomes: Sequence[Outcome], decision: Decision) -> str:
    """Of many: how many of each decision, and the least and the most of those that make the whole."""
    noun = "comparison" if outcomes[0].is_of_files else "operation" if outcomes[0].operation else "configuration"
    total, parts = len(outcomes), []
    for at, group in enumerate(_grouped(outcomes, decision)):
        every = f"all {total}" if len(group) == total else f"{len(group)} of {total}" if at == 0 else f"{len(group)}"
        word = verdict_words(group[0]) if at == 0 else verdict_words(group[0]).lower().replace("cpu", "CPU")
        nouns = f" {noun}s" if at == 0 else ""
        shown = "" if group[0].decision is Decision.NEGLIGIBLE or group[0].is_little else f": {_ends(group)}"
        parts.append(f"{word} in {every}{nouns}{shown}")
    return f"{'; '.join(parts)}."


def _ends(group: Sequence[Outcome]) -> str:
    group = [one for one in group if one.effect is not None or one.values] or group
    least, most = (pick(group, key=lambda one: one.quotient) for pick in (min, max))
    return " to ".join(
        f"{(one.effect or effect_without_interval(one.quotient)).signed()} ({one.label})"
        for one in ((least, most) if len(group) > 1 else group)
    )


def effect_without_interval(quotient: float) -> Effect:
    """An effect whose interval is its own value, for figures that have none."""
    return Effect(quotient, (quotient, quotient))


def _operation_sentence(
    during: Sequence[Outcome], outcomes: Sequence[Outcome], limit: Limit, decision: Decision
) -> str:
    """``CONVERSION: encrypting the database takes 1.3 s, and this workload takes 2.4 times as long meanwhile``."""
    named: dict[tuple[str, str], list[Outcome]] = {}
    for one in during:
        whose = f"on a copy with {one.name}, " if one.is_encryption else ""
        named.setdefault((whose, one.operation.partition(" (")[0]), []).append(one)
    titles = list(dict.fromkeys(_TITLES.get(name, name.upper()) for _, name in named))
    clear = decision in (Decision.SLOWER, Decision.NEGLIGIBLE, Decision.FASTER)
    lead = " and ".join(titles) + ("" if clear else f", {decision_word(decision, '').upper()}")
    parts = []
    for (whose, name), group in named.items():
        timed = sorted(group, key=lambda one: one.seconds or 0.0)
        shown = [timed[0], timed[-1]] if len(timed) > 1 else timed
        parts.append(f"{whose}{name} takes {'; or '.join(map(_while, shown))}")
    text = f"{lead}: {'. '.join(f'{part[:1].upper()}{part[1:]}' if at else part for at, part in enumerate(parts))}"
    when = "Afterwards" if titles == ["CONVERSION"] else "Without it"
    for one in outcomes:
        if one.kind is Kind.WORKLOAD:
            text += f". {when}, {_clause(one, limit, has_span=True)}"
    return f"{text}{'' if limit.budget is None else f'; the limit is {share(limit.budget)}'}."


_TITLES = {
    "encrypting the database": "CONVERSION",
    "encrypting the tables one by one": "CONVERSION",
    "decrypting the database": "CONVERSION",
    "changing the key": "KEY ROTATION",
    "changing the master key": "KEY ROTATION",
    "a backup": "BACKUP",
    "an injected pause of the server": "SELF-TEST",
}


def _while(one: Outcome) -> str:
    settings = one.operation.partition(" (")[2]
    how = f" ({settings}" if settings else ""
    seconds = duration(one.seconds) if one.seconds is not None else "an unknown time"
    if one.effect is None:
        return f"{seconds}{how}"
    is_slow = one.effect.is_multiple or not one.cost.is_time
    verb = "takes" if is_slow else "is"
    degree = one.effect.degree(one.cost) if one.effect.is_one_sided else one.effect.reach(one.cost)
    return f"{seconds}{how}, during which the workload {verb} {degree}"


def _self_test(outcomes: Sequence[Outcome]) -> str:
    """``SELF-TEST PASSED: an identical copy measured −0.1% (…), and an injected 5% slowdown measured +4.9% (…)``."""
    parts, failed, is_open = [], False, False
    for one in outcomes:
        effect = one.effect
        if effect is None:
            return f"NO ANSWER YET: {one.doubt or _NEVER_RAN}."
        is_open |= one.decision is Decision.UNDECIDED
        where = f" at {one.place}" if one.place else ""
        if one.kind is Kind.IDENTICAL:
            failed |= one.decision not in (Decision.NEGLIGIBLE, Decision.WITHIN, Decision.UNDECIDED)
            parts.append(f"an identical copy measured {effect.signed()} ({effect.signed_span()}){where}")
            continue
        failed |= one.decision in (Decision.FASTER, Decision.INVALID)
        actual = "" if one.actual is None else f", actual {Effect(one.actual, effect.ends, effect.bounds).signed()}"
        parts.append(f"an {one.name} measured {effect.signed()} ({effect.signed_span()}{actual}){where}")
    word = "FAILED" if failed else "UNDECIDED" if is_open else "PASSED"
    return f"SELF-TEST {word}: {', and '.join(parts)}."


def _without_answer(result: RunResult) -> tuple[str, tuple[Line, ...]]:
    """The sentence of a run that answers nothing, and the lines that say why and what helps; else empty."""
    failed = [check for check in result.validity if check.is_invalid]
    if failed and all(v.decision is Decision.INVALID for v in result.primary):
        return _invalid(failed, result)
    if not any(verdict.baseline_value for verdict in result.primary):
        return f"NO ANSWER YET: {_NEVER_RAN}.", (Line("What helps", "more time: --max-time"),)
    if _has_nothing_encrypted(result):
        pages = max(result.barely_encrypted.values())
        few = "almost nothing" if pages else "nothing"
        data = "" if result.settings.database is not None else ", or more data (--size)"
        less = "less cache on both servers" if result.settings.external_servers is not None else "a smaller --cache"
        bound = f" At this cache and workload, encryption costs less than {share(TOO_LITTLE)}."
        return (
            f"NO ANSWER YET: the data fits in the cache, so {few} was encrypted or decrypted"
            f" ({pages:.2g} pages per transaction).{bound if all(map(is_bounded, result.primary)) else ''}",
            (Line("What helps", f"{less}{data}"),),
        )
    return "", ()


def _has_nothing_encrypted(result: RunResult) -> bool:
    """Whether every verdict is left open because almost nothing was encrypted."""
    return all(any(reason.code == NOTHING_ENCRYPTED for reason in v.reasons[-1:]) for v in result.primary)


def _invalid(failed: Sequence[Validity], result: RunResult) -> tuple[str, tuple[Line, ...]]:
    leaks = [one for one in result.of(FileEvidence) if one.state is EvidenceState.LEAK]
    if leaks:
        names = " and ".join(dict.fromkeys(compared_label(one.condition) for one in leaks))
        found = "; ".join(dict.fromkeys(f"{one.file_class}: {', '.join(one.leaking[:_LEAKS])}" for one in leaks[:1]))
        more = f" (and {len(leaks) - 1} more with --details)" if len(leaks) > 1 else ""
        return (
            f"INVALID: plaintext was found in files of the {names} copies. Not everything was encrypted, so no overhead"
            " is reported.",
            (Line("Found in", found + more),),
        )
    floors = [noise for noise in result.noise_floor if noise.metric is result.settings.metric]
    if failed[0].code in (AA_CHECK, BB_CHECK) and floors:
        settings = result.settings
        least = min(settings.tolerance, settings.budget or settings.tolerance)
        apart = [noise for noise in floors if noise.is_apart and _is_outside(noise, least)]
        most = max(apart or floors, key=lambda noise: abs(noise.ratio.median - 1))
        sides = sides_of(settings)
        kind = sides.baseline if most.condition is None else sides.judged
        effect = effect_of(most.ratio, edges(least))
        limit = f"{share(least)} {'tolerance' if least == settings.tolerance else 'budget'}"
        return (
            f"INVALID: two identical {kind} copies differed by {effect.amount()} ({effect.span()}), more than the"
            f" {limit}, so this machine was too unstable.",
            (Line("What helps", "stop other programs; a longer run (--max-time); a larger --tolerance"),),
        )
    told = "; ".join(f"{check.check}{f' ({check.detail})' if check.detail else ''}" for check in failed)
    return f"INVALID: a check failed: {told}.", ()


def _is_outside(noise: NoiseFloor, limit: float) -> bool:
    low, high = noise.ratio.hdi95
    return low > 1 + limit or high < 1 - limit


def _why(outcomes: Sequence[Outcome], limit: Limit) -> tuple[Line, ...]:
    """How sure the verdict is, or why there is none."""
    judged = [one for one in outcomes if one.effect is not None and one.kind in (Kind.WORKLOAD, Kind.OPERATION)]
    if not judged:
        if reasons := [one.doubt for one in outcomes if one.is_little or one.at_most is not None]:
            return (Line("Why", reasons[0]),)
        if any(one.effect is None and one.is_of_files for one in outcomes):
            return (Line("What helps", "at least three runs of each, alternating"),)
        return ()
    none = f"differences under {share(limit.tolerance)} count as none (--tolerance)"
    if len(outcomes) > 1:
        against = none if limit.budget is None else f"the budget is {share(limit.budget)}"
        return (Line("Confidence", f"{limit.level} for each; {against}"),)
    (one,) = judged
    budget = share(limit.budget or 0.0)
    match one.decision:
        case Decision.UNDECIDED if one.is_lone:
            return (Line("What helps", "at least three runs of each, alternating"),)
        case Decision.UNDECIDED if _names_limit(one):
            return (
                Line("Confidence", f"{limit.level}; {none if limit.budget is None else f'the budget is {budget}'}"),
            )
        case Decision.UNDECIDED:
            across = "the range includes " + (
                f"the budget of {budget}"
                if limit.budget is not None
                else f"both less and more than {share(limit.tolerance)}"
            )
            return (Line("Why", one.doubt or across),)
        case Decision.NEGLIGIBLE:
            return (
                Line(
                    "Confidence", f"95% probability that the difference is under {share(limit.tolerance)} (--tolerance)"
                ),
            )
        case Decision.OVER:
            return (Line("Confidence", f"99% probability that the overhead is above {budget}"),)
        case Decision.WITHIN:
            return (Line("Confidence", f"99% probability that the overhead is below {budget}"),)
        case Decision.INVALID:
            return ()
        case _:
            return (Line("Confidence", f"95%; {none}"),)


def _rows(outcomes: Sequence[Outcome], room: int) -> tuple[tuple[str, ...], ...]:
    """A row for each of several outcomes, the worst first; the last one counts those without a row."""
    if len(outcomes) < 2:
        return ()
    order = [one for group in _grouped(outcomes, _WORST_FIRST[0]) for one in group]
    room = max(_FEWEST_ROWS, room)
    shown = order if len(order) <= room else order[: room - 1]
    has_span = any(one.effect is not None for one in order)
    rows = [_row(one, has_span=has_span) for one in shown]
    left = len(order) - len(shown)
    return (*rows, *(((f"{left} more with --details", *[""] * (len(rows[0]) - 1)),) if left else ()))


def _row(one: Outcome, *, has_span: bool) -> tuple[str, ...]:
    span = "" if one.effect is None else one.effect.signed_span()
    signed = (one.effect or effect_without_interval(one.quotient)).signed()
    if one.effect is None and not one.values:
        signed = MISSING
    if one.is_little or one.at_most is not None:
        signed = MISSING if one.at_most is None else f"< {share(one.at_most)}"
    whole = " (whole trial)" if one.is_of_part else ""
    word = decision_word(one.decision, one.cost.words)
    if one.is_little or one.direction is not None:
        word = verdict_words(one).lower().replace("cpu", "CPU")
    return one.label, signed, *((span,) if has_span else ()), f"{word}{whole}"


def _values(outcomes: Sequence[Outcome], result: RunResult) -> Iterator[Line]:
    """Both sides of the only outcome: ``84.2 → 86.8 µs per transaction; 11,875 → 11,518 transactions/s``."""
    if len(outcomes) != 1 or not outcomes[0].values:
        return
    (one,) = outcomes
    tests = (Role.IDENTICAL, Role.INJECTED)
    verdict = next((v for v in result.primary if v.condition.role not in tests), result.primary[0])
    title = metric_title(verdict.metric, result.settings)
    per = "" if one.kind is Kind.OPERATION else " per transaction"
    found = throughputs(verdict, result)
    also = ""
    if found is not None:
        ratio = found[1] / found[0]
        places = decimals((ratio,), edges(result.settings.tolerance))
        also = f"; {rate(found[0])}/s → {rate(found[1])}/s ({change(ratio, places)})"
    yield Line(title, f"{one.values}{per}{also}")


def metric_title(metric: Metric, settings: RunSettings) -> str:
    """A metric as the title of a line: ``Response time``, ``CPU``."""
    name = metric_name(metric, settings).removesuffix(" per operation")
    return name[:1].upper() + name[1:]


def throughputs(verdict: Verdict, result: RunResult) -> tuple[float, float] | None:
    """Transactions per second, unencrypted and encrypted, of a verdict on the mix's response time.

    None if operations fall due at a rate, if a trial is one bulk load or rebuild, and for other verdicts.
    """
    is_of_mix = (verdict.metric, verdict.transaction) == (Metric.RESPONSE_TIME, "all")
    has_steps = any(one.is_step and one.condition == verdict.condition for one in result.of(ActionMeasure))
    has_steps |= verdict.condition.get("work", WORKLOAD_WORKS[0]) not in WORKLOAD_WORKS
    is_open = bool(result.loop.arrival_rates)
    if not is_of_mix or has_steps or is_open or not verdict.baseline_value > 0:
        return None
    threads = verdict.condition.get("threads", result.settings.options.get("threads", 1))
    at_once = threads if isinstance(threads, int) else 1
    return at_once * _US / verdict.baseline_value, at_once * _US / verdict.condition_value


def companion(verdict: Verdict, result: RunResult) -> Verdict | None:
    """The verdict on CPU time of the same operations; on response time, if CPU time decides."""
    wanted = Metric.CPU_PER_OPERATION if verdict.metric is not Metric.CPU_PER_OPERATION else Metric.RESPONSE_TIME
    key = (verdict.condition, wanted, verdict.transaction)
    return next((v for v in result.verdicts if (v.condition, v.metric, v.transaction) == key), None)


def _cpu(result: RunResult) -> Iterator[Line]:
    """The other cost of the same operations: the least and the most of several configurations."""
    settings = result.settings
    treated = [v for v in result.primary if v.condition.is_treated(settings.contrast)]
    found = [other for v in treated if (other := companion(v, result)) is not None and has_amount(other)]
    if not found:
        return
    effects = [effect_of(v.ratio, edges(settings.tolerance)) for v in found]
    title = "CPU" if found[0].metric is Metric.CPU_PER_OPERATION else "Response time"
    is_operation = found[0].condition.get("work", WORKLOAD_WORKS[0]) not in WORKLOAD_WORKS
    cost = replace(cost_of(found[0].metric, "CPU"), words=f"CPU time{'' if is_operation else ' per transaction'}")
    if len(found) == 1:
        (effect,) = effects
        degree = effect.degree(cost)
        yield Line(title, f"{degree} ({effect.span()})")
        return
    medians = sorted(effect.median for effect in effects)
    places = decimals(medians, edges(settings.tolerance))
    ends = dict.fromkeys(change(ratio, places) for ratio in (medians[0], medians[-1]))
    yield Line(
        title, f"between {' and '.join(ends)} (best estimates)" if len(ends) > 1 else f"{next(iter(ends))} for each"
    )


def _noise(result: RunResult) -> Iterator[Line]:
    """The difference between identical copies."""
    floors = [noise for noise in result.noise_floor if noise.metric is result.settings.metric]
    if not floors:
        if not any(v.condition.role is Role.IDENTICAL for v in result.primary):
            has_control = any(condition.role is Role.AA for condition in result.settings.conditions)
            second = f"second {sides_of(result.settings).baseline} copy"
            why = "not measured yet" if has_control else f"this run had no {second} (A/A control)"
            yield Line("Noise", f"unknown: {why}")
        return
    sides = sides_of(result.settings)
    parts = [
        _apart(some, kind, result)
        for is_plain, kind in ((True, sides.baseline), (False, sides.judged))
        if (some := [noise for noise in floors if (noise.condition is None) is is_plain])
    ]
    yield Line("Noise", f"identical copies differed by {' and '.join(parts)}")


def _apart(floors: Sequence[NoiseFloor], kind: str, result: RunResult) -> str:
    widest = max(floors, key=lambda noise: abs(noise.ratio.median - 1))
    effect = effect_of(widest.ratio, edges(result.settings.tolerance))
    if effect.is_rough:
        return f"{effect.signed_span()} ({kind})"
    return f"{'at most ' if len(floors) > 1 else ''}{effect.amount()} ({kind})"


def ciphers_found(result: RunResult) -> list[str]:
    """Ciphers that a server uses in place of those requested."""
    ciphers = result.ciphers_in_force.items()
    return [f"{used} is in use, not {cipher_name(asked)} as requested" for asked, used in ciphers]


def found(result: RunResult) -> list[str]:
    """Facts that need no statistics: of the operation itself, the cipher in use, readable data, layer and cache."""
    texts = [line.text for line in answer_lines(result, _OPERATIONS) if line.title == FOUND]
    texts += ciphers_found(result)
    texts += [line.text for line in answer_lines(result) if line.title == FOUND and line.text not in texts]
    if is_on_fuse(result):
        texts.append("files of encrypted copies are on gocryptfs, a FUSE file system, whose cost is included")
    if any(reason.code == CACHED for verdict in result.primary for reason in verdict.reasons):
        texts.append("encryption is paid at start, load and backup, and for data outside of the cache")
    if any(check.code == NO_MARKER and not (check.ok or check.failed) for check in result.validity):
        texts.append("files were not searched for plaintext: tdelta verify DIR does")
    return texts


def against_trust(result: RunResult) -> list[str]:
    """Reasons to distrust the answer: checks that failed and do not end it, then cautions, worst first."""
    failed = [
        with_labels(f"{check.check}: no, {check.detail}", result.settings)
        for check in result.validity
        if _is_listed(check, result)
    ]
    cautions = sorted((c for c in result.cautions if _is_of_answer(c, result)), key=lambda c: c.severity)
    codes = {caution.code for caution in cautions}
    texts: dict[str, list[str]] = {}
    for caution in cautions:
        if caution.against_trust and not (caution.code == _FEW_BLOCKS and codes & _FEW_ROUNDS):
            texts.setdefault(caution.code, []).append(with_labels(caution.against_trust, result.settings))
    return list(dict.fromkeys([*failed, *map(_first_of, texts.values())]))


def _first_of(texts: list[str]) -> str:
    """The first text, and how many more there are like it."""
    more = len(set(texts)) - 1
    return f"{texts[0]} (and {more} more like it)" if more else texts[0]


def _is_listed(check: Validity, result: RunResult) -> bool:
    """Whether a check failed without ending the answer; another cipher has a line of its own."""
    has_line = check.code == IN_FORCE and bool(result.ciphers_in_force)
    return check.failed and not check.is_invalid and not has_line


def _is_of_answer(caution: Caution, result: RunResult) -> bool:
    """Not so: a caution about a metric that does not decide."""
    return caution.parameters.get("metric", result.settings.metric.value) == result.settings.metric.value


def _valid_for(result: RunResult) -> str:
    if result.settings.external_servers is not None:
        return "these two servers and this workload"
    facts = result.machine
    flags = facts.get("cpu_flags")
    has_aes = flags.get("aes") if isinstance(flags, Mapping) else None
    cores = facts.get("usable_cpus") or facts.get("logical_cpus")
    name = re.sub(r"\([^)]*\)| CPU\b| Processor\b| @.*", "", str(facts.get("cpu_model") or "")).strip()
    parts = (
        name[:_CPU_CHARACTERS].strip(),
        counted(cores, "CPU") if isinstance(cores, int) else "",
        "" if has_aes is None else "AES-NI" if has_aes else "no AES-NI",
    )
    machine = ", ".join(filter(None, parts))
    return f"this workload, size, cache, machine{f' ({machine})' if machine else ''}"


def _next(result: RunResult, name: str) -> str:
    """One command, and what it gives or how long it takes."""
    settings = result.settings
    if result.interrupted:
        return f"{next_command('run --resume', settings, name=name)}  # goes on with this run"
    if any(one.state is EvidenceState.LEAK for one in result.of(FileEvidence)):
        return f"{next_command('show', settings, '--details', name=name)}  # every file with plaintext"
    is_idle = bool(result.primary) and _has_nothing_encrypted(result)
    if result.decision is not Decision.UNDECIDED or (is_idle and settings.external_servers is not None):
        return f"{next_command('report', settings, name=name)}  # charts in one HTML file"
    if is_idle:
        usual = {name: value for name, value in settings.options.items() if name not in ("cache", "size_bytes")}
        return f"{run_command(usual)}  # the default cache and size"
    if (remedy := _remedy(result)) is not None:
        options, effect = remedy
        return f"{run_command({**settings.options, **options})}  # {effect}"
    return f"{next_command('plan', settings, name=name)}  # how long a run must be"


def _remedy(result: RunResult) -> tuple[dict[str, object], str] | None:
    """Options of a run that should decide where this one did not, and their effect in words."""
    if _cpu_decides(result):
        return {"metric": Metric.CPU_PER_OPERATION.value}, "CPU time has an answer"
    seconds = _deciding_seconds(result)
    if seconds is None or seconds > _TOO_LONG_SECONDS or result.stopped_by == "rounds":
        return None
    minutes = max(1, math.ceil(seconds / 60))
    return {"max_seconds": 60.0 * minutes}, f"about {minutes} min should decide"


def _cpu_decides(result: RunResult) -> bool:
    """Whether CPU time decides wherever response time does not."""
    settings, limit = result.settings, limits(result.settings)[0]
    found = [companion(v, result) for v in result.primary if v.decision is Decision.UNDECIDED]
    if settings.metric is not Metric.RESPONSE_TIME or not found:
        return False

    def decides(cpu: Verdict | None) -> bool:
        if cpu is None or not has_amount(cpu):
            return False
        if settings.budget is None:
            return cpu.decision is not Decision.UNDECIDED
        return not cpu.ratio.hdi99[0] <= limit <= cpu.ratio.hdi99[1]

    return all(map(decides, found))


def _deciding_seconds(result: RunResult) -> float | None:
    """How long a run must be to decide with a chance of 80%, if the overhead is as found; None if unknown.

    An interval of half-width w that must clear a limit at distance d needs (w / d)² times the observations, and
    ((1.96 + 0.84) / 1.96)² times as many for that chance (normal theory; `tdelta plan` simulates).
    """
    bounds, budget = limits(result.settings), result.settings.budget
    found = [v for v in result.primary if v.decision is Decision.UNDECIDED and v.baseline_value]
    if not found or _has_nothing_encrypted(result):
        return None
    factor = _CHANCE**2
    for verdict in found:
        low, high = verdict.ratio.hdi95 if budget is None else verdict.ratio.hdi99
        distance = min(abs(verdict.ratio.median - limit) for limit in bounds)
        if distance <= 0:
            return None
        factor = max(factor, (_CHANCE * (high - low) / 2 / distance) ** 2)
    fewest = ENOUGH_ROUNDS / max(1, result.counts.rounds)
    return result.counts.elapsed_seconds * max(factor, fewest)


def _figures_of_files(outcomes: Sequence[Outcome], result: AnalysisResult) -> Iterator[Line]:
    drawn = _drawn(result.primary[0]) if len(outcomes) == 1 else ""
    is_rate = result.primary[0].metric == THROUGHPUT
    if len(outcomes) == 1 and outcomes[0].values and not is_rate:
        (one,) = outcomes
        words = one.cost.words
        yield Line(words[:1].upper() + words[1:], f"{one.values}{drawn}")
    if (text := throughput_text(result)) is not None:
        yield Line("Throughput", f"{text}{drawn if is_rate else ''}")


def _drawn(comparison: Comparison) -> str:
    """That the change is not the quotient of the values shown, if the prior moves it by much."""
    ratio = comparison.ratio
    if ratio is None or abs(math.log(comparison.quotient / ratio.median)) <= _DRAWN:
        return ""
    return f" ({change(comparison.quotient)}; few or scattered runs give an estimate nearer to 0)"


def _files(result: AnalysisResult) -> str:
    files = ", ".join(counted(number, f"{name} file") for name, number in result.formats.items())
    sides = {side.condition: side.runs for c in result.primary for side in (c.baseline, c.condition) if side.runs}
    runs = ", ".join(f"{counted(number, 'run')} of {printable(name)}" for name, number in list(sides.items())[:4])
    return "; ".join(filter(None, (runs, files, printable(result.source or ""))))


def _scatter(result: AnalysisResult) -> Iterator[Line]:
    found = [c.scatter.run_sd for c in result.primary if c.scatter.run_sd is not None]
    if found:
        low, high = map(small_share, (min(found), max(found)))
        stated = " (as stated)" if result.stated_run_sd is not None else ""
        yield Line(
            "Noise", f"runs of one configuration differ by about {low if low == high else f'{low} to {high}'}{stated}"
        )


def _left_out(result: AnalysisResult) -> Iterator[Line]:
    if result.left_out:
        first = printable(str(result.left_out[0]))
        more = f" (and {len(result.left_out) - 1} more with --details)" if len(result.left_out) > 1 else ""
        yield Line("Left out", f"{first}{more}")
