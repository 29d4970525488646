"""HammerDB's jobs database: read as it is, and never run."""

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from support.refused import Coded, Part, coded, has
from tdelta.importers.hammerdb import IMPORTERS
from tdelta.importers.hammerdb import database as module
from tdelta.importers.hammerdb.database import together
from tdelta.importers.hammerdb.figures import NEW_ORDERS

from .given import FIXTURES, faulty, figures, read, series, summaries, written

SQL = (Path(__file__).parent / "hammer.sql").read_text(encoding="utf-8")
TWO_USERS = (("threads", 2),)


def made(folder: Path, *further: str, sql: str = SQL, name: str = "hammer.DB") -> Path:
    """A jobs database, with further statements behind the usual ones."""
    path = folder / name
    with closing(sqlite3.connect(path)) as database:
        database.executescript(sql + "".join(further))
        database.commit()
    return path


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return list(database.iterdump())


def test_the_fixture_is_what_its_sql_makes(tmp_path: Path):
    assert dump(made(tmp_path)) == dump(FIXTURES / "hammerdb/hammer.DB")


def test_jobs_are_runs_in_the_order_of_their_start_and_tproc_h_is_none():
    found = figures(read(IMPORTERS, FIXTURES / "hammerdb/hammer.DB"))
    assert {(group.run, group.transaction): value for group, value in found.items()} == {
        ("1.1", NEW_ORDERS): 2000,
        ("1.1", "all"): 4650,
        ("1.2", NEW_ORDERS): 2136,
        ("1.2", "all"): 4973,
    }
    assert {group.levels for group in found} == {TWO_USERS}


def test_the_counter_is_read_within_the_measured_minutes():
    (found,) = series(read(IMPORTERS, FIXTURES / "hammerdb/hammer.DB"))
    assert found.values == (5000, 5100, 4900, 5010, 4990)
    assert found.group.run == "1.2"
    assert has(found.origin.cautions, "left-out", what=Part("1"))


def test_a_summary_of_all_users_is_taken_as_it_is():
    found = [it for it in read(IMPORTERS, FIXTURES / "hammerdb/hammer.DB") if it.group.run == "1.2"]
    order = summaries(found)["NEWORD"]
    assert (order.count, order.mean, order.sd) == (90210, 2.731, 1.57)
    assert order.quantiles[0.75] == 3.2


def test_a_summary_of_the_last_user_alone_is_put_together_from_all():
    found = [it for it in read(IMPORTERS, FIXTURES / "hammerdb/hammer.DB") if it.group.run == "1.1"]
    order = summaries(found)["NEWORD"]
    assert (order.count, order.mean, order.sd, order.quantiles) == (4000, 5.5, None, {})
    assert has(order.origin.cautions, "put-together")


def test_users_without_a_summary_are_put_together_and_damaged_rows_are_not_hidden():
    good = {"procname": "SLEV", "calls": 10, "min_ms": 1.0, "avg_ms": 2.0, "max_ms": 4.0, "summary": 0}
    rows, told = together([good, {**good, "calls": 30, "avg_ms": 4.0}])
    assert rows["SLEV"]["avg_ms"] == 3.5
    assert told
    bad = {**good, "avg_ms": "slow"}
    assert together([good, bad])[0]["SLEV"] is bad


def test_a_packed_database_is_read_from_memory(tmp_path: Path):
    packed = written(tmp_path, gzip.compress((FIXTURES / "hammerdb/hammer.DB").read_bytes()), "hammer.DB.gz")
    assert len(read(IMPORTERS, packed)) == len(read(IMPORTERS, FIXTURES / "hammerdb/hammer.DB"))


def test_the_file_is_not_touched(tmp_path: Path):
    path = made(tmp_path)
    before = path.read_bytes()
    path.chmod(0o444)
    read(IMPORTERS, path)
    assert path.read_bytes() == before
    assert [it.name for it in tmp_path.iterdir()] == ["hammer.DB"]


def test_a_table_without_newer_columns_is_read(tmp_path: Path):
    older = "".join(f"ALTER TABLE JOBTIMING DROP COLUMN {name};" for name in ("p75_ms", "p25_ms"))
    assert summaries(read(IMPORTERS, made(tmp_path, older)))["NEWORD"].quantiles == {0.5: 2.52, 0.95: 5.31, 0.99: 7.9}


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "DROP TABLE JOBTIMING; CREATE VIEW JOBTIMING AS SELECT * FROM JOBMAIN;",
            coded("unexpected", expected=Part("JOBTIMING"), where="hammer.DB"),
        ),
        (
            "DROP TABLE JOBTCOUNT; CREATE VIEW JOBTCOUNT AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r)"
            " SELECT x AS jobid, x AS counter, 'tpm' AS metric, x AS timestamp FROM r;",
            coded("unexpected", expected=Part("JOBTCOUNT"), where="hammer.DB"),
        ),
        (
            "DROP TABLE JOBTCOUNT; CREATE TABLE JOBTCOUNT(jobid TEXT, metric TEXT, timestamp TEXT,"
            " counter INTEGER AS (length(jobid)));",
            coded("unexpected", expected=Part("JOBTCOUNT"), where="hammer.DB"),
        ),
        (
            "DROP TABLE JOBTCOUNT; CREATE VIRTUAL TABLE JOBTCOUNT USING fts5(jobid, counter);",
            coded("unexpected", expected=Part("JOBTCOUNT"), where="hammer.DB"),
        ),
        ("DROP TABLE JOBOUTPUT;", coded("missing", what=Part("JOBOUTPUT"), where="hammer.DB")),
        (
            "DROP TABLE JOBTCOUNT; CREATE TABLE JOBTCOUNT(jobid, other);",
            coded("missing", what=Part("jobid, counter, metric, timestamp"), where="hammer.DB"),
        ),
    ],
)
def test_what_is_no_plain_table_is_refused_and_the_others_are_read(tmp_path: Path, statement: str, said: Coded):
    if "fts5" in statement and not _has_fts5():
        pytest.skip("this SQLite has no virtual table module fts5")
    observations, fault = faulty(IMPORTERS, made(tmp_path, statement))
    assert has(fault, said), fault
    assert observations


def _has_fts5() -> bool:
    with closing(sqlite3.connect(":memory:")) as database:
        return bool(database.execute("SELECT sqlite_compileoption_used('ENABLE_FTS5')").fetchone()[0])


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "INSERT INTO JOBTCOUNT VALUES ('B2', 'many', 'tpm', '2026-11-20 08:00:06');",
            coded(
                "unexpected",
                found=Part("'2026-11-20 08:00:06'"),
                where="hammer.DB",
                expected=Part("a time and a count in"),
            ),
        ),
        (
            "INSERT INTO JOBTCOUNT VALUES ('B2', 1, 'tpm', x'00ff');",
            coded(
                "unexpected",
                found=Part("\"b'\\\\x00\\\\xff'\""),
                where="hammer.DB",
                expected=Part("a time and a count in"),
            ),
        ),
        (
            "INSERT INTO JOBOUTPUT VALUES ('B2', 1, 'TEST RESULT : System achieved nothing');",
            coded(
                "unexpected",
                found="'TEST RESULT : System achieved nothing'",
                where="hammer.DB",
                expected=Part("System achieved N"),
            ),
        ),
        (
            "INSERT INTO JOBTIMING(jobid,procname,calls,min_ms,avg_ms,max_ms,summary)"
            " VALUES ('B2','SLEV','x',1,2,3,1);",
            coded("unexpected", expected=Part("'SLEV'"), where="hammer.DB"),
        ),
    ],
)
def test_what_is_no_figure_is_named_and_the_rest_is_read(tmp_path: Path, statement: str, said: Coded):
    observations, fault = faulty(IMPORTERS, made(tmp_path, statement))
    assert has(fault, said), fault
    assert observations


def test_a_procedures_name_is_taken_without_what_stands_around_it(tmp_path: Path):
    plain = {it.group.transaction for it in read(IMPORTERS, made(tmp_path, name="usual.DB"))}
    odd = made(tmp_path, "UPDATE JOBTIMING SET procname = procname || char(13, 13);")
    assert {it.group.transaction for it in read(IMPORTERS, odd)} == plain


@pytest.mark.parametrize("kept", [0.5, 0.9])
def test_a_database_that_was_cut_off_is_refused_without_a_traceback(tmp_path: Path, kept: float):
    content = (FIXTURES / "hammerdb/hammer.DB").read_bytes()
    path = written(tmp_path, content[: round(kept * len(content))], "cut.DB")
    assert has(faulty(IMPORTERS, path)[1], "unexpected", where="cut.DB")


def test_a_database_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rows = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r LIMIT 50000) "
    path = made(tmp_path, f"INSERT INTO JOBTCOUNT {rows} SELECT 'B2', 1, 'tpm', '2026-11-20 08:00:06' FROM r;")
    monkeypatch.setattr(module, "MOST_STEPS", 200_000)
    assert has(faulty(IMPORTERS, path)[1], "unexpected", where="hammer.DB")


def test_more_rows_than_are_held_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(module.MOST_ROWS, "JOBTCOUNT", 5)
    assert has(faulty(IMPORTERS, made(tmp_path))[1], "too-many", most=5, what=Part("JOBTCOUNT"), where="hammer.DB")


def test_a_database_without_results_says_so(tmp_path: Path):
    empty = "DELETE FROM JOBOUTPUT; DELETE FROM JOBTCOUNT; DELETE FROM JOBTIMING;"
    assert has(
        faulty(IMPORTERS, made(tmp_path, empty))[1], "missing", where="hammer.DB", what="a TPROC-C job with results"
    )
