"""``tdelta check-servers``: does tdelta's adapter do all that it is to do on these two servers?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from tdelta.cli.exit_codes import ExitCode
from tdelta.cli.help import Command
from tdelta.cli.output import color, drawn_progress, width, write
from tdelta.cli.run import request_of
from tdelta.cli.units import click_options
from tdelta.session.request import OPTIONS

_TAKEN = ("engine", "baseline", "encrypted", "schema", "assume_encrypted")


@click.command(
    cls=Command,
    params=click_options(replace(OPTIONS[name], default=None) for name in _TAKEN),
)
@click.option(
    "--record",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write the conversation with the servers, redacted, to FILE (DB-API client only).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON (docs/json.md).")
def check_servers(as_json: bool, record: Path | None, **given: object) -> int:
    """Check that tdelta works with your unencrypted server and your encrypted one, within ten minutes.

    Creates its own schema on both, works in it, and removes it. The report has no data and no secrets. Please send it
    to the maintainers, especially for Oracle and SQL Server, which are untested.

    Example: tdelta check-servers --baseline mysql://me@db1/ --encrypted mysql://me@db2/ --json
    """
    from tdelta.report.document import to_json
    from tdelta.report.server_check import server_check_document, server_check_text
    from tdelta.session.server_check.conducting import check_servers

    with drawn_progress() as observer:
        found = check_servers(request_of(given), observer, record)
    code = ExitCode.ANSWERED if found.is_passed else ExitCode.INVALID
    write(to_json(server_check_document(found, code)) if as_json else server_check_text(found, width(), color=color()))
    return code
