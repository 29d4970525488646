"""What the cipher of each condition takes for a page on this CPU, measured before the first trial: the floor.

It stands beside what a page was found to cost (`tdelta.inference.pages`). Where it cannot be measured the run goes on
without it, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tdelta.driver import Twins
from tdelta.driver.protocol import FloorMeasured
from tdelta.engines.capabilities import Paged
from tdelta.errors import EnvironmentFault
from tdelta.inference.pages import PageFloor
from tdelta.messages import Caution
from tdelta.records import Condition, Role
from tdelta.session.planning import Plan
from tdelta.session.state import Floors


def measure_floors(plan: Plan, twins: Twins[Any]) -> Floors:
    """The floors by the condition's key.

    One short measurement for each page size, each level of the AES instructions in a process of its own.
    """
    floors: dict[str, PageFloor] = {}
    if not isinstance(plan.engine, Paged) or not isinstance(twins, FloorMeasured):
        return Floors()
    try:
        for page_size, conditions in _by_page_size(plan, plan.engine).items():
            floors |= dict(_of_page_size(plan, plan.engine, twins, page_size, conditions))
    except EnvironmentFault as fault:
        return Floors(cautions=(Caution.of("no-floor", fault=fault),))
    return Floors(floors)


def _by_page_size(plan: Plan, engine: Paged) -> dict[int, list[Condition]]:
    """The encrypted conditions of each page size."""
    found: dict[int, list[Condition]] = {}
    for condition in plan.conditions:
        page_size = engine.page_size(plan.twin_settings(condition, 0))
        if condition.role is Role.TREATMENT and page_size is not None:
            found.setdefault(page_size, []).append(condition)
    return found


def _of_page_size(
    plan: Plan, engine: Paged, twins: FloorMeasured, page_size: int, conditions: Iterable[Condition]
) -> Iterator[tuple[str, PageFloor]]:
    asked = {
        c: (engine.floor_cipher(str(c.level("cipher"))), plan.twin_settings(c, 0).aes_instructions) for c in conditions
    }
    ciphers, levels = (tuple(dict.fromkeys(pair[i] for pair in asked.values())) for i in (0, 1))
    price = twins.page_floor(page_size, ciphers, levels)
    for condition, (cipher, level) in asked.items():
        decrypt, encrypt = (price(cipher, direction, level) for direction in ("decrypt", "encrypt"))
        if decrypt is not None and encrypt is not None:
            yield condition.key, PageFloor(decrypt[0], encrypt[0], words=decrypt[1])
