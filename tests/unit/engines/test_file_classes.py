"""A file's path says what it holds, on each engine."""

from __future__ import annotations

import pytest

from tdelta.engines.mariadb.evidence import EVIDENCE as OF_MARIADB
from tdelta.engines.mysql.evidence import EVIDENCE as OF_MYSQL
from tdelta.engines.postgres.evidence import EVIDENCE as OF_POSTGRES
from tdelta.engines.shared.file_classes import server_file_class
from tdelta.evidence import FileClass

FILES = {"mariadb": OF_MARIADB.files, "mysql": OF_MYSQL.files, "postgres": OF_POSTGRES.files}

MYSQL_FAMILY = {
    "tdelta/orders.ibd": FileClass.TABLES,
    "tdelta/orders#P#p0.ibd": FileClass.TABLES,
    "tdelta/old.MYD": FileClass.TABLES,
    "tdelta/aria.MAD": FileClass.TABLES,
    "tdelta/#sql-alter-1a2b-5.ibd": FileClass.TABLES,
    "tdelta/orders.frm": FileClass.DICTIONARY,
    "mysql/user.frm": FileClass.DICTIONARY,
    "mysql/global_priv.MAD": FileClass.DICTIONARY,
    "mysql.ibd": FileClass.DICTIONARY,
    "aria_log.00000001": FileClass.DICTIONARY,
    "aria_log_control": FileClass.DICTIONARY,
    "ibdata1": FileClass.SYSTEM,
    "ib_logfile0": FileClass.REDO,
    "#innodb_redo/#ib_redo12": FileClass.REDO,
    "#innodb_redo/#ib_redo13_tmp": FileClass.REDO,
    "undo_001": FileClass.UNDO,
    "undo001": FileClass.UNDO,
    "#ib_16384_0.dblwr": FileClass.DOUBLEWRITE,
    "#ib_16384_1.bdblwr": FileClass.DOUBLEWRITE,
    "ibtmp1": FileClass.TEMP_TABLES,
    "#innodb_temp/temp_9.ibt": FileClass.TEMP_TABLES,
    "tmp/#sql-temptable-5a0-a-4.MAD": FileClass.DISK_TABLES,
    "tmp/MYfd=5": FileClass.TEMP,
    "binlog.000001": FileClass.BINLOG,
    "binlog.index": FileClass.BINLOG,
    "host-relay-bin.000003": FileClass.RELAY,
    "relay-log.info": FileClass.RELAY,
    "server.log": FileClass.LOGS,
    "host-slow.log": FileClass.LOGS,
    "ddl_recovery.log": FileClass.OTHER,
    "ib_buffer_pool": FileClass.OTHER,
    "/usr/share/mysql/errmsg.sys": FileClass.OTHER,
}
POSTGRES = {
    "base/5/16384": FileClass.TABLES,
    "base/5/16384_fsm": FileClass.TABLES,
    "base/5/24601.1": FileClass.TABLES,
    "base/5/1259": FileClass.DICTIONARY,
    "base/5/16383": FileClass.DICTIONARY,
    "base/5/9999": FileClass.DICTIONARY,
    "base/5/100000": FileClass.TABLES,
    "base/5/pg_filenode.map": FileClass.DICTIONARY,
    "base/5/t5_16393": FileClass.TEMP_TABLES,
    "base/pgsql_tmp/pgsql_tmp4588.0": FileClass.TEMP,
    "base/pgsql_tmp/pgsql_tmp4588.1.sharedfileset/i0of4.p0.0": FileClass.TEMP,
    "pg_tblspc/16999/PG_15_202209061/5/17000": FileClass.TABLES,
    "pg_wal/000000010000000000000001": FileClass.WAL,
    "global/1262": FileClass.DICTIONARY,
    "log/postgresql-2026.log": FileClass.LOGS,
    "server.log": FileClass.LOGS,
    "pg_xact/0000": FileClass.OTHER,
    "PG_VERSION": FileClass.OTHER,
}


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
@pytest.mark.parametrize(("path", "expected"), MYSQL_FAMILY.items())
def test_a_path_tells_its_class_on_the_mysql_family(kind: str, path: str, expected: FileClass) -> None:
    assert server_file_class(FILES[kind], path) is expected


@pytest.mark.parametrize(("path", "expected"), POSTGRES.items())
def test_a_path_tells_its_class_on_postgres(path: str, expected: FileClass) -> None:
    assert server_file_class(FILES["postgres"], path) is expected


@pytest.mark.parametrize("kind", ["mariadb", "mysql", "postgres"])
def test_a_file_without_a_name_is_temporary_unless_its_name_said_what_it_was(kind: str) -> None:
    assert server_file_class(FILES[kind], "/var/lib/x/#395564", is_unlinked=True) is FileClass.TEMP
    kept = {"postgres": ("base/5/16384", FileClass.TABLES)}.get(kind, ("tdelta/orders.ibd", FileClass.TABLES))
    assert server_file_class(FILES[kind], kept[0], is_unlinked=True) is kept[1]
