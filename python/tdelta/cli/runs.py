"""``tdelta runs``: what is in the store, what it is called, and what goes out of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from tdelta.cli.help import CommandGroup, store_option
from tdelta.cli.output import Mistyped, show, write
from tdelta.cli.units import Typed
from tdelta.cli.units import run_ids as offered_runs
from tdelta.messages import Refusal
from tdelta.records.kept import OfLast, RunKind
from tdelta.session.values import Duration, Labels, Size

if TYPE_CHECKING:
    from tdelta.session.keeping import Shelf
    from tdelta.store import Store


class _Answer(click.ParamType[str]):
    """The name of a run's answer; a name of two words may be typed with ``-`` between them."""

    name = "name"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as it is printed, or an error that lists all of them."""
        return click.Choice(_answers(), case_sensitive=False).convert(value.replace("-", " "), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin so, in one word each."""
        del ctx, param
        names = (name.replace(" ", "-") for name in _answers())
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _answers() -> tuple[str, ...]:
    from tdelta.document.labels import decision_names

    return decision_names()


_ALL = "all"
_JSON = click.option("--json", "as_json", is_flag=True, help="Print it as JSON (docs/json.md).")
_DRY_RUN = click.option("--dry-run", is_flag=True, help="Say what would be removed; remove nothing.")
_KIND = click.option(
    "--kind",
    "kinds",
    type=click.Choice([*(kind.value for kind in RunKind), _ALL]),
    multiple=True,
    help="Kind of runs; repeatable.  [run, imported]",
)


@click.group(cls=CommandGroup, invoke_without_command=True)
@_KIND
@click.option("--label", "labels", type=Typed(Labels()), multiple=True, help="Runs with this label; repeatable.")
@click.option("--engine", "engines", multiple=True, metavar="NAME", help="Runs of this engine; repeatable.")
@click.option("--study", "studies", multiple=True, metavar="NAME", help="Runs of this study; repeatable.")
@click.option(
    "--verdict",
    "verdicts",
    type=_Answer(),
    multiple=True,
    help="Runs with this answer: slower, more-CPU, undecided, …; repeatable.",
)
@click.option("--since", "since_seconds", type=Typed(Duration()), help="Runs of the last 30d, 12h, ….")
@click.option("--most", type=click.IntRange(min=1), metavar="N", help="The newest N of these.  [all]")
@store_option
@_JSON
@click.pass_context
def runs(
    ctx: click.Context,
    kinds: tuple[str, ...],
    labels: tuple[str, ...],
    engines: tuple[str, ...],
    studies: tuple[str, ...],
    verdicts: tuple[str, ...],
    since_seconds: float | None,
    most: int | None,
    store: Path | None,
    as_json: bool,
) -> None:
    """List the stored runs, the newest first. Pilots and runs of calibrations are listed with --kind.

    Example: tdelta runs

    Example: tdelta runs --label nightly --engine mariadb --since 30d

    Example: tdelta runs label last v3.1
    """
    if ctx.invoked_subcommand is not None:
        return
    from tdelta.report.listings import Wanted, listed, runs_blocks, runs_document
    from tdelta.session.keeping import shelf

    wanted = Wanted(
        kinds=_kinds(kinds) if kinds else Wanted().kinds,
        labels=labels,
        engines=engines,
        studies=studies,
        answers=verdicts,
        most=most,
        **({} if since_seconds is None else {"since_unix_seconds": time.time() - since_seconds}),
    )
    with _opened(ctx, store) as opened:
        found = listed(shelf(opened), wanted, str(opened.path))
    show(runs_blocks(found), runs_document(found), as_json=as_json)


@runs.command(short_help="Give a run labels.")
@click.argument("run", shell_complete=offered_runs)
@click.argument("labels", nargs=-1, metavar="[LABEL]...", type=Typed(Labels()))
@click.option("--remove", "removed", multiple=True, metavar="LABEL", help="Label to take away; repeatable.")
@store_option
@_JSON
@click.pass_context
def label(
    ctx: click.Context, run: str, labels: tuple[str, ...], removed: tuple[str, ...], store: Path | None, as_json: bool
) -> None:
    """Give RUN each LABEL, by which it is then found: `tdelta show v3.1`. Several runs may have the same one.

    Example: tdelta runs label last v3.1 release

    Example: tdelta runs label kqmt --remove release
    """
    from tdelta.session.keeping import label as put

    if not (labels or removed):
        raise Mistyped(Refusal.of("requires", what="tdelta runs label", needs="a LABEL or --remove LABEL"), ctx)
    with _opened(ctx, store) as opened:
        run_id = opened.resolve(run, OfLast.ANY)
        put(opened, run_id, labels, removed)
        _show_one(opened, run_id, as_json=as_json)


@runs.command(short_help="Keep a note with a run.")
@click.argument("run", shell_complete=offered_runs)
@click.argument("text")
@store_option
@_JSON
@click.pass_context
def note(ctx: click.Context, run: str, text: str, store: Path | None, as_json: bool) -> None:
    """Keep TEXT with RUN, in place of the note it has; '' removes that.

    Example: tdelta runs note last 'before the new disks'
    """
    from tdelta.session.keeping import note as put

    with _opened(ctx, store) as opened:
        run_id = opened.resolve(run, OfLast.ANY)
        put(opened, run_id, text)
        _show_one(opened, run_id, as_json=as_json)


@runs.command(short_help="Remove runs from the store.")
@click.argument("run_names", nargs=-1, required=True, metavar="RUN...", shell_complete=offered_runs)
@_DRY_RUN
@store_option
@_JSON
@click.pass_context
def remove(ctx: click.Context, run_names: tuple[str, ...], dry_run: bool, store: Path | None, as_json: bool) -> None:
    """Remove each RUN from the store, with all its trials. Pages and exports that were written of it stay.

    Example: tdelta runs remove kqmt zvwp
    """
    from tdelta.session.keeping import shelf

    with _opened(ctx, store) as opened:
        run_ids = tuple(dict.fromkeys(opened.resolve(run, OfLast.ANY) for run in run_names))
        _remove(opened, run_ids, shelf(opened), dry_run=dry_run, as_json=as_json)


@runs.command(short_help="Remove old runs, or the oldest of too many.")
@click.option("--older-than", "older_seconds", type=Typed(Duration()), help="Runs that are older: 90d, 12h.")
@click.option(
    "--larger-than", "most_bytes", type=Typed(Size()), help="The oldest runs, while all runs take more than this: 2GB."
)
@_KIND
@click.option("--labelled", is_flag=True, help="Runs with a label or a note, too, which else stay.")
@_DRY_RUN
@store_option
@_JSON
@click.pass_context
def prune(
    ctx: click.Context,
    older_seconds: float | None,
    most_bytes: int | None,
    kinds: tuple[str, ...],
    labelled: bool,
    dry_run: bool,
    store: Path | None,
    as_json: bool,
) -> None:
    """Remove runs by their age, by the room that all take, or both. Runs at work, labelled and noted ones stay.

    Loaded data that were kept for later runs go, too; without a limit, nothing else.

    Example: tdelta runs prune --older-than 90d --dry-run

    Example: tdelta runs prune --larger-than 500MB --kind pilot --kind calibration
    """
    from tdelta.processes.files import default_templates
    from tdelta.session.keeping import Stale, shelf, stale

    which = Stale(older_seconds=older_seconds, most_bytes=most_bytes, labelled=labelled, kinds=_kinds(kinds or (_ALL,)))
    with _opened(ctx, store) as opened:
        found = shelf(opened)
        run_ids = tuple(run.run_id for run in stale(found, which, time.time()))
        templates = default_templates()
        data_bytes = templates.size_bytes() if dry_run else templates.clear()
        _remove(opened, run_ids, found, data_bytes, dry_run=dry_run, as_json=as_json)


@contextmanager
def _opened(ctx: click.Context, store: Path | None) -> Iterator[Store]:
    """The store that the command names, or the group before it."""
    from tdelta.store import Store

    named = store or (ctx.parent.params.get("store") if ctx.parent is not None else None)
    with Store.open(named, must_exist=True) as opened:
        yield opened


def _kinds(names: tuple[str, ...]) -> tuple[RunKind, ...]:
    return tuple(RunKind) if _ALL in names else tuple(map(RunKind, names))


def _show_one(store: Store, run_id: str, *, as_json: bool) -> None:
    from tdelta.report.listings import Wanted, listed, runs_blocks, runs_document
    from tdelta.session.keeping import shelf

    found = listed(shelf(store).only((run_id,)), Wanted(kinds=tuple(RunKind)), str(store.path))
    show(runs_blocks(found), runs_document(found), as_json=as_json)


def _remove(
    store: Store, run_ids: tuple[str, ...], before: Shelf, data_bytes: int = 0, *, dry_run: bool, as_json: bool
) -> None:
    from tdelta.report.document import to_json
    from tdelta.report.listings import removed_document, removed_text
    from tdelta.session.keeping import remove as take_out

    compacted = False if dry_run or not run_ids else take_out(store, run_ids)
    gone = before.only(run_ids)
    if as_json:
        write(to_json(removed_document(gone, data_bytes, done=not dry_run, compacted=compacted)))
    else:
        write(removed_text(gone, data_bytes, done=not dry_run, compacted=compacted))
