"""What a comparison's design can bear, in words. Figures in them are simulated (benches/results/analyze.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tdelta.inference.decisions import decide, decide_gate, gate_reason, interval_words
from tdelta.inference.observed.lengths import Lengths
from tdelta.inference.observed.order import Order
from tdelta.inference.observed.pairing import Pair
from tdelta.inference.observed.runs import Drift
from tdelta.inference.observed.settings import AnalysisSettings
from tdelta.messages import Caution, Reason
from tdelta.records import Comparison, Decision, Estimate

FALSE_ALARMS_RUNS_DIFFER, FALSE_ALARMS_DRIFT = 87, (62, 88)
"""Of 100 comparisons of identical systems by one long run each, those whose 95% interval leaves out 0: where runs
differ by 3%; where the machine drifts by 3%, and where it walks by 5% over the session as well."""

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
    """The name, among the priors, of the estimate in which single runs differ by what the user states."""
    return f"runs differ by {100.0 * run_sd:g}%"


def judged(estimate: Estimate, settings: AnalysisSettings) -> tuple[Decision, Reason]:
    """What an estimate says against the tolerance, or the budget, and why."""
    if settings.budget is not None:
        decision = decide_gate(estimate, settings.budget)
        return decision, gate_reason(estimate, decision, settings.budget)
    decision = decide(estimate, settings.tolerance)
    figures = {"interval": interval_words(estimate.hdi95), "tolerance": settings.tolerance}
    match decision:
        case Decision.SLOWER:
            return decision, Reason.of("interval-above", **figures)
        case Decision.FASTER:
            return decision, Reason.of("interval-below", **figures)
        case Decision.NEGLIGIBLE:
            return decision, Reason.of("interval-within", **figures)
    return decision, Reason.of("interval-across", **figures)


def several_runs_reasons(pair: Pair, *, is_ordered: bool) -> Iterator[Reason]:
    """What holds where the run is the unit."""
    runs = len(pair.baseline_runs), len(pair.condition_runs)
    yield Reason.of("run-is-unit", runs=runs[0], other=runs[1])
    if is_ordered:
        yield Reason.of("order-known")
    else:
        yield Reason.of("order-unknown")
    if pair.is_of_one_log_a_side:
        yield Reason.of("runs-of-one-file", runs=max(runs))
    if min(runs) == 1:
        yield Reason.of("single-run-on-one-side")
    if sum(runs) <= _FEW_RUNS:
        yield Reason.of("few-runs", runs=sum(runs))


def confounded(pair: Pair, order: Order, drift: Drift) -> Reason:
    """All runs of one side came first, and runs drift."""
    first, then = (pair.baseline, pair.condition) if order.first == "baseline" else (pair.condition, pair.baseline)
    return Reason.of("confounded", first=first, then=then, drift=100.0 * drift.a_run)


def unequal(pair: Pair, lengths: Lengths) -> Reason:
    """Runs of unequal length that have no series to be cut."""
    return Reason.of("unequal-lengths", lengths=sides_lengths(pair, lengths))


def cut(pair: Pair, lengths: Lengths) -> Reason:
    """Runs of unequal length of which the same first part is compared."""
    return Reason.of("lengths-cut", lengths=sides_lengths(pair, lengths), shortest=duration_words(lengths.shortest))


def sides_lengths(pair: Pair, lengths: Lengths) -> str:
    """``10,000 s of plain against 267 s of tde``."""
    first, second = (_ends_words(ends) for ends in (lengths.baseline, lengths.condition))
    return f"{first} of {pair.baseline} against {second} of {pair.condition}"


def duration_words(seconds: float) -> str:
    """``10,000 s``."""
    return f"{seconds:,.0f} s"


def _ends_words(ends: tuple[float, float]) -> str:
    low, high = map(duration_words, ends)
    return high if low == high else f"{low.removesuffix(' s')} to {high}"


def moved(*, has_drift: bool) -> Reason:
    """Why the overhead is not the quotient of the values shown."""
    return Reason.of("drift-taken-out") if has_drift else Reason.of("prior-draws")


def overall_cautions(comparisons: Sequence[Comparison], settings: AnalysisSettings) -> tuple[Caution, ...]:
    """What holds for many comparisons, said once."""
    cautions = []
    primary = [c for c in comparisons if c.primary]
    single = [c for c in primary if c.baseline.runs == c.condition.runs == 1]
    if single:
        where = "" if len(single) == len(primary) else f" in {len(single)} of {len(primary)} comparisons"
        cautions.append(Caution.of("one-run-each", of=where))
    if settings.budget is not None:
        cautions.append(Caution.of("budget-by-99"))
    return tuple(cautions)
