"""``tdelta check-servers``: does tdelta's adapter do all that it is to do on these two servers?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from tdelta.cli.exit_codes import ExitCode
from tdelta.cli.help import FILE, Command
from tdelta.cli.output import drawn_progress, show
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
    type=FILE,
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
    from tdelta.report.server_check import server_check_blocks, server_check_document
    from tdelta.session.server_check.conducting import check_servers

    with drawn_progress() as observer:
        found = check_servers(request_of(given), observer, record)
    code = ExitCode.ANSWERED if found.is_passed else ExitCode.INVALID
    show(server_check_blocks(found), server_check_document(found, code), as_json=as_json)
    return code
