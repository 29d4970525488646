import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import samples as s
from tdelta.engines.server.pairs import ReachedServers
from tdelta.errors import EngineUnavailable, Interrupted, TdeltaError, TimeFault, UsageError
from tdelta.messages import Refusal
from tdelta.processes import TwinFolder
from tdelta.processes.templates import Templates
from tdelta.records import Decision, Phase, RunPlanned, RunResult
from tdelta.records.kept import RunKind
from tdelta.session import RunRequest, deciding
from tdelta.session.deciding import QUESTIONS, Decided, Outline, Step, allot, decide, outline
from tdelta.session.pace import Pace
from tdelta.session.preflight import RunInputs, with_bb_twin
from tdelta.session.run_plan import Source, plan
from tdelta.session.studies import study
from tdelta.store import RunStatus, Store
from tdelta.store.summaries import KIND, LABELS

from .served import installed

NAMES = [question.name for question in QUESTIONS]
DAILY = NAMES[0]
SHORT = {"max_seconds": 300.0, "size_bytes": 1_000_000}


def step(number: int, least: float, whole: float = 0.0) -> Step:
    return Step(QUESTIONS[number], RunRequest(), True, least, max(least, whole))


def quiet(_event: object) -> None:
    """Sees nothing."""


@dataclass
class Runs:
    """Stands in for runs: each takes half of its time and succeeds unless a test gives it a fault."""

    store: Path
    seconds: float = 0.0
    killed_after: float = 0.0
    made: list[str] = field(default_factory=list)
    given_seconds: dict[str, float] = field(default_factory=dict)
    resumed: list[str] = field(default_factory=list)
    ends: dict[str, Callable[[], RunResult]] = field(default_factory=dict)

    def conduct(
        self,
        request: RunRequest,
        observe: Callable[[object], None],
        *,
        facts: Mapping[str, Any],
        templates: Templates | None,
    ) -> RunResult:
        assert (templates is not None) is (request.restore is not None)
        name = facts[deciding.PART_OF]["question"]
        self.made.append(name)
        self.given_seconds[name] = request.max_seconds
        with Store.open(self.store) as store:
            run_id = store.fresh_run_id()
            settings = s.settings(run_id=run_id)
            store.create_run(settings, {}, {}, {LABELS: list(request.labels), **facts})
        return self.ended(name, run_id, request.max_seconds / 2, observe)

    def resume(
        self,
        run_id: str,
        _path: Path,
        observe: Callable[[object], None],
        *,
        max_seconds: float,
        templates: Templates | None,
    ) -> RunResult:
        assert templates is None
        with Store.open(self.store) as store:
            name = store.get_fact(run_id, deciding.PART_OF)["question"]
        self.resumed.append(name)
        self.given_seconds[name] = max_seconds
        return self.ended(name, run_id, 1.0, observe)

    def ended(self, name: str, run_id: str, seconds: float, observe: Callable[[object], None]) -> RunResult:
        observe(RunPlanned(s.settings(run_id=run_id), 8, 3, 0.1, 1.0, ""))
        self.seconds += self.killed_after
        observe(Phase("copy"))
        self.seconds += seconds
        found = s.changed(self.ends.get(name, s.slower)(), elapsed_seconds=seconds)
        found = replace(found, settings=replace(found.settings, run_id=run_id))
        with Store.open(self.store) as store:
            store.finish(run_id, found)
        return found

    def decide(self, **more: Any) -> Decided:
        rerun = more.pop("rerun", False)
        options = {**SHORT, "store": self.store, "directory": self.store.parent, **more}
        return decide(options, watching, rerun=rerun, now=lambda: self.seconds)

    def outline(self, **more: Any) -> Outline:
        rerun = more.pop("rerun", False)
        return outline({**SHORT, "store": self.store, "directory": self.store.parent, **more}, quiet, rerun=rerun)

    def names(self) -> set[str]:
        with Store.open(self.store) as store:
            return {fact["name"] for fact in store.facts_named(deciding.PART_OF).values()}


@contextmanager
def watching(_step: Step | None) -> Iterator[Callable[[object], None]]:
    yield quiet


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    found = Runs(tmp_path / "runs.sqlite")
    monkeypatch.setattr(deciding, "conduct", found.conduct)
    monkeypatch.setattr(deciding, "resume", found.resume)
    return found


def fail(error: BaseException) -> Callable[[], RunResult]:
    def raised() -> RunResult:
        raise error

    return raised


def test_every_question_gets_its_least_time_before_any_gets_more() -> None:
    found = allot([step(0, 40, 90), step(1, 30, 60), step(2, 20, 20)], 100.0)
    assert [one.seconds for one in found] == [50.0, 30.0, 20.0]


def test_a_question_that_does_not_fit_leaves_its_time_to_a_shorter_one() -> None:
    found = allot([step(0, 40), step(1, 80), step(2, 50)], 95.0)
    assert [one.question.name for one in found] == [NAMES[0], NAMES[2]]


def test_what_whole_runs_leave_goes_to_workloads() -> None:
    daily, operation, peak = allot([step(0, 10), step(1, 10), step(4, 10)], 30.0 + 90.0)
    rounds = QUESTIONS[0].rounds + QUESTIONS[4].rounds
    assert operation.seconds == 10.0
    assert daily.seconds == pytest.approx(10.0 + 90.0 * QUESTIONS[0].rounds / rounds)
    assert peak.seconds == pytest.approx(10.0 + 90.0 * QUESTIONS[4].rounds / rounds)


@given(st.lists(st.tuples(st.floats(1, 500), st.floats(1, 900)), min_size=1, max_size=9), st.floats(0, 3000))
def test_time_is_never_allotted_twice(needs: list[tuple[float, float]], seconds: float) -> None:
    found = allot([step(n, least, whole) for n, (least, whole) in enumerate(needs)], seconds)
    assert sum(one.seconds for one in found) <= seconds + 1e-6
    assert all(one.seconds >= one.least_seconds - 1e-9 for one in found)


def test_a_plan_asks_what_the_engine_can_answer(tmp_path: Path) -> None:
    planned = outline({**SHORT, "max_seconds": 7200.0, "store": tmp_path / "s", "directory": tmp_path}, quiet)
    steps, names = planned.steps, [one.question.name for one in planned.steps]
    assert names[:4] == [DAILY, "encrypt", "backup", "restart"]
    assert "replication" not in (*names, *(one.question.name for one in planned.open))
    assert {one.request.engine for one in steps} == {RunRequest().engine}
    assert sum(one.seconds for one in steps) == pytest.approx(7200.0)


def test_a_plan_without_time_for_daily_work_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        outline({**SHORT, "max_seconds": 5.0, "store": tmp_path / "s", "directory": tmp_path}, quiet)
    assert caught.value.refusals[0].code == "time-too-short"


def test_rows_are_generated_unless_the_user_has_some() -> None:
    steps, _ = deciding._steps({**SHORT, "engine": "sqlite"})
    assert [one for one in steps if one.has_own_rows] == []


def test_a_question_without_time_has_not_failed(tmp_path: Path) -> None:
    left = outline({**SHORT, "max_seconds": 120.0, "store": tmp_path / "s", "directory": tmp_path}, quiet).open
    assert left
    assert [one for one in left if one.is_failed] == []


def test_the_least_time_of_an_operation_is_that_of_an_answer(tmp_path: Path) -> None:
    steps = outline({**SHORT, "max_seconds": 7200.0, "store": tmp_path / "s", "directory": tmp_path}, quiet).steps
    operations = [one for one in steps if not one.question.is_workload]
    paces = [Pace(with_bb_twin(plan(one.request, "x"))) for one in operations]
    assert operations
    assert all(one.least_seconds > pace.answering() for one, pace in zip(operations, paces, strict=True))


def test_a_budget_is_for_workloads(tmp_path: Path) -> None:
    options = {**SHORT, "max_seconds": 7200.0, "store": tmp_path / "s", "directory": tmp_path, "budget": 0.05}
    steps = outline(options, quiet).steps
    assert all((one.request.budget is None) is not one.question.is_workload for one in steps)


def test_the_rows_of_a_file_are_used_where_an_operation_does_not_refuse_them(tmp_path: Path) -> None:
    options = {"engine": "sqlite", "database": tmp_path / "app.db", "max_seconds": 600.0}
    steps, _ = deciding._steps(options)
    own = {one.question.name: one.has_own_rows for one in steps}
    assert own[DAILY]
    assert own["rate"]
    assert own["cache"]
    assert not own["backup"]
    assert not own["restart"]
    assert all((one.request.database is not None) is one.has_own_rows for one in steps)


def test_a_decision_makes_each_run_once(runs: Runs) -> None:
    first = runs.decide()
    made = list(runs.made)
    assert made[0] == DAILY
    assert len(made) == len(set(made)) > 3
    assert [one.question.name for one in first.answered] == made
    again = runs.decide()
    assert runs.made == made
    assert runs.resumed == []
    assert again.answered == first.answered
    assert again.name == first.name


def test_all_runs_of_a_decision_have_its_name_as_a_label(runs: Runs) -> None:
    found = runs.decide(labels=("q3",))
    with Store.open(runs.store) as store:
        assert {store.summary(run).labels for run in store.run_ids()} == {("q3", found.name)}


def test_time_that_a_run_leaves_makes_no_other_run_longer(runs: Runs) -> None:
    planned = {one.question.name: one.seconds for one in runs.outline().steps}
    runs.decide()
    assert all(runs.given_seconds[name] <= planned[name] + 1 for name in runs.made if name in planned)


def test_time_that_runs_leave_serves_questions_that_did_not_fit(runs: Runs) -> None:
    planned = {one.question.name for one in runs.outline().steps}
    found = runs.decide()
    assert {one.question.name for one in found.answered} > planned


def test_a_run_that_needs_more_than_was_planned_waits_for_the_others(runs: Runs) -> None:
    ends = iter([fail(TimeFault(60.0, 90.0, "slow")), s.slower])
    runs.ends = {"backup": lambda: next(ends)()}
    found = runs.decide()
    assert runs.made.count("backup") == 2
    assert runs.made[-1] == "backup"
    assert runs.given_seconds["backup"] >= 90.0
    assert "backup" in [one.question.name for one in found.answered]


def test_a_run_that_never_fits_is_tried_twice(runs: Runs) -> None:
    runs.ends = {"backup": fail(TimeFault(60.0, 90.0, "slow"))}
    found = runs.decide()
    assert runs.made.count("backup") == 2
    assert "backup" in [one.question.name for one in found.open]


def test_a_run_that_was_killed_is_resumed_and_finished_ones_stay(runs: Runs) -> None:
    runs.ends = {"backup": fail(KeyboardInterrupt())}
    with pytest.raises(KeyboardInterrupt):
        runs.decide()
    before = list(runs.made)
    assert before == [DAILY, "encrypt", "backup"]
    runs.ends = {}
    found = runs.decide()
    assert runs.resumed == ["backup"]
    assert not {DAILY, "encrypt", "backup"} & set(runs.made[3:])
    assert [one.question.name for one in found.answered][:3] == before
    assert runs.names() == {found.name}


def test_a_run_that_was_killed_is_resumed_in_the_time_that_it_left(runs: Runs) -> None:
    runs.killed_after, runs.ends = 270.0, {DAILY: fail(KeyboardInterrupt())}
    with pytest.raises(KeyboardInterrupt):
        runs.decide(max_seconds=600.0)
    runs.killed_after, runs.ends = 0.0, {}
    runs.decide(max_seconds=600.0)
    assert runs.resumed == [DAILY]
    assert sum(runs.given_seconds.values()) < 600.0
    assert runs.seconds <= 600.0


def test_daily_work_that_took_all_the_time_is_refused_with_a_longer_one(runs: Runs) -> None:
    runs.killed_after, runs.ends = 290.0, {DAILY: fail(KeyboardInterrupt())}
    with pytest.raises(KeyboardInterrupt):
        runs.decide(max_seconds=300.0)
    with pytest.raises(TimeFault) as caught:
        runs.decide(max_seconds=300.0)
    assert caught.value.least_seconds > 300.0


def test_a_run_that_cannot_be_resumed_any_more_is_made_anew(runs: Runs) -> None:
    runs.ends = {DAILY: fail(KeyboardInterrupt())}
    with pytest.raises(KeyboardInterrupt):
        runs.decide()
    ends = iter([fail(UsageError(Refusal.of("run-changed", run="x", changed="workload"))), s.slower])
    runs.ends = {DAILY: lambda: next(ends)()}
    found = runs.decide()
    assert runs.resumed == [DAILY]
    assert runs.made.count(DAILY) == 2
    assert found.answered[0].question.name == DAILY


def test_a_run_that_somebody_else_is_at_is_not_made_anew(runs: Runs) -> None:
    runs.ends = {DAILY: fail(KeyboardInterrupt())}
    with pytest.raises(KeyboardInterrupt):
        runs.decide()
    runs.ends = {DAILY: fail(UsageError(Refusal.of("no-memory")))}
    with pytest.raises(UsageError):
        runs.decide()
    assert runs.made == [DAILY]


def test_a_run_that_was_killed_twice_has_the_seconds_of_both_sittings(runs: Runs) -> None:
    runs.ends = {DAILY: fail(KeyboardInterrupt())}
    runs.killed_after = 100.0
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            runs.decide(max_seconds=600.0)
    with Store.open(runs.store) as store:
        assert list(store.facts_named(deciding.SPENT).values()) == [200.0]


def test_an_interrupted_run_ends_the_sitting(runs: Runs) -> None:
    runs.ends = {DAILY: s.interrupted}
    with pytest.raises(KeyboardInterrupt):
        runs.decide()
    assert runs.made == [DAILY]


def test_a_question_that_fails_is_open_and_the_others_are_answered(runs: Runs) -> None:
    missing = EngineUnavailable(Refusal.of("requires", what="a backup", needs="zstd"))
    runs.ends = {"backup": fail(missing)}
    found = runs.decide()
    assert {one.question.name: (one.why.code, one.is_failed) for one in found.open}["backup"] == ("requires", True)
    assert {DAILY, "restart"} <= {one.question.name for one in found.answered}


def test_daily_work_that_fails_ends_the_decision(runs: Runs) -> None:
    runs.ends = {DAILY: fail(EngineUnavailable(Refusal.of("no-memory")))}
    with pytest.raises(EngineUnavailable):
        runs.decide()
    assert runs.made == [DAILY]


def test_the_time_that_is_left_goes_to_a_workload_that_is_undecided(runs: Runs) -> None:
    runs.ends = {DAILY: s.undecided}
    runs.decide(max_seconds=7200.0)
    assert runs.made.count(DAILY) == 2
    assert runs.made[-1] == DAILY


def test_an_answer_stays_where_a_longer_run_fails(runs: Runs) -> None:
    ends = iter([s.undecided, fail(EngineUnavailable(Refusal.of("no-memory")))])
    runs.ends = {DAILY: lambda: next(ends)()}
    found = runs.decide(max_seconds=7200.0)
    assert runs.made.count(DAILY) == 2
    assert found.answered[0].result.decision is Decision.UNDECIDED


@pytest.mark.parametrize("status", [RunStatus.FAILED, RunStatus.INTERRUPTED])
def test_an_answer_is_found_behind_a_longer_run_without_one(runs: Runs, status: RunStatus) -> None:
    runs.ends = {DAILY: s.undecided}
    first = runs.decide(max_seconds=7200.0)
    with Store.open(runs.store) as store:
        longer = first.answered[0].result.settings.run_id
        store.set_status(longer, status)
    again = runs.decide(max_seconds=300.0)
    assert runs.made.count(DAILY) == 2
    assert runs.resumed == []
    assert again.answered[0].result.settings.run_id != longer


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), Interrupted()])
def test_all_answers_are_kept_where_a_longer_run_is_interrupted(runs: Runs, interruption: BaseException) -> None:
    ends = iter([s.undecided, fail(interruption)])
    runs.ends = {DAILY: lambda: next(ends)()}
    found = runs.decide(max_seconds=7200.0)
    assert runs.made[-1] == DAILY
    assert len(found.answered) == len(set(runs.made))


def test_a_failed_run_is_made_again(runs: Runs) -> None:
    runs.ends = {"backup": fail(EngineUnavailable(Refusal.of("no-memory")))}
    runs.decide()
    with Store.open(runs.store) as store:
        for run_id, fact in store.facts_named(deciding.PART_OF).items():
            if fact["question"] == "backup":
                store.set_status(run_id, RunStatus.FAILED)
    runs.ends = {}
    runs.decide()
    assert runs.made.count("backup") == 2


def test_more_time_continues_a_decision(runs: Runs) -> None:
    first = runs.decide(max_seconds=100.0)
    second = runs.decide(max_seconds=900.0)
    assert runs.made.count(DAILY) == 1
    assert len(second.answered) > len(first.answered)


def test_a_plan_lists_the_runs_that_are_left_and_the_questions_that_are_done(runs: Runs) -> None:
    runs.decide(max_seconds=100.0)
    planned = runs.outline(max_seconds=900.0)
    assert [question.name for question in planned.answered] == runs.made
    assert not {step.question.name for step in planned.steps} & set(runs.made)
    assert sum(step.seconds for step in planned.steps) == pytest.approx(900.0 - runs.seconds)
    assert runs.outline(max_seconds=900.0, rerun=True).answered == ()


def test_a_plan_says_which_run_is_continued(runs: Runs) -> None:
    runs.killed_after, runs.ends = 50.0, {DAILY: fail(KeyboardInterrupt())}
    with pytest.raises(KeyboardInterrupt):
        runs.decide()
    daily, *others = runs.outline().steps
    assert daily.spent_seconds == 50.0
    assert {step.spent_seconds for step in others} == {0.0}


def test_temporary_files_on_a_server_get_the_time_of_their_study_less_what_was_spent(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch)

    def least() -> dict[str, float]:
        steps = runs.outline(engine="mariadb", max_seconds=36_000.0).steps
        return {one.question.name: one.least_seconds for one in steps}

    whole = study("spill").settings["max_seconds"]
    assert least()["spill"] == whole
    assert least()["replication"] < whole
    runs.killed_after, runs.ends = 200.0, {"spill": fail(KeyboardInterrupt())}
    with pytest.raises(KeyboardInterrupt):
        runs.decide(engine="mariadb", max_seconds=36_000.0)
    assert least()["spill"] == whole - 200.0


def test_own_servers_answer_what_needs_a_schema_alone() -> None:
    dsns = {"baseline": "mariadb://root@localhost/?socket=/a", "encrypted": "mariadb://root@localhost/?socket=/b"}
    steps, impossible = deciding._steps({**dsns, "max_seconds": 600.0})
    assert [one.question.name for one in steps] == [DAILY, "rate", "spill"]
    assert {one.request.engine for one in impossible} == {"mariadb"}
    assert all(one.request.baseline is None for one in impossible)


def test_what_cannot_read_the_users_schema_makes_one_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "read.sql").write_text("SELECT 1;")
    dsns = {"baseline": "mariadb://root@localhost/?socket=/a", "encrypted": "mariadb://root@localhost/?socket=/b"}
    steps, _ = deciding._steps({**dsns, "schema": "shop", "workload": str(tmp_path), "max_seconds": 600.0})
    found = {one.question.name: (one.request.schema, one.has_own_rows) for one in steps}
    assert found == {DAILY: ("shop", True), "rate": ("shop", True), "spill": (None, False)}


def test_a_schema_that_is_made_has_the_name_that_was_given() -> None:
    dsns = {"baseline": "mariadb://root@localhost/?socket=/a", "encrypted": "mariadb://root@localhost/?socket=/b"}
    steps, _ = deciding._steps({**dsns, "schema": "shop", "max_seconds": 600.0})
    assert {one.request.schema for one in steps} == {"shop"}


@pytest.mark.parametrize("changed", [{"rerun": True}, {"threads": 2}])
def test_other_options_or_rerun_begin_anew(runs: Runs, changed: dict[str, Any]) -> None:
    first = runs.decide()
    second = runs.decide(**changed)
    assert runs.made.count(DAILY) == 2
    assert runs.names() == {first.name, second.name}


def test_runs_of_somebody_else_are_no_part_of_a_decision(runs: Runs) -> None:
    runs.decide()
    with Store.open(runs.store) as store:
        for run_id in store.run_ids():
            store.put_fact(run_id, KIND, RunKind.IMPORTED)
    runs.decide()
    assert runs.made.count(DAILY) == 2


def test_the_plan_of_a_decision_is_in_no_others_way(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    names, no_inputs = list[str](), nullcontext(RunInputs())
    monkeypatch.setattr(deciding, "prepared_inputs", lambda _, name, *__: names.append(name) or no_inputs)
    runs.outline()
    found = runs.decide()
    assert str(os.getpid()) in names[0]
    assert names[1:] == [found.name]


def test_generated_rows_are_planned_on_the_servers_that_were_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, seen = RunInputs(source=cast(Source, "rows"), servers=cast(ReachedServers, "servers")), list[RunInputs]()
    monkeypatch.setattr(deciding, "prepared_inputs", lambda *_: nullcontext(inputs))
    monkeypatch.setattr(deciding, "_seconds", lambda _step, given: seen.append(given) or (1.0, 1.0))
    deciding._timed([step(0, 1), replace(step(5, 1), has_own_rows=False)], RunRequest(), "x", quiet)
    assert seen == [inputs, RunInputs(servers=inputs.servers)]


def test_a_decision_that_is_at_work_is_refused(runs: Runs) -> None:
    found = runs.decide()
    with TwinFolder(runs.store.parent, found.name), pytest.raises(TdeltaError):
        runs.decide()
    assert list(runs.store.parent.glob("twins-*")) == []
