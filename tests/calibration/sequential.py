"""Stopping experiments as soon as it is clear whether a limit is kept: Wald's sequential test of a share.

A limit says that something comes in at most a share ``most`` of experiments. Held against it is a model that is clearly
bad, in which it comes in `clearly_bad` of them. After each experiment the likelihood ratio of the two is looked at
(Wald 1945, Annals of Mathematical Statistics 16:117): from 10,000 on the limit is broken, below 1/100 it is kept, and
after `MOST_EXPERIMENTS` it is kept if neither was reached.

A model that lies exactly *at* a limit breaks it with a probability of at most 1 in 10,000, however often one looks
(Ville's inequality); one that is clearly bad passes at most once in 50 times. `outcome_rates` has both exactly, and
``test_grid.py`` holds it to that.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, Literal, TypeAlias, TypeVar

import numpy as np

from calibration.grid import Limit

MOST_EXPERIMENTS = 200
BROKEN = math.log(10_000.0)
KEPT = math.log(100.0)

Answer: TypeAlias = Literal["kept", "broken"]
Seen = TypeVar("Seen")


def clearly_bad(most: float) -> float:
    """The share that a test is to catch: twice what is allowed, and a tenth of all experiments."""
    return 0.10 + 2.0 * most


def steps(most: float) -> tuple[float, float]:
    """The terms that one experiment adds to the log likelihood ratio if it shows the event, and if not."""
    bad = clearly_bad(most)
    return math.log(bad / most), math.log((1.0 - bad) / (1.0 - most))


@dataclass
class _Running(Generic[Seen]):
    limit: Limit[Seen]
    evidence: float = 0.0
    counted: list[bool] = field(default_factory=list)
    answer: Answer | None = None

    def see(self, one: Seen) -> None:
        broken = self.limit.is_broken(one)
        if self.answer is not None or broken is None:
            return
        self.counted.append(broken)
        self.evidence += steps(self.limit.most)[0 if broken else 1]
        if self.evidence >= BROKEN:
            self.answer = "broken"
        elif self.evidence <= -KEPT:
            self.answer = "kept"

    def words(self) -> str:
        return f"{self.limit.what}: {sum(self.counted)} of {len(self.counted)}, limit {100 * self.limit.most:g} %"


def broken(limits: Iterable[Limit[Seen]], experiments: Iterable[Seen]) -> Sequence[str]:
    return settled(limits, experiments)[0]


def settled(limits: Iterable[Limit[Seen]], experiments: Iterable[Seen]) -> tuple[Sequence[str], Sequence[Seen]]:
    """The limits that are broken, in words, and the experiments looked at: no more than it takes."""
    running = [_Running(limit) for limit in limits]
    assert running, "nothing is asked of this cell"
    looked_at = []
    for one in islice(experiments, MOST_EXPERIMENTS):
        looked_at.append(one)
        for limit in running:
            limit.see(one)
        if any(r.answer == "broken" for r in running) or all(r.answer == "kept" for r in running):
            break
    return [r.words() for r in running if r.answer == "broken"], looked_at


def outcome_rates(most: float, share: float) -> tuple[float, float]:
    """How often a limit is called broken where this is the true share, and how many experiments that takes on average.

    Exactly: the walk of the evidence depends only on how often it came in how many experiments.
    """
    came, not_came = steps(most)
    alive = np.zeros(MOST_EXPERIMENTS + 1)
    alive[0] = 1.0
    times = np.arange(MOST_EXPERIMENTS + 1)
    called, looked_at = 0.0, 0.0
    for count in range(1, MOST_EXPERIMENTS + 1):
        looked_at += alive.sum()
        alive = (1.0 - share) * alive + share * np.concatenate([[0.0], alive[:-1]])
        evidence = times * came + (count - times) * not_came
        called += float(alive[evidence >= BROKEN].sum())
        alive[(evidence >= BROKEN) | (evidence <= -KEPT)] = 0.0
    return called, float(looked_at)
