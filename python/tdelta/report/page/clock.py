"""When blocks ran, the pauses of a resumed run cut short: a night in between is not what a figure is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_LEAST_PAUSE_SECONDS = 60.0
_PAUSE_GAPS = 20.0
_SHOWN_GAPS = 5.0


@dataclass(frozen=True, slots=True)
class Clock:
    """Turns moments into seconds since the first block, pauses cut short.

    Attributes:
        moments: shape (n,), Unix seconds, increasing.
        seconds: shape (n,), where each is drawn.
        pauses: how many were cut.
    """

    moments: NDArray[np.float64]
    seconds: NDArray[np.float64]
    pauses: int

    def at(self, unix_seconds: float) -> float:
        return float(np.interp(unix_seconds, self.moments, self.seconds))

    @property
    def title(self) -> str:
        if not self.pauses:
            return "since the first block"
        return f"since the first block, {self.pauses} pause{'' if self.pauses == 1 else 's'} cut short"


def clock(moments: Sequence[float]) -> Clock:
    """The clock of these moments, in any order; at least one.

    A pause is a gap of more than a minute that is also twenty times the usual one.
    """
    known = np.unique(np.array(moments, dtype=np.float64))
    gaps = np.diff(known)
    usual = float(np.median(gaps)) if len(gaps) else 0.0
    is_pause = gaps > max(_LEAST_PAUSE_SECONDS, _PAUSE_GAPS * usual)
    drawn = np.where(is_pause, _SHOWN_GAPS * usual, gaps)
    return Clock(known, np.concatenate([[0.0], np.cumsum(drawn)]), int(is_pause.sum()))
