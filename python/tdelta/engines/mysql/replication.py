"""How MySQL replicates: by binary log position, confirmed by its plugins for semi-synchronous replication."""

from __future__ import annotations

from pathlib import Path

from tdelta.driver.servers.recipes import ServerPaths
from tdelta.engines.shared.mysql_replication import CONFIRM_MS, MysqlReplication, Words

_SOURCE, _REPLICA = "semisync_source.so", "semisync_replica.so"
_SHOWN_ANEW = (8, 2)
"""From here on the primary's position has its new name; the old one is gone from 8.4 on."""

_CHECKPOINT_MS = 10
"""How often a replica with several appliers says how far it is; 300 by default, and lags are shorter."""

_SERVER_UUID = "[auto]\nserver-uuid=00000000-0000-4000-8000-000000000002\n"
"""The replica's own: that in the copied data is its primary's."""


def replication(version: str) -> MysqlReplication:
    is_new = tuple(int(part) for part in version.split(".")[:2]) >= _SHOWN_ANEW
    return MysqlReplication(
        Words(
            primary_options={
                "plugin_load_add": _SOURCE,
                "rpl_semi_sync_source_timeout": CONFIRM_MS,
                "rpl_semi_sync_source_wait_point": "AFTER_SYNC",
            },
            replica_options={
                "plugin_load_add": _REPLICA,
                "skip_replica_start": "ON",
                "replica_checkpoint_period": _CHECKPOINT_MS,
            },
            status="SHOW REPLICA STATUS",
            columns={
                "read_file": "Source_Log_File",
                "read_position": "Read_Source_Log_Pos",
                "applied_file": "Relay_Source_Log_File",
                "applied_position": "Exec_Source_Log_Pos",
                "receives": "Replica_IO_Running",
                "read_fault": "Last_IO_Error",
                "apply_fault": "Last_SQL_Error",
            },
            position="SHOW BINARY LOG STATUS" if is_new else "SHOW MASTER STATUS",
            join=(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = '{user}',"
                " SOURCE_PASSWORD = '{password}', SOURCE_LOG_FILE = '{file}', SOURCE_LOG_POS = {position},"
                " SOURCE_CONNECT_RETRY = 1, GET_SOURCE_PUBLIC_KEY = 1"
            ),
            account=(
                "SET SESSION sql_log_bin = OFF",
                "CREATE USER '{user}'@'127.0.0.1' IDENTIFIED BY '{password}'",
                "GRANT REPLICATION SLAVE ON *.* TO '{user}'@'127.0.0.1'",
                "SET SESSION sql_log_bin = ON",
            ),
            start="START REPLICA",
            stop="STOP REPLICA",
            receive="START REPLICA IO_THREAD",
            apply="START REPLICA SQL_THREAD",
            primary_confirms="rpl_semi_sync_source_enabled",
            replica_confirms="rpl_semi_sync_replica_enabled",
            confirmed=("Rpl_semi_sync_source_yes_tx", "Rpl_semi_sync_source_no_tx", "Rpl_semi_sync_source_clients"),
            status_table="performance_schema.global_status",
            wait="SELECT SOURCE_POS_WAIT('{file}', {position}, {seconds})",
            plugins=(_SOURCE, _REPLICA),
        ),
        replica_files=_own_uuid,
    )


def _own_uuid(place: ServerPaths) -> dict[Path, str]:
    return {place.data / "auto.cnf": _SERVER_UUID}
