"""The frozen facts that every layer shares. Knows no layer; every layer may import it.

Units are in the names: ``*_ns``, ``*_seconds``, ``*_bytes``; a ``ratio`` is a quotient (1.031 is +3.1%), and an
overhead given as a share (``tolerance``, ``budget``, ``injected``) is that quotient less one (0.031).
"""

from tdelta.records.analysis import (
    AnalysisResult,
    Comparison,
    Model,
    NoteCode,
    RunNote,
    RunScatter,
    Side,
    Source,
    Spread,
)
from tdelta.records.calibration import (
    CalibrationKey,
    CalibrationUsed,
    Counted,
    DetectableEffect,
    IdenticalTally,
    InjectedTally,
    InstanceEffectPrior,
    MachineCalibration,
    MetricNoise,
    Pace,
)
from tdelta.records.conditions import ENCRYPTION, PLAIN_STORAGE, Condition, Level, Role
from tdelta.records.cost_breakdown import Amount, ComponentKind, CostBreakdown, CostComponent, CostItem, TimedCalls
from tdelta.records.events import (
    BlockDone,
    Event,
    InterimAnalysis,
    Phase,
    RoundStarted,
    RunPlanned,
    TrialDone,
)
from tdelta.records.findings import Estimate, Finding, Typical
from tdelta.records.hosts import AgentUse, HostEffect, Hosts, LoadAgents, SeenOverhead
from tdelta.records.observed import (
    ALL,
    RESPONSE_TIME,
    THROUGHPUT,
    Binned,
    Bins,
    Figure,
    Group,
    Observation,
    Origin,
    Samples,
    Series,
    Summary,
)
from tdelta.records.profile import (
    ClassShare,
    CpuProfile,
    FunctionClass,
    FunctionShare,
    ProfiledSide,
    Sampled,
)
from tdelta.records.prospects import CarryOver
from tdelta.records.results import (
    DEFAULT_TOLERANCE,
    CheckState,
    Contrast,
    Counts,
    DatabaseFacts,
    Decision,
    EvidenceState,
    FileEvidence,
    LoopFacts,
    Metric,
    NoiseFloor,
    RunResult,
    RunSettings,
    ServerFacts,
    ServersFacts,
    SettingDifference,
    StallMeasure,
    StorageFound,
    Validity,
    Verdict,
)
from tdelta.records.tails import (
    BadTrials,
    Exceedance,
    Exceeding,
    ObservedSide,
    ObservedTail,
    Percentile,
    Percentile99,
    TailMeasure,
    TailRatio,
    TailUnit,
)
from tdelta.records.trials import (
    Checkpoint,
    Client,
    Injected,
    Measurement,
    Queue,
    RunDelays,
    SpanTotals,
    StatementCost,
    Trial,
    Usage,
)
