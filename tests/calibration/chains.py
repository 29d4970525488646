"""The draws of a sampler, and how much they may be off: references for tdelta's quadratures."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Chains:
    """Draws of one quantity, shape (chains, draws), and how long the sampler took for all that it was asked for."""

    draws: Array
    seconds: float

    @property
    def mean(self) -> float:
        return float(self.draws.mean())

    @property
    def sd(self) -> float:
        return float(self.draws.std(ddof=1))

    @property
    def effective(self) -> float:
        """Effective draws: Geyer's initial positive sequence (1992, Statistical Science 7:473), chain by chain."""
        return float(sum(_effective(chain) for chain in self.draws))

    @property
    def error(self) -> float:
        return self.sd / float(np.sqrt(self.effective))

    def hdi(self, mass: float) -> tuple[float, float]:
        """The shortest interval that holds so much of the draws."""
        values = np.sort(self.draws.ravel())
        held = int(np.ceil(mass * len(values)))
        at = int(np.argmin(values[held:] - values[:-held]))
        return float(values[at]), float(values[at + held])

    def quantile(self, probability: float) -> float:
        return float(np.quantile(self.draws, probability))

    def quantile_error(self, probability: float) -> float:
        """Its Monte-Carlo standard error, the density read off neighbouring quantiles."""
        step = min(0.02, probability / 2, (1 - probability) / 2)
        slope = (self.quantile(probability + step) - self.quantile(probability - step)) / (2 * step)
        return slope * float(np.sqrt(probability * (1 - probability) / self.effective))


def _effective(chain: Array) -> float:
    count = len(chain)
    away = chain - chain.mean()
    spectrum = np.fft.rfft(away, 2 * count)
    covariance = np.fft.irfft(spectrum * np.conj(spectrum))[:count] / count
    if covariance[0] <= 0.0:
        return float(count)
    rho = covariance / covariance[0]
    pairs = rho[0 : count - 1 : 2] + rho[1:count:2]
    end = int(np.argmax(pairs <= 0.0)) if (pairs <= 0.0).any() else len(pairs)
    return float(min(count, count / max(2.0 * pairs[:end].sum() - 1.0, 1e-9)))
