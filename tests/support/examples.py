"""Records to store: fixed examples for the tests of one thing, strategies for the round trips."""

import builtins
import collections.abc
import dataclasses
import types
import typing
from enum import Enum
from typing import Any

from hypothesis import strategies as st

from support.flat import measurement_of
from tdelta.design import lay_out
from tdelta.messages import Caution, Detail, Message, Reason
from tdelta.records import (
    CheckState,
    Condition,
    Counts,
    Decision,
    Estimate,
    Level,
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
names = st.text(max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
OWN = {
    int: integers, float: finite, str: names, bool: st.booleans(), bytes: st.binary(max_size=40), type(None): st.none(),
    Any: json_values, object: json_values,
}  # fmt: skip


def record_of(kind, **own):
    """Any record of that kind, by the types of its fields; ``own`` has those that are less free."""
    hints = typing.get_type_hints(kind)
    free = (field.name for field in dataclasses.fields(kind) if field.name not in own)
    return st.builds(kind, **{name: values_of(hints[name]) for name in free}, **own)


def values_of(hint):
    """Any value of a type that a record's field may have."""
    inner = typing.get_args(hint)
    match typing.get_origin(hint):
        case types.UnionType | typing.Union:
            return st.one_of(*map(values_of, inner))
        case builtins.tuple if inner[-1] is ...:
            return st.lists(values_of(inner[0]), max_size=2).map(tuple)
        case builtins.tuple:
            return st.tuples(*map(values_of, inner))
        case collections.abc.Mapping:
            return st.dictionaries(*map(values_of, inner), max_size=3)
    if hint in OWN:
        return OWN[hint]
    if issubclass(hint, Message):
        return st.builds(hint, names, st.dictionaries(names, values_of(Level), max_size=2))
    if issubclass(hint, Enum):
        return st.sampled_from(hint)
    return record_of(hint)


intervals = st.tuples(*[st.floats(allow_nan=False)] * 2)
injected = record_of(Condition, role=st.just(Role.INJECTED), injected=finite)
uninjected = st.sampled_from([role for role in Role if role is not Role.INJECTED])
conditions = record_of(Condition, role=uninjected, injected=st.none()) | injected
OWN |= {
    Condition: conditions,
    Estimate: record_of(Estimate, hdi95=intervals, hdi99=intervals),
}
settings, results, trials = record_of(RunSettings), record_of(RunResult, findings=st.just(())), record_of(Trial)
