"""Verdicts and the result of a run, as the terminal, the JSON output and the report all read it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias, TypeVar

from tdelta.messages import Caution, Detail, Reason
from tdelta.messages.checks import CHECKS
from tdelta.records.conditions import ENCRYPTION, Condition
from tdelta.records.findings import Estimate, Finding
from tdelta.records.parts import part
from tdelta.records.trials import Trial

F = TypeVar("F", bound=Finding)

DEFAULT_TOLERANCE = 0.02
"""The default tolerance: a smaller overhead counts as none, a share."""


class Decision(StrEnum):
    """The decision of a verdict. ``over`` and ``within`` are the decisions of a budget gate."""

    SLOWER = "slower"
    NEGLIGIBLE = "negligible"
    FASTER = "faster"
    UNDECIDED = "undecided"
    INVALID = "invalid"
    OVER = "over"
    WITHIN = "within"


class Metric(StrEnum):
    """The costs that are judged; each is a quotient over the baseline, so that above 1 is always worse."""

    RESPONSE_TIME = "response_time"
    TIME_WITH_CHECKPOINT = "time_with_checkpoint"
    CPU_PER_OPERATION = "cpu_per_operation"
    READ_BYTES_PER_OPERATION = "read_bytes_per_operation"
    WRITTEN_BYTES_PER_OPERATION = "written_bytes_per_operation"

    @property
    def unit(self) -> str:
        return "bytes" if self.value.endswith("bytes_per_operation") else "µs"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judged cost of one condition, over its baseline. ``transaction`` is ``all`` for the fixed mix.

    ``ratio`` is the ratio of means: total time of the same operations, mean over instances. ``typical`` is the ratio of
    typical trials, which discounts stalls (None for transaction types).
    ``actual`` is the true quotient of an injected twin, from its own trials (None elsewhere).
    ``no_speedup`` is the same posterior under a prior that forbids a speed-up (primary verdicts only, none on
    builds).
    """

    primary: bool
    condition: Condition
    baseline: Condition
    metric: Metric
    transaction: str
    unit: str
    baseline_value: float
    condition_value: float
    ratio: Estimate
    decision: Decision
    reasons: tuple[Reason, ...] = ()
    actual: float | None = None
    no_speedup: Estimate | None = None
    typical: Estimate | None = None


@dataclass(frozen=True, slots=True)
class StallMeasure(Finding):
    """The odd trials of one condition in the primary metric, its twins together (both plain ones for the baseline).

    ``down_weighted`` of the ``trials`` count less than half for the typical cost, and ``down_weighted_time`` is the
    share of all time that lies in them. ``stalls`` events of ``stalled_trials`` trials cost far more than is typical,
    and add ``stall_cost`` to the mean (0.18: +18%). Stalls in a smaller share of trials than ``missed_share`` are not
    met in at least 5% of runs of this length.
    """

    FINDING = "stalls"

    condition: Condition
    trials: int
    down_weighted: int
    down_weighted_time: float
    stalls: int
    stalled_trials: int
    stall_cost: float
    missed_share: float


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """A second identical twin over the first: what this instrument sees where there is nothing to see.

    The A/A twin over its baseline, or (``condition`` is the treatment) the B/B twin over the encrypted one.
    ``instance_sd`` is the posterior median of a plain instance's effect, as a share (0.003 is 0.3%). ``is_apart`` says
    whether a verdict about the second twin would be that it differs, where its interval lies outside the limit.
    """

    stratum: int
    metric: Metric
    ratio: Estimate
    instance_sd: float
    rounds: int
    blocks: int
    condition: Condition | None = None
    is_apart: bool = field(default=True, metadata={"json": ""})


@dataclass(frozen=True, slots=True)
class Contrast(Finding):
    """One condition over another that is not its baseline: the same run, the same blocks, one factor apart.

    For example aes-256 without the CPU's AES instructions over aes-256 with them: what the instructions save. Never
    decides anything. ``factor`` is the one whose levels differ; the condition of the later level is over the earlier.
    """

    FINDING = "contrasts"

    factor: str
    condition: Condition
    versus: Condition
    metric: Metric
    ratio: Estimate


class EvidenceState(StrEnum):
    """The result of a search for planted plaintext in one class of one twin's files.

    ``plain``: found in a plain twin, as it must be. ``encrypted``: found nowhere, and the plain twin of the same run
    shows them in this class. ``leak``: found in an encrypted twin. ``uncovered``: found there, too, but in a class that
    the twin's scope does not cover. ``mounted``: in a class that encrypted storage hides from below
    and shows to whoever reads it mounted. ``missing``: not found in a plain twin whose rows hold them. ``not tested``:
    no plain twin showed them in this class, so their absence says nothing.
    """

    PLAIN = "plain"
    ENCRYPTED = "encrypted"
    LEAK = "leak"
    UNCOVERED = "uncovered"
    MOUNTED = "mounted"
    MISSING = "missing"
    NOT_TESTED = "not tested"


@dataclass(frozen=True, slots=True)
class FileEvidence(Finding):
    """Findings in one class of files of the twins of one condition.

    ``file_class`` is one of `tdelta.evidence.FileClass`. ``files`` names those that were read (unlinked ones as
    ``etilqs_… (unlinked)``): without folder for SQLite, from the data directory on for a server, of which many clean
    ones are told as their folder. ``leaking`` are those of an encrypted twin in which markers were found.
    """

    FINDING = "evidence"

    condition: Condition
    file_class: str
    state: EvidenceState
    files: tuple[str, ...]
    leaking: tuple[str, ...]
    scanned_bytes: int
    markers_found: int


class CheckState(StrEnum):
    """The result of a check. ``not shown``: it could not be made, or saw too little to say either way."""

    OK = "ok"
    NOT_SHOWN = "not shown"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Validity:
    """One check of whether the run can be trusted, and what it found.

    A failed one makes the run ``invalid``, unless it is one whose failure changes what the figures are of and not
    whether they hold (``makes_invalid`` is False). ``code`` is of `tdelta.messages.checks`.
    """

    DERIVED = ("ok", "check", "detail")

    code: str
    state: CheckState
    details: tuple[Detail, ...] = ()
    makes_invalid: bool = True

    @property
    def check(self) -> str:
        return CHECKS.get(self.code, self.code)

    @property
    def detail(self) -> str:
        return "; ".join(dict.fromkeys(detail.text for detail in self.details))

    @property
    def ok(self) -> bool:
        """Whether it was made and held."""
        return self.state is CheckState.OK

    @property
    def failed(self) -> bool:
        return self.state is CheckState.FAILED

    @property
    def is_invalid(self) -> bool:
        return self.failed and self.makes_invalid

    @property
    def why_invalid(self) -> Reason:
        return Reason.of("check-failed", check=self.check, detail=self.detail)


@dataclass(frozen=True, slots=True)
class StorageFound:
    """The properties found of the folders of twins on one kind of storage.

    ``encryption`` is what the kernel's tables say that encrypts them, for people; empty where nothing does.
    ``is_image``: they lie on images in loop devices, and not in a folder. ``is_direct``: these devices pass by the page
    cache of the images. ``driver`` is what ``/proc/crypto`` has for AES-XTS, which fscrypt and LUKS use; empty where it
    lists none.
    """

    encryption: str
    is_image: bool
    is_direct: bool
    driver: str = ""


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """The user's database that the twins are copies of: what it is called and how large, and nothing of its contents.

    ``file`` is its name without a folder, ``size_bytes`` that of the file with its log. ``tables`` and ``rows`` are
    those that are compared by checksum. ``proposed`` says whether the workload is tdelta's proposal, ``restored``
    whether the rows came out of a dump that a command of the user's restored, ``in_place`` whether they were read where
    they are; ``file`` is then no file's name.
    """

    file: str
    size_bytes: int
    page_size: int
    tables: int
    rows: int
    proposed: bool
    restored: bool = False
    in_place: bool = False


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """A server of the user's that a run was done on, as it was found before the first trial.

    ``where`` is user and address; ``scopes`` what it says of each kind of file, ``encrypted`` the scopes that are.
    ``has_cpu_time`` says whether its process was found on this machine, so that CPU figures are the server's.
    """

    option: str
    where: str
    product: str
    version: str
    connection: str
    scopes: Mapping[str, str]
    encrypted: tuple[str, ...]
    has_cpu_time: bool


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """A setting that differs between two servers and is not encryption; None where one lacks it.

    ``is_important``: it is one of those that are known to decide speed.
    """

    name: str
    baseline: str | None
    encrypted: str | None
    is_important: bool


@dataclass(frozen=True, slots=True)
class ServersFacts:
    """The two servers of the user's that a run compares, and in what they differ beside encryption.

    ``schema`` is what tdelta's schema on both was called. ``assumed``: that the second is encrypted is what the user
    says, since the server cannot tell.
    """

    baseline: ServerFacts
    encrypted: ServerFacts
    schema: str
    assumed: bool
    differences: tuple[SettingDifference, ...] = ()


@dataclass(frozen=True, slots=True)
class InstanceEffectPrior:
    """The prior of an instance effect (tau_i, an sd of a log cost) before a run.

    Lognormal with this median (a share) and ``log_sd``; but with probability ``vague_share`` as little is known as
    without a calibration.
    """

    median: float
    log_sd: float
    vague_share: float


@dataclass(frozen=True, slots=True)
class DetectableEffect:
    """The smallest effect that a run of that length detects. ``rounds`` is how many fit into it.

    ``critical_log_ratio`` is by how much a log ratio must exceed a limit to be called slower (the 95% HDI above the
    limit, with few rounds the 99% HDI) with a probability of 0.9; None where not one round fits.
    """

    minutes: float
    rounds: int
    critical_log_ratio: float | None

    def overhead(self, limit: float) -> float | None:
        """The smallest overhead that such a run finds to be more than ``limit``; both are shares."""
        return None if self.critical_log_ratio is None else (1.0 + limit) * math.exp(self.critical_log_ratio) - 1.0


@dataclass(frozen=True, slots=True)
class CalibrationUsed:
    """The machine calibration that a run takes its priors from; ``instance_effect`` is by metric.

    ``noise_floor`` is how far apart identical twins were read, a share (root mean square over the runs).
    """

    calibration_id: str
    created_unix_seconds: float
    runs: int
    noise_floor: float
    instance_effect: Mapping[str, InstanceEffectPrior]
    minimum_detectable_effect: tuple[DetectableEffect, ...]


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Everything that, with the same versions, repeats a run; ``options`` are JSON values by option name.

    ``database`` is None where the rows are generated, ``external_servers`` where servers are
    tdelta's own, ``calibration`` where no calibration of this machine fits, or none was wanted.
    """

    run_id: str
    seed: int
    study: str
    engine: str
    workload: str
    conditions: tuple[Condition, ...]
    tolerance: float
    budget: float | None
    metric: Metric
    options: Mapping[str, object] = field(default_factory=dict)
    database: DatabaseFacts | None = None
    external_servers: ServersFacts | None = None
    calibration: CalibrationUsed | None = None

    @property
    def tolerance_is_given(self) -> bool:
        """Whether the tolerance is the user's, and not the default."""
        typed = self.options.get("typed")
        return (isinstance(typed, list | tuple) and "tolerance" in typed) or self.tolerance != DEFAULT_TOLERANCE

    @property
    def contrast(self) -> str:
        """The factor whose levels are judged over the baseline's: ``cipher``, or in a comparison of builds theirs."""
        return str(self.options.get("contrast", ENCRYPTION))

    @property
    def compares_builds(self) -> bool:
        return self.contrast != ENCRYPTION

    @property
    def is_open_loop(self) -> bool:
        """Whether operations fall due at a rate."""
        return self.options.get("rate") is not None or any(one.get("rate") is not None for one in self.conditions)

    def instance_effect(self, metric: Metric) -> InstanceEffectPrior | None:
        """The instance effect in this metric by a calibration of this machine; None without one."""
        return None if self.calibration is None else self.calibration.instance_effect.get(metric.value)


@dataclass(frozen=True, slots=True)
class Counts:
    """How much a run measured, and how long it took: ``measured_seconds`` are those within trials that count."""

    rounds: int
    blocks: int
    trials: int
    operations_per_trial: int
    trial_seconds: float
    elapsed_seconds: float
    measured_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class LoopFacts:
    """How the load loop did over all trials.

    ``loop_cost_ns`` is its own cost, for one statement; ``client_overhead_share`` the share of the baseline's response
    time that is tdelta's own. ``queued_operations`` and ``backlog_max`` are of an open loop
    (`tdelta.records.Measurement`); ``arrival_rates`` are the operations due per second in one, by the key of each
    stratum's baseline, and ``capacities`` what that baseline did in a closed loop, where the rate is a share of it.
    ``errors`` and ``retries`` count by kind.
    """

    loop_cost_ns: float
    client_overhead_share: float
    queued_operations: int = 0
    backlog_max: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    retries: Mapping[str, int] = field(default_factory=dict)
    arrival_rates: Mapping[str, float] = field(default_factory=dict)
    capacities: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunResult:
    """The answer. ``decision`` is the worst of the primary verdicts.

    ``overridden`` says in words which settings of the study were changed (``--threads 1 instead of 4``).
    ``ciphers_in_force`` says which cipher was seen at work in place of one that was asked for (``{"aes-256":
    "AES-128-CBC"}``); it is empty where none was seen, or the one asked for.
    ``barely_encrypted`` has the pages per operation that passed the cipher, by the keys of those conditions in which
    that was next to nothing (`tdelta.inference.cipher_work`).
    ``findings`` is everything else that was found, those of one kind in their order.
    """

    settings: RunSettings
    decision: Decision
    verdicts: tuple[Verdict, ...]
    noise_floor: tuple[NoiseFloor, ...]
    validity: tuple[Validity, ...]
    cautions: tuple[Caution, ...]
    counts: Counts = part()
    loop: LoopFacts = part()
    machine: Mapping[str, object] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    stopped_by: str = "precision"
    interrupted: bool = False
    overridden: tuple[str, ...] = ()
    ciphers_in_force: Mapping[str, str] = field(default_factory=dict)
    barely_encrypted: Mapping[str, float] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    @property
    def primary(self) -> tuple[Verdict, ...]:
        """The primary verdicts, one a judged condition, in the design's order."""
        return tuple(v for v in self.verdicts if v.primary)

    def of(self, kind: type[F]) -> tuple[F, ...]:
        """The findings of one kind; empty where there are none."""
        return tuple(one for one in self.findings if isinstance(one, kind))

    def one(self, kind: type[F]) -> F | None:
        """The finding of a kind of which there is one at most."""
        return next(iter(self.of(kind)), None)


# Events of a running session for whoever watches: values, never text to print.


@dataclass(frozen=True, slots=True)
class RunPlanned:
    """The run is laid out; nothing has been measured."""

    settings: RunSettings
    blocks_per_round: int
    rounds_min: int
    trial_seconds: float
    deadline_seconds: float
    directory: str


@dataclass(frozen=True, slots=True)
class Phase:
    """A stage other than measuring has begun.

    ``load``, ``size``, ``copy``, ``warm-up``, ``evidence``, ``profile``, ``checksum``, ``judge``,
    ``lost`` (a server that died), ``server check``;
    ``done`` of ``total`` steps (0 of 0 where it cannot be known); ``detail`` is for people.
    """

    name: str
    detail: str = ""
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """Fresh twins are up. ``round`` counts from 0."""

    round: int
    blocks: int


@dataclass(frozen=True, slots=True)
class TrialDone:
    trial: Trial
    trials_done: int


@dataclass(frozen=True, slots=True)
class BlockDone:
    """Every condition has run once more. ``elapsed_seconds`` is wall clock since the start, set-up included."""

    round: int
    block: int
    elapsed_seconds: float


@dataclass(frozen=True, slots=True)
class InterimAnalysis:
    """A look at a round's end: the primary posterior of each judged condition so far, and the width aimed at.

    ``estimates`` pairs each condition with its estimate and the target width of its 95% HDI (a difference of ratios).
    ``stop`` says that this look is the last, ``is_late`` that the time is the reason.
    """

    round: int
    estimates: tuple[tuple[Condition, Estimate, float], ...]
    seconds_left: float
    stop: bool
    is_late: bool = False


Event: TypeAlias = RunPlanned | Phase | RoundStarted | TrialDone | BlockDone | InterimAnalysis
