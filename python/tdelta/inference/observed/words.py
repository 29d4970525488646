"""What a comparison's design can bear, in words. Figures in them are simulated (docs/analyze-models.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tdelta.inference.decisions import decide, decide_gate, gate_reason, interval_words
from tdelta.inference.observed.lengths import Lengths
from tdelta.inference.observed.order import Order
from tdelta.inference.observed.pairing import Pair
from tdelta.inference.observed.runs import Drift
from tdelta.inference.observed.settings import AnalysisSettings
from tdelta.records import Comparison, Decision, Estimate

FALSE_ALARMS_RUNS_DIFFER, FALSE_ALARMS_DRIFT = 87, (62, 88)
"""Of 100 comparisons of identical systems by one long run each, those whose 95 % interval leaves out 0: where runs
differ by 3 %; where the machine drifts by 3 %, and where it walks by 5 % over the session as well."""

FALSE_ALARMS_IN_ORDER = 13
"""The same for five runs of one condition and then five of the other, where the machine walks by 5 %."""

CLUMPED_FALSE_ALARMS = 80
"""Of 100 pairs of identical runs of 20,000 values, 1 % of which are stalls of 30 times in clumps of 50, those whose
95 % interval leaves out 0."""

_FEW_RUNS = 6

PRIOR_WORDS = "log ratio ~ t3(0, 0.5), a factor of 5 either way within 95 %; means flat on their logs; no unit matters"

ONE_RUN_ONLY = "one run a condition"

ONE_RUN = (
    f"{ONE_RUN_ONLY}: runs of one and the same system differ, and nothing in these files says by how much; simulated, "
    f"where they differ by 3 %, {FALSE_ALARMS_RUNS_DIFFER} of 100 pairs of identical systems have an interval that "
    f"leaves out 0, where the machine drifts {FALSE_ALARMS_DRIFT[0]} to {FALSE_ALARMS_DRIFT[1]} (5 are nominal)"
)

NO_REPLICATION = "no replication: one figure a condition, and nothing that says how far another run would be from it"

HEAVY_TAILED = (
    "heavy-tailed values whose order is not known: if what is slow came in clumps, their interval is far too narrow "
    f"(simulated, with stalls in clumps of 50 it leaves out 0 for {CLUMPED_FALSE_ALARMS} of 100 identical pairs)"
)


def luck_name(run_sd: float) -> str:
    """The name, among the priors, of the estimate in which single runs differ by what the user states."""
    return f"runs differ by {100.0 * run_sd:g} %"


def judged(estimate: Estimate, settings: AnalysisSettings) -> tuple[Decision, str]:
    """What an estimate says against the ROPE, or the budget, and why."""
    if settings.budget is not None:
        decision = decide_gate(estimate, settings.budget)
        return decision, gate_reason(estimate, decision, settings.budget).text
    decision = decide(estimate, settings.rope)
    where = _WHERE.get(decision, "reaches over an edge of")
    return decision, f"the 95 % HDI {interval_words(estimate.hdi95)} {where} the ±{100 * settings.rope:g} %"


_WHERE = {
    Decision.COSTLY: "lies above",
    Decision.FASTER: "lies below",
    Decision.NEGLIGIBLE: "lies within",
}


def several_runs_reasons(runs: tuple[int, int], *, is_ordered: bool) -> Iterator[str]:
    """What holds where the run is the unit."""
    yield f"{runs[0]} and {runs[1]} runs: the run is the unit"
    if is_ordered:
        yield "the order of the runs is known: a drift from run to run is part of the model"
    else:
        yield (
            "the order of the runs is not known: they are taken to have alternated. Where all runs of one condition "
            f"came first, a machine that walks by 5 % over the session gives {FALSE_ALARMS_IN_ORDER} false alarms in "
            "100"
        )
    if min(runs) == 1:
        yield "one side has a single run: it is taken to scatter as the other side's do"
    if sum(runs) < _FEW_RUNS:
        yield f"{sum(runs)} runs in all: more runs narrow this interval, longer ones hardly do"


def confounded_words(pair: Pair, order: Order, drift: Drift) -> str:
    """All runs of one side came first, and runs drift."""
    first, then = (pair.baseline, pair.condition) if order.first == "baseline" else (pair.condition, pair.baseline)
    return (
        f"all runs of {first} came before those of {then}, and the figures drift by {100.0 * drift.a_run:+.2g} % from "
        "one run to the next: drift and condition cannot be told apart; repeat the runs in turn"
    )


def hidden_drift_words(drift: Drift) -> str:
    """Runs of each side drift in the order of their numbers, and nobody knows how the sides' runs lie in time."""
    return (
        f"in the order of their numbers the figures drift by {100.0 * drift.a_run:+.2g} % from one run to the next, "
        "and whether conditions took turns is not known: if all runs of one came first, this drift is in the overhead"
    )


def unequal_words(pair: Pair, lengths: Lengths) -> str:
    """Runs of unequal length that have no series to be cut."""
    return (
        f"unequal lengths: {sides_lengths(pair, lengths)}; what a load does in its first minutes is not what it does "
        "later, and without figures over time the same part cannot be compared"
    )


def cut_words(pair: Pair, lengths: Lengths) -> str:
    """Runs of unequal length of which the same first part is compared."""
    return (
        f"unequal lengths: {sides_lengths(pair, lengths)}; the first {duration_words(lengths.shortest)} of every run "
        "are compared"
    )


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


def moved_words(*, has_drift: bool) -> str:
    """Why the overhead is not the quotient of the values shown."""
    if has_drift:
        return "the overhead is not the quotient of the values shown: the drift from run to run is taken out of it"
    return "the overhead is not the quotient of the values shown: the prior draws an interval this wide towards 0"


def overall_cautions(comparisons: Sequence[Comparison], settings: AnalysisSettings) -> tuple[str, ...]:
    """What holds for many comparisons, said once."""
    cautions = []
    primary = [c for c in comparisons if c.primary]
    single = [c for c in primary if c.baseline.runs == c.condition.runs == 1]
    if single:
        stating = "; or state by --run-sd what runs of your system differ by, if you know it" * (
            settings.run_sd is None
        )
        where = "" if len(single) == len(primary) else f" in {len(single)} of {len(primary)} comparisons"
        cautions.append(f"one run a condition{where}: repeat each condition at least three times, in turn{stating}")
    if settings.budget is not None:
        cautions.append("a budget is judged by the 99 % HDI")
    return tuple(cautions)
