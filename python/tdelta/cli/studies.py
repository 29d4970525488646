"""``tdelta studies``: the built-in studies, each a published experiment."""

from __future__ import annotations

import click

from tdelta.cli.help import Command
from tdelta.cli.output import color, width, write


@click.command(cls=Command)
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON (docs/json.md).")
def studies(as_json: bool) -> None:
    """List the built-in studies, each after a published experiment.

    Example: tdelta studies
    """
    from tdelta.report.document import to_json
    from tdelta.report.listings import studies_document, studies_text
    from tdelta.session.studies import studies as built_in

    found = built_in()
    write(to_json(studies_document(found)) if as_json else studies_text(found, width(), color=color()))
