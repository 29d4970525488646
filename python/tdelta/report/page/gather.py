"""From the store to what a page shows: the result, the trials without their histograms, and what is drawn of both.

Histograms are most of a run's bytes; they are read trial by trial and added up as they come, so that a long run needs
no more memory than a short one. Percentiles are of the trials that the verdicts rest on (complete blocks), so that
every condition's are of the same work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tdelta._native import histogram_merge, histogram_summary
from tdelta.inference.fits import PairedRatios, complete_blocks, paired_ratios
from tdelta.records import Event, Phase, RunResult, Trial
from tdelta.store import Store

FEWEST_BEYOND = 10
"""A percentile is drawn only where at least so many transactions lie beyond: further out, a curve is a few points."""

MARKS = (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999)
"""The quantiles of the table; a condition has those that enough of its transactions lie beyond."""

_STEPS_PER_TENFOLD = 20
_MERGED_AT = 64
_TRANSACTIONS = "tx:"


@dataclass(frozen=True, slots=True)
class Latency:
    """How long the transactions of one condition took, all types and trials together.

    ``curve`` pairs quantiles (0 … below 1) with nanoseconds, as far out as `FEWEST_BEYOND` transactions lie beyond;
    ``marks`` are those of `MARKS` that do.
    """

    count: int
    mean_ns: float
    max_ns: int
    curve: tuple[tuple[float, int], ...]
    marks: Mapping[float, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunData:
    result: RunResult
    created_unix_seconds: float
    trials: tuple[Trial, ...] = ()
    pairs: tuple[PairedRatios, ...] = ()
    latencies: Mapping[str, Latency] = field(default_factory=dict)


def gather(store: Store, run_id: str, observe: Callable[[Event], None] = lambda _: None) -> RunData:
    """Read a finished run.

    Args:
        run_id: the whole id of the run.
        observe: hears of each stage (`tdelta.records.Phase`).
    """
    result = store.result(run_id)
    created = store.summary(run_id).created_unix_seconds
    observe(Phase("read", f"run {run_id}"))
    trials = store.trials(run_id, histograms=False)
    latencies = _latencies(store, result, trials, observe)
    return RunData(
        result=result,
        created_unix_seconds=created,
        trials=trials,
        pairs=paired_ratios(trials, result.settings),
        latencies=latencies,
    )


def _latencies(
    store: Store, result: RunResult, trials: Sequence[Trial], observe: Callable[[Event], None]
) -> dict[str, Latency]:
    used = complete_blocks(trials, result.settings)
    gathered: dict[str, list[bytes]] = {}
    for number, trial in enumerate(store.iter_trials(result.settings.run_id), 1):
        key = trial.condition.key
        if (trial.block, key) in used:
            _add(gathered.setdefault(key, []), trial)
        observe(Phase("read", "response times", number, len(trials)))
    return {key: summary for key, payloads in gathered.items() if (summary := latency(payloads)) is not None}


def _add(payloads: list[bytes], trial: Trial) -> None:
    histograms = trial.measurement.histograms.items()
    payloads += [payload for name, payload in histograms if name.startswith(_TRANSACTIONS)]
    if len(payloads) >= _MERGED_AT:
        payloads[:] = [histogram_merge(payloads)]


def latency(payloads: Sequence[bytes]) -> Latency | None:
    """Histogram payloads as one curve; None if they hold nothing.

    Quantiles stand evenly on a logarithmic axis of ``1 / (1 - quantile)``, twenty in each factor of ten.
    """
    count, mean_ns, max_ns, _ = histogram_summary(payloads, ())
    if count == 0:
        return None
    quantiles = _quantiles(count)
    *_, values = histogram_summary(payloads, quantiles)
    marks = [q for q in MARKS if count * (1.0 - q) >= FEWEST_BEYOND * (1.0 - 1e-9)]
    *_, marked = histogram_summary(payloads, marks)
    return Latency(
        count=count,
        mean_ns=mean_ns,
        max_ns=max_ns,
        curve=tuple(zip(quantiles, values, strict=True)),
        marks=dict(zip(marks, marked, strict=True)),
    )


def _quantiles(count: int) -> list[float]:
    furthest = max(2.0, count / FEWEST_BEYOND)
    steps = 0
    quantiles = []
    while (reach := 10.0 ** (steps / _STEPS_PER_TENFOLD)) <= furthest:
        quantiles.append(1.0 - 1.0 / reach)
        steps += 1
    return quantiles
