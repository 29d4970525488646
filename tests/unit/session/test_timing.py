from pathlib import Path
from typing import Any

import pytest

from support.fake_twins import FakeTwin
from support.refused import Part, has
from tdelta.processes.openssl_calls import HEAD, SLOT, read
from tdelta.records import ComponentKind, CostBreakdown, RunResult
from tdelta.session import RunRequest, pace
from tdelta.session.collectors import unit_costs
from tdelta.session.collectors.unit_costs import LATE, NOT_SEEN
from tdelta.session.context import PROFILES, TIMED
from tdelta.session.pace import FEWEST_BLOCKS, TRIALS, Pace, Stage
from tdelta.session.run_plan import plan

from .conducting import Sitting
from .served import installed
from .test_conduct import NEVER_PRECISE, press_ctrl_c

ONE_ROUND = {"min_rounds": 1, "max_rounds": 1}
US = 12.0


def calls(_twin: FakeTwin, job: Any, path: Path) -> None:
    """The counts of a preload: one page an operation, added to what is there."""
    found = read(path).tallies.get(("AES-256-CBC", "cipher", "decrypt"))
    before, ns = (found[0], found[6]) if found else (0, 0)  # starts, and the time of updates
    done = before + job.operations
    update = (done, ns + round(job.operations * US * 1e3), 0)
    decrypts = [done, 4096 * done, 0, 0, 0, *update, 0, 0, 0]
    path.write_bytes(HEAD.pack(0) + SLOT.pack(427, 0, *[0] * 11, *decrypts, b"AES-256-CBC"))


def own(sitting: Sitting) -> list[FakeTwin]:
    return [twin for twin in sitting.twins.started if twin.jobs and all(job.stream >= TIMED for job in twin.jobs)]


def cipher(result: RunResult) -> Any:
    return result.of(CostBreakdown)[0].component(ComponentKind.CIPHER)


def test_an_encrypted_condition_is_timed_once_and_its_calls_are_the_ciphers_line(sitting: Sitting) -> None:
    timed = sitting.scripted(calls=calls)
    result = timed.conduct(min_rounds=2, max_rounds=2)
    (twin,) = own(timed)
    assert twin.settings.cipher == "aes-256"
    assert len(twin.jobs) == TRIALS + 1  # one warms up
    assert twin.ended
    line = cipher(result)
    assert line.is_timed
    assert line.amount.us == pytest.approx(US, rel=0.02)
    assert line.items[0].what == "AES-256-CBC decryptions"
    assert not list(sitting.base.rglob("*.counts"))


def test_trials_that_are_timed_are_in_neither_the_store_nor_the_other_twins_operations(sitting: Sitting) -> None:
    timed = sitting.scripted(calls=calls)
    result = timed.conduct(min_rounds=1, max_rounds=1)
    plain = Sitting(sitting.base / "other")
    assert result.counts.trials == plain.conduct(min_rounds=1, max_rounds=1).counts.trials

    def first_ops(of: Sitting) -> list[list[int]]:
        return [[job.first_op for job in twin.jobs if job.stream < PROFILES] for twin in of.twins.started[:3]]

    assert first_ops(timed) == first_ops(plain)


def test_where_calls_cannot_be_timed_the_cost_breakdown_says_why(sitting: Sitting) -> None:
    result = sitting.conduct()
    reasons = result.of(CostBreakdown)[0].unattributed
    assert has(reasons, "calls-not-timed", fault="a fake makes no calls")
    assert own(sitting) == []


def test_where_none_was_seen_that_is_said(sitting: Sitting) -> None:
    result = sitting.scripted(calls=lambda _twin, _job, _path: None).conduct()
    assert has(result.of(CostBreakdown)[0].unattributed, "calls-not-timed", fault=NOT_SEEN)


def test_without_time_nothing_is_timed_and_the_remedy_is_said(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "SHARE_OF_TIME", 0.0)
    monkeypatch.setattr(unit_costs, "SHARE_OF_TIME", 0.0)
    timed = sitting.scripted(calls=calls)
    result = timed.conduct()
    assert own(timed) == []
    assert has(result.of(CostBreakdown)[0].unattributed, "calls-not-timed", fault=Part("--max-time"))


def test_a_run_with_time_for_one_round_leaves_out_blocks_for_the_timed_calls_and_ends_in_time(sitting: Sitting) -> None:
    asked = {"max_seconds": 40.0, "trial_seconds": 0.5, "blocks_per_round": 40, **ONE_ROUND}
    timed = sitting.scripted(calls=calls, cost_ns=NEVER_PRECISE)
    result = timed.conduct(**asked)
    (found,) = timed.state().timed_calls.values()
    assert len(found.trials) == TRIALS
    plain = Sitting(sitting.base / "other").scripted(cost_ns=NEVER_PRECISE)
    assert FEWEST_BLOCKS < result.counts.blocks < plain.conduct(**asked).counts.blocks <= 40
    assert timed.twins.clock() <= 40.0


def test_trials_that_are_far_slower_than_the_rounds_are_given_up_before_the_time_is_up(sitting: Sitting) -> None:
    def cost_ns(twin: FakeTwin, job: Any) -> float:
        return NEVER_PRECISE(twin, job) * (10.0 if job.stream >= TIMED else 1.0)

    timed = sitting.scripted(calls=calls, cost_ns=cost_ns)
    timed.conduct(max_seconds=40.0, trial_seconds=0.5, blocks_per_round=40, **ONE_ROUND)
    (twin,) = own(timed)
    assert len(twin.jobs) < TRIALS + 1
    (found,) = timed.state().timed_calls.values()
    assert found.fault == LATE
    assert timed.twins.clock() <= 42.0


def test_the_estimate_of_a_run_has_its_timed_calls_where_there_are_any(monkeypatch: pytest.MonkeyPatch) -> None:
    def whole(max_seconds: float, **asked: Any) -> tuple[Pace, float]:
        of = Pace(plan(RunRequest(seed=1, bb_control=False, max_seconds=max_seconds, **asked), "r"))
        return of, of.whole(1)

    installed(monkeypatch)
    of, enough = whole(600.0, engine="mariadb")
    _, short = whole(of.of(Stage.TIMING) * 9.0, engine="mariadb")
    assert enough == pytest.approx(short + of.of(Stage.TIMING)), "a tenth of that time does not suffice"
    assert whole(600.0)[1] == pytest.approx(whole(1.0)[1]), "the wheel's cipher cannot be timed"


def test_what_an_earlier_sitting_timed_is_kept(sitting: Sitting) -> None:
    timed = sitting.scripted(calls=calls, cost_ns=NEVER_PRECISE, before_trial=press_ctrl_c(at_stream=2))
    timed.conduct()
    assert sitting.state().timed_calls
    again = Sitting(sitting.base)
    assert cipher(again.resume()).is_timed
    assert own(again) == []
