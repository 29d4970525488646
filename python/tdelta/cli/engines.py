"""``tdelta engines``: what can be tested here, and what to install for the rest."""

from __future__ import annotations

import click

from tdelta.cli.help import Command
from tdelta.cli.output import show


@click.command(cls=Command)
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON (docs/json.md).")
def engines(as_json: bool) -> None:
    """List the engines and their libraries: which can be tested here, versions and ciphers, what to install.

    Example: tdelta engines
    """
    from tdelta.engines.registry import catalogue
    from tdelta.report.listings import engines_blocks, engines_document
    from tdelta.session.check_request import cannot_switch_off

    found = catalogue()
    reasons = {
        engine.crypto: cannot_switch_off(engine.crypto) for engine in found if engine.available and engine.crypto
    }
    show(engines_blocks(found, reasons), engines_document(found, reasons), as_json=as_json)
