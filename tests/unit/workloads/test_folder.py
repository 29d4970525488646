import shutil
from pathlib import Path

import pytest

import tdelta.workloads
from support.data import DATA, text_of
from support.refused import Coded, Part, check_messages, coded, has, refused
from tdelta.engines.registry import dialects
from tdelta.errors import UnknownName, WorkloadError
from tdelta.messages import Refusal
from tdelta.workloads import load

TOML, SCHEMA, LOOK = (text_of(f"workloads/mine/{name}") for name in ("workload.toml", "schema.sql", "look.sql"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATA / "workloads" / "mine", tmp_path / "mine"))


def change(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / file
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def faults(folder: Path) -> tuple[Refusal, ...]:
    with pytest.raises(WorkloadError) as raised:
        load(folder, dialects())
    return raised.value.refusals


def toml(line: int, code: str, **parameters: object) -> Coded:
    return coded(code, where=f"workload.toml:{line}", **parameters)


def column(line: int, code: str, **parameters: object) -> Coded:
    return coded(code, where=Part(f"workload.toml:{line}: "), **parameters)


def test_a_sound_folder_is_read(folder):
    workload = load(str(folder), dialects())
    assert (workload.name, workload.version, workload.fixed_bytes) == ("mine", 1, 0)
    assert workload.rows(2) == {"parents": 20, "children": 60}
    assert [table.primary_key for table in workload.tables] == [("id",), ("parent_id", "line")]
    assert workload.scripts() == {"look": {"weight": 2.5, "text": LOOK, "writes": False}}
    assert workload.scale_for(5000) == 5
    assert workload.plan(1)["tables"][1]["columns"] == [
        {"name": "parent_id", "distribution": "parent", "table": "parents", "fanout": 3},
        {"name": "line", "distribution": "line", "fanout": 3},
        {"name": "born", "distribution": "timestamp", "start": 86400, "end": 172800, "null_share": 0.5},
    ]


def test_an_override_replaces_the_generic_schema_for_its_engine_alone(folder):
    own = SCHEMA.replace("VARCHAR(9)", "VARBINARY(9)").replace("BIGINT", "INT")
    (folder / "schema.mysql.sql").write_text(own, encoding="utf-8")
    workload = load(folder, dialects())
    assert "VARBINARY(9)" in workload.tables_sql(dialects()["mysql"])[0]
    assert "VARCHAR(9)" in workload.tables_sql(dialects()["postgres"])[0]


INDEX = "CREATE INDEX by_name ON parents (name);"
SERIAL = '{ distribution = "serial" }'
TEXT = '"text", min = 1, max = 9'


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("version = 1", "version = [", toml(3, "invalid", kind="TOML")),
        ("version = 1", 'version = "1"', toml(2, "out-of-range", what="version", found="'1'")),
        ('title = "Mine"', 'titel = "Mine"', toml(3, "unknown", found="'titel'", hint=Part("'title'"), kind="key")),
        ('title = "Mine"', "", coded("missing", what="title", where="workload.toml")),
        ("version = 1", "version = 1\nspills = 1", toml(3, "out-of-range", what="spills", found="1")),
        ("bytes_per_scale = 1000", "", toml(8, "out-of-range", found="None", what="bytes_per_scale")),
        ("rows_per_scale = 10", "", toml(11, "out-of-range", what=Part("parents"), found="none")),
        ("rows_per_scale = 10", "rows_per_scale = 0", toml(12, "out-of-range", what="rows_per_scale", found="0")),
        ("rows_per_scale = 10", "rows = -1", toml(12, "out-of-range", what="rows", found="-1")),
        ("rows_per_scale = 10", "rows = 0", toml(22, "missing", what=Part("parent_id"))),
        ('table = "parents"', 'table = "parent"', toml(19, "unknown", found=Part("'parent'"), hint=Part("'parents'"))),
        ("count = 3", "count = 0", toml(19, "out-of-range", found="0", what="count")),
        ('"text"', '"txt"', toml(16, "unknown", found=Part("name"), hint=Part("'text'"))),
        ("min = 1", "minimum = 1", column(16, "missing", what=Part("text"))),
        ("min = 1", "minn = 1", column(16, "unknown", found=Part("text"), hint=Part("'min'"))),
        ("min = 1", "min = 10", column(16, "out-of-range", what="min", found=10, wanted=Part("max"))),
        ("min = 1", 'min = "1"', column(16, "out-of-range", what="min", found="'1'")),
        (
            TEXT,
            '"uniform", lo = 1, hi = 2',
            toml(16, "distribution-makes-other", column="name", distribution="uniform", found="integer", wanted="text"),
        ),
        (TEXT, '"ref", table = "parentz"', toml(16, "unknown", found=Part("name"), hint=Part("'parents'"))),
        (
            SERIAL,
            '{ distribution = "serial", null_share = 0.1 }',
            toml(15, "conflict", other=Part("id"), one="null_share"),
        ),
        ("null_share = 0.5", "null_share = 5", toml(24, "out-of-range", what=Part("born"), found="5")),
        (
            "name = { distribution",
            "nmae = { distribution",
            toml(16, "unknown", found=Part("nmae"), hint=Part("'name'")),
        ),
        ("line = { distribution", "born2 = { distribution", coded("missing", what=Part("line"), where="schema.sql:4")),
        (SERIAL, '{ distribution = "uniform", lo = 1, hi = 2 }', toml(22, "missing", what=Part("parent_id"))),
        ("weight = 2.5", "weight = 0", toml(28, "out-of-range", found="0", what="weight")),
        (
            "[transactions.look]",
            "[transactions.lock]",
            coded("file-missing", hint=Part("'look.sql'"), where="lock.sql"),
        ),
        ("[transactions.look]", "[transactions.Look-up]", toml(26, "out-of-range", found="'Look-up'", what="the name")),
        (
            INDEX,
            "CREATE INDEX by_name ON parents (nmae);",
            coded("database-says", said="no such column: nmae", where="schema.sql:8"),
        ),
        (INDEX, "CREATE TABLE more (id BIGINT);", coded("missing", what=Part("more"), where="schema.sql:8")),
        (
            INDEX,
            "DROP TABLE parents;",
            coded("unexpected", found="DROP TABLE", where="schema.sql:8", expected=Part("CREATE TABLE or")),
        ),
        (
            INDEX,
            "CREATE INDEX by_name ON parents (name)",
            coded("requires", where="schema.sql:8", what="this statement", needs="';' at its end"),
        ),
        ("born BIGINT,", "born IN INTEGER,", coded("invalid", where="schema.sql:2", kind="SQL")),
        (
            "born BIGINT,",
            "born BIGINT DEFAULT CURRENT_TIMESTAMP,",
            coded("reads-the-clock", what="CURRENT_TIMESTAMP", where="schema.sql:2"),
        ),
        ("TABLE parents", "TABLE parens", toml(11, "unknown", found="parents", hint=Part("'parens'"))),
        (
            ":rows_parents",
            ":rows_parent",
            coded("unknown", found=Part("rows_parent"), hint=Part("'rows_parents'"), where="look.sql:1"),
        ),
        ("SELECT name", "SELECT nmae", coded("database-says", said="no such column: nmae", where="look.sql:2")),
        ("FROM parents", "FROM parrents", coded("database-says", said="no such table: parrents", where="look.sql:2")),
    ],
)
def test_a_fault_is_named_with_its_place_and_remedy(folder, old, new, fault):
    (file,) = (path.name for path in folder.iterdir() if old in path.read_text(encoding="utf-8"))
    change(folder, file, old, new)
    found = faults(folder)
    assert has(found, fault), found


def test_several_faults_in_several_files_are_named_at_once(folder):
    change(folder, "workload.toml", "weight = 2.5", "weight = -1")
    change(folder, "workload.toml", '"text"', '"txet"')
    change(folder, "workload.toml", "[size]", "[sise]")
    change(folder, "schema.sql", INDEX, "CREATE INDEX by_name ON parents;;\nVACUUM;")
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
        assert any(one.text.startswith(place) for one in found), (place, found)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("missing", ["workload.toml", "schema.sql", "look.sql"])
def test_a_missing_file_is_named(folder, missing):
    (folder / missing).unlink()
    assert {one.parameters["where"] for one in faults(folder) if one.code.endswith("-missing")} == {missing}


def test_an_override_for_an_engine_that_is_none_is_named(folder):
    (folder / "schema.mysq.sql").write_text(SCHEMA, encoding="utf-8")
    check_messages(
        faults(folder), "unknown", found=Part("mysq"), hint=Part("'mysql'"), where="schema.mysq.sql", kind="engine"
    )


def test_engines_may_share_a_file(folder):
    (folder / "rebuild.mariadb+mysql.sql").write_text("OPTIMIZE TABLE lines;", encoding="utf-8")
    rebuilds = load(folder, dialects()).rebuilds
    assert rebuilds["mariadb"] == rebuilds["mysql"] == ("OPTIMIZE TABLE lines",)


def test_an_override_with_other_columns_is_named(folder):
    (folder / "schema.mysql.sql").write_text(SCHEMA.replace("line", "lines"), encoding="utf-8")
    check_messages(faults(folder), "columns-otherwise", table="children", where="schema.mysql.sql:2")


def test_a_path_without_a_folder_is_a_fault_of_the_folder(tmp_path):
    check_messages(faults(tmp_path / "nowhere"), "no-folder", where=tmp_path / "nowhere")


def test_a_name_that_is_no_workload_is_named_with_a_hint():
    with refused(UnknownName, "unknown", found=Part("order-entri"), hint=Part("order-entry")):
        load("order-entri", dialects())


def test_a_copy_of_a_built_in_folder_is_a_workload_of_ones_own(tmp_path):
    built_in = Path(tdelta.workloads.__file__).parent / "order_entry"
    mine = shutil.copytree(built_in, tmp_path / "mine")
    assert load(f"{mine}/", dialects()) == load("order-entry", dialects())
