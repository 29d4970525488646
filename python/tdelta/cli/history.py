"""``tdelta history``: the overhead of stored runs of one experiment, run by run, and where it changed."""

from __future__ import annotations

import time
from pathlib import Path

import click

from tdelta.cli.help import FILE, Command, store_option
from tdelta.cli.output import Mistyped, show
from tdelta.cli.units import Typed, run_ids
from tdelta.messages import Refusal
from tdelta.session.values import Duration, Labels

_ORDERS = ("date", "version", "label")


@click.command(cls=Command)
@click.argument("run", default="last", shell_complete=run_ids)
@click.option(
    "--label", "labels", type=Typed(Labels()), multiple=True, help="Runs with this label; repeatable (all must match)."
)
@click.option("--since", "since_seconds", type=Typed(Duration()), help="Runs of the last 90d, 12h, ….")
@click.option("--most", type=click.IntRange(min=1), metavar="N", help="The newest N of these.  [all]")
@click.option(
    "--by", "order", type=click.Choice(_ORDERS), default=_ORDERS[0], show_default=True, help="What runs are ordered by."
)
@click.option("--output", type=FILE, help="Write the HTML page to this file as well.")
@click.option("--force", is_flag=True, help="Overwrite a FILE that tdelta did not write.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON (docs/json.md).")
def history(
    run: str,
    labels: tuple[str, ...],
    since_seconds: float | None,
    most: int | None,
    order: str,
    output: Path | None,
    force: bool,
    store: Path | None,
    as_json: bool,
) -> None:
    """Show the overhead of RUN's experiment run by run, and where it changed.

    Runs belong to the same experiment if they have the same engine, study, workload, metric and options that
    decide what a trial is. Changes are found by Apache Otava (pip install 'tdelta[history]').

    Example: tdelta history

    Example: tdelta history last --label release --by version --output history.html
    """
    if force and output is None:
        raise Mistyped(Refusal.of("requires", what="--force", needs="--output"))
    if Path(run).is_file():
        raise Mistyped(Refusal.of("conflict", one="tdelta history", other=f"a file, {run}"))
    from tdelta.report.history import compose_history, history_blocks, history_document
    from tdelta.session.history import Order, Wanted
    from tdelta.session.history import history as found_of
    from tdelta.store import Store

    since = 0.0 if since_seconds is None else time.time() - since_seconds
    wanted = Wanted(labels=labels, since_unix_seconds=since, most=most, order=Order(order))
    with Store.open(store, must_exist=True) as opened:
        found = found_of(opened, opened.resolve(run), wanted)
    if output is not None:
        from tdelta.report.page.file import render, write_page

        write_page(render(compose_history(found)), output, force=force)
    show(history_blocks(found), history_document(found), as_json=as_json)
