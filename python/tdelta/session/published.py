"""What the published experiments found, figure by figure, to be set beside what is measured here.

Facts with their source, never an opinion of them. ``ratio`` is a cost with encryption over the same cost without, so
that above 1 is worse; where throughput was published it is plain over encrypted, which in a closed loop is the time of
an operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tdelta.records import Condition, Level, PublishedCell, Role

_RECURRENTNULL = "recurrentnull blog, 2015; Oracle 12.1.0.2"
_PERCONA = "Percona blog, 2019; Percona Server 8.0"
_BROWNE = "David Browne, Microsoft Technology Center Dallas; SQL Server 2008 era, year not given"
_DML = "One Oracle TDE Performance Test, a blog, 2026; Oracle 19.27"


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """One finding. ``what`` says of what, ``said`` as it was published; ``ratio`` is None where none was given.

    ``levels`` are the factors' levels under which it was found, where a run may have the same.
    """

    what: str
    said: str
    source: str
    ratio: float | None = None
    levels: tuple[tuple[str, Level], ...] = ()


_SWEEP = (  # threads; transactions/s encrypted and plain with 5 GB of 50 GB cached; the same with all in memory
    (1, 389.11, 423.47, 578.91, 567.65),
    (4, 1531.48, 1673.2, 2289.13, 2275.12),
    (16, 5583.04, 6055.0, 8304.1, 8584.06),
    (32, 8250.61, 8479.61, 13324.02, 13513.39),
    (64, 8558.6, 8574.43, 20007.22, 19821.48),
    (96, 8571.55, 8577.9, 19613.82, 19587.56),
    (128, 8570.5, 8580.68, 19254.68, 19307.82),
    (256, 8576.34, 8585.0, 18694.05, 18693.93),
    (512, 8573.15, 8573.73, 18431.97, 18372.13),
    (1024, 8570.2, 8562.82, 18571.43, 18453.69),
    (2048, 8422.24, 8286.65, 18509.73, 18332.59),
)


def _sweep() -> Iterator[PublishedFigure]:
    """Buffer pools of 5 and of 60 GB for 50 GB of data: a tenth of them, and 120 %."""
    for threads, *tps in _SWEEP:
        name = f"{threads} thread{'' if threads == 1 else 's'}"
        yield _throughput(f"{name}, 5 GB of 50 GB cached", tps[0], tps[1], threads, 0.10)
    for threads, *tps in _SWEEP:
        name = f"{threads} thread{'' if threads == 1 else 's'}"
        yield _throughput(f"{name}, all in memory", tps[2], tps[3], threads, 1.20)


def _throughput(where: str, encrypted_tps: float, plain_tps: float, threads: int, cache: float) -> PublishedFigure:
    said = f"{encrypted_tps:,.0f} transactions/s encrypted, {plain_tps:,.0f} plain"
    levels = (("threads", threads), ("cache", cache))
    return PublishedFigure(f"time an operation, {where}", said, _PERCONA, plain_tps / encrypted_tps, levels)


def _elapsed(what: str, encrypted: float, plain: float, unit: str, source: str) -> PublishedFigure:
    said = f"{encrypted:,.5g} {unit} encrypted, {plain:,.5g} {unit} plain"
    return PublishedFigure(what, said, source, encrypted / plain)


PUBLISHED: Mapping[str, tuple[PublishedFigure, ...]] = {
    "order-entry": (
        PublishedFigure(
            "throughput of each transaction type, AES-128 and AES-256 against none, 4 users",
            "no difference beyond the standard deviations of 25–30 of each type",
            _RECURRENTNULL,
        ),
        PublishedFigure(
            "the same without the AES-NI kernel module",
            "no difference; the module serves the kernel only, so the instructions were never switched off",
            _RECURRENTNULL,
        ),
    ),
    "direct-load": (PublishedFigure("elapsed time, either AES size", "about 1.5 x, mostly CPU", _RECURRENTNULL, 1.5),),
    "read-only-sweep": tuple(_sweep()),
    "warehouse": (
        _elapsed("elapsed, rebuild of the clustered key", 86_807, 66_772, "ms", _BROWNE),
        _elapsed("CPU, rebuild of the clustered key", 3_036_202, 2_721_562, "ms", _BROWNE),
        _elapsed("elapsed, SUM from disk", 4_206, 2_805, "ms", _BROWNE),
        _elapsed("CPU, SUM from disk", 206_093, 43_694, "ms", _BROWNE),
        _elapsed("elapsed, SUM from memory", 940, 941, "ms", _BROWNE),
        _elapsed("CPU, SUM from memory", 59_889, 59_503, "ms", _BROWNE),
    ),
    "dml-trace": (
        _elapsed("elapsed, AIX", 91.65, 42.31, "s", _DML),
        _elapsed("elapsed, Linux with AES-NI", 24.86, 18.54, "s", _DML),
    ),
    "response-times": (
        PublishedFigure(
            "difference of mean response times, Customer Registration, gamma model",
            "95 % HDI −0.69 … +1.89 ms: no difference shown",
            _RECURRENTNULL,
        ),
    ),
}
"""By the name of the study."""


def published_cells(study: str, conditions: Sequence[Condition], fixed: Mapping[str, Level]) -> Iterator[PublishedCell]:
    """What was published for the encrypted conditions of a run, by their levels.

    Args:
        study: the name of the run's study; of others nothing is said.
        conditions: the run's.
        fixed: the levels of factors that the run does not vary.
    """
    for condition in conditions:
        if condition.role is not Role.TREATMENT or condition.level("cipher") == "none":
            continue
        levels = dict(fixed) | dict(condition.levels)
        for figure in PUBLISHED.get(study, ()):
            is_here = figure.levels and all(levels.get(name) == level for name, level in figure.levels)
            if is_here and figure.ratio is not None:
                yield PublishedCell(condition, figure.ratio, figure.said, figure.source)
