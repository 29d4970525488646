"""What the process ends with. ``docs/exit-codes.md`` says the same to people."""

from __future__ import annotations

from enum import IntEnum

from tdelta.records import AnalysisResult, Decision, RunResult


class ExitCode(IntEnum):
    """The exit codes of every command."""

    ANSWERED = 0
    INTERNAL = 1
    USAGE = 2
    UNDECIDED = 3
    UNSOUND = 4
    OVER_BUDGET = 5
    INTERRUPTED = 130


_BY_DECISION = {
    Decision.UNSOUND: ExitCode.UNSOUND,
    Decision.OVER: ExitCode.OVER_BUDGET,
    Decision.UNDECIDED: ExitCode.UNDECIDED,
}
_WORST_FIRST = (ExitCode.UNSOUND, ExitCode.OVER_BUDGET, ExitCode.UNDECIDED, ExitCode.ANSWERED)


def exit_code(result: RunResult) -> ExitCode:
    """The worst of the primary verdicts: unsound, over, undecided, answered; an interruption comes before all.

    A failed validity check is unsound whatever the verdicts say, and no verdict at all is undecided.
    """
    if result.interrupted:
        return ExitCode.INTERRUPTED
    codes = {_BY_DECISION.get(decision, ExitCode.ANSWERED) for decision in _decisions(result)}
    return next(code for code in _WORST_FIRST if code in codes)


def analysis_exit_code(result: AnalysisResult) -> ExitCode:
    """The same of results that other tools measured; nothing that could be compared is undecided."""
    decisions = {result.decision, *(c.decision for c in result.primary)} if result.primary else {Decision.UNDECIDED}
    codes = {_BY_DECISION.get(decision, ExitCode.ANSWERED) for decision in decisions}
    return next(code for code in _WORST_FIRST if code in codes)


def _decisions(result: RunResult) -> set[Decision]:
    decisions = {result.decision, *(v.decision for v in result.primary)}
    if any(check.is_unsound for check in result.validity):
        decisions.add(Decision.UNSOUND)
    if not result.primary:
        decisions.add(Decision.UNDECIDED)
    return decisions
