from dataclasses import replace

import numpy as np
import pytest

from support.finished import found as findings
from tdelta.findings.actions import KIND, LeftInClear, while_ratios
from tdelta.findings.base import FinishedRun
from tdelta.processes.actions import DELETED, SECONDS, THERE, WHILE_NS, WHILE_WORK, left
from tdelta.records import Condition, Estimate, Measurement, Metric, Role, RunSettings, SpanTotals, Trial


def of(during: str, role: Role = Role.TREATMENT) -> Condition:
    return Condition((("cipher", "none"), ("during", during), ("threads", 1)), role)


PLAIN, TWIN = of("nothing", Role.BASELINE), of("nothing", Role.AA)
CONDITIONS = (PLAIN, TWIN, of("throttle:percent=30"), of("throttle"), of("encrypt"))
TRUTHS = (1.0, 1.0, 1.3, 1.0, 2.0)
SETTINGS = RunSettings("r", 1, "", "mariadb", "order-entry", CONDITIONS, 0.02, None, Metric.RESPONSE_TIME)
OPERATIONS, STATEMENT_NS, ACTION_NS = 4000, 500_000, 600_000_000


def measured(truth: float, cost_ns: float, rng: np.random.Generator, *, acts: bool) -> Measurement:
    """A trial of 2 s: for 0.6 s its statements take so many times as long, then what they always do."""
    during = round(ACTION_NS / (cost_ns * truth))
    noisy = during * rng.lognormal(0.0, 0.02)
    elapsed = ACTION_NS + (OPERATIONS - during) * cost_ns
    counters = {WHILE_NS: ACTION_NS, WHILE_WORK: round(noisy), SECONDS: ACTION_NS}
    if not acts:
        counters = {WHILE_NS: round(elapsed), WHILE_WORK: OPERATIONS}
    spans = {"t": SpanTotals(OPERATIONS, round(elapsed))}
    return Measurement(OPERATIONS, round(elapsed), spans, {}, total_operations=OPERATIONS, engine_counters=counters)


def trials(seed: int, rounds: int = 3, blocks: int = 4, **changed: int) -> list[Trial]:
    rng = np.random.default_rng(seed)
    found = []
    for number in range(rounds):
        instance_effect = rng.lognormal(0.0, 0.01, len(CONDITIONS))
        for block in range(number * blocks, (number + 1) * blocks):
            speed = rng.lognormal(0.0, 0.1)
            for place, (condition, truth) in enumerate(zip(CONDITIONS, TRUTHS, strict=True)):
                cost = STATEMENT_NS * speed * instance_effect[place] * rng.lognormal(0.0, 0.03)
                one = measured(truth, cost, rng, acts="nothing" not in condition.key)
                one.engine_counters.update(changed)  # type: ignore[attr-defined]
                found.append(Trial(number, block, place, condition, f"{condition.key}/{number}", 0.0, one))
    return found


def ratios_of(trials: list[Trial]) -> dict[str, Estimate]:
    ratios = while_ratios(FinishedRun(settings=SETTINGS, trials=trials))
    return {key: ratio for (_, key), ratio in ratios.items()}


def test_what_was_injected_while_it_goes_on_is_found_though_whole_trials_dilute_it() -> None:
    found = trials(5)
    ratios = ratios_of(found)
    assert set(ratios) == {c.key for c in CONDITIONS[2:]}
    totals = [sum(t.measurement.elapsed_ns for t in found if t.condition == c) for c in CONDITIONS]
    assert totals[4] / totals[0] < 1.3, "the trials hold mostly what comes after it"
    assert ratios[CONDITIONS[4].key].hdi95[0] < 2.0 < ratios[CONDITIONS[4].key].hdi95[1]


def test_intervals_hold_what_was_injected_and_call_nothing_where_nothing_was() -> None:
    runs = [ratios_of(trials(seed)) for seed in range(40)]
    for condition, truth in zip(CONDITIONS[2:], TRUTHS[2:], strict=True):
        held = sum(r[condition.key].hdi95[0] <= truth <= r[condition.key].hdi95[1] for r in runs)
        assert held >= 35, condition.key
    assert sum(r[CONDITIONS[3].key].mass_above_tolerance > 0.95 for r in runs) <= 3, (
        "harm was called where none was injected"
    )


def test_the_measures_have_it_beside_how_long_it_took() -> None:
    found = findings(KIND, trials(5), SETTINGS)
    assert [one.condition for one in found] == list(CONDITIONS[2:])
    assert all(one.while_ratio is not None and one.seconds.median == pytest.approx(0.6) for one in found)


def test_what_is_left_in_the_clear_is_the_most_of_any_trial_by_class_of_file() -> None:
    found = trials(5, rounds=1, blocks=2)
    acts = [t for t in found if t.condition == CONDITIONS[4]]
    for trial, markers in zip(acts, (3, 0), strict=True):
        counters = {left(DELETED, "tables"): markers, left(THERE, "tables"): 0, left(THERE, "redo log"): 2}
        trial.measurement.engine_counters.update({f"action_{n}": c for n, c in counters.items()})  # type: ignore[attr-defined]
    (measure,) = (one for one in findings(KIND, found, SETTINGS) if one.condition == CONDITIONS[4])
    assert measure.left == (LeftInClear("tables", 0, 3), LeftInClear("redo log", 2, 0))
    assert measure.counted == {}, "what is left is no count of the action's"
    run = FinishedRun(settings=SETTINGS, trials=found)
    assert [(one.code, one.parameters["files"]) for one in KIND.cautions([measure], run)] == [
        ("rows-left-in-clear", "redo log"),
        ("deleted-rows-left-in-clear", "tables"),
    ]
    assert list(KIND.cautions([replace(measure, action="decrypt")], run)) == []


def test_a_database_that_counts_no_statements_has_no_ratio() -> None:
    assert ratios_of(trials(5, **{WHILE_WORK: 0})) == {}


def test_one_block_has_no_ratio() -> None:
    assert ratios_of(trials(5, rounds=1, blocks=1)) == {}


def test_a_bulk_load_is_an_action_with_its_rows_and_files() -> None:
    load = Condition((("cipher", "none"), ("work", "load")), Role.BASELINE)
    counters = {"rows": 1000}
    trials = [
        Trial(0, n, 0, load, "i", 0.0, Measurement(1, ns, {}, {}, engine_counters=counters, files_bytes={"data": size}))
        for n, (ns, size) in enumerate(((2_000_000_000, 4096), (4_000_000_000, 8192)))
    ]
    (measure,) = findings(KIND, trials, replace(SETTINGS, conditions=(load,)))
    assert (measure.action, measure.is_step, measure.seconds.median) == ("load", True, 3.0)
    assert measure.counted == {"rows": 1000.0, "files_bytes": 6144.0}
