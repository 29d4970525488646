"""What can be done to a PostgreSQL server beside its load."""

from __future__ import annotations

from collections.abc import Mapping

from tdelta.engines.shared.private.actions import ServerAction
from tdelta.engines.shared.private.restarts import LogSql, restarts

_WRITTEN = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), {since})::bigint"
_LOG = LogSql(
    numbers="SELECT n FROM generate_series(1, 2000) AS n",
    checkpoint=("CHECKPOINT",),
    written=_WRITTEN.format(since="'0/0'"),
    behind=_WRITTEN.format(since="redo_lsn") + " FROM pg_control_checkpoint()",
)

ACTIONS: Mapping[str, ServerAction] = restarts(_LOG)
