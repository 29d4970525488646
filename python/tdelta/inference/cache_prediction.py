"""What if the cache were larger or smaller? Overhead against cache share, out of pages and prices.

At a share c an operation decrypts x(c) pages and encrypts y(c), which at the prices of the code under test is p(c) µs.
What was measured need not be p: over the measured cells the extra time is fitted as ``(1 + r) p + e``, with priors that
believe in prices (r ~ N(0, 0.5), e ~ N(0, 2 % of the plain time)) and the scatter about that line estimated. Pages
and the plain twins' time at a share that was not measured are interpolated twice, over the share and over its
logarithm, without ever rising with the share; what the two differ by is taken for the interpolation's error.

Limits: one kind of work, one machine; the shares within, or not far beyond, those that were measured. The extra time is
modelled as work on the operations' path: where threads wait for a disk or for one another it is no guide, and what is
fitted without a cell says so by missing it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from tdelta.design.factors import cache_bytes
from tdelta.inference.costs import panels
from tdelta.inference.fits import CostFit, fit_metrics
from tdelta.inference.page_counts import crossed_pages
from tdelta.inference.posterior import FloatArray, posterior
from tdelta.inference.prices import PagePrices
from tdelta.records import Band, CacheCell, CachePoint, CachePrediction, Condition, Metric, RunSettings, Trial

FEWEST_CELLS = 4
"""A line of two coefficients without one of these leaves one point to estimate scatter from."""

_CHECKED = ("bytes", "cache", "engine")
"""What counts pages where curves were checked (benches/cache_prediction.py): SQLite, SQLCipher, MariaDB."""

_FACTOR = "cache"
_PRICE_TRUST, _CONSTANT_TRUST = 0.5, 0.02
_POINTS = 25
_DRAWS = 4000
_SEED = 20_250_301
_LEAST_ERROR = 0.005
"""Of the plain time: no cell is known better than instances differ."""


@dataclass(frozen=True, slots=True)
class _CellCost:
    """One metric of one cell: the plain time, and the ratio over it with its standard error."""

    plain_us: float
    ratio: Band
    extra_us: float
    error_us: float


@dataclass(frozen=True, slots=True)
class _Cell:
    """One measured cell."""

    condition: Condition
    cache: float
    read: float
    written: float
    seen: Mapping[Metric, _CellCost]


_PAGES = (attrgetter("read"), attrgetter("written"))
_METRICS = (Metric.CPU_PER_OPERATION, Metric.RESPONSE_TIME)


def cache_predictions(
    trials: Iterable[Trial], settings: RunSettings, prices: Mapping[str, PagePrices]
) -> tuple[CachePrediction, ...]:
    """The curves of every kind of encrypted twin that was measured at four cache shares or more.

    Args:
        trials: the run's.
        settings: the run's.
        prices: by the condition's key; kinds without are left out, and those whose curves were never held against
            cells that were left out.
    """
    found = panels(trials, settings)
    if len({dict(p.baseline.levels).get(_FACTOR) for p in found}) < FEWEST_CELLS:
        return ()
    fits = fit_metrics(found, _METRICS, settings.instance_effect)
    seen = {metric: _seen(fits[metric]) for metric in _METRICS}
    kinds: dict[tuple[object, ...], list[_Cell]] = {}
    for panel in found:
        for condition in panel.conditions:
            known = {metric: seen[metric][condition.key] for metric in _METRICS if condition.key in seen[metric]}
            of = prices.get(condition.key)
            pages = None if of is None or of.counted not in _CHECKED else crossed_pages(panel, condition, of)
            share = _share(condition, settings)
            if len(known) == len(_METRICS) and pages is not None and share is not None:
                cell = _Cell(condition, share, *pages, known)
                kinds.setdefault(_kind(condition), []).append(cell)
    return tuple(
        _prediction(sorted(cells, key=lambda cell: cell.cache), prices[cells[0].condition.key])
        for cells in kinds.values()
        if len(cells) >= FEWEST_CELLS
    )


def _share(condition: Condition, settings: RunSettings) -> float | None:
    """The share of the data that a condition's cache holds; None where it is a size and the data's is not known."""
    level = condition.level(_FACTOR)
    if not isinstance(level, str):
        return float(level)
    data = settings.options.get("size_bytes") if settings.database is None else settings.database.size_bytes
    return cache_bytes(level, data) / data if isinstance(data, int) and data else None


def _kind(condition: Condition) -> tuple[object, ...]:
    return tuple(level for level in condition.levels if level[0] != _FACTOR)


def _seen(fit: CostFit) -> dict[str, _CellCost]:
    found = {}
    for fitted, condition, mixture in fit.data():
        if condition.is_encrypted:
            known, plain = posterior(mixture), fitted.baseline_value
            ratio = float(np.exp(known.quantile(0.5)))
            low, high = known.ratio_hdi(0.95)
            error = max((high - low) / 3.92, _LEAST_ERROR)
            found[condition.key] = _CellCost(plain, Band(ratio, (low, high)), plain * (ratio - 1.0), plain * error)
    return found


def _prediction(cells: Sequence[_Cell], prices: PagePrices) -> CachePrediction:
    low, high = cells[0].cache, cells[-1].cache
    points = []
    for cache in np.geomspace(low, high, _POINTS):
        cpu, response = (_predicted(cells, prices, metric, float(cache)) for metric in _METRICS)
        read, written = (float(_between(cells, of, float(cache))[0]) for of in _PAGES)
        points.append(CachePoint(float(cache), read, written, cpu, response))
    return CachePrediction(
        cells[0].condition, tuple(points), tuple(_left_out(cells, at, prices) for at in range(len(cells)))
    )


def _left_out(cells: Sequence[_Cell], at: int, prices: PagePrices) -> CacheCell:
    cell, others = cells[at], [*cells[:at], *cells[at + 1 :]]
    cpu, response = (cell.seen[metric].ratio for metric in _METRICS)
    by_cpu, by_response = (_predicted(others, prices, metric, cell.cache) for metric in _METRICS)
    held = [_holds(by_cpu, cpu), _holds(by_response, response)]
    return CacheCell(cell.condition, cell.cache, cpu, response, by_cpu, by_response, *held)


def _holds(predicted: Band, measured: Band) -> bool:
    return predicted.band95[0] <= measured.median <= predicted.band95[1]


def _predicted(cells: Sequence[_Cell], prices: PagePrices, metric: Metric, cache: float) -> Band:
    """The quotient at a share, from these cells; its band is for what a cell like them would measure there."""
    random = np.random.default_rng(_SEED)
    normal = random.standard_normal((4, _DRAWS))
    priced = np.array([c.read * prices.read.us + c.written * prices.write.us for c in cells])
    seen = [c.seen[metric] for c in cells]
    plain = np.array([s.plain_us for s in seen])
    extra, error = (np.array([getattr(s, name) for s in seen]) for name in ("extra_us", "error_us"))
    mean, covariance, df = _line(priced, extra, error, float(plain.mean()))
    scatter = np.sqrt(df / random.chisquare(df, _DRAWS))
    line = mean[:, None] + np.linalg.cholesky(covariance) @ normal[:2] * scatter
    read, written, plain_us = (
        _drawn(_between(cells, of, cache), random.standard_normal(_DRAWS))
        for of in (*_PAGES, lambda cell: cell.seen[metric].plain_us)
    )
    at = read * prices.read.us + written * prices.write.us
    noise = float(np.median(error / plain)) * normal[2] * scatter
    quotient = 1.0 + (line[0] * at + line[1]) / np.maximum(plain_us, 1e-9) + noise
    low, median, high = np.quantile(quotient, (0.025, 0.5, 0.975))
    return Band(float(median), (float(low), float(high)))


def _line(
    priced: FloatArray, extra: FloatArray, error: FloatArray, plain_us: float
) -> tuple[FloatArray, FloatArray, int]:
    """Slope and constant of the extra time over its price: posterior mean, covariance (scaled), degrees of freedom."""
    design = np.stack([priced, np.ones_like(priced)], axis=1)
    prior_mean = np.array([1.0, 0.0])
    prior_precision = np.diag([_PRICE_TRUST**-2, (_CONSTANT_TRUST * plain_us) ** -2])
    weights = error**-2
    precision = prior_precision + (design * weights[:, None]).T @ design
    covariance = np.linalg.inv(precision)
    mean = covariance @ (prior_precision @ prior_mean + design.T @ (weights * extra))
    df = max(len(priced) - 1, 1)
    misfit = float((weights * (extra - design @ mean) ** 2).sum()) / df
    return np.asarray(mean), np.asarray(covariance * max(1.0, misfit)), df


def _between(cells: Sequence[_Cell], of: Callable[[_Cell], float], cache: float) -> tuple[float, float]:
    """A quantity at a share, and how far two ways to interpolate are apart; beyond the cells, along the last two."""
    shares = np.array([cell.cache for cell in cells])
    values = np.minimum.accumulate(np.array([of(cell) for cell in cells]))
    ways = [_along(shares, values, cache), _along(np.log(shares), values, float(np.log(cache)))]
    return max(0.0, 0.5 * (ways[0] + ways[1])), abs(ways[0] - ways[1])


def _along(x: FloatArray, values: FloatArray, at: float) -> float:
    upper = int(np.clip(np.searchsorted(x, at), 1, len(x) - 1))
    slope = (values[upper] - values[upper - 1]) / (x[upper] - x[upper - 1])
    return max(0.0, float(values[upper - 1] + slope * (at - x[upper - 1])))


def _drawn(known: tuple[float, float], normal: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(0.0, known[0] + known[1] * normal), dtype=np.float64)
