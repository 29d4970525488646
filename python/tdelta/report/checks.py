"""Checks as terminal, page and `tdelta verify` list them: what failed first, then what was not shown, then the rest."""

from __future__ import annotations

from collections.abc import Iterable

from tdelta.records import CheckState, Validity

MARKS = {CheckState.FAILED: "FAILED", CheckState.NOT_SHOWN: "not shown", CheckState.OK: "ok"}
"""The worst first."""

STYLES = {CheckState.FAILED: "bold red", CheckState.NOT_SHOWN: "yellow", CheckState.OK: ""}
"""How each is set off on a terminal."""


def listed(checks: Iterable[Validity]) -> list[tuple[CheckState, str]]:
    """Each check's state with its text, the worst first, else in their order."""
    worst_first = tuple(MARKS)
    ordered = sorted(checks, key=lambda check: worst_first.index(check.state))
    return [(c.state, f"{c.check}: {c.detail}" if c.detail else c.check) for c in ordered]


def check_json(check: Validity) -> dict[str, object]:
    """A check as JSON values; ``ok`` is derived."""
    return {
        "check": check.check,
        "state": check.state.value,
        "ok": check.ok,
        "makes_unsound": check.makes_unsound,
        "detail": check.detail,
    }
