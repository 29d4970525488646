from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from tdelta.engines.server.actions import (
    DELETED_TABLE,
    LeavesRows,
    LogSql,
    RemainsSql,
    Site,
    allocated_bytes,
    kept,
    restarts,
)
from tdelta.engines.server.backups import ServerTool, Tools, Words, backups
from tdelta.engines.server.base import DATABASE
from tdelta.engines.server.evidence import Settling
from tdelta.engines.server.mysql_family import OPTION_FILE, dumps
from tdelta.processes.actions import Outcome, Peak
from tdelta.processes.backups import BackupTool, EngineAction
from tdelta.processes.key_service import add_versions
from tdelta.processes.pipelines import Program

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

_OLDER = (
    "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION"
    " WHERE ENCRYPTION_SCHEME = 1 AND (MIN_KEY_VERSION < {version} OR ROTATING_OR_FLUSHING = 1)"
)
_BUSY = "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION WHERE ROTATING_OR_FLUSHING = 1"
_BYTES = "SELECT SUM(FILE_SIZE) FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME <> 'innodb_temporary'"
_LOOK_AT_DISK_SECONDS = 0.2
_LOOK_AGAIN_SECONDS = 0.05
"""Polling more often would itself be a load."""

NEW_KEY = 3
"""The number of the key that `Rekey` changes to. The plugin file_key_management has one version of each key."""

_REMAINS = RemainsSql(
    hexadecimal="HEX({})",
    literal="X'{}'",
    bytes_type="VARBINARY({})",
    settle=(Settling(("SET GLOBAL innodb_max_purge_lag_wait = 0", "SET GLOBAL innodb_log_checkpoint_now = ON")),),
)


class _Conversion(LeavesRows):
    """The redo log and temporary files stay as they are: they are switched with a start of the server only."""

    remains = _REMAINS

    def prepare(self) -> None:
        super().prepare()
        self._begin()

    def perform(self) -> Outcome:
        peak = Peak(partial(allocated_bytes, kept(self.site.recipe)), _LOOK_AT_DISK_SECONDS)
        with peak.watched():
            began = time.monotonic()
            counted = self._convert()
            seconds = time.monotonic() - began  # without the last look at the disk
        return Outcome({**counted, "disk_more_bytes": peak.rise}, seconds)

    def _begin(self) -> None:
        """Have the twin as it is to be before."""

    def _convert(self) -> Mapping[str, int]:
        raise NotImplementedError


class _Background(_Conversion):
    def _encrypt(self, threads: int, iops: int) -> None:
        all_of_them = self.number(_ALL)
        self._switch("ON", threads, iops)
        self.site.halt.wait_until(
            lambda: self.number(_ENCRYPTED) >= all_of_them and self.number(_BUSY) == 0,
            "every tablespace is encrypted",
            look_again_seconds=_LOOK_AGAIN_SECONDS,
        )

    def _decrypt(self, threads: int, iops: int) -> None:
        self._switch("OFF", threads, iops)
        self.site.halt.wait_until(
            lambda: self.number(_ENCRYPTED) == self.number(_BUSY) == 0,
            "no tablespace waits to be decrypted",
            look_again_seconds=_LOOK_AGAIN_SECONDS,
        )
        self.run("SET GLOBAL innodb_encryption_threads = 0")

    def _switch(self, to: str, threads: int, iops: int) -> None:
        self.run(
            f"SET GLOBAL innodb_encryption_rotation_iops = {iops}",
            f"SET GLOBAL innodb_encryption_threads = {threads}",
            f"SET GLOBAL innodb_encrypt_tables = {to}",
        )

    @property
    def _asked(self) -> tuple[int, int]:
        knobs = self.site.asked.knobs
        return knobs.get("threads", _THREADS), knobs.get("iops", _IOPS)

    def _put_back(self) -> None:
        self._decrypt(_THREADS, _FASTEST)
        super()._put_back()


class Encrypt(_Background):
    def _convert(self) -> Mapping[str, int]:
        before, size = self.number(_ENCRYPTED), self.number(_BYTES)
        self._encrypt(*self._asked)
        return {"tablespaces": self.number(_ENCRYPTED) - before, "converted_bytes": size}


class Rotate(_Background):
    """The key service has two more versions of each key, and every page is encrypted again by the second.

    InnoDB leaves pages that are encrypted by the version before (innodb_encryption_rotate_key_age is 1).
    """

    leaves = False

    def _convert(self) -> Mapping[str, int]:
        version, size = add_versions(self.site.recipe.place.keys, 2), self.number(_BYTES)
        threads, iops = self._asked
        self.run("SET GLOBAL hashicorp_key_management_cache_version_timeout = 0")
        try:
            self._switch("ON", threads, iops)
            self.site.halt.wait_until(
                lambda: self.number(_OLDER.format(version=version)) == 0,
                f"every tablespace has version {version} of the key",
                look_again_seconds=_LOOK_AGAIN_SECONDS,
            )
        finally:
            self.run("SET GLOBAL hashicorp_key_management_cache_version_timeout = DEFAULT")
        return {"tablespaces": self.number(_ENCRYPTED), "converted_bytes": size}


class Decrypt(_Background):
    """They are decrypted; before, they were encrypted as fast as that goes."""

    leaves = False

    def _begin(self) -> None:
        self._encrypt(_THREADS, _FASTEST)

    def _convert(self) -> Mapping[str, int]:
        before, size = self.number(_ENCRYPTED), self.number(_BYTES)
        self._decrypt(*self._asked)
        return {"tablespaces": before, "converted_bytes": size}


class _Altered(_Conversion):
    def _alter(self, what: str) -> None:
        for table in (*self.site.tables, DELETED_TABLE):
            if self.site.halt.is_asked:
                break
            self.run(f"ALTER TABLE `{table}` {what}")

    def _converted(self) -> Mapping[str, int]:
        names = ", ".join(f"'{DATABASE}/{table}'" for table in self.site.tables)
        size = f"SELECT SUM(FILE_SIZE) FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME IN ({names})"
        return {"tablespaces": len(self.site.tables) + 1, "converted_bytes": self.number(size)}

    def _put_back(self) -> None:
        self._alter("ENCRYPTED = DEFAULT ENCRYPTION_KEY_ID = 1")
        super()._put_back()


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

ACTIONS: Mapping[str, EngineAction] = {
    **restarts(_LOG),
    **backups(TOOLS),
    "encrypt": EngineAction(Encrypt, _KNOBS, is_during=True),
    "decrypt": EngineAction(Decrypt, _KNOBS, is_during=True),
    "alter": EngineAction(Alter, is_during=True),
    "rekey": EngineAction(Rekey, is_during=True),
    "rotate": EngineAction(Rotate, _KNOBS, is_during=True),
}
