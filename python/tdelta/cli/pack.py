"""``tdelta pack``: a run as one file, to be handed on."""

from __future__ import annotations

from pathlib import Path

import click

from tdelta.cli.help import FILE, Command, store_option
from tdelta.cli.output import write


@click.command(cls=Command)
@click.argument("run", default="last")
@click.option("--output", "-o", type=FILE, help="File to write.  [./RUN.tdelta]")
@click.option("--force", is_flag=True, help="Overwrite a file that is not a pack.")
@store_option
def pack(run: str, output: Path | None, force: bool, store: Path | None) -> None:
    """Write RUN (an id, the beginning of one, a label, or `last`) with all its trials to one file.

    `tdelta import` reads the file, and other commands accept it in place of a RUN: `tdelta show RUN.tdelta`.

    Example: tdelta pack last -o encryption-2026.tdelta
    """
    from tdelta.store.pack import SUFFIX, found, write_pack

    with found(run, store) as (opened, run_id):
        path = Path(f"{run_id}{SUFFIX}") if output is None else output
        write_pack(opened, run_id, path, force=force)
    write(f"{path}\n")
