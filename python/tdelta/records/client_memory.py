from __future__ import annotations

from dataclasses import dataclass

from tdelta.records.conditions import Condition
from tdelta.records.findings import Finding
from tdelta.records.serving import Typical


@dataclass(frozen=True, slots=True)
class ClientMemory(Finding):
    """The client's memory under one condition, over its trials; of runs that vary how it fetches or loads rows.

    ``peak_rss_bytes`` is the largest resident set of the client's process in a trial, of all load agents together,
    its interpreter and libraries included. ``response_us`` is of one operation.
    """

    FINDING = "client_memory"

    condition: Condition
    trials: int
    peak_rss_bytes: Typical
    response_us: Typical
