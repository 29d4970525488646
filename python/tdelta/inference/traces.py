"""What each statement costs on each twin, and its ratio over the plain twins.

CPU time, reads and rows are of extra trials, one a block, whose statements were metered one by one; elapsed time is of
the measured trials, where nothing stood between the statements. Both are compared block by block with the model of the
verdicts (`tdelta.inference.fits`), each statement by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from tdelta.inference.costs import panels
from tdelta.inference.fits import CostFit, fit_named
from tdelta.inference.posterior import posterior
from tdelta.records import Condition, Estimate, Measurement, RunSettings, StatementCost, StatementTrace, Traces, Trial
from tdelta.records.trials import by_condition

Nearest: TypeAlias = Mapping[str, tuple[tuple[str, ...], str]]
"""By heading, the engine's counters to add up, and words for them."""

ROWS_CHANGED = "rows_changed"
"""The heading that is added to the rows fetched, and no heading of the table."""

_US = 1e3
_LOG = "log_bytes"


def statement_traces(
    trials: Sequence[Trial], settings: RunSettings, sql: Mapping[str, str], nearest: Nearest
) -> Traces | None:
    """The traces of a run's statements, in the order in which they stand; None where nothing was traced.

    Args:
        trials: the run's.
        settings: the run's.
        sql: the text of each statement, by name; those that are not there were never traced.
        nearest: what the engine has under each heading.
    """
    if not any(trial.measurement.traced for trial in trials):
        return None
    found = panels(trials, settings)
    names = [name for name in sql if any(name in trial.measurement.traced for trial in trials)]
    cpu = _ratios(fit_named(found, {name: partial(_cpu_us, name) for name in names}), settings.tolerance)
    elapsed = _ratios(fit_named(found, {name: partial(_elapsed_us, name) for name in names}), settings.tolerance)
    of = by_condition(trials)
    statements = tuple(
        _trace(condition, name, sql[name], of[condition.key], nearest, cpu, elapsed)
        for condition in settings.conditions
        for name in names
        if any(name in measured.traced for measured in of.get(condition.key, ()))
    )
    return Traces(statements, {heading: words for heading, (_, words) in nearest.items() if heading != ROWS_CHANGED})


_Ratios: TypeAlias = Mapping[tuple[str, str], Estimate]


def _ratios(fits: Mapping[str, CostFit], tolerance: float) -> _Ratios:
    return {
        (name, condition.key): posterior(data).estimate(tolerance)
        for name, fit in fits.items()
        for _, condition, data in fit.data()
    }


def _cpu_us(name: str, measured: Measurement) -> float:
    cost = measured.traced.get(name)
    return cost.cpu_ns / cost.calls / _US if cost and cost.calls else 0.0


def _elapsed_us(name: str, measured: Measurement) -> float:
    spans = measured.statements.get(name)
    return spans.total_ns / spans.count / _US if spans and spans.count else 0.0


def _trace(
    condition: Condition,
    name: str,
    sql: str,
    measured: Iterable[Measurement],
    nearest: Nearest,
    cpu: _Ratios,
    elapsed: _Ratios,
) -> StatementTrace:
    measured = list(measured)
    costs = [m.traced[name] for m in measured if name in m.traced]
    calls = sum(cost.calls for cost in costs)
    spans = [m.statements[name] for m in measured if name in m.statements]
    counted = {heading: _counted(costs, counters) / calls for heading, (counters, _) in nearest.items()}
    changed = counted.pop(ROWS_CHANGED, None)
    fetched = sum(cost.rows for cost in costs) / calls
    tells_log = any(_LOG in cost.counters for cost in costs)
    return StatementTrace(
        condition=condition,
        statement=name,
        sql=sql,
        calls=calls,
        cpu_us=sum(cost.cpu_ns for cost in costs) / calls / _US,
        elapsed_us=sum(s.total_ns for s in spans) / max(1, sum(s.count for s in spans)) / _US,
        rows=fetched + changed if changed is not None else fetched or None,
        reads=counted,
        log_bytes=_counted(costs, (_LOG,)) / calls if tells_log else None,
        cpu_ratio=cpu.get((name, condition.key)),
        elapsed_ratio=elapsed.get((name, condition.key)),
    )


def _counted(costs: Iterable[StatementCost], counters: Sequence[str]) -> int:
    return sum(cost.counters.get(counter, 0) for cost in costs for counter in counters)


def statement_texts(scripts: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """The name of each statement, ``NAME/N`` with N from 1, and its text on one line."""
    for name, statements in scripts.items():
        for number, text in enumerate(statements, start=1):
            yield f"{name}/{number}", " ".join(text.split())
