import contextlib
import shlex
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from shutil import which
from types import MappingProxyType
from typing import Any

import pytest

from support.codes import cautions, check_refused, details, messages
from support.refused import has
from support.restoring import RestoredRuns
from support.running import Answered, Place, require

from .own import ROOT_PASSWORD, install, root, running

SHORT = (
    *("--engine", "mariadb", "--scope", "data", "--no-aa", "--no-bb", "--trial-time", "0.1s"),
    *("--blocks", "2", "--rounds", "1..1", "--max-time", "240s"),
)
ROWS = 5000
SHOP = (
    "CREATE SCHEMA shop",
    "USE shop",
    "CREATE TABLE shop.customers (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(80) NOT NULL, KEY by_name (name))",
    "CREATE TABLE shop.`line items` (customer INT NOT NULL, n SMALLINT NOT NULL, note TEXT, stamped TIMESTAMP(6),"
    " PRIMARY KEY (customer, n), FOREIGN KEY (customer) REFERENCES shop.customers (id))",
    f"INSERT INTO shop.customers (id, name) SELECT seq, concat('aé', seq) FROM seq_1_to_{ROWS}",
    f"INSERT INTO shop.`line items` SELECT seq, seq MOD 5, 'a note', now() FROM seq_1_to_{ROWS}",
    "CREATE PROCEDURE rename_customer(IN wanted INT)"
    " UPDATE customers SET name = concat('bé', wanted) WHERE id = wanted",
    "CREATE TRIGGER stamps BEFORE UPDATE ON `line items` FOR EACH ROW SET NEW.stamped = now(6)",
)


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require(which("mariadbd") and which("mariadb-dump"), "apt-get install mariadb-server")
    base = tmp_path_factory.mktemp("dumped")
    file = base / "shop.sql"
    with running(install(base), base / "p") as server, contextlib.closing(root(server)) as session:
        for statement in SHOP:
            session.run(statement)
        with file.open("wb") as written:
            subprocess.run(
                ["mariadb-dump", "--no-defaults", "--routines", "-u", "root", "-S", str(server.socket), "shop"],
                env={"MYSQL_PWD": ROOT_PASSWORD, "PATH": "/usr/bin:/bin"},
                stdout=written,
                check=True,
                timeout=60.0,
            )
    return file


def restoring(dump: Path) -> str:
    return f"mariadb --no-defaults -u {{user}} -S {{socket}} {{database}} < {shlex.quote(str(dump))}"


class TestMariadbRestoredRuns(RestoredRuns):
    short = SHORT
    facts = MappingProxyType({"restored": True, "proposed": True, "tables": 2, "rows": 2 * ROWS, "page_size": 16384})

    @pytest.fixture(scope="class")
    @classmethod
    def command(cls, dump: Path) -> str:
        return restoring(dump)

    def check_rows_after(self, answered: Answered, _check: Mapping[str, Any]) -> None:
        """A trigger stamps rows with the time."""
        assert has(details(answered.document, "rows-after"), "rows-after-not-tables", tables="line items")

    def test_the_command_is_repeated_and_what_is_proposed_is_said(self, answered: Answered, dump: Path) -> None:
        assert answered.document["settings"]["database"]["size_bytes"] > ROWS * 20
        assert shlex.quote(restoring(dump)) in answered.document["settings"]["repeat"]
        assert cautions(answered.document, "proposed-workload")


def test_the_proposal_is_written_and_given_back_with_statements_of_the_engines(dump: Path, tmp_path: Path) -> None:
    place = Place(tmp_path)
    written = place.tdelta("run", *SHORT, "--restore", restoring(dump), "--write-workload", "mine", "--json")
    assert written.code == 0, written.err
    assert {table["name"] for table in written.document["tables"]} == {"customers", "line items"}
    folder = tmp_path / "mine"
    (folder / "read_customers.sql").write_text(
        "\\set id random(:min_customers, :max_customers)\nSELECT `name` FROM `customers` WHERE `id` = :id;\n"
    )
    (folder / "update_customers.sql").write_text(
        "\\set id random(:min_customers, :max_customers)\nBEGIN;\n\\raw writes\nCALL rename_customer(:id);\n"
        "\\raw into name\nSELECT name FROM customers IGNORE INDEX FOR JOIN (by_name) WHERE id = :id \\gset it_\n"
        "SELECT id FROM customers WHERE name = :it_name;\nCOMMIT;\n"
    )
    given = place.tdelta("run", *SHORT, "--restore", restoring(dump), "--workload", "mine", "--dry-run", "--json")
    assert given.code == 0, given.err
    assert any("`name`" in one["script"] for one in given.document["transactions"])


@pytest.mark.parametrize(
    ("command", "said"), [("echo broken >&2; exit 3", "restore-failed"), ("true", "nothing-restored")]
)
def test_a_dump_that_is_not_restored_is_told_and_nothing_stays(place: Place, command: str, said: str) -> None:
    require(which("mariadbd"), "apt-get install mariadb-server")
    check_refused(place.tdelta("run", "--json", *SHORT, "--restore", command), said)
    assert list(place.twins.iterdir()) == []


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("option", ["ENCRYPTED=NO", "ENCRYPTED=YES", "`ENCRYPTED`=YES `ENCRYPTION_KEY_ID`=2"])
def test_a_dump_that_says_which_tables_are_encrypted_is_refused_with_a_remedy_that_helps(
    place: Place, tmp_path: Path, option: str
) -> None:
    require(which("mariadbd"), "apt-get install mariadb-server")
    table = f"CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL) ENGINE=InnoDB {option};"
    (tmp_path / "dump.sql").write_text(f"{table}\nINSERT INTO t SELECT seq, seq FROM seq_1_to_1000;\n")
    dry = ("run", "--json", *SHORT, "--dry-run", "--restore")
    ran = place.tdelta(*dry, restoring(tmp_path / "dump.sql"))
    check_refused(ran, "dump-encrypts", options="ENCRYPTED and ENCRYPTION_KEY_ID")
    remedy = next(str(one.parameters["remedy"]) for one in messages(ran.document["refusals"]))
    client = "mariadb -u {user} -S {socket} {database}"
    mended = place.tdelta(*dry, f"{remedy} < {shlex.quote(str(tmp_path / 'dump.sql'))} | {client}")
    assert mended.code == 0, mended.err
    assert list(place.twins.iterdir()) == []


def test_a_dry_run_ends_with_the_time_of_its_run(place: Place) -> None:
    require(which("mariadbd"), "apt-get install mariadb-server")
    began = time.monotonic()
    ran = place.tdelta("run", "--json", *SHORT[:-1], "8s", "--dry-run", "--restore", "sleep 300")
    check_refused(ran, "time-too-short")
    assert time.monotonic() - began < 60.0
    assert list(place.twins.iterdir()) == []


def test_a_decision_plans_workloads_and_the_conversion_on_the_rows_of_a_dump(dump: Path, tmp_path: Path) -> None:
    place = Place(tmp_path)
    document = place.tdelta(
        "decide", "--json", "--dry-run", "--engine", "mariadb", "--restore", restoring(dump)
    ).document
    own = {one["question"]: one["has_own_rows"] for one in document["runs"]}
    assert {name for name, is_own in own.items() if is_own} >= {"workload", "encrypt", "rate", "cache"}
    assert {name for name, is_own in own.items() if not is_own} == {"backup", "restart", "spill", "replication"}
    assert list(place.twins.iterdir()) == []
