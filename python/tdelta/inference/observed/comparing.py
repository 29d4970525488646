"""One pair of conditions: from their runs to ratio, difference, decision and reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tdelta.inference.observed.curves import Linear, LogCurve, Plane, log_ratio, plane, under, widened
from tdelta.inference.observed.fitting import RunFit, fit_run
from tdelta.inference.observed.gamma import PublishedMeans
from tdelta.inference.observed.pairing import Pair, reduced
from tdelta.inference.observed.runs import RunsFit, fit_runs, luck_of_single_runs
from tdelta.inference.observed.settings import DEFAULT, NO_SPEEDUP, AnalysisSettings, PublishedPrior
from tdelta.inference.observed.tailing import tail_of
from tdelta.inference.observed.words import NO_REPLICATION, luck_name, one_run_reasons, several_runs_reasons
from tdelta.inference.posterior import Posterior
from tdelta.records import Comparison, Decision, Estimate, Model, Side, Spread

_WEAKEST_LAST = (Model.GAMMA, Model.BINNED_GAMMA, Model.SUMMARY, Model.STRETCHES, Model.SERIES, Model.NONE)
_SHAPED = (Model.GAMMA, Model.BINNED_GAMMA, Model.SUMMARY)


@dataclass(frozen=True, slots=True)
class Posteriors:
    """Under the default prior, which decides: what figures are quoted from and curves are drawn of.

    Attributes:
        ratio: of the log ratio of costs.
        baseline, condition: of the two means, in the unit of the values.
        difference: condition less baseline.
    """

    ratio: Posterior
    baseline: Linear
    condition: Linear
    difference: Linear


@dataclass(frozen=True, slots=True)
class Fits:
    """Both conditions' runs, fitted; and what follows where there is replication.

    Attributes:
        pair: whose.
        baseline, condition: one for each run.
        model: of the comparison.
        ratio: likelihood of the log ratio of costs; None without replication.
        posteriors: what follows from both; None without replication.
        runs: the runs' model, where there are several runs.
    """

    pair: Pair
    baseline: tuple[RunFit, ...]
    condition: tuple[RunFit, ...]
    model: Model
    ratio: LogCurve | None
    posteriors: Posteriors | None
    runs: RunsFit | None = None

    @property
    def is_inverse(self) -> bool:
        """Whether more is better."""
        return self.baseline[0].observation.group.is_throughput


def fitted(pair: Pair) -> Fits:
    """Fit the runs of both conditions."""
    runs_before, runs_after = pair.baseline_runs, pair.condition_runs
    is_single = len(runs_before) == len(runs_after) == 1
    if is_single:
        first, second = reduced(runs_before[0], runs_after[0])
        runs_before, runs_after = (first,), (second,)
    baseline, condition = tuple(map(fit_run, runs_before)), tuple(map(fit_run, runs_after))
    is_inverse = runs_before[0].group.is_throughput
    if not is_single:
        found = fit_runs([run.log_mean for run in baseline], [run.log_mean for run in condition])
        ratio = found.log_ratio(is_inverse=is_inverse)
        posteriors = _posteriors(ratio, found.plane(DEFAULT, is_inverse=is_inverse))
        return Fits(pair, baseline, condition, Model.RUNS, ratio, posteriors, found)
    before, after = baseline[0].curve, condition[0].curve
    if before is None or after is None:
        return Fits(pair, baseline, condition, Model.NONE, None, None)
    model = max(baseline[0].model, condition[0].model, key=_WEAKEST_LAST.index)
    ratio = log_ratio(before, after, is_inverse=is_inverse)
    posteriors = _posteriors(ratio, plane(before, after, DEFAULT, is_inverse=is_inverse))
    return Fits(pair, baseline, condition, model, ratio, posteriors)


def _posteriors(ratio: LogCurve, means: Plane) -> Posteriors:
    return Posteriors(under(ratio, DEFAULT), *means.means(), means.difference())


def compared(fits: Fits, settings: AnalysisSettings) -> Comparison:
    """The comparison's record; whether it is primary is decided by `tdelta.inference.observed.judging`."""
    levels, transaction, metric, unit = fits.pair.key
    found = fits.posteriors
    sides = (
        _side(fits.pair.baseline, fits.baseline, None if found is None else found.baseline.spread),
        _side(fits.pair.condition, fits.condition, None if found is None else found.condition.spread),
    )
    ratio, priors, decision, reasons = _verdict(fits, settings)
    quotient = sides[0].value / sides[1].value if fits.is_inverse else sides[1].value / sides[0].value
    tail, tail_reason = tail_of(fits.pair, settings.slo_ms)
    return Comparison(
        transaction=transaction,
        levels=levels,
        metric=metric,
        unit=unit,
        model=fits.model,
        baseline=sides[0],
        condition=sides[1],
        quotient=quotient,
        ratio=ratio,
        difference=None if found is None else found.difference.spread,
        decision=decision,
        reasons=(*reasons, *_notes(fits)),
        priors=priors,
        origins=fits.pair.origins,
        tail=tail,
        tail_reason=tail_reason,
    )


def _verdict(
    fits: Fits, settings: AnalysisSettings
) -> tuple[Estimate | None, dict[str, Estimate], Decision, list[str]]:
    if fits.ratio is None or fits.posteriors is None:
        return None, {}, Decision.UNDECIDED, [_why_no_interval(fits)]
    estimate = fits.posteriors.ratio.estimate(settings.rope)
    priors = {NO_SPEEDUP.name: under(fits.ratio, NO_SPEEDUP).estimate(settings.rope)}
    if fits.runs is None:
        roomy = widened(fits.ratio, *luck_of_single_runs(settings.run_luck))
        with_luck = under(roomy, DEFAULT).estimate(settings.rope)
        priors[luck_name(settings.run_luck)] = with_luck
        decision, reasons = one_run_reasons(estimate, with_luck, settings)
    else:
        runs = len(fits.baseline), len(fits.condition)
        decision, reasons = several_runs_reasons(estimate, settings, runs, fits.runs.tau_median)
    for prior in settings.priors:
        if isinstance(prior, PublishedPrior):
            found = as_published(fits, prior)
            if found is None:
                reasons.append(
                    f"prior {prior.name}: only for single runs of response times with a spread; left out here"
                )
            else:
                priors[prior.name] = found.posterior().estimate(settings.rope)
        else:
            priors[prior.name] = under(fits.ratio, prior).estimate(settings.rope)
    return estimate, priors, decision, reasons


def _why_no_interval(fits: Fits) -> str:
    kinds = {run.model for run in (*fits.baseline, *fits.condition) if run.curve is None}
    if kinds == {Model.NONE}:
        counts = [run.count for run in (*fits.baseline, *fits.condition)]
        is_bare = max(counts) == 1
        return NO_REPLICATION if is_bare else "no replication: a mean without its standard deviation, and a single run"
    return "no replication: a side's own figures do not tell how far its mean is known"


def published_curves(fits: Fits, prior: PublishedPrior) -> tuple[LogCurve, LogCurve] | None:
    """Both log means under the published study's prior; None where the model has no mean and sd, or several runs."""
    if fits.runs is not None or fits.model not in (*_SHAPED, Model.STRETCHES):
        return None
    runs = (fits.baseline[0], fits.condition[0])
    counts = np.array([float(run.count) for run in runs])
    pooled = float(counts @ np.array([run.value for run in runs]) / counts.sum())
    means = PublishedMeans(pooled, prior.largest_sd)
    curves = [fit_run(run.observation, means).curve for run in runs]
    if curves[0] is None or curves[1] is None:
        return None
    return curves[0], curves[1]


def as_published(fits: Fits, prior: PublishedPrior) -> LogCurve | None:
    """The posterior of the log ratio as the published study has it; its priors are in the curves already."""
    curves = published_curves(fits, prior)
    return None if curves is None else log_ratio(*curves, is_inverse=fits.is_inverse)


def _side(name: str, runs: Sequence[RunFit], mean: Spread | None) -> Side:
    return Side(
        condition=name,
        runs=len(runs),
        count=sum(run.count for run in runs),
        effective_count=sum(run.effective_count for run in runs),
        value=float(np.mean([run.value for run in runs])),
        mean=mean,
    )


def _notes(fits: Fits) -> Iterator[str]:
    """What each run's own figures say, by condition and run; said once where both sides' single runs say the same."""
    said: dict[str, list[str]] = {}
    for name, runs in ((fits.pair.baseline, fits.baseline), (fits.pair.condition, fits.condition)):
        for run in runs:
            where = name if len(runs) == 1 else f"{name}, run {run.observation.group.run}"
            for note in run.notes:
                said.setdefault(note, []).append(where)
    yield from (f"{'; '.join(places)}: {note}" for note, places in said.items())
