import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.data import text_of
from support.refused import Part, check_messages, refused
from support.restoring import check_choices
from support.running import require
from tdelta.engines.postgres.catalog import PostgresCatalog
from tdelta.engines.postgres.profile import PROFILE
from tdelta.engines.postgres.server import client_target
from tdelta.engines.server.catalog import Described, describe
from tdelta.engines.server.restore import RestoreTarget, restore
from tdelta.engines.server.sessions import asking
from tdelta.errors import RestoreFault
from tdelta.workloads.database import ColumnSample, DatabaseColumn, IndexColumn
from tdelta.workloads.keys import key_sql
from tdelta.workloads.proposal import Proposal, TransactionKind, propose

from .own import ROOT_PASSWORD, Server, install, programs, root, running

DUMP = text_of("dumps/postgres.sql")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    require(programs(), "apt-get install postgresql")
    base = tmp_path_factory.mktemp("restore")
    with running(install(base), base / "p") as found:
        yield found


@pytest.fixture
def target(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RestoreTarget]:
    monkeypatch.setenv("PGPASSWORD", "the user's own, of another server")
    (tmp_path / "passwords").write_text(f"*:*:*:*:{ROOT_PASSWORD}\n")
    (tmp_path / "passwords").chmod(0o600)
    (tmp_path / "dump.sql").write_text(DUMP)
    with contextlib.closing(root(server, "postgres")) as asked:
        asked.run("CREATE DATABASE twin")
        yield client_target(server.sockets / f".s.PGSQL.{server.port}", "postgres", "twin", tmp_path, server.port)
        asked.run("DROP DATABASE twin WITH (FORCE)")


def options(server: Server) -> dict[str, object]:
    socket = server.sockets / f".s.PGSQL.{server.port}"
    whom = {"protocol": "postgres", "user": "postgres", "password": ROOT_PASSWORD, "database": "twin"}
    return {**whom, "socket": str(socket), "port": server.port}


@pytest.fixture
def described(server: Server, target: RestoreTarget) -> Described:
    restore("PGPASSFILE={folder}/passwords psql -X -q -v ON_ERROR_STOP=1 -f {folder}/dump.sql", target, 60.0)
    with contextlib.closing(root(server, "twin")) as asked:
        found = describe(PostgresCatalog(), asking(asked), "public")
        assert found == describe(PostgresCatalog(), asking(asked), "public")
    return found


def test_a_dump_is_restored_and_described(described: Described) -> None:
    codes, customers, items, loose, parts = described.database.tables
    assert [table.name for table in described.database.tables] == ["codes", "customers", "line items", "loose", "parts"]
    assert {"seen", "customers", "by_name"} <= described.database.names
    check_messages(described.left_out, "tables-of-other-schema", tables=1, other="other", schema="public")
    assert described.types["customers"]["mail"] == "character varying(80)"

    assert (customers.rows, customers.lowest, customers.highest, customers.is_dense) == (4000, 1, 4000, True)
    assert customers.key is not None
    assert (customers.key.names, customers.key.is_integer) == (("id",), True)
    assert customers.columns[4] == DatabaseColumn("half", 0, is_virtual=False, is_generated=True)
    indexes = {index.name: index for index in customers.indexes}
    assert set(indexes) == {"by_name", "by_loud", "by_some", "by_hash", "customers_mail_key"}
    assert [name for name, index in indexes.items() if index.is_partial] == ["by_hash", "by_some"]
    assert indexes["by_loud"].columns == (IndexColumn(None), IndexColumn("name"))
    assert indexes["customers_mail_key"].is_unique
    assert customers.size_bytes >= 4000 * 20
    assert 850 < indexes["by_name"].distinct < 1150

    assert items.key is not None
    assert (items.key.columns, items.key.is_integer) == ((IndexColumn("customer"), IndexColumn("n")), False)
    assert (items.rows, items.foreign_key_columns) == (100, {"customer"})
    assert items.samples == (ColumnSample("note", 100, 0, 0, texts=100, changing_texts=0, characters=300),)
    assert codes.key is not None
    assert codes.key.names == ("code",)
    assert codes.samples == (ColumnSample("word", 2, 0, 0, texts=1, changing_texts=1, characters=2),)
    assert loose.key is None
    assert (parts.rows, parts.size_bytes >= 8192) == (50, True)  # of all its partitions


@pytest.fixture
def proposal(described: Described, server: Server) -> Proposal:
    """Proposed, with its tables of keys filled."""
    proposed = propose(described.database, PROFILE.dialect)
    with contextlib.closing(root(server, "twin")) as asked:
        for statement in (sql for key in proposed.keys for sql in key_sql(key, described.database, PROFILE.dialect)):
            asked.run(statement)
    return proposed


def test_a_proposal_is_made_of_it_that_runs_and_whose_writes_write(
    described: Described, proposal: Proposal, server: Server
) -> None:
    names = {choice.name for choice in proposal.choices}
    assert {"read_customers", "range_customers", "index_customers", "update_customers"} <= names
    assert {"read_line_items", "range_line_items", "read_codes", "update_codes"} <= names
    check_choices(options(server), described.database, proposal)


def test_a_range_over_a_key_of_several_columns_follows_the_key(proposal: Proposal, server: Server) -> None:
    (script,) = next(choice.scripts for choice in proposal.choices if choice.name == "range_line_items")
    statement = script.splitlines()[-1].replace(":n", "90")
    with contextlib.closing(root(server, "twin")) as asked:
        asked.run("SET enable_seqscan = off")  # a table of one page is read whole otherwise
        _, plan = asked.rows(f"EXPLAIN {statement.rstrip(';')}")
        assert "Index Cond: (ROW(customer, n) >= ROW($0, $1))" in str(plan)
        _, rows = asked.rows(statement.rstrip(";"))
        assert [row[0] for row in rows] == [str(number) for number in range(90, 101)]


def test_a_dump_that_fails_is_told_with_the_last_lines(target: RestoreTarget) -> None:
    command = "PGPASSFILE={folder}/passwords psql -X -v ON_ERROR_STOP=1 -c 'SELECT * FROM missing'"
    with refused(RestoreFault, "restore-failed", found=1, tail=Part('"missing"')):
        restore(command, target, 60.0)


def test_every_insert_and_every_update_of_money_works_as_it_is_prepared(
    server: Server, target: RestoreTarget, tmp_path: Path
) -> None:
    (tmp_path / "dump.sql").write_text(
        "CREATE TABLE a (id int PRIMARY KEY, balance numeric(15,2) NOT NULL);"
        "CREATE TABLE b (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, amount numeric);"
        "CREATE TABLE c (id smallserial PRIMARY KEY, v text);"
        "INSERT INTO a SELECT i, (i - 500) / 100.0 FROM generate_series(1, 1000) i;"
        "INSERT INTO b (amount) SELECT i FROM generate_series(1, 1000) i;"
        "INSERT INTO c (v) SELECT 'ab' || i FROM generate_series(1, 1000) i;"
    )
    restore("PGPASSFILE={folder}/passwords psql -X -q -v ON_ERROR_STOP=1 -f {folder}/dump.sql", target, 60.0)
    with contextlib.closing(root(server, "twin")) as asked:
        database = describe(PostgresCatalog(), asking(asked), "public").database
    proposed = propose(database, PROFILE.dialect)
    kinds = [choice.kind for choice in proposed.choices]
    assert (kinds.count(TransactionKind.UPDATE), kinds.count(TransactionKind.INSERT)) == (3, 3)
    check_choices(options(server), database, proposed)
