from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tdelta.driver.acting import Outcome
from tdelta.driver.backups import BackupTool
from tdelta.driver.programs import Program
from tdelta.engines.servers import DATABASE
from tdelta.engines.shared.mysql_evidence import FILES
from tdelta.engines.shared.mysql_family import OPTION_FILE, dumps
from tdelta.engines.shared.private.actions import ServerAction, Site
from tdelta.engines.shared.private.backups import ServerTool, Tools, Words, backups
from tdelta.engines.shared.private.disk import DiskPeak
from tdelta.engines.shared.private.remains import DELETED_TABLE, Remains, RemainsSql
from tdelta.engines.shared.private.restarts import LogSql, restarts
from tdelta.engines.shared.sessions import AdminConnection
from tdelta.engines.shared.settling import Settling

_PACKAGE = "install mariadb-backup (Debian, Ubuntu, Fedora: mariadb-backup)"
_CLIENTS = "install MariaDB's clients (Debian, Ubuntu: mariadb-client; Fedora: mariadb)"
_BACKUP, _STREAM = Program("mariadb-backup", _PACKAGE), Program("mbstream", _PACKAGE)


def _write(site: Site, folder: Path, _compresses: bool) -> Words:
    place = site.recipe.place
    reach = (f"--socket={place.socket}", f"--user={DATABASE}")
    how = ("--backup", "--stream=xbstream", f"--target-dir={folder}")
    return (_BACKUP.name, f"--defaults-file={place.folder / OPTION_FILE}", *how, *reach)


def _read(_site: Site, folder: Path) -> Words:
    return (_STREAM.name, "-x", "-C", str(folder))


def _prepare(folder: Path) -> Words:
    return (_BACKUP.name, "--prepare", f"--target-dir={folder}")


_PHYSICAL = BackupTool("mariadb-backup: files, and the log that was written meanwhile", programs=(_BACKUP, _STREAM))

TOOLS: Tools = {
    "mariadb-backup": ServerTool(_PHYSICAL, _write, _read, _prepare),
    "dump": dumps(Program("mariadb-dump", _CLIENTS), Program("mariadb", _CLIENTS)),
}
"""By name, the default first."""


_STATUS = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = "
_LOG = LogSql(
    numbers="SELECT seq AS n FROM seq_1_to_2000",
    checkpoint=("SET GLOBAL innodb_log_checkpoint_now = ON",),
    written=f"{_STATUS}'INNODB_LSN_CURRENT'",
    behind=f"{_STATUS}'INNODB_CHECKPOINT_AGE'",
)

_THREADS = 4
_IOPS = 100
_FASTEST = 100_000
"""Four threads, as encrypted twins have; MariaDB's own default of innodb_encryption_rotation_iops; no limit."""

_ENCRYPTED = "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION WHERE MIN_KEY_VERSION > 0"
_ALL = "SELECT COUNT(*) FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME <> 'innodb_temporary'"
"""Those that encryption threads see to. Of a server that never had any, INNODB_TABLESPACES_ENCRYPTION lists none."""

_BUSY = "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION WHERE ROTATING_OR_FLUSHING = 1"
_BYTES = "SELECT SUM(FILE_SIZE) FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME <> 'innodb_temporary'"
_LOOK_AGAIN_SECONDS = 0.05
"""Polling more often would itself be a load."""

NEW_KEY = 3
"""The number of the key that `Rekey` changes to. The plugin file_key_management has one version of each key."""

_REMAINS = RemainsSql(
    rules=FILES,
    hexadecimal="HEX({})",
    literal="X'{}'",
    bytes_type="VARBINARY({})",
    settle=(Settling(("SET GLOBAL innodb_max_purge_lag_wait = 0", "SET GLOBAL innodb_log_checkpoint_now = ON")),),
)


class _Conversion:
    """What conversions have in common: a connection, rows to look for afterwards, how much disk they take.

    The redo log and temporary files stay as they are: they are switched with a start of the server only.
    """

    leaves = True
    """Whether it is searched for what is left in the clear."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._session: AdminConnection | None = None
        self._remains: Remains | None = None

    def prepare(self) -> None:
        self._session = self._site.connect()
        if self.leaves:
            self._remains = Remains(self._site, _REMAINS, self._session)
            self._remains.plant()
        self._begin()

    def perform(self) -> Outcome:
        """Do it, and say how much more than before the data took on the disk at most."""
        peak = DiskPeak(self._site.recipe)
        with peak.watched():
            counted = self._convert()
        return Outcome({**counted, "disk_more_bytes": peak.more_bytes})

    def inspect(self) -> Mapping[str, int]:
        return {} if self._remains is None else self._remains.search()

    def undo(self) -> None:
        """Have the twin plain again, as fast as that goes, and without the rows."""
        if self._session is None:
            return
        try:
            self._end()
            if self._remains is not None:
                self._remains.remove()
        finally:
            self._session.close()

    def _begin(self) -> None:
        """Have the twin as it is to be before."""

    def _convert(self) -> Mapping[str, int]:
        raise NotImplementedError

    def _end(self) -> None:
        raise NotImplementedError

    def _run(self, *statements: str) -> None:
        assert self._session is not None  # noqa: S101 - prepared
        for statement in statements:
            self._session.run(statement)

    def _number(self, query: str) -> int:
        assert self._session is not None  # noqa: S101 - prepared
        return int(float(self._session.rows(query)[1][0][0] or 0))


class _Background(_Conversion):
    def _encrypt(self, threads: int, iops: int) -> None:
        all_of_them = self._number(_ALL)
        self._switch("ON", threads, iops)
        self._site.halt.wait_until(
            lambda: self._number(_ENCRYPTED) >= all_of_them and self._number(_BUSY) == 0,
            "every tablespace is encrypted",
            look_again_seconds=_LOOK_AGAIN_SECONDS,
        )

    def _decrypt(self, threads: int, iops: int) -> None:
        self._switch("OFF", threads, iops)
        self._site.halt.wait_until(
            lambda: self._number(_ENCRYPTED) == self._number(_BUSY) == 0,
            "no tablespace waits to be decrypted",
            look_again_seconds=_LOOK_AGAIN_SECONDS,
        )
        self._run("SET GLOBAL innodb_encryption_threads = 0")

    def _switch(self, to: str, threads: int, iops: int) -> None:
        self._run(
            f"SET GLOBAL innodb_encryption_rotation_iops = {iops}",
            f"SET GLOBAL innodb_encryption_threads = {threads}",
            f"SET GLOBAL innodb_encrypt_tables = {to}",
        )

    @property
    def _asked(self) -> tuple[int, int]:
        return self._site.knobs.get("threads", _THREADS), self._site.knobs.get("iops", _IOPS)

    def _end(self) -> None:
        self._decrypt(_THREADS, _FASTEST)


class Encrypt(_Background):
    def _convert(self) -> Mapping[str, int]:
        before, size = self._number(_ENCRYPTED), self._number(_BYTES)
        self._encrypt(*self._asked)
        return {"tablespaces": self._number(_ENCRYPTED) - before, "converted_bytes": size}


class Decrypt(_Background):
    """They are decrypted; before, they were encrypted as fast as that goes."""

    leaves = False

    def _begin(self) -> None:
        self._encrypt(_THREADS, _FASTEST)

    def _convert(self) -> Mapping[str, int]:
        before, size = self._number(_ENCRYPTED), self._number(_BYTES)
        self._decrypt(*self._asked)
        return {"tablespaces": before, "converted_bytes": size}


class _Altered(_Conversion):
    def _alter(self, what: str) -> None:
        for table in (*self._site.tables, DELETED_TABLE):
            if self._site.halt.is_asked:
                break
            self._run(f"ALTER TABLE `{table}` {what}")

    def _converted(self) -> Mapping[str, int]:
        names = ", ".join(f"'{DATABASE}/{table}'" for table in self._site.tables)
        size = f"SELECT SUM(FILE_SIZE) FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME IN ({names})"
        return {"tablespaces": len(self._site.tables) + 1, "converted_bytes": self._number(size)}

    def _end(self) -> None:
        self._alter("ENCRYPTED = DEFAULT ENCRYPTION_KEY_ID = 1")


class Alter(_Altered):
    def _convert(self) -> Mapping[str, int]:
        self._alter("ENCRYPTED = YES")
        return self._converted()


class Rekey(_Altered):
    def _begin(self) -> None:
        self._alter("ENCRYPTED = YES")

    def _convert(self) -> Mapping[str, int]:
        self._alter(f"ENCRYPTION_KEY_ID = {NEW_KEY}")
        return self._converted()


_KNOBS = ("threads", "iops")

ACTIONS: Mapping[str, ServerAction] = {
    **restarts(_LOG),
    **backups(TOOLS),
    "encrypt": ServerAction(Encrypt, "innodb_encrypt_tables = ON", _KNOBS, is_during=True),
    "decrypt": ServerAction(Decrypt, "innodb_encrypt_tables = OFF", _KNOBS, is_during=True),
    "alter": ServerAction(Alter, "ALTER TABLE ... ENCRYPTED = YES", is_during=True),
    "rekey": ServerAction(Rekey, f"ALTER TABLE ... ENCRYPTION_KEY_ID = {NEW_KEY}", is_during=True),
}
