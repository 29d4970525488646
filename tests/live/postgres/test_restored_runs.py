import contextlib
import os
import shlex
import subprocess
from pathlib import Path
from shutil import which
from types import MappingProxyType

import pytest

from support.own_scripts import write_workload
from support.restoring import RestoredRuns
from support.running import Place, require

from .own import ROOT_PASSWORD, install, programs, root, running

SHORT = (
    *("--engine", "postgres", "--no-aa", "--no-bb", "--trial-time", "0.1s", "--blocks", "2"),
    *("--rounds", "1..1", "--max-time", "240s"),
)
ROWS = 5000
SHOP = (
    "CREATE TABLE customers (id INT PRIMARY KEY, name TEXT NOT NULL)",
    'CREATE TABLE "line items" (customer INT REFERENCES customers, n SMALLINT, note TEXT, PRIMARY KEY (customer, n))',
    "CREATE PROCEDURE rename_customer(wanted INT, INOUT renamed INT) LANGUAGE plpgsql AS $$BEGIN UPDATE customers"
    " SET name = 'bé' || wanted WHERE id = wanted; SELECT id INTO renamed FROM customers WHERE id = wanted; END$$",
    f"INSERT INTO customers SELECT i, 'aé' || i FROM generate_series(1, {ROWS}) i",
    f"""INSERT INTO "line items" SELECT i, i % 5, 'a note' FROM generate_series(1, {ROWS}) i""",
)


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require(programs(), "apt-get install postgresql")
    require(which("gocryptfs"), "apt-get install gocryptfs")
    base = tmp_path_factory.mktemp("dumped")
    file = base / "shop.sql"
    with running(install(base), base / "p") as server:
        with contextlib.closing(root(server, "postgres")) as session:
            for statement in SHOP:
                session.run(statement)
        where = ("-h", str(server.sockets), "-p", str(server.port), "-U", "postgres", "-d", "postgres")
        subprocess.run(
            ["pg_dump", "--no-owner", f"--file={file}", *where],
            env={**os.environ, "PGPASSWORD": ROOT_PASSWORD},
            check=True,
            timeout=60.0,
        )
    return file


def restoring(dump: Path) -> str:
    return f"psql -X -q -1 -v ON_ERROR_STOP=1 -f {shlex.quote(str(dump))}"


class TestPostgresRestoredRuns(RestoredRuns):
    short = SHORT
    facts = MappingProxyType({"restored": True, "tables": 2, "rows": 2 * ROWS, "page_size": 8192})

    @pytest.fixture(scope="class")
    @classmethod
    def command(cls, dump: Path) -> str:
        return restoring(dump)


def test_statements_that_only_the_engine_reads_are_tried_on_what_was_restored(dump: Path, tmp_path: Path) -> None:
    scripts = {
        "rename": r"""
\set id random(1, :rows_customers)
\raw writes into renamed
CALL rename_customer(:id, 0) \gset it_
SELECT name FROM customers WHERE id = :it_renamed;
""",
        "sample": r"""
\set id random(1, :rows_customers)
\raw
SELECT id FROM customers TABLESAMPLE SYSTEM (1) REPEATABLE (:id) ORDER BY id;
""",
    }
    write_workload(tmp_path / "mine", scripts)
    asked = ("--restore", restoring(dump), "--workload", "mine", "--dry-run", "--json")
    ran = Place(tmp_path).tdelta("run", *SHORT, *asked)
    assert ran.code == 0, ran.err
    assert {one["name"] for one in ran.document["transactions"]} == scripts.keys()
