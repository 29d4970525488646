"""What is said of DuckDB alone: the English, by code."""

from __future__ import annotations

from typing import ClassVar

from tdelta.messages import Refusal

_REFUSALS = {
    "not-installed": "engine 'duckdb': {missing} not installed: pip install 'tdelta[duckdb]'",
    "versions-apart": (
        "engine 'duckdb': expected duckdb-extension-httpfs of DuckDB's own version {duckdb}, found {found}: pip"
        " install 'tdelta[duckdb]'"
    ),
    "module-missing": "engine 'duckdb': expected httpfs.duckdb_extension in duckdb-extension-httpfs, found none",
}


class DuckDbRefusal(Refusal):
    """Why something cannot be done with DuckDB, and what to do."""

    __slots__ = ()
    TEMPLATES: ClassVar = _REFUSALS
