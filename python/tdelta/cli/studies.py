"""``tdelta studies``: the built-in studies, each a published experiment."""

from __future__ import annotations

import click

from tdelta.cli.help import Command
from tdelta.cli.output import show


@click.command(cls=Command)
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON (docs/json.md).")
def studies(as_json: bool) -> None:
    """List the built-in studies, each after a published experiment.

    Example: tdelta studies
    """
    from tdelta.report.listings import studies_blocks, studies_document
    from tdelta.session.studies import studies as built_in

    found = built_in()
    show(studies_blocks(found), studies_document(found), as_json=as_json)
