"""Age: how a condition's ratio changes while its instances are at work.

The blocks of a round share their instances, so that a block's place in its round is their age. In each round the slope
of the log ratio against age is that of Theil and Sen (Sen 1968, the median of the slopes between all pairs of blocks),
which a few stalls do not move. Rounds have instances of their own, which age as they happen to: the interval is
Student's, from the scatter of the rounds' slopes alone. So noise that carries over from one block to the next, which
makes a slope look surer than it is within one round, is in it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tdelta.inference.pictures import PairedRatios, paired_ratios
from tdelta.inference.posterior import FloatArray
from tdelta.inference.quantiles import t_quantile
from tdelta.records import AgeBin, Ageing, RunSettings, Trial

FEWEST_ROUNDS = 4
"""Of three or fewer the interval would be wider than anything that could be said."""

FEWEST_BLOCKS = 12
"""In a round; fewer are no age to speak of."""

_BINS = 6


def ageing(trials: Iterable[Trial], settings: RunSettings) -> tuple[Ageing, ...]:
    """The change with age of every judged condition and A/A twin, in the order of `paired_ratios`.

    Of rounds of at least `FEWEST_BLOCKS` complete blocks; none where there are fewer than `FEWEST_ROUNDS` of them.
    """
    return tuple(found for pairs in paired_ratios(trials, settings) if (found := _of_condition(pairs)) is not None)


def slopes(log_ratios: Sequence[FloatArray]) -> FloatArray:
    """The slope of each round, per block.

    Args:
        log_ratios: for each round an array of shape (blocks,), at least two blocks.
    """
    return np.array([_theil_sen(values) for values in log_ratios])


def interval(found: FloatArray, mass: float) -> tuple[float, float]:
    """Student's interval of the rounds' mean slope; ``mass`` of it, at least two rounds."""
    half = float(t_quantile(0.5 + 0.5 * mass, found.size - 1)) * float(found.std(ddof=1)) / found.size**0.5
    centre = float(found.mean())
    return centre - half, centre + half


def _theil_sen(values: FloatArray) -> float:
    first, second = np.triu_indices(values.size, 1)
    return float(np.median((values[second] - values[first]) / (second - first)))


def _of_condition(pairs: PairedRatios) -> Ageing | None:
    rounds = [np.flatnonzero(pairs.rounds == number) for number in np.unique(pairs.rounds)]
    rounds = [blocks for blocks in rounds if blocks.size >= FEWEST_BLOCKS]
    if len(rounds) < FEWEST_ROUNDS:
        return None
    found = slopes([np.log(pairs.ratio[blocks]) for blocks in rounds])
    fewest = min(blocks.size for blocks in rounds)
    last = fewest - 1
    ages = [pairs.started_unix_seconds[blocks] - pairs.started_unix_seconds[blocks[0]] for blocks in rounds]
    return Ageing(
        condition=pairs.condition,
        rounds=len(rounds),
        blocks=fewest,
        seconds=float(np.median([age[last] for age in ages])),
        change=float(np.exp(last * found.mean())),
        hdi95=_change(interval(found, 0.95), last),
        hdi99=_change(interval(found, 0.99), last),
        bins=tuple(_bins(pairs, rounds, ages, fewest)),
    )


def _change(ends: tuple[float, float], last: int) -> tuple[float, float]:
    return float(np.exp(last * ends[0])), float(np.exp(last * ends[1]))


def _bins(
    pairs: PairedRatios, rounds: Sequence[np.ndarray], ages: Sequence[FloatArray], fewest: int
) -> Iterator[AgeBin]:
    for places in np.array_split(np.arange(fewest), _BINS):
        logs = np.concatenate([np.log(pairs.ratio[blocks[places]]) for blocks in rounds])
        seconds = float(np.median([age[places[-1]] for age in ages]))
        yield AgeBin(seconds, logs.size, float(np.exp(logs.mean())))
