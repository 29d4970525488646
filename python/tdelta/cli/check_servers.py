"""``tdelta check-servers``: does tdelta's adapter do all that it is to do on these two servers?"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import click

from tdelta.cli.exit_codes import ExitCode
from tdelta.cli.help import FILE, Command
from tdelta.cli.output import drawn_progress, show
from tdelta.cli.run import request_of
from tdelta.cli.units import click_options
from tdelta.errors import StorageFault
from tdelta.messages import Refusal
from tdelta.session.request import OPTIONS

_TAKEN = ("engine", "baseline", "encrypted", "schema", "assume_encrypted")


@click.command(
    cls=Command,
    params=click_options(replace(OPTIONS[name], default=None) for name in _TAKEN),
)
@click.option(
    "--report",
    type=FILE,
    metavar="FILE",
    default=Path("tdelta-check.json"),
    help="File to send: the report, and what the servers answered to a Python driver. [tdelta-check.json]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON (docs/json.md).")
def check_servers(as_json: bool, report: Path, **given: object) -> int:
    """Check that tdelta works with your unencrypted server and your encrypted one, in about eight minutes.

    Creates its own schemas on both, works in them, and removes them. The file has no data and no secrets. Please send
    it to the maintainers, especially for Oracle and SQL Server, which are untested.

    Example: tdelta check-servers --baseline mysql://me@db1/ --encrypted mysql://me@db2/ --json
    """
    from tdelta.report.server_check import server_check_blocks, server_check_document
    from tdelta.session.server_check.conducting import check_servers

    if report.exists() and not report.is_file():
        raise StorageFault(Refusal.of("path-unusable", path=report, fault="not a regular file"))
    with _part_of(report) as part:
        with drawn_progress() as observer:
            found = check_servers(request_of(given), observer, part)
        code = ExitCode.ANSWERED if found.is_passed else ExitCode.INVALID
        document = server_check_document(found, code)
        said = list(_whole(part.read_text(encoding="utf-8").splitlines()))
        part.write_text(json.dumps({**document, "conversation": said}, indent=1), encoding="utf-8")
        part.replace(report)
    show(server_check_blocks(found, report), document, as_json=as_json)
    return code


@contextlib.contextmanager
def _part_of(report: Path) -> Iterator[Path]:
    """A file beside the report, of this process; after a failure it stays if it has answers of the servers."""
    part = report.with_name(f"{report.name}.{os.getpid()}.part")
    try:
        yield part
    except BaseException:
        with contextlib.suppress(OSError):
            if part.stat().st_size:
                click.echo(f"the servers' answers so far are in {part}", err=True)
            else:
                part.unlink()
        raise


def _whole(lines: Iterable[str]) -> Iterator[object]:
    """The answers that were written whole: a process that is killed may leave part of one."""
    for line in lines:
        with contextlib.suppress(ValueError):
            yield json.loads(line)
