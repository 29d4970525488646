"""Exit codes of the process. ``docs/cli.md`` lists the same."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdelta.records import AnalysisResult, RunResult


class ExitCode(IntEnum):
    """The exit codes of every command."""

    ANSWERED = 0
    INTERNAL = 1
    USAGE = 2
    UNDECIDED = 3
    INVALID = 4
    OVER_BUDGET = 5
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.ANSWERED: "answered; with --budget: within it",
    ExitCode.INTERNAL: "internal error, or a worker process died",
    ExitCode.USAGE: "wrong command line, unreadable file, or unsuitable machine",
    ExitCode.UNDECIDED: "undecided: the data cannot distinguish the overhead from the tolerance, or from the budget",
    ExitCode.INVALID: "invalid: a check failed, so there is no answer",
    ExitCode.OVER_BUDGET: "over the budget",
    ExitCode.INTERRUPTED: "interrupted",
}
"""The meaning of each, for help and the man page."""

SHOWN_BRIEFLY = {
    ExitCode.ANSWERED: "answered",
    ExitCode.USAGE: "usage",
    ExitCode.UNDECIDED: "undecided",
    ExitCode.INVALID: "invalid",
    ExitCode.OVER_BUDGET: "over budget",
}
"""The same in one line, for short help."""

_BY_DECISION = {
    "invalid": ExitCode.INVALID,
    "over": ExitCode.OVER_BUDGET,
    "undecided": ExitCode.UNDECIDED,
}
"""The codes of decisions, by their values: nothing is imported for `ExitCode` alone."""
_NONE = "undecided"
"""The decision of a result without verdicts."""
_WORST_FIRST = (ExitCode.INVALID, ExitCode.OVER_BUDGET, ExitCode.UNDECIDED, ExitCode.ANSWERED)


def exit_code(result: RunResult) -> ExitCode:
    """The worst of the primary verdicts: invalid, over, undecided, answered; an interruption comes before all.

    A failed validity check is invalid whatever the verdicts say, and so is a self-test whose identical copies differ.
    No verdict at all is undecided.
    """
    if result.interrupted:
        return ExitCode.INTERRUPTED
    if any(check.is_invalid for check in result.validity):
        return ExitCode.INVALID
    if any(
        v.condition.role.value == "identical" and v.decision in ("slower", "faster", "over") for v in result.primary
    ):
        return ExitCode.INVALID
    return _worst(
        {result.decision, *(v.decision for v in result.primary)} if result.primary else {result.decision, _NONE}
    )


def analysis_exit_code(result: AnalysisResult) -> ExitCode:
    """The same of results that other tools measured; nothing that could be compared is undecided."""
    return _worst({result.decision, *(c.decision for c in result.primary)} if result.primary else {_NONE})


def _worst(decisions: Iterable[str]) -> ExitCode:
    codes = {_BY_DECISION.get(decision, ExitCode.ANSWERED) for decision in decisions}
    return next(code for code in _WORST_FIRST if code in codes)


def after(code: ExitCode, undecided: str) -> ExitCode:
    """The exit code after ``--undecided``, one of `UNDECIDED`: with ``pass`` an undecided answer ends in 0."""
    return ExitCode.ANSWERED if code is ExitCode.UNDECIDED and undecided == "pass" else code


UNDECIDED = ("fail", "pass")
"""Values of ``--undecided``; the first is its default."""
