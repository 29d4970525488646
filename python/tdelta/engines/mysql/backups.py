"""Backups of a MySQL server: the clone plugin, by which the server copies its own files, and mysqldump.

The clone is a folder, which tar then makes one file of: both are in the figure. Pages of encrypted tables are in it as
they lie; a server that starts on it needs a copy of the keyring.
"""

from __future__ import annotations

from pathlib import Path

from tdelta.driver.backups import BackupTool
from tdelta.driver.programs import Program
from tdelta.engines.shared.mysql_family import dumps
from tdelta.engines.shared.private.actions import Site
from tdelta.engines.shared.private.backups import ServerTool, Tools, Words

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
