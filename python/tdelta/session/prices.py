"""What pages cost the code under test itself, measured ahead of a run's first rounds: the prices of its ledger.

Measured more than once, in processes of their own, so that how far prices differ from moment to moment is in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tdelta.driver import Twins
from tdelta.errors import EnvironmentFault, TdeltaError
from tdelta.records import Role
from tdelta.session.planning import Plan

FACT = "page prices"
MOST = 5
"""Rounds ahead of which prices are measured."""


def measured_times(values: Mapping[str, Any] | None) -> int:
    """How often prices were measured so far."""
    return max((len(found) for found in (values or {}).values()), default=0)


def measure_prices(plan: Plan, twins: Twins[Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """The prices so far and one more measurement of each, JSON values by the condition's key.

    Conditions alike in all that a price depends on share a measurement. Where an engine has none, or cannot be timed,
    there is none for a condition: the ledger then says so.
    """
    shared: dict[tuple[object, ...], dict[str, object] | None] = {}
    prices = {key: list(found) for key, found in (before or {}).items()}
    for condition in plan.conditions:
        if condition.role is not Role.TREATMENT or condition.level("cipher") == "none":
            continue
        settings = plan.twin_settings(condition, 0)
        page_size = plan.family.page_size(settings)
        alike = (settings.cipher, page_size, settings.aes_instructions)
        if alike not in shared:
            shared[alike] = _measured(twins, settings)
        if (found := shared[alike]) is not None:
            prices.setdefault(condition.key, []).append(found)
    return prices


def _measured(twins: Twins[Any], settings: Any) -> dict[str, object] | None:
    try:
        return twins.page_prices(settings)
    except EnvironmentFault:
        raise
    except TdeltaError:  # a library by path may lack what the wheels have; the run is sound without prices
        return None
