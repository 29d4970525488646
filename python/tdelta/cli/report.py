"""``tdelta report``: the HTML page of a stored run, or of several side by side."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tdelta.cli.help import Command, store_option
from tdelta.cli.output import Mistyped, drawn_progress, write
from tdelta.cli.units import run_ids
from tdelta.messages import Refusal

if TYPE_CHECKING:
    from tdelta.records import RunResult
    from tdelta.report.decision import DecisionBasis
    from tdelta.report.page.blocks import Page


@click.command(cls=Command)
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=run_ids)
@click.option("--compare", "is_comparison", is_flag=True, help="Set several RUNs side by side.")
@click.option(
    "--decision",
    "is_decision",
    is_flag=True,
    help="One page for a decision, from RUNs of one engine, or from the newest of each kind.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="With --decision: print what the page says as JSON (docs/json.md)."
)
@click.option(
    "--against", "earlier", metavar="RUN|LABEL", help="Compare RUN with an earlier run: is its overhead larger?"
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write.  [./tdelta-RUN.html, ./tdelta-compare.html or ./tdelta-decision.html]",
)
@click.option("--open", "is_opened", is_flag=True, help="Open it in the browser, where there is a display.")
@click.option("--force", is_flag=True, help="Overwrite a file that tdelta did not write.")
@store_option
def report(
    runs: tuple[str, ...],
    is_comparison: bool,
    is_decision: bool,
    as_json: bool,
    earlier: str | None,
    output: Path | None,
    is_opened: bool,
    force: bool,
    store: Path | None,
) -> None:
    """Write the HTML page of RUN, one file that needs no network.

    RUN is an id, the beginning of one, a label, `last`, or a pack's file.

    Example: tdelta report last --open

    Example: tdelta report --compare kqmt zvwp

    Example: tdelta report --decision
    """
    _check(runs, is_comparison=is_comparison, is_decision=is_decision, as_json=as_json)
    if earlier is not None and (is_comparison or is_decision):
        raise Mistyped(Refusal.of("against-with-several"))
    if as_json:
        write(_decision_json(runs, store))
        return
    page, name = (
        _decision(runs, store)
        if is_decision
        else _page(runs or ("last",), store, is_comparison=is_comparison, earlier=earlier)
    )
    path = Path(f"tdelta-{name}.html") if output is None else output
    from tdelta.report.page.writing import write_page

    write_page(page, path, force=force)
    if output is None or output.is_file():
        write(f"{path}\n")
    if is_opened:
        _open(path)


def _check(runs: tuple[str, ...], *, is_comparison: bool, is_decision: bool, as_json: bool) -> None:
    if is_comparison and is_decision:
        raise Mistyped(Refusal.of("compare-or-decision"))
    if as_json and not is_decision:
        raise Mistyped(Refusal.of("json-without-decision"))
    if len(runs) > 1 and not (is_comparison or is_decision):
        raise Mistyped(Refusal.of("one-run-expected", found=", ".join(runs)))
    if len(runs) < 2 and is_comparison:
        raise Mistyped(Refusal.of("two-runs-expected", found=", ".join(runs) or "none"))


@contextmanager
def _basis(runs: tuple[str, ...], store: Path | None) -> Iterator[DecisionBasis]:
    """What those runs say together; without any named, the newest of each kind of the newest run's engine."""
    from tdelta.report.decision import decide, newest_of_each_kind, stored
    from tdelta.store import Store
    from tdelta.store.reading import found

    with ExitStack() as stack:
        if runs:
            opened = [stack.enter_context(found(run, store)) for run in runs]
            named = {run_id: stored(of, (run_id,)) for of, run_id in opened}
            yield decide([run for one in named.values() for run in one])
        else:
            own = stack.enter_context(Store.open(store, must_exist=True))
            yield decide(stored(own, newest_of_each_kind(own)))


def _decision(runs: tuple[str, ...], store: Path | None) -> tuple[str, str]:
    """The decision page's text, and what it is called."""
    from tdelta.report.page.decision import compose
    from tdelta.report.page.render import render

    with _basis(runs, store) as basis:
        return render(compose(basis)), "decision"


def _decision_json(runs: tuple[str, ...], store: Path | None) -> str:
    """The decision as a JSON document."""
    from tdelta.report.decision import decision_document
    from tdelta.report.document import to_json

    with _basis(runs, store) as basis:
        return to_json(decision_document(basis))


def _page(runs: tuple[str, ...], store: Path | None, *, is_comparison: bool, earlier: str | None) -> tuple[str, str]:
    """The page's text, and what it is called."""
    from tdelta.report.page.compare import compare
    from tdelta.report.page.compose import compose
    from tdelta.report.page.gather import gather
    from tdelta.report.page.render import render
    from tdelta.store.reading import found

    with ExitStack() as stack, drawn_progress() as observer:
        read = [gather(*stack.enter_context(found(run, store)), observer) for run in runs]
        page = compare(read) if is_comparison else compose(read[0])
        if earlier is not None:
            before, run_id = stack.enter_context(found(earlier, store))
            page = _with_earlier(page, read[0].result, before.result(run_id))
    return render(page), "compare" if is_comparison else read[0].result.settings.run_id


def _with_earlier(page: Page, later: RunResult, earlier: RunResult) -> Page:
    """The page with a section more, of what differs from an earlier run."""
    from tdelta.report.page.history import against_section
    from tdelta.session.history import compare_runs

    section = against_section(compare_runs(later, earlier), later)
    return replace(page, sections=(*page.sections[:1], section, *page.sections[1:]))


def _open(path: Path) -> None:
    """Hand the file to the browser; without a display a text browser would take the terminal, so none is started."""
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        click.echo(f"no display here (DISPLAY, WAYLAND_DISPLAY): open {path} yourself", err=True)
    elif not webbrowser.open(path.resolve().as_uri()):
        click.echo(f"no browser could be started: open {path} yourself", err=True)
