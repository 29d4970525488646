"""Which host each twin of a round is on, where the twins of a run change hosts: a crossover.

Where plain and encrypted servers stay on two hosts, encryption cannot be separated from the host. So in each round the
baseline and what is compared with it are on different hosts, and an A/A twin is beside what is compared, a B/B twin
beside the baseline: with both, each host has a plain twin and an encrypted one in every round. From round to round all
move on by one host. In each cycle of as many rounds as there are hosts every twin is on every host once; where a cycle
begins is drawn.
(B. Jones and M. G. Kenward 2014, Design and Analysis of Cross-Over Trials, chapter 2.)
"""

from __future__ import annotations

from collections.abc import Sequence

from tdelta.design.randomness import stream
from tdelta.records import Condition, Role

_BESIDE_BASELINE = (Role.BASELINE, Role.BB)


def hosts_of(seed: int, round_number: int, conditions: Sequence[Condition], count: int) -> dict[Condition, int]:
    """The host of each condition's twin in one round.

    Args:
        seed: the run's.
        round_number: from 0.
        conditions: those that have a twin.
        count: how many hosts there are.

    Returns:
        Numbers from 0.
    """
    cycle, place = divmod(round_number, count)
    first = int(stream(seed, "hosts", cycle).integers(count)) + place
    return {c: (first + (0 if c.role in _BESIDE_BASELINE else 1)) % count for c in conditions}
