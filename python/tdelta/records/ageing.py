"""Whether encryption costs more, or less, on twins that have been at work for longer."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.records.conditions import Condition
from tdelta.records.findings import Finding


@dataclass(frozen=True, slots=True)
class AgeBin:
    """Blocks of about one age, of all rounds, and the geometric mean of their ratios.

    ``seconds`` is the age of the oldest: since the first block of its round, the median over rounds.
    """

    seconds: float
    blocks: int
    ratio: float


@dataclass(frozen=True, slots=True)
class Ageing(Finding):
    """How the ratio of one condition changed while its instances aged from a round's first block to its last.

    ``change`` is the ratio at the end over the ratio at the start, of a typical block: 1.02 says that what encryption
    costs grew by 2 %. ``hdi95`` and ``hdi99`` hold how instances differ. Of an A/A twin, its noise. ``seconds`` is how
    long a round's instances were at work, ``blocks`` how many blocks the shortest of the ``rounds`` has. Described,
    never judged.
    """

    FINDING = "ageing"

    condition: Condition
    rounds: int
    blocks: int
    seconds: float
    change: float
    hdi95: tuple[float, float]
    hdi99: tuple[float, float]
    bins: tuple[AgeBin, ...]
