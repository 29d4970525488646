"""One engine's stored runs as one decision: by topic what was measured, what stays in the clear, what nobody measured.

Every figure is a verdict's of a stored run, or worked out from one with what the run stored beside it; nothing is
fitted here, and nothing is compared across runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tdelta.design.actions import ACTIONS, NOTHING, parse_action
from tdelta.design.topics import Topic
from tdelta.errors import UsageError
from tdelta.messages import Refusal
from tdelta.records import (
    BackupMeasure,
    Condition,
    DataSize,
    Decision,
    Estimate,
    EvidenceState,
    FileEvidence,
    Level,
    Metric,
    Role,
    RunResult,
    Verdict,
)
from tdelta.report.labels import condition_label, metric_name
from tdelta.report.page.rows import is_unsound
from tdelta.report.page.wording import has_data
from tdelta.report.sentence import answer
from tdelta.report.subject import subject
from tdelta.report.values import record_values
from tdelta.session.studies import studies
from tdelta.store import RunStatus, Store

DECISION_SCHEMA = "tdelta.decision/1"

CPUS = "CPUs"
"""The unit of CPU time at a given load: seconds of it a second."""

_ALL = "all"
_SHOWN = (Metric.RESPONSE_TIME, Metric.CPU_PER_OPERATION, Metric.WRITTEN_BYTES_PER_OPERATION)
_WORST_FIRST = (
    EvidenceState.LEAK,
    EvidenceState.UNCOVERED,
    EvidenceState.MISSING,
    EvidenceState.NOT_TESTED,
    EvidenceState.ENCRYPTED,
)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A finished run, and when it was planned (seconds since 1970)."""

    result: RunResult
    created_unix_seconds: float


@dataclass(frozen=True, slots=True)
class DecisionLine:
    """One judged cost, as a decision has it.

    ``what`` names the condition, ``metric`` what was measured. ``plain`` and ``encrypted`` are in ``unit``: of an
    operation, or of what the run did in place of operations; at a given load in `CPUS`. ``rate`` is the operations due
    per second there, None elsewhere. ``decision`` is the verdict's; `unsound` where the run's checks failed, and the
    figures are then not to be relied on.
    """

    topic: Topic
    run_id: str
    what: str
    metric: str
    unit: str
    plain: float
    encrypted: float
    ratio: Estimate
    decision: Decision
    rate: float | None = None


@dataclass(frozen=True, slots=True)
class SizeLine:
    """How large the same rows were on both sides when they had been loaded, as the engine counts."""

    run_id: str
    what: str
    plain_bytes: int
    encrypted_bytes: int


@dataclass(frozen=True, slots=True)
class BackupLine:
    """A backup of the same rows, of a plain twin and of an encrypted one (`tdelta.records.BackupMeasure`).

    ``in_clear`` are the classes of files in which rows could be read in the backup of the encrypted twin, where it
    ``is_searched``.
    """

    run_id: str
    what: str
    is_logical: bool
    plain_bytes: float
    encrypted_bytes: float
    plain_ratio: float
    encrypted_ratio: float
    in_clear: tuple[str, ...]
    is_searched: bool = True


@dataclass(frozen=True, slots=True)
class ClearLine:
    """What searches for planted plaintext say of one class of encrypted twins' files: the worst of all runs."""

    file_class: str
    state: EvidenceState
    run_id: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """A topic of which no run says anything, and the command that would; None where this version has none."""

    topic: Topic
    command: str | None


@dataclass(frozen=True, slots=True)
class UsedRun:
    """A run that the decision rests on."""

    run_id: str
    created_unix_seconds: float
    study: str
    subject: str
    decision: Decision
    answer: str


@dataclass(frozen=True, slots=True)
class DecisionBasis:
    """Everything on a decision page. ``answer`` is that of the run that stands for the daily load, None without one."""

    engine: str
    answer: str | None
    runs: tuple[UsedRun, ...]
    lines: tuple[DecisionLine, ...]
    sizes: tuple[SizeLine, ...]
    backups: tuple[BackupLine, ...]
    in_clear: tuple[ClearLine, ...]
    unmeasured: tuple[Unmeasured, ...]
    versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def about(self, topic: Topic) -> tuple[DecisionLine, ...]:
        """The lines of one topic."""
        return tuple(line for line in self.lines if line.topic is topic)


def newest_of_each_kind(store: Store) -> tuple[str, ...]:
    """The ids of finished runs about the engine of the newest, of each study and workload or database the newest.

    Pilots, runs of calibrations, opened packs, and runs without an encrypted twin are left out; empty if none is left.
    """
    others = store.kinds()
    found: dict[tuple[str, ...], str] = {}
    engine = None
    for run in store.runs():
        if run.status is not RunStatus.DONE or run.run_id in others:
            continue
        settings = store.settings(run.run_id)
        if engine not in (None, run.engine) or not any(_is_about_encryption(c) for c in settings.conditions):
            continue
        engine = run.engine
        database = "" if settings.database is None else settings.database.file
        kind = (run.study, run.workload, database, str(settings.options.get("load", "")))
        found.setdefault(kind, run.run_id)
    return tuple(found.values())


def stored(store: Store, run_ids: Iterable[str]) -> tuple[StoredRun, ...]:
    """These runs with their results.

    Raises:
        UnknownName: the store lacks one.
        StoreError: one has no result yet.
    """
    return tuple(StoredRun(store.result(run_id), store.summary(run_id).created_unix_seconds) for run_id in run_ids)


def decide(runs: Sequence[StoredRun]) -> DecisionBasis:
    """What these runs say together.

    Args:
        runs: at least one, all of one engine; of the same topic the first stands for it in the answer.

    Raises:
        UsageError: there is none, they are of several engines, or none has an encrypted twin.
    """
    engines = sorted({run.result.settings.engine for run in runs})
    if len(engines) != 1:
        named = ", ".join(engines) or "none"
        raise UsageError(Refusal.of("one-engine-expected", found=named))
    used = [run for run in runs if any(_is_about_encryption(v.condition) for v in run.result.primary)]
    if not used:
        ids = ", ".join(run.result.settings.run_id for run in runs)
        raise UsageError(Refusal.of("nothing-to-decide", runs=ids))
    order = list(Topic)
    lines = sorted((line for run in used for line in _lines(run.result)), key=lambda line: order.index(line.topic))
    known = {line.topic for line in lines}
    return DecisionBasis(
        engine=engines[0],
        answer=_answer(used),
        runs=tuple(_used(run) for run in used),
        lines=tuple(lines),
        sizes=tuple(line for run in used for line in _sizes(run.result)),
        backups=tuple(line for run in used for line in _backups(run.result)),
        in_clear=_in_clear(used),
        unmeasured=tuple(_unmeasured(known, engines[0])),
        versions=_versions(used),
    )


def decision_document(basis: DecisionBasis) -> dict[str, object]:
    """The same as JSON values."""
    return {"schema": DECISION_SCHEMA, **record_values(basis)}


def _is_about_encryption(condition: Condition) -> bool:
    return condition.role is Role.TREATMENT and (_acted_on(condition) is not None or not condition.is_plain)


def _acted_on(condition: Condition) -> Topic | None:
    """What the action is asked about that a trial of this condition was, or had beside it."""
    levels = dict(condition.levels)
    for factor in ("during", "work"):
        name = parse_action(str(levels.get(factor, NOTHING))).name
        if name in ACTIONS:
            return ACTIONS[name].topic
    return None


def _topic(condition: Condition, result: RunResult) -> Topic:
    if (topic := _acted_on(condition)) is not None:
        return topic
    if _share_of_capacity(condition, result) is not None:
        return Topic.CAPACITY
    topic = next((one.topic for one in studies() if one.name == result.settings.study), Topic.DAILY)
    return Topic.DAILY if topic is Topic.AGE else topic  # its load is a daily one; of age its finding says more


def _share_of_capacity(condition: Condition, result: RunResult) -> Level | None:
    given = dict(condition.levels).get("at", result.settings.options.get("at"))
    return given if isinstance(given, int | float) else None


def _answer(runs: Sequence[StoredRun]) -> str | None:
    """The answer of the run of the daily load: one on the owner's database or servers before one of generated rows."""
    daily = [run.result for run in runs if _is_daily(run.result)]
    own = [r for r in daily if r.settings.database is not None or r.settings.external_servers is not None]
    return answer((own or daily)[0]) if daily else None


def _is_daily(result: RunResult) -> bool:
    judged = [v.condition for v in result.primary if _is_about_encryption(v.condition)]
    return any(_topic(condition, result) is Topic.DAILY for condition in judged)


def _lines(result: RunResult) -> Iterator[DecisionLine]:
    shown = dict.fromkeys((result.settings.metric, *_SHOWN))
    for head in result.primary:
        if not _is_about_encryption(head.condition):
            continue
        of_condition = [v for v in result.verdicts if v.condition == head.condition and v.transaction == _ALL]
        for metric in shown:
            yield from (_line(v, result) for v in of_condition if v.metric is metric and has_data(v))


def _line(verdict: Verdict, result: RunResult) -> DecisionLine:
    settings, condition = result.settings, verdict.condition
    rate = result.loop.arrival_rates.get(verdict.baseline.key)
    is_at_load = rate is not None and verdict.metric is Metric.CPU_PER_OPERATION
    scale = (rate or 0.0) * 1e-6 if is_at_load else 1.0
    return DecisionLine(
        topic=_topic(condition, result),
        run_id=settings.run_id,
        what=condition_label(condition, settings),
        metric="CPUs busy" if is_at_load else metric_name(verdict.metric, settings),
        unit=CPUS if is_at_load else verdict.unit,
        plain=verdict.baseline_value * scale,
        encrypted=verdict.condition_value * scale,
        ratio=verdict.ratio,
        decision=Decision.UNSOUND if is_unsound(result) else verdict.decision,
        rate=rate,
    )


def _sizes(result: RunResult) -> Iterator[SizeLine]:
    found = result.of(DataSize)
    plain = {one.condition.stratum: one.size_bytes for one in found if one.condition.role is Role.BASELINE}
    for one in found:
        beside = plain.get(one.condition.stratum, next(iter(plain.values()), None))
        if one.condition.is_encrypted and beside is not None:
            name = condition_label(one.condition, result.settings)
            yield SizeLine(result.settings.run_id, name, beside, one.size_bytes)


def _backups(result: RunResult) -> Iterator[BackupLine]:
    found = result.of(BackupMeasure)
    plain = {one.action: one for one in found if not one.condition.is_encrypted}
    for one in found:
        beside = plain.get(one.action)
        if one.condition.role is Role.TREATMENT and one.condition.is_encrypted and beside is not None:
            yield BackupLine(
                run_id=result.settings.run_id,
                what=condition_label(one.condition, result.settings),
                is_logical=one.is_logical,
                plain_bytes=beside.backup_bytes,
                encrypted_bytes=one.backup_bytes,
                plain_ratio=beside.ratio,
                encrypted_ratio=one.ratio,
                in_clear=one.in_the_clear,
                is_searched=bool(one.markers),
            )


def _in_clear(runs: Sequence[StoredRun]) -> tuple[ClearLine, ...]:
    worst: dict[str, ClearLine] = {}
    for run in runs:
        for one in run.result.of(FileEvidence):
            if not one.condition.is_encrypted or not one.files or one.state not in _WORST_FIRST:
                continue
            line = ClearLine(one.file_class, one.state, run.result.settings.run_id, one.leaking)
            before = worst.get(one.file_class)
            if before is None or _rank(one.state) < _rank(before.state):
                worst[one.file_class] = line
    return tuple(sorted(worst.values(), key=lambda line: _rank(line.state)))


def _rank(state: EvidenceState) -> int:
    return _WORST_FIRST.index(state)


def _unmeasured(known: set[Topic], engine: str) -> Iterator[Unmeasured]:
    """Topics without a line: measured by a plain run, or by a study."""
    by_topic = {one.topic: one.name for one in studies() if one.runs_on(engine)} | {Topic.DAILY: ""}
    for topic in Topic:
        if topic not in known:
            words = ("tdelta run", by_topic.get(topic), f"--engine {engine}")
            yield Unmeasured(topic, " ".join(filter(None, words)) if topic in by_topic else None)


def _used(run: StoredRun) -> UsedRun:
    result = run.result
    return UsedRun(
        result.settings.run_id,
        run.created_unix_seconds,
        result.settings.study,
        subject(result),
        result.decision,
        answer(result),
    )


def _versions(runs: Sequence[StoredRun]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for run in runs:
        for name, version in run.result.versions.items():
            found.setdefault(name, {})[version] = None
    return {name: tuple(versions) for name, versions in found.items()}
