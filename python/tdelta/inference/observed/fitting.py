"""One run of one condition: by the model its data allow, to the likelihood of its log mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tdelta.inference.observed.curves import LogCurve
from tdelta.inference.observed.gamma import LogPrior, fit_bins, fit_samples, moments, scale_free, shape_of_gap
from tdelta.inference.observed.locating import ShapeFit
from tdelta.inference.observed.pairing import summarized
from tdelta.inference.observed.series import FEWEST_VALUES, SeriesMean, cycle, evened, series_mean, unsteady, warm_up
from tdelta.inference.observed.summary import fit_summary
from tdelta.records import Binned, Figure, Model, NoteCode, Observation, RunNote, Samples, Series, Summary

_CLEAR_Z = 2.326
"""The 99% quantile of a normal: one in a hundred runs of independent values is taken for dependent."""


@dataclass(frozen=True, slots=True)
class Dependence:
    """What the stretches say: their mean and its error, and by what factor its variance exceeds independence's."""

    means: SeriesMean
    inflation: float

    @property
    def is_clear(self) -> bool:
        """Whether the excess is more than chance gives, by the chi-square's upper 1% (Wilson and Hilferty 1931)."""
        part = 2.0 / (9.0 * self.means.df)
        return self.inflation > float((1.0 - part + _CLEAR_Z * np.sqrt(part)) ** 3)


def dependence(samples: Samples) -> Dependence | None:
    """What the stretches of a run say; None where there are too few of them, or they are not alike in length."""
    longest = max((count for count, _ in samples.clusters), default=0)
    whole = [(count, total) for count, total in samples.clusters if 2 * count > longest]
    if len(whole) < FEWEST_VALUES:
        return None
    means = series_mean(np.array([total / count for count, total in whole]))
    average = samples.total / samples.count
    variance = (samples.total_squares - samples.count * average**2) / max(samples.count - 1, 1)
    if means is None or variance <= 0.0:
        return None
    held = float(sum(count for count, _ in whole))
    return Dependence(means, means.standard_error**2 / (variance / held))


_OWN_SPREAD = 0.93
"""Gamma's sd over the values' own: below this an interval of 95% covers less than 93%, since its width is in
proportion; the values then count for less, until the width is that of their own sd."""
_CLEAR_SDS = 2.0
_FEW = 30
_SHORT = 600
_WITHOUT_ORDER = (NoteCode.HISTOGRAM_WITHOUT_ORDER, NoteCode.SUMMARY_WITHOUT_ORDER)
_LITTLE_WORTH = 60.0
_HEAVY_CV = 0.8
"""Of a summary, which shows no shape: a coefficient of variation from which its values may well be stalls."""


@dataclass(frozen=True, slots=True)
class RunFit:
    """What one run says.

    Attributes:
        observation: it, as the model takes it.
        model: which one.
        value: the plain mean.
        count: values in all.
        effective_count: how many independent ones they are worth.
        curve: the likelihood of the log mean; None if the data allow none.
        shape: the posterior of (log mean, log shape), where the model has one: what predictions are made from.
        notes: what a reader must know of this run's figures.
        is_heavy: the width is that of independent values, their tail is heavy, and nothing shows that what is in it
            did not come in clumps.
    """

    observation: Observation
    model: Model
    value: float
    count: int
    effective_count: float
    curve: LogCurve | None
    shape: ShapeFit | None = None
    notes: tuple[RunNote, ...] = ()
    is_heavy: bool = False

    @property
    def log_mean(self) -> tuple[float, float]:
        """Log mean and its variance, as the runs' model takes them: 0 where the run's own figures tell none."""
        return float(np.log(self.value)), self.curve.moments[1] if self.curve is not None else 0.0


def fit_run(observation: Observation, prior: LogPrior = scale_free, beside: Series | None = None) -> RunFit:
    """Fit one run.

    Args:
        observation: its figures.
        prior: for the models that have a mean and a shape.
        beside: the throughput of the same run over time, where there is one: it has an order, so it sets the width.
    """
    own = _fit_alone(observation, prior)
    return own if beside is None or prior is not scale_free else _beside(own, beside)


def _beside(own: RunFit, series: Series) -> RunFit:
    """The run's mean with the width that its throughput over time shows, where that is wider, or there is no other."""
    notes = (*(note for note in own.notes if note.code not in _WITHOUT_ORDER), *_series_notes(series, own.observation))
    own = replace(own, count=len(series.values)) if isinstance(own.observation, Figure) else own
    found = series_mean(evened(series))
    if found is None or found.mean <= 0.0 or found.standard_error <= 0.0:
        return replace(own, notes=(*own.notes, *_series_notes(series, own.observation)))
    narrow = 0.0 if own.curve is None else own.curve.sd
    wide = found.standard_error / found.mean
    if narrow >= wide:
        return replace(own, notes=notes, is_heavy=False)
    unit = replace(found, mean=1.0, standard_error=wide).curve()
    if unit is None:
        return own
    centre = float(np.log(own.value)) if own.curve is None else own.curve.median
    worth = own.effective_count * (narrow / wide) ** 2 if narrow else found.effective_count
    noted = () if own.curve is None else (_note(own.observation, NoteCode.WIDTH_FROM_SERIES, wide / narrow),)
    curve = LogCurve(centre + unit.at, unit.log_density)
    return replace(own, model=Model.BESIDE, curve=curve, effective_count=worth, notes=(*notes, *noted), is_heavy=False)


def _note(observation: Observation, code: NoteCode, *figures: float) -> RunNote:
    return RunNote(code, observation.group.condition, observation.group.run, tuple(map(float, figures)))


def _fit_alone(observation: Observation, prior: LogPrior) -> RunFit:
    match observation:
        case Samples():
            return _of_samples(observation, prior)
        case Binned():
            return _of_bins(observation, prior)
        case Summary():
            return _of_summary(observation, prior)
        case Series():
            return _of_series(observation)
        case Figure():
            return RunFit(observation, Model.NONE, observation.value, 1, 1.0, None)


def _of_samples(samples: Samples, prior: LogPrior) -> RunFit:
    count, average = samples.count, samples.total / samples.count if samples.count else 0.0
    notes = []
    if samples.zeros:
        notes.append(_note(samples, NoteCode.ZEROS, samples.zeros, count))
    found = dependence(samples) if prior is scale_free else None
    if found is not None and found.is_clear:
        curve = found.means.curve()
        worth = count / found.inflation
        notes.append(_note(samples, NoteCode.DEPENDENT_VALUES, count, worth))
        if worth < _FEW:
            notes.append(_note(samples, NoteCode.FEW_INDEPENDENT, worth))
        shape = _shape_of(samples, prior, max(worth, 2.0))
        return RunFit(samples, Model.STRETCHES, average, count, worth, curve, shape, tuple(notes))
    if samples.zeros:
        own = _of_summary(summarized(samples), prior)
        return replace(own, observation=samples, notes=(*notes, *own.notes))
    variance = max(samples.total_squares - count * average**2, 0.0) / max(count - 1, 1)
    gap = max(float(np.log(average)) - samples.total_log / count, 1e-15) if average > 0.0 else 1e-15
    worth = _worth(count, average, float(np.sqrt(variance)), shape_of_gap(gap))
    if prior is not scale_free:
        worth = float(count)
    notes += _heavy_tail(samples, worth / max(count, 1))
    is_heavy = worth < count and found is None
    fitted = fit_samples(samples, prior, worth=worth)
    own = RunFit(samples, Model.GAMMA, average, count, worth, None, None, tuple(notes), is_heavy=is_heavy)
    return _shaped(own, fitted)


def _shape_of(samples: Samples, prior: LogPrior, worth: float) -> ShapeFit | None:
    """Mean and shape of so many independent values. Times of 0 have no logarithm, so mean and sd stand for them."""
    if not samples.zeros:
        return fit_samples(samples, prior, worth=worth)
    return fit_summary(replace(summarized(samples), count=round(worth)), prior)


def _heavy_tail(observation: Observation, worth: float) -> list[RunNote]:
    """How many times as much the values scatter as a gamma of their shape would."""
    return [_note(observation, NoteCode.HEAVY_TAIL, 1.0 / np.sqrt(worth))] if worth < 1.0 else []


def _worth(count: int, mean: float, sd: float, shape: float) -> float:
    """How many values a gamma's likelihood may count, if the gamma's sd is to be no less than their own.

    The gamma's mean is the plain mean, so only the width can be wrong, by the quotient of the two sds; counting fewer
    values mends it (a magnitude-adjusted likelihood: Ribatet, Cooley and Davison 2012, Stat. Sinica 22:813).
    """
    if sd <= 0.0 or count < 2:
        return float(count)
    quotient = mean / np.sqrt(shape) / sd
    chance = np.sqrt((2.0 + 6.0 / shape) / (4.0 * count))
    if quotient >= _OWN_SPREAD or 1.0 - quotient <= _CLEAR_SDS * chance:
        return float(count)
    return float(count * quotient**2)


def _of_bins(binned: Binned, prior: LogPrior) -> RunFit:
    count = sum(binned.bins.counts)
    if count == 0:
        return RunFit(binned, Model.BINNED_GAMMA, 0.0, 0, 0.0, None)
    mean, sd = moments(binned.bins)
    fitted = fit_bins(binned.bins, prior)
    if fitted is None or prior is not scale_free:
        return _shaped(RunFit(binned, Model.BINNED_GAMMA, mean, count, float(count), None), fitted)
    shape = float(np.exp(fitted.log_shape[int(np.argmax(fitted.log_density.max(axis=0)))]))
    worth = _worth(count, mean, sd, shape)
    if worth < count:
        fitted = replace(fitted, log_density=fitted.log_density * (worth / count))
    notes = (_note(binned, NoteCode.HISTOGRAM_WITHOUT_ORDER), *_heavy_tail(binned, worth / count))
    own = RunFit(binned, Model.BINNED_GAMMA, mean, count, worth, None, notes=notes, is_heavy=worth < count)
    return _shaped(own, fitted)


def _of_summary(summary: Summary, prior: LogPrior) -> RunFit:
    if summary.sd is None:
        return RunFit(summary, Model.NONE, summary.mean, summary.count, float(summary.count), None)
    notes = (_note(summary, NoteCode.SUMMARY_WITHOUT_ORDER),) if prior is scale_free else ()
    if summary.count < _FEW:
        notes = (*notes, _note(summary, NoteCode.FEW_VALUES, summary.count))
    is_heavy = summary.sd > _HEAVY_CV * summary.mean
    own = RunFit(
        summary, Model.SUMMARY, summary.mean, summary.count, float(summary.count), None, notes=notes, is_heavy=is_heavy
    )
    return _shaped(own, fit_summary(summary, prior))


def _shaped(run: RunFit, fitted: ShapeFit | None) -> RunFit:
    if fitted is None:
        return replace(run, notes=(*run.notes, _note(run.observation, NoteCode.NO_SPREAD)))
    return replace(run, curve=fitted.mean_curve(), shape=fitted)


def _of_series(series: Series) -> RunFit:
    values = evened(series)
    found = series_mean(values)
    mean = series.mean
    notes = tuple(_series_notes(series, series))
    if found is None:
        return RunFit(series, Model.SERIES, mean, len(values), float(len(values)), None, None, notes)
    return RunFit(series, Model.SERIES, mean, len(values), found.effective_count, found.curve(), None, notes)


def _series_notes(series: Series, of: Observation) -> Iterator[RunNote]:
    """What a series says of its run: too short, dependent, warming up, unsteady, repeating itself."""
    values = evened(series)
    found = series_mean(values)
    if len(values) < FEWEST_VALUES:
        yield _note(of, NoteCode.SERIES_TOO_SHORT, len(values))
    elif len(values) < _SHORT:
        yield _note(of, NoteCode.SERIES_SHORT, len(values))
    elif found is not None and found.effective_count < _LITTLE_WORTH:
        yield _note(of, NoteCode.SERIES_DEPENDENT, len(values), found.effective_count)
    moved = unsteady(values)
    if moved is not None:
        yield _note(of, NoteCode.UNSTEADY, *moved)
    first = warm_up(values)
    if first is not None:
        yield _note(of, NoteCode.WARM_UP, len(values) // 10 * series.interval_seconds, first)
    again = cycle(values)
    if again is not None:
        yield _note(of, NoteCode.CYCLE, again * series.interval_seconds)
