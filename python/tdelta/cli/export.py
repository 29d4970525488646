"""``tdelta export``: the trials of a stored run, for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from tdelta.cli.output import write_by


@click.command()
@click.argument("run", default="last")
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["csv", "json"]),
    required=True,
    help="csv: one row a trial; json: everything, histograms too.",
)
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="File to write.  [standard output]")
@click.option("--store", type=click.Path(path_type=Path, dir_okay=False), help="File that keeps the results.")
def export(run: str, file_format: str, output: Path | None, store: Path | None) -> None:
    """Write the trials of RUN (an id, the beginning of one, or `last`) as CSV or JSON.

    Example: tdelta export last --format csv --output trials.csv
    """
    from tdelta.store import Store
    from tdelta.store.export import write

    with Store.open(store, must_exist=True) as opened:
        run_id = opened.resolve(run)
        if output is None:
            write_by(lambda out: write(opened, run_id, file_format, out))
        else:
            write(opened, run_id, file_format, output)
