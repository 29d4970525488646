"""What the published experiments found, figure by figure, to be set beside what is measured here.

Facts with their source, never an opinion of them. ``ratio`` is a cost with encryption over the same cost without, so
that above 1 is worse; where throughput was published it is plain over encrypted, which in a closed loop is the time of
an operation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_RECURRENTNULL = "recurrentnull blog, 2015; Oracle 12.1.0.2"
_PERCONA = "Percona blog, 2019; Percona Server 8.0"
_BROWNE = "David Browne, Microsoft Technology Center Dallas; SQL Server 2008 era, year not given"
_DML = "One Oracle TDE Performance Test, a blog, 2026; Oracle 19.27"


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """One finding. ``what`` says of what, ``said`` as it was published; ``ratio`` is None where none was given."""

    what: str
    said: str
    source: str
    ratio: float | None = None


def _throughput(where: str, encrypted_tps: float, plain_tps: float) -> PublishedFigure:
    said = f"{encrypted_tps:,.0f} transactions/s encrypted, {plain_tps:,.0f} plain"
    return PublishedFigure(f"time an operation, {where}", said, _PERCONA, plain_tps / encrypted_tps)


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
    "read-only-sweep": (
        _throughput("1 thread, 5 GB of 50 GB cached", 389.11, 423.47),
        _throughput("16 threads, 5 GB of 50 GB cached", 5583.04, 6055.0),
        _throughput("64 threads, 5 GB of 50 GB cached", 8558.6, 8574.43),
        _throughput("2048 threads, 5 GB of 50 GB cached", 8422.24, 8286.65),
        _throughput("1 thread, all in memory", 578.91, 567.65),
        _throughput("64 threads, all in memory", 20007.22, 19821.48),
    ),
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
