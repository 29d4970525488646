"""``tdelta scaling``: a sweep over threads or cores, of a stored run or of files, and the overhead beyond it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tdelta.errors import UsageError
from tdelta.inference.scaling import FARTHEST, FEWEST, predict_ratio
from tdelta.messages import Caution, Refusal
from tdelta.records import Event
from tdelta.records.scaling import Axis, Scaling, ScalingCurve, ScalingPoint
from tdelta.session.analyzing import AnalysisRequest, read_observations
from tdelta.session.sweeps import Curve, axis_of, axis_of_run, curves_of_observations, curves_of_trials
from tdelta.session.tables import PREFIX
from tdelta.store import Store


@dataclass(frozen=True, slots=True)
class ScalingRequest:
    """What was typed.

    Attributes:
        threads: to predict; none: twice and four times the most that is fitted.
        cores: the same of a sweep over cores; at most one of both has any.
        fit_to: the largest number of threads or cores that the model is shown; None: all.
        baseline: of files, the condition that the others are compared with; None: found by its name.
    """

    threads: tuple[int, ...] = ()
    cores: tuple[int, ...] = ()
    fit_to: int | None = None
    baseline: str | None = None

    @property
    def over(self) -> Axis | None:
        """What the numbers to predict count; None where there are none."""
        if self.threads and self.cores:
            raise UsageError(Refusal.of("threads-and-cores"))
        return Axis.CORES if self.cores else Axis.THREADS if self.threads else None


def scaling_of_files(
    files: tuple[str, ...], request: ScalingRequest, observe: Callable[[Event], None] = lambda _: None
) -> Scaling:
    """The answer from files, folders and published tables.

    Raises:
        UsageError: files or options that cannot be used, or no sweep among them.
    """
    asked = request.over
    observations = read_observations(AnalysisRequest(files, baseline=request.baseline), observe)
    over = asked or axis_of(observations)
    curves = curves_of_observations(observations, over, request.baseline)
    is_published = any(file.startswith(PREFIX) for file in files)
    cautions = (Caution.of("published-table"),) if is_published else ()
    return _answered(" ".join(files), over, curves, request, cautions)


def scaling_of_run(store: Store, run_id: str, request: ScalingRequest) -> Scaling:
    """The answer from a stored run.

    Raises:
        UsageError: the run has no such sweep, or was an open loop.
        UnknownName: there is no such run.
    """
    settings = store.settings(run_id)
    over = request.over or axis_of_run(settings)
    if settings.options.get("rate") is not None or settings.options.get("at") is not None:
        raise UsageError(Refusal.of("scaling-of-open-loop", run=run_id))
    curves = curves_of_trials(store.trials(run_id, histograms=False), settings, over)
    return _answered(run_id, over, curves, request, (Caution.of("cores-of-one-machine"),) if over is Axis.CORES else ())


def _answered(
    source: str, over: Axis, found: list[Curve], request: ScalingRequest, cautions: Iterable[Caution]
) -> Scaling:
    fitted = [[n for n in curve.rates if request.fit_to is None or n <= request.fit_to] for curve in found]
    usable = [(curve, numbers) for curve, numbers in zip(found, fitted, strict=True) if len(numbers) >= FEWEST]
    if not usable:
        most = max(fitted, key=len, default=[])
        upto = "" if request.fit_to is None else f" up to {request.fit_to}"
        found_numbers = f"{len(most)} ({', '.join(map(str, most))})" if most else "none"
        given = {"source": source, "fewest": FEWEST, "found": found_numbers, "upto": upto}
        raise UsageError(
            Refusal.of("no-sweep-of-cores", **given) if over is Axis.CORES else Refusal.of("no-sweep", **given)
        )
    fitted_most = min(numbers[-1] for _, numbers in usable)
    farthest = max((*request.threads, *request.cores), default=0)
    if farthest > (limit := FARTHEST * fitted_most):
        given = {"over": over, "found": farthest, "farthest": FARTHEST, "most": fitted_most, "limit": limit}
        raise UsageError(Refusal.of("scaling-too-far", **given))
    if over is Axis.CORES and any(curve.rule.threads(1) is None for curve, _ in usable):
        cautions = (*cautions, Caution.of("cores-without-threads"))
    return Scaling(source, over, tuple(_predicted(curve, over, ns, request) for curve, ns in usable), tuple(cautions))


def _predicted(curve: Curve, over: Axis, fitted: list[int], request: ScalingRequest) -> ScalingCurve:
    held_out = [n for n in curve.rates if n > fitted[-1]]
    asked = (*request.threads, *request.cores) or (() if held_out else (2 * fitted[-1], FARTHEST * fitted[-1]))
    wanted = sorted({*asked, *held_out} - set(fitted))
    near = [n for n in wanted if n <= FARTHEST * fitted[-1]]
    plain, other = zip(*(curve.rates[n] for n in fitted), strict=True)
    bands = dict(zip(near, predict_ratio(fitted, plain, other, near, over), strict=True)) if near else {}
    points = []
    for at in sorted({*fitted, *wanted}):
        rates = curve.rates.get(at)
        plain_rate, ratio = (None, None) if rates is None else (rates[0], rates[0] / rates[1])
        threads = at if over is Axis.THREADS else curve.rule.threads(at)
        points.append(ScalingPoint(at, threads, plain_rate, ratio, bands.get(at)))
    return ScalingCurve(curve.levels, curve.baseline, curve.condition, over, tuple(points))
