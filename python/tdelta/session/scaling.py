"""``tdelta scaling``: the sweep over threads of a stored run or of files, and the overhead predicted beyond it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from tdelta.errors import UsageError
from tdelta.importers.naming import baseline_of
from tdelta.inference.costs import panels, table
from tdelta.inference.scaling import FARTHEST, FEWEST, predict_ratio
from tdelta.messages import Caution, Refusal
from tdelta.records import ALL, Event, Measurement, Observation, Role, RunSettings, Trial
from tdelta.records.conditions import Level
from tdelta.records.observed import THROUGHPUT, Figure, Samples, Series, Summary
from tdelta.records.scaling import Scaling, ScalingCurve, ScalingPoint
from tdelta.session.analyzing import AnalysisRequest, read_observations
from tdelta.session.tables import PREFIX
from tdelta.store import Store

THREADS = "threads"
_NS_PER_SECOND = 1e9
_MS_PER_SECOND = 1e3

Levels: TypeAlias = tuple[tuple[str, Level], ...]


@dataclass(frozen=True, slots=True)
class ScalingRequest:
    """What was typed.

    Attributes:
        threads: to predict; none: twice and four times the most that is fitted.
        fit_to: the largest number of threads that the model is shown; None: all.
        baseline: of files, the condition that the others are compared with; None: found by its name.
    """

    threads: tuple[int, ...] = ()
    fit_to: int | None = None
    baseline: str | None = None


@dataclass(slots=True)
class _Sweep:
    """Operations per second by condition and threads, all repeats, at one level of what else varies."""

    levels: Levels
    rates: dict[str, dict[int, list[float]]] = field(default_factory=dict)

    def add(self, condition: str, threads: int, rates: Iterable[float]) -> None:
        usable = [rate for rate in rates if np.isfinite(rate) and rate > 0.0]
        self.rates.setdefault(condition, {}).setdefault(threads, []).extend(usable)

    def mean(self, condition: str, threads: int) -> float:
        """The geometric mean of repeats.

        Their standard error is not used: repeats in one instance share what sets it apart from others, so that it
        would be too small. What a cell scatters by is inferred from how cells lie about the curve; so it was validated.
        """
        return float(np.exp(np.mean(np.log(self.rates[condition][threads]))))


def scaling_of_files(
    files: tuple[str, ...], request: ScalingRequest, observe: Callable[[Event], None] = lambda _: None
) -> Scaling:
    """The answer from files, folders and published tables.

    Raises:
        UsageError: files or options that cannot be used, or no sweep among them.
    """
    sweeps = _of_observations(read_observations(AnalysisRequest(files, baseline=request.baseline), observe))
    is_published = any(file.startswith(PREFIX) for file in files)
    curves = [curve for sweep in sweeps for curve in _curves(sweep, baseline_of(sweep.rates, request.baseline))]
    return _answered(" ".join(files), curves, request, (Caution.of("published-table"),) if is_published else ())


def scaling_of_run(store: Store, run_id: str, request: ScalingRequest) -> Scaling:
    """The answer from a stored run.

    Raises:
        UsageError: the run has no sweep over threads, or was an open loop.
        UnknownName: there is no such run.
    """
    settings = store.settings(run_id)
    if settings.options.get("rate") is not None or settings.options.get("at") is not None:
        raise UsageError(Refusal.of("scaling-of-open-loop", run=run_id))
    curves = list(_of_trials(store.trials(run_id, histograms=False), settings))
    return _answered(run_id, curves, request, ())


@dataclass(frozen=True, slots=True)
class _Curve:
    """One condition beside the baseline: operations per second of both, by threads in order."""

    levels: Levels
    baseline: str
    condition: str
    rates: dict[int, tuple[float, float]]


def _answered(source: str, curves: Iterable[_Curve], request: ScalingRequest, cautions: tuple[Caution, ...]) -> Scaling:
    found = list(curves)
    fitted = [[n for n in curve.rates if request.fit_to is None or n <= request.fit_to] for curve in found]
    usable = [(curve, threads) for curve, threads in zip(found, fitted, strict=True) if len(threads) >= FEWEST]
    if not usable:
        most = max((len(threads) for threads in fitted), default=0)
        upto = "" if request.fit_to is None else f" up to {request.fit_to}"
        raise UsageError(Refusal.of("no-sweep", source=source, fewest=FEWEST, found=most, upto=upto))
    for _, threads in usable:
        far = [n for n in request.threads if n > FARTHEST * threads[-1]]
        if far:
            given = {"found": max(far), "farthest": FARTHEST, "most": threads[-1], "limit": FARTHEST * threads[-1]}
            raise UsageError(Refusal.of("scaling-too-far", **given))
    return Scaling(source, tuple(_predicted(curve, threads, request) for curve, threads in usable), cautions)


def _predicted(curve: _Curve, fitted: list[int], request: ScalingRequest) -> ScalingCurve:
    held_out = [n for n in curve.rates if n > fitted[-1]]
    asked = request.threads or (() if held_out else (2 * fitted[-1], FARTHEST * fitted[-1]))
    wanted = sorted({*asked, *held_out} - set(fitted))
    near = [n for n in wanted if n <= FARTHEST * fitted[-1]]
    plain, other = zip(*(curve.rates[n] for n in fitted), strict=True)
    bands = dict(zip(near, predict_ratio(fitted, plain, other, near), strict=True)) if near else {}
    points = []
    for threads in sorted({*fitted, *wanted}):
        rates = curve.rates.get(threads)
        plain_rate, ratio = (None, None) if rates is None else (rates[0], rates[0] / rates[1])
        points.append(ScalingPoint(threads, plain_rate, ratio, bands.get(threads)))
    return ScalingCurve(curve.levels, curve.baseline, curve.condition, tuple(points))


def _curves(sweep: _Sweep, baseline: str) -> Iterator[_Curve]:
    for name in sweep.rates:
        if name != baseline:
            both = sorted(n for n in sweep.rates[name] if sweep.rates[name][n] and sweep.rates[baseline].get(n))
            rates = {n: (sweep.mean(baseline, n), sweep.mean(name, n)) for n in both}
            yield _Curve(sweep.levels, baseline, name, rates)


def _of_observations(observations: Iterable[Observation]) -> Iterator[_Sweep]:
    """A sweep for each level of what else varies, of the whole mix where files have it."""
    usable = [(one, rate) for one in observations if (rate := _rate(one)) is not None]
    transactions = {one.group.transaction for one, _ in usable}
    mix = ALL if ALL in transactions else min(transactions, default=ALL)
    found: dict[Levels, _Sweep] = {}
    for one, rate in usable:
        if one.group.transaction == mix:
            levels = tuple((name, level) for name, level in one.group.levels if name != THREADS)
            sweep = found.setdefault(levels, _Sweep(levels))
            sweep.add(one.group.condition, int(dict(one.group.levels)[THREADS]), [rate])
    yield from found.values()


def _rate(one: Observation) -> float | None:
    """Operations per second; of response times in a closed loop without pauses, threads over their mean."""
    threads = dict(one.group.levels).get(THREADS)
    if not isinstance(threads, int) or threads < 1:
        return None
    if one.group.metric == THROUGHPUT:
        if isinstance(one, Figure):
            return one.value
        return float(np.mean(one.values)) if isinstance(one, Series) else None
    mean_ms = one.mean if isinstance(one, Summary) else one.total / one.count if isinstance(one, Samples) else 0.0
    return _MS_PER_SECOND * threads / mean_ms if one.group.unit == "ms" and mean_ms > 0 else None


def _of_trials(trials: Iterable[Trial], settings: RunSettings) -> Iterator[_Curve]:
    """Baseline and treatments of a run; its A/A, B/B and planted twins are left out."""
    found: dict[Levels, _Sweep] = {}
    for panel in panels(trials, settings):
        if not panel.trials or THREADS not in dict(panel.baseline.levels):
            continue
        threads, base = int(panel.baseline.level(THREADS)), dict(panel.baseline.levels)
        fixed = {name for name in base if len({c.level(name) for c in panel.conditions}) == 1} - {THREADS}
        levels = tuple((name, level) for name, level in panel.baseline.levels if name in fixed)
        sweep = found.setdefault(levels, _Sweep(levels))
        rates = table(panel, _operations_per_second)
        for at, condition in enumerate(panel.conditions):
            if condition.role in (Role.BASELINE, Role.TREATMENT):
                own = [str(level) for name, level in condition.levels if base[name] != level]
                sweep.add(", ".join(own) or _PLAIN, threads, rates[:, at])
    for sweep in found.values():
        yield from _curves(sweep, _PLAIN)


_PLAIN = "plain"


def _operations_per_second(measurement: Measurement) -> float:
    return measurement.operations / measurement.elapsed_ns * _NS_PER_SECOND
