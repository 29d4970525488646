"""Logical backups of MariaDB and MySQL, by the client programs of either."""

from __future__ import annotations

from pathlib import Path

from tdelta.driver.backups import BackupTool
from tdelta.driver.programs import Program
from tdelta.engines.servers import DATABASE
from tdelta.engines.shared.private.actions import Site
from tdelta.engines.shared.private.backups import ServerTool, Words


def dumps(dumper: Program, client: Program) -> ServerTool:
    """The database as SQL out of one transaction, and the client that runs it.

    Args:
        dumper: the program that writes the SQL.
        client: the program that reads it.
    """

    def write(site: Site, _folder: Path, _compresses: bool) -> Words:
        return (dumper.name, *_reach(site), "--single-transaction", "--hex-blob", DATABASE)

    def read(site: Site, _folder: Path) -> Words:
        return (client.name, *_reach(site), DATABASE)

    return ServerTool(BackupTool(f"{dumper.name}: rows as SQL", True, programs=(dumper, client)), write, read)


def _reach(site: Site) -> Words:
    return ("--no-defaults", f"--socket={site.recipe.place.socket}", f"--user={DATABASE}")
