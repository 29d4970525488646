"""What the order within a block does to a trial, in words and as JSON values: the same for a run and a plan."""

from __future__ import annotations

from collections.abc import Iterator

from tdelta.records.carryover import CarryOver, Interval
from tdelta.report.quantities import interval, percent


def order_words(found: CarryOver) -> Iterator[str]:
    """What was estimated, a clause each; ``not estimated`` where nothing was."""
    if found.positions:
        places = ", ".join(_share_text(one) for one in found.positions)
        yield f"a trial at the next places of a block over one at the first: {places}"
    if found.after_encrypted is not None and found.bias is not None:
        yield f"after an encrypted twin {_share_text(found.after_encrypted)}"
        yield f"which moves an overhead by {_share_text(found.bias)}"
    if not found.positions and found.after_encrypted is None:
        yield "not estimated"


def order_json(found: CarryOver) -> dict[str, object]:
    """The same as JSON values."""
    return {
        "positions": [_share(one) for one in found.positions],
        "after_encrypted": None if found.after_encrypted is None else _share(found.after_encrypted),
        "bias": None if found.bias is None else _share(found.bias),
        "unknown": list(found.unknown),
    }


def _share_text(found: tuple[float, Interval]) -> str:
    median, (low, high) = found
    return f"{percent(1 + median, 2)} ({interval((1 + low, 1 + high), 2)})"


def _share(found: tuple[float, Interval]) -> dict[str, object]:
    return {"share": found[0], "interval95": list(found[1])}
