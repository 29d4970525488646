"""``tdelta scaling``: the overhead with more threads or cores than a sweep measured."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tdelta.cli.exit_codes import ExitCode
from tdelta.cli.help import Command, store_option
from tdelta.cli.output import Mistyped, color, drawn_progress, width, write
from tdelta.cli.units import run_ids
from tdelta.messages import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from tdelta.records import Event
    from tdelta.records.scaling import Scaling
    from tdelta.session.scaling import ScalingRequest

_PUBLISHED = "published:"


@click.command(cls=Command)
@click.argument("sources", nargs=-1, metavar="[RUN|FILES...]", shell_complete=run_ids)
@click.option(
    "--threads",
    type=click.IntRange(1, 1_000_000),
    multiple=True,
    metavar="N",
    help="Number of threads to predict; repeatable.  [2 and 4 times the most]",
)
@click.option(
    "--cores",
    type=click.IntRange(1, 1_000_000),
    multiple=True,
    metavar="N",
    help="The same of cores, from files with a column `cores`.",
)
@click.option(
    "--fit-to",
    type=click.IntRange(min=1),
    metavar="N",
    help="Fit to at most N threads or cores, and predict the measured rest.",
)
@click.option(
    "--baseline", metavar="NAME", help="With FILES, the condition that others are compared with.  [none, plain, off, …]"
)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the HTML page to this file, too."
)
@click.option("--force", is_flag=True, help="Overwrite a file that tdelta did not write.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print every figure as JSON (docs/json.md).")
def scaling(
    sources: tuple[str, ...], output: Path | None, force: bool, store: Path | None, as_json: bool, **given: object
) -> int:
    """Predict the overhead with more threads or cores than a sweep measured.

    From a stored RUN (`last` by default) that varied threads, or from FILES as `tdelta analyze` reads them, with at
    least four numbers of threads. FILES with a column `cores` and at least four numbers of them, each with one number
    of threads, are a sweep over cores. Predictions reach to four times the most: see docs/scaling.md.

    Example: tdelta scaling last --threads 64

    Example: tdelta scaling instances.csv --cores 32

    Example: tdelta scaling published:read-only-sweep --fit-to 256 --output scaling.html
    """
    if force and output is None:
        raise Mistyped(Refusal.of("force-without-output"))
    from tdelta.report.document import to_json
    from tdelta.report.scaling import scaling_document, scaling_text
    from tdelta.session.scaling import ScalingRequest

    asked = {name: value for name, value in given.items() if value is not None}
    with drawn_progress() as observer:
        found = _found(sources, ScalingRequest(**asked), store, observer)  # type: ignore[arg-type]
    if output is not None:
        from tdelta.report.page.render import render
        from tdelta.report.page.scaling import compose_scaling
        from tdelta.report.page.writing import write_page

        write_page(render(compose_scaling(found)), output, force=force)
    write(to_json(scaling_document(found)) if as_json else scaling_text(found, width(), color=color()))
    return ExitCode.ANSWERED


def _found(
    sources: tuple[str, ...], request: ScalingRequest, store: Path | None, observe: Callable[[Event], None]
) -> Scaling:
    """A file of that name comes before a run; what is neither and looks like a file cannot be read."""
    from tdelta.errors import TdeltaError
    from tdelta.session.scaling import scaling_of_files, scaling_of_run
    from tdelta.store import Store

    files = [one for one in sources if one.startswith(_PUBLISHED) or Path(one).exists()]
    if sources and len(files) == len(sources):
        return scaling_of_files(sources, request, observe)
    are_files = all(one in files or os.sep in one or Path(one).suffix for one in sources)
    if len(sources) > 1:
        if are_files:
            return scaling_of_files(sources, request, observe)
        raise Mistyped(Refusal.of("scaling-sources", found=", ".join(sources)))
    with ExitStack() as stack:
        try:
            opened = stack.enter_context(Store.open(store, must_exist=True))
            run_id = opened.resolve(sources[0] if sources else "last")
        except TdeltaError:
            if sources and are_files:
                return scaling_of_files(sources, request, observe)
            raise
        return scaling_of_run(opened, run_id, request)
