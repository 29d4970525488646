"""``tdelta show``: the answer of a stored run, again."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from tdelta.cli import formats
from tdelta.cli.formats import FORMATS
from tdelta.cli.help import FILE, Command, store_option
from tdelta.cli.output import Manner, Mistyped, answer_options, show_result, write, write_blocks
from tdelta.cli.units import run_ids
from tdelta.messages import Refusal


@click.command(cls=Command)
@click.argument("run", default="last", shell_complete=run_ids)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(list(FORMATS)),
    help=f"{'; '.join(f'{one.name}: {one.holds}' for one in FORMATS.values())}.  [text]",
)
@click.option("--output", type=FILE, help="With --format: file to write.  [standard output]")
@click.option(
    "--step-summary", is_flag=True, help="Append the answer as Markdown to the file that GITHUB_STEP_SUMMARY names."
)
@click.option("--against", "earlier", metavar="RUN|LABEL", help="Compare the overhead with an earlier run.")
@store_option
@answer_options
def show(
    run: str,
    file_format: str | None,
    output: Path | None,
    step_summary: bool,
    earlier: str | None,
    store: Path | None,
    manner: Manner,
) -> int:
    """Repeat the answer of RUN (an id, a label, `last`, or a pack's file), with its exit code.

    Example: tdelta show last

    Example: tdelta show last --details

    Example: tdelta show last --against v3.1

    Example: tdelta show last --format junit --output tdelta.xml
    """
    from tdelta.store.pack import found

    wanted = formats.chosen(file_format, output, as_json=manner.as_json)
    if file_format is not None and (manner.details or manner.quiet):
        raise Mistyped(Refusal.of("conflict", one="--format", other="--details or --quiet"))
    summary = formats.step_summary() if step_summary else None
    with ExitStack() as stack:
        opened, run_id = stack.enter_context(found(run, store))
        before = None if earlier is None else stack.enter_context(found(earlier, store))
        answered = formats.answered_of(opened, run_id, manner.undecided, before)
        if summary is not None:
            formats.append_summary(summary, answered)
        if wanted is not None:
            formats.write_answer(answered, wanted, output)
            return answered.exit_code
        code = show_result(answered.result, manner, run)
    if answered.against is not None and not manner.quiet:
        from tdelta.report.history import against_blocks

        write("\n")
        write_blocks(against_blocks(answered.against, answered.result))
    return code
