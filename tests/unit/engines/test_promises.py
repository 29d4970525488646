import pytest

from tdelta.engines.mariadb.driver import EVIDENCE as OF_MARIADB
from tdelta.engines.mysql.driver import EVIDENCE as OF_MYSQL
from tdelta.engines.postgres.server import EVIDENCE as OF_POSTGRES
from tdelta.engines.registry import profile
from tdelta.engines.server.base import ServerSettings
from tdelta.engines.server.driver import covered
from tdelta.evidence import FileClass

EVIDENCE = {"mariadb": OF_MARIADB, "mysql": OF_MYSQL, "postgres": OF_POSTGRES}


def classes(kind: str, scope: str, product: str = "", *, is_folder_encrypted: bool = False) -> frozenset[FileClass]:
    settings = ServerSettings("none" if scope == "none" else "aes-256", scope)
    return covered(EVIDENCE[kind].parts_of(product or kind), settings, is_folder_encrypted=is_folder_encrypted)


def test_a_plain_twin_answers_for_nothing() -> None:
    assert classes("mariadb", "none") == frozenset()
    assert classes("postgres", "none", is_folder_encrypted=True) == frozenset()


def test_each_scope_of_mariadb_is_data_and_one_thing_more() -> None:
    data = classes("mariadb", "data")
    assert {FileClass.TABLES, FileClass.SYSTEM, FileClass.UNDO, FileClass.DOUBLEWRITE} == data
    assert classes("mariadb", "+log") - data == {FileClass.REDO}
    assert classes("mariadb", "+temp") - data == {FileClass.TEMP, FileClass.TEMP_TABLES}
    assert classes("mariadb", "+binlog") - data == {FileClass.BINLOG, FileClass.RELAY}
    more = {FileClass.REDO, FileClass.TEMP, FileClass.TEMP_TABLES, FileClass.BINLOG, FileClass.RELAY}
    assert classes("mariadb", "all") == data | more


def test_mysql_encrypts_undo_with_the_log_and_no_temporary_tables_but_percona_does() -> None:
    log = {FileClass.REDO, FileClass.UNDO, FileClass.DOUBLEWRITE}
    assert classes("mysql", "+log") - classes("mysql", "data") == log
    assert not classes("mysql", "all") & {FileClass.TEMP, FileClass.TEMP_TABLES, FileClass.SYSTEM}
    percona = classes("mysql", "all", "Percona Server")
    assert {FileClass.TEMP, FileClass.TEMP_TABLES, FileClass.SYSTEM} <= percona


@pytest.mark.parametrize("engine", ["mariadb", "mysql", "postgres"])
def test_a_setting_is_named_for_each_class_that_a_wider_scope_covers(engine: str) -> None:
    assert set(profile(engine).widened_by) == classes(engine, "all") - classes(engine, "data")


def test_an_encrypted_folder_covers_all_that_lies_in_it() -> None:
    assert frozenset(FileClass) - classes("postgres", "all", is_folder_encrypted=True) == {
        FileClass.LOGS,
        FileClass.OTHER,
    }


def test_pg_tde_covers_tables_and_where_asked_the_log() -> None:
    assert classes("postgres", "data") == {FileClass.TABLES}
    assert classes("postgres", "all") == {FileClass.TABLES, FileClass.WAL}
