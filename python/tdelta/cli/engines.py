"""``tdelta engines``: what can be tested here, and what to install for the rest."""

from __future__ import annotations

import click

from tdelta.cli.help import Command
from tdelta.cli.output import color, width, write


@click.command(cls=Command)
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON (docs/json.md).")
def engines(as_json: bool) -> None:
    """List the engines and their libraries: which can be tested here, versions and ciphers, what to install.

    Example: tdelta engines
    """
    from tdelta.engines.catalogue import catalogue
    from tdelta.report.document import to_json
    from tdelta.report.listings import engines_document, engines_text
    from tdelta.session.instructions import cannot_switch_off

    found = catalogue()
    reasons = {
        engine.crypto: cannot_switch_off(engine.crypto) for engine in found if engine.available and engine.crypto
    }
    listed = engines_document(found, reasons) if as_json else None
    write(to_json(listed) if listed is not None else engines_text(found, width(), reasons, color=color()))
