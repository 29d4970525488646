"""The frozen facts that every layer shares. Knows no layer; every layer may import it.

Units are in the names: ``*_ns``, ``*_seconds``, ``*_bytes``; a ``ratio`` is a quotient (1.031 is +3.1 %), and an
overhead given as a share (``rope``, ``budget``, ``planted``) is that quotient less one (0.031).
"""

from tdelta.records.conditions import Condition, Level, Role
from tdelta.records.events import (
    BlockDone,
    Event,
    Look,
    Phase,
    RoundStarted,
    RunPlanned,
    TrialDone,
)
from tdelta.records.results import (
    Contrast,
    DatabaseFacts,
    Decision,
    Estimate,
    EvidenceState,
    FileEvidence,
    Metric,
    NoiseFloor,
    PageCost,
    PublishedCell,
    RunResult,
    RunSettings,
    ServerFacts,
    ServersFacts,
    SettingDifference,
    Validity,
    Verdict,
)
from tdelta.records.serving import (
    Bottleneck,
    CacheUse,
    Moved,
    ServerMeasures,
    SettingsCompared,
    TimeSpent,
    Typical,
)
from tdelta.records.trials import Measurement, SpanTotals, Trial

__all__ = [
    "BlockDone",
    "Bottleneck",
    "CacheUse",
    "Condition",
    "Contrast",
    "DatabaseFacts",
    "Decision",
    "Estimate",
    "Event",
    "EvidenceState",
    "FileEvidence",
    "Level",
    "Look",
    "Measurement",
    "Metric",
    "Moved",
    "NoiseFloor",
    "PageCost",
    "Phase",
    "PublishedCell",
    "Role",
    "RoundStarted",
    "RunPlanned",
    "RunResult",
    "RunSettings",
    "ServerFacts",
    "ServerMeasures",
    "ServersFacts",
    "SettingDifference",
    "SettingsCompared",
    "SpanTotals",
    "TimeSpent",
    "Trial",
    "TrialDone",
    "Typical",
    "Validity",
    "Verdict",
]
