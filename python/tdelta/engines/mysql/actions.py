from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tdelta.engines.server.actions import (
    DELETED_TABLE,
    LeavesRows,
    LogSql,
    RemainsSql,
    Site,
    SiteAct,
    restarts,
)
from tdelta.engines.server.backups import ServerTool, Tools, Words, backups
from tdelta.engines.server.base import DATABASE
from tdelta.engines.server.evidence import Settling
from tdelta.engines.server.mysql_family import SETTLED, dumps, flushing
from tdelta.errors import EnvironmentFault
from tdelta.processes.actions import Outcome
from tdelta.processes.backups import BackupTool, EngineAction
from tdelta.processes.pipelines import Program

# Backups of a MySQL server: the clone plugin, by which the server copies its own files, and mysqldump.
#
# The clone is a folder, which tar then makes one file of: both are in the figure. Pages of encrypted tables
# are in it as they lie; a server that starts on it needs a copy of the keyring.

PLUGIN = "mysql_clone"
_TAR = Program("tar", "install tar")
_CLIENTS = "install MySQL's clients, or MariaDB's (Debian, Ubuntu: default-mysql-client; Fedora: mysql)"


def _write(_site: Site, folder: Path, _compresses: bool) -> Words:
    return (_TAR.name, "--create", f"--directory={folder}", ".")


def _read(_site: Site, folder: Path) -> Words:
    return (_TAR.name, "--extract", f"--directory={folder}")


_CLONE = ServerTool(
    BackupTool("CLONE LOCAL DATA DIRECTORY, then tar", programs=(_TAR,)),
    _write,
    _read,
    first=(f"INSTALL PLUGIN clone SONAME '{PLUGIN}.so'",),
    at_once=("CLONE LOCAL DATA DIRECTORY = '{folder}'",),
    last=("UNINSTALL PLUGIN clone",),
)

TOOLS: Tools = {"clone": _CLONE, "dump": dumps(Program("mysqldump", _CLIENTS), Program("mysql", _CLIENTS))}
"""By name, the default first."""


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

_OURS = (
    f"FROM information_schema.INNODB_TABLESPACES WHERE NAME LIKE '{DATABASE}/%' AND ENCRYPTION = 'Y'"
    f" AND NAME <> '{DATABASE}/{DELETED_TABLE}'"
)
_ENCRYPTED, _BYTES = (f"SELECT {what} {_OURS}" for what in ("COUNT(*)", "SUM(FILE_SIZE)"))

_PURGE = Settling(query="SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'")
_REMAINS = RemainsSql(
    hexadecimal="HEX({})",
    literal="X'{}'",
    bytes_type="VARBINARY({})",
    settle=(_PURGE, flushing("performance_schema.global_status")),
    settled=SETTLED,
)


class Encrypt(LeavesRows):
    """The run's tables, encrypted one after another by ``ALTER TABLE``, and decrypted again.

    MySQL refuses to do so in place: it copies each table, which can be read meanwhile; whoever changes it waits. The
    redo log, undo tablespaces and what the server keeps of its own stay as they are.
    """

    remains = _REMAINS

    def perform(self) -> Outcome:
        self._have_all("Y", (*self.site.tables, DELETED_TABLE))
        return Outcome({"tables": self.number(_ENCRYPTED), "converted_bytes": self.number(_BYTES)})

    def _put_back(self) -> None:
        super()._put_back()
        self._have_all("N", self.site.tables)

    def _have_all(self, encryption: str, tables: Sequence[str]) -> None:
        connection = self.number("SELECT CONNECTION_ID()")
        try:
            for table in tables:
                sql = f"ALTER TABLE `{table}` ENCRYPTION = '{encryption}'"
                self.session.run_while(sql, self.site.halt, f"{table} is copied")
        except EnvironmentFault:
            self.site.run(f"KILL {connection}")  # else who waits for the table would go on waiting
            raise


class Rotate(SiteAct):
    """A new master key, so often (knob ``times``): the keys of all tablespaces are encrypted with it, no page is."""

    def prepare(self) -> None:
        self.number(_ENCRYPTED)  # connected

    def perform(self) -> Outcome:
        times = 0
        while times < self.site.asked.knobs.get("times", 1) and not self.site.halt.is_asked:
            self.session.run("ALTER INSTANCE ROTATE INNODB MASTER KEY")
            times += 1
        return Outcome({"rotations": times, "tables": self.number(_ENCRYPTED)})


ACTIONS: Mapping[str, EngineAction] = {
    **restarts(_LOG),
    **backups(TOOLS),
    "encrypt": EngineAction(Encrypt, is_during=True),
    "rotate": EngineAction(Rotate, ("times",), is_during=True),
}
