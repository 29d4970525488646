"""The state of a run: one value, stored after each stage and each round, from which it is resumed.

Whoever collects something writes into the part that is theirs; nothing else of a run outlives its sitting but trials.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tdelta.evidence import MarkerHit
from tdelta.inference.unit_costs import Timed
from tdelta.messages import Caution, Detail
from tdelta.records import CalibrationKey, Sampled, StorageFound
from tdelta.store import Store, decode

STATE = "state"
"""The fact that holds it."""


@dataclass(frozen=True, slots=True)
class TrialSize:
    """Operations of a trial by stratum, the trial's length on the baseline, and the loop's own cost in ns.

    A load or rebuild is one operation, and its length counts only where there is nothing else.

    ``rates`` are the arrivals a second of an open loop by stratum, none in a closed one; ``capacities`` what the
    baseline did in a closed loop, for strata whose rate is a share of that.
    ``loop_cost_ns`` is for one statement, drawing, timing and recording included; ``loop_response_ns`` is what falls
    within the measured span of a transaction.
    """

    operations: Mapping[int, int]
    trial_seconds: float
    loop_cost_ns: float
    loop_response_ns: float
    rates: Mapping[int, float] = field(default_factory=dict)
    capacities: Mapping[int, float] = field(default_factory=dict)


@dataclass(slots=True)
class TwinNotes:
    """Results of the checks of twins. A check that has failed stays failed, whichever sitting saw it."""

    after: list[Detail] = field(default_factory=list)
    settings: list[Detail] = field(default_factory=list)
    ciphers: list[Detail] = field(default_factory=list)
    in_force: list[Detail] = field(default_factory=list)
    page_us: dict[str, list[float]] = field(default_factory=dict)
    """By level of the AES instructions, µs per page in each worker that was to have it."""

    rounds_compared: int = 0
    replicas: list[Detail] = field(default_factory=list)
    replicas_compared: int = 0
    facts: dict[int, tuple[str, dict[str, str]]] = field(default_factory=dict)
    """By stratum, the condition whose twin was first, and its settings."""

    cautions: list[Caution] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SampledTwins:
    trials: int
    operations: int
    functions: tuple[Sampled, ...]


@dataclass(slots=True)
class ProfileNotes:
    """Functions that were sampled, by the condition's key, how, and why no more were."""

    cautions: list[Caution] = field(default_factory=list)
    is_given_up: bool = False
    has_kernel: bool = True
    follows_threads: bool = False
    why_threads: str = ""
    lost_passes: int = 0
    pass_seconds: float = 0.0
    conditions: dict[str, SampledTwins] = field(default_factory=dict)


@dataclass(slots=True)
class RunState:
    """All of it. ``fingerprint`` and ``library`` are what must be the same when the run is resumed.

    ``database`` is the workload on a user's own rows, which may be a proposal, in full. ``key`` is what a calibration
    of this machine must have in common with the run; None where none can. ``extended_seconds`` is the time that a
    default one was extended to, which happens once. ``ciphers`` are what engines were seen to
    encrypt pages with, by the cipher that was asked for; None as long as nobody looked. ``evidence``, ``unit_costs``,
    ``timed_calls`` and ``data_bytes`` (how large loaded data is) are by the condition's key; a unit cost is
    as the driver measured it, moment by moment. ``storages`` are what twins were found to lie on, by the level of the
    factor.
    """

    fingerprint: str | None = None
    library: str | None = None
    database: Mapping[str, object] | None = None
    key: CalibrationKey | None = None
    extended_seconds: float | None = None
    trial_size: TrialSize | None = None
    ciphers: dict[str, str] | None = None
    twins: TwinNotes = field(default_factory=TwinNotes)
    evidence: dict[str, tuple[MarkerHit, ...]] = field(default_factory=dict)
    unit_costs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    timed_calls: dict[str, Timed] = field(default_factory=dict)
    data_bytes: dict[str, int] = field(default_factory=dict)
    profile: ProfileNotes | None = None
    storages: dict[str, StorageFound] = field(default_factory=dict)

    def keep(self, store: Store, run_id: str) -> None:
        """Store it, in place of what was there."""
        store.put_fact(run_id, STATE, self)

    @classmethod
    def of(cls, store: Store, run_id: str) -> RunState:
        stored = store.get_fact(run_id, STATE)
        return cls() if stored is None else decode(cls, stored)
