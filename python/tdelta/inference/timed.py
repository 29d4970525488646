"""What an engine's own calls of ciphers took, timed where they happen: JSON values of a session, as an operation's.

A preload times every call that a server makes into OpenSSL, in trials of instances of their own that nobody measures
(`tdelta.session.collectors.timed_calls`). What is here is the mean over these trials, brought to as many pages as the
measured trials had, where both are counted, since a fresh instance's cache may miss more or less often.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tdelta.inference.posterior import FloatArray
from tdelta.records import ComponentKind, TimedCalls

_LEAST_SHARE = 0.005
"""Of the whole line: calls that took less are not listed."""


@dataclass(frozen=True, slots=True)
class TimedTrial:
    """One trial: its operations, pages decrypted and encrypted (None where they are not counted), and its calls."""

    operations: int
    pages: tuple[float, float] | None
    calls: tuple[TimedCalls, ...]
    """Sums over the trial."""


@dataclass(frozen=True, slots=True)
class Timed:
    """All timed trials of one condition; ``fault`` says why there are none."""

    trials: tuple[TimedTrial, ...] = ()
    fault: str = ""

    def us(self, kind: ComponentKind, pages: tuple[float, float] | None) -> FloatArray:
        """What the calls of a line took in each trial, µs per operation, at so many pages decrypted and encrypted."""
        return np.array([sum(one.us for one in calls) for calls in self._by_trial(kind, pages)])

    def mean(self, kind: ComponentKind, pages: tuple[float, float] | None) -> tuple[TimedCalls, ...]:
        """The calls of a line, of a mean operation, those that took most first."""
        found: dict[tuple[str, str, str], list[TimedCalls]] = {}
        for calls in self._by_trial(kind, pages):
            for one in calls:
                found.setdefault((one.name, one.kind, one.direction), []).append(one)
        means = [_sum(of).times(1 / len(self.trials)) for of in found.values()]
        whole = sum(one.us for one in means)
        kept = [one for one in means if one.us >= _LEAST_SHARE * whole]
        return tuple(sorted(kept, key=lambda one: -one.us))

    def _by_trial(self, kind: ComponentKind, pages: tuple[float, float] | None) -> Iterator[list[TimedCalls]]:
        for trial in self.trials:
            yield [
                one.times(_pages_more(trial, pages) / trial.operations) for one in trial.calls if _line_of(one) is kind
            ]


def _line_of(calls: TimedCalls) -> ComponentKind:
    return ComponentKind.INTEGRITY if calls.kind == "mac" else ComponentKind.CIPHER


def _pages_more(trial: TimedTrial, pages: tuple[float, float] | None) -> float:
    """How many times the pages of an operation of a timed trial the measured ones had; 1 where they are not counted."""
    timed = 0.0 if trial.pages is None else sum(trial.pages) / trial.operations
    return sum(pages) / timed if pages is not None and timed and sum(pages) else 1.0


def _sum(calls: Sequence[TimedCalls]) -> TimedCalls:
    first = calls[0]
    totals = (sum(getattr(one, name) for one in calls) for name in ("starts", "calls", "bytes", "us"))
    return TimedCalls(first.name, first.kind, first.direction, *totals)
