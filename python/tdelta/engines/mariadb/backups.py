"""Backups of a MariaDB server: mariadb-backup, which copies pages as they lie, and mariadb-dump.

The pages of encrypted tables go into a backup as they are; the log is decrypted, for which mariadb-backup finds the
keys by the server's settings.
"""

from __future__ import annotations

from pathlib import Path

from tdelta.driver.backups import BackupTool
from tdelta.driver.programs import Program
from tdelta.engines.servers import DATABASE
from tdelta.engines.shared.mysql_dumps import dumps
from tdelta.engines.shared.mysql_family import OPTION_FILE
from tdelta.engines.shared.private.actions import Site
from tdelta.engines.shared.private.backups import ServerTool, Tools, Words

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
