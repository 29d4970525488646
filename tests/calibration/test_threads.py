"""The simulation of threads against what queueing theory says of it."""

from __future__ import annotations

import math

import pytest

from calibration.threads import Law, System, constant, exponential, heavy, simulate

OPERATIONS = 20_000


def repairmen(threads: int, servers: int, away: float, served: float) -> float:
    """Operations per second of M/M/c//N, by its balance equations (Kleinrock 1975, 3.8)."""
    weights = [1.0]
    for n in range(1, threads + 1):
        weights.append(weights[-1] * (threads - n + 1) / away * served / min(n, servers))
    busy = sum(weight * min(n, servers) for n, weight in enumerate(weights))
    return busy / sum(weights) / served


def erlang_wait(servers: int, arrivals: float, served: float) -> float:
    """Mean seconds of waiting in M/M/c (Erlang 1917)."""
    load = arrivals * served
    last = load**servers / math.factorial(servers) * servers / (servers - load)
    waits = last / (sum(load**n / math.factorial(n) for n in range(servers)) + last)
    return waits * served / (servers - load)


@pytest.mark.parametrize(("threads", "cores"), [(1, 1), (6, 1), (12, 4), (40, 16)])
def test_cores_alone_are_the_machine_repairman_model(threads: int, cores: int) -> None:
    found = simulate(System(cores, work=1.0, away=3.0), threads, OPERATIONS, seed=1)
    assert found.throughput == pytest.approx(repairmen(threads, cores, 3.0, 1.0), rel=0.03)


@pytest.mark.parametrize("cores", [1, 4])
def test_many_threads_that_are_long_away_wait_as_erlang_says(cores: int) -> None:
    threads, load = 400, 0.6
    away = threads / (load * cores)
    found = simulate(System(cores, work=1.0, away=away), threads, 3 * OPERATIONS, seed=1)
    assert found.response - 1.0 == pytest.approx(erlang_wait(cores, found.throughput, 1.0), rel=0.1)


@pytest.mark.parametrize("law", [constant, exponential, heavy])
@pytest.mark.parametrize("threads", [1, 5, 60])
def test_response_time_law_and_asymptotic_bounds_hold_for_any_law(law: Law, threads: int) -> None:
    """Threads over throughput less the time away (Denning and Buzen 1978): an identity, but for both ends of a run."""
    system = System(4, work=1.0, away=2.0, latch=0.1, log=0.2, law=law)
    found = simulate(system, threads, OPERATIONS, seed=2)
    assert found.response + system.away == pytest.approx(threads / found.throughput, rel=0.1)
    assert found.throughput <= 1.1 * system.most(threads)


@pytest.mark.parametrize("share", [0.02, 0.2])
def test_a_serial_part_is_between_the_scalability_law_and_the_bounds(share: float) -> None:
    """Gunther 2008: where all threads queue at once a serial share s gives N / (1 + s (N - 1)), the least there is."""
    system = System(64, work=1.0 - share, log=share)
    for threads in (4, 16, 48):
        found = simulate(system, threads, OPERATIONS, seed=3).throughput
        assert 0.97 * threads / (1.0 + share * (threads - 1)) < found < 1.03 * system.most(threads)


def overhead(system: System, threads: int, **factors: float) -> float:
    """Time per operation, encrypted over plain, less 1."""
    plain, other = (simulate(one, threads, OPERATIONS, seed=4) for one in (system, system.encrypted(**factors)))
    return plain.throughput / other.throughput - 1.0


@pytest.mark.parametrize(
    ("system", "threads", "factors", "expected"),
    [
        (System(4, work=0.5, away=0.5, law=constant), 1, {"work": 1.2}, 0.1),
        (System(4, work=0.5, away=0.5), 100, {"work": 1.2}, 0.2),
        (System(64, work=0.5, away=0.5, latch=0.1), 100, {"latch": 1.3}, 0.3),
        (System(64, work=0.5, away=0.5, log=0.1), 100, {"work": 1.2, "log": 1.4}, 0.4),
        (System(64, work=0.5, away=0.5, device=0.1), 100, {"work": 1.2}, 0.0),
    ],
    ids=["one thread", "cores full", "latch full", "log full", "device full"],
)
def test_overhead_is_that_of_the_place_that_is_full(
    system: System, threads: int, factors: dict[str, float], expected: float
) -> None:
    assert overhead(system, threads, **factors) == pytest.approx(expected, abs=0.02)
