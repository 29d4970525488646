"""A decision on real files: killed at a random moment and started again, it continues, and leaves nothing behind."""

import json
import random
import signal
import time
from typing import Any

import pytest

from support.codes import check_refused
from support.running import ANSWERED, PATIENCE_SECONDS, Place, read_until, workers_left
from tdelta.report.page.file import is_report
from tdelta.session.deciding import PART_OF
from tdelta.store import RunStatus, Store

SMALL = ("decide", "--size", "1MB", "--max-time", "60s", "--rate", "2000/s", "--price-per-core-hour", "0.05")
SEED = time.time_ns()
MOST_SECONDS = 4.0


def runs(place: Place) -> dict[str, tuple[str, RunStatus]]:
    """The question and the status of every run of the decision."""
    with Store.open(place.store) as store:
        facts = store.facts_named(PART_OF)
        return {run_id: (fact["question"], store.status(run_id)) for run_id, fact in facts.items()}


def test_a_decision_killed_at_random_continues_and_writes_its_page(place: Place) -> None:
    page = place.base / "decision.html"
    process = place.start(*SMALL, "--output", str(page))
    read_until(process, "Conversion")
    time.sleep(random.Random(SEED).uniform(0.0, MOST_SECONDS))
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE_SECONDS)
    before = runs(place)
    assert [one for one in before.values() if one == ("workload", RunStatus.DONE)], SEED
    ran = place.tdelta(*SMALL, "--output", str(page), "--json")
    assert ran.code in (*ANSWERED, 4), ran.err
    after, document = runs(place), json.loads(ran.out)
    assert before.keys() <= after.keys(), SEED
    assert {status for _, status in after.values()} == {RunStatus.DONE}, SEED
    assert [question for question, _ in after.values()].count("encrypt") == 1, SEED
    assert {one["run_id"] for one in document["answers"]} <= after.keys()
    assert document["exit_code"] == ran.code
    assert document["page"] == str(page)
    assert is_report(page)
    assert workers_left(process.pid) == []
    assert list(place.twins.iterdir()) == []


def test_a_plan_makes_nothing(place: Place) -> None:
    document: Any = json.loads(place.tdelta(*SMALL, "--dry-run", "--json").out)
    assert document["runs"][0]["question"] == "workload"
    assert sum(one["planned_seconds"] for one in document["runs"]) == pytest.approx(60.0)
    assert not place.store.exists()


def test_what_decides_between_questions_is_no_option(place: Place) -> None:
    check_refused(place.tdelta("decide", "--vary", "cache=10%", "--json"), "command-line")


def test_a_share_is_no_rate_of_a_peak(place: Place) -> None:
    check_refused(place.tdelta("decide", "--rate", "60%", "--json"), "unexpected")
