"""Which class a file of a server belongs to, told by its path below the data directory.

Rules are tried in their order, the first that matches wins. Paths are written with slashes; what lies in the server's
folder for temporary files is ``tmp/…``, what it says to people is ``server.log``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from tdelta.evidence.classes import FileClass

_Rules = tuple[tuple[re.Pattern[str], FileClass], ...]

_FIRST_USER_OID = 16384
"""Objects below it are PostgreSQL's own (FirstNormalObjectId, access/transam.h)."""

_PG_RELATION = re.compile(r"base/\d+/(?P<node>\d+)(_fsm|_vm|_init)?(\.\d+)?")


def _rules(*pairs: tuple[str, FileClass]) -> _Rules:
    return tuple((re.compile(pattern), of) for pattern, of in pairs)


_MYSQL_FAMILY = _rules(
    (r"(.*/)?#sql-temptable.*", FileClass.DISK_TABLES),
    (r"tmp/mysql_temptable.*", FileClass.DISK_TABLES),
    (r"tmp/.*", FileClass.TEMP),
    (r"(mysql|sys|performance_schema|information_schema)/.*|mysql\.ibd|aria_log.*", FileClass.DICTIONARY),
    (r"ibtmp\d+|#innodb_temp/.*", FileClass.TEMP_TABLES),
    (r"ib_logfile\d+|#innodb_redo/.*", FileClass.REDO),
    (r"undo_?\d+|.*\.ibu", FileClass.UNDO),
    (r".*\.b?dblwr", FileClass.DOUBLEWRITE),
    (r"ibdata\d+", FileClass.SYSTEM),
    (r"[^/]*relay[^/]*\.(\d{6,}|index|info)", FileClass.RELAY),
    (r"[^/]*\.(\d{6,}|index|state)", FileClass.BINLOG),
    (r".*\.(frm|opt|sdi|par|TRG|TRN|cfg)", FileClass.DICTIONARY),
    (r".*/[^/]*\.(ibd|MYD|MYI|MAD|MAI|CSV|CSM|ARZ|ARM)", FileClass.TABLES),
    (r"ddl_recovery.*\.log", FileClass.OTHER),
    (r"[^/]*\.(log|err)", FileClass.LOGS),
)

_POSTGRES = _rules(
    (r"tmp/.*|(.*/)?pgsql_tmp.*", FileClass.TEMP),
    (r"(.*/)?t\d+_\d+[^/]*", FileClass.TEMP_TABLES),
    (r"pg_wal/.*", FileClass.WAL),
    (r"(base|global)/.*", FileClass.DICTIONARY),
    (r"pg_tblspc/.*", FileClass.TABLES),
    (r"(log|pg_log)/.*|[^/]*\.log", FileClass.LOGS),
)

_BY_KIND: Mapping[str, _Rules] = MappingProxyType(
    {"mariadb": _MYSQL_FAMILY, "mysql": _MYSQL_FAMILY, "postgres": _POSTGRES}
)


def server_file_class(kind: str, path: str, *, is_unlinked: bool = False) -> FileClass:
    """The class of a server's file.

    Args:
        kind: the engine, as `tdelta.engines.servers.ServerBinary.kind`.
        path: relative to the data directory, or ``tmp/…``.
        is_unlinked: whether it is open and has no name any more, as temporary files do.
    """
    if _is_user_relation(kind, path):
        return FileClass.TABLES
    found = next((of for pattern, of in _BY_KIND[kind] if pattern.fullmatch(path)), FileClass.OTHER)
    return FileClass.TEMP if is_unlinked and found is FileClass.OTHER else found


def _is_user_relation(kind: str, path: str) -> bool:
    relation = _PG_RELATION.fullmatch(path) if kind == "postgres" else None
    return relation is not None and int(relation["node"]) >= _FIRST_USER_OID
