"""``tdelta report``: the HTML page of a stored run, or of several."""

from __future__ import annotations

import os
import webbrowser
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tdelta.cli.help import FILE, Command, store_option
from tdelta.cli.output import Mistyped, drawn_progress, write
from tdelta.cli.units import run_ids
from tdelta.messages import Refusal

if TYPE_CHECKING:
    from tdelta.document.blocks import Page
    from tdelta.records import RunResult


@click.command(cls=Command)
@click.argument("runs", metavar="[RUN]...", nargs=-1, shell_complete=run_ids)
@click.option(
    "--against", "earlier", metavar="RUN|LABEL", help="Compare RUN with an earlier run: is its overhead larger?"
)
@click.option("--output", type=FILE, help="File to write; - for standard output.  [./tdelta-RUN.html]")
@click.option("--open", "is_opened", is_flag=True, help="Open it in the browser, where there is a display.")
@click.option("--force", is_flag=True, help="Overwrite a file that tdelta did not write.")
@store_option
def report(
    runs: tuple[str, ...],
    earlier: str | None,
    output: Path | None,
    is_opened: bool,
    force: bool,
    store: Path | None,
) -> None:
    """Write the HTML page of RUN, one file that needs no network. Several runs get one page with the answer of each.

    RUN is an id, the beginning of one, a label, `last` (the default), or a pack's file.

    Example: tdelta report last --open

    Example: tdelta report kqmt --against v3.1

    Example: tdelta report daily convert backup --output decision.html
    """
    from tdelta.report.page.file import require_place, write_page

    is_streamed = str(output) == "-"
    if output is not None and not is_streamed:
        require_place(output, force=force)
    if earlier is not None and len(runs) > 1:
        raise Mistyped(Refusal.of("requires", what="--against", needs="a single RUN"))
    if len(runs) > 1:
        page, name = _page_of_several(runs, store), "runs"
    else:
        page, name = _page(runs[0] if runs else "last", store, earlier)
    if is_streamed:
        write(page)
        return
    path = Path(f"tdelta-{name}.html") if output is None else output
    write_page(page, path, force=force)
    if output is None or output.is_file():
        write(f"{path}\n")
    if is_opened:
        _open(path)


def _page(run: str, store: Path | None, earlier: str | None) -> tuple[str, str]:
    """The page's text, and the run's id."""
    from tdelta.report.page.compose import compose
    from tdelta.report.page.file import render
    from tdelta.report.page.gather import gather
    from tdelta.store.pack import found

    with ExitStack() as stack, drawn_progress() as observer:
        read = gather(*stack.enter_context(found(run, store)), observer)
        page = compose(read)
        if earlier is not None:
            before, run_id = stack.enter_context(found(earlier, store))
            page = _with_earlier(page, read.result, before.result(run_id))
    return render(page), read.result.settings.run_id


def _page_of_several(runs: tuple[str, ...], store: Path | None) -> str:
    from tdelta.report.page.compose import compose_runs
    from tdelta.report.page.file import render
    from tdelta.store.pack import found

    results = []
    for run in runs:
        with found(run, store) as (opened, run_id):
            results.append(opened.result(run_id))
    return render(compose_runs(results))


def _with_earlier(page: Page, later: RunResult, earlier: RunResult) -> Page:
    from tdelta.document.blocks import Section
    from tdelta.report.history import against_blocks
    from tdelta.session.history import compare_runs

    against = compare_runs(later, earlier)
    section = Section("against", f"Against run {against.earlier_id}", against_blocks(against, later))
    return replace(page, sections=(*page.sections[:1], section, *page.sections[1:]))


def _open(path: Path) -> None:
    """Hand the file to the browser; without a display a text browser would take the terminal, so none is started."""
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        click.echo(f"no display here (DISPLAY, WAYLAND_DISPLAY): open {path} yourself", err=True)
    elif not webbrowser.open(path.resolve().as_uri()):
        click.echo(f"no browser could be started: open {path} yourself", err=True)
