"""``tdelta engines``: what can be tested here, and what to install for the rest."""

from __future__ import annotations

import click

from tdelta.cli.output import color, width, write
from tdelta.report.document import to_json
from tdelta.report.listings import engines_document, engines_text


@click.command(short_help="List what can be tested here, and what to install.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON (docs/json.md).")
def engines(as_json: bool) -> None:
    """List the engines and their libraries: which can be tested here, versions and ciphers, what to install.

    Example: tdelta engines
    """
    from tdelta.driver import describe_library
    from tdelta.engines import catalogue

    found = catalogue(describe_library)
    write(to_json(engines_document(found)) if as_json else engines_text(found, width(), color=color()))
