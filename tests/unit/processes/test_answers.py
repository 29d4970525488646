"""Measurements from a worker's answers: whose delay is whose, and pauses."""

from dataclasses import replace
from typing import Any

import pytest

from tdelta.measure.pressure import spent
from tdelta.processes.answers import WORKER, client_step, embedded_step, measurement, of_embedded
from tdelta.processes.jobs import PopulateJob, TrialJob
from tdelta.processes.load_generator.trial import with_server
from tdelta.records import Client, Measurement, RunDelays, Usage

JOB = TrialJob(seed=1, stream=2, operations=10, first_op=1, deadline_seconds=30.0)
PAUSED = {"paused_ns": 4_200_000_000, "suspended_ns": 0, "stopped": False}


def answer(extra: dict[str, Any] | None = None, **outcome: Any) -> dict[str, Any]:
    counts = dict.fromkeys(("planted_cpu_ns", "planted_elapsed_ns", "queued_operations", "backlog_max"), 0)
    seconds = dict.fromkeys(("cpu_user_seconds", "cpu_system_seconds"), 0.25)
    done = {"operations": 10, "total_operations": 12, "elapsed_ns": 900, "errors": {}, "retries": {}}
    whole = {**counts, **seconds, **done, "stopped_by": "count", "run_delay_ns": 300, "pressure": {"steal": 0.1}}
    return {"outcome": {**whole, **outcome}, "spans": {}, "extra": extra, "histograms": {}}


def test_the_loops_delay_is_the_databases_where_both_are_one_process() -> None:
    measured = measurement(answer())
    assert measured.delays == RunDelays(300, None, None)
    assert measured.pressure == {"steal": 0.1}
    assert measured.standstill == ""


def test_beside_a_server_the_loops_delay_is_the_clients() -> None:
    used = {"client_cpu_user_seconds": 0.5, "client_cpu_system_seconds": 0.5, "run_delay_ns": 7}
    measured = measurement(answer(used))
    assert measured.delays == RunDelays(7, 300, None)


@pytest.mark.parametrize(("threads", "rate", "others"), [(1, None, 300), (2, None, None), (1, 50.0, None)])
def test_delay_is_others_by_the_rule_alone(
    threads: int, rate: float | None, others: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tdelta.processes.answers.allowed_cpus", lambda: 8.0)
    job = TrialJob(seed=1, stream=2, operations=10, first_op=1, deadline_seconds=30.0, rate=rate)
    measured = of_embedded(answer(), job, load_threads=threads, database_threads=threads)
    assert measured.delays.others_delay_ns == others
    assert of_embedded(answer(), job, load_threads=threads, database_threads=4).delays.others_delay_ns is None


def test_a_kernel_that_keeps_no_delay_leaves_nothing_to_tell_apart() -> None:
    measured = of_embedded(answer(run_delay_ns=None), JOB, load_threads=1, database_threads=1)
    assert (measured.delays.run_delay_ns, measured.delays.others_delay_ns) == (None, None)


def test_who_stood_still_is_said_of_loops_and_of_commands() -> None:
    paused = measurement(answer(standstill=PAUSED)).standstill
    assert paused.startswith(f"{WORKER} ")
    assert paused.endswith(" 4 s")
    used = {"counters": {}, "checkpoint_ns": 0, "pressure": {}, "run_delay_ns": 9, "usage": {}}
    stopped = {**used, "standstill": {**PAUSED, "stopped": True}}
    measured = with_server(Measurement(1, 1, {}, {}), stopped)
    assert measured.standstill
    assert not measured.standstill.startswith(WORKER)
    assert measured.delays.run_delay_ns == 9


ROWS = PopulateJob(
    {"tables": []},
    7,
    ("CREATE TABLE a (x)", "CREATE TABLE b (x)"),
    ("CREATE INDEX i ON a (x)",),
    (("a", ("x",)), ("b", ("x",))),
)


def test_what_some_work_took_is_elapsed_time_and_cpu_time() -> None:
    answer = spent(lambda: sum(range(300_000)))
    assert answer["elapsed_ns"] > 0
    measured = embedded_step("load", answer, 12)
    assert (measured.operations, measured.transactions["load"].count) == (1, 1)
    assert measured.engine_counters == {"rows": 12}
    assert measured.response_ns == answer["elapsed_ns"]
    assert 0.0 < measured.cpu_seconds <= 2e-9 * answer["elapsed_ns"] + 0.02


def test_of_a_server_the_worker_is_the_client() -> None:
    measured = client_step("rebuild", spent(lambda: sum(range(300_000))))
    assert measured.cpu_seconds == 0.0
    assert measured.client_cpu_seconds > 0.0


TRIAL = TrialJob(seed=1, stream=2, operations=100, first_op=7, deadline_seconds=1.5)


def test_cpu_time_of_others_is_what_neither_the_database_nor_its_client_used() -> None:
    usage, client = Usage(cpu_user_seconds=1.0, cpu_system_seconds=0.5), Client(cpu_user_seconds=0.5)
    pressure = {"cpu_busy": 0.75}
    measured = Measurement.of_one("work", 2_000_000_000, pressure=pressure, usage=usage, client=client)
    assert measured.others_cpu_share(4) == pytest.approx(0.5)
    assert measured.others_cpu_share(1) == 0.0
    assert replace(measured, pressure={}).others_cpu_share(4) is None, "not counted"
    assert replace(measured, usage=Usage()).others_cpu_share(4) is None, "a server elsewhere"
