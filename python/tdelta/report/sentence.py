"""The sentence that answers, and the one that says how far the instrument can be trusted.

A verdict is worded by what was decided, never by more: an undecided run does not hint, an invalid one gives no answer,
and a twin that differs in nothing cannot "cost" anything. Wording follows the verdicts only; no threshold is applied
here that inference did not apply before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tdelta.design.actions import ACTIONS, NOTHING, parse_action
from tdelta.inference.cipher_work import idle_cipher_caution, is_whole_run
from tdelta.records import Condition, Decision, Estimate, Metric, NoiseFloor, Role, RunResult, RunSettings, Verdict
from tdelta.report.estimand import partings
from tdelta.report.labels import compared_words, condition_label, decision_word, metric_name, surroundings
from tdelta.report.quantities import decimals, estimate_text, interval, multiple, percent, share
from tdelta.report.subject import subject

DOUBTS = "too few rounds, outlying trials or stalls"
_SPELLED_OUT = 3
_NOT_ENCRYPTION = (Role.IDENTICAL, Role.INJECTED)


def answer(result: RunResult) -> str:
    """The answer in words: a sentence for each judged condition, or one for all when more than three are encrypted."""
    text = " ".join(_sentences(result)) or "No answer: the run ended before its first round was complete."
    what = subject(result)
    whole = f"{what[0].upper()}{what[1:]}: {text[0].lower()}{text[1:]}"
    return f"Interrupted before the end. {whole}" if result.interrupted else whole


def floor(result: RunResult) -> str | None:
    """What identical twins showed where there is nothing to see; None if the judged twins are themselves identical."""
    floors = tuple(f for f in result.noise_floor if f.metric is result.settings.metric)
    if not floors:
        return _no_floor(result)
    kinds = {"A/A": [f for f in floors if f.condition is None], "B/B": [f for f in floors if f.condition is not None]}
    first, *others = (_apart(kind, found, result) for kind, found in kinds.items() if found)
    twins = ", ".join((first, *(other.replace("differed ", "", 1) for other in others)))
    if any(is_outside(f, result) for f in floors):
        return f"{twins}: nothing differs between such twins, so this run measured more than encryption."
    return f"{twins}: this instrument's noise floor."


def _apart(kind: str, floors: list[NoiseFloor], result: RunResult) -> str:
    """``A/A twins differed by +0.2 % (…)``: up to three pairs, else the one that differed most."""
    if len(floors) <= _SPELLED_OUT:
        return f"{kind} twins differed by {' and by '.join(_floor_part(f, result) for f in floors)}"
    outside = [f for f in floors if is_outside(f, result)]
    most = max(outside or floors, key=lambda f: abs(f.ratio.median - 1))
    return f"{kind} twins differed most, by {_floor_part(most, result)}"


def is_outside(noise: NoiseFloor, result: RunResult) -> bool:
    """Whether identical twins differ by more than what the user cares about."""
    return not _touches_tolerance(noise.ratio, tolerance_edges(result.settings))


def limits(settings: RunSettings) -> tuple[float, ...]:
    """The quotients that primary verdicts are held against: the budget, or both edges of the tolerance."""
    return (1 + settings.budget,) if settings.budget is not None else tolerance_edges(settings)


def tolerance_words(settings: RunSettings) -> str:
    if settings.tolerance_is_given:
        return f"your limit of ±{share(settings.tolerance)}"
    return f"the default ±{share(settings.tolerance)}"


def tolerance_edges(settings: RunSettings) -> tuple[float, float]:
    """Both edges of the tolerance, quotients."""
    return 1 - settings.tolerance, 1 + settings.tolerance


def _touches_tolerance(estimate: Estimate, tolerance: tuple[float, float]) -> bool:
    return estimate.hdi95[0] <= tolerance[1] and estimate.hdi95[1] >= tolerance[0]


def _sentences(result: RunResult) -> list[str]:
    encrypted = [v for v in result.primary if is_encryption(v.condition)]
    others = [v for v in result.primary if not is_encryption(v.condition)]
    failed = failed_checks(result)
    if failed and len({v.decision is Decision.INVALID for v in result.primary}) == 1:
        return [f"Invalid, so no answer: {failed}. No figure of this run says what encryption costs."]
    first = (
        [_summary(encrypted, result)] if len(encrypted) > _SPELLED_OUT else [sentence_of(v, result) for v in encrypted]
    )
    return [
        *first,
        *(sentence_of(v, result) for v in others),
        *partings(result),
        *_idle(result),
    ]


def _idle(result: RunResult) -> Iterator[str]:
    if is_whole_run(result.barely_encrypted, result.settings):
        caution = idle_cipher_caution(result.barely_encrypted, result.settings).text
        yield f"{caution[0].upper()}{caution[1:]}."


def is_encryption(condition: Condition) -> bool:
    """Whether a verdict on it is of what encryption costs.

    Not so: a twin that is identical or injected, and a plain one whose AES instructions are off.
    """
    return condition.role not in _NOT_ENCRYPTION and not condition.is_plain


def failed_checks(result: RunResult) -> str:
    """``the check “…” failed``; empty where none that counts did."""
    named = [f"“{v.check}”" + (f" ({v.detail})" if v.detail else "") for v in result.validity if v.is_invalid]
    if not named:
        return ""
    return f"the check {named[0]} failed" if len(named) == 1 else f"the checks {' and '.join(named)} failed"


_DECIDED: dict[str, str] = {
    "encrypted": "{reads}: {judged}.",
    "injected": "{reads}: {judged}; {truth}.",
    "identical": "{reads}: {judged}, as it should be, since nothing differs.",
    "false alarm": "{reads}, though nothing differs: a false alarm of this instrument.",
}
_UNDECIDED: dict[str, str] = {
    "encrypted": "undecided: {reads}: {why}.",
    "injected": "undecided: {reads}; {truth}; {why}.",
    "identical": "undecided: {reads}, though nothing differs: {why}.",
}
_INVALID: dict[str, str] = {
    "encrypted": "invalid, so no answer: {reads}, not to be relied on{reason}.",
    "injected": "invalid: {reads}; {truth}{reason}.",
    "identical": "invalid: {reads}, though nothing differs{reason}.",
}
_NO_ALARM = (Decision.NEGLIGIBLE, Decision.WITHIN, Decision.UNDECIDED, Decision.INVALID)


def sentence_of(verdict: Verdict, result: RunResult) -> str:
    condition, settings = verdict.condition, result.settings
    if not verdict.baseline_value:
        return f"No answer for {condition_label(condition, settings)}: {'; '.join(map(str, verdict.reasons))}."
    kind, reads = _reads(verdict, result)
    templates = {Decision.UNDECIDED: _UNDECIDED, Decision.INVALID: _INVALID}.get(verdict.decision, _DECIDED)
    text = templates[kind].format(
        reads=_place(condition, settings) + reads,
        judged=_judgement(verdict, settings),
        why=why_undecided(verdict, settings),
        reason=f" ({verdict.reasons[0]})" if verdict.reasons else "",  # the first made the verdict what it is
        truth=_truth(verdict, settings),
    )
    return text[0].upper() + text[1:]


def _reads(verdict: Verdict, result: RunResult) -> tuple[str, str]:
    condition, reading = verdict.condition, _reading(verdict, result.settings)
    if condition.role is Role.IDENTICAL:
        return "identical" if verdict.decision in _NO_ALARM else "false alarm", f"the identical twin reads {reading}"
    if condition.role is Role.INJECTED:
        return "injected", f"an injected cost of {share(condition.injected or 0.0)} reads {reading}"
    if not is_encryption(condition):  # what the instructions are worth to what is not encrypted
        during = str(dict(condition.levels).get("during", NOTHING))
        if during != NOTHING:
            asked = parse_action(during)
            knobs = "".join(f", {name} {value:,}" for name, value in asked.knobs.items())
            return "encrypted", f"while {ACTIONS[asked.name].words}{knobs}, the plain twin reads {reading}"
        return "encrypted", f"without AES instructions the plain twin reads {reading}"
    return "encrypted", f"{_encryption(condition, result)} {_costs(verdict, result)}"


def _judgement(verdict: Verdict, settings: RunSettings) -> str:
    tolerance, budget = tolerance_words(settings), f"the budget of {share(settings.budget or 0.0)}"
    return {
        Decision.SLOWER: f"above {tolerance}",
        Decision.NEGLIGIBLE: f"within {tolerance}",
        Decision.FASTER: f"below {tolerance}, though encryption adds work: look for another difference of the twins",
        Decision.OVER: f"over {budget}",
        Decision.WITHIN: f"within {budget}",
    }.get(verdict.decision, verdict.decision.value)


def why_undecided(verdict: Verdict, settings: RunSettings) -> str:
    level, ends = _hdi(verdict, settings)
    reasons = [reason.text for reason in verdict.reasons]
    more = reasons[1:]
    if not any(ends[0] <= limit <= ends[1] for limit in limits(settings)):
        return "; ".join(more or reasons) or f"too little for a verdict at a {level} % HDI"
    edge = tolerance_words(settings) if settings.budget is None else f"the budget of {share(settings.budget)}"
    across = f"the {level} % HDI reaches across {'the edge of ' if settings.budget is None else ''}{edge}"
    return "; ".join((across, *more))


def _truth(verdict: Verdict, settings: RunSettings) -> str:
    if verdict.realised is None:
        return "its realised cost is not known"
    low, high = verdict.ratio.hdi95
    realised = f"its realised cost was {percent(verdict.realised, decimals((verdict.realised,), (low, high)))}"
    if verdict.metric is Metric.RESPONSE_TIME and _threads(verdict.condition, settings) > 1:
        return f"{realised} of CPU time, which is not the truth for response time once threads wait for each other"
    return f"{realised}, {'inside' if low <= verdict.realised <= high else 'outside'} the HDI"


def _threads(condition: Condition, settings: RunSettings) -> int:
    level = dict(condition.levels).get("threads", settings.options.get("threads", 1))
    return int(level) if isinstance(level, int | float) else 1


def _costs(verdict: Verdict, result: RunResult) -> str:
    """``costs +3.1 % response time (…), and +4.0 % CPU per operation (…)``, or how it changes them."""
    other = companion(verdict, result)
    if verdict.ratio.median >= 1:
        beside = f", and {_reading(other, result.settings, brief=True)}" if other else ""
        return f"costs {_reading(verdict, result.settings)}{beside}"
    beside = f", and {_change(other, result.settings, brief=True)}" if other else ""
    return f"changes {_change(verdict, result.settings)}{beside}"


def companion(verdict: Verdict, result: RunResult) -> Verdict | None:
    """The verdict on CPU time that goes with one on time, or the other way round."""
    wanted = Metric.CPU_PER_OPERATION if verdict.metric is not Metric.CPU_PER_OPERATION else Metric.RESPONSE_TIME
    return next(
        (
            v
            for v in result.verdicts
            if (v.condition, v.metric, v.transaction) == (verdict.condition, wanted, verdict.transaction)
        ),
        None,
    )


def _reading(verdict: Verdict, settings: RunSettings, *, brief: bool = False) -> str:
    amount, hdi = _figures(verdict, settings, brief=brief)
    return f"{amount} {metric_name(verdict.metric, settings)} ({hdi})"


def _change(verdict: Verdict, settings: RunSettings, *, brief: bool = False) -> str:
    amount, hdi = _figures(verdict, settings, brief=brief)
    return f"{metric_name(verdict.metric, settings)} by {amount} ({hdi})"


def _figures(verdict: Verdict, settings: RunSettings, *, brief: bool) -> tuple[str, str]:
    level, ends = _hdi(verdict, settings)
    places = decimals((verdict.ratio.median, *ends), limits(settings))
    times = multiple(verdict.ratio.median)
    named = "" if brief else f"{level} % HDI "
    return percent(verdict.ratio.median, places), f"{f'{times}; ' if times else ''}{named}{interval(ends, places)}"


def _hdi(verdict: Verdict, settings: RunSettings) -> tuple[int, tuple[float, float]]:
    """A budget is decided on the 99 % HDI, everything else on the 95 % HDI."""
    return (95, verdict.ratio.hdi95) if settings.budget is None else (99, verdict.ratio.hdi99)


def _place(condition: Condition, settings: RunSettings) -> str:
    where = surroundings(condition, settings)
    return f"at {' and '.join(where)}, " if where else ""


def _encryption(condition: Condition, result: RunResult) -> str:
    """Which cipher a server of the user's encrypts with only its owner knows."""
    if result.settings.external_servers is not None:
        return "the encrypted server"
    in_force = result.ciphers_in_force.get(str(condition.level("cipher")))
    if in_force is not None:
        return f"encryption (asked for {compared_words(condition)}, in force {in_force})"
    return f"encryption with {compared_words(condition)}"


def _summary(verdicts: list[Verdict], result: RunResult) -> str:
    settings = result.settings
    least, most = (pick(verdicts, key=lambda v: v.ratio.median) for pick in (min, max))
    ends = " to ".join(f"{percent(v.ratio.median)} ({condition_label(v.condition, settings)})" for v in (least, most))
    counts = Counter(v.decision for v in verdicts)
    words = "; ".join(f"{number} {_count_words(decision, settings)}" for decision, number in counts.most_common())
    what = metric_name(settings.metric, settings)
    asked = (f"in force for {cipher} was {found}" for cipher, found in result.ciphers_in_force.items())
    instead = "".join(f"; {words}" for words in asked)
    return f"Encryption changes {what} by {ends}{instead}. Of {len(verdicts)} encrypted conditions: {words}."


def _count_words(decision: Decision, settings: RunSettings) -> str:
    match decision:
        case Decision.SLOWER:
            return f"{decision_word(decision, settings.metric)} (above {tolerance_words(settings)})"
        case Decision.NEGLIGIBLE:
            return f"negligible (within ±{share(settings.tolerance)})"
        case Decision.OVER | Decision.WITHIN:
            return f"{decision.value} the budget of {share(settings.budget or 0.0)}"
        case _:
            return decision.value


def _floor_part(noise: NoiseFloor, result: RunResult) -> str:
    home = next((c for c in result.settings.conditions if c.stratum == noise.stratum), None)
    where = surroundings(home, result.settings) if home else ()
    return estimate_text(noise.ratio, tolerance_edges(result.settings)) + (
        f" at {' and '.join(where)}" if where else ""
    )


def _no_floor(result: RunResult) -> str | None:
    if any(v.condition.role is Role.IDENTICAL for v in result.primary):
        return None
    if any(c.role is Role.AA for c in result.settings.conditions):
        return None
    return "No A/A twin ran, so the noise floor of this instrument is not known."
