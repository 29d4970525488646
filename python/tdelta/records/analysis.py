"""The answer of ``tdelta analyze``: one comparison for each figure that two conditions have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tdelta.messages import Caution, Message, Reason
from tdelta.records.conditions import Level
from tdelta.records.findings import Estimate, ObservedTail
from tdelta.records.observed import Origin
from tdelta.records.parts import part
from tdelta.records.results import Decision


class Model(StrEnum):
    """How a comparison was judged; each is explained in ``docs/statistics.md``."""

    GAMMA = "gamma"
    BINNED_GAMMA = "gamma, interval-censored"
    SUMMARY = "summary"
    STRETCHES = "means of stretches"
    SERIES = "throughput series"
    BESIDE = "mean, width of its throughput series"
    RUNS = "runs"
    NONE = "no replication"


@dataclass(frozen=True, slots=True)
class Spread:
    """A posterior on the scale of the values themselves (ms, a second): of a mean, or of a difference of means."""

    median: float
    hdi95: tuple[float, float]
    hdi99: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Side:
    """One condition's part of a comparison.

    Attributes:
        condition: its name.
        runs: how many runs it has.
        count: values in all; of a series, its figures.
        effective_count: how many independent values they are worth; ``count`` where the model takes them as such.
        value: the plain mean of all of them, in the comparison's unit.
        mean: the posterior of the mean; None without replication.
        lengths_seconds: the shortest and the longest of its runs; None where that is not known.
        rounding: half a unit of the last printed digit as a share of the value; 0 where figures are exact.
    """

    condition: str
    runs: int
    count: int
    effective_count: float
    value: float
    mean: Spread | None = None
    lengths_seconds: tuple[float, float] | None = None
    rounding: float = 0.0


class NoteCode(StrEnum):
    """Notes on one run's own figures; the words are in `tdelta.report.analysis.details`."""

    ZEROS = "zero response times"
    DEPENDENT_VALUES = "dependent response times"
    FEW_INDEPENDENT = "few independent response times"
    HEAVY_TAIL = "heavy tail"
    HISTOGRAM_WITHOUT_ORDER = "histogram without order"
    SUMMARY_WITHOUT_ORDER = "summary without order"
    FEW_VALUES = "few values"
    NO_SPREAD = "no spread"
    SERIES_TOO_SHORT = "series too short"
    SERIES_SHORT = "series short"
    SERIES_DEPENDENT = "series dependent"
    WARM_UP = "warm-up"
    UNSTEADY = "unsteady"
    CYCLE = "cycle"
    WIDTH_FROM_SERIES = "width from series"


@dataclass(frozen=True, slots=True)
class RunNote:
    """One note on one run's figures.

    ``figures`` are the note's numbers, in the order its words have them.
    """

    code: NoteCode
    condition: str
    run: str
    figures: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class RunScatter:
    """The scatter between runs of one condition, a share.

    ``run_sd`` is estimated where there are several, stated where each condition has one run and the user said it, else
    None. ``run_sd_bearable`` is of single runs: the largest such scatter at which their figures would still decide; 0
    where they would not decide even if runs never differed.
    """

    run_sd: float | None = None
    run_sd_bearable: float | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Where a comparison's figures come from, and what their study's authors printed for it, where the file says so."""

    origins: tuple[Origin, ...] = ()
    published: str | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure of one condition against its baseline.

    ``ratio`` is of costs, above 1 is worse: of throughput, baseline over condition. It is None, like ``difference``
    (condition less baseline, in ``unit``, throughput as such), where there is no replication; ``quotient`` is the bare
    quotient of the two sides' values, as a cost, and always there. ``priors`` has the same ratio under other priors by
    their names (``no speed-up``, and what ``--prior`` asked for). ``primary`` ones set the decision and the exit code.
    ``tail`` decides nothing; it is None where the files have no tail, or nobody asked for one. ``tail_reason`` says why
    there is none though a threshold was given.

    ``undecided_because`` is what keeps figures from deciding that would decide by their interval. ``notes``
    are of single runs' figures.
    """

    transaction: str
    levels: tuple[tuple[str, Level], ...]
    metric: str
    unit: str
    model: Model
    baseline: Side
    condition: Side
    quotient: float
    ratio: Estimate | None
    difference: Spread | None
    decision: Decision
    reasons: tuple[Reason, ...]
    primary: bool = True
    priors: Mapping[str, Estimate] = field(default_factory=dict)
    source: Source = part(Source)
    tail: ObservedTail | None = None
    tail_reason: Reason | None = None
    scatter: RunScatter = part(RunScatter)
    undecided_because: tuple[Reason, ...] = ()
    notes: tuple[RunNote, ...] = ()


@dataclass(frozen=True, slots=True)
class AnalysisResult:
    """The answer. ``decision`` is the worst of the primary comparisons.

    ``formats`` counts files by format; ``left_out`` says what was in the files and was not compared, and why:
    cautions, and refusals of files that are no results. ``prior_words`` says in words what the default prior is.
    ``source`` is where published figures come from.
    ``budget`` is the overhead that was allowed, a share, where a gate was asked for. ``is_encryption`` is whether the
    conditions' names, or the files, say that encryption is what they differ in: ``tde`` over ``plain`` does,
    ``mysql57`` over ``mysql56`` does not. ``is_tolerance_given`` says whether the tolerance is the user's own word or
    the default. ``stated_run_sd`` is what the user said runs differ by.
    """

    decision: Decision
    comparisons: tuple[Comparison, ...]
    tolerance: float
    baseline: str
    formats: Mapping[str, int]
    cautions: tuple[Caution, ...]
    left_out: tuple[Message, ...] = ()
    prior_words: str = field(default="", metadata={"json": "prior"})
    source: str | None = None
    budget: float | None = None
    is_encryption: bool = True
    is_tolerance_given: bool = True
    stated_run_sd: float | None = None

    @property
    def primary(self) -> tuple[Comparison, ...]:
        return tuple(c for c in self.comparisons if c.primary)
