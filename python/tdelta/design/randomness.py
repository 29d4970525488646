"""One recorded seed draws everything, through streams that are named and so cannot disturb each other.

A stream depends on the seed, its name and its indices only: what one part of tdelta draws never shifts what another
part draws, and any round can be drawn again without drawing those before it (which is how a run resumes).
The same draws come back with the same NumPy; NumPy promises stable bits but not stable methods (NEP 19), which is why
a run records the library's version beside the seed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tdelta.records import Condition

if TYPE_CHECKING:
    import numpy as np

SEED_BITS = 63
"""A seed fits SQLite's signed 64-bit integer."""


def fresh_seed() -> int:
    """Draw a new 63-bit seed from the operating system."""
    return int.from_bytes(os.urandom(8), "big") >> (64 - SEED_BITS)


def stream(seed: int, name: str, *indices: int) -> np.random.Generator:
    """Open the stream of one purpose, e.g. ``stream(seed, "blocks", 3)``.

    The name and the indices are hashed into the spawn key of a ``SeedSequence``, whose children are independent by
    construction (O'Neill 2015, as NumPy implements it).

    Args:
        name: the purpose; two purposes never share a name.
        indices: which of the purpose's streams, e.g. the round.
    """
    import numpy as np  # not earlier: every worker imports this package and draws nothing, and a run starts many

    digest = hashlib.sha256("/".join([name, *map(str, indices)]).encode()).digest()
    words = [int.from_bytes(digest[start : start + 4], "big") for start in range(0, 16, 4)]
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=words))


def instances(seed: int, round_number: int, conditions: Sequence[Condition]) -> tuple[tuple[Condition, str], ...]:
    """Name one round's twins and draw the order in which they are created.

    A file that is always made first, or whose name always sorts first, may always get the better place on the disk: so
    both are drawn, independently of each other, and a name says nothing about its condition.

    Returns:
        Each condition with its name (8 hexadecimal digits, unique within the round), in creation order.
    """
    order = stream(seed, "creation-order", round_number).permutation(len(conditions))
    names = _opaque_names(stream(seed, "instance-names", round_number), len(conditions))
    return tuple((conditions[index], name) for index, name in zip(order, names, strict=True))


def drawn_twin(seed: int, round_number: int, count: int) -> int:
    """Draw which of several B/B twins takes part in a round: each once, in a drawn order, before any comes again.

    Returns:
        Its place among them, from 0.
    """
    draws, place = divmod(round_number, count)
    return int(stream(seed, "bb", draws).permutation(count)[place])


def _opaque_names(rng: np.random.Generator, count: int) -> list[str]:
    names: dict[str, None] = {}
    while len(names) < count:
        names[f"{rng.integers(2**32):08x}"] = None
    return list(names)
