import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

import tdelta.workloads
from support.fake_twins import FakeTwin, cost_by_cipher, equal_rows, plain_facts
from support.refused import Part, check_messages, coded, has, refused
from tdelta._native import histogram_of
from tdelta.engines.sqlite.libraries import Library
from tdelta.errors import Defect, StorageFault, TdeltaError, TimeFault, UsageError
from tdelta.inference.run_analysis import analyze_run
from tdelta.messages import Refusal
from tdelta.processes import TwinFolder
from tdelta.records import (
    CheckState,
    Decision,
    InterimAnalysis,
    Measurement,
    Phase,
    Role,
    RunPlanned,
    RunResult,
    TailMeasure,
    Trial,
    TrialDone,
)
from tdelta.store import RunStatus, Store

from . import served
from .conducting import Sitting, check

_CALIBRATION = 1 << 40
NEVER_PRECISE = cost_by_cipher({"none": 1e5, "aes-256": 1.3e5}, noise=0.5)
PRECISE_AT_ONCE = cost_by_cipher({"none": 1e5, "aes-256": 1e5}, noise=1e-6)


def press_ctrl_c(*, at_stream: int, number: signal.Signals = signal.SIGINT):
    """A script's ``before_trial`` that sends this process a signal once, when a trial of that block begins."""
    pressed = []

    def before_trial(_twin, job):
        if job.stream == at_stream and not pressed:
            pressed.append(job)
            signal.raise_signal(number)

    return before_trial


def fail(*, at_stream: int, message: str = "no such table: work"):
    def before_trial(_twin, job):
        if job.stream == at_stream:
            raise Defect(message)

    return before_trial


# How a run ends


def test_a_run_answers_and_is_stored_as_done(sitting: Sitting) -> None:
    result = sitting.conduct()
    assert (result.decision, sitting.status()) == (Decision.SLOWER, RunStatus.DONE)
    with Store.open(sitting.store) as store:
        assert store.result(store.resolve("last")) == result


def test_the_ratio_is_the_one_that_the_script_has(sitting: Sitting) -> None:
    (verdict,) = sitting.scripted(cost_ns=cost_by_cipher({"none": 1e5, "aes-256": 1.3e5}, 0.001)).conduct().primary
    low, high = verdict.ratio.hdi95
    assert low < 1.3 < high
    assert verdict.baseline_value == pytest.approx(100.0, rel=0.01)
    assert verdict.condition_value == pytest.approx(130.0, rel=0.01)


def test_a_run_stops_when_it_is_precise_enough_and_not_before_its_fewest_rounds(sitting: Sitting) -> None:
    result = sitting.scripted(cost_ns=PRECISE_AT_ONCE).conduct(min_rounds=3, max_rounds=None, max_seconds=10_000.0)
    assert (result.stopped_by, result.counts.rounds) == ("precision", 3)


def test_a_run_stops_when_its_rounds_are_used_up(sitting: Sitting) -> None:
    result = sitting.scripted(cost_ns=NEVER_PRECISE).conduct(min_rounds=2, max_rounds=4, max_seconds=10_000.0)
    assert (result.stopped_by, result.counts.rounds) == ("rounds", 4)


def test_a_run_stops_before_a_round_that_would_not_fit_in_its_time(sitting: Sitting) -> None:
    sitting = sitting.scripted(cost_ns=NEVER_PRECISE)
    result = sitting.conduct(max_rounds=None, max_seconds=30.0)
    assert result.stopped_by == "time"
    assert result.counts.rounds > 2
    assert sitting.twins.clock() <= 30.0
    longest = (
        max(event.seconds_left for event in sitting.events if isinstance(event, InterimAnalysis)) / result.counts.rounds
    )
    assert sitting.twins.clock() > 30.0 - 2 * longest


def test_a_round_that_grows_too_long_ends_at_a_whole_block(sitting: Sitting) -> None:
    sitting = sitting.scripted(cost_ns=NEVER_PRECISE)
    result = sitting.conduct(blocks_per_round=50, max_rounds=None, max_seconds=15.0)
    assert (result.stopped_by, result.counts.rounds) == ("time", 1)
    assert 1 < result.counts.blocks < 50
    assert result.counts.trials == 3 * result.counts.blocks


@pytest.mark.parametrize(("min_rounds", "rounds"), [(1, 1), (2, 2), (3, 2)])
def test_a_short_round_makes_up_the_fewest_that_were_asked_for(sitting: Sitting, min_rounds: int, rounds: int) -> None:
    sitting = sitting.scripted(cost_ns=NEVER_PRECISE)
    sitting.conduct(blocks_per_round=20, min_rounds=1, max_rounds=1, max_seconds=10_000.0)
    one_round = sitting.twins.clock()
    sitting = sitting.scripted(cost_ns=NEVER_PRECISE)
    result = sitting.conduct(blocks_per_round=20, min_rounds=min_rounds, max_rounds=None, max_seconds=1.6 * one_round)
    assert (result.stopped_by, result.counts.rounds) == ("time", rounds)
    assert sitting.twins.clock() <= 1.6 * one_round
    assert result.counts.trials == 3 * result.counts.blocks
    assert result.counts.blocks == 20 if rounds == 1 else 20 < result.counts.blocks < 40


def test_a_run_without_time_for_a_short_round_is_refused_before_it_makes_anything(sitting: Sitting) -> None:
    with refused(TimeFault, "time-too-short", option="--max-time", least="15 s", found="5 s", given="15s"):
        sitting.conduct(max_seconds=5.0)
    assert sitting.twins.loaded == []
    assert not (sitting.base / "twins").exists()


@pytest.mark.parametrize(("budget", "decision"), [(0.05, Decision.OVER), (0.9, Decision.WITHIN)])
def test_a_budget_gate_is_decided_as_soon_as_it_is_clear(sitting: Sitting, budget: float, decision: Decision) -> None:
    result = sitting.conduct(budget=budget, min_rounds=3, max_rounds=None, max_seconds=10_000.0)
    assert (result.decision, result.stopped_by, result.counts.rounds) == (decision, "precision", 3)


def test_the_observer_is_told_the_plan_first_and_every_look(sitting: Sitting) -> None:
    result = sitting.conduct()
    looks = [event for event in sitting.events if isinstance(event, InterimAnalysis)]
    assert isinstance(sitting.events[0], RunPlanned)
    assert [(look.round, look.stop) for look in looks] == [(0, False), (1, True)]
    assert looks[-1].estimates[0][1] == result.primary[0].ratio


def test_the_verdicts_are_those_of_the_stored_trials(sitting: Sitting) -> None:
    result = sitting.conduct()
    assert analyze_run(sitting.trials(), result.settings).verdicts == result.verdicts


# Whether twins are twins


def rows_that_differ(*, from_trial: int):
    """Rows of encrypted twins get another checksum once they have run so many trials."""

    def rows(settings, tables, trials):
        if settings.cipher == "none" or trials < from_trial:
            return equal_rows(settings, tables, trials)
        return {table: (1000, "bad") for table, _ in tables}

    return rows


def test_loads_with_different_rows_end_the_run_before_any_twin_is_started(sitting: Sitting) -> None:
    sitting = sitting.scripted(rows=rows_that_differ(from_trial=0))
    with refused(TdeltaError, "twins-differ", differences=Part("aes-256/4096")):
        sitting.conduct()
    assert (sitting.status(), sitting.twins.started) == (RunStatus.FAILED, [])


def test_a_copy_with_different_rows_ends_the_run_before_its_first_trial(sitting: Sitting) -> None:
    def rows(settings, tables, trials):
        copied = bool(sitting.twins.started[1:]) and settings.cipher != "none"
        return {table: (999 if copied else 1000, equal_rows(settings, tables, 0)[table][1]) for table, _ in tables}

    sitting = sitting.scripted(rows=rows)
    with refused(TdeltaError, "twins-differ", differences=Part("cipher=aes-256,threads=1 has 999 rows")):
        sitting.conduct()
    assert sitting.trials() == ()


def test_rows_that_differ_after_trials_make_the_run_invalid(sitting: Sitting) -> None:
    result = sitting.scripted(rows=rows_that_differ(from_trial=1)).conduct()
    found = check(result, "rows-after")
    assert (found.ok, result.decision) == (False, Decision.INVALID)
    assert "cipher=aes-256" in found.detail
    assert all(verdict.decision is Decision.INVALID for verdict in result.primary)


def test_rows_are_not_compared_after_trials_of_several_threads_and_the_check_says_so(sitting: Sitting) -> None:
    result = sitting.scripted(rows=rows_that_differ(from_trial=1)).conduct(threads=2)
    found = check(result, "rows-after")
    assert found.state is CheckState.NOT_SHOWN
    assert has(found.details, "not-checked", why="several threads, or no complete round")


def test_settings_that_differ_make_the_run_invalid(sitting: Sitting) -> None:
    def facts(settings):
        return plain_facts(settings) | {"synchronous": "1" if settings.cipher == "none" else "2"}

    result = sitting.scripted(facts=facts).conduct()
    found = check(result, "settings")
    assert (found.ok, result.decision) == (False, Decision.INVALID)
    assert has(
        found.details,
        "setting-differs",
        setting="synchronous",
        value="2",
        condition="cipher=aes-256,threads=1",
        other="1",
    )


@pytest.mark.parametrize(("hides", "cipher", "state"), [(True, "none", "encrypted"), (False, "aes-256", "plain")])
def test_a_file_that_is_not_encrypted_as_asked_makes_the_run_invalid(
    sitting: Sitting, hides: bool, cipher: str, state: str
) -> None:
    result = sitting.scripted(hides_header=lambda _settings: hides).conduct()
    found = check(result, "files-encrypted")
    check_messages(found.details, coded("file-unlike-cipher", cipher=cipher, found=state))
    assert (found.ok, result.decision) == (False, Decision.INVALID)


def test_a_trial_cut_off_at_its_deadline_makes_the_run_invalid(sitting: Sitting) -> None:
    def cost_ns(twin, job):
        return 1e9 if twin.settings.cipher == "aes-256" and job.stream == 3 else 1e5

    result = sitting.scripted(cost_ns=cost_ns).conduct()
    found = check(result, "same-work")
    assert (found.ok, result.decision) == (False, Decision.INVALID)
    assert has(found.details, "trial-stopped", stopped_by="deadline", block=4, condition="cipher=aes-256,threads=1")


# Errors and Ctrl-C


def test_a_failing_statement_fails_the_run_and_keeps_the_trials_before_it(sitting: Sitting) -> None:
    sitting = sitting.scripted(before_trial=fail(at_stream=2))
    with pytest.raises(TdeltaError, match="no such table: work"):
        sitting.conduct()
    assert sitting.status() is RunStatus.FAILED
    assert [trial.block for trial in sitting.trials()] == [0, 0, 0, 1, 1, 1]
    assert all(twin.ended for twin in sitting.twins.started)


def test_what_went_wrong_is_told_even_if_the_store_cannot_take_it(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_store, _run_id, status):
        if status is RunStatus.FAILED:
            raise StorageFault(Refusal.of("disk-refuses", said="the disk is full"))

    monkeypatch.setattr(Store, "set_status", refuse)
    with pytest.raises(TdeltaError, match="no such table: work"):
        sitting.scripted(before_trial=fail(at_stream=1)).conduct()


def test_ctrl_c_during_a_trial_ends_with_what_is_known(sitting: Sitting) -> None:
    sitting = sitting.scripted(before_trial=press_ctrl_c(at_stream=3))
    result = sitting.conduct()
    assert (result.interrupted, result.stopped_by, sitting.status()) == (True, "interrupt", RunStatus.INTERRUPTED)
    assert [trial.block for trial in sitting.trials()] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert any("interrupted" in caution for caution in map(str, result.cautions))
    assert all(twin.ended for twin in sitting.twins.started)


def test_ctrl_c_during_set_up_ends_at_once_and_marks_the_run_interrupted(sitting: Sitting) -> None:
    sitting = sitting.scripted(before_trial=press_ctrl_c(at_stream=_CALIBRATION + 1))
    with pytest.raises(KeyboardInterrupt):
        sitting.conduct()
    assert (sitting.status(), sitting.trials()) == (RunStatus.INTERRUPTED, ())
    assert list((sitting.base / "twins").iterdir()) == []


def test_time_that_is_up_before_a_block_is_done_is_no_interruption(sitting: Sitting) -> None:
    sitting = sitting.scripted(before_trial=press_ctrl_c(at_stream=0, number=signal.SIGALRM))
    with pytest.raises(TimeFault):
        sitting.conduct()
    assert list((sitting.base / "twins").iterdir()) == []


def test_ctrl_c_while_twins_start_starts_no_more_of_them(sitting: Sitting) -> None:
    def cost_ns(twin, _job):
        return 1e5

    def facts(settings):
        if len(sitting.twins.started) == 5:  # the one that sizes trials, a round of three, the next round's first
            signal.raise_signal(signal.SIGINT)
        return plain_facts(settings)

    sitting = sitting.scripted(cost_ns=cost_ns, facts=facts)
    result = sitting.conduct()
    assert (result.interrupted, result.counts.rounds, len(sitting.twins.started)) == (True, 1, 5)


def test_a_second_ctrl_c_does_not_wait(sitting: Sitting) -> None:
    def twice(_twin, job):
        if job.stream == 2:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    sitting = sitting.scripted(before_trial=twice)
    with pytest.raises(KeyboardInterrupt):
        sitting.conduct()
    assert (sitting.status(), len(sitting.trials())) == (RunStatus.INTERRUPTED, 6)


def test_the_handlers_of_signals_are_put_back(sitting: Sitting) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    sitting.conduct()
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


# Resuming


def interrupted_at_block(sitting: Sitting, block: int) -> Sitting:
    sitting.scripted(before_trial=press_ctrl_c(at_stream=block)).conduct()
    return Sitting(sitting.base)


def test_resume_goes_on_with_new_rounds_and_blocks_and_keeps_every_trial(sitting: Sitting) -> None:
    again = interrupted_at_block(sitting, 1)
    before = again.trials()
    result = again.resume()
    assert (result.interrupted, again.status()) == (False, RunStatus.DONE)
    assert again.trials()[: len(before)] == before
    assert {(trial.round, trial.block) for trial in again.trials()[len(before) :]} == {(1, 1), (1, 2), (2, 3), (2, 4)}


@pytest.mark.parametrize("more", [-1.0, 1.0])
def test_a_sitting_may_have_less_or_more_time_than_the_run(sitting: Sitting, more: float) -> None:
    whole = sitting.request().max_seconds
    again = interrupted_at_block(sitting, 1)
    result = again.resume(max_seconds=whole + more)
    assert next(e for e in again.events if isinstance(e, RunPlanned)).deadline_seconds == whole + more
    assert result.settings.options["max_seconds"] == whole


def test_the_measured_time_is_that_of_the_trials_of_the_sitting(sitting: Sitting) -> None:
    def measured(trials: tuple[Trial, ...]) -> float:
        return sum(t.measurement.elapsed_ns + t.measurement.checkpoint.ns for t in trials) / 1e9

    again = interrupted_at_block(sitting, 1)
    before = again.trials()
    counts = again.resume().counts
    assert 0 < counts.measured_seconds == pytest.approx(measured(again.trials()[len(before) :]))
    assert counts.measured_seconds < counts.elapsed_seconds


def test_a_run_that_died_after_its_last_round_is_resumed_without_another(sitting: Sitting) -> None:
    class Crash(list):
        def append(self, event):
            if isinstance(event, Phase) and event.name == "judge":
                raise Defect("as if it were killed")

    sitting.events = Crash()
    with pytest.raises(TdeltaError, match="as if it were killed"):
        sitting.conduct()
    again = Sitting(sitting.base)
    before = again.trials()
    result = again.resume()
    assert again.trials() == before
    assert (result.counts.rounds, result.stopped_by) == (2, "rounds")


def test_a_check_that_failed_before_the_interruption_stays_failed(sitting: Sitting) -> None:
    differing = sitting.scripted(
        rows=rows_that_differ(from_trial=1),
        before_trial=press_ctrl_c(at_stream=sitting.request().blocks_per_round),
    )
    differing.conduct()
    result = Sitting(sitting.base).resume()
    assert not check(result, "rows-after").ok
    assert result.decision is Decision.INVALID


def test_resume_takes_the_calibration_that_is_stored(sitting: Sitting) -> None:
    again = interrupted_at_block(sitting, 1)
    before = again.size()
    again.resume()
    assert again.size() == before
    assert not [job for twin in again.twins.started for job in twin.jobs if _CALIBRATION <= job.stream < 2**41]


def test_a_block_that_was_cut_short_stays_in_the_store_and_out_of_the_verdict(sitting: Sitting) -> None:
    class Crash(list):
        def append(self, event):
            if isinstance(event, TrialDone) and event.trials_done == 4:
                raise Defect("as if it were killed")

    sitting.events = Crash()
    with pytest.raises(TdeltaError, match="as if it were killed"):
        sitting.conduct()
    again = Sitting(sitting.base)
    result = again.resume()
    blocks = [trial.block for trial in again.trials()]
    assert blocks == [0] * 3 + [1] + [2] * 3 + [3] * 3 + [4] * 3 + [5] * 3
    assert result.noise_floor[0].blocks == 5


def test_a_run_that_failed_can_be_resumed(sitting: Sitting) -> None:
    with pytest.raises(TdeltaError):
        sitting.scripted(before_trial=fail(at_stream=2)).conduct()
    again = Sitting(sitting.base)
    assert again.resume().decision is Decision.SLOWER


def test_a_run_that_was_killed_before_anything_was_known_can_be_resumed(sitting: Sitting) -> None:
    with pytest.raises(TdeltaError):
        sitting.scripted(before_trial=fail(at_stream=_CALIBRATION + 1)).conduct()
    with Store.open(sitting.store) as store, store._transaction() as db:
        db.execute("DELETE FROM run_facts")
        db.execute("DELETE FROM seals")
    assert Sitting(sitting.base).resume().decision is Decision.SLOWER


def test_resume_refuses_a_run_that_is_complete(sitting: Sitting) -> None:
    sitting.conduct()
    with refused(UsageError, "run-complete"):
        sitting.resume()


def test_resume_refuses_a_workload_that_has_changed(sitting: Sitting, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(Path(tdelta.workloads.__file__).parent / "point_select", mine)
    sitting.scripted(before_trial=press_ctrl_c(at_stream=1)).conduct(workload=str(mine))
    with (mine / "point_select.sql").open("a") as script:
        script.write("SELECT c FROM sbtest1 WHERE id = 1;\n")
    with refused(UsageError, "run-changed", changed="workload"):
        sitting.resume()


def test_resume_refuses_a_library_that_has_changed(sitting: Sitting, monkeypatch: pytest.MonkeyPatch) -> None:
    again = interrupted_at_block(sitting, 1)
    before = again.state().library
    monkeypatch.setattr(Library, "identity", lambda _self: "apsw-sqlite3mc 99.0")
    with refused(UsageError, "run-changed", changed=Part(str(before))):
        again.resume()
    assert again.status() is RunStatus.INTERRUPTED


def test_the_version_of_the_library_under_test_is_among_the_runs_versions(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Library, "versions", lambda _self: {"sqlcipher3": "0.6.4"})
    versions = sitting.conduct().versions
    assert (versions["sqlcipher3"], versions["library under test"]) == ("0.6.4", "a fake engine")


def test_resume_refuses_a_run_that_is_under_way_and_leaves_its_status(sitting: Sitting) -> None:
    again = interrupted_at_block(sitting, 1)
    with Store.open(again.store) as store:
        run_id = store.resolve("last")
        store.set_status(run_id, RunStatus.RUNNING)
    with TwinFolder(again.base / "twins", run_id), refused(StorageFault, "folder-in-use"):
        again.resume()
    assert again.status() is RunStatus.RUNNING


def test_the_folder_of_a_killed_run_is_swept_before_room_is_asked_for(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = sitting.base / "twins" / "twins-20260101-bcdf"
    stale.mkdir(parents=True)
    (stale / ".tdelta-owner").touch()
    (stale / "load-0.db").write_bytes(b"rows")
    found = []
    monkeypatch.setattr("tdelta.session.run.check_room", lambda *_: found.append(stale.exists()))
    sitting.conduct()
    assert found == [False]


def test_an_injected_cost_is_recorded_as_it_was_actual(sitting: Sitting) -> None:
    result = sitting.conduct(self_test=True, inject=(0.2,))
    actual = {(v.metric.value, v.condition.role): v.actual for v in result.verdicts if v.transaction == "all"}
    assert actual["cpu_per_operation", Role.INJECTED] == pytest.approx(1.2, abs=0.02)
    assert actual["response_time", Role.IDENTICAL] is None


FACTORIAL = {"vary": {"cipher": ("aes-256",), "aes_instructions": ("on", "off")}}


def test_every_twin_shows_its_level_of_the_instructions_before_its_first_trial(sitting: Sitting) -> None:
    result = sitting.conduct(**FACTORIAL)
    told = check(result, "aes-instructions")
    assert told.ok
    assert has(told.details, "instructions-shown", on=Part("1.00 µs"), off=Part("12.00 µs"))
    assert [c.level("aes_instructions") for c in result.settings.conditions] == ["on", "on", "on", "off", "off"]


def test_a_worker_that_kept_its_instructions_makes_the_run_invalid(sitting: Sitting) -> None:
    result = sitting.scripted(page_us=lambda _settings: 1.0).conduct(**FACTORIAL)
    assert not check(result, "aes-instructions").ok
    assert result.decision is Decision.INVALID


def test_one_slow_worker_among_those_with_the_instructions_is_seen(sitting: Sitting) -> None:
    costs = iter([1.0, 12.0] + [1.0, 1.0, 12.0, 12.0] * 10)
    result = sitting.scripted(page_us=lambda _settings: next(costs)).conduct(**FACTORIAL)
    assert not check(result, "aes-instructions").ok


def test_without_the_factor_nothing_is_proved(sitting: Sitting) -> None:
    result = sitting.conduct()
    assert "aes-instructions" not in {validity.code for validity in result.validity}


def test_a_level_that_cannot_be_had_is_left_out_with_a_caution(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tdelta.session.check_request.cannot_hide", lambda _kind: "no-aes")
    result = sitting.conduct(**FACTORIAL)
    assert has(result.cautions, "instructions-left-out", factor="aes_instructions", why="no-aes")
    assert all("aes_instructions" not in dict(c.levels) for c in result.settings.conditions)
    with refused(UsageError, "level-out-of-reach", factor="aes_instructions", level="off", why="no-aes"):
        sitting.conduct(vary={"aes_instructions": ("off",)})


def test_trials_that_were_cut_off_before_they_did_anything_make_the_run_invalid_and_no_defect(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(twin, job):
        measured = trial(twin, job)
        return replace(measured, operations=0, transactions={}, statements={}, stopped_by="signal")

    trial = FakeTwin.trial
    monkeypatch.setattr("tdelta.session.prepare.find_trial_size", sized_once(trial, monkeypatch, cut_off))
    result = sitting.conduct()
    assert result.decision is Decision.INVALID
    assert result.loop.client_overhead_share == 0.0
    assert not check(result, "same-work").ok


def sized_once(trial, monkeypatch: pytest.MonkeyPatch, afterwards):
    """Sizes trials as they are, and has all later ones go wrong."""
    from tdelta.session.trial_size import find_trial_size

    def sized(*given):
        found = find_trial_size(*given)
        monkeypatch.setattr(FakeTwin, "trial", afterwards)
        return found

    return sized


@pytest.mark.parametrize("engine", ["sqlite", "mariadb"])
def test_cpu_time_of_other_programs_is_reported_and_not_waits_of_the_database_and_its_client(
    engine: str, sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.installed(monkeypatch)
    options = served.OPTIONS if engine == "mariadb" else {}

    def found(**pressure: float) -> list[float]:
        place = (
            served.served(sitting.base, pressure=pressure)
            if engine == "mariadb"
            else sitting.scripted(pressure=pressure)
        )
        cautions = place.conduct(**options).cautions
        return [one.parameters["share"] for one in cautions if one.code == "others-used-cpu"]

    assert found(cpu_some=0.9, cpu_busy=0.1) == []
    (share,) = found(cpu_some=0.0, cpu_busy=1.0)
    assert 0.1 < share < 1.0, "less what the database used itself"


@pytest.fixture
def slow_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fake twins whose trials have histograms: of a hundred transactions 5 take 30 ms, of an encrypted twin 9."""
    measure = FakeTwin._measurement

    def with_histograms(twin: FakeTwin, *given: object) -> Measurement:
        measured = measure(twin, *given)  # type: ignore[arg-type]
        slow = 5 if twin.settings.cipher == "none" else 9
        measured.histograms.update(  # type: ignore[attr-defined]
            {"tx:work": histogram_of([5_000_000, 30_000_000], [100 - slow, slow])}
        )
        return measured

    monkeypatch.setattr(FakeTwin, "_measurement", with_histograms)


def quotients(result: RunResult) -> list[float | None]:
    return [m.exceedance.quotient for m in result.of(TailMeasure) if m.exceedance is not None]


@pytest.mark.usefixtures("slow_ones")
def test_a_threshold_is_answered_stored_and_decides_nothing(sitting: Sitting) -> None:
    result = sitting.conduct(latency_limit_seconds=0.02)
    assert quotients(result) == [pytest.approx(1.0), pytest.approx(9 / 5)]
    assert not any("--latency-limit" in caution for caution in map(str, result.cautions))
    with Store.open(sitting.store) as store:
        stored = store.result(store.resolve("last"))
    assert stored == result
    assert result.settings.options["latency_limit_seconds"] == 0.02
    assert result.decision == sitting.conduct().decision


@pytest.mark.usefixtures("slow_ones")
def test_a_run_that_goes_on_answers_the_threshold_it_began_with(sitting: Sitting, monkeypatch) -> None:
    def give_up(*_: object, **__: object) -> None:
        raise OSError("oh")

    with monkeypatch.context() as patched:
        patched.setattr("tdelta.session.run.assemble", give_up)
        with pytest.raises(OSError, match="oh"):
            sitting.conduct(latency_limit_seconds=0.02)
    assert quotients(sitting.resume()) == [pytest.approx(1.0), pytest.approx(9 / 5)]


@pytest.mark.usefixtures("slow_ones")
def test_without_a_threshold_and_with_few_blocks_there_are_percentiles_alone(sitting: Sitting) -> None:
    (found,) = sitting.conduct().of(TailMeasure)
    assert (found.transaction, found.exceedance, found.p99) == ("all", None, None)
    assert {one.quantile for one in found.percentiles} <= {0.95, 0.99}
    assert found.percentiles


def test_a_load_without_single_response_times_has_no_answer_and_says_so(sitting: Sitting) -> None:
    result = sitting.conduct(latency_limit_seconds=0.02)
    assert result.of(TailMeasure) == ()
    assert has(result.cautions, "latency-limit-no-times")
