"""Answers in the formats of other programs: each format declared once, where its bytes go, what GitHub shows of a job.

A format's functions stand in `tdelta.report.formats` (and `tdelta.store.export`), named here by their paths and
imported when the format is asked for, so that the help of a command loads none of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdelta.cli.exit_codes import after, exit_code
from tdelta.cli.output import Mistyped, write
from tdelta.errors import StorageFault, UsageError
from tdelta.messages import Refusal

if TYPE_CHECKING:
    from tdelta.report.formats.rows import Answered
    from tdelta.store import Store
    from tdelta.store.export import Destination

_MAKERS = "tdelta.report.formats"


@dataclass(frozen=True, slots=True)
class Format:
    """One format.

    Attributes:
        name: what ``--format`` takes.
        holds: what it holds, for the help.
        of_answer: the path of the function that makes it of an answer (``module:name``).
        of_trials: the path of the function that makes it of a run's trials; None where `tdelta export` gives the
            answer, too.
    """

    name: str
    holds: str
    of_answer: str
    of_trials: str | None = None

    def answer(self, answered: Answered) -> str:
        """The answer in this format."""
        made: str = _found(self.of_answer)(answered)
        return made

    def write_trials(self, store: Store, run_id: str, destination: Destination) -> None:
        """Write a run's trials in this format."""
        assert self.of_trials is not None, f"{self.name} is of answers alone"  # noqa: S101 - which a caller asks first
        _found(self.of_trials)(store, run_id, destination)


FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        Format("csv", "rows", f"{_MAKERS}.rows:as_csv", "tdelta.store.export:write_csv"),
        Format("json", "everything", f"{_MAKERS}.rows:as_json", "tdelta.store.export:write_json"),
        Format("markdown", "a comment for a pull request", f"{_MAKERS}.markdown:markdown"),
        Format("junit", "JUnit XML, a test case per condition and check", f"{_MAKERS}.junit:junit"),
    )
}


def _found(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable that names the file whose Markdown GitHub shows on the page of a job."""


def write_answer(answered: Answered, file_format: str, output: Path | None) -> None:
    """Write an answer in one of `FORMATS` to a file, or to standard output."""
    made = FORMATS[file_format].answer(answered)
    if output is not None:
        from tdelta.store.export import opened_bytes

        with opened_bytes(output) as out:
            out.write(made.encode("utf-8", "replace"))
    else:
        write(made)


def answered_of(store: Store, run_id: str, undecided: str, earlier: tuple[Store, str] | None = None) -> Answered:
    """A stored run as formats take it, beside an earlier one where there is one. Raises as `Store.result`."""
    from tdelta.report.formats.rows import Answered

    result = store.result(run_id)
    code = after(exit_code(result), undecided)
    made = Answered(result, code, store.summary(run_id).created_unix_seconds, undecided_passes=undecided == "pass")
    if earlier is None:
        return made
    from tdelta.session.history import compare_runs

    return replace(made, against=compare_runs(result, earlier[0].result(earlier[1])))


def step_summary() -> Path:
    """The file that GitHub shows of a job. Raises ``UsageError`` where there is none."""
    if not (name := os.environ.get(STEP_SUMMARY)):
        raise UsageError(Refusal.of("no-step-summary"))
    return Path(name)


def append_summary(path: Path, answered: Answered) -> None:
    """Add the answer as Markdown to the end of a file."""
    made = FORMATS["markdown"].answer(answered)
    try:
        with path.open("a", encoding="utf-8", errors="replace") as out:
            out.write(f"{made!s}\n")
    except OSError as error:
        raise StorageFault(Refusal.of("path-unusable", path=path, fault=error.strerror or error)) from error


def chosen(file_format: str | None, output: Path | None, *, as_json: bool) -> str | None:
    """The format that ``--format`` and ``--json`` ask for together; None for the text of a terminal.

    Raises:
        Mistyped: they ask for two, or for a file of what is for a terminal.
    """
    if as_json and file_format not in (None, "json"):
        raise Mistyped(Refusal.of("conflict", one="--json", other=f"--format {file_format}"))
    wanted = "json" if as_json else file_format
    if wanted is None and output is not None:
        raise Mistyped(Refusal.of("requires", what="--output", needs="--format"))
    return wanted
