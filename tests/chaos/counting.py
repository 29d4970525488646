"""The output of a campaign: how many attempts, how many survived, how many left something over."""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MOST_FAILURES = 10
"""After so many a campaign ends: the first one is looked at anyhow."""

TRIES_OF_A_CHILD = 2_000


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
    chosen: Sequence[str] = ()
    """The kinds of tries that were asked for; all, if empty."""

    @property
    def numbers(self) -> range:
        """The tries' own numbers: what a try does follows from the seed and its number alone."""
        return range(self.first, self.first + self.count)


def asked(description: str, tries: int, arguments: Sequence[str] | None = None, *, kinds: str = "") -> Asked:
    """Which tries, by a seed that is printed. Ranges of one seed add up, in whatever order they are run.

    Args:
        description: of the campaign.
        tries: how many, where nobody says.
        arguments: the command line's, or others.
        kinds: what the campaign's kinds of tries are called, if they can be chosen.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="first", type=int, default=0, help="number of the first try")
    parser.add_argument("--count", "--tries", type=int, default=tries, help="how many tries")
    parser.add_argument("--seed", type=int, default=None)
    if kinds:
        parser.add_argument(f"--{kinds}", dest="chosen", type=lambda words: words.split(","), default=())
    found = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(10**9) if found.seed is None else found.seed
    print(f"seed {seed}, tries {found.first} to {found.first + found.count - 1}", flush=True)
    return Asked(seed, found.first, found.count, tuple(found.chosen) if kinds else ())


def count_in_children(
    numbers: range,
    judged: Callable[[int], tuple[str, str]],
    kept: Callable[[int], Path],
    longest_seconds: float,
    tally: Tally,
) -> None:
    """Count tries in a child, and in a new one after each that a try has ended: by a crash, or as it took too long.

    A child ends also after `TRIES_OF_A_CHILD`: what caches and a fragmented memory take is not a try's.

    Args:
        numbers: of the tries.
        judged: what became of one: an outcome, or a fault that is not empty.
        kept: saves what a failed try had, and says where.
        longest_seconds: of one try, by the clock.
        tally: what is counted into.
    """
    done = numbers.start
    while done < numbers.stop and len(tally.failures) < MOST_FAILURES:
        for outcome, fault in _in_a_child(
            range(done, min(numbers.stop, done + TRIES_OF_A_CHILD)), judged, longest_seconds
        ):
            if fault:
                tally.failures.append(f"try {done}, saved as {kept(done)}: {fault}")
                print(tally.failures[-1], flush=True)
            else:
                tally.outcomes[outcome] += 1
            done += 1
            if len(tally.failures) >= MOST_FAILURES:
                break


def _in_a_child(
    numbers: range, judged: Callable[[int], tuple[str, str]], longest_seconds: float
) -> Iterator[tuple[str, str]]:
    """The outcomes of the tries, one after the other, until all are done or the child has died of one."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.close(reading)
        with contextlib.suppress(BrokenPipeError), os.fdopen(writing, "w", encoding="utf-8") as answers:
            for number in numbers:
                faulthandler.dump_traceback_later(longest_seconds, exit=True)
                answers.write(json.dumps(judged(number)) + "\n")
                answers.flush()
        os._exit(0)
    os.close(writing)
    done = 0
    with os.fdopen(reading, encoding="utf-8") as lines:
        for line in lines:
            done += 1
            outcome, fault = json.loads(line)
            yield outcome, fault
    _, status = os.waitpid(child, 0)
    if done < len(numbers):
        yield "", f"the process ended with status {os.waitstatus_to_exitcode(status)}"
