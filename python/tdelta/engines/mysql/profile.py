from __future__ import annotations

from tdelta.engines.profile import ServerProgram
from tdelta.engines.server.mysql_profile import mysql_profile

PROFILE = mysql_profile(
    "mysql",
    "MySQL, Percona Server",
    ServerProgram(
        names=("mysqld",),
        products=(
            (r"Ver (\d+(?:\.\d+)+)\S* .*Percona Server", "Percona Server"),
            (r"mysqld\S*\s+Ver (\d+(?:\.\d+)+)(?!\S*-MariaDB)", "MySQL"),
        ),
        remedy="scripts/mysql-server unpacks Debian's, or install MySQL or Percona Server from their makers",
        cache_setting="innodb_buffer_pool_size",
        oldest="8.4",
    ),
    {
        "redo log": "innodb_redo_log_encrypt = ON",
        **dict.fromkeys(("undo", "doublewrite"), "innodb_undo_log_encrypt = ON"),
        **dict.fromkeys(("binlog", "relay log"), "binlog_encryption = ON"),
        "dictionary": "ALTER TABLESPACE mysql ENCRYPTION = 'Y'",
    },
)
