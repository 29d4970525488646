"""The answer in a few lines: yes or no and how much, what speaks against it, what was measured, how sure, what next.

For people who know neither this tool nor its statistics. Everything else that a run found is asked for by
``--details``. Worded by what was decided and never by more, as the sentences of `tdelta.report.sentence` are, which
have every figure and stand on the page and in the JSON.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from tdelta.design.actions import ACTIONS, NOTHING, parse_action
from tdelta.design.factors import WORKLOAD_WORKS
from tdelta.inference.cipher_work import idle_cipher_caution, is_whole_run
from tdelta.inference.simulated import FEWEST_ROUNDS
from tdelta.messages import Caution
from tdelta.messages.checks import IN_FORCE, NO_MARKER
from tdelta.records import (
    Condition,
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
from tdelta.report.command import next_command, run_command
from tdelta.report.effect import Effect, cipher_name, effect_of, makes, no
from tdelta.report.labels import (
    action_label,
    compared_words,
    condition_label,
    decision_word,
    metric_name,
    surroundings,
    with_labels,
)
from tdelta.report.quantities import counted, duration, share
from tdelta.report.sentence import (
    DOUBTS,
    companion,
    failed_checks,
    is_encryption,
    is_outside,
    limits,
    sentence_of,
    tolerance_edges,
    why_undecided,
)
from tdelta.report.subject import database_words, load_words, subject

MOST_CAUTIONS = 4
_CAUTION_CHARACTERS = 320
"""Four lines of the answer, which is to stay within its 24; the first caution stands whatever its length."""

NO_ROUND = "No answer: the run ended before its first round was complete."

_SPELLED_OUT = 3
_INTERVAL = "95 % interval "
"""Before the ends of an interval on which no budget is decided."""

_CPU_CHARACTERS = 30
_CLEAR = (EvidenceState.UNCOVERED, EvidenceState.MOUNTED)
_LEAKS = 2
"""Places of plaintext that a sentence has."""

_ENOUGH_SECONDS = 600
"""The default length of a run, which is three rounds and more of most engines."""

_FEW_BLOCKS, _FEW_ROUNDS = "few-blocks", frozenset({"one-round", "few-rounds"})
"""Few blocks go without saying where rounds are few."""

_ONE_SIDED = "one-sided-failures"

_ENCRYPTED = "encrypted"
"""A condition whose cipher has no name of its own."""

_TIMES = (Metric.RESPONSE_TIME, Metric.TIME_WITH_CHECKPOINT)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the answer: what it is of, and its text. ``is_warning``: it speaks against trusting the answer."""

    title: str
    text: str
    is_warning: bool = False


def sentence(result: RunResult) -> str:
    """Yes or no, or within or over the budget, and how much: all that ``--quiet`` prints."""
    text = " ".join(_sentences(result)) or NO_ROUND
    return f"Interrupted before the end. {text}" if result.interrupted else text


def lines(result: RunResult, most_cautions: int = MOST_CAUTIONS) -> list[Line]:
    return [
        *caution_lines(against_trust(result), most_cautions),
        Line("Measured", f"{subject(result)}; {_made(result)}"),
        *_machine(result),
        *_certainty(result),
        *_cpu(result),
        *_noise(result),
        Line("Next", "; ".join(_next(result))),
    ]


def _sentences(result: RunResult) -> Iterator[str]:
    encrypted = [v for v in result.primary if is_encryption(v.condition)]
    failed = failed_checks(result)
    if failed and all(v.decision is Decision.INVALID for v in result.primary):
        if found := _plaintext(result):
            yield found
            return
        yield f"No answer: {failed}, so no figure of this run says what encryption costs."
        return
    if encrypted and is_whole_run(result.barely_encrypted, result.settings):
        yield f"No answer: {idle_cipher_caution(result.barely_encrypted, result.settings).text}."
        return
    if len(encrypted) > _SPELLED_OUT:
        yield _summary(encrypted, result)
    else:
        load = f"this {load_words(result.settings)}"
        for at, verdict in enumerate(sorted(encrypted, key=lambda one: one.decision is not Decision.UNDECIDED)):
            yield _encrypted(verdict, result, load if at == 0 else "it")
    other = [v for v in result.primary if not is_encryption(v.condition)]
    beside = groupby(sorted((v for v in other if _action(v.condition)), key=_action_name), key=_action_name)
    for name, verdicts in beside:
        yield _beside(ACTIONS[name].words, list(verdicts), result)
    for verdict in other:
        if not _action(verdict.condition):
            yield sentence_of(verdict, result)


def _plaintext(result: RunResult) -> str:
    """Where plaintext was found in an encrypted twin, and what that means; empty where none was."""
    leaks = [one for one in result.of(FileEvidence) if one.state is EvidenceState.LEAK]
    if not leaks:
        return ""
    where = " and ".join(
        f"files of {_label(one.condition, result.settings)}"
        f" ({': '.join(filter(None, (one.file_class, ', '.join(one.leaking[:_LEAKS]))))})"
        for one in leaks[:_LEAKS]
    )
    more = f" (and {len(leaks) - _LEAKS} more)" if len(leaks) > _LEAKS else ""
    return (
        f"No answer: plaintext was found in {where}{more}, so that was not encrypted as asked: its times do not"
        " say what encryption costs."
    )


def _label(condition: Condition, settings: RunSettings) -> str:
    return cipher_name(condition_label(condition, settings))


def _encrypted(verdict: Verdict, result: RunResult, load: str) -> str:
    """The sentence of one encrypted condition; ``load`` is what it encrypts."""
    settings = result.settings
    if not verdict.baseline_value:
        return sentence_of(verdict, result)
    work = _single_action(verdict.condition)
    if work:
        load = f"the {work}" if load == "it" else f"the {work} of this {database_words(settings)}"
    place, name = _place(verdict, settings, besides="work" if work else ""), _name(verdict, result)
    who, effect = f"{place}{name}", _effect(verdict, settings)
    what = metric_name(verdict.metric, settings)
    no = _no(settings)
    match verdict.decision:
        case Decision.SLOWER:
            yes = "Decided" if result.decision is Decision.UNDECIDED else "Yes"
            text = f"{yes}: {who} makes {load} {makes(verdict.metric, effect)}"
        case Decision.NEGLIGIBLE:
            limit = f"within the limit of ±{share(settings.tolerance)}"
            text = f"{no}: {who} makes no difference that matters to {load}: {what} {effect.signed()}, {limit}"
        case Decision.FASTER:
            odd = "though encryption adds work, so look for another difference between the twins"
            text = f"{no}: {who} makes {load} {makes(verdict.metric, effect)}, {odd}"
        case Decision.OVER:
            text = (
                f"{budget_lead(verdict.decision, settings.budget)}: {who} makes {load} {makes(verdict.metric, effect)}"
            )
        case Decision.WITHIN:
            changes = f"changes {what} of {load} by {effect.signed()}"
            text = f"{budget_lead(verdict.decision, settings.budget)}: {who} {changes}"
        case Decision.UNDECIDED:
            gate = "" if settings.budget is None else f" whether it is within the {share(settings.budget)} budget"
            text = f"Undecided{gate}: {place}{_undecided(verdict, effect, name, load, what)}{_doubt(verdict, settings)}"
        case _:
            reason = f" ({verdict.reasons[0]})" if verdict.reasons else ""
            text = f"No answer: what {who} costs {load} is not to be relied on{reason}"
    return f"{text}."


def _undecided(verdict: Verdict, effect: Effect, name: str, load: str, what: str) -> str:
    if verdict.metric not in _TIMES:
        return f"{name} changes {what} of {load} by {effect.signed()}"
    best = "take the same time" if effect.amount().startswith("0.0 ") else effect.slower().partition(" (")[0]
    return f"with {name}, {load} is {effect.reach()} (best estimate: {best})"


def _doubt(verdict: Verdict, settings: RunSettings) -> str:
    """The reason for an undecided verdict whose interval is clear of the limit; empty if the interval itself is it.

    Trials that one side lost are a reason whatever the interval is.
    """
    low, high = verdict.ratio.hdi95 if settings.budget is None else verdict.ratio.hdi99
    reasons = verdict.reasons[1:]
    has_lost = any(reason.code == _ONE_SIDED for reason in reasons)
    if any(low <= limit <= high for limit in limits(settings)) and not has_lost:
        return ""
    return f", but {reasons[-1].text.replace(' % HDI', ' % interval')}" if reasons else f", but that rests on {DOUBTS}"


def _summary(verdicts: list[Verdict], result: RunResult) -> str:
    """One sentence for many conditions: in how many yes, and from where to where in these, or in all."""
    settings = result.settings
    counts = Counter(verdict.decision for verdict in verdicts)
    leading = _leading(verdicts)
    least, most = (pick(leading, key=lambda v: v.ratio.median) for pick in (min, max))
    ends = " to ".join(
        f"{_effect(v, settings).signed_median()} ({cipher_name(condition_label(v.condition, settings))})"
        for v in ((least, most) if len(leading) > 1 else leading)
    )
    what = metric_name(settings.metric, settings)
    there = "there " if len(leading) < len(verdicts) else ""
    text = f"{there}encryption changes {what} of this {load_words(settings)} by {ends}"
    words = _counted(counts, settings)
    return f"{lead(counts, _no(settings))}: {text}. Of {len(verdicts)} encrypted conditions: {words}."


def _leading(verdicts: list[Verdict]) -> list[Verdict]:
    """Those that the first words of `lead` are about; all of them where these are about all."""
    for decision in (Decision.OVER, Decision.SLOWER):
        if found := [verdict for verdict in verdicts if verdict.decision is decision]:
            return found
    return verdicts


def _counted(counts: Counter[Decision], settings: RunSettings) -> str:
    return ", ".join(f"{number} {decision_word(one, settings.metric)}" for one, number in counts.most_common())


def _action(condition: Condition) -> str:
    """What goes on beside the load of a plain twin; empty where nothing does."""
    during = str(dict(condition.levels).get("during", NOTHING))
    return "" if during == NOTHING or condition.role in (Role.IDENTICAL, Role.INJECTED) else during


def _action_name(verdict: Verdict) -> str:
    return parse_action(_action(verdict.condition)).name


def _beside(words: str, verdicts: list[Verdict], result: RunResult) -> str:
    settings = result.settings
    counts = Counter(verdict.decision for verdict in verdicts)
    start = f"{lead(counts, _no(settings))}: in trials during which {words}"
    what = f"{metric_name(settings.metric, settings)} over the whole trial changes by"
    if len(verdicts) == 1:
        (one,) = verdicts
        return f"{start}{_knobs(one)}, {what} {_effect(one, settings).signed()}."
    leading = _leading(verdicts)
    least, most = (pick(leading, key=lambda v: v.ratio.median) for pick in (min, max))
    shown = (least, most) if len(leading) > 1 else leading
    ends = " to ".join(f"{_effect(v, settings).signed_median()}{_knobs(v)}" for v in shown)
    words = _counted(counts, settings)
    return f"{start}, {what} {ends}, as best estimates. Of {len(verdicts)} settings: {words}."


def _knobs(verdict: Verdict) -> str:
    _, bracket, knobs = action_label(_action(verdict.condition)).partition("(")
    return f" {bracket}{knobs}" if bracket else ""


def budget_lead(decision: Decision, budget: float | None) -> str:
    """``Over the 5 % budget``: a yes or a no could be read as the answer to another question."""
    return f"{'Over' if decision is Decision.OVER else 'Within'} the {share(budget or 0.0)} budget"


def _no(settings: RunSettings) -> str:
    return no(is_time=settings.metric in _TIMES, what=metric_name(settings.metric, settings))


def lead(counts: Counter[Decision], no: str, noun: str = "condition") -> str:
    """The answer over many: ``Yes, in 3 of 4 conditions``; no yes where any is undecided, as the exit code is then."""
    total = counts.total()
    every = f"of {counted(total, noun)}"
    yes, undecided = counts[Decision.SLOWER], counts[Decision.UNDECIDED]
    if over := counts[Decision.OVER]:
        return "Over budget" if over == total else f"Over budget in {over} {every}"
    if undecided and undecided < total:
        return f"Undecided in {undecided} {every}" + (f", over the limit in {yes}" if yes else "")
    if yes:
        return "Yes" if yes == total else f"Yes, in {yes} {every}"
    decided = {{Decision.NEGLIGIBLE: no, Decision.WITHIN: "Within budget"}.get(decision) for decision in counts}
    return (decided.pop() if len(decided) == 1 else None) or "Undecided"


def _single_action(condition: Condition) -> str:
    """The action that is a trial by itself, ``backup (copy, zstd)``; empty if trials run the workload."""
    work = str(dict(condition.levels).get("work", WORKLOAD_WORKS[0]))
    return "" if work in WORKLOAD_WORKS else action_label(work)


def _place(verdict: Verdict, settings: RunSettings, *, besides: str = "") -> str:
    """The levels at which a verdict holds: ``at 16 threads, ``; empty if there is only one."""
    where = surroundings(verdict.condition, settings, besides=besides)
    return f"at {' and '.join(where)}, " if where else ""


def _name(verdict: Verdict, result: RunResult) -> str:
    if result.settings.external_servers is not None:
        return "your encrypted server"
    words = compared_words(verdict.condition)
    asked = "encryption" if words == _ENCRYPTED else cipher_name(words)
    in_force = result.ciphers_in_force.get(str(verdict.condition.level("cipher")))
    return asked + (f" (in fact {in_force})" if in_force else "")


def _effect(verdict: Verdict, settings: RunSettings) -> Effect:
    return effect_of(verdict.ratio, limits(settings), is_gate=settings.budget is not None)


def against_trust(result: RunResult) -> list[str]:
    """What speaks against trusting the answer: checks that failed and do not end it, then cautions, worst first."""
    other = [f"{cipher} was asked for, the figures are of {found}" for cipher, found in result.ciphers_in_force.items()]
    failed = [f"{check.check}: no, {check.detail}" for check in result.validity if _is_listed(check, result)]
    cautions = sorted((c for c in result.cautions if _is_of_answer(c, result)), key=lambda c: c.severity)
    codes = {caution.code for caution in cautions}
    said: dict[str, list[str]] = {}
    for caution in cautions:
        if caution.against_trust and not (caution.code == _FEW_BLOCKS and codes & _FEW_ROUNDS):
            said.setdefault(caution.code, []).append(with_labels(caution.against_trust, result.settings))
    return list(dict.fromkeys([*map(cipher_name, other), *failed, *(_first_of(texts) for texts in said.values())]))


def _first_of(texts: list[str]) -> str:
    """What the first says, and how many say the like of other conditions."""
    more = len(set(texts)) - 1
    return f"{texts[0]} (and {more} more like it)" if more else texts[0]


def _is_listed(check: Validity, result: RunResult) -> bool:
    """Whether a check failed, and neither ended the answer nor is another cipher, which has words of its own."""
    has_words = check.code == IN_FORCE and bool(result.ciphers_in_force)
    return check.failed and not check.is_invalid and not has_words


def _is_of_answer(caution: Caution, result: RunResult) -> bool:
    """Not so: what was found of a metric that does not decide."""
    return caution.parameters.get("metric", result.settings.metric.value) == result.settings.metric.value


def caution_lines(found: Sequence[str], most: int = MOST_CAUTIONS) -> Iterator[Line]:
    """What speaks against trusting an answer, the most important first: as much as has room, the rest counted."""
    if not found:
        return
    lengths = accumulate(len(text) for text in found[:most])
    shown = max(1, sum(length <= _CAUTION_CHARACTERS for length in lengths))
    more = len(found) - shown
    rest = f"; and {more} more with --details" if more > 0 else ""
    yield Line("Caution", "; ".join(found[:shown]) + rest, is_warning=True)


def _made(result: RunResult) -> str:
    made = result.counts
    return (
        f"{counted(made.rounds, 'round')} of fresh databases, {counted(made.blocks, 'block')},"
        f" {counted(made.trials, 'trial')} in {duration(made.elapsed_seconds)}"
    )


def _machine(result: RunResult) -> Iterator[Line]:
    """Of what the figures are, and how it was seen that one side is encrypted; in one short line."""
    facts = result.machine
    cores = facts.get("usable_cpus") or facts.get("logical_cpus")
    flags = facts.get("cpu_flags")
    has_aes = flags.get("aes") if isinstance(flags, Mapping) else None
    instructions = "" if has_aes is None else f"{'with' if has_aes else 'without'} AES instructions"
    name = re.sub(r"\([^)]*\)| CPU\b| Processor\b| @.*", "", str(facts.get("cpu_model") or "")).strip()
    cpus = counted(cores, "CPU") if isinstance(cores, int) else ""
    parts = [", ".join(part for part in (name[:_CPU_CHARACTERS], cpus) if part), instructions, _proof(result)]
    if text := "; ".join(part for part in (" ".join(filter(None, parts[:2])), parts[2]) if part):
        yield Line("Machine", text)


def _proof(result: RunResult) -> str:
    """Whether plaintext that was planted was searched for in the encrypted twins, and not found; empty unless so."""
    found = next((check for check in result.validity if check.code == NO_MARKER), None)
    if found is None or found.failed:
        return ""
    if not found.ok:
        return "encryption was not tested in files (tdelta verify DIR does)"
    clear = dict.fromkeys(one.file_class for one in result.of(FileEvidence) if one.state in _CLEAR)
    return f"encrypted but for {', '.join(clear)}" if clear else "encrypted: no plaintext found in its files"


def _has_answer(result: RunResult) -> bool:
    is_idle = is_whole_run(result.barely_encrypted, result.settings)
    return not is_idle and any(v.decision is not Decision.INVALID for v in result.primary)


def _certainty(result: RunResult) -> Iterator[Line]:
    settings, level = result.settings, 95 if result.settings.budget is None else 99
    judged = [v for v in result.primary if v.baseline_value and v.decision is not Decision.INVALID]
    if not _has_answer(result) or not any(is_encryption(v.condition) for v in judged):
        return
    if len(judged) > 1:
        limit = _limit(settings)
        yield Line(
            "How sure", f"each verdict has its {level} % interval in the table, and needs all of it clear of {limit}"
        )
        return
    verdict = judged[0]
    if verdict.decision is Decision.UNDECIDED:
        yield Line("How sure", _undecided_words(why_undecided(verdict, settings)))
        return
    where = {
        Decision.SLOWER: "all of it above",
        Decision.OVER: "all of it above",
        Decision.FASTER: "all of it below",
    }.get(verdict.decision, "all of it within")
    span = _effect(verdict, settings).signed_span()
    yield Line("How sure", f"{level} % sure that it is {span}, {where} {_limit(settings)}")


def _undecided_words(why: str) -> str:
    return f"not enough to decide: {why.replace(' % HDI', ' % interval')}"


def _limit(settings: RunSettings) -> str:
    if settings.budget is not None:
        return f"the budget of {share(settings.budget)}"
    to_whom = "does not matter to you" if settings.tolerance_is_given else "is taken not to matter"
    return f"±{share(settings.tolerance)}, within which a change {to_whom} (--tolerance)"


def _cpu(result: RunResult) -> Iterator[Line]:
    """The other cost of the same operations, where it is known: of the least and the most of several conditions."""
    settings = result.settings
    encrypted = [v for v in result.primary if is_encryption(v.condition)]
    found = [other for v in encrypted if (other := companion(v, result)) is not None and other.baseline_value]
    if not found or not _has_answer(result):
        return
    title = "CPU" if found[0].metric is Metric.CPU_PER_OPERATION else "Time"
    what = metric_name(found[0].metric, settings).replace("CPU per", "CPU time per")
    if len(found) == 1:
        effect = effect_of(found[0].ratio, tolerance_edges(settings))
        words = effect.more(what, _INTERVAL) if title == "CPU" else effect.slower(_INTERVAL)
        yield Line(title, words)
        return
    least, most = (pick(found, key=lambda v: v.ratio.median) for pick in (min, max))
    ends = dict.fromkeys(effect_of(v.ratio, ()).signed_median() for v in (least, most))
    yield Line(title, f"{' to '.join(ends)} {what.replace('CPU time ', 'time ')}")


def _noise(result: RunResult) -> Iterator[Line]:
    """What identical twins read where there is nothing to see."""
    floors = [f for f in result.noise_floor if f.metric is result.settings.metric]
    if not floors:
        if not any(v.condition.role is Role.IDENTICAL for v in result.primary):
            yield Line("Noise floor", "not known: no second plain database ran beside the first (A/A twin)")
        return
    parts: list[str] = []
    for is_plain, kind in ((True, "plain"), (False, "encrypted")):
        some = [f for f in floors if (f.condition is None) is is_plain]
        if some:
            parts.append(_apart(some, kind, result, is_first=not parts))
    text = ", ".join(parts)
    if any(is_outside(f, result) for f in floors):
        text += "; nothing differs between these, so this run measured more than encryption"
    yield Line("Noise floor", text)


def _apart(floors: list[NoiseFloor], kind: str, result: RunResult, *, is_first: bool) -> str:
    widest = max(floors, key=lambda f: abs(f.ratio.median - 1))
    differed = "copies differed by " if is_first else "by "
    most = " where they differed most" if len(floors) > 1 else ""
    level = _INTERVAL if is_first else ""
    return f"two {kind} {differed}{effect_of(widest.ratio, tolerance_edges(result.settings)).signed(level)}{most}"


def _next(result: RunResult) -> Iterator[str]:
    """What to do with this answer, one command; then the one that shows all figures."""
    settings = result.settings
    seconds = settings.options.get("max_seconds")
    is_short = isinstance(seconds, int | float) and seconds < _ENOUGH_SECONDS
    if result.interrupted:
        yield f"{next_command('run --resume', settings)} (go on)"
    elif result.decision is not Decision.UNDECIDED or settings.external_servers is not None:
        yield f"{next_command('report', settings)} (HTML page)"
    elif result.counts.rounds < FEWEST_ROUNDS and is_short:
        longer = {**settings.options, "max_seconds": float(_ENOUGH_SECONDS)}
        yield f"{run_command(longer)} (measure longer)"
    else:
        yield f"{next_command('plan', settings, *_asked_of_plan(result))} (how long would decide)"
    yield next_command("show", settings, "--details")


def _asked_of_plan(result: RunResult) -> Iterator[str]:
    """Of a gate the overhead that was found and its budget: a plan's own questions are about small overheads."""
    budget = result.settings.budget
    open_ones = [v for v in result.primary if v.decision is Decision.UNDECIDED]
    if budget is not None and open_ones:
        effect = max(0.0, open_ones[0].ratio.median - 1.0)
        yield from ("--effect", f"{100 * effect:.0f}%", "--tolerance", f"{100 * budget:g}%")
