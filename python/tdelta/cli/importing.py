"""``tdelta import``: a run out of a pack into the store, and its answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tdelta.cli.help import Command, store_option
from tdelta.cli.output import Manner, answer_options, show_result

if TYPE_CHECKING:
    from tdelta.records import RunResult
    from tdelta.store import Store


@click.command("import", cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@store_option
@answer_options
def importing(file: Path, store: Path | None, manner: Manner) -> int:
    """Import the run of a pack (FILE, written by `tdelta pack`) into the store, and show its result.

    Nothing in FILE is executed, and what no run can have is refused. The run keeps its id; `last` never means it.

    Example: tdelta import encryption-2026.tdelta
    """
    from tdelta.store import Store
    from tdelta.store.pack import adopt, unpacked

    with unpacked(file) as (opened, run_id):
        result = opened.result(run_id)
        _read_all(opened, result)
        with Store.open(store) as own:
            adopt(own, opened, run_id)
            place = own.path
        click.echo(f"run {run_id} is in {place}: tdelta report {run_id}", err=True)
        return show_result(result, manner, run_id)


def _read_all(store: Store, result: RunResult) -> None:
    """Make all that commands make of a run, so that what cannot be read is refused before it is in the store."""
    from io import StringIO

    from tdelta.report.details import run_blocks
    from tdelta.report.document import document, to_json
    from tdelta.report.drawing import draw
    from tdelta.report.page.compose import compose
    from tdelta.report.page.file import render
    from tdelta.report.page.gather import gather
    from tdelta.store.export import write_csv

    run_id = result.settings.run_id
    to_json(document(result, 0))
    draw(run_blocks(result, with_details=True))
    render(compose(gather(store, run_id)))
    write_csv(store, run_id, StringIO())
