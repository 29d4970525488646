"""The whole answer: every pair of conditions from its runs to ratio, decision and reasons, and which pairs decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tdelta.errors import UnknownName, UsageError
from tdelta.inference.decisions import decide, decide_gate, gate_reason, most_severe, reason, width
from tdelta.inference.observed.curves import Linear, LogCurve, Plane, log_ratio, plane, under, widened
from tdelta.inference.observed.models import PublishedMeans, RunFit, fit_run
from tdelta.inference.observed.pairing import Pair, difference, formats, levelled, paired, reduced, rounding_of
from tdelta.inference.observed.runs import (
    Drift,
    Lengths,
    Order,
    RunsFit,
    fit_either_first,
    fit_runs,
    lengths_of,
    order_of,
    same_part,
    two_clusters,
    worst_orders,
)
from tdelta.inference.observed.settings import DEFAULT, NO_SPEEDUP, AnalysisSettings, PublishedPrior
from tdelta.inference.observed.tails import tail_cautions, tail_of
from tdelta.inference.posterior import Posterior
from tdelta.inputs import missing
from tdelta.messages import Caution, Reason, Refusal
from tdelta.records import (
    ALL,
    RESPONSE_TIME,
    THROUGHPUT,
    AnalysisResult,
    Comparison,
    Decision,
    Estimate,
    Model,
    Observation,
    RunScatter,
    Samples,
    Side,
    Source,
    Spread,
)

FALSE_ALARMS_RUNS_DIFFER, FALSE_ALARMS_DRIFT = 87, (62, 88)
"""Of 100 comparisons of identical systems by one long run each, those whose 95% interval leaves out 0: where runs
differ by 3%; where the machine drifts by 3%, and where it walks by 5% over the session as well
(benches/results/analyze.md)."""

CLUMPED_FALSE_ALARMS = 80
"""Of 100 pairs of identical runs of 20,000 values, 1% of which are stalls of 30 times in clumps of 50, those whose
95% interval leaves out 0."""

_FEW_RUNS = 6
PRIOR_WORDS = "log ratio ~ t3(0, 0.5), a factor of 5 either way within 95%; means flat on their logs; no unit matters"
ONE_RUN_ONLY = Reason.of("one-run-only")

ONE_RUN = Reason.of(
    "one-run-of-each",
    false_alarms=FALSE_ALARMS_RUNS_DIFFER,
    drift_least=FALSE_ALARMS_DRIFT[0],
    drift_most=FALSE_ALARMS_DRIFT[1],
)

NO_REPLICATION = Reason.of("no-replication", why="one figure per configuration")
HEAVY_TAILED = Reason.of("heavy-tailed", false_alarms=CLUMPED_FALSE_ALARMS)


def run_sd_name(run_sd: float) -> str:
    return f"runs differ by {100.0 * run_sd:g}%"


def judged(estimate: Estimate, settings: AnalysisSettings) -> tuple[Decision, Reason]:
    if settings.budget is not None:
        decision = decide_gate(estimate, settings.budget)
        return decision, gate_reason(estimate, decision, settings.budget)
    decision = decide(estimate, settings.tolerance)
    return decision, reason(estimate, decision, settings.tolerance)


def several_runs_reasons(pair: Pair, *, is_ordered: bool) -> Iterator[Reason]:
    runs = len(pair.baseline_runs), len(pair.condition_runs)
    yield Reason.of("run-is-unit", runs=runs[0], other=runs[1])
    yield Reason.of("order-known") if is_ordered else Reason.of("order-unknown")
    if pair.is_of_one_log_a_side:
        yield Reason.of("runs-of-one-file", runs=max(runs))
    if min(runs) == 1:
        yield Reason.of("single-run-on-one-side")
    if sum(runs) <= _FEW_RUNS:
        yield Reason.of("few-runs", runs=sum(runs))


def confounded(pair: Pair, order: Order, drift: Drift) -> Reason:
    first, then = (pair.baseline, pair.condition) if order.first == "baseline" else (pair.condition, pair.baseline)
    return Reason.of("confounded", first=first, then=then, drift=100.0 * drift.a_run)


def sides_lengths(pair: Pair, lengths: Lengths) -> str:
    """``10,000 s of plain against 267 s of tde``."""
    rounded = ([f"{seconds:,.0f}" for seconds in ends] for ends in (lengths.baseline, lengths.condition))
    first, second = (f"{' to '.join(dict.fromkeys(ends))} s" for ends in rounded)
    return f"{first} of {pair.baseline} against {second} of {pair.condition}"


def overall_cautions(comparisons: Sequence[Comparison], settings: AnalysisSettings) -> tuple[Caution, ...]:
    cautions = []
    primary = [c for c in comparisons if c.primary]
    single = [c for c in primary if c.baseline.runs == c.condition.runs == 1]
    if single:
        where = "" if len(single) == len(primary) else f" in {len(single)} of {len(primary)} comparisons"
        cautions.append(Caution.of("one-run-each", of=where))
    if settings.budget is not None:
        cautions.append(Caution.of("budget-by-99"))
    return tuple(cautions)


_WEAKEST_LAST = (
    Model.GAMMA,
    Model.BINNED_GAMMA,
    Model.SUMMARY,
    Model.STRETCHES,
    Model.SERIES,
    Model.BESIDE,
    Model.NONE,
)
_TWO = 2
_NOTHING = 1e-6
_LEAST_RUN_SD, _MOST_RUN_SD = 1e-4, 1.0
_BISECTIONS = 12
_ALL_OF_IT = 1.0  # an error as large as the mean itself: what it leaves is no interval, and more would be no number
COARSE = 0.1  # of the tolerance: a print, or a clock, that leaves a mean open by more than this would move a verdict
_CLEARLY_APART, _SHARE_OF_WIDTH = 0.001, 0.1


@dataclass(frozen=True, slots=True)
class Posteriors:
    """Under the default prior, which decides: what figures are quoted from and curves are drawn of."""

    ratio: Posterior  # of the log ratio of costs
    baseline: Linear  # baseline, condition: of the two means, in the unit of the values
    condition: Linear
    difference: Linear


@dataclass(frozen=True, slots=True)
class Fits:
    """Both conditions' runs, fitted; and what follows where there is replication."""

    pair: Pair
    baseline: tuple[RunFit, ...]  # baseline, condition: one for each run
    condition: tuple[RunFit, ...]
    model: Model
    ratio: LogCurve | None  # likelihood of the log ratio of costs; None without replication
    posteriors: Posteriors | None  # what follows from both; None without replication
    runs: RunsFit | None = None
    order: Order | None = None
    lengths: Lengths | None = None
    """Of the runs, as they were before unequal ones were cut; None where they are not known."""
    is_cut: bool = False  # whether they were cut to the length of the shortest

    @property
    def is_single(self) -> bool:
        return len(self.baseline) == len(self.condition) == 1

    @property
    def is_inverse(self) -> bool:
        return self.baseline[0].observation.group.is_throughput


def fitted(pair: Pair) -> Fits:
    """Fit the runs of both conditions; runs of unequal length are cut to the same first part, where they can be."""
    lengths = lengths_of(pair)
    cut = same_part(pair, lengths) if lengths is not None and lengths.is_unequal else None
    pair = pair if cut is None else cut
    fits = _of_single_runs(pair) if len(pair.beside) == _TWO else _of_runs(pair)
    return replace(fits, lengths=lengths, is_cut=cut is not None)


def _of_runs(pair: Pair) -> Fits:
    fits = [fit_run(run, beside=beside) for run, beside in zip(pair.runs, pair.beside, strict=True)]
    baseline, condition = pair.sides(fits)
    is_inverse, order = pair.runs[0].group.is_throughput, order_of(pair)
    log_means = [run.log_mean for run in baseline], [run.log_mean for run in condition]
    rounding = _coarsest(pair.baseline_runs), _coarsest(pair.condition_runs)
    if order is not None:
        found = fit_runs(*log_means, (order.baseline, order.condition), rounding)
    else:
        orders = [(it.baseline, it.condition) for it in worst_orders(pair)]
        found = fit_either_first(*log_means, orders, rounding)
    ratio = found.log_ratio(is_inverse=is_inverse)
    posteriors = _posteriors(ratio, found.plane(DEFAULT, is_inverse=is_inverse))
    return Fits(pair, baseline, condition, Model.RUNS, ratio, posteriors, found, order)


def _of_single_runs(pair: Pair) -> Fits:
    runs = reduced(pair.baseline_runs[0], pair.condition_runs[0])
    baseline, condition = (fit_run(run, beside=beside) for run, beside in zip(runs, pair.beside, strict=True))
    before, after = (None if run.curve is None else _as_printed(run) for run in (baseline, condition))
    if before is None or after is None:
        return Fits(pair, (baseline,), (condition,), Model.NONE, None, None)
    is_inverse = runs[0].group.is_throughput
    model = max(baseline.model, condition.model, key=_WEAKEST_LAST.index)
    ratio = log_ratio(before, after, is_inverse=is_inverse)
    posteriors = _posteriors(ratio, plane(before, after, DEFAULT, is_inverse=is_inverse))
    return Fits(pair, (baseline,), (condition,), model, ratio, posteriors)


def _as_printed(run: RunFit) -> LogCurve | None:
    """A single run's curve, its print's last digit an error of its own: uniform, as a normal of the same variance."""
    off = min(rounding_of(run.observation), _ALL_OF_IT)
    if run.curve is None or off < _NOTHING:
        return run.curve
    return widened(run.curve, np.ones(1), np.array([off / np.sqrt(3.0)]))


def _coarsest(runs: Sequence[Observation]) -> float:
    """Of the runs of one side, in whose mean it is an error that all share."""
    return min(max(map(rounding_of, runs)), _ALL_OF_IT)


def _posteriors(ratio: LogCurve, means: Plane) -> Posteriors:
    return Posteriors(under(ratio, DEFAULT), *means.means(), means.difference())


def compared(fits: Fits, settings: AnalysisSettings) -> Comparison:
    levels, transaction, metric, unit = fits.pair.key
    found = fits.posteriors
    lengths = (None, None) if fits.lengths is None else (fits.lengths.baseline, fits.lengths.condition)
    sides = (
        _side(fits.pair.baseline, fits.baseline, None if found is None else found.baseline.spread, lengths[0]),
        _side(fits.pair.condition, fits.condition, None if found is None else found.condition.spread, lengths[1]),
    )
    ruling = rule(fits, settings)
    tail, tail_reason = tail_of(fits.pair, settings.latency_limit_ms)
    estimate = None if found is None else found.ratio.estimate(settings.tolerance)
    quotient = sides[0].value / sides[1].value if fits.is_inverse else sides[1].value / sides[0].value
    return Comparison(
        transaction=transaction,
        levels=levels,
        metric=metric,
        unit=unit,
        model=fits.model,
        baseline=sides[0],
        condition=sides[1],
        quotient=quotient,
        ratio=estimate,
        difference=None if found is None else found.difference.spread,
        decision=ruling.decision,
        reasons=(*ruling.reasons, *_moved(quotient, estimate, fits)),
        priors=ruling.priors,
        source=Source(fits.pair.origins),
        tail=tail,
        tail_reason=tail_reason,
        scatter=ruling.scatter,
        undecided_because=ruling.undecided_because,
        notes=tuple(note for run in (*fits.baseline, *fits.condition) for note in run.notes),
    )


@dataclass(frozen=True, slots=True)
class Ruling:
    decision: Decision
    reasons: tuple[Reason, ...]
    priors: Mapping[str, Estimate]
    scatter: RunScatter = field(default_factory=RunScatter)
    undecided_because: tuple[Reason, ...] = ()


def rule(fits: Fits, settings: AnalysisSettings) -> Ruling:
    stops = blocked(fits, settings)
    if fits.ratio is None or fits.posteriors is None:
        reasons = (*stops, _why_no_interval(fits))
        return Ruling(Decision.UNDECIDED, reasons, {}, undecided_because=(*stops, NO_REPLICATION))
    priors, left_out = _under_priors(fits, fits.ratio, settings)
    notable = list(_of_clock(fits, settings))
    if fits.lengths is not None and fits.is_cut:
        shortest, said = f"{fits.lengths.shortest:,.0f} s", sides_lengths(fits.pair, fits.lengths)
        notable.append(Reason.of("lengths-cut", lengths=said, shortest=shortest))
    if fits.is_single and settings.run_sd is None:
        scatter = RunScatter(None, bearable_run_sd(fits.ratio, settings))
        reasons = (*stops, ONE_RUN, *notable, *left_out)
        return Ruling(Decision.UNDECIDED, _once(reasons), priors, scatter, (*stops, ONE_RUN_ONLY))
    if fits.is_single and settings.run_sd is not None:
        estimate = with_run_sd(fits.ratio, settings.run_sd, settings)
        priors[run_sd_name(settings.run_sd)] = estimate
        scatter = RunScatter(settings.run_sd, bearable_run_sd(fits.ratio, settings))
        decision, why = judged(estimate, settings)
        why = why.at(f"taken that {run_sd_name(settings.run_sd)}, as --run-sd says")
    else:
        estimate = fits.posteriors.ratio.estimate(settings.tolerance)
        scatter = RunScatter(None if fits.runs is None else fits.runs.tau_median)
        decision, why = judged(estimate, settings)
        notable += [*_of_clusters(fits), *several_runs_reasons(fits.pair, is_ordered=fits.order is not None)]
    reasons = _once((*stops, why, *notable, *left_out))
    return Ruling(Decision.UNDECIDED if stops else decision, reasons, priors, scatter, stops)


def _once(reasons: Sequence[Reason]) -> tuple[Reason, ...]:
    return tuple(dict.fromkeys(reasons))


def _of_clock(fits: Fits, settings: AnalysisSettings) -> tuple[Reason, ...]:
    """That single times were read off a clock whose steps would move a verdict."""
    timed = [run for run in fits.pair.runs if isinstance(run, Samples)]
    off = max(map(rounding_of, timed), default=0.0)
    if off <= COARSE * settings.tolerance:
        return ()
    zeros = sum(run.zeros for run in timed) / sum(run.count for run in timed)
    if off >= _ALL_OF_IT:
        return (Reason.of("clock-coarser-than-means", zeros=zeros),)
    return (Reason.of("clock-too-coarse", zeros=zeros, off=off),)


def _of_clusters(fits: Fits) -> tuple[Reason, ...]:
    """That runs lie in two groups: no model of runs knows from which of them the next one would be."""
    found = two_clusters(*(np.log([run.value for run in runs]) for runs in (fits.baseline, fits.condition)))
    if found is None:
        return ()
    apart, of = found
    if of is None:
        return (Reason.of("two-clusters", apart=apart),)
    name = (fits.pair.baseline, fits.pair.condition)[of]
    return (Reason.of("two-clusters-of-condition", condition=name, apart=apart),)


def with_run_sd(ratio: LogCurve, run_sd: float, settings: AnalysisSettings) -> Estimate:
    """Two single runs of which each is off by a scatter of runs, a share."""
    off = np.array([np.sqrt(2.0) * run_sd])
    return under(widened(ratio, np.ones(1), off), DEFAULT).estimate(settings.tolerance)


def bearable_run_sd(ratio: LogCurve, settings: AnalysisSettings) -> float:
    """The largest scatter of runs at which two single runs would still decide; 0 where they would at none."""

    def decides(run_sd: float) -> bool:
        return judged(with_run_sd(ratio, run_sd, settings), settings)[0] is not Decision.UNDECIDED

    low, high = _LEAST_RUN_SD, _MOST_RUN_SD
    if not decides(low):
        return 0.0
    for _ in range(_BISECTIONS):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if decides(middle) else (low, middle)
    return low


def blocked(fits: Fits, settings: AnalysisSettings) -> tuple[Reason, ...]:
    differs = difference(fits.pair)
    stops = [] if differs is None else [differs]
    if fits.lengths is not None and fits.lengths.is_unequal and not fits.is_cut:
        stops.append(Reason.of("unequal-lengths", lengths=sides_lengths(fits.pair, fits.lengths)))
    stops += [reason for reason in _of_clock(fits, settings) if reason.code == "clock-coarser-than-means"]
    if fits.is_single and any(run.is_heavy for run in (*fits.baseline, *fits.condition)):
        stops.append(HEAVY_TAILED)
    drift, order = None if fits.runs is None else fits.runs.drift, fits.order
    if order is not None and order.first is not None and drift is not None and _matters(fits, drift, settings):
        stops.append(confounded(fits.pair, order, drift))
    return tuple(stops)


def _matters(fits: Fits, drift: Drift, settings: AnalysisSettings) -> bool:
    """Whether a drift is visible, and what it makes between the middles of both sides' runs would move the verdict."""
    if fits.posteriors is None or not drift.is_visible:
        return False
    estimate = fits.posteriors.ratio.estimate(settings.tolerance)
    between_sides = abs(drift.a_run) * len(fits.pair.beside) / 2.0
    there = {judged(_shifted(estimate, sign * between_sides), settings)[0] for sign in (-1.0, 1.0)}
    return there != {judged(estimate, settings)[0]}


def _shifted(estimate: Estimate, by: float) -> Estimate:
    factor, (low, high), (lowest, highest) = float(np.exp(by)), estimate.hdi95, estimate.hdi99
    within95, within99 = (factor * low, factor * high), (factor * lowest, factor * highest)
    return replace(estimate, median=factor * estimate.median, hdi95=within95, hdi99=within99)


def _under_priors(
    fits: Fits, ratio: LogCurve, settings: AnalysisSettings
) -> tuple[dict[str, Estimate], tuple[Reason, ...]]:
    priors = {NO_SPEEDUP.name: under(ratio, NO_SPEEDUP).estimate(settings.tolerance)}
    left_out = []
    for prior in settings.priors:
        if not isinstance(prior, PublishedPrior):
            priors[prior.name] = under(ratio, prior).estimate(settings.tolerance)
        elif (found := as_published(fits, prior)) is not None:
            priors[prior.name] = found.posterior().estimate(settings.tolerance)
        else:
            left_out.append(Reason.of("prior-left-out").at(f"prior {prior.name}"))
    return priors, tuple(left_out)


def _moved(quotient: float, estimate: Estimate | None, fits: Fits) -> Iterator[Reason]:
    """Why the overhead is not the quotient of the values shown, where it clearly is not."""
    apart = 0.0 if estimate is None else abs(float(np.log(estimate.median / quotient)))
    if estimate is not None and apart >= max(_CLEARLY_APART, _SHARE_OF_WIDTH * width(estimate)):
        yield Reason.of("drift-taken-out") if fits.order is not None else Reason.of("prior-draws")


def _why_no_interval(fits: Fits) -> Reason:
    runs = (*fits.baseline, *fits.condition)
    if {run.model for run in runs if run.curve is None} != {Model.NONE}:
        return Reason.of("no-replication", why="unknown precision of a mean")
    is_bare = max(run.count for run in runs) == 1
    return NO_REPLICATION if is_bare else Reason.of("no-replication", why="a mean without standard deviation")


def published_curves(fits: Fits, prior: PublishedPrior) -> tuple[LogCurve, LogCurve] | None:
    """Both log means under the published study's prior; None where the model has no mean and sd, or several runs."""
    runs = (fits.baseline[0], fits.condition[0])
    if fits.runs is not None or any(run.shape is None for run in runs):
        return None
    pooled = float(np.average([run.value for run in runs], weights=[run.count for run in runs]))
    before, after = (fit_run(run.observation, PublishedMeans(pooled, prior.largest_sd)).curve for run in runs)
    return None if before is None or after is None else (before, after)


def as_published(fits: Fits, prior: PublishedPrior) -> LogCurve | None:
    """The posterior of the log ratio as the published study has it; its priors are in the curves already."""
    curves = published_curves(fits, prior)
    return None if curves is None else log_ratio(*curves, is_inverse=fits.is_inverse)


def _side(name: str, runs: Sequence[RunFit], mean: Spread | None, lengths: tuple[float, float] | None) -> Side:
    """One side's part; several runs' value is their geometric mean, so that the ratio is the quotient of the values."""
    values = np.array([run.value for run in runs])
    return Side(
        condition=name,
        runs=len(runs),
        count=sum(run.count for run in runs),
        effective_count=sum(run.effective_count for run in runs),
        value=float(np.exp(np.mean(np.log(values)))),
        mean=mean,
        lengths_seconds=lengths,
        rounding=_coarsest([run.observation for run in runs]),
    )


_CAUTIONS_TOLD = 10  # of what files say of themselves, where nothing can be compared: it may be why


def analyze(
    observations: Iterable[Observation], settings: AnalysisSettings, watch: Callable[[Fits], None] = lambda _: None
) -> AnalysisResult:
    """Compare every condition with the baseline, in all that both have.

    `watch`: sees the fits of each comparison, in the result's order, once; they are not kept, since they are large.
    Raises `UsageError`: no such baseline, nothing to compare it with, or a metric or transaction that is not there.
    """
    tests = levelled(tuple(observations))
    found = tests.observations
    check(found, settings)
    pairs = paired(found, settings.baseline)
    if not pairs.pairs:
        said = dict.fromkeys(f"{o.origin.file}: {caution}" for o in found for caution in o.origin.cautions)
        listed = "\n".join(f"  {words}" for words in (*pairs.left_out, *list(said)[:_CAUTIONS_TOLD]))
        raise UsageError(Refusal.of("nothing-to-hold-against", baseline=settings.baseline, listed=listed))

    def of(pair: Pair) -> Comparison:
        fits = fitted(pair)
        watch(fits)
        return compared(fits, settings)

    comparisons = chosen([of(pair) for pair in pairs.pairs], settings)
    return AnalysisResult(
        decision=most_severe(c.decision for c in comparisons if c.primary),
        comparisons=comparisons,
        tolerance=settings.tolerance,
        baseline=settings.baseline,
        formats=formats(found),
        cautions=(*tests.cautions, *overall_cautions(comparisons, settings), *tail_cautions(comparisons)),
        left_out=pairs.left_out,
        prior_words=PRIOR_WORDS,
        source=settings.source,
        is_tolerance_given=settings.is_tolerance_given,
        stated_run_sd=settings.run_sd,
    )


def check(observations: Sequence[Observation], settings: AnalysisSettings) -> None:
    if not observations:
        raise UsageError(missing("a figure of a second configuration in these files"))
    groups = [one.group for one in observations]
    for kind, name, of in (
        ("baseline", settings.baseline, "condition"),
        ("metric", settings.metric, "metric"),
        ("transaction", settings.transaction, "transaction"),
    ):
        known = tuple(dict.fromkeys(getattr(group, of) for group in groups))
        if name is not None and name not in known:
            raise UnknownName(kind, name, known)


def chosen(comparisons: Sequence[Comparison], settings: AnalysisSettings) -> tuple[Comparison, ...]:
    """Which comparisons are primary: at each level one metric, and the whole mix where it was measured.

    In a closed loop response time and throughput are one number twice, so only one of them decides, the better one at
    that level; in a table of several other metrics (CPU, elapsed) each is a finding of its own.
    """
    timed = {c.transaction for c in comparisons if c.metric in (RESPONSE_TIME, THROUGHPUT)}
    transactions = {c.transaction for c in comparisons}
    whole = {ALL} & timed or transactions
    wanted = whole if settings.transaction is None else {settings.transaction}
    places: dict[object, list[Comparison]] = {}
    for one in comparisons:
        places.setdefault(_place(one), []).append(one)
    deciding = {place: _deciding(found, settings) for place, found in places.items()}
    return tuple(replace(c, primary=c.transaction in wanted and c.metric in deciding[_place(c)]) for c in comparisons)


def _place(comparison: Comparison) -> object:
    return comparison.condition.condition, comparison.transaction, frozenset(comparison.levels)


def _deciding(having: Sequence[Comparison], settings: AnalysisSettings) -> set[str]:
    if settings.metric is not None:
        return {settings.metric}
    twice = [c for c in having if c.metric in (RESPONSE_TIME, THROUGHPUT)]
    if not twice:
        return {c.metric for c in having if c.ratio is not None} or {c.metric for c in having}
    return {min(twice, key=lambda c: _rank(c, settings)).metric}


def _rank(comparison: Comparison, settings: AnalysisSettings) -> tuple[bool, bool, float, bool]:
    """The lower, the better: it has an interval, nothing stands in its way, it is printed finely, it is a time.

    One run a condition stands in the way of both alike.
    """
    rounding = max(comparison.baseline.rounding, comparison.condition.rounding)
    is_stopped = comparison.undecided_because not in ((), (ONE_RUN_ONLY,))
    coarse = rounding if rounding > COARSE * settings.tolerance else 0.0
    return comparison.ratio is None, is_stopped, coarse, comparison.metric != RESPONSE_TIME
