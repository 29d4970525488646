from __future__ import annotations

from enum import StrEnum


class Group(StrEnum):
    """A group of options, by its heading; in the order in which they are listed."""

    COMMON = "Common options"
    DATA = "Your data"
    PRIVATE_SERVERS = "Servers that tdelta starts"
    YOUR_SERVERS = "Your servers"
    DISTRIBUTED = "Distributed load"
    WORKLOAD = "Workload and rate"
    SETTINGS = "Database settings"
    COMPARISON = "Comparison"
    DIAGNOSTICS = "Diagnostics"
    CONTROL = "Run control"
    OUTPUT = "Output"
    ADVANCED = "Advanced"
