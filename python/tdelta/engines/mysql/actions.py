"""What can be done to a MySQL server beside its load."""

from __future__ import annotations

from collections.abc import Mapping

from tdelta.engines.shared.private.actions import ServerAction
from tdelta.engines.shared.private.restarts import LogSql, restarts

_STATUS = "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = "
_CURRENT, _CHECKPOINT = (f"{_STATUS}'Innodb_redo_log_{name}_lsn'" for name in ("current", "checkpoint"))
_LOG = LogSql(
    numbers=(
        "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000)"
        " SELECT s.n FROM s JOIN (SELECT 1 UNION ALL SELECT 2) AS twice"
    ),
    written=_CURRENT,
    behind=f"SELECT ({_CURRENT}) - ({_CHECKPOINT})",
    hold=("SET GLOBAL innodb_adaptive_flushing = OFF", "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0"),
)
"""An idle server checkpoints within seconds; only servers built for debugging can be asked to."""

ACTIONS: Mapping[str, ServerAction] = restarts(_LOG)
