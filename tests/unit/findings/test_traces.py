from dataclasses import replace

import numpy as np
import pytest

from support.finished import found as findings
from tdelta.findings.traces import KIND, StatementTrace, Traces
from tdelta.records import Condition, Measurement, Metric, Role, RunSettings, SpanTotals, StatementCost, Trial

PLAIN = Condition((("cipher", "none"),), Role.BASELINE, 0)
TWIN = Condition((("cipher", "none"),), Role.AA, 0)
AES = Condition((("cipher", "aes-256"),), Role.TREATMENT, 0)
SCRIPTS = {"work": ("BEGIN", "INSERT\n  INTO t", "never run")}
NEAREST = {
    "physical": (("misses",), "pages read"),
    "logical": (("hits", "misses"), "requests"),
    "rows_changed": (("changed",), "changes"),
}
ROUNDS, BLOCKS, CALLS = 4, 6, 60


def measured(cpu_ns: float, elapsed_ns: float) -> Measurement:
    counters = {"hits": 900, "misses": 300, "changed": 6000, "log_bytes": 1200}
    return Measurement(
        operations=100,
        elapsed_ns=10_000_000,
        transactions={"work": SpanTotals(100, 10_000_000)},
        statements={"work/1": SpanTotals(100, 100_000), "work/2": SpanTotals(100, round(100 * elapsed_ns))},
        traced={
            "work/1": StatementCost(CALLS, 0, 50_000, 0),
            "work/2": StatementCost(CALLS, round(CALLS * cpu_ns), 1_000_000, 120, counters),
        },
    )


def trials(seed: int, cpu: float, elapsed: float, noise: float = 0.03) -> list[Trial]:
    """Blocks of three twins; AES costs so many times what plain does, each trial with some noise."""
    draw = np.random.default_rng(seed)
    found = []
    for block in range(ROUNDS * BLOCKS):
        for position, condition in enumerate((PLAIN, TWIN, AES)):
            factors = (cpu, elapsed) if condition is AES else (1.0, 1.0)
            instance_effect = np.exp(draw.normal(0.0, noise, 2))
            given = measured(400_000 * factors[0] * instance_effect[0], 500_000 * factors[1] * instance_effect[1])
            found.append(Trial(block // BLOCKS, block, position, condition, "x", 0.0, given))
    return found


@pytest.fixture
def settings() -> RunSettings:
    return RunSettings(
        run_id="r",
        seed=1,
        study="",
        engine="sqlite",
        workload="dml-trace",
        conditions=(PLAIN, TWIN, AES),
        tolerance=0.02,
        budget=None,
        metric=Metric.RESPONSE_TIME,
        options={},
    )


def computed(given: list[Trial], settings: RunSettings) -> tuple[Traces, ...]:
    return findings(KIND, given, settings, scripts=SCRIPTS, headings=NEAREST)


def found(given: list[Trial], settings: RunSettings) -> dict[tuple[str, Role], StatementTrace]:
    (traces,) = computed(given, settings)
    assert traces.headings == {"physical": "pages read", "logical": "requests"}
    return {(one.statement, one.condition.role): one for one in traces.statements}


def test_a_statement_has_its_totals_a_call(settings: RunSettings) -> None:
    by_name = found(trials(1, 1.3, 1.2), settings)
    assert {name for name, _ in by_name} == {"work/1", "work/2"}
    one = by_name["work/2", Role.BASELINE]
    assert one.calls == CALLS * ROUNDS * BLOCKS
    assert one.cpu_us == pytest.approx(400, rel=0.05)
    assert one.elapsed_us == pytest.approx(500, rel=0.05)
    assert one.rows == 2 + 100
    assert one.reads == {"physical": 5, "logical": 20}
    assert one.log_bytes == 20
    assert one.sql == "INSERT INTO t"
    assert (one.cpu_ratio, one.elapsed_ratio) == (None, None)


def test_what_costs_nothing_has_no_ratio_and_what_the_engine_does_not_count_is_not_there(settings: RunSettings) -> None:
    one = found(trials(1, 1.3, 1.2), settings)["work/1", Role.TREATMENT]
    assert one.cpu_ratio is None
    assert one.elapsed_ratio is not None
    assert one.log_bytes is None


def test_ratios_hold_the_truth_as_often_as_they_say(settings: RunSettings) -> None:
    held = []
    for seed in range(40):
        one = found(trials(seed, 1.31, 1.12), settings)["work/2", Role.TREATMENT]
        for truth, ratio in ((1.31, one.cpu_ratio), (1.12, one.elapsed_ratio)):
            assert ratio is not None
            held.append(ratio.hdi95[0] <= truth <= ratio.hdi95[1])
    assert np.mean(held) >= 0.88  # of 80 at 95 %: fewer than 70 would come about once in 5000 times


def test_a_run_without_a_trace_has_none(settings: RunSettings) -> None:
    given = [replace(t, measurement=replace(t.measurement, traced={})) for t in trials(1, 1.0, 1.0)]
    assert computed(given, settings) == ()
