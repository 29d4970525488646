"""A user's folder: what is let through, and every fault of the rest at once."""

import shutil
from pathlib import Path

import pytest

import tdelta.workloads
from tdelta.engines.registry import dialects
from tdelta.errors import UnknownName, WorkloadError
from tdelta.workloads import load
from tdelta_refused import Part, refused

TOML = """\
name = "mine"
version = 1
title = "Mine"
description = \"\"\"
[tables.not_this]
\"\"\"

[size]
bytes_per_scale = 1000

[tables.parents]
rows_per_scale = 10

[tables.parents.columns]
id = { law = "serial" }
name = { law = "text", min = 1, max = 9 }

[tables.children]
rows_per = { table = "parents", count = 3 }

[tables.children.columns]
parent_id = { law = "parent" }
line = { law = "line" }
born = { law = "timestamp", start = 1970-01-02, end = 1970-01-03T00:00:00Z, null_share = 0.5 }

[transactions.look]
title = "Look"
weight = 2.5
"""
SCHEMA = """\
CREATE TABLE parents (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(9) NOT NULL);
CREATE TABLE children (
    parent_id BIGINT NOT NULL,
    line BIGINT NOT NULL,
    born BIGINT,
    PRIMARY KEY (parent_id, line)
);
CREATE INDEX by_name ON parents (name);
"""
LOOK = "\\set id random(1, :rows_parents)\nSELECT name FROM parents WHERE id = :id;\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("workload.toml", TOML), ("schema.sql", SCHEMA), ("look.sql", LOOK)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def change(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / file
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def faults(folder: Path) -> tuple[str, ...]:
    with pytest.raises(WorkloadError) as raised:
        load(folder, dialects())
    return tuple(map(str, raised.value.refusals))


def test_a_sound_folder_is_read(folder):
    workload = load(str(folder), dialects())
    assert (workload.name, workload.version, workload.fixed_bytes) == ("mine", 1, 0)
    assert workload.rows(2) == {"parents": 20, "children": 60}
    assert [table.primary_key for table in workload.tables] == [("id",), ("parent_id", "line")]
    assert workload.scripts() == {"look": {"weight": 2.5, "text": LOOK, "writes": False}}
    assert workload.scale_for(5000) == 5
    assert workload.plan(1)["tables"][1]["columns"] == [
        {"name": "parent_id", "law": "parent", "table": "parents", "fanout": 3},
        {"name": "line", "law": "line", "fanout": 3},
        {"name": "born", "law": "timestamp", "start": 86400, "end": 172800, "null_share": 0.5},
    ]


def test_an_override_replaces_the_generic_schema_for_its_engine_alone(folder):
    own = SCHEMA.replace("VARCHAR(9)", "VARBINARY(9)").replace("BIGINT", "INT")
    (folder / "schema.mysql.sql").write_text(own, encoding="utf-8")
    workload = load(folder, dialects())
    assert "VARBINARY(9)" in workload.tables_sql(dialects()["mysql"])[0]
    assert "VARCHAR(9)" in workload.tables_sql(dialects()["postgres"])[0]


@pytest.mark.parametrize(
    ("file", "old", "new", "fault"),
    [
        ("workload.toml", "version = 1", "version = [", "workload.toml:3: invalid TOML: "),
        (
            "workload.toml",
            "version = 1",
            'version = "1"',
            "workload.toml:2: version must be an integer of 64 bits",
        ),
        (
            "workload.toml",
            'title = "Mine"',
            'titel = "Mine"',
            "workload.toml:3: unknown key 'titel'. Did you mean 'title'?",
        ),
        ("workload.toml", 'title = "Mine"', "", "workload.toml: title is missing"),
        (
            "workload.toml",
            "version = 1",
            "version = 1\nspills = 1",
            "workload.toml:3: spills must be true or false, found 1",
        ),
        ("workload.toml", "bytes_per_scale = 1000", "", "workload.toml:8: bytes_per_scale must be a whole number"),
        (
            "workload.toml",
            "rows_per_scale = 10",
            "",
            "workload.toml:11: table parents needs one of rows, rows_per_scale",
        ),
        (
            "workload.toml",
            "rows_per_scale = 10",
            "rows_per_scale = 0",
            "workload.toml:12: rows_per_scale must be a number above 0",
        ),
        (
            "workload.toml",
            "rows_per_scale = 10",
            "rows = -1",
            "workload.toml:12: rows must be a whole number of at least 0",
        ),
        (
            "workload.toml",
            "rows_per_scale = 10",
            "rows = 0",
            "workload.toml:22: column parent_id: table parents has no rows",
        ),
        (
            "workload.toml",
            'table = "parents"',
            'table = "parent"',
            "workload.toml:19: rows_per: no table 'parent' is defined above",
        ),
        ("workload.toml", "count = 3", "count = 0", "workload.toml:19: count must be 1 to"),
        ("workload.toml", '"text"', '"txt"', "workload.toml:16: column name: unknown law 'txt'. Did you mean 'text'?"),
        ("workload.toml", "min = 1", "minimum = 1", "workload.toml:16: column name: law 'text' needs 'min'"),
        (
            "workload.toml",
            "min = 1",
            "minn = 1",
            "workload.toml:16: column name: law 'text' has no parameter 'minn'. Did you mean 'min'?",
        ),
        ("workload.toml", "min = 1", "min = 10", "workload.toml:16: column name: min (10) is above max (9)"),
        (
            "workload.toml",
            "min = 1",
            'min = "1"',
            "workload.toml:16: column name: min must be an integer of 64 bits",
        ),
        (
            "workload.toml",
            '"text", min = 1, max = 9',
            '"uniform", lo = 1, hi = 2',
            "workload.toml:16: column name: law 'uniform' makes integer, but schema.sql says text",
        ),
        (
            "workload.toml",
            '"text", min = 1, max = 9',
            '"ref", table = "parentz"',
            "workload.toml:16: column name: unknown table 'parentz'. Did you mean 'parents'?",
        ),
        (
            "workload.toml",
            '{ law = "serial" }',
            '{ law = "serial", null_share = 0.1 }',
            "workload.toml:15: column id: law 'serial' makes keys",
        ),
        (
            "workload.toml",
            "null_share = 0.5",
            "null_share = 5",
            "workload.toml:24: column born: null_share must be 0 to 1",
        ),
        (
            "workload.toml",
            "name = { law",
            "nmae = { law",
            "workload.toml:16: column nmae is not in table parents of schema.sql. Did you mean 'name'?",
        ),
        ("workload.toml", "line = { law", "born2 = { law", "schema.sql:4: column line of table children has no law"),
        (
            "workload.toml",
            '{ law = "serial" }',
            '{ law = "uniform", lo = 1, hi = 2 }',
            "workload.toml:22: column parent_id: table parents has no primary key of law 'serial'",
        ),
        (
            "workload.toml",
            "weight = 2.5",
            "weight = 0",
            "workload.toml:28: weight must be a number of 1e-09",
        ),
        (
            "workload.toml",
            "[transactions.look]",
            "[transactions.lock]",
            "lock.sql: is missing: transaction 'lock' has no script. Did you mean 'look.sql'?",
        ),
        ("workload.toml", "[transactions.look]", "[transactions.Look-up]", "workload.toml:26: 'Look-up' is not a name"),
        (
            "schema.sql",
            "CREATE INDEX by_name ON parents (name);",
            "CREATE INDEX by_name ON parents (nmae);",
            "schema.sql:8: ",
        ),
        (
            "schema.sql",
            "CREATE INDEX by_name ON parents (name);",
            "CREATE TABLE more (id BIGINT);",
            "schema.sql:8: table more has no [tables.more]",
        ),
        (
            "schema.sql",
            "CREATE INDEX by_name ON parents (name);",
            "DROP TABLE parents;",
            "schema.sql:8: a schema holds CREATE TABLE and CREATE INDEX only",
        ),
        (
            "schema.sql",
            "CREATE INDEX by_name ON parents (name);",
            "CREATE INDEX by_name ON parents (name)",
            "schema.sql:8: this statement has no ';'",
        ),
        ("schema.sql", "born BIGINT,", "born IN INTEGER,", "schema.sql:2: this SQL cannot be read"),
        (
            "schema.sql",
            "born BIGINT,",
            "born BIGINT DEFAULT CURRENT_TIMESTAMP,",
            "schema.sql:2: CURRENT_TIMESTAMP differs",
        ),
        (
            "schema.sql",
            "TABLE parents",
            "TABLE parens",
            "workload.toml:11: table parents is not in schema.sql. Did you mean 'parens'?",
        ),
        (
            "look.sql",
            ":rows_parents",
            ":rows_parent",
            "look.sql:1: unknown variable :rows_parent. Did you mean 'rows_parents'?",
        ),
        ("look.sql", "SELECT name", "SELECT nmae", "look.sql:2: no such column: nmae"),
        ("look.sql", "FROM parents", "FROM parrents", "look.sql:2: no such table: parrents"),
    ],
)
def test_a_fault_is_named_with_its_place_and_remedy(folder, file, old, new, fault):
    change(folder, file, old, new)
    found = faults(folder)
    assert any(text.startswith(fault) for text in found), found


def test_several_faults_in_several_files_are_named_at_once(folder):
    change(folder, "workload.toml", "weight = 2.5", "weight = -1")
    change(folder, "workload.toml", '"text"', '"txet"')
    change(folder, "workload.toml", "[size]", "[sise]")
    change(
        folder, "schema.sql", "CREATE INDEX by_name ON parents (name);", "CREATE INDEX by_name ON parents;;\nVACUUM;"
    )
    change(folder, "look.sql", "SELECT name", "\\sett a 1\nSELECT NOW(), name")
    found = faults(folder)
    for place in (
        "workload.toml:28:",
        "workload.toml:16:",
        "workload.toml:8:",
        "schema.sql:9:",
        "look.sql:2:",
        "look.sql:3:",
    ):
        assert any(text.startswith(place) for text in found), (place, found)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("missing", ["workload.toml", "schema.sql", "look.sql"])
def test_a_missing_file_is_named(folder, missing):
    (folder / missing).unlink()
    assert any(text.startswith(f"{missing}: is missing") for text in faults(folder))


def test_an_override_for_an_engine_that_is_none_is_named(folder):
    (folder / "schema.mysq.sql").write_text(SCHEMA, encoding="utf-8")
    assert faults(folder) == ("schema.mysq.sql: unknown engine 'mysq'. Did you mean 'mysql'?",)


def test_an_override_with_other_columns_is_named(folder):
    (folder / "schema.mysql.sql").write_text(SCHEMA.replace("line", "lines"), encoding="utf-8")
    assert faults(folder) == ("schema.mysql.sql:2: table children has other columns than in schema.sql",)


def test_a_path_without_a_folder_is_a_fault_of_the_folder(tmp_path):
    assert "is not a folder" in faults(tmp_path / "nowhere")[0]


def test_a_name_that_is_no_workload_is_named_with_a_hint():
    with refused(UnknownName, "unknown-name-near", near="order-entry", found="order-entri", known=Part("order-entry")):
        load("order-entri", dialects())


def test_a_copy_of_a_built_in_folder_is_a_workload_of_ones_own(tmp_path):
    built_in = Path(tdelta.workloads.__file__).parent / "order_entry"
    mine = shutil.copytree(built_in, tmp_path / "mine")
    assert load(f"{mine}/", dialects()) == load("order-entry", dialects())
