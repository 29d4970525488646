from pathlib import Path

import pytest

from support.refused import Coded, Part, check_messages, has, refused
from tdelta.engines.registry import dialects
from tdelta.engines.sqlite.profile import DIALECT
from tdelta.errors import StorageFault, UsageError, WorkloadError
from tdelta.messages import Refusal
from tdelta.workloads import load
from tdelta.workloads.model import KeyTable, Workload
from tdelta.workloads.proposal import propose, settle
from tdelta.workloads.user_workload import read_user_workload, require_free_folder, write_user_workload

from .own import built, described
from .test_folder import toml

TOML = """\
name = "mine"
version = 1
title = "Mine"
description = "What the application does."

[keys.details]
table = "Order Details"

[transactions.look]
title = "Look"
weight = 2.5
"""
LOOK = """\
\\set n random(1, :keys_details)
\\set id random(:min_t, :max_t)
\\set odd :rows_Order_Details
SELECT * FROM t WHERE id = :id;
SELECT * FROM "Order Details" WHERE k = (SELECT k1 FROM tdelta_key_details WHERE n = :n);
"""
DATABASE = described(
    built(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT); INSERT INTO t(x) VALUES ('a'), ('bc');"
        'CREATE TABLE "Order Details" (k TEXT PRIMARY KEY); INSERT INTO "Order Details" VALUES (\'a\');'
        "CREATE TABLE nokey (rowid, _rowid_, oid); CREATE TABLE tdelta_key_taken (x);"
    )
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "workload.toml").write_text(TOML, encoding="utf-8")
    (mine / "look.sql").write_text(LOOK, encoding="utf-8")
    return mine


def faults(folder: Path) -> tuple[Refusal, ...]:
    with pytest.raises(WorkloadError) as raised:
        read_user_workload(folder, DATABASE)
    return raised.value.refusals


def test_a_folder_has_transactions_and_keys_and_neither_tables_nor_a_size(folder: Path) -> None:
    workload = read_user_workload(folder, DATABASE)
    assert (workload.tables, workload.keys) == ((), (KeyTable("details", "Order Details"),))
    assert workload.scripts() == {"look": {"weight": 2.5, "text": LOOK, "writes": False}}
    assert workload.rows(1.0) == {}


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            'table = "Order Details"',
            'table = "Details"',
            toml(7, "unknown", found=Part("'Details'"), hint=Part("'Order Details'")),
        ),
        ('table = "Order Details"', 'table = "nokey"', toml(7, "missing", what=Part("'nokey'"))),
        ("[keys.details]", "[keys.taken]", toml(6, "key-table-taken", table="tdelta_key_taken")),
        ("[keys.details]", "[keys.Details]", toml(6, "out-of-range", found="'Details'", what="the name")),
        ('table = "Order Details"', "count = 3", toml(7, "unknown", found="'keys.details.count'", kind="key")),
        ('table = "Order Details"', "", toml(6, "missing", what="keys.details.table")),
        (
            "[keys.details]",
            "[tables.t]\nrows = 1\n[keys.details]",
            toml(6, "conflict", one=Part("tables"), other="--database"),
        ),
        (
            "[keys.details]",
            "[size]\nbytes_per_scale = 1\n[keys.details]",
            toml(6, "conflict", one=Part("size"), other="--database"),
        ),
        ('name = "mine"', 'nane = "mine"', toml(1, "unknown", found="'nane'", hint=Part("'name'"), kind="key")),
        ("weight = 2.5", "weight = 0", toml(11, "out-of-range", found="0", what="weight")),
    ],
)
def test_a_fault_of_the_toml_is_named_with_its_line(folder: Path, old: str, new: str, fault: Coded) -> None:
    assert TOML.count(old) == 1
    (folder / "workload.toml").write_text(TOML.replace(old, new), encoding="utf-8")
    found = faults(folder)
    assert has(found, fault), found


def test_a_variable_that_no_table_gives_is_named_with_the_nearest(folder: Path) -> None:
    (folder / "look.sql").write_text(LOOK.replace(":max_t", ":max_tt"), encoding="utf-8")
    check_messages(
        faults(folder), "unknown", found=Part("max_tt"), hint=Part("'max_t'"), where="look.sql:2", kind="variable"
    )


def test_a_schema_does_not_go_with_a_database_and_all_faults_come_at_once(folder: Path) -> None:
    (folder / "schema.sql").write_text("CREATE TABLE t (x);", encoding="utf-8")
    (folder / "schema.mysql.sql").write_text("CREATE TABLE t (x);", encoding="utf-8")
    (folder / "look.sql").write_text("SELECT :nobody;", encoding="utf-8")
    assert [one.parameters["where"] for one in faults(folder)] == ["look.sql:1", "schema.mysql.sql", "schema.sql"]


def test_a_folder_of_transactions_alone_says_that_it_needs_a_database(folder: Path) -> None:
    with refused(
        WorkloadError,
        "unknown",
        "unknown",
        "unknown",
        "unknown",
        "file-missing",
        "missing",
        "size-missing",
        "unknown",
        where=(None, None, None, None, "schema.sql", None, None, None),
    ):
        load(folder, dialects())


def test_a_path_without_a_folder_is_a_fault(tmp_path: Path) -> None:
    check_messages(faults(tmp_path / "nowhere"), "no-own-folder", where=tmp_path / "nowhere")


def proposed() -> Workload:
    proposal = propose(DATABASE, DIALECT)
    return settle(proposal, {choice.name: choice.scripts[0] for choice in proposal.choices}, 'a "b".db')


def test_what_is_written_is_read_again_as_it_was_and_says_what_was_left_out(tmp_path: Path) -> None:
    workload = proposed()
    files = write_user_workload(workload, tmp_path / "new" / "mine", ("not-inserted",))
    assert {file.name for file in files} == {"workload.toml", *(f"{t.name}.sql" for t in workload.transactions)}
    assert read_user_workload(tmp_path / "new" / "mine", DATABASE) == workload
    text = (tmp_path / "new" / "mine" / "workload.toml").read_text(encoding="utf-8")
    assert "\n# - not-inserted\n" in text
    assert "70.0 %" not in text
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["mine"]


def test_an_empty_folder_is_written_to_and_one_with_files_is_not(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write_user_workload(proposed(), tmp_path / "empty", ())
    before = {path: path.read_bytes() for path in (tmp_path / "empty").iterdir()}
    with refused(UsageError, "path-unusable", path="empty"):
        write_user_workload(proposed(), tmp_path / "empty", ())
    assert {path: path.read_bytes() for path in (tmp_path / "empty").iterdir()} == before


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with refused(UsageError, "path-unusable", path="file"):
        require_free_folder(tmp_path / "file")


def test_a_folder_that_cannot_be_made_is_a_fault_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with refused(StorageFault, "path-unusable", path="mine"):
        write_user_workload(proposed(), tmp_path / "file" / "mine", ())
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
