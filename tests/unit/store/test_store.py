import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from support.examples import MACHINE, VERSIONS, result_of, settings_of, trial_of, trials
from support.refused import Part, check_messages, refused
from tdelta.errors import StorageFault, StoreError, StoreTooNew, UnknownName, UsageError
from tdelta.records import Decision, Measurement
from tdelta.records.parts import flat_hints
from tdelta.store import RunStatus, Store, default_path
from tdelta.store.store import APPLICATION_ID, SCHEMA_VERSION

RUN = settings_of().run_id


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "runs.sqlite"


@pytest.fixture
def store(path):
    with Store.open(path) as opened:
        opened.create_run(settings_of(), MACHINE, VERSIONS)
        yield opened


def test_a_run_comes_back_as_it_was_entered(store):
    assert store.settings(RUN) == settings_of()
    assert store.machine(RUN) == MACHINE
    assert store.versions(RUN) == VERSIONS
    assert store.status(RUN) is RunStatus.PLANNED


def test_a_store_keeps_what_it_has_when_it_is_opened_again(store, path):
    store.add_trial(RUN, trial_of())
    store.close()
    with Store.open(path) as again:
        assert again.trials(RUN) == (trial_of(),)


@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    stored=st.lists(
        trials, max_size=3, unique_by=(lambda t: (t.block, t.position), lambda t: (t.block, t.condition.key))
    )
)
def test_trials_come_back_equal_in_the_order_of_blocks_and_positions(tmp_path_factory, stored):
    with Store.open(tmp_path_factory.mktemp("store") / "runs.sqlite") as store:
        store.create_run(settings_of(), MACHINE, VERSIONS)
        for trial in stored:
            store.add_trial(RUN, trial)
        assert store.trials(RUN) == tuple(sorted(stored, key=lambda t: (t.block, t.position)))


def test_histograms_can_be_left_out(store):
    store.add_trial(RUN, trial_of())
    (trial,) = store.trials(RUN, histograms=False)
    assert trial == replace(trial_of(), measurement=replace(trial_of().measurement, histograms={}))


def test_the_table_has_a_column_for_every_field_of_a_measurement(store):
    columns = {row[1] for row in store._db.execute("PRAGMA table_info(trials)")}
    assert set(flat_hints(Measurement)) - columns == {"histograms"}


def test_a_second_trial_at_the_same_place_is_refused_and_the_first_stays(store):
    store.add_trial(RUN, trial_of())
    with refused(StoreError, "store-unusable", fault=Part("UNIQUE constraint failed: trials.run_id, trials.block")):
        store.add_trial(RUN, trial_of(checkpoint_ns=5))
    assert store.trials(RUN) == (trial_of(),)


def test_a_trial_of_an_unknown_run_is_refused(store):
    with refused(StoreError, "store-unusable", fault=Part("FOREIGN KEY")):
        store.add_trial("20260101-none", trial_of())


def test_trials_of_an_unknown_run_are_no_empty_run(store):
    with refused(UnknownName, "unknown", kind="run", found="20260101-none"):
        store.trials("20260101-none")


def test_reading_trial_by_trial_does_not_lock_out_a_writer(store, path):
    for position in range(3):
        store.add_trial(RUN, trial_of(position=position))
    reading = store.iter_trials(RUN)
    next(reading)
    with Store.open(path) as other:
        other.add_trial(RUN, trial_of(block=1))
    assert len(list(reading)) == 2


def test_a_run_id_cannot_be_taken_twice(store):
    with refused(StoreError, "store-unusable", fault=Part("UNIQUE constraint failed: runs.run_id")):
        store.create_run(settings_of(), MACHINE, VERSIONS)


def test_fresh_run_ids_are_a_date_and_four_letters_and_differ(store):
    drawn = {store.fresh_run_id() for _ in range(50)}
    assert len(drawn) > 45
    assert all(re.fullmatch(r"20\d{6}-[b-z]{4}", run_id) for run_id in drawn)


def test_a_fresh_run_id_is_never_one_the_store_has(store, monkeypatch):
    first = store.fresh_run_id()
    store.create_run(settings_of(first), MACHINE, VERSIONS)
    letters = iter(first.partition("-")[2] + "zzzz")
    monkeypatch.setattr("tdelta.store.store.secrets.choice", lambda _: next(letters))
    assert store.fresh_run_id().endswith("-zzzz")


def test_the_status_follows_the_run_to_its_result(store):
    store.set_status(RUN, RunStatus.RUNNING)
    assert store.status(RUN) is RunStatus.RUNNING
    store.finish(RUN, result_of(settings_of()))
    assert store.status(RUN) is RunStatus.DONE
    assert store.result(RUN) == result_of(settings_of())


def test_an_interrupted_result_leaves_the_run_interrupted(store):
    store.finish(RUN, result_of(settings_of(), interrupted=True))
    assert store.status(RUN) is RunStatus.INTERRUPTED


def test_a_status_that_does_not_exist_is_refused(store):
    with pytest.raises(ValueError, match="paused"):
        store.set_status(RUN, "paused")


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.set_status("nowhere", RunStatus.DONE),
        lambda store: store.finish("nowhere", result_of(settings_of())),
        lambda store: store.settings("nowhere"),
        lambda store: store.result("nowhere"),
    ],
)
def test_an_unknown_run_is_told_with_the_runs_there_are(store, call):
    with refused(UnknownName, "unknown", found=Part("nowhere"), hint=Part(f"{RUN}, last")):
        call(store)


def test_a_run_without_a_result_says_how_to_get_one(store):
    store.set_status(RUN, RunStatus.RUNNING)
    with refused(StoreError, "run-without-result", run=RUN, status="running"):
        store.result(RUN)


def test_facts_are_kept_by_key_and_the_last_one_counts(store):
    store.put_fact(RUN, "operations_per_trial", 400)
    store.put_fact(RUN, "operations_per_trial", 500)
    store.put_fact(RUN, "calibration", {"seconds": [0.25, 0.26]})
    assert store.get_fact(RUN, "operations_per_trial") == 500
    assert store.get_fact(RUN, "nothing") is None
    assert store.facts(RUN) == {"calibration": {"seconds": [0.25, 0.26]}, "operations_per_trial": 500}


def test_a_fact_of_an_unknown_run_is_refused(store):
    with refused(StoreError, "store-unusable", fault=Part("FOREIGN KEY")):
        store.put_fact("nowhere", "key", 1)


def test_a_run_without_trials_can_be_forgotten_and_one_with_some_cannot(store):
    store.create_run(settings_of("20260803-bbbb"), MACHINE, VERSIONS)
    store.add_trial(RUN, trial_of())
    for run_id in (RUN, "20260803-bbbb"):
        store.put_fact(run_id, "key", 1)
        store.forget(run_id)
    assert [run.run_id for run in store.runs()] == [RUN]
    assert (store.get_fact(RUN, "key"), store.get_fact("20260803-bbbb", "key")) == (1, None)


def test_runs_are_listed_newest_first_with_what_they_came_to(store):
    store.create_run(settings_of("20260803-bbbb"), MACHINE, VERSIONS)
    store.add_trial(RUN, trial_of())
    store.finish(RUN, result_of(settings_of()))
    newest, oldest = store.runs()
    assert (newest.run_id, newest.trials, newest.decision) == ("20260803-bbbb", 0, None)
    assert (oldest.run_id, oldest.trials, oldest.decision) == (RUN, 1, Decision.SLOWER)
    assert (oldest.study, oldest.engine, oldest.workload) == ("default", "sqlite", "order-entry")
    assert oldest.created_unix_seconds <= newest.created_unix_seconds


@pytest.mark.parametrize(
    ("text", "run_id"),
    [
        ("last", "20260803-kbbb"),
        (RUN, RUN),
        ("20260802", RUN),
        ("20260803-k", "20260803-kbbb"),
        ("kq", RUN),
        ("kbbb", "20260803-kbbb"),
    ],
)
def test_a_run_is_found_by_last_by_id_by_prefix_and_by_its_letters(store, text, run_id):
    store.create_run(settings_of("20260803-kbbb"), MACHINE, VERSIONS)
    assert store.resolve(text) == run_id


def test_a_whole_id_is_never_ambiguous(store):
    store.create_run(settings_of(RUN + "x"), MACHINE, VERSIONS)
    assert store.resolve(RUN) == RUN


def test_an_ambiguous_prefix_names_the_runs_it_fits(store):
    store.create_run(settings_of("20260803-kbbb"), MACHINE, VERSIONS)
    with refused(UsageError, "ambiguous-run", run="k", fitting=f"20260803-kbbb, {RUN}"):
        store.resolve("k")


@pytest.mark.parametrize("text", ["20270101", "%", ""])
def test_a_run_that_is_not_there_names_the_newest_ones(store, text):
    with refused(UnknownName, "unknown", found=text, hint=Part(f"{RUN}, last")):
        store.resolve(text)


def test_a_store_without_runs_says_how_to_make_one(path):
    with Store.open(path) as empty, refused(UsageError, "no-run", store=path):
        empty.resolve("last")


def test_the_store_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("TDELTA_STORE", str(tmp_path / "mine.sqlite"))
    assert default_path() == tmp_path / "mine.sqlite"
    monkeypatch.setenv("TDELTA_STORE", "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert default_path() == tmp_path / "data" / "tdelta" / "runs.sqlite"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for ignored in ("", "relative/folder"):
        monkeypatch.setenv("XDG_DATA_HOME", ignored)
        assert default_path() == tmp_path / "home" / ".local" / "share" / "tdelta" / "runs.sqlite"


def test_a_store_is_opened_at_the_default_path(monkeypatch, tmp_path):
    monkeypatch.setenv("TDELTA_STORE", str(tmp_path / "mine.sqlite"))
    with Store.open() as store:
        assert store.path == tmp_path / "mine.sqlite"
    assert (tmp_path / "mine.sqlite").stat().st_size > 0


def test_commits_are_synced_without_wal(store):
    pragmas = {name: store._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "journal_mode")}
    assert pragmas == {"synchronous": 2, "journal_mode": "truncate"}


def test_a_trial_survives_a_kill_the_moment_it_was_added(path):
    child = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from support.examples import settings_of, trial_of\n"
        "from tdelta.store import Store\n"
        "store = Store.open(Path(sys.argv[1]))\n"
        "store.create_run(settings_of(), {}, {})\n"
        "store.add_trial(settings_of().run_id, trial_of())\n"
        "store._db.execute('BEGIN IMMEDIATE')\n"
        "store._db.execute('DELETE FROM trials')\n"  # dies in the middle of a transaction, too
        "print('added', flush=True)\n"
        "time.sleep(600)\n"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", child, path], stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout.readline() == b"added\n"
        process.send_signal(signal.SIGKILL)
    with Store.open(path) as again:
        assert again.trials(RUN) == (trial_of(),)


def test_a_newer_store_is_left_alone_with_a_remedy(store, path):
    store.close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreTooNew) as fault:
        Store.open(path)
    told = str(fault.value)
    assert str(path) in told
    check_messages(fault.value.refusals, "store-too-new", known=SCHEMA_VERSION, found=SCHEMA_VERSION + 1)
    assert path.read_bytes() == before


def test_another_programs_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "bookmarks.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE bookmarks (url TEXT)")
    db.close()
    before = path.read_bytes()
    with refused(StoreError, "not-a-store", path=path, found=Part("SQLite")):
        Store.open(path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("notes of mine, and longer than a header of one" * 20)
    with refused(StoreError, "not-a-store", path=path, found=Part("SQLite")):
        Store.open(path)
    assert path.read_text().startswith("notes")


def test_an_empty_file_becomes_a_store(tmp_path):
    path = tmp_path / "runs.sqlite"
    path.touch()
    with Store.open(path) as store:
        assert store.runs() == ()
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    db.close()


def test_a_damaged_store_is_told(store, path):
    store.add_trial(RUN, trial_of())
    store.close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with Store.open(path) as damaged, refused(StoreError, "store-unusable", path=path, fault=Part("malformed")):
        damaged.trials(RUN)


CHANGES = {
    "a number": "UPDATE trials SET elapsed_ns = elapsed_ns + 1",
    "a histogram": "UPDATE histograms SET payload = payload || x'00'",
    "the settings": "UPDATE runs SET settings = replace(settings, 'sqlite', 'sqlitf')",
    "JSON no more": "UPDATE runs SET settings = substr(settings, 2)",
    "a status": "UPDATE runs SET status = 'failed'",
    "a fact": "UPDATE run_facts SET value = '2'",
    "a fact that is gone": "DELETE FROM run_facts",
    "a trial that is gone": "DELETE FROM trials",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_not_what_was_written_is_told_and_answers_nothing(store, path, change):
    store.add_trial(RUN, trial_of())
    store.put_fact(RUN, "one", 1)
    store._db.execute(change)
    with pytest.raises(StoreError, match=re.escape(f"results database {path}: ")):  # noqa: PT012 (whichever of them reads it)
        store.trials(RUN)
        store.facts(RUN)
        store.settings(RUN)


def test_damage_of_what_has_no_seal_is_told_with_the_store(store, path):
    store._db.execute("DELETE FROM seals")
    store._db.execute("UPDATE runs SET settings = substr(settings, 2), machine = '[1]'")
    for read in (store.settings, store.machine, lambda _run: store.runs()):
        with pytest.raises(StoreError, match=re.escape(f"results database {path}")):
            read(RUN)


@pytest.mark.parametrize("version", [0, -1, -(2**31)])
def test_a_version_that_never_was_is_told(store, path, version):
    store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    with refused(StoreError, "not-a-store", path=path, found=Part(f" {version}")):
        Store.open(path)


def test_a_full_disk_is_told_with_a_remedy_and_costs_no_earlier_trial(store):
    store.add_trial(RUN, trial_of())
    (pages,) = store._db.execute("PRAGMA page_count").fetchone()
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    large = replace(
        trial_of(block=1), measurement=replace(trial_of().measurement, histograms={"tx:all": b"x" * 100_000})
    )
    with refused(StorageFault, "store-disk-full", path="runs.sqlite", fault=Part("full")):
        store.add_trial(RUN, large)
    assert store.trials(RUN) == (trial_of(),)


def test_a_store_that_cannot_be_written_can_still_be_read(store):
    store.add_trial(RUN, trial_of())
    store._db.execute("PRAGMA query_only = ON")
    with refused(
        StorageFault, "store-unusable", path="runs.sqlite", fault=Part("attempt to write a readonly database")
    ):
        store.add_trial(RUN, trial_of(block=1))
    assert store.trials(RUN) == (trial_of(),)


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").touch()
    with refused(StorageFault, "store-unusable", path="file/runs.sqlite"):
        Store.open(tmp_path / "file" / "runs.sqlite")


def test_a_store_that_is_a_folder_is_told(tmp_path):
    with refused(StorageFault, "store-unusable", path=tmp_path):
        Store.open(tmp_path)


def test_a_folder_that_takes_no_files_is_told_even_to_root():
    with refused(StorageFault, "store-unusable", path="/proc/runs.sqlite"):
        Store.open(Path("/proc/runs.sqlite"))


def test_a_store_another_process_holds_is_told(store, path):
    with Store.open(path) as other:
        other._db.execute("PRAGMA busy_timeout = 0")
        store._db.execute("BEGIN EXCLUSIVE")
        with refused(StoreError, "store-unusable", path=path):
            other.add_trial(RUN, trial_of())
        store._db.execute("ROLLBACK")


def test_two_that_make_the_same_store_at_once_both_get_it(path):
    with Store.open(path) as first:
        late = Store(path, sqlite3.connect(path, isolation_level=None))
        late._make()  # as if it had found the file empty before `first` filled it
        first.create_run(settings_of(), MACHINE, VERSIONS)
        assert [run.run_id for run in late.runs()] == [RUN]
        late.close()


def test_a_store_its_folder_and_its_journal_are_for_their_owner_only(tmp_path):
    modes = {}
    before = os.umask(0)
    try:
        with Store.open(tmp_path / "data" / "tdelta" / "runs.sqlite") as store, store._transaction() as db:
            db.execute("DELETE FROM runs")
            modes = {path.name: path.stat().st_mode & 0o777 for path in store.path.parent.iterdir()}
            folder = store.path.parent.stat().st_mode & 0o777
    finally:
        os.umask(before)
    assert modes.pop("runs.sqlite") == 0o600
    assert set(modes.values()) <= {0o600}
    assert folder == 0o700


def test_a_store_that_is_there_keeps_the_rights_that_its_owner_gave_it(tmp_path):
    path = tmp_path / "shared.sqlite"
    Store.open(path).close()
    path.chmod(0o660)
    Store.open(path).close()
    assert path.stat().st_mode & 0o777 == 0o660


@pytest.mark.parametrize("made", ["x'07'", "char(27) || '[2J'"], ids=["no text", "a terminal's commands"])
def test_an_id_that_damage_made_no_printable_text_of_is_told(store, path, made):
    store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"UPDATE runs SET run_id = {made}")
    with Store.open(path) as damaged:
        for read in (lambda: damaged.resolve("last"), damaged.runs):
            with refused(StoreError, "store-changed", path=path) as told:
                read()
            assert str(told.value).isprintable()


def test_settings_of_another_run_are_told(store, path):
    store._db.execute("UPDATE runs SET run_id = 'another'")
    with refused(StoreError, "store-changed", path=path, part="run another"):
        store.settings("another")
