"""``tdelta analyze``: a verdict from results that another tool measured."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from tdelta.cli.exit_codes import after, analysis_exit_code
from tdelta.cli.help import FILE, Command
from tdelta.cli.output import Manner, Mistyped, answer_options, drawn_progress, write, write_blocks
from tdelta.cli.units import Typed
from tdelta.importers.formats import FORMATS
from tdelta.messages import Refusal
from tdelta.session.values import Percent, ResponseTime

_OPTIONS = {
    "priors": "prior",
    "latency_limit_seconds": "latency-limit",
    "run_sd": "run-sd",
    "input_format": "input-format",
}
"""Options that are not called as their parameters are."""


class _Analyze(Command):
    """The command, whose help ends with the formats that are read."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Formats, detected from file contents (docs/formats.md)"):
            formatter.write_dl([(it.tool, it.looks) for it in FORMATS])


@click.command(cls=_Analyze)
@click.argument("files", nargs=-1, metavar="FILES...")
@click.option("--unit", metavar="UNIT", help="Unit of figures whose file has none: ms, us, s, tps, /s, tpm, ….")
@click.option("--column", metavar="NAME", help="Where the figures are: a column, a metric of k6.  [by its name]")
@click.option("--input-format", metavar="NAME", help="Format of the files, from the list below.  [detected]")
@click.option("--baseline", metavar="NAME", help="Condition that the others are compared with.  [none, plain, off, …]")
@click.option("--tolerance", type=Typed(Percent()), help="Differences below this count as none.  [2%]")
@click.option(
    "--run-sd",
    type=Typed(Percent()),
    help="Standard deviation between runs of one system: lets one run per condition decide.",
)
@click.option("--budget", type=Typed(Percent()), help="Fail with exit code 5 if the overhead is larger.")
@click.option(
    "--prior",
    "priors",
    multiple=True,
    metavar="PRIOR",
    help="Shown beside the default: published, or normal:MEAN,SD of the log ratio; repeatable.",
)
@click.option("--transaction", metavar="NAME", help="Transaction type that decides.  [the mix, else all]")
@click.option("--metric", metavar="NAME", help="Figure that decides.  [response_time, else throughput, else all]")
@click.option(
    "--latency-limit",
    "latency_limit_seconds",
    type=Typed(ResponseTime()),
    metavar="TIME",
    help="Report how often transactions exceed TIME (20ms); informational only.",
)
@click.option("--output", type=FILE, metavar="FILE", help="Write an HTML page as well.")
@click.option("--force", is_flag=True, help="Overwrite a file that tdelta did not write.")
@answer_options
def analyze(files: tuple[str, ...], output: Path | None, force: bool, manner: Manner, **given: object) -> int:
    """Judge results you already have, from any tool.

    Each of FILES, a folder, file or glob, is one condition, named by its stem; NAME=GLOB names it. A single folder
    stands for its entries. A file with a column of conditions may hold several. - is standard input; published:NAME is
    a published table.

    Example: tdelta analyze plain/ tde/

    Example: tdelta analyze plain='monday/*.log' tde='friday/*.log'

    Example: tdelta analyze plain/ tde/ --latency-limit 20ms

    Example: tdelta analyze plain.jsonl tde.jsonl --column elapsed --unit ms

    Example: tdelta analyze published:read-only-sweep
    """
    from tdelta.report.analysis.details import analysis_blocks, analysis_document
    from tdelta.report.analysis.page import compose_analysis
    from tdelta.report.answer import files_answer
    from tdelta.report.document import to_json
    from tdelta.session.analyzing import AnalysisRequest, analyze_files

    if force and output is None:
        raise Mistyped(Refusal.of("requires", what="--force", needs="--output"))
    asked = {name: value for name, value in given.items() if value is not None and value != ()}
    with drawn_progress() as observer:
        found = analyze_files(AnalysisRequest(files, **asked), observer)  # type: ignore[arg-type]
    code = after(analysis_exit_code(found.result), manner.undecided)
    if output is not None:
        from tdelta.report.page.file import render, write_page

        write_page(render(compose_analysis(found.result, found.pictures, _command(files, asked))), output, force=force)
    if manner.as_json:
        write(to_json(analysis_document(found.result, code)))
    elif manner.quiet:
        write(f"{files_answer(found.result).sentence}\n")
    else:
        page = None if output is None else str(output)
        blocks = analysis_blocks(found.result, details=manner.details, command=_command(files, asked), page=page)
        write_blocks(blocks)
    return code


def _command(files: tuple[str, ...], asked: dict[str, object]) -> str:
    """The command line that gives the same answer, quoted for a shell."""
    words = ["tdelta", "analyze", *files]
    for name, value in asked.items():
        for one in value if isinstance(value, tuple) else (value,):
            words += [f"--{_OPTIONS.get(name, name)}", _word(name, one)]
    return shlex.join(words)


def _word(name: str, value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return (ResponseTime() if name == "latency_limit_seconds" else Percent()).write(value)
