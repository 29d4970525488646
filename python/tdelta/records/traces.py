from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tdelta.records.conditions import Condition
from tdelta.records.estimates import Estimate
from tdelta.records.findings import Finding


@dataclass(frozen=True, slots=True)
class StatementTrace:
    """One statement on one condition's twins; all but ``calls`` is of one call.

    ``statement`` is its name (``group/2``), ``sql`` its text on one line. ``calls`` were metered one by one, in
    extra trials: ``cpu_us`` is the CPU time of the thread that ran them, ``reads`` and ``rows`` (fetched and
    changed; None where the engine tells of neither) are of these too. ``reads`` are by heading (``physical``,
    ``logical``, ``current``), without those that the engine has nothing for; ``log_bytes`` is None where it does
    not tell. ``elapsed_us`` is of the measured trials. The ratios are over the plain twins; None for these, and
    where nothing can be compared.
    """

    condition: Condition
    statement: str
    sql: str
    calls: int
    cpu_us: float
    elapsed_us: float
    rows: float | None
    reads: Mapping[str, float] = field(default_factory=dict)
    log_bytes: float | None = None
    cpu_ratio: Estimate | None = None
    elapsed_ratio: Estimate | None = None


@dataclass(frozen=True, slots=True)
class Traces(Finding):
    """The statements of a run, condition by condition, and what the engine has under each heading, in words."""

    FINDING = "traces"
    IS_SINGLE = True

    statements: tuple[StatementTrace, ...]
    headings: Mapping[str, str]
