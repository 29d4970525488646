import os
import time
from pathlib import Path

import pytest

from support.fake_twins import FakeClock, FakeTwin, FakeTwins
from support.refused import Part, has, refused
from tdelta.errors import TimeFault
from tdelta.inference.decisions import FEWEST_ROUNDS
from tdelta.messages.checks import NO_MARKER
from tdelta.records import Measurement, Phase, RunPlanned
from tdelta.session import RunRequest, conduct, preflight
from tdelta.session.clock import Clock
from tdelta.session.pace import FEWEST_BLOCKS, MOST_EXTENSION, Pace, Stage, is_settled
from tdelta.session.preflight import patient_clock, time_caution, with_enough_rounds, with_enough_time
from tdelta.session.run_plan import Plan, plan
from tdelta.store import Store

from .conducting import Sitting, check
from .served import OPTIONS, installed, is_search, served
from .test_conduct import press_ctrl_c


def pace(clock: FakeClock | None = None, **options: object) -> Pace:
    return Pace(plan(RunRequest(**{"seed": 1, **options}), "r"), clock or FakeClock())


class SlowLoads(FakeTwins):
    seconds = 0.0
    interrupted_at = 0

    def load(self, settings):
        if len(self.loaded) + 1 == self.interrupted_at:
            raise KeyboardInterrupt
        self.clock.advance(self.seconds)
        return super().load(settings)


def slow_loads(sitting: Sitting, seconds: float) -> Sitting:
    twins = SlowLoads(sitting.twins.script)
    twins.seconds = seconds
    return Sitting(sitting.base, twins)


def test_a_time_that_is_up_within_the_search_for_a_trial_says_that_a_script_may_not_end() -> None:
    of = pace(max_seconds=60.0)
    usual = of.fault().why
    with pytest.raises(KeyboardInterrupt), of.timed(Stage.SIZE):
        raise KeyboardInterrupt
    assert of.fault().why != usual


# The estimate


def test_a_stage_that_was_timed_takes_as_long_again_as_at_its_longest() -> None:
    of = pace()
    for seconds in (1.0, 5.0, 2.0):
        of.took(Stage.ROWS, seconds)
    assert of.of(Stage.ROWS) == 5.0


def test_a_machine_whose_loads_are_slow_is_taken_to_be_slow_at_all_else() -> None:
    of, before = pace(size_bytes=500_000_000), pace(size_bytes=500_000_000)
    of.took(Stage.LOAD, 3.0 * of.of(Stage.LOAD))
    for stage in (Stage.SEARCH, Stage.START):
        assert 2.0 * before.of(stage) < of.of(stage) <= 3.0 * before.of(stage)
    assert of.of(Stage.BLOCK) == before.of(Stage.BLOCK), "a trial is sized to a time"


def test_a_machine_whose_loads_are_fast_is_not_taken_to_be_fast_at_all_else() -> None:
    of, before = pace(), pace()
    of.took(Stage.LOAD, 0.0)
    assert of.of(Stage.SEARCH) == before.of(Stage.SEARCH)


def test_a_first_block_takes_as_long_as_a_lap_of_the_warm_up_showed() -> None:
    of = pace()
    usual = of.block()
    of.took(Stage.LAP, 50.0)
    assert of.block() >= 50.0 > usual
    of.took(Stage.BLOCK, 3.0)
    assert of.block() == 3.0


def test_longer_trials_than_were_asked_for_make_longer_blocks() -> None:
    of, asked = pace(trial_seconds=0.5), pace(trial_seconds=0.5)
    of.filled(4.0)
    assert of.block() == pytest.approx(8.0 * asked.block())


def test_the_least_time_is_enough_to_be_asked_for() -> None:
    with pytest.raises(TimeFault) as raised:
        pace(max_seconds=1.0).require()
    pace(max_seconds=raised.value.least_seconds).require()
    assert raised.value.least_seconds <= 1.25 * pace().shortest() + 5.0


@pytest.mark.parametrize("engine", ["mariadb", "sqlite"])
def test_on_a_pressed_machine_a_run_is_refused_before_its_set_up(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)

    def made(**options: object) -> Plan:
        return plan(RunRequest(**{"seed": 1, "engine": engine, **options}), "r")

    least, asked = Pace(made()).shortest(), list[Clock]()
    monkeypatch.setattr(Clock, "slowdown", lambda clock: (asked.append(clock), 4.0)[1])
    clock = Clock(600.0, lambda: 0.0)
    with_enough_time(made(max_seconds=10 * least), clock)
    assert not asked, "where there is plenty of time nothing is measured"
    Pace(made(max_seconds=1.01 * least)).require()
    with refused(TimeFault, "time-too-short", why=Part("4.0 times")) as raised:
        with_enough_time(made(max_seconds=1.01 * least), clock)
    assert asked == [clock]
    assert raised.value.least_seconds > 1.2 * least
    with_enough_time(made(max_seconds=raised.value.least_seconds), clock)


def test_a_default_time_that_holds_not_even_the_shortest_run_is_extended_to_the_fewest_rounds() -> None:
    usual = plan(RunRequest(seed=1), "r")
    clock = Clock(usual.request.max_seconds, lambda: 0.0)
    assert with_enough_time(usual, clock) is usual
    large = plan(RunRequest(seed=1, size_bytes=1_000_000_000), "r")
    extended = with_enough_time(large, clock)
    assert has(extended.cautions, "time-extended", found=large.request.max_seconds)
    assert Pace(large).whole(3) < extended.request.max_seconds < 1.5 * Pace(large).whole(3)
    assert clock.left() == extended.request.max_seconds == extended.settings.options["max_seconds"]


def test_rounds_are_shorter_where_the_time_holds_too_few_of_the_usual_length(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)

    def made(**options: object) -> Plan:
        return plan(RunRequest(**{"seed": 1, "engine": "mariadb", "bb_control": True, **options}), "r")

    usual = made()
    blocks, whole = usual.request.blocks_per_round, Pace(usual).whole(FEWEST_ROUNDS)
    assert with_enough_rounds(made(max_seconds=1.01 * whole)).request.blocks_per_round == blocks
    shorter = with_enough_rounds(made(max_seconds=0.9 * whole))
    assert 4 <= shorter.request.blocks_per_round < blocks
    assert Pace(shorter).whole(FEWEST_ROUNDS) <= 0.9 * whole
    assert shorter.settings.options["blocks_per_round"] == shorter.request.blocks_per_round
    hopeless, typed = made(max_seconds=0.3 * whole), made(max_seconds=0.9 * whole, blocks_per_round=blocks)
    assert with_enough_rounds(hopeless) is hopeless
    assert with_enough_rounds(typed) is typed


def test_what_has_passed_counts() -> None:
    clock = FakeClock()
    of = pace(clock, max_seconds=60.0)
    of.require()
    clock.advance(55.0)
    with refused(TimeFault, "time-too-short", found="1 m"):
        of.require()


def test_fewer_rounds_than_were_asked_for_are_said_before_the_run() -> None:
    assert time_caution(plan(RunRequest(seed=1), "r")) is None
    said = time_caution(plan(RunRequest(seed=1, min_rounds=30), "r"))
    assert said is not None
    assert has([said], "time-short", rounds=30)


# Parts that a run leaves out


def test_a_first_load_that_is_too_slow_ends_the_run_with_the_least_time_and_keeps_nothing(sitting: Sitting) -> None:
    slow = slow_loads(sitting, 25.0)
    with refused(TimeFault, "time-too-short", why=Part("25 s have passed"), found="30 s") as raised:
        slow.conduct(max_seconds=30.0)
    assert len(slow.twins.loaded) == 1
    assert slow.twins.clock() <= 33.0
    assert raised.value.least_seconds > 50.0
    assert list((sitting.base / "twins").iterdir()) == []
    with Store.open(sitting.store) as store:
        assert store.runs() == ()
    again = slow_loads(sitting, 25.0)
    again.conduct(max_seconds=raised.value.least_seconds)
    assert again.twins.clock() <= raised.value.least_seconds


def test_a_slow_load_leaves_the_blocks_that_still_fit_and_their_answer(sitting: Sitting) -> None:
    estimate = Pace(plan(sitting.request(trial_seconds=2.0, blocks_per_round=8), "r"))
    shortest, seconds = estimate.shortest(), 3 * estimate.of(Stage.LOAD)
    result = slow_loads(sitting, seconds).conduct(trial_seconds=2.0, blocks_per_round=8, max_seconds=shortest + seconds)
    assert result.stopped_by == "time"
    assert 1 <= result.counts.blocks < 8


def test_a_default_time_is_extended_where_the_load_used_it_up(sitting: Sitting) -> None:
    slow = slow_loads(sitting, 50.0)
    result = slow.conduct(min_rounds=1, max_rounds=1)
    assert has(result.cautions, "time-extended", found=85.0)
    assert result.counts.rounds == 1
    assert slow.twins.clock() > 100.0


def test_a_default_time_is_extended_once_and_resumed_with_that(sitting: Sitting) -> None:
    slow = slow_loads(sitting.scripted(before_trial=press_ctrl_c(at_stream=1)), 50.0)
    slow.conduct(min_rounds=1, max_rounds=1)
    extended = slow.state().extended_seconds
    assert extended is not None
    assert extended > 85.0
    again = Sitting(sitting.base)
    again.resume()
    assert deadline(again) == extended


def deadline(sitting: Sitting) -> float:
    return next(event for event in sitting.events if isinstance(event, RunPlanned)).deadline_seconds


def test_an_extension_is_kept_at_once(sitting: Sitting) -> None:
    slow = slow_loads(sitting, 50.0)
    slow.twins.interrupted_at = 2
    with pytest.raises(KeyboardInterrupt):
        slow.conduct(min_rounds=1, max_rounds=1)
    assert slow.state().extended_seconds is not None


def test_the_time_that_a_resumed_run_was_extended_to_is_kept(sitting: Sitting, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted = sitting.scripted(before_trial=press_ctrl_c(at_stream=1))
    interrupted.conduct(min_rounds=20, max_rounds=20)
    assert interrupted.state().extended_seconds is None

    def pressed(plan: Plan, clock: Clock) -> None:
        raise Pace(plan, clock.elapsed).fault()

    again = sitting.scripted(before_trial=press_ctrl_c(at_stream=2))
    with monkeypatch.context() as busy:
        busy.setattr(preflight, "_require_time_as_pressed", pressed)
        again.resume()
    assert again.state().extended_seconds == deadline(again) > deadline(interrupted)
    last = Sitting(sitting.base)
    last.resume()
    assert deadline(last) == deadline(again)


def test_a_resumed_run_takes_the_time_that_its_refusal_names(sitting: Sitting) -> None:
    slow = slow_loads(sitting, 50.0)
    slow.twins.interrupted_at = 2
    with pytest.raises(KeyboardInterrupt):
        slow.conduct(min_rounds=1, max_rounds=1)
    slower = slow_loads(sitting, 400.0)
    with refused(TimeFault, "time-too-short", option="--max-time") as raised:
        slower.resume()
    again = slow_loads(sitting, 400.0)
    result = again.resume(max_seconds=raised.value.least_seconds)
    assert deadline(again) == raised.value.least_seconds
    assert result.counts.rounds == 1


def test_the_users_rows_may_take_as_long_as_a_default_time_may_be_extended_to() -> None:
    usual = RunRequest(seed=1)
    clock = patient_clock(usual, lambda: 0.0)
    assert clock.left() == MOST_EXTENSION * usual.max_seconds
    with_enough_time(plan(usual, "r"), clock)
    assert clock.left() == usual.max_seconds
    assert patient_clock(RunRequest(max_seconds=60.0), lambda: 0.0).left() == 60.0


def test_the_search_is_reserved_before_another_block_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)

    def searching(twin: FakeTwin, job) -> None:
        if is_search(job):
            twin._twins.clock.advance(3.0)

    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    sitting = served(tmp_path, before_trial=searching)
    options = {**OPTIONS, "blocks_per_round": 100, "trial_seconds": 2.0, "min_rounds": 1, "max_rounds": None}
    result = sitting.conduct(**options, max_seconds=120.0)
    assert result.stopped_by == "time"
    assert sitting.twins.clock() <= 120.0
    assert "NOT" not in check(result, NO_MARKER).detail


def test_a_search_that_there_is_no_time_for_is_left_out_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch)
    blocks = []

    def slow_blocks(twin: FakeTwin, job) -> None:
        if job.stream < 1 << 40:
            blocks.append(job)
            twin._twins.clock.advance(13.0)

    sitting = served(tmp_path, before_trial=slow_blocks)
    result = sitting.conduct(**OPTIONS, trial_seconds=0.25, min_rounds=1, max_rounds=1, max_seconds=60.0)
    assert sitting.twins.clock() <= 66.0
    assert "not checked" in check(result, NO_MARKER).detail


def test_warm_ups_end_where_blocks_need_the_time_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch)
    laps = []

    def counters(_twin: FakeTwin, job):
        laps.append(job)
        return {"buffer_reads": 1_000_000 // len(laps)}

    sitting = served(tmp_path, counters=counters)
    result = sitting.conduct(**OPTIONS, trial_seconds=2.0, min_rounds=1, max_rounds=1, max_seconds=90.0)
    assert sitting.twins.clock() <= 90.0
    assert result.counts.blocks >= FEWEST_BLOCKS
    unsettled = [one for one in result.cautions if one.code == "cache-unsettled" and "#aa" in one.text]
    assert [one.parameters["trials"] == 15 for one in unsettled] == [False]


def test_prices_that_there_is_no_time_for_are_left_out_and_said(sitting: Sitting) -> None:
    shortest = Pace(plan(sitting.request(), "r")).shortest()
    asked = slow_loads(sitting, 0.3)
    result = asked.conduct(max_seconds=shortest + 0.2, min_rounds=1, max_rounds=1)
    assert asked.twins.clock() <= 1.1 * shortest
    assert has(result.cautions, "prices-unknown", fault=Part("--max-time"))
    roomy = slow_loads(sitting, 0.3).conduct(max_seconds=60.0, min_rounds=1, max_rounds=1)
    assert not has(roomy.cautions, "prices-unknown")


def test_a_run_that_will_be_cut_short_says_so_before_and_with_its_answer(sitting: Sitting) -> None:
    result = sitting.conduct(min_rounds=50, max_rounds=None, max_seconds=15.0)
    (said,) = (event.detail for event in sitting.events if isinstance(event, Phase) and event.name == "time")
    assert said.startswith("50 rounds require about ")
    assert said in [*map(str, result.cautions)]


# The wall clock


HANGS_SECONDS = 60.0


class Hanging(FakeTwins):
    at = ""

    def load(self, settings):
        if self.at == "load":
            time.sleep(HANGS_SECONDS)
        return super().load(settings)

    def block(self, entries, order):
        if self.at == "block" and len(self.started) > 1:
            began = time.monotonic()
            while time.monotonic() < began + HANGS_SECONDS and not entries[0][0]._stopped:
                time.sleep(0.01)
        return super().block(entries, order)


def hanging(at: str) -> FakeTwins:
    twins = Hanging()
    twins.at = at
    return twins


def test_a_load_that_hangs_ends_with_the_runs_time(sitting: Sitting) -> None:
    began = time.monotonic()
    with refused(TimeFault, "time-too-short", found="5 s"):
        conduct(sitting.request(max_seconds=5.0, trial_seconds=0.02), sitting.events.append, make_twins=hanging("load"))
    assert time.monotonic() - began < HANGS_SECONDS
    assert list((sitting.base / "twins").iterdir()) == []


def test_a_trial_that_hangs_is_stopped_at_the_end_of_the_runs_time_and_what_is_known_is_the_answer(
    sitting: Sitting,
) -> None:
    began = time.monotonic()
    result = conduct(
        sitting.request(max_seconds=5.0, trial_seconds=0.02, min_rounds=1, max_rounds=1),
        sitting.events.append,
        make_twins=hanging("block"),
    )
    assert time.monotonic() - began < HANGS_SECONDS
    assert (result.stopped_by, result.interrupted, result.counts.blocks) == ("time", False, 1)
    assert not has(result.cautions, "run-interrupted")


def test_what_was_slow_to_make_is_slow_to_remove() -> None:
    of, before = pace(), pace()
    of.took(Stage.START, 5.0 * of.of(Stage.START))
    assert of.tidying() > 4.0 * before.tidying()
    of.took(Stage.END, 0.0)
    assert of.tidying() == 0.0


@pytest.mark.parametrize(
    ("misses", "settled"),
    [
        ([], False),
        ([5.0, 5.0], False),
        ([5.0, 5.0, 5.0], True),
        ([9.0, 7.0, 5.0], False),
        ([9.0, 5.0, 5.1, 4.9], True),
        ([5.0, 5.0, 5.0, 4.0], False),
        ([5.9, 5.4, 5.6], True),
        ([9.0, 5.4, 6.2], False),  # less than the two before, though more than one
        ([5.9, 5.4, 5.1], False),
        ([5.1, 4.1, 4.4], True),  # few transactions: trials at rest differ by a quarter
        ([0.5, 0.0, 0.01, 0.019], True),  # a pool that holds it all: a few misses more or less are none
        ([0.0], False),
        ([7.0, 0.0], False),
        ([7.0, 0.0, 0.0], True),  # nothing is left to be read
        ([0.01, 0.0, 0.01], True),
        ([0.01, 0.0], False),
    ],
)
def test_a_cache_has_settled_when_misses_no_longer_fall(misses: list[float], settled: bool) -> None:
    assert is_settled(misses) is settled


@pytest.mark.parametrize(
    ("misses", "at_rest", "settled"),
    [
        ([], 5.0, False),
        ([5.2], 5.0, True),
        ([5.3], 5.0, False),
        ([0.02], 0.0, True),
        ([9.0, 4.0], 5.0, True),
        ([4.0, 9.0], 5.0, False),
    ],
)
def test_a_cache_that_was_restored_has_settled_when_it_misses_no_more_than_at_rest(
    misses: list[float], at_rest: float, settled: bool
) -> None:
    assert is_settled(misses, at_rest) is settled


def test_misses_are_of_all_operations_that_ran_those_not_recorded_included() -> None:
    measured = Measurement(90, 1, {}, {}, total_operations=100, engine_counters={"buffer_reads": 250})
    assert measured.misses_per_operation == 2.5


def test_an_engine_that_does_not_count_misses_has_none_to_tell() -> None:
    assert Measurement(90, 1, {}, {}, engine_counters={"cache_misses": 3}).misses_per_operation is None
