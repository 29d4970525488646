from collections.abc import Sequence

import numpy as np

from tdelta.inference.posterior import FloatArray
from tdelta.records import Binned, Bins, Figure, Group, Level, Origin, Samples, Series, Summary

ORIGIN = Origin("file.csv", "CSV")


def group(
    condition: str,
    *,
    run: str = "1",
    transaction: str = "all",
    metric: str = "response_time",
    levels: tuple[tuple[str, Level], ...] = (),
) -> Group:
    unit = {"response_time": "ms", "throughput": "/s"}.get(metric, "s")
    return Group(condition, transaction, metric, unit, run, levels)


def log_bins(values: FloatArray, width: float = 0.015) -> Bins:
    first, last = np.floor(np.log(values.min()) / width), np.floor(np.log(values.max()) / width) + 1.0
    edges = np.exp(width * np.arange(first, last + 1.0))
    counts, _ = np.histogram(values, edges)
    return Bins(tuple(map(float, edges)), tuple(map(int, counts)))


def samples(of: Group, values: FloatArray, *, stretches: int = 0) -> Samples:
    parts = np.array_split(values, stretches) if stretches else []
    return Samples(
        of,
        ORIGIN,
        len(values),
        float(values.sum()),
        float(np.log(values).sum()),
        float((values**2).sum()),
        float(values.min()),
        float(values.max()),
        log_bins(values),
        tuple((len(part), float(part.sum())) for part in parts),
    )


def binned(of: Group, values: FloatArray, edges: Sequence[float] | None = None) -> Binned:
    if edges is None:
        return Binned(of, ORIGIN, log_bins(values))
    counts, _ = np.histogram(values, np.array(edges))
    return Binned(of, ORIGIN, Bins(tuple(edges), tuple(map(int, counts))))


def summary(of: Group, values: FloatArray) -> Summary:
    return Summary(of, ORIGIN, len(values), float(values.mean()), float(values.std(ddof=1)))


def series(of: Group, values: FloatArray, seconds: float = 1.0) -> Series:
    return Series(of, ORIGIN, seconds, tuple(map(float, values)))


def figure(of: Group, value: float) -> Figure:
    return Figure(of, ORIGIN, value)


def gamma_values(mean: float, cv: float, count: int, seed: int) -> FloatArray:
    shape = 1.0 / cv**2
    return np.random.default_rng(seed).gamma(shape, mean / shape, count)
