"""Users' servers recognized by their answers, recorded or from manuals."""

from collections.abc import Callable, Mapping, Sequence

import pytest

from support.refused import has
from tdelta.engines.mariadb.driver import MariaDb
from tdelta.engines.mysql.driver import MySql
from tdelta.engines.postgres.server import Postgres
from tdelta.engines.server.base import SCHEMA_NAME, Identity, LeftoverSchema, NewSchema, SchemaSessions
from tdelta.engines.server.sessions import Ask, Row, literal
from tdelta.processes.workers import Refused

MARIADB = MariaDb(Identity("mariadb", "MariaDB", "10.11.19", "app@%"))
MYSQL = MySql(Identity("mysql", "MySQL", "9.7.4", "app@%"))
POSTGRES = Postgres(Identity("postgres", "PostgreSQL", "15.4", "app"))


def answering(answers: Mapping[str, Sequence[Row]]) -> Ask:
    """A server that answers each query that begins so, and no other."""

    def ask(sql: str) -> Sequence[Row]:
        (found,) = [rows for start, rows in answers.items() if sql.startswith(start)]
        return found

    return ask


def granted(*lines: str) -> Ask:
    return answering(
        {
            "SHOW GRANTS": [{"grants": line} for line in lines],
            "SELECT CURRENT_USER": [{"current_user()": "app@%"}],
            "SELECT CURRENT_ROLE": [{"current_role()": "NONE"}],
        }
    )


def variables(**values: str) -> Sequence[Row]:
    return [{"variable_name": name, "value": value} for name, value in values.items()]


@pytest.mark.parametrize("kind", [MARIADB, MYSQL])
@pytest.mark.parametrize(
    ("lines", "missing"),
    [
        (["GRANT ALL PRIVILEGES ON *.* TO `app`@`%` WITH GRANT OPTION"], 0),
        (["GRANT PROCESS ON *.* TO `app`@`%`", r"GRANT ALL PRIVILEGES ON `tdelta\_%`.* TO `app`@`%`"], 0),
        (["GRANT PROCESS ON *.* TO `app`@`%`", "GRANT ALL PRIVILEGES ON `tdelta%`.* TO `app`@`%`"], 0),
        (['GRANT PROCESS ON *.* TO "app"@"%"', r'GRANT ALL PRIVILEGES ON "tdelta\_%".* TO "app"@"%"'], 0),
        (["GRANT PROCESS ON *.* TO `app`@`%`", "GRANT ALL PRIVILEGES ON `tdeltaxr1`.* TO `app`@`%`"], 1),
        (["GRANT PROCESS ON *.* TO `app`@`%`", "GRANT ALL PRIVILEGES ON `tdelta_r1`.`t` TO `app`@`%`"], 1),
        (["GRANT PROCESS ON *.* TO `app`@`%`", "GRANT SELECT, INSERT ON *.* TO `app`@`%`"], 1),
        (
            [
                "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, PROCESS ON *.* TO `app`@`%`",
                "GRANT INDEX, ALTER ON `tdelta_r1`.* TO `app`@`%`",
            ],
            0,
        ),
        (["GRANT USAGE ON *.* TO `app`@`%` IDENTIFIED BY PASSWORD '*AA'"], 2),
        ([], 2),
    ],
)
def test_rights_are_read_from_grants_with_their_patterns(kind: MariaDb | MySql, lines: list[str], missing: int) -> None:
    ask = granted(*lines)
    assert len((*kind.missing_grants(ask), *kind.missing_schema_grants(ask, "tdelta_r1"))) == missing


def test_of_rights_only_those_that_are_missing_are_asked_for() -> None:
    ask = granted("GRANT SELECT, CREATE, DROP, PROCESS ON *.* TO `app`@`%`")
    assert MARIADB.missing_grants(ask) == ()
    assert MARIADB.missing_schema_grants(ask, "bench") == (
        "GRANT INSERT, UPDATE, DELETE, INDEX, ALTER ON `bench`.* TO 'app'@'%'",
    )


def test_rights_of_the_roles_in_force_are_asked_for() -> None:
    asked = []

    def ask(sql: str) -> Sequence[Row]:
        asked.append(sql)
        return [{"current_role()": "`dba`@`%`"}] if "CURRENT_ROLE" in sql else [{"x": "app@%"}]

    MYSQL.missing_grants(ask)
    assert "SHOW GRANTS FOR CURRENT_USER() USING `dba`@`%`" in asked


@pytest.mark.parametrize(
    ("sessions", "given", "said"),
    [
        ([("system user", "Slave_IO")], {}, "server-unfit"),
        ([("system user", "Connect")], {}, "server-unfit"),
        ([("system user", "Daemon"), ("app", "Query")], {}, None),
        ([], {"read_only": "ON"}, "read-only"),
        ([], {"wsrep_on": "ON", "wsrep_cluster_address": "gcomm://a,b"}, "server-unfit"),
        ([], {"wsrep_on": "OFF", "wsrep_cluster_address": ""}, None),
    ],
)
def test_a_server_that_is_not_its_own_master_is_no_twin(
    sessions: list[tuple[str, str]], given: dict[str, str], said: str | None
) -> None:
    ask = answering(
        {
            "SHOW PROCESSLIST": [{"user": user, "command": command} for user, command in sessions],
            "SHOW GLOBAL VARIABLES": variables(**given),
            "SHOW ALL SLAVES STATUS": [],
        }
    )
    faults = MARIADB.standing_faults(ask)
    assert [fault.code for fault in faults] == ([] if said is None else [said])


def refusing(kind: str, sql: str, answers: Mapping[str, Sequence[Row]]) -> Callable[[str], Sequence[Row]]:
    def ask(asked: str) -> Sequence[Row]:
        if asked.startswith(sql):
            raise Refused(kind, "no")
        return answering(answers)(asked)

    return ask


STOPPED = {"SHOW PROCESSLIST": [], "SHOW GLOBAL VARIABLES": [], "SHOW ALL SLAVES STATUS": [{"slave_io_running": "No"}]}


def test_a_replica_that_is_stopped_is_no_twin_either() -> None:
    (fault,) = MARIADB.standing_faults(answering(STOPPED))
    assert fault.code == "server-unfit"


def test_a_version_that_spells_replicas_the_old_way_is_asked_so() -> None:
    answers = {"SHOW PROCESSLIST": [], "SHOW GLOBAL VARIABLES": [], "SHOW SLAVE STATUS": [{"slave_io_running": "No"}]}
    (fault,) = MYSQL.standing_faults(refusing("sql", "SHOW REPLICA", answers))
    assert fault.code == "server-unfit"


def test_who_may_not_see_replication_is_told_what_was_not_seen() -> None:
    ask = refusing("denied", "SHOW ALL SLAVES", STOPPED)
    assert MARIADB.standing_faults(ask) == ()
    assert has(MARIADB.disturbances(ask, "--baseline"), "replication-unseen", where="--baseline", right="SLAVE MONITOR")


def test_a_session_that_is_lost_is_no_missing_right() -> None:
    with pytest.raises(Refused):
        MARIADB.standing_faults(refusing("connection", "SHOW ALL SLAVES", STOPPED))


def test_replicas_and_other_peoples_work_are_cautions() -> None:
    rows = [{"command": name} for name in ("Binlog Dump", "Binlog Dump GTID", "Query", "Execute", "Sleep")]
    answers = answering({"SHOW PROCESSLIST": rows, "SHOW REPLICA STATUS": []})
    replicas, sessions = [*MYSQL.disturbances(answers, "--baseline")][:2]
    assert has([replicas], "replicas-read", where="--baseline", replicas=2)
    assert has([sessions], "other-sessions", where="--baseline", sessions=1)


def test_mysql_tables_can_be_encrypted_where_a_keyring_is_active_whatever_the_default() -> None:
    encryption = MYSQL.encryption(
        answering(
            {
                "SHOW GLOBAL VARIABLES": variables(
                    default_table_encryption="OFF",
                    innodb_redo_log_encrypt="ON",
                    innodb_undo_log_encrypt="OFF",
                    log_bin="OFF",
                    binlog_encryption="ON",
                ),
                "SELECT PLUGIN_NAME": [],
                "SELECT TABLE_NAME": [{"name": "keyring_component_status"}],
                "SELECT STATUS_VALUE": [{"status_value": "Active"}],
            }
        )
    )
    assert encryption.can_be_asked
    assert encryption.encrypted == ("log",)  # a binary log that is not written costs nothing
    assert [scope.name for scope in encryption.scopes] == ["data", "log", "undo", "binlog"]
    made = MYSQL.make_sql(NewSchema("tdelta_r1", "r1", is_encrypted=True))
    assert made[0] == "CREATE SCHEMA `tdelta_r1` CHARACTER SET utf8mb4 DEFAULT ENCRYPTION = 'Y'"


def test_mysql_without_a_keyring_cannot_encrypt() -> None:
    encryption = MYSQL.encryption(
        answering({"SHOW GLOBAL VARIABLES": variables(log_bin="ON"), "SELECT PLUGIN_NAME": [], "SELECT TABLE_NAME": []})
    )
    assert not encryption.can_be_asked
    assert encryption.encrypted == ()
    assert encryption.scopes[0].said.startswith("keyring: ")
    assert "GRANT SELECT ON performance_schema.keyring_component_status" in encryption.remedy


def test_mysql_says_of_each_table_whether_its_tablespace_is_encrypted() -> None:
    ask = answering(
        {
            "SELECT NAME AS name": [
                {"name": "tdelta_r1/t", "encryption": "Y"},
                {"name": "tdelta_r1/p#p#p0", "encryption": "N"},
            ],
            "SELECT TABLE_NAME AS name": [{"name": "t"}, {"name": "p"}, {"name": "in_system_tablespace"}],
        }
    )
    found = MYSQL.tables(ask, "tdelta_r1")
    assert found == {"t": True, "p": False, "in_system_tablespace": None}


def test_percona_says_what_is_encrypted_beside_what_mysql_has() -> None:
    values = {
        "innodb_temp_tablespace_encrypt": "ON",
        "encrypt_tmp_files": "OFF",
        "innodb_sys_tablespace_encrypt": "OFF",
    }
    rows = [{"variable_name": name, "value": value} for name, value in {**values, "log_bin": "OFF"}.items()]
    answers = {"SHOW GLOBAL VARIABLES": rows, "SELECT PLUGIN_NAME": [], "SELECT TABLE_NAME": []}
    found = MYSQL.encryption(answering(answers))
    assert [scope.name for scope in found.scopes] == ["data", "log", "undo", "binlog", "temp", "system"]
    temporary, system = found.scopes[-2:]
    assert (temporary.is_encrypted, system.is_encrypted) == (True, False)
    assert temporary.said == "innodb_temp_tablespace_encrypt=ON, encrypt_tmp_files=OFF"


def test_postgres_with_pg_tde_says_what_is_encrypted_and_is_asked_for_tables_that_are() -> None:
    settings = {"default_table_access_method": "heap", "pg_tde.wal_encrypt": "on", "pg_tde.cipher": "aes_256"}
    encryption = POSTGRES.encryption(
        answering(
            {
                "SELECT name, setting": [{"name": name, "value": value} for name, value in settings.items()],
                "SELECT extname": [{"extname": "pg_tde"}],
            }
        )
    )
    assert (encryption.encrypted, encryption.can_be_asked) == (("log",), True)
    assert POSTGRES.sessions(NewSchema("tdelta_r1", "r1", is_encrypted=True)) == SchemaSessions(
        setup=('SET search_path TO "tdelta_r1"', "SET default_table_access_method TO tde_heap")
    )


def test_postgres_with_the_fork_says_the_cipher_of_data_files_and_temporary_files_too() -> None:
    settings = {"default_table_access_method": "tde_heap", "open_pg_tde.wal_encrypt": "off", "encrypt_temp_files": "on"}
    settings |= {"open_pg_tde.cipher": "aes_128", "open_pg_tde.data_cipher": "aes_256_xts"}
    encryption = POSTGRES.encryption(
        answering(
            {
                "SELECT name, setting": [{"name": name, "value": value} for name, value in settings.items()],
                "SELECT extname": [{"extname": "open_pg_tde"}],
            }
        )
    )
    assert encryption.encrypted == ("data", "temp")
    data = encryption.scope("data")
    assert data is not None
    assert data.said == "default_table_access_method=tde_heap, open_pg_tde.data_cipher=aes_256_xts"
    assert "open_pg_tde_set_key_using" in encryption.remedy


def test_a_mark_names_the_run_and_what_only_looks_like_one_is_none() -> None:
    rows = [{"name": "tdelta_a", "mark": "tdelta run a"}, {"name": "mine", "mark": "my own"}]
    ask = answering({"SELECT TABLE_SCHEMA": rows, "SELECT SCHEMA_NAME": [{"name": "tdelta_b"}, {"name": "empty"}]})
    assert MARIADB.own_schemas(ask) == (LeftoverSchema("tdelta_a", "a"), LeftoverSchema("tdelta_b", None))


@pytest.mark.parametrize(
    ("name", "is_compared"),
    [
        ("innodb_buffer_pool_size", True),
        ("version", True),
        ("sync_binlog", True),
        ("innodb_flush_log_at_trx_commit", True),
        ("innodb_encrypt_tables", False),
        ("datadir", False),
        ("replica_load_tmpdir", False),
        ("server_id", False),
        ("default_table_encryption", False),
        ("ssl_ca", False),
    ],
)
def test_settings_of_identity_paths_and_encryption_are_not_compared(name: str, is_compared: bool) -> None:
    assert (MariaDb.rule.left_out.match(name) is None) is is_compared


def test_important_settings_come_first() -> None:
    names = ["sort_buffer_size", "innodb_buffer_pool_size", "zzz", "version", "sync_binlog"]
    ordered = ["version", "innodb_buffer_pool_size", "sync_binlog", "sort_buffer_size", "zzz"]
    assert sorted(names, key=MariaDb.rule.rank) == ordered
    assert Postgres.rule.rank("shared_buffers") < Postgres.rule.rank("work_mem")


def test_a_literal_is_quoted_and_what_servers_read_differently_is_none() -> None:
    assert literal("it's") == "'it''s'"
    with pytest.raises(ValueError, match="backslash"):
        literal("a\\'")


@pytest.mark.parametrize(
    ("name", "fits"), [("tdelta_1", True), ("bench", True), ("Bench", False), ("1x", False), ("", False)]
)
def test_names_of_schemas_are_plain(name: str, fits: bool) -> None:
    assert (SCHEMA_NAME.match(name) is not None) is fits


def test_fractions_are_read_whole_whatever_the_server_has_globally() -> None:
    assert any("'extra_float_digits', '3'" in sql for sql in POSTGRES.session_sql)
    assert POSTGRES.in_force.expected["extra_float_digits"] == "3"
