"""Simulated sweeps over threads whose truth is known, to 64 threads, and what the same systems do with 128 and 256.

The families: what the model of `tdelta.inference.scaling` is near to, and what it does not have in it: growing
contention, a limit that the sweep does not reach, threads that hinder each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from calibration.threads import Law, System, constant, exponential, heavy, simulate
from tdelta.inference.scaling import predict_ratio
from tdelta.records.cache_prediction import Band
from tdelta.records.scaling import Axis

OPERATIONS = 2000
LIMIT = 1.15
"""Of a limit beyond the sweep: how much more it serves than the system does with the sweep's last number of threads."""


def _as_many(number: int) -> int:
    return number


@dataclass(frozen=True)
class Twin:
    """The system at each number of what a sweep is over, and how many threads it has there."""

    system: Callable[[int], System]
    threads: Callable[[int], int] = _as_many

    def throughput(self, at: int, operations: int, seed: int) -> float:
        """Operations per second."""
        return simulate(self.system(at), self.threads(at), operations, seed).throughput


@dataclass(frozen=True)
class Family:
    """Systems of one kind.

    Attributes:
        draw: makes plain and encrypted twin, for a sweep to so many.
        measured: the sweep's numbers of threads, or of cores.
        over: which of both they are.
        operations: simulated for each figure.
    """

    draw: Callable[[np.random.Generator, int], tuple[Twin, Twin]]
    measured: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    operations: int = OPERATIONS
    over: Axis = Axis.THREADS

    @property
    def beyond(self) -> tuple[int, int]:
        """Twice and four times the most."""
        return 2 * self.measured[-1], 4 * self.measured[-1]


@dataclass(frozen=True)
class Sweep:
    """Operations per second of both twins, by number of threads or cores."""

    over: Axis
    measured: tuple[int, ...]
    beyond: tuple[int, ...]
    plain: dict[int, float]
    encrypted: dict[int, float]

    def ratio(self, at: int) -> float:
        """Time per operation, encrypted over plain."""
        return self.plain[at] / self.encrypted[at]


def sweeps(families: Mapping[str, Family], name: str, how_many: int, seed: int) -> Iterator[Sweep]:
    """Systems of one family, one after the other, each from a seed of its own."""
    family = families[name]
    for at in range(how_many):
        random = np.random.default_rng([seed, list(families).index(name), at])
        twins = family.draw(random, family.measured[-1])
        numbers = (*family.measured, *family.beyond)
        plain, encrypted = (
            {n: twin.throughput(n, family.operations, int(random.integers(2**32))) for n in numbers} for twin in twins
        )
        yield Sweep(family.over, family.measured, family.beyond, plain, encrypted)


def _system(random: np.random.Generator) -> System:
    work, cores = random.uniform(0.2, 1.0), int(random.integers(2, 17))
    serial = work / cores * np.exp(random.normal(-1.0, 1.0))
    in_latch = random.uniform(0.0, 0.5)
    return System(
        cores, work, away=work * random.uniform(0.05, 2.0), latch=serial * in_latch, log=serial * (1.0 - in_latch)
    )


def _factors(random: np.random.Generator) -> dict[str, float]:
    return {name: float(np.exp(random.uniform(0.0, 0.3))) for name in ("work", "latch", "log")}


def _with_law(law: Law) -> Callable[[np.random.Generator, int], tuple[Twin, Twin]]:
    def draw(random: np.random.Generator, _: int) -> tuple[Twin, Twin]:
        plain = replace(_system(random), law=law)
        other = plain.encrypted(**_factors(random))
        return Twin(lambda _: plain), Twin(lambda _: other)

    return draw


def _slowed(
    plain: System, other: System, by: tuple[Callable[[int], float], Callable[[int], float]]
) -> tuple[Twin, Twin]:
    return (
        Twin(lambda n: replace(plain, work=plain.work * by[0](n))),
        Twin(lambda n: replace(other, work=other.work * by[1](n))),
    )


def _contended(random: np.random.Generator, _: int) -> tuple[Twin, Twin]:
    """Work on a core grows from 16 threads on with every doubling, by 10 % of it, of the encrypted twin by 20 %."""

    def by(share: float) -> Callable[[int], float]:
        return lambda n: 1.0 + share * max(0.0, float(np.log2(n / 16)))

    plain = _system(random)
    return _slowed(plain, plain.encrypted(**_factors(random)), (by(0.1), by(0.2)))


def _thrashing(random: np.random.Generator, _: int) -> tuple[Twin, Twin]:
    """Beyond some number of threads, in the sweep or not, throughput falls; of the encrypted twin somewhat faster."""
    since, share, more = 2.0 ** random.uniform(4.0, 7.0), random.uniform(0.02, 0.1), random.uniform(1.0, 1.5)

    def by(share: float) -> Callable[[int], float]:
        return lambda n: 1.0 + share * max(0.0, n / since - 1.0)

    plain = _system(random)
    return _slowed(plain, plain.encrypted(**_factors(random)), (by(share), by(share * more)))


def _limited_beyond(random: np.random.Generator, most: int) -> tuple[Twin, Twin]:
    """Many cores, and one serial place, a device or the log, that fills up only beyond the sweep."""
    drawn = _system(random)
    plain = replace(drawn, cores=12 * drawn.cores, latch=drawn.latch / 12, log=drawn.log / 12)
    seconds = 1.0 / (LIMIT * simulate(plain, most, OPERATIONS, int(random.integers(2**32))).throughput)
    limited = replace(plain, device=seconds) if random.random() < 0.5 else replace(plain, log=max(plain.log, seconds))
    other = limited.encrypted(**_factors(random))
    return Twin(lambda _: limited), Twin(lambda _: other)


FAMILIES = {
    "constant": Family(_with_law(constant)),
    "exponential": Family(_with_law(exponential)),
    "heavy": Family(_with_law(heavy)),
    "contended": Family(_contended),
    "limit-beyond": Family(_limited_beyond),
    "thrashing": Family(_thrashing),
    "short": Family(_with_law(exponential), measured=(1, 2, 4, 8)),
}


def held(families: Mapping[str, Family], name: str, how_many: int, seed: int) -> list[list[tuple[Band, float]]]:
    """Of each system of a family, the predicted band and the ratio that was seen, for each number beyond its sweep."""
    return [predicted(sweep) for sweep in sweeps(families, name, how_many, seed)]


def predicted(sweep: Sweep) -> list[tuple[Band, float]]:
    """Of one system."""
    plain, encrypted = ([of[n] for n in sweep.measured] for of in (sweep.plain, sweep.encrypted))
    bands = predict_ratio(sweep.measured, plain, encrypted, sweep.beyond, sweep.over)
    return [(band, sweep.ratio(n)) for band, n in zip(bands, sweep.beyond, strict=True)]
