import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.examples import MACHINE, VERSIONS, result_of, settings_of, trial_of
from support.refused import refused
from tdelta.errors import UsageError
from tdelta.measure.procfs import process_mark
from tdelta.processes import TwinFolder
from tdelta.records.kept import RunKind
from tdelta.session.keeping import Shelf, Stale, first_facts, label, mark_sitting, note, remove, shelf, stale
from tdelta.session.request import RunRequest
from tdelta.store import RunStatus, RunSummary, Store
from tdelta.store.summaries import KIND, LABELS, PROCESS

NOW = 1_800_000_000.0
DAY = 86_400.0


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with Store.open(tmp_path / "runs.sqlite") as opened:
        settings = settings_of("20260801-bbbb")
        opened.create_run(settings, MACHINE, VERSIONS)
        opened.add_trial("20260801-bbbb", trial_of())
        opened.finish("20260801-bbbb", result_of(settings))
        yield opened


def begun(store: Store, run_id: str, **facts: object) -> None:
    store.create_run(settings_of(run_id), MACHINE, VERSIONS, facts)
    store.set_status(run_id, RunStatus.RUNNING)


def run_of(run_id: str, days: float, **changes: object) -> RunSummary:
    done = RunSummary(run_id, NOW - days * DAY, RunStatus.DONE, "", "sqlite", "order-entry", 12, None)
    return dataclasses.replace(done, **changes)


def shelf_of(*runs: RunSummary, at_work: frozenset[str] = frozenset()) -> Shelf:
    return Shelf(runs, {}, dict.fromkeys((run.run_id for run in runs), 100), at_work)


def ids(runs: tuple[RunSummary, ...]) -> list[str]:
    return [run.run_id for run in runs]


def test_a_run_begins_with_its_labels_and_a_pilot_with_its_kind() -> None:
    request = RunRequest(labels=("v1",))
    assert first_facts(request, RunKind.RUN)[LABELS] == ["v1"]
    assert first_facts(request, RunKind.PILOT)[KIND] is RunKind.PILOT
    assert LABELS not in first_facts(request, RunKind.PILOT)


def test_labels_are_added_and_taken_away(store: Store) -> None:
    assert label(store, "20260801-bbbb", ["v1", "nightly"]) == ("v1", "nightly")
    assert label(store, "20260801-bbbb", ["v2"], ["v1"]) == ("nightly", "v2")
    assert label(store, "20260801-bbbb", [], ["nightly", "v2"]) == ()
    assert store.get_fact("20260801-bbbb", LABELS) is None
    with refused(UsageError, "unknown", "unknown"):
        label(store, "20260801-bbbb", [], ["v1", "v2"])


def test_an_empty_note_removes_the_note(store: Store) -> None:
    assert note(store, "20260801-bbbb", " new disks ") == "new disks"
    assert note(store, "20260801-bbbb", "") == ""
    assert store.summary("20260801-bbbb").note == ""


def test_a_run_that_this_process_makes_is_at_work_until_it_has_ended(store: Store) -> None:
    begun(store, "20260802-cccc", **first_facts(RunRequest(), RunKind.RUN))
    assert shelf(store).at_work == {"20260802-cccc"}
    store.set_status("20260802-cccc", RunStatus.FAILED)
    assert shelf(store).at_work == frozenset()


def test_a_run_of_a_process_that_is_gone_is_not_at_work(store: Store) -> None:
    begun(store, "20260802-cccc", **{PROCESS: {"pid": os.getpid(), "mark": "another process's"}})
    begun(store, "20260802-dddd", **{PROCESS: {"pid": 2**22 + 1, "mark": process_mark()}})
    begun(store, "20260802-ffff", **{PROCESS: "?"})
    assert shelf(store).at_work == frozenset()


def test_a_run_whose_folder_somebody_has_is_at_work(store: Store, tmp_path: Path) -> None:
    begun(store, "20260802-cccc")
    with TwinFolder(tmp_path / "cache" / "tdelta", "20260802-cccc"):
        assert shelf(store).at_work == {"20260802-cccc"}
        with refused(UsageError, "run-at-work"):
            remove(store, ["20260802-cccc", "20260801-bbbb"])
        assert len(store.runs()) == 2
    assert remove(store, ["20260802-cccc"])
    assert ids(store.runs()) == ["20260801-bbbb"]


def test_a_sitting_that_goes_on_with_a_run_is_at_work_on_it(store: Store) -> None:
    begun(store, "20260802-cccc")
    mark_sitting(store, "20260802-cccc")
    assert shelf(store).at_work == {"20260802-cccc"}


def test_a_sitting_on_a_run_that_another_process_removed_is_refused(store: Store) -> None:
    with Store.open(store.path) as other:
        remove(other, ["20260801-bbbb"])
    with refused(UsageError, "run-removed"):
        mark_sitting(store, "20260801-bbbb")


def test_beside_a_run_that_is_at_work_the_file_is_left_as_large_as_it_is(store: Store) -> None:
    begun(store, "20260802-cccc", **first_facts(RunRequest(), RunKind.RUN))
    assert not remove(store, ["20260801-bbbb"])


def test_a_damaged_run_hides_no_other_and_can_be_removed(store: Store) -> None:
    begun(store, "20260802-cccc")
    store._db.execute("UPDATE runs SET seed = 3 WHERE run_id = '20260802-cccc'")
    found = shelf(store)
    assert (ids(found.runs), list(found.damaged)) == (["20260801-bbbb"], ["20260802-cccc"])
    assert remove(store, ["20260802-cccc"])
    assert shelf(store).damaged == {}


def test_runs_are_pruned_by_age_the_labelled_noted_and_working_ones_apart() -> None:
    old = [
        run_of("plain", 40),
        run_of("labelled", 40, labels=("v1",)),
        run_of("noted", 40, note="n"),
        run_of("working", 40),
    ]
    found = shelf_of(run_of("young", 20), *old, at_work=frozenset({"working"}))
    assert ids(stale(found, Stale(older_seconds=30 * DAY), NOW)) == ["plain"]
    assert ids(stale(found, Stale(older_seconds=30 * DAY, labelled=True), NOW)) == ["noted", "labelled", "plain"]


def test_runs_are_pruned_by_kind() -> None:
    found = shelf_of(run_of("pilot", 40, kind=RunKind.PILOT), run_of("mine", 40))
    assert ids(stale(found, Stale(older_seconds=DAY, kinds=(RunKind.PILOT,)), NOW)) == ["pilot"]


def test_the_oldest_are_pruned_until_the_rest_fits_and_no_more() -> None:
    found = shelf_of(run_of("c", 1), run_of("b", 2, labels=("v1",)), run_of("a", 3))
    assert ids(stale(found, Stale(most_bytes=300), NOW)) == []
    assert ids(stale(found, Stale(most_bytes=299), NOW)) == ["a"]
    assert ids(stale(found, Stale(most_bytes=100), NOW)) == ["a", "c"]


def test_what_goes_for_its_age_counts_towards_the_size() -> None:
    found = shelf_of(run_of("c", 1), run_of("b", 2), run_of("a", 30))
    assert ids(stale(found, Stale(older_seconds=7 * DAY, most_bytes=200), NOW)) == ["a"]
