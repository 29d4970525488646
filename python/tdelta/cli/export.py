"""``tdelta export``: a stored run for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from tdelta.cli import formats
from tdelta.cli.exit_codes import UNDECIDED
from tdelta.cli.formats import FORMATS
from tdelta.cli.help import FILE, Command, store_option
from tdelta.cli.output import write_by
from tdelta.cli.units import run_ids

_TRIALS = ", ".join(one.name for one in FORMATS.values() if one.of_trials)
_ANSWERS = ", ".join(one.name for one in FORMATS.values() if not one.of_trials)


@click.command(cls=Command)
@click.argument("run", default="last", shell_complete=run_ids)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(list(FORMATS)),
    required=True,
    help=f"{_TRIALS}: one row per trial (json: histograms, too); {_ANSWERS}: the answer, as `tdelta show` gives it.",
)
@click.option("--output", type=FILE, help="File to write.  [standard output]")
@store_option
def export(run: str, file_format: str, output: Path | None, store: Path | None) -> None:
    """Write the trials of RUN (an id, a label, `last`, a pack's file) as CSV or JSON, or its answer.

    Example: tdelta export last --format csv --output trials.csv
    """
    from tdelta.store.pack import found

    asked = FORMATS[file_format]
    with found(run, store) as (opened, run_id):
        if not asked.of_trials:
            formats.write_answer(formats.answered_of(opened, run_id, UNDECIDED[0]), file_format, output)
        elif output is None:
            write_by(lambda out: asked.write_trials(opened, run_id, out))
        else:
            asked.write_trials(opened, run_id, output)
