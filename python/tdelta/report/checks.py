"""Checks as terminal, page and `tdelta verify` list them: what failed first, then what was not shown, then the rest."""

from __future__ import annotations

from collections.abc import Iterable

from tdelta.records import CheckState, Validity
from tdelta.report.quantities import counted

MARKS = {CheckState.FAILED: "FAILED", CheckState.NOT_SHOWN: "not shown", CheckState.OK: "ok"}
"""The worst first."""

STYLES = {CheckState.FAILED: "bold red", CheckState.NOT_SHOWN: "yellow", CheckState.OK: ""}
"""How each is set off on a terminal."""


def listed(checks: Iterable[Validity]) -> list[tuple[CheckState, str]]:
    """Each check's state with its text, the worst first, else in their order."""
    worst_first = tuple(MARKS)
    ordered = sorted(checks, key=lambda check: worst_first.index(check.state))
    return [(c.state, f"{c.check}: {c.detail}" if c.detail else c.check) for c in ordered]


def summed_up(checks: Iterable[Validity]) -> list[tuple[CheckState, str]]:
    """The same, those that are ok by their names alone, in one item."""
    given = tuple(checks)
    names = [check.check for check in given if check.ok]
    worse = listed(check for check in given if not check.ok)
    return [*worse, *([(CheckState.OK, f"{counted(len(names), 'check')}: {'; '.join(names)}")] if names else [])]
