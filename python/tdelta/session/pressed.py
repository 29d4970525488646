"""What a run on a pressed machine says beside its answer: what waited for a CPU, and which metric would decide."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from tdelta.messages import Caution
from tdelta.records import Decision, Metric, Trial, Verdict
from tdelta.session.planning import Plan

PRESSED = 0.10
"""The median share of a trial's time in which tasks of the machine waited for a CPU."""

DELAYED = 0.05
"""The share of the measured time in which the database itself did."""

STOLEN = 0.02
_DECIDED = frozenset({Decision.COSTLY, Decision.FASTER, Decision.NEGLIGIBLE, Decision.OVER, Decision.WITHIN})


def pressure_cautions(
    plan: Plan, trials: Sequence[Trial], verdicts: Sequence[Verdict], by_cpu: Mapping[str, Decision]
) -> Iterator[Caution]:
    """How pressed the machine was, by whom, and what would decide in spite of it: ``by_cpu``, as judged.

    Pressure counts tdelta's own threads as well. So it is told where there is one, and in a closed loop; where the
    database's own delay is known to be other programs' doing, that is told in its place.
    """
    pressed, delayed = median_pressure(trials, "cpu_some"), others_delay_share(trials)
    is_delayed = delayed is not None and delayed > DELAYED
    is_pressed = pressed > PRESSED and not plan.is_open and _threads(plan) == 1
    if delayed is not None and is_delayed:
        yield Caution.of("others-delayed-database", share=delayed)
    elif is_pressed and delayed is None:
        # Of a server, one client has several threads at work: they wait for one another as well.
        if plan.request.is_served:
            yield Caution.of("threads-waited", share=pressed)
        else:
            yield Caution.of("others-waited", share=pressed)
    stolen = median_pressure(trials, "steal")
    if stolen > STOLEN:
        yield Caution.of("host-took-cpu", share=stolen)
    if pressed > PRESSED or is_delayed:
        yield from _deciding(verdicts, by_cpu)


def _deciding(verdicts: Sequence[Verdict], by_cpu: Mapping[str, Decision]) -> Iterator[Caution]:
    """Where CPU time per operation, which nobody's waiting is in, decides and response time does not."""
    for verdict in verdicts:
        is_open = verdict.primary and verdict.metric is Metric.RESPONSE_TIME and verdict.decision is Decision.UNDECIDED
        decision = by_cpu.get(verdict.condition.key)
        if is_open and decision is not None and decision in _DECIDED:
            yield Caution.of(
                "cpu-would-decide",
                condition=verdict.condition.key,
                decision=decision.value,
                metric=Metric.CPU_PER_OPERATION.value,
            )


def _threads(plan: Plan) -> int:
    return max(int(condition.level("threads")) for condition in plan.conditions)


def median_pressure(trials: Sequence[Trial], name: str) -> float:
    """The median over the trials that have it; 0 where none has."""
    values = [trial.measurement.pressure[name] for trial in trials if name in trial.measurement.pressure]
    return statistics.median(values) if values else 0.0


def others_delay_share(trials: Sequence[Trial]) -> float | None:
    """The share of the measured time in which other programs kept the database from a CPU.

    Returns:
        Of all trials together; None where it cannot be told of every one of them.
    """
    delays = [trial.measurement.delays.others_delay_ns for trial in trials]
    elapsed_ns = sum(trial.measurement.elapsed_ns for trial in trials)
    known = [delay for delay in delays if delay is not None]
    return min(1.0, sum(known) / elapsed_ns) if elapsed_ns and len(known) == len(delays) else None
