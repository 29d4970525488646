"""Simulated sweeps over cores whose truth is known, and what the same systems do with twice and four times the most.

Threads go with cores by one rule per system: one to eight per core, or one number whatever the cores. A serial place
(latch, log or device) fills up with some number of cores, in the sweep, beyond it or never.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from calibration.scaling import Family, Twin
from calibration.threads import Law, System, constant, exponential, heavy, simulate
from tdelta.records.scaling import Axis

OPERATIONS = 4000
LIMIT = 1.15
"""Of a limit beyond the sweep: how much more it serves than the system does with the sweep's most cores."""
CORES = (2, 4, 8, 16)

Draw = Callable[[np.random.Generator, int], tuple[Twin, Twin]]


def _base(random: np.random.Generator, law: Law = exponential) -> System:
    """One operation without anything serial, on one core."""
    work = random.uniform(0.2, 1.0)
    return System(1, work, away=work * random.uniform(0.05, 2.0), law=law)


def _serial(random: np.random.Generator, plain: System) -> System:
    """With a latch, a log and a device, one of which is full with two to 512 cores, the others later."""
    full_at = 2.0 ** random.uniform(1.0, 9.0)
    shares = random.permutation([1.0, *random.uniform(0.0, 0.7, 2)]) * plain.work / full_at
    return replace(plain, latch=shares[0], log=shares[1], device=shares[2])


def _factors(random: np.random.Generator) -> dict[str, float]:
    return {name: float(np.exp(random.uniform(0.0, 0.3))) for name in ("work", "latch", "log")}


def _per_core(random: np.random.Generator) -> Callable[[int], int]:
    per_core = int(random.integers(1, 9))
    return lambda cores: per_core * cores


def _twins(
    plain: System,
    other: System,
    threads: Callable[[int], int],
    slower: tuple[Callable[[int], float], Callable[[int], float]] = (lambda _: 1.0, lambda _: 1.0),
) -> tuple[Twin, Twin]:
    def twin(system: System, by: Callable[[int], float]) -> Twin:
        return Twin(lambda cores: replace(system, cores=cores, work=system.work * by(cores)), threads)

    return twin(plain, slower[0]), twin(other, slower[1])


def _with_law(law: Law) -> Draw:
    def draw(random: np.random.Generator, _: int) -> tuple[Twin, Twin]:
        plain = _serial(random, _base(random, law))
        return _twins(plain, plain.encrypted(**_factors(random)), _per_core(random))

    return draw


def _fixed(random: np.random.Generator, most: int) -> tuple[Twin, Twin]:
    """One number of threads, one to eight times the most cores of the sweep."""
    plain = _serial(random, _base(random))
    threads = round(most * 2.0 ** random.uniform(0.0, 3.0))
    return _twins(plain, plain.encrypted(**_factors(random)), lambda _: threads)


def _coherent(random: np.random.Generator, _: int) -> tuple[Twin, Twin]:
    """Work on a core grows with every doubling of cores, by up to 10 % of it, of the encrypted twin by twice that."""
    share = random.uniform(0.0, 0.1)

    def by(share: float) -> Callable[[int], float]:
        return lambda cores: 1.0 + share * float(np.log2(cores))

    plain = _serial(random, _base(random))
    return _twins(plain, plain.encrypted(**_factors(random)), _per_core(random), (by(share), by(2.0 * share)))


def _retrograde(random: np.random.Generator, most: int) -> tuple[Twin, Twin]:
    """From some number of cores on, in the sweep or beyond, each core hinders the others; encrypted somewhat more."""
    since, more = most * 2.0 ** random.uniform(-2.0, 1.0), random.uniform(1.0, 1.5)
    share = random.uniform(0.05, 0.5)

    def by(share: float) -> Callable[[int], float]:
        return lambda cores: 1.0 + share * max(0.0, cores / since - 1.0)

    plain = _serial(random, _base(random))
    return _twins(plain, plain.encrypted(**_factors(random)), _per_core(random), (by(share), by(share * more)))


def _last(random: np.random.Generator, free: System, most: int, threads: int) -> float:
    """Operations per second with the sweep's most cores where nothing is serial."""
    return simulate(replace(free, cores=most), threads, OPERATIONS, int(random.integers(2**32))).throughput


def _limited_beyond(random: np.random.Generator, most: int) -> tuple[Twin, Twin]:
    """A latch, a log or a device that is full, of the plain twin, at 1.15 times the sweep's last throughput."""
    free, threads = _base(random), _per_core(random)
    seconds = 1.0 / (LIMIT * _last(random, free, most, threads(most)))
    plain = replace(free, **{str(random.choice(["latch", "log", "device"])): seconds})
    return _twins(plain, plain.encrypted(**_factors(random)), threads)


def _log_beyond(law: Law, *, of_encrypted: bool) -> Draw:
    """A log that encryption makes 30 to 50 % slower, and the work on a core by 5 to 15 %.

    It is full at 1.15 times the last throughput of the plain twin, so that the encrypted one's may be full before, or
    of the encrypted twin, so that the sweep shows neither.
    """

    def draw(random: np.random.Generator, most: int) -> tuple[Twin, Twin]:
        free, threads = _base(random, law), _per_core(random)
        work, log = random.uniform(1.05, 1.15), random.uniform(1.3, 1.5)
        first = free.encrypted(work=work) if of_encrypted else free
        seconds = 1.0 / (LIMIT * _last(random, first, most, threads(most)))
        plain = replace(free, log=seconds / log if of_encrypted else seconds)
        return _twins(plain, plain.encrypted(work=work, log=log), threads)

    return draw


def _family(draw: Draw, measured: tuple[int, ...] = CORES) -> Family:
    return Family(draw, measured, OPERATIONS, Axis.CORES)


FAMILIES = {
    "constant": _family(_with_law(constant)),
    "exponential": _family(_with_law(exponential)),
    "heavy": _family(_with_law(heavy)),
    "fixed": _family(_fixed),
    "coherent": _family(_coherent),
    "retrograde": _family(_retrograde),
    "limit-beyond": _family(_limited_beyond),
    "log-beyond": _family(_log_beyond(exponential, of_encrypted=False)),
    "log-unseen": _family(_log_beyond(exponential, of_encrypted=True)),
    "log-unseen-constant": _family(_log_beyond(constant, of_encrypted=True)),
    "long": _family(_with_law(exponential), (1, 2, 4, 8, 16, 32)),
}
