"""Records to store: fixed examples for the tests of one thing, strategies for the round trips."""

from hypothesis import strategies as st

from support.flat import measurement_of
from tdelta.design import lay_out
from tdelta.messages import Caution, Detail, Reason
from tdelta.records import (
    CheckState,
    Condition,
    Counts,
    Decision,
    Estimate,
    LoopFacts,
    Metric,
    NoiseFloor,
    Role,
    RunResult,
    RunSettings,
    SpanTotals,
    Trial,
    Validity,
    Verdict,
)

CONDITIONS = lay_out({"cipher": ("aes-256",)})
MACHINE = {"cpu_model": "Example CPU", "cpu_flags": {"aes": True}, "governor": None, "load_average": [0.5, 0.25, 0.0]}
VERSIONS = {"python": "3.11.7", "numpy": "2.4.6"}


def settings_of(run_id="20260802-kqmt", seed=2**63 - 1):
    options = {"trial_seconds": 0.25, "vary": {"cipher": ["aes-256"]}, "directory": None}
    return RunSettings(
        run_id, seed, "default", "sqlite", "order-entry", CONDITIONS, 0.02, None, Metric.RESPONSE_TIME, options
    )


def trial_of(block=0, position=0, **changes):
    measurement = measurement_of(
        operations=500,
        elapsed_ns=250_000_000,
        transactions={"browse": SpanTotals(400, 160_000_000), "order": SpanTotals(100, 80_000_000)},
        statements={"browse/1": SpanTotals(400, 150_000_000)},
        errors={"busy": 2},
        histograms={"tx:browse": b"\x1c\x84\x93\x14\x00\xff", "stmt:browse/1": b""},
        engine_counters={"cache_hit": 9_000},
        files_bytes={"database": 50_000_000, "wal": 4_096},
        pressure={"cpu_some": 0.01},
        **changes,
    )
    return Trial(0, block, position, CONDITIONS[position], "0a1b2c3d", 1_785_000_000.25, measurement)


def result_of(settings, **changes):
    ratio = Estimate(1.031, (1.024, 1.038), (1.021, 1.041), 1.0, 0.0, 0.0)
    baseline, _, treatment = CONDITIONS
    reasons = (Reason.of("interval-above", interval="+2.4 … +3.8 %", tolerance=0.02),)
    verdict = Verdict(
        True, treatment, baseline, Metric.RESPONSE_TIME, "all", "µs", 480.0, 495.0, ratio, Decision.SLOWER, reasons
    )
    fields = {
        "settings": settings,
        "decision": Decision.SLOWER,
        "verdicts": (verdict,),
        "noise_floor": (NoiseFloor(0, Metric.RESPONSE_TIME, ratio, 0.003, 3, 18),),
        "validity": (Validity("twins identical", CheckState.OK, (Detail.verbatim("6 tables"),)),),
        "cautions": (Caution.verbatim("one round only"),),
        "counts": Counts(3, 18, 54, operations_per_trial=500, trial_seconds=0.25, elapsed_seconds=61.5),
        "loop": LoopFacts(loop_cost_ns=97.5, client_overhead_share=0.0004),
        "machine": MACHINE,
        "versions": VERSIONS,
    }
    return RunResult(**(fields | changes))


# SQLite's integers have 64 bits; everything counted in a trial fits with room to spare.
integers = st.integers(0, 2**63 - 1)
finite = st.floats(allow_nan=False, allow_infinity=False)
unbounded = st.floats(allow_nan=False)
names = st.text(max_size=12)
levels = st.one_of(names, integers, finite)
parameters = st.dictionaries(names, st.one_of(names, integers, finite), max_size=2)


def messages(kind):
    return st.lists(st.builds(kind, names, parameters), max_size=2).map(tuple)


all_levels = st.lists(st.tuples(names, levels), max_size=4).map(tuple)
uninjected_roles = st.sampled_from([role for role in Role if role is not Role.INJECTED])
conditions = st.one_of(
    st.builds(Condition, levels=all_levels, role=uninjected_roles, stratum=integers),
    st.builds(Condition, levels=all_levels, role=st.just(Role.INJECTED), stratum=integers, injected=finite),
)
counters = st.dictionaries(names, integers, max_size=3)
spans = st.dictionaries(names, st.builds(SpanTotals, count=integers, total_ns=integers), max_size=3)
measurements = st.builds(
    measurement_of,
    operations=integers,
    elapsed_ns=integers,
    transactions=spans,
    statements=spans,
    errors=counters,
    retries=counters,
    histograms=st.dictionaries(names, st.binary(max_size=40), max_size=3),
    cpu_user_seconds=finite,
    cpu_system_seconds=finite,
    syscall_read_bytes=integers,
    syscall_written_bytes=integers,
    device_read_bytes=integers,
    device_written_bytes=integers,
    minor_faults=integers,
    major_faults=integers,
    voluntary_switches=integers,
    involuntary_switches=integers,
    engine_counters=counters,
    files_bytes=counters,
    checkpoint_ns=integers,
    checkpoint_syscall_written_bytes=st.none() | integers,
    checkpoint_device_written_bytes=st.none() | integers,
    injected_cpu_ns=integers,
    injected_elapsed_ns=integers,
    queued_operations=integers,
    total_operations=integers,
    backlog_max=integers,
    stopped_by=names,
    pressure=st.dictionaries(names, finite, max_size=3),
    run_delay_ns=st.none() | integers,
    client_run_delay_ns=st.none() | integers,
    others_delay_ns=st.none() | integers,
    standstill=names,
    host=names,
)
trials = st.builds(
    Trial,
    round=integers,
    block=integers,
    position=integers,
    condition=conditions,
    instance=names,
    started_unix_seconds=finite,
    measurement=measurements,
)
intervals = st.tuples(unbounded, unbounded)
estimates = st.builds(
    Estimate,
    median=unbounded,
    hdi95=intervals,
    hdi99=intervals,
    mass_above_tolerance=finite,
    mass_in_tolerance=finite,
    mass_below_tolerance=finite,
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(names, json_values, max_size=3)
settings = st.builds(
    RunSettings,
    run_id=names,
    seed=integers,
    study=names,
    engine=names,
    workload=names,
    conditions=st.lists(conditions, max_size=3).map(tuple),
    tolerance=finite,
    budget=st.none() | finite,
    metric=st.sampled_from(Metric),
    options=json_objects,
)
verdicts = st.builds(
    Verdict,
    primary=st.booleans(),
    condition=conditions,
    baseline=conditions,
    metric=st.sampled_from(Metric),
    transaction=names,
    unit=names,
    baseline_value=unbounded,
    condition_value=unbounded,
    ratio=estimates,
    decision=st.sampled_from(Decision),
    reasons=messages(Reason),
    actual=st.none() | unbounded,
    no_speedup=st.none() | estimates,
)
floors = st.builds(
    NoiseFloor,
    stratum=integers,
    metric=st.sampled_from(Metric),
    ratio=estimates,
    instance_sd=finite,
    rounds=integers,
    blocks=integers,
)
results = st.builds(
    RunResult,
    settings=settings,
    decision=st.sampled_from(Decision),
    verdicts=st.lists(verdicts, max_size=2).map(tuple),
    noise_floor=st.lists(floors, max_size=2).map(tuple),
    validity=st.lists(
        st.builds(Validity, names, st.sampled_from(CheckState), messages(Detail), st.booleans()), max_size=2
    ).map(tuple),
    cautions=messages(Caution),
    counts=st.builds(
        Counts,
        rounds=integers,
        blocks=integers,
        trials=integers,
        operations_per_trial=integers,
        trial_seconds=finite,
        elapsed_seconds=finite,
    ),
    loop=st.builds(LoopFacts, loop_cost_ns=finite, client_overhead_share=finite),
    machine=json_objects,
    versions=st.dictionaries(names, names, max_size=3),
    stopped_by=names,
    interrupted=st.booleans(),
)
