"""What a campaign prints: how many attempts, how many survived, how many left something over."""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

MOST_FAILURES = 10
"""After so many a campaign ends: the first one is looked at anyhow."""


@dataclass
class Tally:
    """Attempts by what became of them; ``failures`` are printed one by one."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    left_over: int = 0

    @property
    def tried(self) -> int:
        """All attempts."""
        return sum(self.outcomes.values()) + len(self.failures)

    def report(self, name: str) -> int:
        """Print one line and the failures; returns the exit code."""
        outcomes = ", ".join(f"{outcome} {count}" for outcome, count in sorted(self.outcomes.items()))
        survived = self.tried - len(self.failures)
        print(f"{name}: tried {self.tried}, survived {survived} ({outcomes}), left over {self.left_over}")
        for failure in self.failures:
            print(f"  {failure}")
        return 1 if self.failures or self.left_over else 0


@dataclass(frozen=True)
class Asked:
    """Which tries of the endless series that a seed begins."""

    seed: int
    first: int
    count: int

    @property
    def numbers(self) -> range:
        """The tries' own numbers: what a try does follows from the seed and its number alone."""
        return range(self.first, self.first + self.count)


def asked(description: str, tries: int, arguments: Sequence[str] | None = None) -> Asked:
    """Which tries, by a seed that is printed. Ranges of one seed add up, in whatever order they are run."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="first", type=int, default=0, help="number of the first try")
    parser.add_argument("--count", "--tries", type=int, default=tries, help="how many tries")
    parser.add_argument("--seed", type=int, default=None)
    found = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(10**9) if found.seed is None else found.seed
    print(f"seed {seed}, tries {found.first} to {found.first + found.count - 1}", flush=True)
    return Asked(seed, found.first, found.count)
