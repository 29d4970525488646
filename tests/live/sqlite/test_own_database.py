"""``tdelta run --database``: a database as users have it, measured on copies, and left exactly as it was."""

import contextlib
import json
import os
import re
import signal
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest

from support.codes import cautions, check_refused, details
from support.data import state
from support.refused import Coded, Part, check_messages, coded, has
from support.running import ONCE, Place, Ran, end, read_until, workers_left
from support.texts import has_no_answer
from tdelta.engines.sqlite.engine import WORKER, SqliteEngine, TwinSettings
from tdelta.engines.sqlite.user_file import CopiedTwins
from tdelta.errors import StorageFault
from tdelta.messages import Message
from tdelta.messages.checks import ROWS_AFTER, ROWS_BEFORE
from tdelta.processes import TwinFolder, Worker, WorkloadSpec
from tdelta.processes.workers import Refused, answered
from tdelta.session import RunRequest
from tdelta.session.run_plan import Source
from tdelta.session.staging import staged

from .own import CUSTOMERS, DETAILS_TABLE, SHOP_ROWS, SHOP_TABLES, left_open

BRIEF = ("--trial-time", "0.03s", "--blocks", "2", "--rounds", "2..2", "--max-time", "300s", "--no-bb")
KEY = "f00d" * 16
CIPHERS = list(SqliteEngine().ciphers)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """About 6 MB in 30 tables with foreign keys, indexes, triggers and a view, in WAL mode with rows in its log."""
    path = left_open(tmp_path_factory.mktemp("users") / "shop.db")
    assert 4_000_000 < path.stat().st_size < 10_000_000
    assert path.with_name("shop.db-wal").stat().st_size > 0
    return path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "users" / "small.db"
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT)")
        database.executemany("INSERT INTO t (x) VALUES (?)", ((f"row number {i}",) for i in range(2000)))
        database.commit()
    return path


def run(place: Place, database: Path, *options: str) -> Ran:
    return place.tdelta("run", "--json", *BRIEF, "--database", str(database), *options)


def answer(place: Place, database: Path, *options: str) -> Any:
    return run(place, database, *options).answer


def checks(document: Any) -> dict[str, str]:
    return {found["code"]: found["detail"] for found in document["validity"]}


def left_out(document: Any) -> list[Message]:
    return cautions(document, "transaction-left-out")


def mine(place: Place, *scripts: tuple[str, str], keys: str = "") -> Path:
    folder = place.base / "mine"
    folder.mkdir()
    head = f'name = "mine"\nversion = 1\ntitle = "Mine"\ndescription = "Ours."\n{keys}'
    listed = "".join(f'[transactions.{name}]\ntitle = "{name}"\nweight = 1\n' for name, _ in scripts)
    (folder / "workload.toml").write_text(head + listed, encoding="utf-8")
    for name, text in scripts:
        (folder / f"{name}.sql").write_text(text, encoding="utf-8")
    return folder


# The whole way


@dataclass(frozen=True)
class Measured:
    place: Place
    document: Any
    before: dict[str, tuple[bytes, int, int, int]]


@pytest.fixture(scope="module")
def measured(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    place, before = Place(tmp_path_factory.mktemp("measured")), state(shop.parent)
    found = Measured(place, answer(place, shop), before)
    assert state(shop.parent) == before
    return found


def test_a_database_is_measured_on_copies_and_left_exactly_as_it_was(measured: Measured) -> None:
    document, before = measured.document, measured.before
    assert set(before) == {"shop.db", "shop.db-wal", "shop.db-shm"}
    (primary,) = [verdict for verdict in document["verdicts"] if verdict["primary"]]
    assert primary["condition"] == {"cipher": "aes-256", "threads": 1}
    assert primary["baseline_value"] > 0 < primary["condition_value"]
    told = document["settings"]["database"]
    assert (told["file"], told["tables"], told["rows"], told["proposed"]) == ("shop.db", SHOP_TABLES, SHOP_ROWS, True)
    assert told["size_bytes"] == sum(len(before[name][0]) for name in ("shop.db", "shop.db-wal"))
    found = checks(document)
    check_messages(details(document, ROWS_BEFORE), "rows-same", source=Part("2"))
    check_messages(details(document, ROWS_AFTER), "rows-after-rounds", rounds=2)
    assert "page_count" in found["settings"]
    assert list(measured.place.twins.iterdir()) == []


def test_every_kind_of_transaction_is_proposed_and_run(measured: Measured) -> None:
    document = measured.document
    ran = {verdict["transaction"] for verdict in document["verdicts"]}
    tables = {"customers", "orders", "lines", "order_details_x_quoted_2", "logs"}
    assert {f"read_{table}" for table in tables} <= ran
    assert {"range_orders", "index_orders", "index_customers", "update_lines", "insert_orders"} <= ran
    assert not {"insert_customers", "insert_lines"} & ran
    # The trigger refuses one row in ten, so the copy of a row fails sooner or later.
    assert "insert_logs" not in ran
    dropped = [one for one in left_out(document) if one.parameters["transaction"] == "insert_logs"]
    check_messages(dropped, "transaction-left-out", fault=Part("too loud"))
    state = json.loads(measured.place.query("SELECT value FROM run_facts WHERE key = 'state'")[0][0])
    assert ran - {"all"} <= set(state["database"]["workload"])  # one that is drawn seldom may be in no trial


LOOK = f"""\
SELECT name AS found FROM customers WHERE id = {CUSTOMERS + 1} AND name = 'in the log only' \\gset
SELECT :found, :max_customers;
"""
DETAIL = """\
SELECT "a b" AS found FROM "Order Details; :x ""quoted"" (2)"
WHERE "select" = (SELECT k1 FROM tdelta_key_details WHERE n = :keys_details) \\gset
SELECT :found;
"""


def test_rows_that_are_in_the_log_only_and_sampled_keys_are_in_every_twin(place: Place, shop: Path) -> None:
    keys = f"[keys.details]\ntable = {json.dumps(DETAILS_TABLE)}\n"
    folder = mine(place, ("look", LOOK), ("detail", DETAIL), keys=keys)  # \\gset fails where it finds no row
    document = answer(place, shop, "--workload", str(folder), "--no-aa", *ONCE)
    assert document["settings"]["workload"] == "mine"
    assert not document["settings"]["database"]["proposed"]
    assert not cautions(document, "proposed-workload")
    assert document["errors"] == {}


RAW = """\
\\raw into id, hits
SELECT id, 'x' || x AS hits FROM t NOT INDEXED WHERE id = 1 + :op % 5 \\gset hit_
BEGIN;
\\raw
SAVEPOINT s;
\\raw writes into x
UPDATE t SET x = x WHERE id = :hit_id RETURNING x \\gset
\\raw
ROLLBACK TO s;
COMMIT;
SELECT :hit_hits, :x;
"""


def test_any_statement_of_sqlite_is_taken_raw_and_all_that_it_refuses_are_named_at_once(
    place: Place, small: Path
) -> None:
    folder = mine(place, ("raw", RAW))
    dry = ("run", "--dry-run", "--json", "--database", str(small), "--workload", str(folder))
    assert [one["name"] for one in place.tdelta(*dry).answer["transactions"]] == ["raw"]
    wrong = RAW.replace("AS hits", "AS hit").replace("SAVEPOINT s", "SAVPOINT s").replace("SET x = x", "SET y = x")
    (folder / "raw.sql").write_text(wrong, encoding="utf-8")
    lines = ("raw.sql:2", "raw.sql:5", "raw.sql:7")
    check_refused(place.tdelta(*dry), *(coded("database-says", where=line) for line in lines))


def test_a_written_proposal_is_edited_and_given_back_to_several_writers(place: Place, shop: Path) -> None:
    before = state(shop.parent)
    folder = place.base / "mine"
    wrote = place.tdelta("run", "--database", str(shop), "--write-workload", str(folder))
    assert wrote.code == 0, wrote.err
    assert str(folder) in "".join(wrote.out.split())  # wherever its lines are broken
    assert not place.store.exists()
    for script in folder.glob("*_logs.sql"):
        script.unlink()
    text = (folder / "workload.toml").read_text(encoding="utf-8")
    kept = [part for part in text.split("\n[") if "_logs]" not in part.splitlines()[0]]
    (folder / "workload.toml").write_text("\n[".join(kept), encoding="utf-8")
    document = answer(place, shop, "--workload", str(folder), "--vary", "threads=1,4", "--no-aa", *ONCE)
    primary = [verdict for verdict in document["verdicts"] if verdict["primary"]]
    assert [(v["condition"]["threads"], v["baseline"]["threads"]) for v in primary] == [(1, 1), (4, 4)]
    ran = {verdict["transaction"] for verdict in document["verdicts"]}
    assert "read_orders" in ran
    assert not [name for name in ran if name.endswith("_logs")]
    assert state(shop.parent) == before


@pytest.mark.parametrize("stage", ["examine: recovering", "checksum: the rows", "rebuild", "propose"])
def test_ctrl_c_while_a_database_is_staged_leaves_nothing(place: Place, shop: Path, stage: str) -> None:
    before = state(shop.parent)
    process = place.start("run", *BRIEF, "--database", str(shop))
    read_until(process, stage)
    ran = end(process, signal.SIGINT)
    assert (ran.code, has_no_answer(ran.out)) == (130, True)
    assert ran.err.splitlines()[-1] == "error: interrupted"
    assert workers_left(process.pid) == []
    assert list(place.twins.iterdir()) == []
    assert state(shop.parent) == before


def test_a_transaction_that_would_fill_the_disk_is_left_out_with_that_reason(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "blobs.db"
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)")
        db.execute("INSERT INTO t VALUES (1, zeroblob(50000000)), (2, zeroblob(1000))")
        db.commit()
    ran = place.tdelta("run", "--dry-run", "--json", "--database", str(path), "--max-time", "300s")
    assert ran.code in (0, 2), ran.err
    assert has(left_out(ran.document), "transaction-left-out", transaction="insert_t", fault_code="transaction-grows")


@contextlib.contextmanager
def sourced(folder: Path, database: Path, **options: Any) -> Iterator[Source]:
    request = RunRequest(database=database, directory=folder / "twins", store=folder / "runs.sqlite", **options)
    with staged(request, "r", lambda _event: None) as source:
        assert source is not None
        yield source


@pytest.mark.parametrize("cipher", CIPHERS)
@pytest.mark.parametrize(("page_size", "reserved_bytes"), [(1024, 80), (4096, 80), (2048, 100)])
def test_a_conversion_keeps_rows_numbers_encoding_and_versions(
    tmp_path: Path, cipher: str, page_size: int, reserved_bytes: int
) -> None:
    path = tmp_path / "users" / "kept.db"
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        for pragma in (
            "encoding = 'UTF-16le'",
            "auto_vacuum = 2",
            "page_size = 2048",
            "user_version = 7",
            "application_id = -9",
        ):
            database.execute(f"PRAGMA {pragma}")
        database.executescript(
            "CREATE TABLE bare (x); CREATE TABLE indexed (x); CREATE INDEX i ON indexed (x);"
            "CREATE TABLE kinds (id TEXT PRIMARY KEY, v) WITHOUT ROWID;"
            "INSERT INTO bare WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
            " SELECT i FROM n; INSERT INTO indexed SELECT x FROM bare;"
            "DELETE FROM bare WHERE x % 5 = 0; DELETE FROM indexed WHERE x % 5 = 0;"
            "INSERT INTO kinds VALUES ('n', NULL), ('i', 1), ('r', 1.0), ('t', 'ü' || char(0) || 'x'), ('b', x'00ff');"
        )  # fmt: skip
    engine, settings = SqliteEngine(), TwinSettings(cipher, page_size=page_size, reserved_bytes=reserved_bytes)
    with sourced(tmp_path, path) as source, TwinFolder(tmp_path / "twins", "run") as folder:
        made, twins = folder.file("load-0"), CopiedTwins(engine, folder, source.job(), WorkloadSpec((), {}))
        _, sums = twins.fill(engine, made, settings)
        assert sums == source.checksums
        with Worker(program=WORKER) as worker:
            worker.ask("open", **engine.reading(made, settings, twins.key(cipher)))
            names = (
                "page_size",
                "encoding",
                "auto_vacuum",
                "user_version",
                "application_id",
                "quick_check",
                "page_count",
            )
            queries = {name: f"PRAGMA {name}" for name in names}
            queries |= {"bare": "SELECT max(rowid) FROM bare", "indexed": "SELECT max(rowid) FROM indexed"}
            found = worker.ask("facts", queries=queries)
        pages = int(found.pop("page_count"))
        assert made.stat().st_size == pages * page_size
    assert found == {
        "page_size": str(page_size), "encoding": "UTF-16le", "auto_vacuum": "2", "user_version": "7",
        "application_id": "-9", "quick_check": "ok", "bare": "2400", "indexed": "2999",
    }  # fmt: skip
    assert source.constants["max_bare"] == 2400
    assert source.constants["max_indexed"] == 2999


def test_twins_of_all_ciphers_have_as_many_pages_where_they_share_a_reserve(tmp_path: Path, small: Path) -> None:
    engine = SqliteEngine()
    with sourced(tmp_path, small) as source, TwinFolder(tmp_path / "twins", "run") as folder:
        sizes = {}
        for cipher in CIPHERS:
            settings = TwinSettings(cipher, reserved_bytes=80)
            path = folder.file(f"load-{cipher}")
            CopiedTwins(engine, folder, source.job(), WorkloadSpec((), {})).fill(engine, path, settings)
            head = path.read_bytes()[:100]
            assert engine.shows_itself(path) is (cipher == "none")
            assert head[20] == 80 or cipher in ("sqlcipher",)  # its header is salt
            sizes[cipher] = path.stat().st_size
    assert len(set(sizes.values())) == 1, sizes


def test_no_answer_of_a_worker_holds_the_key_of_a_conversion_that_fails(tmp_path: Path, small: Path) -> None:
    step = {"sql": "", "is_keyed": True, "schema": None, "reserved_bytes": 0}
    with Worker(program=WORKER) as worker:
        worker.ask("open", **SqliteEngine().converting(small))
        for sql in (
            "ATTACH DATABASE '/nowhere/x.db' AS twin KEY :key",
            "PRAGMA rekey = :key nonsense",
            "SELECT :key.x",
        ):
            given = worker.ask("convert", steps=[{**step, "sql": sql}], key=KEY)
            with pytest.raises((Refused, StorageFault)) as raised:
                answered(given)
            assert KEY not in json.dumps(given) + str(raised.value)
            assert re.search(r"\(SQLite code \d+\)", str(raised.value))
        words = Path(f"/proc/{worker.pid}/cmdline").read_bytes() + Path(f"/proc/{worker.pid}/environ").read_bytes()
        assert KEY.encode() not in words


# Any database at all


def test_a_database_with_hostile_names_runs_through_the_load_loop(place: Place, tmp_path: Path) -> None:
    names = ["select", "a'b", 'a"b', "a;b", ":x", "--", "/* x", "数据 ü", "[a]", "{{a}}", "\\gset", "%s", "1"]
    path = tmp_path / "users" / "hostile.db"
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        for number, name in enumerate(names):
            quoted = '"' + name.replace('"', '""') + '"'
            key = ("INTEGER PRIMARY KEY", "TEXT PRIMARY KEY")[number % 2]
            database.execute(f'CREATE TABLE {quoted} ({quoted} {key}, "n" TEXT, "k1" TEXT, "{number}" TEXT)')
            database.executemany(
                f"INSERT INTO {quoted} VALUES (?, ?, ?, ?)",
                ((i if number % 2 == 0 else f"k{i}", f"text {i}", "x", "y" * (500 - number)) for i in range(1, 400)),
            )
            database.execute(f'CREATE INDEX "by {number}" ON {quoted} ("n")')
    document = answer(place, path, "--no-aa", *ONCE)
    ran = {verdict["transaction"] for verdict in document["verdicts"]}
    assert len([name for name in ran if name.startswith("read_")]) == 5
    assert not left_out(document)


@pytest.fixture(scope="module")
def peculiar(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A database by a link, with a virtual table, a function of its application's and rows that the clock writes.

    Returns the file, and the document of a run on it.
    """
    base = tmp_path_factory.mktemp("peculiar")
    path = base / "app.db"
    link = base / "link.db"
    link.symlink_to(path)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.create_function("mine", 1, lambda x: x, deterministic=True)
        for table in ("t", "u"):
            database.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, x TEXT)")
            database.executemany(f"INSERT INTO {table} (x) VALUES (?)", ((f"row number {i}",) for i in range(1000)))
        database.execute("CREATE VIRTUAL TABLE words USING fts5 (body)")
        database.execute("INSERT INTO words VALUES ('some text')")
        database.execute("CREATE TRIGGER own AFTER UPDATE ON u BEGIN SELECT mine(1); END")
        database.execute("CREATE TABLE audit (at TEXT DEFAULT CURRENT_TIMESTAMP, id INTEGER)")
        database.execute("CREATE TRIGGER stamps AFTER UPDATE ON t BEGIN INSERT INTO audit (id) VALUES (new.id); END")
        database.execute("CREATE TABLE steady (x TEXT)")
        database.commit()
    return path, answer(Place(base), link, "--no-aa", "--trial-time", "0.6s")


def test_a_link_is_followed_and_told(peculiar: tuple[Path, Any]) -> None:
    path, document = peculiar
    assert document["settings"]["database"]["file"] == "link.db"
    check_messages(cautions(document, "symbolic-link"), "symbolic-link", path=path)


def test_virtual_tables_that_the_library_knows_are_left_as_they_are(peculiar: tuple[Path, Any]) -> None:
    _, document = peculiar
    assert document["settings"]["database"]["tables"] == 4
    check_messages(cautions(document, "virtual-tables"), "virtual-tables", tables="words")


def test_a_function_of_the_applications_own_drops_what_needs_it_aloud(peculiar: tuple[Path, Any]) -> None:
    dropped = {"transaction": "update_u", "fault": Part("no such function: mine")}
    check_messages(left_out(peculiar[1]), "transaction-left-out", **dropped)


def test_a_trigger_that_stamps_rows_with_the_time_does_not_make_twins_differ(peculiar: tuple[Path, Any]) -> None:
    _, document = peculiar
    assert has(details(document, ROWS_AFTER), "rows-after-rounds", rounds=2)
    assert has(details(document, ROWS_AFTER), "rows-after-not-tables", tables="audit")
    check_messages(cautions(document, "nondeterministic-tables"), "nondeterministic-tables", tables="audit")


def schema_edited(path: Path, old: str, new: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA writable_schema = on")
        database.execute("UPDATE sqlite_schema SET sql = replace(sql, ?, ?)", (old, new))
        database.commit()


def test_a_table_of_an_unknown_module_is_refused_by_its_name(place: Place, small: Path) -> None:
    with contextlib.closing(sqlite3.connect(small)) as database:
        database.execute('CREATE VIRTUAL TABLE "my words" USING fts5 (body)')
        database.commit()
    schema_edited(small, "fts5", "spellfix99")
    check_refused(run(place, small), "extensions-missing", refused=Part("'my words': no such module: spellfix99"))
    assert list(place.twins.iterdir()) == []


def test_a_collation_of_the_applications_own_is_refused_by_its_name(place: Place, small: Path) -> None:
    with contextlib.closing(sqlite3.connect(small)) as database:
        database.create_collation("swedish", lambda a, b: (a > b) - (a < b))
        database.execute("CREATE TABLE sorted (x TEXT COLLATE swedish PRIMARY KEY)")
        database.execute("INSERT INTO sorted VALUES ('a'), ('b')")
        database.commit()
    check_refused(run(place, small), "copy-fails", said=Part("swedish"))


def encrypted(path: Path, cipher: str) -> None:
    with contextlib.closing(apsw.Connection(str(path))) as database:
        database.execute(f"PRAGMA cipher = '{cipher}'")
        database.execute("PRAGMA key = 'secret'")
        database.execute("CREATE TABLE t (x)")


def emptied(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in statements:
            database.execute(statement)


def damaged(path: Path) -> None:
    emptied(path, "CREATE TABLE t (x)", "CREATE INDEX i ON t (x)")
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executemany("INSERT INTO t VALUES (?)", ((f"{i:0100}",) for i in range(1000)))
        database.commit()
    content = bytearray(path.read_bytes())
    for page in range(8, 12):
        content[page * 4096 : page * 4096 + 400] = os.urandom(400)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: encrypted(path, "aes256cbc"), coded("unexpected", found=Part("SQLite3 Multiple Ciphers"))),
        (lambda path: encrypted(path, "sqlcipher"), coded("unexpected", found=Part("sqlcipher_export"))),
        (lambda path: emptied(path, "CREATE VIEW v AS SELECT 1"), coded("missing", what="a table")),
        (lambda path: emptied(path, "CREATE TABLE t (x)"), coded("no-rows")),
        (
            lambda path: emptied(path, "CREATE TABLE t (rowid, _rowid_, oid)", "INSERT INTO t VALUES (1, 2, 3)"),
            coded("nothing-proposed"),
        ),
        (damaged, coded("quick-check-fails")),
    ],
    ids=["multiple ciphers", "sqlcipher", "no table", "no rows", "no key", "damaged"],
)
def test_what_cannot_be_measured_is_refused_with_what_was_found(place: Place, make: Any, said: Coded) -> None:
    path = place.base / "users" / "app.db"
    path.parent.mkdir()
    make(path)
    before = state(path.parent)
    ran = run(place, path)
    check_refused(ran, said)
    assert str(path) in ran.err
    assert state(path.parent) == before
    assert not place.twins.exists() or list(place.twins.iterdir()) == []
    assert place.query("SELECT count(*) FROM runs") == [(0,)]


def test_a_check_that_needs_a_function_of_the_applications_is_told_with_its_table(tmp_path: Path) -> None:
    path = tmp_path / "checked.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.create_function("REGEXP", 2, lambda pattern, text: pattern in text, deterministic=True)
        database.execute("CREATE TABLE plates (id INTEGER PRIMARY KEY, plate TEXT CHECK (plate REGEXP 'x'))")
        database.execute("INSERT INTO plates VALUES (1, 'x1')")
        database.commit()
    check_refused(run(Place(tmp_path), path), "copy-fails", said=Part("REGEXP"), remedy=Part("of plates"))


def test_an_index_that_needs_a_function_of_the_applications_is_told_with_its_name(place: Place, small: Path) -> None:
    with contextlib.closing(sqlite3.connect(small)) as database:
        database.create_function("fold", 1, str.casefold, deterministic=True)
        database.execute("CREATE TABLE folded (x TEXT)")
        database.execute("CREATE INDEX by_fold ON folded (fold(x))")
        database.execute("INSERT INTO folded VALUES ('A')")
        database.commit()
    check_refused(run(place, small), "copy-fails", said=Part("fold"), remedy=Part("index by_fold"))
