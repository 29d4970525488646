"""``tdelta fleet``: the runs of an inventory on the nodes of a Ray cluster, and one table of their answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tdelta.cli.help import FILE, Command, store_option
from tdelta.cli.output import Mistyped, show, write
from tdelta.messages import Refusal

if TYPE_CHECKING:
    from tdelta.report.fleet import Answered


@click.command(cls=Command)
@click.argument("inventory", type=FILE)
@click.option("--ray", "address", metavar="ADDRESS", help="Address of the Ray cluster.  [one made on this machine]")
@click.option("--rerun", is_flag=True, help="Make all runs, also those that have an answer in the store.")
@click.option(
    "--format", "file_format", type=click.Choice(["csv"]), help="A row per target and condition, on standard output."
)
@click.option("--output", type=FILE, help="Write the HTML page to this file as well.")
@click.option("--force", is_flag=True, help="Overwrite a FILE that tdelta did not write.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON (docs/json.md).")
def fleet(
    inventory: Path,
    address: str | None,
    rerun: bool,
    file_format: str | None,
    output: Path | None,
    force: bool,
    store: Path | None,
    as_json: bool,
) -> int:
    """Measure all databases listed in INVENTORY, one at a time on each node and server.

    Started again after it ended for any reason, it keeps the runs that have an answer and makes the others.

    Example: tdelta fleet inventory.toml

    Example: tdelta fleet inventory.toml --ray head:6379 --output fleet.html
    """
    if force and output is None:
        raise Mistyped(Refusal.of("requires", what="--force", needs="--output"))
    if as_json and file_format is not None:
        raise Mistyped(Refusal.of("conflict", one="--json", other=f"--format {file_format}"))
    from tdelta.cli.project_runs import most_severe
    from tdelta.session.fleet import conduct_fleet
    from tdelta.session.inventory import read_inventory
    from tdelta.store import Store

    read = read_inventory(inventory)
    if output is not None:
        from tdelta.report.page.file import require_place

        require_place(output, force=force)
    with Store.open(store) as opened:
        try:
            ended = conduct_fleet(read, opened, _say, address=address, rerun=rerun)
        except KeyboardInterrupt:
            _say("runs that have ended are kept; the same command makes the others")
            raise
        runs = [(run, opened.result(run.run_id) if run.run_id else None) for run in ended]
    if output is not None:
        from tdelta.report.fleet import compose_fleet
        from tdelta.report.page.file import render, write_page

        write_page(render(compose_fleet(runs, str(inventory))), output, force=force)
    code = most_severe(run.exit_code for run in ended)
    _show(runs, str(inventory), code, file_format, as_json=as_json)
    return code


def _say(line: str) -> None:
    click.echo(line, err=True)


def _show(runs: list[Answered], inventory: str, code: int, file_format: str | None, *, as_json: bool) -> None:
    from tdelta.report.fleet import fleet_blocks, fleet_csv, fleet_document

    if file_format is not None:
        write(fleet_csv(runs))
    else:
        show(fleet_blocks(runs), fleet_document(runs, inventory, code), as_json=as_json)
