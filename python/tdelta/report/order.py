"""What the order within a block does to a trial, in words: the same for a run and a plan."""

from __future__ import annotations

from collections.abc import Iterator

from tdelta.records.carryover import CarryOver, ShareEffect
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


def _share_text(found: ShareEffect) -> str:
    low, high = found.interval95
    return f"{percent(1 + found.share, 2)} ({interval((1 + low, 1 + high), 2)})"
