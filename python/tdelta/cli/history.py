"""``tdelta history``: the overhead of stored runs of one experiment, run by run, and where it changed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tdelta.cli.help import Command, store_option
from tdelta.cli.output import Mistyped, color, width, write
from tdelta.cli.units import Typed, run_ids
from tdelta.messages import Refusal
from tdelta.session.values import Duration, Labels

if TYPE_CHECKING:
    from tdelta.records.history import History
    from tdelta.store import Store

_ORDERS = ("date", "version", "label")


@click.command(cls=Command)
@click.argument("run", default="last", shell_complete=run_ids)
@click.option(
    "--label", "labels", type=Typed(Labels()), multiple=True, help="Runs with this label; repeatable (all must match)."
)
@click.option("--within", "within_seconds", type=Typed(Duration()), help="Runs of the last 90d, 12h, ….")
@click.option("--most", type=click.IntRange(min=1), metavar="N", help="The newest N of these.  [all]")
@click.option(
    "--by", "order", type=click.Choice(_ORDERS), default=_ORDERS[0], show_default=True, help="What runs are ordered by."
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["otava-csv"]),
    help="A row per run for Apache Otava, on standard output.",
)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the HTML page to this file as well."
)
@click.option("--force", is_flag=True, help="Overwrite a FILE that tdelta did not write.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON (docs/json.md).")
def history(
    run: str,
    labels: tuple[str, ...],
    within_seconds: float | None,
    most: int | None,
    order: str,
    file_format: str | None,
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
        raise Mistyped(Refusal.of("force-without-output"))
    if as_json and file_format is not None:
        raise Mistyped(Refusal.of("two-formats", found=file_format))
    from tdelta.session.history import Order, Wanted
    from tdelta.session.history import history as found_of
    from tdelta.store import Store

    since = 0.0 if within_seconds is None else time.time() - within_seconds
    wanted = Wanted(labels=labels, since_unix_seconds=since, most=most, order=Order(order))
    with Store.open(store, must_exist=True) as opened:
        found = found_of(opened, opened.resolve(run), wanted)
        text = _shown(found, opened, file_format, as_json=as_json)
    if output is not None:
        from tdelta.report.page.history import compose_history
        from tdelta.report.page.render import render
        from tdelta.report.page.writing import write_page

        write_page(render(compose_history(found)), output, force=force)
    write(text)


def _shown(found: History, store: Store, file_format: str | None, *, as_json: bool) -> str:
    from tdelta.report.changes import history_document, history_text
    from tdelta.report.document import to_json

    if file_format is not None:
        return _otava(found, store)
    return to_json(history_document(found)) if as_json else history_text(found, width(), color=color())


def _otava(found: History, store: Store) -> str:
    """The runs in the order of the history; those that lack a condition have an empty cell."""
    from tdelta.cli.exit_codes import UNDECIDED
    from tdelta.cli.formats import answered_of
    from tdelta.report.formats.otava import table
    from tdelta.report.formats.rows import csv_text

    run_ids = dict.fromkeys(point.run_id for series in found.series for point in series.points)
    return csv_text(*table(answered_of(store, run_id, UNDECIDED[0]) for run_id in run_ids))
