"""Results of earlier versions, given the shape of today's records before they are decoded."""

from __future__ import annotations

from typing import Any

from tdelta.records import CheckState


def upgraded(result: Any) -> Any:
    """A stored result's JSON value as today's version would have written it; what is no result stays as it is."""
    if not isinstance(result, dict) or not isinstance(result.get("validity"), list):
        return result
    return {**result, "validity": [_with_state(check) for check in result["validity"]]}


def _with_state(check: Any) -> Any:
    """Before checks had three states they had a truth value, ``ok``."""
    if not isinstance(check, dict) or "ok" not in check:
        return check
    state = CheckState.OK if check["ok"] else CheckState.FAILED
    return {**{name: value for name, value in check.items() if name != "ok"}, "state": state.value}
