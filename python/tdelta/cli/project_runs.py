"""The runs of a project file, one after the other: their answers, and the worst of their exit codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tdelta.cli.exit_codes import ExitCode
from tdelta.cli.output import write
from tdelta.cli.run import Asked, made
from tdelta.errors import Interrupted, TdeltaError, UsageError
from tdelta.messages import Refusal

if TYPE_CHECKING:
    from tdelta.session.project import ProjectRun

PROJECT_SCHEMA = "tdelta.project/1"
_WORST_FIRST = (
    ExitCode.INTERRUPTED,
    ExitCode.INTERNAL,
    ExitCode.USAGE,
    ExitCode.INVALID,
    ExitCode.OVER_BUDGET,
    ExitCode.UNDECIDED,
    ExitCode.ANSWERED,
)


def run_project(file: Path, typed: Mapping[str, object], asked: Asked) -> int:
    """Make the runs of a project; returns the worst exit code. A run that fails keeps no other from being made.

    Args:
        file: the project file.
        typed: what goes before what the file says, by the names of options.
        asked: what is to be made of each run.
    """
    from tdelta.session.project import read_project, runs_of

    runs = runs_of(read_project(file), typed)
    if asked.write_workload is not None and len(runs) > 1:
        raise UsageError(Refusal.of("project-several-runs", option="--write-workload", found=f"{len(runs)} runs"))
    click.echo(f"project {file}: {', '.join(run.title for run in runs)}", err=True)
    found: list[dict[str, Any]] = []
    for number, run in enumerate(runs):
        if number and not (asked.manner.as_json or asked.manner.quiet):
            write("\n")
        found.append(_made(run, asked, is_alone=len(runs) == 1))
        if found[-1]["exit_code"] == ExitCode.INTERRUPTED:
            break
    code = most_severe(one["exit_code"] for one in found)
    if asked.manner.as_json and len(runs) > 1:
        from tdelta.report.document import to_json

        write(to_json({"schema": PROJECT_SCHEMA, "project": str(file), "exit_code": code, "runs": found}))
    return code


def most_severe(codes: Iterable[int]) -> int:
    """The worst of several exit codes: interrupted, failed, invalid, over budget, undecided, answered."""
    ended = set(codes)
    return next((code for code in _WORST_FIRST if code in ended), ExitCode.INTERNAL)


def _made(run: ProjectRun, asked: Asked, *, is_alone: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"study": run.study, "engine": run.request.engine, "run": None, "error": None}
    try:
        shown = is_alone or not asked.manner.as_json
        code, found["run"] = made(run.request, asked, is_shown=shown, name="")
    except Interrupted:
        raise
    except TdeltaError as error:
        if is_alone:
            raise
        from tdelta.report.document import error_document

        text = "\n".join((str(error), *getattr(error, "__notes__", ())))
        click.echo(f"error: {run.title}: {text}", err=True)
        code, found["error"] = error.exit_code, error_document(error.refusals, text, error.exit_code)
    return {**found, "exit_code": int(code)}
