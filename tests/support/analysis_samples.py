"""Hand-built answers of ``tdelta analyze``: nobody measured them, and golden files are about words and columns only."""

from dataclasses import replace

import numpy as np

from tdelta.inference.observed.pictures import ComparisonPicture, PredictiveCheck, QuantileCheck
from tdelta.messages import Caution, Reason
from tdelta.records import (
    ALL,
    RESPONSE_TIME,
    THROUGHPUT,
    AnalysisResult,
    Comparison,
    Decision,
    Estimate,
    Level,
    Model,
    NoteCode,
    ObservedSide,
    ObservedTail,
    Origin,
    RunNote,
    RunScatter,
    Side,
    Source,
    Spread,
    TailRatio,
    TailUnit,
)

ONE_RUN = (
    "one run per condition, one after the other: on a machine whose runs differ by 3%, two runs of one and the same"
    " system look different in 87% of cases; the HDI speaks of these two runs"
)
BARE = "no replication: one figure per condition"


def estimate(median: float, half95: float, tolerance: float = 0.02) -> Estimate:
    low, high = median - half95, median + half95
    half99 = 1.32 * half95
    above = 0.99 if low > 1 + tolerance else 0.4
    below = 0.99 if high < 1 - tolerance else 0.0
    return Estimate(median, (low, high), (median - half99, median + half99), above, max(0.0, 1 - above - below), below)


def spread(median: float, half95: float) -> Spread:
    return Spread(median, (median - half95, median + half95), (median - 1.32 * half95, median + 1.32 * half95))


def side(name: str, value: float, half95: float | None, *, runs: int = 1, count: int = 12_000) -> Side:
    return Side(name, runs, count, float(count), value, None if half95 is None else spread(value, half95))


def comparison(
    baseline: float,
    condition: float,
    *,
    half95: float | None = 0.01,
    decision: Decision = Decision.SLOWER,
    name: str = "tde",
    transaction: str = ALL,
    levels: tuple[tuple[str, Level], ...] = (),
    metric: str = RESPONSE_TIME,
    unit: str = "ms",
    model: Model = Model.GAMMA,
    reasons: tuple[str, ...] = (ONE_RUN,),
    runs: int = 1,
    count: int = 12_000,
    primary: bool = True,
    published: str | None = None,
    luck95: float | None = None,
    bearable: float | None = None,
    run_sd: float | None = None,
    notes: tuple[RunNote, ...] = (),
) -> Comparison:
    quotient = baseline / condition if metric == THROUGHPUT else condition / baseline
    priors = {} if half95 is None or not primary else {"no speed-up": estimate(quotient, half95)}
    if luck95 is not None:
        priors["runs differ by 3%"] = estimate(quotient, luck95)
    sides = [
        side(n, v, None if half95 is None else v * half95 / 1.4, runs=runs, count=count)
        for n, v in (("plain", baseline), (name, condition))
    ]
    return Comparison(
        transaction=transaction,
        levels=levels,
        metric=metric,
        unit=unit,
        model=model if half95 is not None else Model.NONE,
        baseline=sides[0],
        condition=sides[1],
        quotient=quotient,
        ratio=None if half95 is None else estimate(quotient, half95),
        difference=None if half95 is None else spread(condition - baseline, baseline * half95),
        decision=decision if half95 is not None else Decision.UNDECIDED,
        reasons=tuple(map(Reason.verbatim, reasons if half95 is not None else (BARE,))),
        primary=primary,
        priors=priors,
        source=Source((Origin("plain.csv", "CSV"), Origin(f"{name}.csv", "CSV")), published),
        scatter=RunScatter(0.03 if luck95 is not None else run_sd, bearable),
        undecided_because=() if bearable is None else (Reason.of("one-run-only"),),
        notes=notes,
    )


def result(*comparisons: Comparison, **given: object) -> AnalysisResult:
    decisions = [c.decision for c in comparisons if c.primary]
    worst = next((d for d in (Decision.OVER, Decision.UNDECIDED) if d in decisions), None)
    made = AnalysisResult(
        decision=worst or (decisions[0] if decisions else Decision.UNDECIDED),
        comparisons=comparisons,
        tolerance=0.02,
        baseline="plain",
        formats={"CSV": 2},
        cautions=(),
        prior_words="log ratio ~ t3(0, 0.5)",
    )
    for name in given.keys() & {"cautions", "left_out"}:
        given[name] = tuple(map(Caution.verbatim, given[name]))  # type: ignore[call-overload]
    return replace(made, **given)  # type: ignore[arg-type]


def one_run() -> AnalysisResult:
    found = comparison(12.41, 16.257, luck95=0.11)
    moved = replace(found, priors={**found.priors, "normal:0,0.01": estimate(1.274, 0.009)})
    caution = "tde.csv: 14 rows say failed: they are in no figure"
    return result(moved, cautions=(caution,), stated_run_sd=0.03)


def named() -> AnalysisResult:
    """A difference that two runs alone would call slower, and that two runs of one system may show."""
    notes = (
        RunNote(NoteCode.HISTOGRAM_WITHOUT_ORDER, "plain", "1"),
        RunNote(NoteCode.HISTOGRAM_WITHOUT_ORDER, "tde", "1"),
        RunNote(NoteCode.UNSTEADY, "tde", "1", (4700.0, 1920.0)),
    )
    found = comparison(12.41, 12.794, bearable=0.0042, decision=Decision.UNDECIDED, notes=notes)
    return result(found, is_tolerance_given=False)


def transactions() -> AnalysisResult:
    kinds = (
        ("Customer Registration", 18.21, 18.80, 0.07, Decision.UNDECIDED),
        ("Browse Products", 4.113, 4.121, 0.012, Decision.NEGLIGIBLE),
        ("Order Products", 22.9, 25.4, 0.05, Decision.SLOWER),
    )
    return result(
        *(
            comparison(plain, tde, half95=half, decision=decision, transaction=kind, model=Model.RUNS, runs=3)
            for kind, plain, tde, half, decision in kinds
        ),
        formats={"Swingbench XML": 2},
    )


def several_runs() -> AnalysisResult:
    rows = (("aes-128", 1.012, Decision.WITHIN), ("aes-256", 1.081, Decision.OVER))
    primary = [
        comparison(
            1673.2,
            1673.2 / ratio,
            half95=0.009,
            decision=decision,
            name=name,
            metric=THROUGHPUT,
            unit="/s",
            model=Model.RUNS,
            runs=5,
            count=5,
            reasons=("5 runs a condition are the unit: their scatter is in the interval",),
            run_sd=0.004 * ratio**10,
            notes=tuple(
                RunNote(NoteCode.SERIES_DEPENDENT, which, str(run), (900.0, 20.0 + 3 * run))
                for which in ("plain", name)
                for run in range(1, 6)
            ),
        )
        for name, ratio, decision in rows
    ]
    return result(*primary, formats={"sysbench": 15}, budget=0.05)


def sweep() -> AnalysisResult:
    cells = (
        (1, "5 GB", 423.47, 389.11, "1.09"),
        (64, "5 GB", 8574.43, 8558.6, "1.00"),
        (1, "60 GB", 567.65, 578.91, None),
        (64, "60 GB", 19821.48, 20007.22, None),
    )
    return result(
        *(
            comparison(
                plain,
                encrypted,
                half95=None,
                name="encrypted",
                levels=(("buffer_pool", pool), ("threads", threads)),
                metric=THROUGHPUT,
                unit="/s",
                published=said,
                count=1,
            )
            for threads, pool, plain, encrypted, said in cells
        ),
        formats={"CSV cells": 1},
        source="Percona blog, 2019; Percona Server 8.0",
        prior_words="",
    )


def steps() -> AnalysisResult:
    """Two metrics, ratios beyond two-fold, a value that was left out, and a name that would move the cursor."""
    return result(
        comparison(43_694.0, 206_093.0, half95=None, transaction="SUM from disk", metric="cpu", published="+372%"),
        comparison(59_503.0, 59_889.0, half95=None, transaction="SUM\x1b[2Jagain", metric="cpu", published="0%"),
        comparison(2_805.0, 4_206.0, half95=None, transaction="SUM from disk", metric="elapsed", primary=False),
        left_out=("SUM from disk, disk_reads: plain has 0, and nothing can be said of a quotient over 0",),
        prior_words="",
    )


def one_tail() -> AnalysisResult:
    why = "no interval: one run of a condition cannot separate its instance effect from the condition; it takes 3 runs"
    why += " of each"
    tail = ObservedTail(
        threshold_ms=20.0,
        counted_from_ms=20.3612,
        baseline=ObservedSide("plain", 1, 12_000, 96, 104, (22.1, 22.53)),
        condition=ObservedSide("tde", 1, 12_000, 161, 172, (26.4, 26.92)),
        longer_quotient=161 / 96,
        longer_ratio=None,
        p99_quotient=26.92 / 22.53,
        p99_ratio=None,
        longer_reason=Reason.verbatim(why),
        p99_reason=Reason.verbatim(why),
    )
    return result(replace(comparison(12.41, 12.794, bearable=0.0042, decision=Decision.UNDECIDED), tail=tail))


def tails() -> AnalysisResult:
    """Several runs: intervals where there are enough values beyond the threshold, and a comparison without a tail."""
    reasons = ("5 runs a condition are the unit: their scatter is in the interval",)
    found = [
        comparison(12.41, mean, name=name, model=Model.RUNS, runs=5, reasons=reasons, transaction=transaction)
        for name, mean, transaction in (("aes-128", 12.9, "New Order"), ("aes-256", 13.6, "New Order"))
    ]
    bare = comparison(3.1, 3.2, name="aes-256", half95=0.01, model=Model.SUMMARY, transaction="Payment")
    plain = ObservedSide("plain", 5, 60_000, 480, 480, (22.1, 22.53))
    many = ObservedTail(
        threshold_ms=20.0,
        counted_from_ms=20.0,
        baseline=plain,
        condition=ObservedSide("aes-128", 5, 60_000, 696, 696, (23.9, 24.37)),
        longer_quotient=1.45,
        longer_ratio=TailRatio(1.45, (1.12, 1.88), TailUnit.RUN, 10),
        p99_quotient=24.37 / 22.53,
        p99_ratio=TailRatio(24.37 / 22.53, (1.02, 1.15), TailUnit.RUN, 10),
    )
    few = ObservedTail(
        threshold_ms=20.0,
        counted_from_ms=20.0,
        baseline=plain,
        condition=ObservedSide("aes-256", 4, 900, 6, 6, None),
        longer_quotient=6 / 900 / (480 / 60_000),
        longer_ratio=None,
        p99_quotient=None,
        p99_ratio=None,
        longer_reason=Reason.of("tail-too-few", found=6, fewest=10),
        p99_reason=Reason.of("no-percentile", needed=1000, found="aes-256 has 900"),
    )
    none = "no tail: plain and aes-256 have summaries, neither single response times nor a histogram"
    return result(
        replace(found[0], tail=many),
        replace(found[1], tail=few),
        replace(bare, tail_reason=Reason.verbatim(none)),
        cautions=(f"--latency-limit, 1 of 3 comparisons of response time: {none}",),
    )


def nothing() -> AnalysisResult:
    return result(left_out=("threads 8: only in plain",), prior_words="")


def pictures(found: AnalysisResult) -> tuple[ComparisonPicture, ...]:
    """Checks of the first comparison alone."""
    known = [c for c in found.comparisons if c.ratio is not None]
    return tuple(_picture(c, has_checks=number == 0) for number, c in enumerate(known))


def _picture(c: Comparison, *, has_checks: bool) -> ComparisonPicture:
    checks = tuple(_check(side.condition, c.model) for side in (c.baseline, c.condition)) if has_checks else ()
    return ComparisonPicture(c.transaction, c.levels, c.metric, c.unit, c.condition.condition, checks)


def _check(name: str, model: Model) -> PredictiveCheck:
    quantiles = (QuantileCheck(0.95, 24.1, 23.6, 23.1, 24.2), QuantileCheck(0.99, 39.0, 31.2, 30.4, 32.1))
    if model is not Model.GAMMA:
        empty = np.zeros(0)
        return PredictiveCheck(name, "1", empty, empty, empty, empty, empty, quantiles)
    edges = np.geomspace(2.0, 60.0, 49)
    middles = np.sqrt(edges[1:] * edges[:-1])
    expected = np.exp(-0.5 * (np.log(middles / 11.5) / 0.55) ** 2)
    expected /= expected.sum()
    observed = expected * np.where(middles > 35, 1.9, 0.98)
    return PredictiveCheck(name, "1", edges, observed, expected, expected * 0.94, expected * 1.06, quantiles)


SAMPLES = {
    "one_run": one_run,
    "lucky": named,
    "transactions": transactions,
    "several_runs": several_runs,
    "sweep": sweep,
    "steps": steps,
    "one_tail": one_tail,
    "tails": tails,
    "nothing": nothing,
}
