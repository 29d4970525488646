"""Hand-built results, one for each thing a run can say. Figures are plausible, and chosen to test the layout."""

import math
from collections.abc import Callable
from dataclasses import fields, replace
from inspect import isfunction
from typing import Any

from tdelta.engines.registry import profiles
from tdelta.findings.actions import ActionMeasure, LeftInClear
from tdelta.findings.backups import BackupMeasure
from tdelta.findings.base import KINDS, FinishedRun
from tdelta.findings.checkpoints import CheckpointMeasure
from tdelta.findings.data_sizes import DataSize
from tdelta.findings.published import PublishedCell
from tdelta.findings.replication import ReplicationMeasure
from tdelta.findings.servers import Bottleneck, CacheUse, ServerMeasures, TimeSpent
from tdelta.findings.storage import of_run as layers_of
from tdelta.findings.temporary import TemporaryData
from tdelta.findings.traces import StatementTrace, Traces
from tdelta.findings.twin_settings import SettingsCompared
from tdelta.findings.versions import of_run as versions_of
from tdelta.inference.cipher_work import idle_cipher_caution
from tdelta.inference.profiles import Profiled, cpu_profiles
from tdelta.messages import Caution, Detail, Reason
from tdelta.messages.checks import AA_CHECK, BB_CHECK, FILES, IN_FORCE, NO_MARKER, ROWS_AFTER, ROWS_BEFORE, SPILLED
from tdelta.profiling.functions import Functions
from tdelta.records import (
    AgentUse,
    Amount,
    BadTrials,
    CalibrationUsed,
    CheckState,
    ComponentKind,
    Condition,
    Contrast,
    CostBreakdown,
    CostComponent,
    CostItem,
    Counts,
    DatabaseFacts,
    Decision,
    DetectableEffect,
    Estimate,
    EvidenceState,
    Exceedance,
    Exceeding,
    FileEvidence,
    FunctionClass,
    FunctionShare,
    HostEffect,
    Hosts,
    InstanceEffectPrior,
    Level,
    LoadAgents,
    LoopFacts,
    Metric,
    NoiseFloor,
    Percentile,
    Percentile99,
    Role,
    RunResult,
    RunSettings,
    Sampled,
    SeenOverhead,
    ServerFacts,
    ServersFacts,
    SettingDifference,
    StallMeasure,
    StorageFound,
    TailMeasure,
    TailRatio,
    TailUnit,
    Typical,
    Validity,
    Verdict,
)
from tdelta.records.instrument import CarryOver, ShareEffect

RUN_ID = "20261121-2112-k3vq"
TOLERANCE = 0.02


def condition(cipher: str, role: Role = Role.TREATMENT, threads: int = 1, injected: float | None = None) -> Condition:
    levels: tuple[tuple[str, Level], ...] = (("cipher", cipher), ("threads", threads))
    return Condition(levels, role, stratum=0 if threads == 1 else 1, injected=injected)


PLAIN = condition("none", Role.BASELINE)
TWIN = condition("none", Role.AA)
AES = condition("aes-256")


def estimate(median: float, half: float) -> Estimate:
    """An estimate whose 95% interval reaches ``half`` either way, and its 99% interval 1.3 times that."""
    return Estimate(
        median=median,
        hdi95=(median - half, median + half),
        hdi99=(median - 1.3 * half, median + 1.3 * half),
        mass_above_tolerance=0.5,
        mass_in_tolerance=0.4,
        mass_below_tolerance=0.1,
    )


def against_tolerance(ratio: Estimate) -> Decision:
    low, high = ratio.hdi95
    if low > 1 + TOLERANCE:
        return Decision.SLOWER
    return Decision.NEGLIGIBLE if low >= 1 - TOLERANCE and high <= 1 + TOLERANCE else Decision.UNDECIDED


def verdict(
    ratio: Estimate,
    decision: Decision,
    *,
    metric: Metric = Metric.RESPONSE_TIME,
    transaction: str = "all",
    of: Condition = AES,
    baseline: Condition = PLAIN,
    value: float = 84.213,
    primary: bool = False,
    reasons: tuple[str, ...] = (),
    actual: float | None = None,
    no_speedup: Estimate | None = None,
    typical: Estimate | None = None,
) -> Verdict:
    return Verdict(
        primary=primary,
        condition=of,
        baseline=baseline,
        metric=metric,
        transaction=transaction,
        unit=metric.unit,
        baseline_value=value,
        condition_value=value * ratio.median,
        ratio=ratio,
        decision=decision,
        reasons=tuple(map(Reason.verbatim, reasons)),
        actual=actual,
        no_speedup=no_speedup,
        typical=typical or (ratio if transaction == "all" else None),
    )


def noise(ratio: Estimate, stratum: int = 0, of: Condition | None = None) -> NoiseFloor:
    return NoiseFloor(stratum, Metric.RESPONSE_TIME, ratio, instance_sd=0.004, rounds=5, blocks=30, condition=of)


def odd(of: Condition, trials: int, stalls: int = 0, cost: float = 0.0, down_weighted: int = 0) -> StallMeasure:
    """The odd trials of one condition; each stall is one trial, and down-weighted ones take twice their share."""
    down_weighted = down_weighted or stalls
    return StallMeasure(
        condition=of,
        trials=trials,
        down_weighted=down_weighted,
        down_weighted_time=2 * down_weighted / trials,
        stalls=stalls,
        stalled_trials=stalls,
        stall_cost=cost,
        missed_share=1 - 0.05 ** (1 / trials),
    )


def settings(*conditions: Condition, **changes: object) -> RunSettings:
    base = RunSettings(
        run_id=RUN_ID,
        seed=7301,
        study="",
        engine="sqlite",
        workload="order-entry",
        conditions=conditions or (PLAIN, TWIN, AES),
        tolerance=TOLERANCE,
        budget=None,
        metric=Metric.RESPONSE_TIME,
        options={"vary": {"cipher": ["aes-256"]}, "threads": 1, "cache": 0.1, "size_bytes": 50_000_000},
    )
    made = replace(base, **changes)  # type: ignore[arg-type]
    return replace(made, options={"bb_control": None, **made.options})


VALID = (
    Validity(ROWS_BEFORE, CheckState.OK, (Detail.of("rows-same", rows=211_400, tables=6, source="generated"),)),
    Validity(
        AA_CHECK,
        CheckState.OK,
        (Detail.of("twins-within", interval="−0.6% to +0.4%", needed=0.02),),
    ),
    Validity(FILES, CheckState.OK, (Detail.verbatim("aes-256: encrypted, none: plain"),)),
    Validity(
        ROWS_AFTER,
        CheckState.NOT_SHOWN,
        (Detail.of("not-checked", why="several threads, or no complete round"),),
    ),
)


def changed(result: RunResult, **changes: Any) -> RunResult:
    """A result with other values: of its fields, of its counts and of its loop's, or other findings of a kind."""
    counts, loop = (
        {f.name: changes.pop(f.name) for f in fields(of) if f.name in changes} for of in (Counts, LoopFacts)
    )
    found = {name: changes.pop(name) for name in KINDS if name in changes}
    kept = [one for one in result.findings if one.FINDING not in found]
    more = [one for given in found.values() for one in (given if isinstance(given, tuple) else (given,))]
    return replace(
        result,
        counts=replace(result.counts, **counts),
        loop=replace(result.loop, **loop),
        findings=(*kept, *more),
        **changes,
    )


def result(
    decision: Decision, verdicts: tuple[Verdict, ...], given: RunSettings | None = None, **changes: Any
) -> RunResult:
    base = RunResult(
        settings=given or settings(),
        decision=decision,
        verdicts=verdicts,
        noise_floor=(noise(estimate(1.002, 0.005)),),
        validity=VALID,
        cautions=(),
        counts=Counts(
            5, 30, 90, operations_per_trial=2960, trial_seconds=0.25, elapsed_seconds=71.3, measured_seconds=22.5
        ),
        loop=LoopFacts(loop_cost_ns=96.4, client_overhead_share=0.00114),
        machine={"cpus": 2, "cpu": "a processor", "memory_bytes": 8 * 2**30},
        versions={"tdelta": "0.1.0", "sqlite": "3.51.0"},
    )
    return changed(base, **changes)


def secondary(of: Condition = AES, baseline: Condition = PLAIN, scale: float = 1.0) -> tuple[Verdict, ...]:
    read, written = Metric.READ_BYTES_PER_OPERATION, Metric.WRITTEN_BYTES_PER_OPERATION
    cases = (
        (estimate(1 + 0.04 * scale, 0.004 * max(1.0, scale)), Metric.CPU_PER_OPERATION, "all", 71.02),
        (estimate(1.0, 0.0001), read, "all", 18_432.0),
        (estimate(1.001, 0.0008), written, "all", 2_211_840.0),
        (estimate(1 + 0.052 * scale, 0.011 * max(1.0, scale)), Metric.RESPONSE_TIME, "browse_products", 412.4),
        (estimate(1.012, 0.031), Metric.RESPONSE_TIME, "register_customer", 1312.9),
    )
    return tuple(
        verdict(ratio, against_tolerance(ratio), metric=metric, transaction=name, value=value, of=of, baseline=baseline)
        for ratio, metric, name, value in cases
    )


PERCENTILES = (Percentile(0.95, 181_000, 190_400), Percentile(0.99, 912_000, 961_500))


def slower() -> RunResult:
    ratio = estimate(1.031, 0.007)
    head = verdict(ratio, Decision.SLOWER, primary=True, no_speedup=ratio)
    checkpoint = estimate(1.034, 0.009)
    behind = verdict(checkpoint, Decision.SLOWER, metric=Metric.TIME_WITH_CHECKPOINT, value=121.3)
    behind_trials = (
        settled(PLAIN, 11.8, 4.31e6),
        settled(TWIN, 12.1, 4.31e6),
        settled(AES, 14.2, 4.38e6, estimate(1.196, 0.043), estimate(1.016, 0.004)),
    )
    odd_ones = (odd(PLAIN, 60), odd(AES, 30))
    tail = TailMeasure(AES, PLAIN, "all", blocks=30, rounds=5, percentiles=PERCENTILES)
    found = {"stalls": odd_ones, "checkpoints": behind_trials, "tails": (tail,)}
    return result(Decision.SLOWER, (head, behind, *secondary()), **found)


def settled(
    of: Condition, ms: float, written: float, time: Estimate | None = None, more: Estimate | None = None
) -> CheckpointMeasure:
    seconds, wrote = Typical(0.9e-3 * ms, 1e-3 * ms, 1.3e-3 * ms), Typical(0.99 * written, written, 1.02 * written)
    return CheckpointMeasure(of, 30, 30, seconds, wrote, time, more)


def stalling() -> RunResult:
    """An encrypted twin whose typical operation costs next to nothing, and whose stalls do."""
    ratio = estimate(1.18, 0.06)
    head = verdict(ratio, Decision.SLOWER, primary=True, no_speedup=ratio, typical=estimate(1.004, 0.005))
    floors = (noise(estimate(1.002, 0.005)), noise(estimate(1.003, 0.011), of=AES))
    checks = (
        Validity(
            BB_CHECK,
            CheckState.OK,
            (Detail.of("twins-within", interval="−0.8% to +1.4%", needed=0.1),),
        ),
    )
    stalls = (odd(PLAIN, 720, down_weighted=3), odd(AES, 720, 15, 0.176, 19))
    return result(Decision.SLOWER, (head, *secondary()), noise_floor=floors, validity=(*VALID, *checks), stalls=stalls)


def few_stalls() -> RunResult:
    """The same met too rarely for a verdict, and carry-over."""
    reasons = (
        "the 95% interval −0.6% to +9.4% % reaches over an edge of the tolerance, ±2%",
        "stalls are too few to bound what they cost: 2 in 120 trials of this condition, 0 in 120 of the plain twins",
    )
    head = verdict(
        estimate(1.044, 0.05), Decision.UNDECIDED, primary=True, reasons=reasons, typical=estimate(1.004, 0.008)
    )
    order = CarryOver(
        after_encrypted=ShareEffect(0.011, (0.002, 0.02)),
        unknown=(Reason.of("carry-over-course"),),
    )
    stalls = (odd(PLAIN, 120), odd(AES, 120, 2, 0.038, 2))
    return result(Decision.UNDECIDED, (head, *secondary()), stalls=stalls, order_effect=order)


def calibrated() -> RunResult:
    """A run that began with what a calibration of this machine had found."""
    used = CalibrationUsed(
        calibration_id="cal-20261120-wxyz",
        created_unix_seconds=1_795_132_800.0,
        runs=14,
        noise_floor=0.0062,
        instance_effect={
            "response_time": InstanceEffectPrior(0.004, 0.45, 0.2),
            "cpu_per_operation": InstanceEffectPrior(0.003, 0.5, 0.2),
        },
        minimum_detectable_effect=(
            DetectableEffect(5.0, 31, 0.0121),
            DetectableEffect(20.0, 140, 0.0061),
            DetectableEffect(60.0, 400, 0.0038),
        ),
    )
    return replace(slower(), settings=settings(calibration=used))


def own_database() -> RunResult:
    facts = DatabaseFacts("app.db", 25_270_000, 4096, tables=30, rows=207_192, proposed=True)
    given = settings(workload="proposed", study="custom", database=facts, options={"database": "/data/app.db"})
    cautions = ("the workload is tdelta's proposal from the schema alone; your application's own mix would say more",)
    return replace(slower(), settings=given, cautions=tuple(map(Caution.verbatim, cautions)))


def external_servers() -> RunResult:
    """A run on two servers of the user's, on other machines, so without CPU figures."""
    encrypted = condition("encrypted")
    said = {"data": ("innodb_encrypt_tables=OFF", "innodb_encrypt_tables=ON"), "log": ("innodb_encrypt_log=OFF",) * 2}
    baseline, other = (
        ServerFacts(
            option=option,
            where=f"bench@db{number}:3306",
            product="MariaDB",
            version="10.11.19",
            connection="TCP with TLS",
            scopes={name: both[number - 1] for name, both in said.items()},
            encrypted=("data",) if number == 2 else (),
            has_cpu_time=False,
        )
        for number, option in ((1, "--baseline"), (2, "--encrypted"))
    )
    facts = ServersFacts(
        baseline,
        other,
        schema="tdelta_20261122_k3wq",
        assumed=False,
        differences=(SettingDifference("innodb_buffer_pool_size", "67108864", "33554432", is_important=True),),
    )
    options = {"baseline": "mysql://bench@db1:3306/?password-env=DB1", "encrypted": "mysql://bench@db2:3306/"}
    given = settings(PLAIN, TWIN, encrypted, engine="mariadb", external_servers=facts, options=options)
    head = verdict(estimate(1.031, 0.007), Decision.SLOWER, primary=True, of=encrypted)
    cautions = ("not encryption, and different (baseline / encrypted): innodb_buffer_pool_size: 67108864 / 33554432",)
    return replace(result(Decision.SLOWER, (head,), given), cautions=tuple(map(Caution.verbatim, cautions)))


def restored() -> RunResult:
    """A run on a dump that every kind of private server restored."""
    facts = DatabaseFacts("restored dump", 6_799_000, 16384, tables=2, rows=40_000, proposed=True, restored=True)
    options = {"engine": "mariadb", "restore": "mariadb -u {user} -S {socket} {database} < app.sql"}
    given = settings(workload="proposed", engine="mariadb", database=facts, options=options)
    return replace(slower(), settings=given)


def negligible() -> RunResult:
    head = verdict(
        estimate(0.998, 0.009),
        Decision.NEGLIGIBLE,
        primary=True,
        no_speedup=Estimate(1.004, (1.0, 1.009), (1.0, 1.012), 0, 1, 0),
    )
    return result(Decision.NEGLIGIBLE, (head, *secondary(scale=0.1)))


def undecided() -> RunResult:
    head = verdict(
        estimate(1.019, 0.025),
        Decision.UNDECIDED,
        primary=True,
        reasons=("the aimed width of 2 points was not reached in 85 s",),
    )
    cautions = (
        "the time limit came before the aimed precision: the 95% interval is 5.0 points wide, 2.0 were aimed at",
        "one core was stolen for 2.1% of the trials' time",
    )
    return result(
        Decision.UNDECIDED,
        (head, *secondary()),
        cautions=tuple(map(Caution.verbatim, cautions)),
        stopped_by="time",
        elapsed_seconds=85.2,
        rounds=3,
        blocks=18,
        trials=54,
    )


def invalid() -> RunResult:
    head = verdict(estimate(1.062, 0.011), Decision.INVALID, primary=True, reasons=("a check of the run failed",))
    outside = Detail.of("twins-outside", interval="+2.3% to +3.4%", limit=0.02, called="the tolerance")
    checks = (VALID[0], replace(VALID[1], state=CheckState.FAILED, details=(outside,)), *VALID[2:])
    return result(
        Decision.INVALID, (head, *secondary()), noise_floor=(noise(estimate(1.0285, 0.0055)),), validity=checks
    )


def file_evidence(of: Condition, file_class: str, state: EvidenceState, found: int = 0, *files: str) -> FileEvidence:
    leaking = files if state is EvidenceState.LEAK else ()
    return FileEvidence(of, file_class, state, files, leaking, 50_000_000 * len(files), found)


def evidence(in_temp: EvidenceState, found: int) -> tuple[FileEvidence, ...]:
    """A search of three twins: markers in all files of the plain ones; the encrypted one's temp may vary."""
    plain, hidden, other = EvidenceState.PLAIN, EvidenceState.ENCRYPTED, EvidenceState.NOT_TESTED
    return (
        *(
            file_evidence(of, name, state, count, *files)
            for of in (PLAIN, TWIN)
            for name, state, count, files in (
                ("database", plain, 32, ("5a0f11c2.db",)),
                ("wal", plain, 35, ("5a0f11c2.db-wal",)),
                ("temp", plain, 4_017, ("#395564 (unlinked)", "#395570 (unlinked)")),
                ("other", other, 0, ("5a0f11c2.db-shm",)),
            )
        ),
        file_evidence(AES, "database", hidden, 0, "77e1b03d.db"),
        file_evidence(AES, "wal", hidden, 0, "77e1b03d.db-wal"),
        file_evidence(AES, "temp", in_temp, found, "#395580 (unlinked)"),
        file_evidence(AES, "other", other, 0, "77e1b03d.db-shm"),
    )


def leaking() -> RunResult:
    """A temporary store that spills in the clear."""
    check = NO_MARKER
    detail = "plaintext in #395580 (unlinked) (temp) of cipher=aes-256,threads=1: 2,016 markers found"
    head = verdict(estimate(1.031, 0.007), Decision.INVALID, primary=True, reasons=(f"{check}: no, {detail}",))
    checks = (*VALID[:2], VALID[3], Validity(check, CheckState.FAILED, (Detail.verbatim(detail),)))
    found = evidence(EvidenceState.LEAK, 2_016)
    return result(Decision.INVALID, (head, *secondary()), validity=checks, evidence=found)


def other_cipher() -> RunResult:
    """A server that was asked for AES-256, was seen to start AES-128, and had next to nothing to encrypt."""
    observed = "AES-128-CBC 6,308 times, AES-128-ECB 6,308 times"
    detail = Detail.of("other-cipher", cipher="aes-256", observed=observed, found="AES-128-CBC")
    head = verdict(estimate(0.999, 0.012), Decision.UNDECIDED, primary=True, value=4_812.0)
    head = replace(head, reasons=(Reason.of("nothing-encrypted"),))
    fewer = verdict(estimate(0.888, 0.02), Decision.FASTER, metric=Metric.READ_BYTES_PER_OPERATION, value=29_990.0)
    idle = {AES.key: 0.00253}
    given = replace(settings(), engine="mariadb", workload="read-only")
    return result(
        Decision.UNDECIDED,
        (head, fewer),
        given,
        validity=(*VALID, Validity(IN_FORCE, CheckState.FAILED, (detail,), makes_invalid=False)),
        cautions=(idle_cipher_caution(idle, given),),
        ciphers_in_force={"aes-256": "AES-128-CBC"},
        barely_encrypted=idle,
        versions={"library under test": "MariaDB 10.11.19"},
        twin_settings=SettingsCompared({"innodb_buffer_pool_size": "10485760"}, {}, {}),
    )


def over_budget() -> RunResult:
    head = verdict(estimate(6.62, 0.14), Decision.OVER, primary=True)
    given = settings(budget=0.05, options={"budget": 0.05, "vary": {"cipher": ["aes-256"]}})
    return result(Decision.OVER, (head, *secondary(scale=120.0)), given)


def injected() -> RunResult:
    identical, slowed = condition("none", Role.IDENTICAL), condition("none", Role.INJECTED, injected=0.05)
    cpu = Metric.CPU_PER_OPERATION
    verdicts = (
        verdict(estimate(0.9985, 0.008), Decision.NEGLIGIBLE, primary=True, of=identical),
        verdict(estimate(1.049, 0.009), Decision.SLOWER, primary=True, of=slowed, actual=1.0521),
        verdict(estimate(1.001, 0.003), Decision.NEGLIGIBLE, of=identical, metric=cpu, value=71.02),
        verdict(estimate(1.061, 0.004), Decision.SLOWER, of=slowed, metric=cpu, value=71.02, actual=1.0624),
    )
    given = settings(PLAIN, identical, slowed, options={"self_test": True, "inject": [0.05]})
    return result(Decision.SLOWER, verdicts, given, noise_floor=())


def sweep() -> RunResult:
    """Two ciphers at one and at sixteen threads: two strata, each with its own baseline and A/A twin."""
    plain16, twin16 = condition("none", Role.BASELINE, 16), condition("none", Role.AA, 16)
    cases = (
        (condition("aes-128"), PLAIN, estimate(1.024, 0.003), Decision.SLOWER, 84.2),
        (condition("aes-256"), PLAIN, estimate(1.091, 0.012), Decision.SLOWER, 84.2),
        (condition("aes-128", threads=16), plain16, estimate(1.003, 0.011), Decision.NEGLIGIBLE, 1311.8),
        (condition("aes-256", threads=16), plain16, estimate(1.016, 0.018), Decision.UNDECIDED, 1311.8),
    )
    heads = tuple(
        verdict(ratio, decision, primary=True, of=of, baseline=baseline, value=value)
        for of, baseline, ratio, decision, value in cases
    )
    rest = tuple(v for of, baseline, *_ in cases for v in secondary(of, baseline))
    given = settings(
        PLAIN, TWIN, plain16, twin16, *(case[0] for case in cases),
        options={"vary": {"cipher": ["aes-128", "aes-256"], "threads": [1, 16]}},
    )  # fmt: skip
    floors = (noise(estimate(1.002, 0.005)), noise(estimate(0.996, 0.009), stratum=1))
    return result(Decision.UNDECIDED, (*heads, *rest), given, noise_floor=floors, trials=240)


def versions() -> RunResult:
    """Encryption in two versions of a server, each with plain twins of its own; it costs more in the newer one."""

    def of(cipher: str, role: Role, version: str) -> Condition:
        return Condition((("cipher", cipher), ("threads", 1), ("server", version)), role, int(version == "11.8.3"))

    old, new = "10.11.19", "11.8.3"
    ratios = {old: estimate(1.031, 0.004), new: estimate(1.118, 0.006)}
    plain = {version: of("none", Role.BASELINE, version) for version in ratios}
    own = {version: of("aes-256", Role.TREATMENT, version) for version in ratios}
    heads = tuple(
        verdict(ratio, Decision.SLOWER, primary=True, of=own[version], baseline=plain[version])
        for version, ratio in ratios.items()
    )
    twins = tuple(of("none", Role.AA, version) for version in ratios)
    given = replace(
        settings(
            *plain.values(), *twins, *own.values(),
            options={"vary": {"cipher": ["aes-256"], "server": ["/opt/mariadb-10.11", "/opt/mariadb-11.8"]}},
        ),
        engine="mariadb",
    )  # fmt: skip
    rest = tuple(one for version in ratios for one in secondary(own[version], plain[version]))
    made = result(Decision.SLOWER, (*heads, *rest), given, noise_floor=())
    return changed(
        made,
        versions={**made.versions, "MariaDB": f"{old}, {new}", "library under test": f"MariaDB {old} and {new}"},
        version_differences=tuple(versions_of(FinishedRun(settings=given, trials=(), verdicts=made.verdicts))),
    )


def typical(value: float) -> Typical:
    return Typical(0.97 * value, value, 1.02 * value)


def served(
    of: Condition,
    throughput: float,
    server_us: float,
    client_us: float,
    hits: float,
    bottleneck: Bottleneck,
    decrypted: float = 0.0,
) -> ServerMeasures:
    """A server at work: figures of one operation, on two CPUs."""
    threads = int(of.level("threads"))
    cores = (throughput * server_us / 1e6, throughput * client_us / 1e6)
    waiting = max(0.0, 1 - sum(cores) / threads)
    requests = 460.0
    read = requests * (1 - hits)
    return ServerMeasures(
        condition=of,
        trials=16,
        throughput=typical(throughput),
        response_us=typical(1e6 * threads / throughput),
        server_cpu_us=typical(server_us),
        client_cpu_us=typical(client_us),
        time=TimeSpent(
            cores[0] / threads, cores[1] / threads, waiting, 0.9 * waiting, *cores, min(threads, 2), 0.02, 0.61
        ),
        cache=CacheUse(Typical(hits - 0.0011, hits, min(1.0, hits + 0.0009)), requests, read),
        counted={
            "pages_read": read,
            "pages_written": 0.0,
            "pages_encrypted": 0.0,
            "pages_decrypted": decrypted * read,
            "log_bytes": 0.0,
            "device_read_bytes": 16_384.0 * read,
            "device_written_bytes": 0.0,
        },
        bottleneck=bottleneck,
    )


SERVED = SettingsCompared(
    shared={"innodb_flush_method": "O_DIRECT", "innodb_page_size": "16384", "version": "10.11.19-MariaDB"},
    varied={"innodb_buffer_pool_size": ("33554432", "377487360")},
    differing={"aes-256, scope data": ("plugin_load_add=file_key_management", "innodb_encrypt_tables=FORCE")},
)


def served_sweep() -> RunResult:
    """The study of servers: threads by cache, what was published for each cell, and what servers did."""

    def of(cipher: str, threads: int, cache: float, role: Role = Role.TREATMENT) -> Condition:
        stratum = (threads == 64) * 2 + (cache == 1.2)
        return Condition((("cipher", cipher), ("threads", threads), ("cache", cache)), role, stratum)

    io, cpu = Bottleneck.IO, Bottleneck.SERVER_CPU
    cases = (
        (1, 0.1, estimate(1.091, 0.012), Decision.SLOWER, 1.0883, 412.4, 820.0, 0.912, io),
        (1, 1.2, estimate(1.003, 0.011), Decision.NEGLIGIBLE, 0.9805, 891.2, 702.1, 1.0, cpu),
        (64, 0.1, estimate(1.016, 0.018), Decision.UNDECIDED, 1.0018, 1271.9, 1281.3, 0.911, cpu),
        (64, 1.2, estimate(0.998, 0.009), Decision.NEGLIGIBLE, 0.9907, 2263.0, 689.4, 1.0, cpu),
    )
    heads, conditions, published, measured, floors = [], [], [], [], []
    for threads, cache, ratio, decision, said, per_second, server_us, hits, word in cases:
        plain, twin = (of("none", threads, cache, role) for role in (Role.BASELINE, Role.AA))
        aes = of("aes-256", threads, cache)
        conditions += [plain, twin, aes]
        heads.append(verdict(ratio, decision, primary=True, of=aes, baseline=plain, value=1e6 * threads / per_second))
        published.append(PublishedCell(aes, said, "389 transactions/s encrypted, 423 plain", "Percona blog, 2019"))
        floors.append(noise(estimate(1.002, 0.005), aes.stratum))
        measured += [
            served(plain, per_second, server_us, 161.3, hits, word),
            served(twin, 1.004 * per_second, server_us, 160.9, hits, word),
            served(aes, per_second / ratio.median, 1.07 * server_us, 161.8, hits - 0.0004 * (hits < 1), word, 1.0),
        ]
    changes = {"vary": {"cipher": ["aes-256"], "threads": [1, 64], "cache": [0.1, 1.2]}, "scope": "data"}
    given = settings(
        *conditions, study="read-only-sweep", engine="mariadb", workload="read-only",
        options={"study": "read-only-sweep", "engine": "mariadb", **changes},
    )  # fmt: skip
    cpu_verdict = verdict(
        estimate(1.07, 0.008), Decision.SLOWER, metric=Metric.CPU_PER_OPERATION,
        of=heads[0].condition, baseline=heads[0].baseline, value=1320.0,
    )  # fmt: skip
    return result(
        Decision.UNDECIDED,
        (*heads, cpu_verdict),
        given,
        noise_floor=tuple(floors),
        servers=tuple(measured),
        published=tuple(published),
        twin_settings=SERVED,
    )


def scopes() -> RunResult:
    """The scope of encryption as a factor, on inserts: one stratum, contrasts, and no sweep."""

    def of(cipher: str, scope: str, role: Role = Role.TREATMENT) -> Condition:
        return Condition((("cipher", cipher), ("scope", scope), ("threads", 1)), role)

    plain, twin = of("none", "none", Role.BASELINE), of("none", "none", Role.AA)
    tables, log = of("aes-256", "data"), of("aes-256", "+log")
    heads = (
        verdict(estimate(1.021, 0.024), Decision.UNDECIDED, primary=True, of=tables, baseline=plain, value=1841.0),
        verdict(estimate(1.142, 0.031), Decision.SLOWER, primary=True, of=log, baseline=plain, value=1841.0),
    )

    def writer(of: Condition, throughput: float, log_bytes: float) -> ServerMeasures:
        measured = served(of, throughput, 181.4, 31.2, 0.9981, Bottleneck.IO)
        more = {"pages_written": 0.41, "log_bytes": log_bytes, "device_written_bytes": 9_120.0}
        return replace(measured, counted={**measured.counted, **more})

    given = settings(
        plain, twin, tables, log, engine="mariadb", workload="insert",
        options={"engine": "mariadb", "vary": {"cipher": ["aes-256"], "scope": ["data", "+log"]}},
    )  # fmt: skip
    return result(
        Decision.UNDECIDED,
        heads,
        given,
        contrasts=(Contrast("scope", log, tables, Metric.RESPONSE_TIME, estimate(1.118, 0.033)),),
        servers=(writer(plain, 541.2, 702.0), writer(tables, 530.0, 702.4), writer(log, 473.9, 753.1)),
        twin_settings=replace(SERVED, varied={}),
    )


def factorial() -> RunResult:
    """A cipher with and without the CPU's AES instructions: contrasts, and a changed setting."""

    def of(cipher: str, level: str, role: Role = Role.TREATMENT) -> Condition:
        return Condition((("cipher", cipher), ("aes_instructions", level)), role)

    plain, twin = of("none", "on", Role.BASELINE), of("none", "on", Role.AA)
    on, off = of("aes-256", "on"), of("aes-256", "off")
    cases = ((on, estimate(1.213, 0.031)), (off, estimate(3.172, 0.083)))
    heads = tuple(verdict(ratio, Decision.SLOWER, primary=True, of=c, baseline=plain) for c, ratio in cases)
    return result(
        Decision.SLOWER,
        heads,
        settings(plain, twin, on, off, study="order-entry", options={"study": "order-entry"}),
        contrasts=(Contrast("aes_instructions", off, on, Metric.RESPONSE_TIME, estimate(2.615, 0.071)),),
        overridden=("threads 1 instead of 4", "cache 20% instead of 10%"),
    )


def with_cost_breakdown() -> RunResult:
    """A cipher with its MAC, with every component that files have, and a prediction over cache shares."""

    def of(cipher: str, cache: float, role: Role = Role.TREATMENT) -> Condition:
        place = (0.05, 0.1, 0.2, 0.4).index(cache)
        return Condition((("cipher", cipher), ("cache", cache), ("threads", 1)), role, stratum=place)

    plain, other = of("none", 0.1, Role.BASELINE), of("sqlcipher", 0.1)
    item = (CostItem("pages decrypted", 4.54, 1.26, (1.21, 1.33)), CostItem("pages encrypted", 7.45, 4.89, (4.8, 5.0)))
    macs = CostItem("pages checked", 4.54, 7.36, (7.2, 7.6)), CostItem("pages authenticated", 7.45, 7.5, (7.1, 7.9))
    more = (CostItem("pages read beyond plain", 0.0021, 0.764, (0.75, 0.79)),)
    lines = (
        CostComponent(ComponentKind.CIPHER, Amount(42.1, (38.9, 45.4)), 0.306, (0.24, 0.39), item, "sqlcipher, no MAC"),
        CostComponent(ComponentKind.INTEGRITY, Amount(88.9, (65.3, 111.0)), 0.648, (0.45, 0.88), macs, "HMAC-SHA512"),
        CostComponent(
            ComponentKind.IO, Amount(0.0016, (0.0013, 0.0019)), 0.00001, (0.00001, 0.00002), more, "plain pages"
        ),
        CostComponent(ComponentKind.RESIDUAL, Amount(-10.0, (-51.4, 26.7)), -0.07, (-0.39, 0.18)),
    )
    said = (Reason.of("log-pages-in-cipher"),)
    breakdown = CostBreakdown(
        other,
        plain,
        Amount(138.0, (106.0, 171.0)),
        lines,
        Amount(133.0, (86.1, 182.0)),
        Amount(-4.4, (-9.5, 3.7)),
        said,
    )
    nothing = Reason.of("pages-without-unit-cost")
    bare = CostComponent(ComponentKind.RESIDUAL, Amount(2150.0, (-130.0, 4410.0)), None, None)
    unknown = CostBreakdown(
        of("aes-256", 0.1), plain, Amount(2150.0, (-130.0, 4410.0)), (bare,), None, None, (nothing,)
    )
    calls = (
        CostItem("AES-128-CBC decryptions", 17.5, 3.24, (3.24, 3.24)),
        CostItem("AES-128-ECB encryptions", 17.5, 0.87, (0.87, 0.87)),
        CostItem("contexts", 70.2, 0.21, (0.21, 0.21)),
    )
    source = "timed in the server's own calls"
    timed_lines = (
        CostComponent(
            ComponentKind.CIPHER, Amount(86.7, (81.0, 92.3)), 0.6, (0.46, 0.79), calls, source, is_timed=True
        ),
        CostComponent(ComponentKind.RESIDUAL, Amount(57.8, (28.1, 87.2)), 0.4, (0.21, 0.54)),
    )
    functions = (
        FunctionShare("my_aes_crypt", "mariadbd", FunctionClass.CIPHER, 0.0, 21_400.0, 21_400.0, 0, 61),
        FunctionShare("", "mariadbd", FunctionClass.DATABASE, 812_000.0, 829_000.0, 17_000.0, 2318, 2366),
        FunctionShare("__memmove_avx", "libc.so.6", FunctionClass.LIBRARY, 52_100.0, 60_300.0, 8_200.0, 149, 172),
    )
    cpu, late = Amount(144.5, (118.0, 171.0)), Amount(139.0, (92.0, 186.0))
    timed = CostBreakdown(of("aes-128", 0.1), plain, cpu, timed_lines, late, Amount(-5.5, (-20.0, 9.0)), (), functions)
    why = Reason.of("functions-not-sampled", why="there is no perf here; install perf: Debian linux-perf")
    blind = CostBreakdown(of("aes-192", 0.1), plain, cpu, timed_lines, None, None, (), (), why)

    head = verdict(estimate(2.02, 0.07), Decision.SLOWER, primary=True, of=other, baseline=plain)
    return result(Decision.SLOWER, (head,), settings(plain, other), cost_breakdown=(breakdown, unknown, timed, blind))


def interrupted() -> RunResult:
    head = verdict(estimate(1.027, 0.031), Decision.UNDECIDED, primary=True)
    return result(
        Decision.UNDECIDED,
        (head,),
        interrupted=True,
        stopped_by="interrupt",
        rounds=1,
        blocks=6,
        trials=18,
        elapsed_seconds=9.4,
        measured_seconds=2.9,
    )


def exceedance(counts: tuple[int, int], of: tuple[int, int], ratio: TailRatio | None, reason: str = "") -> Exceedance:
    """So many of so many transactions longer than 20 ms, plain twins first."""
    plain, other = (Exceeding(longer, total, min(96, longer // 2)) for longer, total in zip(counts, of, strict=True))
    quotient = other.share / plain.share if all(counts) else None
    return Exceedance(
        20_000_000, 20_004_864, plain, other, quotient, ratio, Reason.verbatim(reason) if reason else None
    )


def with_tails() -> RunResult:
    """A run with a threshold, long enough for the 99th percentile; one transaction type never took longer."""

    def over_rounds(ratio: float, low: float, high: float) -> TailRatio:
        return TailRatio(ratio, (low, high), TailUnit.ROUND, 16)

    def p99(plain_ns: int, other_ns: int, low: float, high: float) -> Percentile99:
        return Percentile99(plain_ns, other_ns, over_rounds(other_ns / plain_ns, low, high))

    def of(condition: Condition, transaction: str, found: Exceedance, percentile: Percentile99 | None) -> TailMeasure:
        percentiles = PERCENTILES if condition is AES and transaction == "all" else ()
        return TailMeasure(condition, PLAIN, transaction, 96, 16, found, percentile, percentiles)

    total = 284_160
    none = "none on the condition nor on the plain twins, so at most 3.1% of such blocks would have any"
    none += " (95% sure)"
    few = "too few for an interval: on the rarer side 240, in 4 blocks, and it takes 10 in 8"
    clumped = exceedance((240, 280), (40_000, 20_000), None, few)
    bad = BadTrials(condition_bad=16, condition_trials=96, baseline_bad=4, baseline_trials=192, rounds=16)
    tails = (
        of(
            TWIN,
            "all",
            exceedance((1210, 1248), (total, total), over_rounds(1.031, 0.84, 1.27)),
            p99(11_206_655, 11_313_151, 0.948, 1.075),
        ),
        of(
            AES,
            "all",
            exceedance((2458, 1783), (2 * total, total), over_rounds(1.451, 1.22, 1.73)),
            p99(11_255_807, 13_467_647, 1.121, 1.276),
        ),
        of(AES, "browse_products", exceedance((0, 0), (120_000, 60_000), None, none), None),
        of(AES, "register_customer", replace(clumped, bad_trials=replace(bad, low=2.587, high=36.9)), None),
    )
    given = settings(options={"vary": {"cipher": ["aes-256"]}, "threads": 1, "latency_limit_seconds": 0.02})
    return changed(slower(), settings=given, tails=tails, rounds=16, blocks=96, trials=288)


def shared() -> RunResult:
    """A load that two agents shared, one of which was placed anew."""

    def use(agent: str, nodes: tuple[str, ...], cpu: float, late: float) -> AgentUse:
        of_core, begun = Typical(cpu, 1.1 * cpu, 1.3 * cpu), Typical(late, 2 * late, 5 * late)
        return AgentUse(agent, nodes, round(400_000 * cpu), of_core, begun, Typical(0.0, 0.1 * late, late))

    agents = LoadAgents(
        trials=48,
        overlap=Typical(0.971, 0.984, 0.992),
        skew_seconds=Typical(0.0003, 0.0011, 0.0042),
        clock_error_seconds=0.00018,
        agents=(use("1", ("load-a",), 0.21, 0.0001), use("2", ("load-b", "load-a"), 0.34, 0.0009)),
        effects=(
            SeenOverhead(AES, 24, (1.029, 1.034), 0.0, is_apart=False),
            SeenOverhead(TWIN, 2, (0.999, 1.002), 0.0, is_apart=None),
        ),
    )
    return changed(slower(), agents=(agents,))


def on_hosts() -> RunResult:
    hosts = Hosts(
        names=("db-a", "db-b"),
        effects=(HostEffect(PLAIN, "db-b", "db-a", 4, estimate(0.83, 0.021)),),
        overheads=(
            SeenOverhead(AES, 4, (1.034, 1.029), 0.0, is_apart=False),
            SeenOverhead(TWIN, 2, (1.003, 0.998), 0.0, is_apart=None),
        ),
    )
    return changed(slower(), hosts=(hosts,))


def bulk() -> RunResult:
    def of(work: str, cipher: str, role: Role = Role.TREATMENT) -> Condition:
        return Condition((("cipher", cipher), ("threads", 1), ("work", work)), role, stratum=int(work == "rebuild"))

    def step(of: Condition, seconds: float, files: float | None) -> ActionMeasure:
        cpu = Typical(0.8 * seconds, 0.9 * seconds, 0.95 * seconds)
        took = Typical(0.94 * seconds, seconds, 1.07 * seconds)
        counted = {"rows": 2_000_512.0, **({} if files is None else {"files_bytes": files})}
        return ActionMeasure(of, str(of.level("work")), 12, took, None, None, cpu, Typical(90e6, 96e6, 99e6), counted)

    works = ("load", "rebuild")
    conditions = [
        of(work, cipher, role)
        for work in works
        for cipher, role in (("none", Role.BASELINE), ("none", Role.AA), ("aes-256-gcm", Role.TREATMENT))
    ]
    heads = tuple(
        verdict(
            estimate(ratio, 0.031), decision, primary=True, of=conditions[at + 2], baseline=conditions[at], value=value
        )
        for at, ratio, decision, value in ((0, 1.154, Decision.SLOWER, 3.41e6), (3, 1.012, Decision.UNDECIDED, 2.13e6))
    )
    given = settings(
        *conditions, engine="duckdb", workload="warehouse", study="direct-load", options={"study": "direct-load"}
    )
    steps = tuple(
        step(condition, seconds, files)
        for condition, seconds, files in zip(
            conditions, (3.41, 3.43, 3.94, 2.13, 2.16, 2.15), (112.7e6,) * 3 + (162.6e6, None, 162.3e6), strict=True
        )
    )
    return result(Decision.UNDECIDED, heads, given, actions=steps)


def acted() -> RunResult:
    """A database that is encrypted while the load goes on, at two speeds."""

    def of(cipher: str, during: str, role: Role = Role.TREATMENT) -> Condition:
        return Condition((("cipher", cipher), ("during", during), ("threads", 1)), role)

    conditions = [
        of("none", "nothing", Role.BASELINE),
        of("none", "nothing", Role.AA),
        of("none", "encrypt:iops=200"),
        of("aes-256", "nothing"),
        of("none", "encrypt:iops=2000:threads=4"),
    ]
    heads = tuple(
        verdict(estimate(ratio, 0.031), Decision.SLOWER, primary=True, of=condition, baseline=conditions[0])
        for condition, ratio in zip(conditions[2:], (1.214, 1.083, 1.117), strict=True)
    )
    given = settings(*conditions, engine="mariadb", workload="order-entry", study="convert", options={})

    clear = (LeftInClear("tables", 0, 31), LeftInClear("redo log", 32, 31), LeftInClear("undo", 0, 0))

    def action(of: Condition, seconds: float, ratio: Estimate, **counted: float) -> ActionMeasure:
        took = Typical(0.9 * seconds, seconds, 1.2 * seconds)
        load, cpu = Typical(9.8, 10.1, 10.9), Typical(1.1 * seconds, 1.3 * seconds, 1.4 * seconds)
        return ActionMeasure(
            of, str(of.level("during")), 8, took, load, ratio, cpu, Typical(61e6, 64e6, 70e6), counted, clear
        )

    actions = (
        action(conditions[2], 8.2, estimate(1.262, 0.03), converted_bytes=64e6, tablespaces=9.0),
        action(conditions[4], 1.3, estimate(2.41, 0.2), converted_bytes=64e6, wait_ns=41e6),
    )
    return result(Decision.SLOWER, heads, given, actions=actions)


def replicated() -> RunResult:
    """Primaries with replicas: stopped beside the load, and one that every commit waits for."""

    def of(cipher: str, level: str, stratum: int, role: Role = Role.TREATMENT) -> Condition:
        return Condition((("cipher", cipher), ("threads", 4), ("replication", level)), role, stratum)

    levels = ("none", "semisync")
    plain = [of("none", level, at, Role.BASELINE) for at, level in enumerate(levels)]
    encrypted = [of("aes-256", level, at) for at, level in enumerate(levels)]
    heads = tuple(
        verdict(estimate(ratio, 0.021), decision, primary=True, of=condition, baseline=baseline)
        for condition, baseline, ratio, decision in zip(
            encrypted, plain, (1.042, 1.117), (Decision.UNDECIDED, Decision.SLOWER), strict=True
        )
    )
    pairs = [one for pair in zip(plain, encrypted, strict=True) for one in pair]
    given = settings(*pairs, engine="mariadb", workload="insert", study="replicate", options={})

    def typical(median: float) -> Typical:
        return Typical(0.9 * median, median, 1.2 * median)

    def measure(condition: Condition, *, ratio: float | None, unconfirmed: int = 0) -> ReplicationMeasure:
        slow, is_stopped = ratio or 1.0, condition.level("replication") == "none"
        return ReplicationMeasure(
            condition=condition,
            mode=str(condition.level("replication")),
            trials=18,
            response_seconds=typical(1.1e-3 * slow),
            load_rate=typical(3_600 / slow),
            apply_rate=typical(4_100 / slow) if is_stopped else None,
            lag_bytes=None if is_stopped else typical(21_400),
            lag_seconds=None if is_stopped else typical(0.012 * slow),
            log_bytes=typical(640),
            cpu_seconds=typical(170e-6 * slow),
            time_ratio=None if ratio is None else estimate(ratio, 0.04),
            cpu_ratio=None if ratio is None else estimate(1.1 * ratio, 0.03),
            unconfirmed=unconfirmed,
        )

    measures = (
        measure(plain[0], ratio=None),
        measure(encrypted[0], ratio=1.08),
        measure(plain[1], ratio=None),
        measure(encrypted[1], ratio=1.31, unconfirmed=2),
    )
    return result(Decision.SLOWER, heads, given, replication=measures)


def stored() -> RunResult:
    def of(cipher: str, storage: str, role: Role = Role.TREATMENT) -> Condition:
        return Condition((("cipher", cipher), ("storage", storage), ("threads", 1)), role)

    plain = of("none", "plain", Role.BASELINE)
    layers = {of("aes-256", "plain"): 1.09, of("none", "fscrypt"): 1.31, of("aes-256", "gocryptfs"): 4.2}
    heads = tuple(
        verdict(estimate(ratio, 0.021), Decision.SLOWER, primary=True, of=condition, baseline=plain)
        for condition, ratio in layers.items()
    )
    found = {
        "plain": StorageFound("", is_image=True, is_direct=True),
        "fscrypt": StorageFound(
            "fscrypt (AES-256-XTS) under ext4", is_image=True, is_direct=True, driver="xts-aes-aesni"
        ),
        "gocryptfs": StorageFound("gocryptfs", is_image=True, is_direct=True, driver="xts-aes-aesni"),
    }

    def searched(condition: Condition, file_class: str, state: EvidenceState, markers: int) -> FileEvidence:
        name = "t0.db" if file_class == "database" else "disk-t0.img (image)"
        leaking = (name,) if markers and condition is not plain else ()
        return FileEvidence(condition, file_class, state, (name,), leaking, 9_000_000, markers)

    cipher, disk, both = layers
    evidence = (
        searched(plain, "database", EvidenceState.PLAIN, 32),
        searched(plain, "storage", EvidenceState.PLAIN, 64),
        searched(cipher, "database", EvidenceState.ENCRYPTED, 0),
        searched(cipher, "storage", EvidenceState.ENCRYPTED, 0),
        searched(disk, "database", EvidenceState.MOUNTED, 32),
        searched(disk, "storage", EvidenceState.ENCRYPTED, 0),
        searched(both, "database", EvidenceState.ENCRYPTED, 0),
        searched(both, "storage", EvidenceState.ENCRYPTED, 0),
    )
    given = settings(plain, *layers, engine="sqlite", workload="order-entry", options={})
    stored = tuple(layers_of(FinishedRun(settings=given, trials=(), storages=found)))
    return result(Decision.SLOWER, heads, given, storage=stored, evidence=evidence)


def backed_up() -> RunResult:
    """Backups: a physical one that compression does nothing for once it is encrypted, a logical one in the clear."""

    def of(cipher: str, work: str, stratum: int) -> Condition:
        role = Role.BASELINE if cipher == "none" else Role.TREATMENT
        return Condition((("cipher", cipher), ("threads", 1), ("work", work)), role, stratum)

    works = ("backup:tool=copy:compress=zstd", "backup:tool=dump:compress=zstd", "restore:tool=copy:compress=zstd")
    conditions = [of(cipher, work, n) for n, work in enumerate(works) for cipher in ("none", "aes-256")]
    heads = tuple(
        verdict(
            estimate(ratio, 0.031), Decision.SLOWER, primary=True, of=treatment, baseline=plain, value=210_000_000.0
        )
        for plain, treatment, ratio in zip(conditions[::2], conditions[1::2], (1.062, 1.118, 1.074), strict=True)
    )
    given = settings(*conditions, engine="sqlite", workload="order-entry", study="backup", options={})

    def action(of: Condition, seconds: float, **counted: float) -> ActionMeasure:
        took, cpu = Typical(0.9 * seconds, seconds, 1.2 * seconds), Typical(0.8 * seconds, 0.9 * seconds, seconds)
        return ActionMeasure(of, str(of.level("work")), 18, took, None, None, cpu, Typical(15e6, 16e6, 17e6), counted)

    def backup(of: Condition, raw: float, ratio: float, **markers: int) -> BackupMeasure:
        is_logical = "dump" in str(of.level("work"))
        return BackupMeasure(of, str(of.level("work")), 18, is_logical, 30e6, raw, raw / ratio, ratio, markers, 31e6)

    actions = (
        *(action(c, 0.21 + n / 100) for n, c in enumerate(conditions[:4])),
        *(action(c, 0.11, rows_compared=152_000.0) for c in conditions[4:]),
    )
    backups = (
        backup(conditions[0], 30e6, 2.12, database=32),
        backup(conditions[1], 30e6, 1.0, database=0),
        backup(conditions[2], 36e6, 4.31, dump=32),
        backup(conditions[3], 36e6, 4.31, dump=32),
    )
    return result(Decision.SLOWER, heads, given, actions=actions, backups=backups)


def spilling() -> RunResult:
    """Temporary files that one scope leaves in the clear, and one trial that kept all in memory."""

    def of(scope: str) -> Condition:
        return Condition((("cipher", "aes-256"), ("scope", scope), ("threads", 1)), Role.TREATMENT)

    plain = Condition((("cipher", "none"), ("scope", "none"), ("threads", 1)), Role.BASELINE)
    tables, temp = of("data"), of("+temp")
    heads = tuple(
        verdict(estimate(ratio, 0.02), Decision.SLOWER, primary=True, of=treatment, baseline=plain, value=310_000.0)
        for treatment, ratio in ((tables, 1.041), (temp, 1.187))
    )
    clear, hidden = EvidenceState.UNCOVERED, EvidenceState.ENCRYPTED
    found = tuple(
        TemporaryData(one, 54, spilled, written, {"temporary_tables": 1.67, "sort_merge_passes": 0.7}, files)
        for one, spilled, written, files in (
            (plain, 54, 19.2e6, {"temp": EvidenceState.PLAIN, "on-disk temp tables": EvidenceState.PLAIN}),
            (tables, 53, 19.2e6, {"temp": clear, "on-disk temp tables": clear}),
            (temp, 54, 19.9e6, {"temp": hidden, "on-disk temp tables": EvidenceState.LEAK}),
        )
    )
    kept = Detail.of("not-spilled", condition=tables.key, kept=1, trials=54)
    told = (kept, Detail.of("spill-remedy"))
    checks = (Validity(SPILLED, CheckState.FAILED, told, makes_invalid=False),)
    given = settings(plain, tables, temp, engine="mariadb", workload="spill", study="spill", options={"study": "spill"})
    return result(Decision.SLOWER, heads, given, temporary=found, validity=checks)


def traced() -> RunResult:
    """Statements metered one by one; the engine has no current gets, and one statement has no ratio."""
    texts = {
        "group/1": "BEGIN",
        "group/2": "INSERT INTO dml_trace (grp, id, name, ts) SELECT :grp, id, name, :ts FROM hundred ORDER BY id",
    }
    figures = {
        ("group/1", "none"): (1.21, 2.4, 0.0, {"physical": 0.0, "logical": 0.0}, None),
        ("group/2", "none"): (412.7, 498.1, 100.0, {"physical": 0.04, "logical": 1412.0}, 18_423.0),
    }

    def of(
        condition: Condition, name: str, factor: float, cpu: Estimate | None, elapsed: Estimate | None
    ) -> StatementTrace:
        cpu_us, elapsed_us, rows, reads, log = figures[name, "none"]
        return StatementTrace(
            condition, name, texts[name], 720, cpu_us * factor, elapsed_us * factor, rows, reads, log, cpu, elapsed
        )

    statements = (
        *(of(PLAIN, name, 1.0, None, None) for name in texts),
        of(TWIN, "group/1", 1.0, None, None),
        of(TWIN, "group/2", 1.0, estimate(1.003, 0.012), estimate(0.998, 0.021)),
        of(AES, "group/1", 1.02, None, None),
        of(AES, "group/2", 1.31, estimate(1.312, 0.041), estimate(1.284, 0.052)),
    )
    headings = {"physical": "pages read from files (reads)", "logical": "requests to read a page (requests)"}
    given = settings(engine="sqlite", workload="dml-trace", options={"workload": "dml-trace", "trace": True})
    return changed(slower(), settings=given, traces=Traces(statements, headings))


def profiled() -> RunResult:
    """A run whose twins were sampled: classes with and without a sure share, stripped functions, long names."""
    counts = (
        ("aesEncryptCBC", "__init__.cpython-311-x86_64-linux-gnu.so", 0, 401),
        ("aesDecryptCBC", "__init__.cpython-311-x86_64-linux-gnu.so", 0, 149),
        ("", "_native.abi3.so", 153, 175),
        ("sqlite3VdbeExec", "__init__.cpython-311-x86_64-linux-gnu.so", 172, 165),
        ("sha256_transf", "__init__.cpython-311-x86_64-linux-gnu.so", 0, 60),
        ("", "libcrypto.so.3", 0, 12),
        ("walChecksumBytes", "__init__.cpython-311-x86_64-linux-gnu.so", 34, 29),
        ("pthread_mutex_lock@@GLIBC_2.2.5", "libc.so.6", 21, 36),
        ("duckdb::BitpackingScanPartial<long, long, unsigned long>", "_duckdb.cpython-311-x86_64-linux-gnu.so", 9, 8),
        *((f"sqlite3BtreeStep{number}", "__init__.cpython-311-x86_64-linux-gnu.so", 20, 21) for number in range(6)),
    )
    kernel = (
        *(("_copy_to_iter", 52, 53), ("_raw_spin_unlock_irqrestore", 40, 45)),
        ("finish_task_switch.isra.0", 9, 11),
    )
    found = []
    for of, side in ((PLAIN, 0), (AES, 1)):
        functions = [Sampled(dso, symbol, both[side], both[side] * 1_001_001) for symbol, dso, *both in counts]
        functions += [Sampled("[kernel.kallsyms]", name, n[side], n[side] * 1_001_001, True) for name, *n in kernel]
        found.append(Profiled(of, 5, 12_950, tuple(functions)))
    names = Functions(one.functions for one in profiles())
    profile = cpu_profiles(found, names)
    unsure = cpu_profiles([found[0], replace(found[0], condition=condition("aes-128"))], names)
    sizes = (DataSize(PLAIN, 50_331_648), DataSize(AES, 51_539_968))
    return changed(slower(), profiles=(*profile, *unsure), data_sizes=sizes)


def without_numbers() -> RunResult:
    """A metric whose baseline is zero has no quotient."""
    nothing = Estimate(math.nan, (math.nan, math.nan), (math.nan, math.nan), math.nan, math.nan, math.nan)
    read = verdict(nothing, Decision.UNDECIDED, metric=Metric.READ_BYTES_PER_OPERATION, value=0.0)
    return result(
        Decision.SLOWER, (*slower().verdicts[:1], read), client_overhead_share=math.inf, loop_cost_ns=math.nan
    )


SAMPLES: dict[str, Callable[[], RunResult]] = {
    name: made
    for name, made in list(globals().items())
    if isfunction(made) and made.__annotations__ == {"return": RunResult}
}
"""Every function above that makes a result of nothing."""
