"""What a comparison's design can bear, in words. Figures in them are simulated (docs/analyze-models.md)."""

from __future__ import annotations

from collections.abc import Sequence

from tdelta.inference.decisions import decide, decide_gate, gate_reason, reason
from tdelta.inference.observed.settings import AnalysisSettings
from tdelta.records import Comparison, Decision, Estimate, Model

FALSE_ALARMS_RUNS_DIFFER, FALSE_ALARMS_DRIFT = 87, (62, 88)
"""Of 100 comparisons of identical systems by one long run each, those whose 95 % interval leaves out 0: where runs
differ by 3 %; where the machine drifts by 3 %, and where it walks by 5 % over the session as well."""

FALSE_ALARMS_IN_ORDER = 13
"""The same for five runs of one condition and then five of the other, where the machine walks by 5 %."""

_FEW_RUNS = 6

PRIOR_WORDS = "log ratio ~ t3(0, 0.5), a factor of 5 either way within 95 %; means flat on their logs; no unit matters"

ONE_RUN = (
    f"one run a condition: where runs of one system differ by 3 %, {FALSE_ALARMS_RUNS_DIFFER} of 100 such comparisons "
    f"show a difference that is not there, where the machine drifts {FALSE_ALARMS_DRIFT[0]} to {FALSE_ALARMS_DRIFT[1]} "
    "(5 are nominal); the interval is of these two runs, not of encryption"
)

NO_REPLICATION = "no replication: one figure a condition, and nothing that says how far another run would be from it"


def luck_name(luck: float) -> str:
    """The name, among the priors, of the estimate that leaves room for runs to differ."""
    return f"runs differ by {100.0 * luck:g} %"


def judged(estimate: Estimate, settings: AnalysisSettings) -> tuple[Decision, str]:
    """What an estimate says against the ROPE, or the budget, and why."""
    if settings.budget is not None:
        decision = decide_gate(estimate, settings.budget)
        return decision, gate_reason(estimate, decision, settings.budget)
    decision = decide(estimate, settings.rope)
    return decision, reason(estimate, decision, settings.rope)


def one_run_reasons(two_runs: Estimate, with_luck: Estimate, settings: AnalysisSettings) -> tuple[Decision, list[str]]:
    """The decision where each condition has one run: taken with room for luck, the two runs' own beside it."""
    decision, why = judged(with_luck, settings)
    own, own_why = judged(two_runs, settings)
    of_these = f"of these two runs alone {own_why}"
    if own is not decision:
        of_these += f": {own.value}, if runs never differed"
    return decision, [
        ONE_RUN,
        f"with room for {luck_name(settings.run_luck).replace('differ', 'that differ')}, {why}",
        of_these,
    ]


def several_runs_reasons(
    estimate: Estimate, settings: AnalysisSettings, runs: tuple[int, int], differ: float
) -> tuple[Decision, list[str]]:
    """The decision where the run is the unit."""
    decision, why = judged(estimate, settings)
    reasons = [
        why,
        f"{runs[0]} and {runs[1]} runs: the run is the unit, and they differ by about {100.0 * differ:.2g} %; taken to "
        "have alternated. Where all runs of one condition came first, a machine that walks by 5 % over the session "
        f"gives {FALSE_ALARMS_IN_ORDER} false alarms in 100",
    ]
    if min(runs) == 1:
        reasons.append("one side has a single run: it is taken to be as lucky or not as the other side's are")
    if sum(runs) < _FEW_RUNS:
        reasons.append(
            f"{sum(runs)} runs in all: more runs narrow this interval, longer ones hardly do; simulated with four, "
            "such intervals held the truth 92 to 100 times in 100"
        )
    else:
        reasons.append(
            "simulated, intervals of six to ten runs held the truth 93 to 98 times in 100, those of means 91 to 99"
        )
    return decision, reasons


def overall_cautions(comparisons: Sequence[Comparison], settings: AnalysisSettings) -> tuple[str, ...]:
    """What holds for many comparisons, said once."""
    cautions = []
    primary = [c for c in comparisons if c.primary]
    single = [c for c in primary if c.ratio is not None and c.model is not Model.RUNS]
    if single:
        where = "" if len(single) == len(primary) else f" in {len(single)} of {len(primary)} comparisons"
        cautions.append(
            f"one run a condition{where}: repeat each condition at least three times, in turn, and the intervals "
            "become ones of encryption instead of ones of two runs"
        )
    bare = [c for c in primary if c.ratio is None]
    if bare:
        where = "" if len(bare) == len(primary) else f" in {len(bare)} of {len(primary)} comparisons"
        cautions.append(f"no replication{where}: quotients are quoted, and nothing is decided on them")
    if settings.budget is not None:
        cautions.append("a budget is judged by the 99 % HDI")
    return tuple(cautions)
