import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path

import pytest

from support.calibration_samples import KEY, calibration
from support.examples import MACHINE, VERSIONS, result_of, settings_of, trial_of
from support.refused import Part, refused
from tdelta.errors import StoreError, UnknownName, UsageError
from tdelta.records import CalibrationKey
from tdelta.records.kept import LAST, OfLast, RunKind
from tdelta.store import Store
from tdelta.store.store import (
    add_calibration,
    compact,
    fresh_calibration_id,
    key_digest,
    newest_calibration,
    remove_runs,
    sizes_bytes,
)
from tdelta.store.summaries import KIND, LABELS, NOTE, checked_labels, checked_note

OLD, NEW = "20260801-bbbb", "20260802-cccc"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "runs.sqlite") as opened:
        for run_id in (OLD, NEW):
            settings = settings_of(run_id)
            opened.create_run(settings, MACHINE, VERSIONS)
            opened.add_trial(run_id, trial_of())
            opened.finish(run_id, result_of(settings))
        yield opened


def codes(raised: pytest.ExceptionInfo[UsageError]) -> list[str]:
    return [refusal.code for refusal in raised.value.refusals]


@pytest.mark.parametrize("kind", [RunKind.PILOT, RunKind.CALIBRATION, RunKind.IMPORTED])
def test_last_passes_over_what_nobody_asked_for_by_itself(store: Store, kind: RunKind) -> None:
    store.create_run(settings_of("20260803-dddd"), MACHINE, VERSIONS, {KIND: kind})
    assert store.resolve(LAST) == NEW
    assert store.resolve("dddd") == "20260803-dddd"
    assert store.summary("20260803-dddd").kind is kind


def test_last_is_the_newest_run_with_a_result_unless_any_or_one_to_resume_is_wanted(store: Store) -> None:
    store.create_run(settings_of("20260803-dddd"), MACHINE, VERSIONS)
    assert store.resolve(LAST) == NEW
    assert store.resolve(LAST, OfLast.ANY) == store.resolve(LAST, OfLast.UNFINISHED) == "20260803-dddd"


def test_where_there_is_no_other_run_last_means_none(store: Store) -> None:
    for run_id in (OLD, NEW):
        store.put_fact(run_id, KIND, RunKind.PILOT)
    with pytest.raises(UsageError) as raised:
        store.resolve(LAST)
    assert codes(raised) == ["no-last-run"]


def test_a_run_is_found_by_its_label_which_goes_before_beginnings_of_ids(store: Store) -> None:
    store.put_fact(OLD, LABELS, ["cc", "v1"])
    assert (store.resolve("v1"), store.resolve("cc"), store.resolve("ccc")) == (OLD, OLD, NEW)


def test_a_label_of_several_runs_is_ambiguous(store: Store) -> None:
    for run_id in (OLD, NEW):
        store.put_fact(run_id, LABELS, ["v1"])
    with pytest.raises(UsageError) as raised:
        store.resolve("v1")
    assert codes(raised) == ["ambiguous-run"]


def test_a_summary_has_labels_note_and_the_medians_that_decide(store: Store) -> None:
    store.put_fact(NEW, LABELS, ["v1", "nightly"])
    store.put_fact(NEW, NOTE, "new disks")
    found = store.summary(NEW)
    assert (found.labels, found.note, found.overheads) == (("v1", "nightly"), "new disks", (1.031,))
    assert store.runs() == (found, store.summary(OLD))


def test_a_label_that_was_edited_on_the_disk_is_refused(store: Store) -> None:
    store.put_fact(NEW, LABELS, ["v1"])
    store._db.execute("UPDATE run_facts SET value = '[\"v2\"]'")
    with pytest.raises(StoreError) as raised:
        store.resolve("v2")
    assert codes(raised) == ["store-changed"]


def test_a_fact_that_was_dropped_leaves_a_sound_run(store: Store) -> None:
    store.put_fact(NEW, NOTE, "new disks")
    store.drop_fact(NEW, NOTE)
    assert (store.get_fact(NEW, NOTE), store.summary(NEW).note) == (None, "")


def test_a_run_is_removed_with_all_that_is_of_it_and_no_more(store: Store) -> None:
    store.put_fact(OLD, LABELS, ["v1"])
    expected = store.result(NEW), store.trials(NEW)
    remove_runs(store, [OLD])
    assert store.run_ids() == (NEW,)
    assert (store.result(NEW), store.trials(NEW)) == expected
    with closing(sqlite3.connect(store.path)) as db:
        seals = [part for (part,) in db.execute("SELECT part FROM seals ORDER BY part")]
        counts = [db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("trials", "run_facts")]
        named = {run_id for (run_id,) in db.execute("SELECT run_id FROM trials JOIN histograms USING (trial)")}
    assert (seals, counts, named) == (["histograms 2", f"run {NEW}", "trial 2"], [1, 0], {NEW})


def test_runs_are_removed_all_or_none(store: Store) -> None:
    with pytest.raises(UnknownName):
        remove_runs(store, [OLD, "20260101-xxxx"])
    assert store.run_ids() == (NEW, OLD)


def test_the_room_of_what_was_removed_is_given_back(store: Store) -> None:
    before = store.path.stat().st_size
    for block in range(1, 60):
        store.add_trial(OLD, trial_of(block=block))
    assert sizes_bytes(store)[OLD] > 5 * sizes_bytes(store)[NEW]
    grown = store.path.stat().st_size
    remove_runs(store, [OLD])
    assert compact(store)
    assert store.path.stat().st_size <= before < grown
    assert store.trials(NEW) == (trial_of(),)


def test_a_store_that_another_writes_to_keeps_its_size_for_now(store: Store) -> None:
    store._db.execute("PRAGMA busy_timeout = 0")
    with Store.open(store.path) as other:
        other._db.execute("BEGIN IMMEDIATE")
        assert not compact(store)
        other._db.rollback()


@pytest.mark.parametrize("label", ["", "a b", "a,b", "-v", LAST, "x" * 65, "a\x1b[2J", "tab\t"])
def test_what_cannot_be_a_label_is_refused(label: str) -> None:
    with pytest.raises(UsageError) as raised:
        checked_labels([label])
    assert codes(raised) == ["out-of-range"]


def test_labels_that_look_the_same_are_the_same() -> None:
    assert checked_labels(["é", "e\u0301", "release/3.1"]) == ("é", "release/3.1")


def test_more_labels_than_anybody_needs_are_refused() -> None:
    with pytest.raises(UsageError) as raised:
        checked_labels([f"v{number}" for number in range(33)])
    assert codes(raised) == ["too-many"]


def test_a_note_may_have_lines_and_no_more() -> None:
    assert checked_note(" one\ntwo ") == "one\ntwo"
    for wrong in ("a\x1b[2J", "x" * 2001):
        with pytest.raises(UsageError) as raised:
            checked_note(wrong)
        assert codes(raised) == ["out-of-range"]


def test_a_calibration_comes_back_as_it_was_added(store: Store) -> None:
    add_calibration(store, calibration())
    assert newest_calibration(store, KEY, since_unix_seconds=0.0) == calibration()


def test_of_several_that_fit_the_newest_is_found_and_none_that_is_too_old(store: Store) -> None:
    made = calibration().created_unix_seconds
    add_calibration(store, calibration())
    add_calibration(store, calibration("cal-2", created_unix_seconds=made + 10.0))
    found = newest_calibration(store, KEY, since_unix_seconds=made)
    assert found is not None
    assert found.calibration_id == "cal-2"
    assert newest_calibration(store, KEY, since_unix_seconds=made + 11.0) is None


@pytest.mark.parametrize("name", [field.name for field in fields(CalibrationKey)])
def test_whatever_differs_there_is_none_that_fits(store: Store, name: str) -> None:
    add_calibration(store, calibration())
    value = getattr(KEY, name)
    other = replace(KEY, **{name: {**value, "threads": 2} if isinstance(value, dict) else f"{value} other"})
    assert newest_calibration(store, other, since_unix_seconds=0.0) is None


def test_the_order_of_options_does_not_matter_but_their_values_do() -> None:
    turned = replace(KEY, options=dict(reversed(KEY.options.items())))
    assert key_digest(turned) == key_digest(KEY)
    assert key_digest(replace(KEY, options={**KEY.options, "threads": 2})) != key_digest(KEY)


def test_a_second_calibration_of_the_same_name_is_refused(store: Store) -> None:
    add_calibration(store, calibration())
    with refused(StoreError, "store-unusable", fault=Part("UNIQUE")):
        add_calibration(store, calibration())


def test_a_fresh_name_is_a_date_and_four_letters(store: Store) -> None:
    assert fresh_calibration_id(store).startswith("cal-20")
