import dataclasses
import os
import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import tdelta.workloads
from support.fake_twins import equal_rows
from support.refused import Coded, Part, check_messages, coded, has, refused
from tdelta.engines.sqlite.conversion import Layout
from tdelta.errors import DatabaseFault, TdeltaError, UsageError, WorkloadError
from tdelta.messages import Refusal
from tdelta.processes import DatabaseJob, TrialJob
from tdelta.processes.protocol import Checksums, Tables
from tdelta.records import DatabaseFacts
from tdelta.session import RunRequest, dry_run, plan
from tdelta.session.preflight import TableLine, TransactionLine
from tdelta.session.run_plan import Source
from tdelta.session.staging import Names, choose, staged
from tdelta.workloads import load
from tdelta.workloads.proposal import Choice, Proposal, TransactionKind

from .conducting import Sitting, check
from .sources import CAUTION, LOOK, source, staging

OWN = {"workload": None, "size_bytes": 50_000_000}


@pytest.fixture
def database(sitting: Sitting, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of a database, whose staging is a fake; the copy lies in the test's own folder."""
    monkeypatch.setattr("tdelta.session.preflight.staged", staging(lambda: source(sitting.base)))
    return sitting.base / "users" / "app.db"


def faults_of(request: RunRequest) -> tuple[Refusal, ...]:
    with pytest.raises(UsageError) as raised, staged(request, "r", lambda _event: None):
        pass
    return raised.value.refusals


# Plans


def planned(folder: Path, *, layout: Layout | None = None, **options: object):
    made = source(folder)
    copy = made.copy if layout is None else dataclasses.replace(made.copy, layout=layout)
    return plan(RunRequest(database=copy.original.named, **options), "r", dataclasses.replace(made, copy=copy))


def test_twins_have_the_pages_of_the_original_unless_others_are_asked_for(tmp_path: Path) -> None:
    def sizes(**options: object) -> set[int]:
        made = planned(tmp_path, **options)
        return {made.twin_settings(condition, 0).page_size for condition in made.conditions}

    assert sizes() == {1024}
    assert sizes(page_size=4096) == {4096}
    assert sizes(vary={"page_size": (8192, 16384)}) == {8192, 16384}


@pytest.mark.parametrize(
    ("cipher", "found"),
    [("aes-256", {"none": 12, "aes-256": 12}), ("sqlcipher", {"none": 80, "sqlcipher": 80})],
)
def test_bytes_that_the_original_keeps_of_a_page_stay_kept(tmp_path: Path, cipher: str, found: dict[str, int]) -> None:
    made = planned(tmp_path, vary={"cipher": (cipher,)})
    settings = [made.twin_settings(condition, 0) for condition in made.conditions]
    assert {one.cipher: one.reserved_bytes for one in settings} == found


def test_rows_come_from_the_copy_and_scripts_get_its_variables(tmp_path: Path) -> None:
    made = planned(tmp_path)
    job = made.populate_job()
    assert isinstance(job, DatabaseJob)
    assert job.path == tmp_path / "original.db"
    assert [table for table, _ in job.tables] == ["work", "tdelta_key_work"]
    mix = made.workload_spec()
    assert [(entry["name"], entry["text"]) for entry in mix.transactions] == [("look", LOOK.text)]
    assert mix.constants == {"rows_work": 1000, "min_work": 1, "max_work": 2**60, "keys_work": 1000, "scale": 1.0}
    assert isinstance(mix.constants["max_work"], int)


def test_what_is_told_of_a_database_is_its_name_and_size(tmp_path: Path) -> None:
    settings = planned(tmp_path).settings
    assert (settings.study, settings.workload) == ("", "mine")
    assert settings.database == DatabaseFacts("app.db", 42_000, 1024, tables=1, rows=1000, proposed=True)


def test_the_digest_of_the_work_changes_with_the_file_the_rows_and_the_scripts(tmp_path: Path) -> None:
    made = source(tmp_path)
    original = made.copy.original
    touched = dataclasses.replace(original, files={"": original.files[""]})
    others = (
        dataclasses.replace(made, copy=dataclasses.replace(made.copy, original=touched)),
        dataclasses.replace(made, checksums={**made.checksums, "work": (1000, "bad")}),
        dataclasses.replace(made, constants={**made.constants, "max_work": 7}),
        dataclasses.replace(made, workload=dataclasses.replace(made.workload, transactions=())),
    )
    prints = {one.fingerprint() for one in (made, source(tmp_path), *others)}
    assert len(prints) == 1 + len(others)


# Refusals before a byte is copied


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"study": "order-entry"}, coded("conflict", one=Part("order-entry"), other="--database")),
        ({"size_bytes": 1_000_000}, coded("conflict", other="--database", one="--size")),
        ({"workload": "read-only"}, coded("conflict", one=Part("read-only"), other="--database")),
        ({"workload": "./nowhere"}, coded("path-unusable", path="./nowhere")),
        (
            {"vary": {"cipher": ("aes-265",)}},
            coded("unknown", kind="cipher", found=Part("aes-265"), hint=Part("aes-256")),
        ),
        ({"vary": {"cipher": ("none",)}}, coded("nothing-to-compare")),
        ({"engine": "oracle"}, coded("requires", needs=Part("--baseline and"))),
        ({"database": Path(os.fsdecode(b"/data/\xff.db"))}, coded("path-not-text")),
    ],
)
def test_what_does_not_go_with_a_database_is_refused(tmp_path: Path, options: dict[str, object], told: Coded) -> None:
    asked = {"database": tmp_path / "missing.db", "directory": tmp_path / "twins", **options}
    assert has(faults_of(RunRequest(**asked)), told), faults_of(RunRequest(**asked))
    assert not (tmp_path / "twins").exists()


def test_a_file_that_is_missing_is_refused_before_a_folder_is_made(tmp_path: Path) -> None:
    request = RunRequest(database=tmp_path / "missing.db", directory=tmp_path / "twins")
    with (
        refused(DatabaseFault, "unreadable", fault=Part("No such file"), where="missing.db"),
        staged(request, "r", lambda _event: None),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_store_of_the_run_is_no_database_to_measure(sitting: Sitting) -> None:
    sitting.conduct()
    request = sitting.request(**OWN, database=sitting.store)
    check_messages(faults_of(request), "store-as-database", database=sitting.store)


def test_a_folder_of_generated_rows_does_not_become_a_workload_on_a_database(tmp_path: Path) -> None:
    folder = Path(tdelta.workloads.__file__).parent / "point_select"
    request = RunRequest(database=tmp_path / "missing.db", workload=str(folder))
    with (
        refused(DatabaseFault, "unreadable", fault=Part("No such file"), where="missing.db"),
        staged(request, "r", lambda _event: None),
    ):
        pass  # the folder is there; what is in it is read once the tables are known


def test_a_workload_is_written_only_where_one_is_proposed(tmp_path: Path) -> None:
    for options in ({}, {"database": tmp_path / "a.db", "workload": str(tmp_path)}):
        with refused(UsageError, "requires", what="--write-workload", needs=Part("--database FILE or")):
            dry_run(RunRequest(**options), write_workload=tmp_path / "mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with refused(UsageError, "path-unusable", path="full"):
        dry_run(RunRequest(database=tmp_path / "a.db"), write_workload=tmp_path / "full")


# Runs


def test_a_run_on_a_database_answers_says_what_it_was_and_keeps_what_it_did(sitting: Sitting, database: Path) -> None:
    result = sitting.conduct(**OWN, database=database)
    assert result.settings.database == DatabaseFacts("app.db", 42_000, 1024, tables=1, rows=1000, proposed=True)
    assert CAUTION in [*map(str, result.cautions)]
    found = check(result, "rows-before")
    assert found.ok
    check_messages(found.details, "rows-same", rows=2000, tables=2, source=Part("1"))
    kept = sitting.state().database
    assert kept["workload"] == {"look": {"weight": 3.0, "text": LOOK.text, "writes": False}}
    assert (kept["keys"], kept["variables"]["max_work"]) == ({"work": "work"}, 2**60)


def test_the_copy_is_gone_once_every_kind_of_twin_has_been_made_of_it(sitting: Sitting, database: Path) -> None:
    seen = []
    sitting = sitting.scripted(before_trial=lambda _twin, _job: seen.append((sitting.base / "original.db").exists()))
    sitting.conduct(**OWN, database=database)
    assert set(seen) == {False}


def test_twins_with_other_rows_than_the_original_end_the_run(sitting: Sitting, database: Path) -> None:
    def rows(settings, tables, trials):
        found = equal_rows(settings, tables, trials)
        return found if settings.cipher == "none" else {**found, "work": (999, found["work"][1])}

    with refused(TdeltaError, "twins-differ", differences=Part("999 rows")):
        sitting.scripted(rows=rows).conduct(**OWN, database=database)


def test_a_table_that_the_clock_writes_to_is_not_compared_after_the_trials(
    sitting: Sitting, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows(settings, tables, trials):
        found = equal_rows(settings, tables, trials)
        return found if settings.cipher == "none" or not trials else {**found, "work": (1000, "later")}

    name = "rows-after"
    differing = sitting.scripted(rows=rows).conduct(**OWN, database=database)
    assert not check(differing, name).ok
    made = staging(lambda: source(sitting.base, nondeterministic_tables=("work",)))
    monkeypatch.setattr("tdelta.session.preflight.staged", made)
    found = check(sitting.scripted(rows=rows).conduct(**OWN, database=database), name)
    assert found.ok
    check_messages(found.details, coded("rows-after-rounds", rounds=2), coded("rows-after-not-tables", tables="work"))


def test_pages_too_small_for_what_ciphers_keep_are_refused(tmp_path: Path) -> None:
    small = Layout(page_size=512, reserved_bytes=0)
    planned(tmp_path, layout=small)
    with refused(UsageError, "narrow-page", least=480, page_size=512, usable=432, reserved=80):
        planned(tmp_path, layout=small, vary={"cipher": ("sqlcipher",)})
    planned(tmp_path, layout=small, vary={"cipher": ("sqlcipher",)}, page_size=1024)


def interrupted(sitting: Sitting, database: Path) -> Sitting:
    pressed = []

    def press(_twin, job):
        if job.stream == 1 and not pressed:
            pressed.append(job)
            signal.raise_signal(signal.SIGINT)

    sitting.scripted(before_trial=press).conduct(**OWN, database=database)
    return Sitting(sitting.base)


def test_a_run_on_the_same_database_is_resumed(sitting: Sitting, database: Path) -> None:
    again = interrupted(sitting, database)
    before = again.trials()
    result = again.resume()
    assert again.trials()[: len(before)] == before
    assert result.settings.database is not None


def test_a_run_on_a_database_that_has_changed_since_is_not_resumed(
    sitting: Sitting, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = interrupted(sitting, database)

    def changed() -> Source:
        made = source(sitting.base)
        return dataclasses.replace(made, checksums={**made.checksums, "work": (1001, "5eed" * 8)})

    monkeypatch.setattr("tdelta.session.preflight.staged", staging(changed))
    with refused(UsageError, "run-changed", changed=Part("database")):
        again.resume()


# Dry runs


def test_a_dry_run_tells_tables_transactions_and_what_was_left_out(sitting: Sitting, database: Path) -> None:
    told = dry_run(sitting.request(**OWN, database=database))
    assert told.tables == (TableLine("work", 1000, 40_000),)
    assert told.transactions == (TransactionLine("look", "Look", 1.0, LOOK.text),)
    assert told.notes == ("not-inserted",)
    assert told.written is None
    assert CAUTION in [*map(str, told.cautions)]
    assert told.disk_bytes == pytest.approx(50_000 * (2 + 3 * 1.3), rel=0.01)


def test_a_dry_run_writes_the_proposal_where_it_was_told_to(sitting: Sitting, database: Path) -> None:
    folder = sitting.base / "mine"
    told = dry_run(sitting.request(**OWN, database=database), write_workload=folder)
    assert told.written == str(folder)
    assert {path.name for path in folder.iterdir()} == {"workload.toml", "look.sql"}
    assert "not-inserted" in (folder / "workload.toml").read_text(encoding="utf-8")


NAMED = Names("mine", "app.db", "app.db")


class Endless:
    """Only what reads ``v`` comes to an end on it; whatever does not takes all the time that it is given."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.clock = 1000.0

    def now(self) -> float:
        return self.clock

    def said(self, transaction: Mapping[str, object], trial: TrialJob | None) -> Refusal | None:
        if trial is None:
            return None
        self.seconds.append(trial.deadline_seconds + trial.patience_seconds)
        ends = str(transaction["text"]).startswith("SELECT v ")
        self.clock += 0.5 if ends else self.seconds[-1]
        said = f"{transaction['name']}, line 1: expected it to end within 30 s, and broke it off"
        return None if ends else Refusal.of("database-says", said=said)

    def checksums(self, tables: Tables) -> Checksums:
        raise NotImplementedError


def test_what_is_proposed_takes_a_tenth_of_the_runs_time_each_and_is_left_out_where_that_is_not_enough() -> None:
    on = Endless()
    scripts = {"update_t": "UPDATE t SET v = 1", "read_u": "SELECT v FROM u "}
    choices = tuple(Choice(name, name, TransactionKind.READ, name[-1], (text,)) for name, text in scripts.items())
    chosen = choose(Proposal(choices, (), ()), NAMED, on, lambda _event: None, 300.0, on.now)
    assert [transaction.name for transaction in chosen.workload.transactions] == ["read_u"]
    assert [caution.code for caution in chosen.cautions] == ["transaction-left-out"]
    assert on.seconds == [30.0, 30.0]


def test_all_that_is_proposed_takes_a_quarter_of_the_runs_time_however_much_of_it_does_not_end() -> None:
    on = Endless()
    reads = [Choice(f"read_{n}", "", TransactionKind.READ, "t", (f"SELECT v FROM t{n} ",)) for n in range(3)]
    updates = [Choice(f"update_{n}", "", TransactionKind.UPDATE, "t", ("UPDATE a", "UPDATE b")) for n in range(15)]
    chosen = choose(Proposal((*reads, *updates), (), ()), NAMED, on, lambda _event: None, 100.0, on.now)
    assert [transaction.name for transaction in chosen.workload.transactions] == ["read_0", "read_1", "read_2"]
    assert on.clock == 1000.0 + 25.0
    assert on.seconds == [10.0, 10.0, 10.0, 10.0, 10.0, 3.5]
    assert len(chosen.cautions) == len(updates)
    assert has([chosen.cautions[-1]], "transaction-left-out", fault_code="transaction-without-time")


def test_a_transaction_of_the_users_that_does_not_end_is_refused_with_its_file_and_line() -> None:
    workload = load("point-select", {})
    on = Endless()
    with refused(WorkloadError, "database-says", where="point_select.sql:1"):
        choose(workload, NAMED, on, lambda _event: None, 1e6)
    assert on.seconds == [60.0]


class Preparing:
    """A database that takes no statement with ``bad`` in it, and names the first of a script as engines do."""

    def said(self, transaction: Mapping[str, object], trial: TrialJob | None) -> Refusal | None:
        assert trial is None
        for number, line in enumerate(str(transaction["text"]).split("\n"), 1):
            if "bad" in line and not line.startswith("--"):
                said = f"{transaction['name']}, line {number}: near {line.strip()!r}: syntax error"
                return Refusal.of("database-says", said=said)
        return None

    def checksums(self, tables: Tables) -> Checksums:
        raise NotImplementedError


def test_every_statement_that_the_database_refuses_is_named_at_once() -> None:
    workload = load("point-select", {})
    (only,) = workload.transactions
    text = "-- bad\n\\set a 1\nSELECT bad1;\nSELECT 1;\nSELECT x\n  bad2 FROM t;\nSELECT 2; SELECT bad3;\n"
    text += "SELECT bad4 \\gset\n\\raw writes\nbad5\n (:a);\n\\raw into a\nSELECT a\n bad6 \\gset\nSELECT bad7;\n"
    given = replace(workload, transactions=(replace(only, text=text),))
    with pytest.raises(WorkloadError) as raised:
        choose(given, NAMED, Preparing(), lambda _event: None, 1e6)
    said = str(raised.value)
    assert [n for n in range(1, 9) if f"bad{n}" in said] == [1, 2, 3, 4, 5, 6, 7]
    assert "point_select.sql:15" in said
