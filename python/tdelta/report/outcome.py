"""One shape of verdict, for runs and for comparisons of other tools' files. Nothing is decided here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from tdelta.design.actions import NOTHING
from tdelta.design.factors import WORKLOAD_WORKS
from tdelta.document.effect import TIME, Cost, Effect, cost_of, edges, effect_of, limits
from tdelta.document.labels import action_label, build_label, compared_words, kind_label, metric_name, surroundings
from tdelta.document.quantities import amounts, printable, sides_text, small_share
from tdelta.document.wording import has_amount
from tdelta.findings.actions import ActionMeasure
from tdelta.messages.catalogue import CACHED, DIRECTIONS, SHORTAGES, TOO_LITTLE, WITHOUT_AMOUNT
from tdelta.records import (
    AnalysisResult,
    Comparison,
    Condition,
    Decision,
    Estimate,
    Role,
    RunResult,
    RunSettings,
    Verdict,
)
from tdelta.report.analysis.words import (
    bounds_of,
    deciding,
    is_lone,
    is_of_encryption,
    metric_words,
    place_words,
    unit_amounts,
)

_DOUBTS = "too few rounds, outlying trials or stalls"
_ENCRYPTED = "encrypted"
"""A condition whose cipher has no name of its own."""

_TIMES = frozenset({"response time", "time per operation", "time"})
"""Metrics of files of which more is slower."""

_OPERATIONS = {
    "load": "a bulk load",
    "rebuild": "an index rebuild",
    "routine": "the stored routine",
    "restart": "a restart",
    "recovery": "a start after a crash",
    "storm": "opening all connections at once",
    "encrypt": "encrypting the database",
    "decrypt": "decrypting the database",
    "rekey": "changing the key",
    "backup": "a backup",
    "restore": "a restore",
    "rotate": "changing the master key",
    "alter": "encrypting the tables one by one",
    "throttle": "an injected pause of the server",
}
"""Operations as the subject of a sentence, by their names."""


_SIDES = (Decision.SLOWER, Decision.FASTER, Decision.NEGLIGIBLE, Decision.UNDECIDED)
"""The decision of interval and tolerance; a budget and a failed check decide otherwise."""


class Kind(Enum):
    WORKLOAD = auto()
    """The workload, encrypted."""
    OPERATION = auto()
    """One maintenance operation, encrypted."""
    DURING = auto()
    """The workload of an unencrypted copy while an operation goes on."""
    IDENTICAL = auto()
    INJECTED = auto()


@dataclass(frozen=True, slots=True)
class Outcome:
    """One judged cost of one configuration over its baseline.

    Attributes:
        name: of the configuration: ``AES-256``, ``your encrypted server``, ``tde``.
        decision: what was decided.
        effect: None where each side has one figure.
        quotient: the change without an interval.
        cost: what was measured.
        place: the levels at which it holds, if they vary: ``16 threads, cache 10%``.
        operation: of `Kind.OPERATION` and `Kind.DURING`: ``a backup (copy, zstd)``.
        than: what it is compared with, if that has a name.
        is_of_files: whether it compares other tools' files.
        doubt: why it is undecided or invalid, beyond the interval.
        values: both sides: ``84.2 → 86.8 µs``; empty if unknown.
        actual: the actual quotient of an injected slowdown.
        seconds: how long an operation takes during the workload.
        is_of_part: whether the effect is of a part of the trials and, taken alone, would be decided otherwise.
        is_lone: whether each side is a single run.
        is_encryption: whether a speed-up would be odd.
        is_little: whether too little was measured for a figure.
        direction: ``slower`` or ``faster``, where the interval shows that and does not decide.
        at_most: the overhead that counted pages bound, if the data was in the cache.
    """

    name: str
    decision: Decision
    effect: Effect | None
    quotient: float
    cost: Cost = TIME
    kind: Kind = Kind.WORKLOAD
    place: str = ""
    operation: str = ""
    than: str = ""
    doubt: str = ""
    values: str = ""
    actual: float | None = None
    seconds: float | None = None
    is_of_part: bool = False
    is_lone: bool = False
    is_of_files: bool = False
    is_encryption: bool = True
    is_little: bool = False
    direction: Decision | None = None
    at_most: float | None = None

    @property
    def label(self) -> str:
        """As a row of a table: ``AES-256, 16 threads``, ``while changing the key``."""
        if self.kind is Kind.DURING:
            whose = self.name if self.is_encryption else ""
            return ", ".join(filter(None, (whose, f"while {self.operation}", self.place)))
        return ", ".join(filter(None, (self.name, self.operation, self.place)))


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit that outcomes are compared with; ``budget`` is None without a gate."""

    tolerance: float
    budget: float | None = None

    @property
    def level(self) -> str:
        return "95%" if self.budget is None else "99%"


def of_run(result: RunResult) -> list[Outcome]:
    """The primary verdicts of a run, in the design's order."""
    return [_of_verdict(verdict, result) for verdict in result.primary]


def is_encryption(condition: Condition) -> bool:
    """Whether a verdict on it is about the cost of encryption.

    Not so: an identical copy, an injected slowdown, and an unencrypted copy under another factor.
    """
    return condition.role not in (Role.IDENTICAL, Role.INJECTED) and not condition.is_plain


def _of_verdict(verdict: Verdict, result: RunResult) -> Outcome:
    condition, settings = verdict.condition, result.settings
    kind, operation = _kind(condition)
    measure = _measure(condition, result)
    estimate = shown_ratio(verdict, result)
    last = verdict.reasons[-1] if verdict.reasons else None
    code = "" if last is None else last.code
    has_data = has_amount(verdict) and code != CACHED
    left, right = amounts((verdict.baseline_value, verdict.condition_value), verdict.unit) if has_data else ("", "")
    besides = "work" if kind is Kind.OPERATION else ""
    return Outcome(
        name=_name(condition, result),
        decision=verdict.decision,
        effect=effect_of(estimate, limits(settings), is_gate=settings.budget is not None) if has_data else None,
        quotient=verdict.ratio.median,
        cost=cost_of(verdict.metric, metric_name(verdict.metric, settings)),
        kind=kind,
        place=", ".join(surroundings(condition, settings, besides=besides)),
        operation=operation,
        doubt=_doubt(verdict, settings),
        values="" if code in DIRECTIONS else sides_text(left, right),
        actual=verdict.actual,
        seconds=None if measure is None or kind is not Kind.DURING else measure.seconds.median,
        is_of_part=(
            estimate is not verdict.ratio
            and verdict.decision in _SIDES
            and _side(estimate, settings) is not verdict.decision
        ),
        is_encryption=is_encryption(condition),
        is_little=code in WITHOUT_AMOUNT,
        direction=Decision(str(last.parameters["direction"])) if last is not None and code in DIRECTIONS else None,
        at_most=float(last.parameters["most"]) if last is not None and code == CACHED else None,
        than=_than(verdict, kind, settings),
    )


def _than(verdict: Verdict, kind: Kind, settings: RunSettings) -> str:
    if settings.compares_builds:
        return build_label(verdict.baseline, settings)
    return "one with them" if kind is Kind.WORKLOAD and verdict.condition.is_plain else ""


def shown_ratio(verdict: Verdict, result: RunResult) -> Estimate:
    """The overhead of a verdict; of an operation during the workload, that of the time in which it runs.

    Whole trials go on after the operation, and the verdict is on them; its users ask how slow it is meanwhile.
    """
    measure = _measure(verdict.condition, result)
    return verdict.ratio if measure is None or measure.while_ratio is None else measure.while_ratio


def _side(estimate: Estimate, settings: RunSettings) -> Decision:
    """The side of the tolerance by the 95% interval alone."""
    low, high = estimate.hdi95
    least, most = edges(settings.tolerance)
    if low > most or high < least:
        return Decision.SLOWER if low > most else Decision.FASTER
    return Decision.NEGLIGIBLE if least <= low and high <= most else Decision.UNDECIDED


def _measure(condition: Condition, result: RunResult) -> ActionMeasure | None:
    return next((one for one in result.of(ActionMeasure) if one.condition == condition), None)


def _kind(condition: Condition) -> tuple[Kind, str]:
    levels = dict(condition.levels)
    work, during = str(levels.get("work", WORKLOAD_WORKS[0])), str(levels.get("during", NOTHING))
    match condition.role:
        case Role.IDENTICAL:
            return Kind.IDENTICAL, ""
        case Role.INJECTED:
            return Kind.INJECTED, ""
    if work not in WORKLOAD_WORKS:
        return Kind.OPERATION, _operation(work)
    return (Kind.WORKLOAD, "") if during == NOTHING else (Kind.DURING, _operation(during))


def _operation(level: str) -> str:
    """``a backup (copy, zstd)``."""
    name, _, settings = level.partition(":")
    words = _OPERATIONS.get(name, name)
    return f"{words} {action_label(level).removeprefix(name).strip()}".strip() if settings else words


def _name(condition: Condition, result: RunResult) -> str:
    if condition.role in (Role.IDENTICAL, Role.INJECTED):
        return kind_label(condition, result.settings)
    if result.settings.compares_builds:
        return build_label(condition, result.settings)
    if result.settings.external_servers is not None and not condition.is_plain:
        cipher = str(condition.level("cipher"))
        return "your encrypted server" if cipher == _ENCRYPTED else cipher
    words = compared_words(condition)
    used = result.ciphers_in_force.get(str(condition.level("cipher")))
    name = "encryption" if words == _ENCRYPTED else words
    if condition.is_plain and words.startswith("plain "):
        name = words.replace("plain", "an unencrypted copy", 1)
    if condition.is_encrypted and is_on_fuse(result):
        name = f"{name} on gocryptfs (FUSE)"
    return f"{name} (in fact {used})" if used else name


def is_on_fuse(result: RunResult) -> bool:
    """Whether a FUSE file system encrypts, and does so in every encrypted configuration."""
    varies = any(condition.get("storage") for condition in result.settings.conditions)
    return not varies and any(caution.code == "storage-fuse" for caution in result.cautions)


def _doubt(verdict: Verdict, settings: RunSettings) -> str:
    """Why a verdict is undecided although its interval is clear of the limit, or invalid; else empty.

    Trials that only one side lost are a reason whatever the interval is.
    """
    reasons = verdict.reasons
    if verdict.decision is Decision.INVALID or not verdict.baseline_value:
        return str(reasons[0]) if reasons else ""
    if reasons and reasons[-1].code == TOO_LITTLE:
        return "; ".join(reason.text for reason in reasons[1:] or reasons)
    if reasons and reasons[-1].code in SHORTAGES:
        return reasons[-1].text
    if verdict.decision is not Decision.UNDECIDED:
        return ""
    low, high = verdict.ratio.hdi95 if settings.budget is None else verdict.ratio.hdi99
    has_lost = any(reason.code == "one-sided-failures" for reason in reasons[1:])
    if any(low <= limit <= high for limit in limits(settings)) and not has_lost:
        return ""
    return reasons[-1].text if len(reasons) > 1 else f"this rests on {_DOUBTS}"


def of_files(result: AnalysisResult) -> list[Outcome]:
    """The comparisons that decide; each names its metric if these differ."""
    metrics = {comparison.metric for comparison in result.primary}
    return [_of_comparison(one, result, names_metric=len(metrics) > 1) for one in result.primary]


def _of_comparison(comparison: Comparison, result: AnalysisResult, *, names_metric: bool) -> Outcome:
    estimate, what = deciding(comparison), metric_words(comparison.metric)
    sides = unit_amounts((comparison.baseline.value, comparison.condition.value), comparison.unit)
    is_gate = result.budget is not None
    return Outcome(
        name=printable(comparison.condition.condition),
        decision=comparison.decision,
        effect=None if estimate is None else effect_of(estimate, bounds_of(result), is_gate=is_gate),
        quotient=comparison.quotient if comparison.ratio is None else comparison.ratio.median,
        cost=Cost(what, is_time=what in _TIMES),
        place=", ".join((*((what,) if names_metric else ()), *place_words(comparison, result.primary))),
        than=printable(comparison.baseline.condition),
        doubt=printable(_doubt_of_files(comparison, result)),
        is_of_files=True,
        values=sides_text(*sides),
        is_lone=is_lone(comparison),
        is_encryption=is_of_encryption(comparison, result),
    )


def _doubt_of_files(comparison: Comparison, result: AnalysisResult) -> str:
    if comparison.decision is Decision.INVALID:
        return str(comparison.reasons[0]) if comparison.reasons else ""
    if comparison.decision is not Decision.UNDECIDED:
        return ""
    if comparison.undecided_because:
        return "; ".join(one.against_trust or one.text for one in comparison.undecided_because)
    if is_lone(comparison):
        apart = comparison.scatter.run_sd_bearable
        return f"runs of one system must differ by less than {small_share(apart)} for this to count" if apart else ""
    estimate = deciding(comparison)
    if estimate is None:
        return ""
    ends = estimate.hdi95 if result.budget is None else estimate.hdi99
    if any(ends[0] <= limit <= ends[1] for limit in bounds_of(result)):
        return ""
    return "; ".join(map(str, comparison.reasons))
