"""The loop on clients without a database: what is counted, recorded, repeated, and what ends it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tdelta import _native
from tdelta.driver.scripted import loop, planting
from tdelta.driver.scripted.clients import ClientError, Noop
from tdelta.driver.scripted.evaluating import Variables
from tdelta.driver.scripted.loop import Outcome, Report, Trial, run_trial
from tdelta.driver.scripted.pacing import Arrivals
from tdelta.driver.scripted.programs import Mix, Statement, mix_of

MINUTE_NS = 60_000_000_000


class Client:
    """Remembers what it ran; ``does`` may raise, or set the stop."""

    def __init__(self, does: Callable[[Client], None] = lambda _: None) -> None:
        self.ran: list[tuple[str, tuple[object, ...]]] = []
        self.abandoned = 0
        self._does = does

    def execute(self, statement: Statement, variables: Variables) -> int:
        self.ran.append((statement.sql, tuple(variables[name] for name in statement.names)))
        self._does(self)
        for name in statement.into or ():
            variables[name] = 2
        return 3

    def abandon(self) -> None:
        self.abandoned += 1


def mix(*scripts: str) -> Mix:
    transactions = [{"name": f"t{n}", "weight": 1, "text": text} for n, text in enumerate(scripts)]
    return mix_of(transactions, {"rows_t": 10.0}, lambda number: f"?{number}")


def run(of: Mix, *clients: Client, stop: threading.Event | None = None, **orders: Any) -> Report:
    given = {"seed": 1, "stream": 2, "operations": 20, "first_op": 1, "deadline_ns": MINUTE_NS, **orders}
    return run_trial(of, Trial(**given), clients or (Client(),), stop or threading.Event())


def test_every_operation_is_done_once_counted_timed_and_recorded() -> None:
    client = Client()
    report = run(mix("SELECT :op;\nSELECT 1;"), client)
    assert [values for sql, values in client.ran if sql == "SELECT ?1"] == [(n,) for n in range(1, 21)]
    outcome = report.outcome
    assert (outcome.operations, outcome.executed_operations, outcome.rows, outcome.stopped_by) == (20, 20, 120, "count")
    assert report.spans["tx:t0"][0] == report.spans["stmt:t0/2"][0] == 20
    within = report.spans["stmt:t0/1"][1] + report.spans["stmt:t0/2"][1]
    assert report.spans["tx:t0"][1] == within  # no time passes between two statements in a row
    count, mean_ns, _, _ = _native.histogram_summary([report.histograms["tx:t0"]], [0.5])
    assert count == 20
    assert mean_ns == pytest.approx(report.spans["tx:t0"][1] / 20, rel=2e-3)


def test_the_head_is_run_and_not_recorded() -> None:
    client = Client()
    report = run(mix("SELECT :op;"), client, discard=5)
    assert len(client.ran) == 20
    assert (report.outcome.operations, report.outcome.executed_operations) == (15, 20)
    assert report.spans["tx:t0"][0] == 15


def test_steps_go_where_the_script_says() -> None:
    script = (
        "\\set x 0\n\\repeat 3\n\\set x :x + 1\n\\if :x = 1\nSELECT 'one';\n\\elif :x = 2\nSELECT 'two';\n"
        "\\else\nSELECT 'more', :x;\n\\endif\n\\endrepeat\nSELECT 4 AS a \\gset g_\nSELECT :g_a;"
    )
    client = Client()
    run(mix(script), client, operations=1)
    assert client.ran == [
        ("SELECT 'one'", ()),
        ("SELECT 'two'", ()),
        ("SELECT 'more', ?1", (3,)),
        ("SELECT 4 AS a", ()),
        ("SELECT ?1", (2,)),
    ]


def test_what_an_operation_does_depends_on_its_number_alone() -> None:
    of = mix("\\set x random(1, 1000000)\nSELECT :op, :x;", "\\set x random(1, 5)\nSELECT :x, :op, 1;")
    alone, several = Client(), [Client(), Client(), Client()]
    run(of, alone, operations=60)
    run(of, *several, operations=60)
    assert sorted(alone.ran) == sorted(entry for client in several for entry in client.ran)


def test_a_conflict_is_tried_again_with_the_same_values() -> None:
    def does(client: Client) -> None:
        if len(client.ran) < 3:
            raise ClientError("conflict", "someone else was first", retryable=True)

    client = Client(does)
    report = run(mix("\\set x random(1, 1000000)\nSELECT :x;"), client, operations=1)
    assert len(set(client.ran)) == 1
    assert (len(client.ran), client.abandoned) == (3, 2)
    assert (dict(report.outcome.retries), dict(report.outcome.errors)) == ({"conflict": 2}, {})
    assert report.spans["tx:t0"][0] == 1


def test_a_conflict_that_stays_becomes_an_error() -> None:
    def does(_client: Client) -> None:
        raise ClientError("conflict", "someone else was first", retryable=True)

    report = run(mix("SELECT 1;"), Client(does), max_tries=4)
    assert report.outcome.as_json()["errors"] == {"conflict": 1}
    assert (report.outcome.stopped_by, report.outcome.retries["conflict"]) == ("error", 3)
    assert report.outcome.first_error == "t0: someone else was first"


def test_a_fault_of_a_script_is_an_error_that_names_it() -> None:
    report = run(mix("\\set x 1 / (:op - :op)\nSELECT :x;"))
    assert (report.outcome.stopped_by, report.outcome.first_error) == ("error", "t0: division by zero")
    goes_on = run(mix("\\set x 1 / (:op - :op)\nSELECT :x;"), stop_on_error=False)
    assert (goes_on.outcome.stopped_by, goes_on.outcome.errors["script"]) == ("count", 20)


def test_a_stop_and_a_deadline_end_it_after_an_operation() -> None:
    stop = threading.Event()
    client = Client(lambda of: stop.set() if len(of.ran) == 4 else None)
    assert run(mix("SELECT 1;"), client, stop=stop).outcome.stopped_by == "signal"
    assert len(client.ran) == 4
    late = Client()
    assert run(mix("SELECT 1;"), late, deadline_ns=-1).outcome.stopped_by == "deadline"
    assert late.ran == []


def test_a_defect_of_a_client_is_no_answer_of_an_engine() -> None:
    def does(_client: Client) -> None:
        raise RuntimeError("a defect")

    for clients in ((Client(does),), (Client(does), Client(does))):
        with pytest.raises(RuntimeError, match="a defect"):
            run(mix("SELECT 1;"), *clients)


def busy(_client: Client) -> None:
    sum(range(20_000))


def test_a_planted_cost_is_spun_within_the_spans_and_told() -> None:
    plain, planted = (run(mix("SELECT 1;"), Client(busy), planted=share).outcome for share in (0.0, 2.0))
    assert plain.planted_cpu_ns == plain.planted_elapsed_ns == 0
    assert planted.planted_elapsed_ns >= planted.planted_cpu_ns > 0
    assert planted.elapsed_ns > planted.planted_elapsed_ns
    assert planted.cpu_user_seconds + planted.cpu_system_seconds > 0


def test_a_client_that_does_nothing_fills_what_a_row_would() -> None:
    report = run_trial(
        mix("SELECT a FROM t \\gset\nSELECT 1 / :a;"),
        Trial(1, 2, 10, 1, MINUTE_NS),
        [Noop()],
        threading.Event(),
    )
    assert report.outcome.operations == 10


@pytest.mark.parametrize("kind", ["constant", "poisson"])
def test_an_open_loop_does_all_its_operations_and_counts_from_when_they_were_due(kind: str) -> None:
    report = run(mix("SELECT 1;"), operations=30, pace={"kind": kind, "rate": 20_000.0})
    assert report.outcome.operations == 30
    assert report.spans["tx:t0"][1] >= report.spans["stmt:t0/1"][1]


def test_a_stall_shows_as_backlog() -> None:
    arrivals = Arrivals("constant", 1e6, 1, 2, 100)
    first, second = arrivals.take(50_500), arrivals.take(50_500)
    assert first is not None
    assert second is not None
    assert (first.index, first.due_ns, first.backlog, second.backlog) == (0, 1000, 50, 49)
    assert sum(1 for _ in iter(lambda: arrivals.take(0), None)) == 98


class Clock:
    """Time that passes only when told to; all of it is CPU time."""

    def __init__(self) -> None:
        self.now_ns = 0

    def monotonic_ns(self) -> int:
        return self.now_ns

    process_time_ns = thread_time_ns = monotonic_ns

    def cpu_seconds(self) -> tuple[float, float]:
        return self.now_ns / 1e9, 0.0


def test_what_is_done_between_operations_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, called = Clock(), []
    monkeypatch.setattr(loop, "time", clock)
    monkeypatch.setattr(loop, "cpu_seconds", clock.cpu_seconds)
    monkeypatch.setattr(planting, "time", clock)

    def does(_client: Client) -> None:
        clock.now_ns += 1000

    def between() -> None:
        called.append(len(client.ran))
        clock.now_ns += 1_000_000_000

    client = Client(does)
    trial = Trial(1, 2, 20, 1, deadline_ns=100_000)
    outcome = run_trial(mix("SELECT 1;"), trial, [client], threading.Event(), between).outcome
    assert called == list(range(20))
    assert (outcome.operations, outcome.stopped_by) == (20, "count")
    assert outcome.elapsed_ns == 20 * 1000
    assert outcome.cpu_user_seconds == pytest.approx(20e-6, abs=1e-7)


def test_what_was_counted_is_json() -> None:
    assert Outcome(operations=3).as_json()["operations"] == 3


def test_what_threads_waited_for_a_cpu_is_of_the_recorded_stretch_whether_they_end_with_it_or_not() -> None:
    def work(_: Client) -> None:
        began = time.thread_time()
        while time.thread_time() - began < 0.002:
            pass

    alone = run(mix("SELECT 1;"), Client(work), operations=40, discard=10).outcome
    several = run(mix("SELECT 1;"), *(Client(work) for _ in range(4)), operations=160).outcome
    if alone.run_delay_ns is None:
        pytest.skip("this kernel keeps no schedstat")
    assert 0 <= alone.run_delay_ns <= alone.elapsed_ns
    assert several.run_delay_ns is not None
    assert 0 <= several.run_delay_ns <= 5 * several.elapsed_ns
    assert alone.standstill == {"paused_ns": 0, "suspended_ns": 0, "stopped": False}
    assert set(alone.pressure) <= {"cpu_some", "io_some", "memory_some", "steal"}


def test_a_stretch_that_records_nothing_has_no_delay() -> None:
    assert run(mix("SELECT 1;"), operations=5, discard=5).outcome.run_delay_ns is None
