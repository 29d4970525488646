"""What is said of ClickHouse alone: the English, by code."""

from __future__ import annotations

from typing import ClassVar

from tdelta.messages import Refusal

_REFUSALS = {
    "not-installed": "engine 'clickhouse': {missing} not installed: pip install 'tdelta[clickhouse]'",
    "writes": (
        "workload {workload!r} changes rows: expected one that only reads, or --vary work=load, since ClickHouse has no"
        " transactions and rewrites whole parts for an update: --workload warehouse, scan, point-select or read-only"
    ),
}


class ClickhouseRefusal(Refusal):
    """Why something cannot be done with ClickHouse, and what to do."""

    __slots__ = ()
    TEMPLATES: ClassVar = _REFUSALS
