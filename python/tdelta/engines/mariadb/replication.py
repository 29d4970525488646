"""How MariaDB replicates: by binary log position, confirmed by its built-in semi-synchronous replication."""

from __future__ import annotations

from tdelta.engines.shared.mysql_replication import CONFIRM_MS, MysqlReplication, Words

REPLICATION = MysqlReplication(
    Words(
        primary_options={
            "rpl_semi_sync_master_timeout": CONFIRM_MS,
            "rpl_semi_sync_master_wait_point": "AFTER_SYNC",
        },
        replica_options={"skip_slave_start": "ON"},
        status="SHOW SLAVE STATUS",
        columns={
            "read_file": "Master_Log_File",
            "read_position": "Read_Master_Log_Pos",
            "applied_file": "Relay_Master_Log_File",
            "applied_position": "Exec_Master_Log_Pos",
            "receives": "Slave_IO_Running",
            "read_fault": "Last_IO_Error",
            "apply_fault": "Last_SQL_Error",
        },
        position="SHOW MASTER STATUS",
        join=(
            "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = '{user}',"
            " MASTER_PASSWORD = '{password}', MASTER_LOG_FILE = '{file}', MASTER_LOG_POS = {position},"
            " MASTER_USE_GTID = no, MASTER_CONNECT_RETRY = 1"
        ),
        account=(
            "SET SESSION sql_log_bin = OFF",
            "CREATE USER '{user}'@'127.0.0.1' IDENTIFIED BY '{password}'",
            "GRANT REPLICATION SLAVE ON *.* TO '{user}'@'127.0.0.1'",
            "SET SESSION sql_log_bin = ON",
        ),
        start="START SLAVE",
        stop="STOP SLAVE",
        receive="START SLAVE IO_THREAD",
        apply="START SLAVE SQL_THREAD",
        primary_confirms="rpl_semi_sync_master_enabled",
        replica_confirms="rpl_semi_sync_slave_enabled",
        confirmed=("Rpl_semi_sync_master_yes_tx", "Rpl_semi_sync_master_no_tx", "Rpl_semi_sync_master_clients"),
        status_table="information_schema.GLOBAL_STATUS",
        wait="SELECT MASTER_POS_WAIT('{file}', {position}, {seconds})",
    )
)
