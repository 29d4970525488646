"""A stored run with many conditions, made up trial by trial: the published factorial, with everything a page can show.

Times come from a seeded generator and histograms from an encoder of this file's own, so the same bytes come out every
time; verdicts are what inference says of these trials. Contrasts, page costs and evidence are made up, as in
`support.samples`.
"""

import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from support.flat import measurement_of
from support.samples import VALID, changed
from tdelta.design import block_order
from tdelta.inference.run_analysis import analyze_run
from tdelta.messages import Caution, Detail
from tdelta.messages.checks import NO_MARKER
from tdelta.records import (
    CheckState,
    Condition,
    Contrast,
    Counts,
    Decision,
    Estimate,
    EvidenceState,
    FileEvidence,
    LoopFacts,
    Measurement,
    Metric,
    Role,
    RunResult,
    RunSettings,
    SpanTotals,
    Trial,
    Validity,
)
from tdelta.store import Store

RUN_ID = "20261121-fctr"
CREATED = 1_795_302_720.0
OPERATIONS = 400
ROUNDS, BLOCKS = 4, 6
NASTY = '<script>alert("x")</script> & co'
TYPES = {"browse_products": 0.5, "order_products": 1.9, NASTY: 1.2}
_LOG_COST = {"none": 0.0, "aes-128": 0.18, "aes-256": 0.22}
_WITHOUT_INSTRUCTIONS = {"none": 0.0, "aes-128": 0.9, "aes-256": 1.15}


def payload(nanoseconds: Iterable[int]) -> bytes:
    """An HdrHistogram V2 compressed payload of 1 ns … 1 h with three digits, written from its specification."""
    counts: dict[int, int] = {}
    for value in nanoseconds:
        bucket = max(0, value.bit_length() - 11)
        at = ((bucket + 1) << 10) + ((value >> bucket) - 1024)
        counts[at] = counts.get(at, 0) + 1
    body = bytearray()
    last = -1
    for at in sorted(counts):
        if at - last > 1:
            body += _zigzag(-(at - last - 1))
        body += _zigzag(counts[at])
        last = at
    head = struct.pack(">iiiiqqd", 0x1C849313, len(body), 0, 3, 1, 3_600_000_000_000, 1.0)
    squeezed = zlib.compress(head + bytes(body))
    return struct.pack(">ii", 0x1C849314, len(squeezed)) + squeezed


def _zigzag(value: int) -> bytes:
    left = (value << 1) ^ (value >> 63)
    out = bytearray()
    while left > 0x7F:
        out.append((left & 0x7F) | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def factorial() -> tuple[Condition, ...]:
    """Cipher none/aes-128/aes-256 by AES instructions on/off, and the A/A twin: five judged conditions."""
    return (
        _condition("none", "on", Role.BASELINE),
        _condition("none", "on", Role.AA),
        *(
            _condition(cipher, level)
            for cipher in _LOG_COST
            for level in ("on", "off")
            if (cipher, level) != ("none", "on")
        ),
    )


def _condition(cipher: str, level: str, role: Role = Role.TREATMENT) -> Condition:
    return Condition((("cipher", cipher), ("aes_instructions", level)), role)


def settings(conditions: Sequence[Condition] | None = None, **changes: object) -> RunSettings:
    base = RunSettings(
        run_id=RUN_ID,
        seed=2026,
        study="order-entry",
        engine="sqlite",
        workload=f"./mine {NASTY}",
        conditions=tuple(conditions or factorial()),
        tolerance=0.02,
        budget=None,
        metric=Metric.RESPONSE_TIME,
        options={
            "study": "order-entry",
            "vary": {"cipher": ["aes-128", "aes-256"]},
            "threads": 1,
            "size_bytes": 50_000_000,
            "bb_control": None,
        },
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def trials(conditions: Sequence[Condition], rounds: int = ROUNDS, blocks: int = BLOCKS) -> list[Trial]:
    """Every trial: drift and luck shared within a block and an instance, noise of its own."""
    rng = np.random.default_rng(11)
    found = []
    for round_ in range(rounds):
        instance_effect = {condition.key: float(rng.normal(0.0, 0.004)) for condition in conditions}
        for block in range(round_ * blocks, (round_ + 1) * blocks):
            drift = 0.15 * float(np.sin(block / 3.0))
            started = CREATED + 20.0 + 2.5 * block + 4.0 * round_
            for position, at in enumerate(block_order(2026, block, len(conditions))):
                condition = conditions[at]
                log_cost = drift + _effect(condition) + instance_effect[condition.key] + float(rng.standard_t(4)) * 0.02
                measured = _measurement(float(np.exp(log_cost)), condition, rng)
                instance = f"{round_}-{at}"
                found.append(Trial(round_, block, position, condition, instance, started, measured))
    return found


def _effect(condition: Condition) -> float:
    levels = dict(condition.levels)
    cipher = str(levels["cipher"])
    return _LOG_COST[cipher] if levels.get("aes_instructions", "on") == "on" else _WITHOUT_INSTRUCTIONS[cipher]


def _measurement(cost: float, condition: Condition, rng: np.random.Generator) -> Measurement:
    spans, histograms = {}, {}
    for name, weight in TYPES.items():
        times = (rng.lognormal(0.0, 0.5, OPERATIONS // len(TYPES)) * 60_000 * cost * weight).astype(int)
        times[::67] *= 40
        spans[name] = SpanTotals(len(times), int(times.sum()))
        histograms[f"tx:{name}"] = payload(int(t) for t in times)
    is_plain = dict(condition.levels)["cipher"] == "none"
    return measurement_of(
        operations=OPERATIONS // len(TYPES) * len(TYPES),
        elapsed_ns=int(0.03e9 * cost),
        transactions=spans,
        statements={},
        retries={"busy": 1} if cost > 3 else {},
        histograms=histograms,
        cpu_user_seconds=OPERATIONS * 45e-6 * cost,
        cpu_system_seconds=OPERATIONS * 20e-6 * (1.0 if is_plain else 1.05),
        syscall_read_bytes=OPERATIONS * 18_000,
        syscall_written_bytes=OPERATIONS * 31_000,
        device_written_bytes=OPERATIONS * 44_000,
        minor_faults=int(rng.integers(0, 9)),
        voluntary_switches=int(rng.integers(20, 60)),
        involuntary_switches=int(rng.integers(0, 4)),
        engine_counters={"cache_hits": 24_000, "cache_misses": 850, "cache_writes": 2_160, "cache_spills": 3},
        files_bytes={"database": 50_000_000, "wal": 4_000_000},
        pressure={
            "cpu_some": float(rng.beta(2, 30)),
            "io_some": float(rng.beta(2, 12)),
            "memory_some": 0.0,
            "steal": 0.0,
        },
    )


def _contrasts(conditions: Sequence[Condition]) -> tuple[Contrast, ...]:
    by = {(c.level("cipher"), c.level("aes_instructions")): c for c in conditions if c.role is not Role.AA}

    def of(cipher: str, median: float, half: float) -> Contrast:
        ratio = Estimate(
            median, (median - half, median + half), (median - 1.4 * half, median + 1.4 * half), 1.0, 0.0, 0.0
        )
        return Contrast("aes_instructions", by[cipher, "off"], by[cipher, "on"], Metric.RESPONSE_TIME, ratio)

    return of("none", 1.001, 0.013), of("aes-128", 2.054, 0.041), of("aes-256", 2.535, 0.052)


def _evidence(conditions: Sequence[Condition]) -> tuple[FileEvidence, ...]:
    found = []
    for condition in conditions:
        is_plain = condition.level("cipher") == "none"
        for name, files in (("database", ("twin.db",)), ("wal", ("twin.db-wal",)), ("temp", ("etilqs_7f (unlinked)",))):
            state = EvidenceState.PLAIN if is_plain else EvidenceState.ENCRYPTED
            leaking: tuple[str, ...] = ()
            if name == "temp" and dict(condition.levels) == {"cipher": "aes-128", "aes_instructions": "off"}:
                state, leaking = EvidenceState.LEAK, files
            markers = 0 if state is EvidenceState.ENCRYPTED else 512
            found.append(FileEvidence(condition, name, state, files, leaking, 50_000_000, markers))
        found.append(FileEvidence(condition, "journal", EvidenceState.NOT_TESTED, (), (), 0, 0))
    return tuple(found)


def leaking_result(given: RunSettings, found: Sequence[Trial]) -> RunResult:
    """The factorial, judged; invalid, since a temporary file of one encrypted twin shows planted plain text."""
    result = sound_result(given, found)
    check = Validity(NO_MARKER, CheckState.FAILED, (Detail.verbatim("etilqs_7f (unlinked) of aes-128 holds 512"),))
    verdicts = tuple(
        replace(v, decision=Decision.INVALID, reasons=(check.why_invalid,)) if v.primary else v for v in result.verdicts
    )
    return changed(
        result,
        decision=Decision.INVALID,
        verdicts=verdicts,
        validity=(*result.validity, check),
        evidence=_evidence(given.conditions),
    )


def sound_result(given: RunSettings, found: Sequence[Trial]) -> RunResult:
    judgement = analyze_run(found, given)
    is_factorial = any("aes_instructions" in dict(c.levels) for c in given.conditions)
    order = judgement.order_effect
    return RunResult(
        settings=given,
        decision=judgement.decision,
        verdicts=judgement.verdicts,
        noise_floor=judgement.noise_floor,
        validity=(VALID[0], *judgement.validity),
        cautions=(*judgement.cautions, Caution.verbatim(f"the workload is called {NASTY}")),
        counts=Counts(
            rounds=len({t.round for t in found}),
            blocks=len({t.block for t in found}),
            trials=len(found),
            operations_per_trial=OPERATIONS,
            trial_seconds=0.03,
            elapsed_seconds=93.2,
        ),
        loop=LoopFacts(loop_cost_ns=96.4, client_overhead_share=0.00114),
        machine={
            "cpu_model": "a processor",
            "memory_total_bytes": 8 * 2**30,
            "cpu_flags": {"aes": True},
            "governor": None,
        },
        versions={"tdelta": "0.1.0", "library under test": "SQLite3 Multiple Ciphers 2.6.1"},
        overridden=("threads 1 instead of 4", "size 50 MB instead of 6 GB") if is_factorial else (),
        findings=(
            *judgement.stalls,
            *(() if order is None else (order,)),
            *(_contrasts(given.conditions) if is_factorial else ()),
        ),
    )


def store_run(path: Path, result: RunResult, found: Iterable[Trial]) -> Path:
    """Put a run into a store, with the time at which it is said to have been made."""
    with Store.open(path) as store:
        run_id = result.settings.run_id
        store.create_run(result.settings, result.machine, result.versions)
        store._db.execute("UPDATE runs SET created_unix_seconds = ? WHERE run_id = ?", (CREATED, run_id))
        for trial in found:
            store.add_trial(run_id, trial)
        store.finish(run_id, result)
    return path


def store_factorial(path: Path, *, has_leak: bool = True, rounds: int = ROUNDS, blocks: int = BLOCKS) -> Path:
    given = settings()
    found = trials(given.conditions, rounds, blocks)
    return store_run(path, (leaking_result if has_leak else sound_result)(given, found), found)
