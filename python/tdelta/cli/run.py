"""``tdelta run``: parse a request, have it conducted, show the answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tdelta.cli.exit_codes import ExitCode, after, exit_code
from tdelta.cli.help import FILE, Command, Option, control_option, dry_run_option
from tdelta.cli.output import (
    MANNER_OPTIONS,
    Manner,
    Mistyped,
    answer_options,
    drawn_progress,
    ready_to_show,
    show,
    show_result,
    typed_flags,
)
from tdelta.cli.units import click_options, study_names
from tdelta.messages import Refusal
from tdelta.session.groups import Group
from tdelta.session.request import OPTIONS, RunRequest

_BESIDES_RESUME = frozenset({"resume_id", "store", "max_seconds", *MANNER_OPTIONS})


@click.command(
    cls=Command,
    params=[
        click.Argument(["study"], required=False, shell_complete=study_names),
        *click_options(OPTIONS.values()),
    ],
)
@click.option(
    "--write-workload",
    cls=Option,
    group=Group.DATA,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the workload proposed for --database or --restore as a folder to edit; run nothing.",
)
@control_option(
    "--project",
    "project",
    type=FILE,
    metavar="FILE",
    help="Project file.  [tdelta.toml here, or in the nearest folder above]",
)
@control_option("--no-project", is_flag=True, help="Ignore project files.")
@control_option(
    "--resume", "resume_id", metavar="RUN", help="Complete a run that was interrupted; takes a new --max-time."
)
@dry_run_option
@answer_options
def run(
    resume_id: str | None,
    dry_run: bool,
    write_workload: Path | None,
    project: Path | None,
    no_project: bool,
    manner: Manner,
    **given: object,
) -> int:
    """Measure how much encryption at rest slows a database down.

    STUDY repeats a published experiment (`tdelta studies`). In a folder with a project file (tdelta.toml, also in a
    folder above), the project's runs are performed one after the other.

    Example: tdelta run  # SQLite, plain vs. AES-256, 85 s

    Example: tdelta run --database app.db  # copies of your SQLite file

    Example: tdelta run --engine mariadb --threads 4  # servers of its own, 10 min

    Example: tdelta run --baseline DSN --encrypted DSN  # two servers that you have

    Example: tdelta run --budget 5%  # exit code 5 if it costs more
    """
    if resume_id is not None:
        _refuse_settings(click.get_current_context())
        return _resume(resume_id, given, manner)
    asked = Asked(manner, dry_run, write_workload)
    if (file := _project_file(project, is_wanted=not no_project)) is not None:
        from tdelta.cli import project_runs

        return project_runs.run_project(file, typed_of(given), asked)
    code, _ = made(request_of(given), asked)
    return code


@dataclass(frozen=True, slots=True)
class Asked:
    """How to make and show a run."""

    manner: Manner
    dry_run: bool
    write_workload: Path | None = None


def made(request: RunRequest, asked: Asked, *, is_shown: bool = True, name: str = "last") -> tuple[int, dict[str, Any]]:
    """Conduct what was asked, or find what that would take; returns the exit code, and a document to show later."""
    if asked.dry_run or asked.write_workload is not None:
        from tdelta.report.document import dry_run_document
        from tdelta.report.listings import dry_run_blocks
        from tdelta.session import dry_run

        with drawn_progress() as observer:
            plan = dry_run(request, observer, asked.write_workload)
        found = dry_run_document(plan)
        if is_shown:
            show(dry_run_blocks(plan), found, as_json=asked.manner.as_json)
        return ExitCode.USAGE if plan.faults else ExitCode.ANSWERED, found
    from tdelta.session import conduct

    ready_to_show()
    with drawn_progress() as observer:
        result = conduct(request, observer)
    code = after(exit_code(result), asked.manner.undecided)
    if is_shown:
        show_result(result, asked.manner, name or result.settings.run_id)
        return code, {}
    from tdelta.report.document import document

    return code, document(result, code)


def _resume(run_id: str, given: dict[str, object], manner: Manner) -> int:
    from tdelta.session import resume

    ready_to_show()
    store, seconds = given["store"], given["max_seconds"]
    path, most = store if isinstance(store, Path) else None, seconds if isinstance(seconds, float) else None
    with drawn_progress() as observer:
        result = resume(run_id, path, observer, max_seconds=most)
    return show_result(result, manner)


def _project_file(named: Path | None, *, is_wanted: bool) -> Path | None:
    """The project file that was named, or the nearest one; None where there is none, or it is not wanted."""
    if named is not None and not is_wanted:
        raise Mistyped(Refusal.of("conflict", one="--project", other="--no-project"))
    if named is not None or not is_wanted:
        return named
    from tdelta.session.project_file import found_above

    return found_above(Path.cwd())


def request_of(given: dict[str, object]) -> RunRequest:
    """The request with only what was typed; all else keeps the request's own defaults."""
    return RunRequest(**typed_of(given))


def typed_of(given: dict[str, object]) -> dict[str, object]:
    """The values of options that were typed, by the names that a request has them under."""
    typed: dict[str, object] = {}
    for name, value in given.items():
        if value is None or value == ():
            continue
        typed |= OPTIONS[name].fields(value)
    for name in ("database", "restore"):
        if name in typed and "size_bytes" in typed:
            raise Mistyped(Refusal.of("conflict", one="--size", other=f"--{name}"))
    return typed


def _refuse_settings(ctx: click.Context) -> None:
    """A run resumes with the settings it began with; other ones would make it another run."""
    if typed := typed_flags(ctx, ctx.command.params, _BESIDES_RESUME):
        raise Mistyped(Refusal.of("conflict", one=", ".join(typed), other="--resume, which keeps all settings"), ctx)
