import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.data import text_of
from support.processes import is_gone
from support.refused import Part, check_messages, has, refused
from support.restoring import check_choices
from support.running import require
from tdelta.engines.mariadb.profile import PROFILE
from tdelta.engines.server.catalog import Described, describe
from tdelta.engines.server.mysql_family import MySqlCatalog, client_target
from tdelta.engines.server.restore import RestoreTarget, restore
from tdelta.engines.server.sessions import asking
from tdelta.errors import RestoreFault
from tdelta.processes import signals
from tdelta.workloads.database import ColumnSample, DatabaseColumn, IndexColumn
from tdelta.workloads.keys import key_sql
from tdelta.workloads.proposal import Proposal, TransactionKind, propose

from .own import INSTALL, Server, install, programs, root, running

DUMP = text_of("dumps/mariadb.sql")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    require(programs(), INSTALL)
    base = tmp_path_factory.mktemp("restore")
    with running(install(base), base / "p", "--skip-networking=0") as found:
        yield found


@pytest.fixture
def target(server: Server, tmp_path: Path) -> Iterator[RestoreTarget]:
    with contextlib.closing(root(server)) as session:
        session.run("CREATE SCHEMA twin")
        session.run("CREATE USER twin@localhost")
        session.run("GRANT ALL ON twin.* TO twin@localhost")
        yield client_target(server.socket, "twin", "twin", tmp_path, server.port)
        session.run("DROP SCHEMA twin")
        session.run("DROP USER twin@localhost")


@pytest.fixture
def described(server: Server, target: RestoreTarget, tmp_path: Path) -> Described:
    (tmp_path / "dump.sql").write_text(DUMP)
    restore("cat {folder}/dump.sql | mariadb --no-defaults -S {socket} -u {user} {database}", target, 60.0)
    with contextlib.closing(root(server, database="twin")) as session:
        found = describe(MySqlCatalog(), asking(session), "twin")
        assert found == describe(MySqlCatalog(), asking(session), "twin")
    return found


def test_a_dump_is_restored_and_described(described: Described) -> None:
    codes, customers, items, loose = described.database.tables
    assert [table.name for table in described.database.tables] == ["codes", "customers", "line items", "loose"]
    assert {"seen", "old", "customers"} <= described.database.names
    check_messages(described.left_out, "table-left-out", table="old", why=Part("MyISAM"))
    assert described.types["customers"]["id"] == "bigint(20) unsigned"

    assert (customers.rows, customers.lowest, customers.highest, customers.is_dense) == (4000, 1, 4000, True)
    assert customers.key is not None
    assert (customers.key.names, customers.key.is_integer) == (("id",), True)
    assert customers.columns[4:] == (
        DatabaseColumn("loud", 0, is_virtual=True, is_generated=True),
        DatabaseColumn("half", 0, is_virtual=False, is_generated=True),
    )
    indexes = {index.name: index for index in customers.indexes}
    assert set(indexes) == {"by_name", "by_start", "mail", "words"}
    assert [name for name, index in indexes.items() if index.is_partial] == ["by_start", "words"]
    assert indexes["mail"].is_unique
    assert customers.size_bytes >= 4000 * 20

    assert items.key is not None
    assert (items.key.columns, items.key.is_integer) == ((IndexColumn("customer"), IndexColumn("n")), False)
    assert (items.rows, items.keyed_rows, items.foreign_key_columns) == (100, 100, {"customer"})
    assert items.samples == (ColumnSample("note", 100, 0, 0, texts=100, changing_texts=0, characters=300),)
    assert codes.key is not None
    assert codes.key.names == ("code",)  # InnoDB keeps rows in the order of such an index
    assert codes.samples == (ColumnSample("word", 2, 0, 0, texts=1, changing_texts=1, characters=7),)
    assert loose.key is None


def test_a_long_table_is_sampled_by_chance_the_same_way_each_time(described: Described) -> None:
    customers = described.database.tables[1]
    name, score = customers.samples[-1], customers.samples[0]
    assert (name.column, score.column) == ("name", "score")
    assert 850 < name.values < 1150
    assert name.texts == name.changing_texts == name.values
    assert score.reals in (score.values, score.values - 1)  # one row has 0, which a factor leaves as it is
    by_name = next(index for index in customers.indexes if index.name == "by_name")
    assert by_name.distinct == name.values


@pytest.fixture
def proposal(described: Described, server: Server) -> Proposal:
    """Proposed, with its tables of keys filled."""
    proposed = propose(described.database, PROFILE.dialect)
    with contextlib.closing(root(server, database="twin")) as session:
        for key in proposed.keys:
            for statement in key_sql(key, described.database, PROFILE.dialect):
                session.run(statement)
    return proposed


def test_a_proposal_is_made_of_it_that_runs_and_whose_writes_write(
    described: Described, proposal: Proposal, server: Server
) -> None:
    assert has(proposal.notes, "left-out", what=Part("loose"), why="no key to find a row by")
    by_name = {choice.name: choice for choice in proposal.choices}
    assert {"read_customers", "range_customers", "index_customers", "update_customers"} <= by_name.keys()
    assert {"read_line_items", "range_line_items", "read_codes", "update_codes"} <= by_name.keys()
    check_choices(options(server), described.database, proposal)


def options(server: Server) -> dict[str, object]:
    return {"protocol": "mysql", "socket": str(server.socket), "user": "twin", "database": "twin"}


def test_a_range_over_a_key_of_several_columns_follows_the_key(proposal: Proposal, server: Server) -> None:
    (script,) = next(choice.scripts for choice in proposal.choices if choice.name == "range_line_items")
    statement = script.splitlines()[-1].replace(":n", "90").rstrip(";")
    with contextlib.closing(root(server, database="twin")) as session:
        (plan, *_) = asking(session)(f"EXPLAIN {statement}")
        assert (plan["type"], plan["key"]) == ("range", "PRIMARY")
        rows = asking(session)(statement)
    assert [row["customer"] for row in rows] == [str(number) for number in range(90, 101)]


def test_a_dump_that_ends_early_is_told_with_the_last_lines(target: RestoreTarget, tmp_path: Path) -> None:
    command = "(echo 'CREATE TABLE a (id INT);'; echo broken >&2; exit 3) | mariadb --no-defaults -u {user} {database}"
    with refused(RestoreFault, "restore-failed", found=3, tail=Part("broken")):
        restore(command, target, 60.0)


def test_what_the_server_refuses_is_told(target: RestoreTarget) -> None:
    with refused(RestoreFault, "restore-failed", found=1, tail=Part("ERROR 1044")):
        restore("echo 'CREATE SCHEMA other' | mariadb --no-defaults -u {user} {database}", target, 60.0)


def test_nothing_is_left_of_a_command_that_takes_too_long(target: RestoreTarget, tmp_path: Path) -> None:
    with refused(RestoreFault, "restore-too-slow", seconds=3):
        restore("trap '' TERM; sleep 300 & echo $! > {folder}/pid; wait", target, 3.0)
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_nothing_is_left_of_a_command_at_ctrl_c(target: RestoreTarget, tmp_path: Path) -> None:
    pid = tmp_path / "pid"

    def interrupt() -> None:
        while not (pid.exists() and pid.read_text().strip()):
            time.sleep(0.02)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def stop() -> None:
        raise KeyboardInterrupt

    # As `tdelta run` has it; and a shell's background job ignores the signal.
    before = signal.signal(signal.SIGINT, lambda *_: signals.deliver(stop))
    try:
        threading.Thread(target=interrupt, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            restore("sleep 300 & echo $! > {folder}/pid; wait", target, 60.0)
    finally:
        signal.signal(signal.SIGINT, before)
    assert is_gone(int(pid.read_text()))


def test_a_client_finds_the_server_by_itself_whatever_its_users_files_say(
    server: Server, target: RestoreTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dump.sql").write_text(DUMP)
    (tmp_path / ".my.cnf").write_text("[client]\nhost=127.0.0.1\nport=9\nuser=root\n")
    again = "/usr/bin/env mariadb -S {socket} twin -e 'DROP TABLE loose'"
    with monkeypatch.context() as patched:
        for name, value in (("HOME", str(tmp_path)), ("MYSQL_HOME", str(tmp_path)), ("MYSQL_HOST", "production")):
            patched.setenv(name, value)
        for command in ("mariadb {database} < ~/dump.sql", again):
            restore(command, target, 60.0)
    with contextlib.closing(root(server, database="twin")) as session:
        assert "loose" not in [row[0] for row in session.rows("SHOW TABLES")[1]]


@pytest.mark.parametrize("client", ["mariadb", "mysql"])
def test_a_client_that_came_to_another_server_hangs_up(
    server: Server, target: RestoreTarget, client: str, tmp_path: Path
) -> None:
    elsewhere = client_target(tmp_path / "s", "twin", "twin", tmp_path)
    with refused(RestoreFault, "restore-failed", tail=Part("not the server of this run")):
        restore(f"echo 'CREATE TABLE seen (x INT)' | {client} -S {server.socket} -u twin twin", elsewhere, 60.0)
    with contextlib.closing(root(server, database="twin")) as session:
        assert session.rows("SHOW TABLES")[1] == []


def test_money_is_updated_and_tables_that_keep_their_history_are_tables(
    server: Server, target: RestoreTarget, tmp_path: Path
) -> None:
    (tmp_path / "dump.sql").write_text(
        "CREATE TABLE account (id INT PRIMARY KEY AUTO_INCREMENT, balance DECIMAL(15,2) NOT NULL);"
        "INSERT INTO account SELECT seq, (seq - 500.0) / 100 FROM seq_1_to_1000;"
        "CREATE TABLE price (id INT PRIMARY KEY, amount DECIMAL(9,3), s TIMESTAMP(6) GENERATED ALWAYS AS ROW START,"
        " e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING;"
        "INSERT INTO price (id, amount) SELECT seq, seq / 7 FROM seq_1_to_1000;"
    )
    restore("mariadb -u {user} {database} < {folder}/dump.sql", target, 60.0)
    with contextlib.closing(root(server, database="twin")) as session:
        database = describe(MySqlCatalog(), asking(session), "twin").database
    assert {table.name: table.stored_columns for table in database.tables} == {
        "account": ("id", "balance"),
        "price": ("id", "amount"),
    }
    proposed = propose(database, PROFILE.dialect)
    writes = [choice for choice in proposed.choices if choice.kind is TransactionKind.UPDATE]
    assert {choice.name for choice in writes} == {"update_account", "update_price"}
    check_choices(options(server), database, proposed)
