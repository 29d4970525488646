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


def asked(description: str, tries: int, arguments: Sequence[str] | None = None) -> tuple[int, int]:
    """How many tries, and the seed of all drawing, which is printed and repeats the campaign."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=tries)
    parser.add_argument("--seed", type=int, default=None)
    found = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(10**9) if found.seed is None else found.seed
    print(f"seed {seed}", flush=True)
    return found.tries, seed
