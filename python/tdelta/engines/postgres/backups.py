"""Backups of a PostgreSQL server: pg_basebackup, which copies the files that the server sees, and pg_dump.

Where a file system encrypts, what the server sees is plain, and so is a base backup. pg_tde's pages are in it as they
lie.
"""

from __future__ import annotations

from pathlib import Path

from tdelta.driver.backups import BackupTool
from tdelta.driver.programs import Program
from tdelta.engines.servers import DATABASE
from tdelta.engines.shared.private.actions import Site
from tdelta.engines.shared.private.backups import ServerTool, Tools, Words

_REMEDY = "it comes with PostgreSQL's server or client packages (Debian, Ubuntu: postgresql-client)"


def tools(server: Path) -> Tools:
    """The tools beside a server's program, by name, the default first."""
    base, dump, restore, client = (
        Program(str(server.with_name(name)), _REMEDY) for name in ("pg_basebackup", "pg_dump", "pg_restore", "psql")
    )
    tar = Program("tar", "install tar")

    def back_up(site: Site, _folder: Path, compresses: bool) -> Words:
        how = ("--pgdata=-", "--format=tar", "--wal-method=fetch", "--checkpoint=fast")
        return (base.name, *how, *(("--gzip",) if compresses else ()), *reach(site))

    def extract(_site: Site, folder: Path) -> Words:
        return (tar.name, "--extract", "--no-same-owner", f"--directory={folder}")

    def write(site: Site, _folder: Path, compresses: bool) -> Words:
        return (dump.name, f"--format={'custom' if compresses else 'plain'}", *reach(site), DATABASE)

    def run(site: Site, _folder: Path) -> Words:
        how = ("--no-psqlrc", "--quiet", "--output=/dev/null", "--set=ON_ERROR_STOP=1")
        return (client.name, *how, *reach(site), DATABASE)

    physical = BackupTool("pg_basebackup: files as the server sees them", compresses=True, programs=(base, tar))
    logical = BackupTool("pg_dump: rows as COPY", True, compresses=True, programs=(dump, restore, client))
    return {
        "basebackup": ServerTool(physical, back_up, extract, plain=("gzip", "-d", "-c")),
        "dump": ServerTool(logical, write, run, plain=(restore.name, "--file=-")),
    }


def reach(site: Site) -> Words:
    socket = site.recipe.place.socket
    port = socket.suffix.removeprefix(".")
    return (f"--host={socket.parent}", f"--port={port}", f"--username={site.recipe.connect['user']}", "--no-password")
