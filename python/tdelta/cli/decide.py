"""``tdelta decide``: all questions of one decision, measured one after the other, and one page of the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tdelta.cli.exit_codes import ExitCode, exit_code
from tdelta.cli.help import FILE, Command, Option, common_option
from tdelta.cli.output import Mistyped, drawn_progress, ready_to_show, show
from tdelta.cli.project_runs import most_severe
from tdelta.cli.run import typed_of
from tdelta.cli.units import Typed, click_options
from tdelta.errors import TdeltaError
from tdelta.messages import Refusal
from tdelta.session.groups import Group
from tdelta.session.request import OPTIONS, RunRequest
from tdelta.session.values import Duration, PerSecond

if TYPE_CHECKING:
    from tdelta.records import Event
    from tdelta.session.deciding import Step

_TAKEN = (
    *("engine", "library", "server_binary", "database", "restore", "baseline", "encrypted", "schema"),
    *("assume_encrypted", "size_bytes", "workload", "threads", "scope", "encrypted_dir", "cache", "session_memory"),
    *("page_size", "synchronous", "temp_store", "key", "tolerance", "budget", "directory", "store", "labels"),
)
"""The options of `tdelta run` that say what is decided about; the others are the questions'."""

_SECONDS, _SERVER_SECONDS = 1800.0, 7200.0
_RATE = "Your peak, in transactions per second on each server; gives the cores needed."
_output = partial(click.option, cls=Option, group=Group.OUTPUT)


@click.command(cls=Command, params=click_options(OPTIONS[name] for name in _TAKEN))
@common_option(
    "--max-time", "max_seconds", type=Typed(Duration()), help="Total time of all runs.  [30m; 2h on a server]"
)
@common_option("--rate", type=Typed(PerSecond()), help=_RATE)
@common_option("--servers", type=click.IntRange(1), default=1, metavar="N", help="Servers to encrypt.  [1]")
@common_option(
    "--price-per-core-hour",
    "price",
    type=click.FloatRange(0, min_open=True),
    metavar="PRICE",
    help="Price of one core for one hour; gives the cost per month.",
)
@common_option("--currency", default="", metavar="NAME", help="Currency of the price, such as EUR.")
@common_option("--rerun", is_flag=True, help="Measure everything again.")
@common_option("--dry-run", is_flag=True, help="List the runs and their time.")
@_output("--output", type=FILE, help="File of the page.  [./tdelta-decide-….html]")
@_output("--force", is_flag=True, help="Overwrite a file that tdelta did not write.")
@_output("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def decide(
    max_seconds: float | None,
    rate: float | None,
    servers: int,
    price: float | None,
    currency: str,
    rerun: bool,
    dry_run: bool,
    output: Path | None,
    force: bool,
    as_json: bool,
    **given: object,
) -> int:
    """Answer all questions about encryption at rest, and write them on one page of two printed sheets.

    Daily work, conversion, backup, restart, peak load, temporary files, cache, disk encryption and replication, in the
    order of their importance, as far as the time goes. Started again with the same options, it continues: finished
    runs stay.

    Example: tdelta decide --database app.db --dry-run

    Example: tdelta decide --engine mariadb --max-time 2h --rate 2000/s --servers 3 --price-per-core-hour 0.05
    """
    from tdelta.report import decision as report
    from tdelta.session import deciding

    if currency and price is None:
        raise Mistyped(Refusal.of("requires", what="--currency", needs="--price-per-core-hour"))
    typed = typed_of(given)
    if max_seconds is None:
        max_seconds = _SERVER_SECONDS if RunRequest(**typed).is_served else _SECONDS
    typed["max_seconds"] = max_seconds
    if dry_run:
        with drawn_progress() as observer:
            planned = deciding.outline(typed, observer, rerun=rerun)
        show(report.outline_blocks(planned), report.outline_document(planned), as_json=as_json)
        return ExitCode.ANSWERED
    from tdelta.report.page.file import render, require_place, write_page

    require_place(output or Path("tdelta-decide.html"), force=force)
    ready_to_show()
    made: list[Step | None] = []
    try:
        found = deciding.decide(typed, partial(_watched, made), rerun=rerun)
    except KeyboardInterrupt:
        click.echo("everything measured is kept; the same command continues", err=True)
        raise
    if not made:
        click.echo(
            "no new run: finished ones stay, all others need a longer --max-time; --rerun measures again", err=True
        )
    load = report.Load(rate, servers, price, currency)
    path = Path(f"tdelta-{found.name}.html") if output is None else output
    write_page(render(report.decision_page(found, load)), path, force=force)
    failed = [ExitCode.UNDECIDED for one in found.open if one.is_failed]
    code = most_severe([*(exit_code(one.result) for one in found.answered), *failed])
    blocks, document = report.decision_blocks(found, load, str(path)), report.decision_document
    show(blocks, document(found, load, str(path), code), as_json=as_json)
    return code


@contextmanager
def _watched(made: list[Step | None], step: Step | None) -> Iterator[Callable[[Event], Any]]:
    from tdelta.document.quantities import duration

    made.append(step)
    if step is not None:
        click.echo(f"{step.question.title}: {duration(step.seconds)}", err=True)
    try:
        with drawn_progress() as observer:
            yield observer
    except TdeltaError as fault:
        click.echo(f"  not measured: {fault}", err=True)
        raise
