"""``tdelta verify``: is there plaintext in these files, or: what did a run's search find?"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tdelta.cli.help import Command, store_option
from tdelta.cli.output import drawn_progress, show
from tdelta.errors import TdeltaError, UsageError
from tdelta.messages import Refusal

if TYPE_CHECKING:
    from tdelta.records import Event

_QUIET_SECONDS = 1.0
_STAGES = {"bytes": "reading", "search": "searching"}


@click.command(cls=Command)
@click.argument("target", metavar="PATH|RUN")
@click.option(
    "--marker",
    "markers",
    multiple=True,
    metavar="TEXT|hex:…",
    help="What you know to be in the rows, at least 6 bytes; repeatable.",
)
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON (docs/json.md).")
def verify(target: str, markers: tuple[str, ...], store: Path | None, as_json: bool) -> int:
    """Check files for plaintext. Files are only read.

    PATH is a file or a folder; RUN (an id, the beginning of one, or `last`) shows the evidence of a run again.

    Example: tdelta verify /var/lib/app --marker "Jane Q. Example"
    """
    if _is_path(target):
        return _files(Path(target), markers, as_json=as_json)
    if markers:
        raise UsageError(Refusal.of("path-unusable", path=target, fault="not a file or folder"))
    return _run(target, store, as_json=as_json)


def _files(target: Path, texts: tuple[str, ...], *, as_json: bool) -> int:
    from tdelta.evidence.reading import parse_markers, read_files, regular_files
    from tdelta.report.verify import reading_exit_code, readings_blocks, readings_document

    markers = parse_markers(texts)
    paths = regular_files(target)
    with drawn_progress() as observer:
        readings = read_files(paths, markers, _tick(observer, paths))
    code = reading_exit_code(readings, markers)
    show(
        readings_blocks(target, readings, markers), readings_document(target, readings, markers, code), as_json=as_json
    )
    return code


def _run(run: str, store: Path | None, *, as_json: bool) -> int:
    from tdelta.report.verify import run_blocks, run_document, run_exit_code
    from tdelta.store import Store

    try:
        with Store.open(store, must_exist=True) as opened:
            result = opened.result(opened.resolve(run))
    except TdeltaError as error:
        raise UsageError(Refusal.of("neither-files-nor-run", run=run, fault=error)) from error
    code = run_exit_code(result)
    show(run_blocks(result), run_document(result, code), as_json=as_json)
    return code


def _is_path(target: str) -> bool:
    """A file or folder of that name comes before a run of that name."""
    try:
        Path(target).stat()
    except OSError as error:
        if "/" in target:
            raise UsageError(Refusal.of("path-unusable", path=target, fault=error.strerror)) from error
        return False
    return True


def _tick(observer: Callable[[Event], None], paths: tuple[Path, ...]) -> Callable[[str, int], None]:
    """Tells how far the reading is, once it takes longer than a moment."""
    from tdelta.document.quantities import amounts, counted
    from tdelta.records import Phase

    began = time.monotonic()
    total = sum(path.stat().st_size for path in paths if path.exists())
    what = f"{counted(len(paths), 'file')}, {amounts((total,), 'bytes')[0]}"

    def tick(stage: str, done_bytes: int) -> None:
        if time.monotonic() - began > _QUIET_SECONDS:
            observer(Phase(_STAGES[stage], what, min(done_bytes, total) // 10**6, max(1, total // 10**6)))

    return tick
