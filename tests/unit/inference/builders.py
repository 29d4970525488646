"""Small hand-made runs: every trial's costs are given, so that a test can say what must come out."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from support.flat import measurement_of
from tdelta.inference.noise import InstanceMeans
from tdelta.records import Condition, Measurement, Metric, Role, RunSettings, SpanTotals, Trial

OPERATIONS = 1000

LogCost = Callable[[Condition, int, int], float]


def condition(cipher: str, role: Role, stratum: int = 0, injected: float | None = None) -> Condition:
    return Condition((("cipher", cipher), ("threads", 1 + stratum)), role, stratum, injected)


BASELINE = condition("none", Role.BASELINE)
AA = condition("none", Role.AA)
AES = condition("aes-256", Role.TREATMENT)
BB = condition("aes-256", Role.BB)
TWINS = (BASELINE, AA, AES)


def settings(
    conditions: Sequence[Condition] = TWINS,
    *,
    tolerance: float = 0.02,
    budget: float | None = None,
    metric: Metric = Metric.RESPONSE_TIME,
) -> RunSettings:
    return RunSettings("run", 1, "study", "sqlite", "order-entry", tuple(conditions), tolerance, budget, metric)


def measurement(
    cost: float = 1.0, *, read: int = 0, injected: float = 0.0, types: Sequence[float] = (1.0,)
) -> Measurement:
    """A trial of 1000 operations of 100 µs and 80 µs CPU each, times ``cost``, the ``injected`` share included."""
    total = 100_000 * OPERATIONS * cost
    spans = {f"type{i}": SpanTotals(OPERATIONS, round(total * share)) for i, share in enumerate(types)}
    return measurement_of(
        operations=OPERATIONS,
        elapsed_ns=round(total),
        transactions=spans,
        statements={},
        cpu_user_seconds=0.5e-4 * OPERATIONS * cost,
        cpu_system_seconds=0.3e-4 * OPERATIONS * cost,
        syscall_read_bytes=read,
        syscall_written_bytes=4096 * OPERATIONS,
        injected_cpu_ns=round(80_000 * OPERATIONS * cost * injected / (1.0 + injected)),
        injected_elapsed_ns=round(total * injected / (1.0 + injected)),
    )


def stage_1(
    means: np.ndarray, blocks: np.ndarray, variance: float, df: float, kinds: np.ndarray | None = None
) -> InstanceMeans:
    """The result of stage 1 for normal noise; twins of one kind unless said otherwise, which share ``df``."""
    own = np.zeros(means.shape[1], dtype=np.intp) if kinds is None else kinds
    count = int(own.max()) + 1
    nothing = np.zeros((0, means.shape[1]))
    of_kind = np.full(count, df / count)
    return InstanceMeans(
        means=means,
        blocks=np.repeat(blocks[:, None], means.shape[1], axis=1),
        kinds=own,
        variance=np.full(count, variance),
        df=of_kind,
        rounds=np.zeros(0, dtype=np.intp),
        there=nothing > 0,
        residual=nothing,
        influence=nothing,
        weight=nothing,
        places=np.zeros(1),
    )


def trial(of: Condition, round_: int, block: int, measured: Measurement, position: int = 0) -> Trial:
    return Trial(round_, block, position, of, f"{round_}/{of.key}", 0.0, measured)


def run(
    log_cost: LogCost,
    conditions: Sequence[Condition] = TWINS,
    *,
    rounds: int = 4,
    blocks: int = 6,
    types: Sequence[float] = (1.0,),
    read: int = 0,
) -> list[Trial]:
    return [
        trial(c, r, r * blocks + b, measurement(np.exp(log_cost(c, r, r * blocks + b)), types=types, read=read), p)
        for r in range(rounds)
        for b in range(blocks)
        for p, c in enumerate(conditions)
    ]


def noisy(effect: float, sd: float = 0.01, *, seed: int = 1, instance_effect: float = 0.0, aa: float = 0.0) -> LogCost:
    """Normal noise; treatments cost ``effect`` more, the A/A twin ``aa``, and instances differ by ``luck``."""
    rng = np.random.default_rng(seed)
    lucks: dict[tuple[str, int], float] = {}

    def cost(c: Condition, round_: int, block: int) -> float:
        own = lucks.setdefault((c.key, round_), float(rng.normal(0.0, instance_effect)))
        shift = aa if c.role is Role.AA else effect if c.role.is_judged or c.role is Role.BB else 0.0
        return 0.1 * math.sin(block) + own + shift + float(rng.normal(0.0, sd))

    return cost


def taking_turns(trials: list[Trial]) -> list[Trial]:
    """One of two B/B twins in every round."""
    return [t for t in trials if t.condition.role is not Role.BB or (t.condition == BB) is (t.round % 2 == 0)]
