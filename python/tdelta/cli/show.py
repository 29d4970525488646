"""``tdelta show``: the answer of a stored run, again."""

from __future__ import annotations

from pathlib import Path

import click

from tdelta.cli.output import show_result


@click.command()
@click.argument("run", default="last")
@click.option("--store", type=click.Path(path_type=Path, dir_okay=False), help="File that keeps the results.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON (docs/json.md).")
def show(run: str, store: Path | None, as_json: bool) -> int:
    """Repeat the answer of RUN (an id, the beginning of one, or `last`), with its exit code.

    Example: tdelta show last
    """
    from tdelta.store import Store

    with Store.open(store, must_exist=True) as opened:
        result = opened.result(opened.resolve(run))
    return show_result(result, as_json=as_json)
