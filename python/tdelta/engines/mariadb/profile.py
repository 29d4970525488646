from __future__ import annotations

from tdelta.design.takes import Takes
from tdelta.engines.profile import ServerProgram
from tdelta.engines.server.mysql_profile import mysql_profile

PROFILE = mysql_profile(
    "mariadb",
    "MariaDB",
    ServerProgram(
        names=("mariadbd", "mysqld"),
        products=((r"Ver (\d+(?:\.\d+)+)-MariaDB", "MariaDB"),),
        remedy="apt-get install mariadb-server",
        cache_setting="innodb_buffer_pool_size",
        oldest="10.11",
    ),
    {
        "redo log": "innodb_encrypt_log = ON",
        "temp tables": "innodb_encrypt_temporary_tables = ON",
        "temp": "encrypt_tmp_files = ON",
        **dict.fromkeys(("binlog", "relay log"), "encrypt_binlog = ON"),
    },
    Takes.KEY_SERVICE,
)
