"""Statements for databases that nobody can install here: parsed where the parser knows them, names held to a list."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.resources import files

import pytest
import sqlglot
from sqlglot import exp

from tdelta.engines.registry import dialects, profile
from tdelta.engines.shared.statements import statements
from tdelta.workloads import load

VENDORS = ("oracle", "sqlserver")
NOT_PARSED = {
    "oracle": {
        "make_schema": "CREATE USER",
        "drop_schema": "DROP USER",
        "drop_table": "PL/SQL",
        "statistics": "PL/SQL",
        "mark_session": "PL/SQL",
        "make_tablespace": "PL/SQL",
        "convert": "ALTER TABLESPACE",
        "offline": "ALTER TABLESPACE",
        "online": "ALTER TABLESPACE",
        "drop_converted": "PL/SQL",
        "use_schema": "ALTER SESSION",
        "memory_manual": "ALTER SESSION",
        "memory_sort": "ALTER SESSION",
        "memory_hash": "ALTER SESSION",
        "explain": "EXPLAIN PLAN",
        "explained": "a function of a package in the place of a table",
        "hurry": "ALTER SESSION",
        "end_session": "ALTER SYSTEM",
        "checkpoint": "ALTER SYSTEM",
        "flush_cache": "ALTER SYSTEM",
    },
    "sqlserver": {
        "write_mark": "EXEC of a procedure",
        "lock_take": "EXEC of a procedure",
        "lock_seen": "EXEC of a procedure",
        "lock_release": "EXEC of a procedure",
        "make_key": "EXEC of a procedure",
        "rekey": "EXEC of a procedure",
        "checkpoint_schema": "EXEC of a procedure",
        "drop_key": "IF and EXEC of a procedure",
        "encrypt": "ALTER DATABASE",
        "decrypt": "ALTER DATABASE",
        "suspend": "ALTER DATABASE",
        "resume": "ALTER DATABASE",
        "await_encrypted": "WHILE",
        "drop_schema": "WHILE and ALTER DATABASE",
        "backup": "BACKUP",
        "make_device": "EXEC of a procedure",
        "restore": "EXEC of a procedure",
        "drop_restored": "IF and ALTER DATABASE",
        "drop_device": "IF and EXEC of a procedure",
        "presize": "IF and ALTER DATABASE",
        "statistics": "UPDATE STATISTICS",
        "checkpoint": "CHECKPOINT",
        "drop_clean": "DBCC",
        "mark_session": "SET CONTEXT_INFO",
    },
}
"""Statements that sqlglot reads as nothing in particular, and why."""

GIVEN = {"schema": "tdelta_x", "lock": "'x'", "tablespace": "'T'", "table": "'t'", "named": "'x'"}
GIVEN |= {
    "length": "2",
    "seconds": "2",
    "bytes": "2",
    "statement": "SELECT 1 FROM dual",
    "milliseconds": "2",
    "session": "7",
    "statements": "'7h35uxf5uhmm1'",
    "certificate": "c",
    "algorithm": "AES_256",
    "file": "f",
    "compression": "COMPRESSION",
    "device": "[x]",
    "first_table": "tdelta_table",
    "restored": "tdelta_x",
    "restored_named": "'x'",
    "transfer": "",
    "pages": "8192",
    "megabytes": "64",
}

RESERVED = frozenset(
    """
    access add all alter and any as asc audit between by char check cluster column comment compress connect
    create current date decimal default delete desc distinct drop else exclusive exists file float for from
    grant group having identified immediate in increment index initial insert integer intersect into is level
    like lock long maxextents minus mlslabel mode modify noaudit nocompress not nowait null number of offline
    on online option or order pctfree prior public raw rename resource revoke row rowid rownum rows select
    session set share size smallint start successful synonym sysdate table then to trigger uid union unique
    update user validate values varchar varchar2 view whenever where with
    """.split()  # noqa: SIM905 - a list of so many words is a page
)
"""https://docs.oracle.com/en/database/oracle/oracle-database/19/sqlrf/Oracle-SQL-Reserved-Words.html"""


def parsed(vendor: str) -> Iterator[tuple[str, exp.Expression]]:
    read = profile(vendor).dialect.sqlglot
    for name, text in statements(f"tdelta.engines.{vendor}").items():
        if name not in NOT_PARSED[vendor]:
            mark = "'m'" if vendor == "oracle" else "00"
            yield name, sqlglot.parse_one(text.format(**GIVEN | {"mark": mark}), read=read)


def listed(vendor: str) -> dict[str, dict[str, object]]:
    text = files(f"tdelta.engines.{vendor}").joinpath("names.toml").read_text(encoding="utf-8")
    found: dict[str, dict[str, object]] = tomllib.loads(text)["views"]
    return found


def view_of(table: exp.Table) -> str:
    parts = [part.name.lower() for part in table.parts]
    return ".".join(part for part in parts if part != "tdelta_x")


def view_of_function(lateral: exp.Lateral) -> str:
    return lateral.this.sql(dialect="tsql").split("(")[0].lower()


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_statement_is_of_a_kind_that_the_parser_knows_or_is_excused(vendor: str) -> None:
    commands = [name for name, tree in parsed(vendor) if isinstance(tree, exp.Command)]
    assert commands == []
    known = statements(f"tdelta.engines.{vendor}")
    assert set(NOT_PARSED[vendor]) <= set(known)


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_view_and_column_that_is_asked_for_is_listed_with_the_vendors_page_and_no_other(vendor: str) -> None:
    views: dict[str, set[str]] = {}
    for _, tree in parsed(vendor):
        for select in tree.find_all(exp.Select):
            own = {table.alias_or_name.lower(): view_of(table) for table in select.find_all(exp.Table)}
            own |= {one.alias_or_name.lower(): view_of_function(one) for one in select.find_all(exp.Lateral)}
            for view in own.values():
                views.setdefault(view, set())
            made = {alias.alias.lower() for alias in select.find_all(exp.Alias)}
            for column in select.find_all(exp.Column):
                name, table = column.name.lower(), column.table.lower()
                if not table and len(own) > 1:
                    continue
                view = own.get(table, "") if table else next(iter(own.values()), "")
                if view and not (name in made and not column.parent_select.find(exp.From)):
                    views[view].add(name)
    views.pop("", None)
    views = {view: columns - {"tdelta_x"} for view, columns in views.items() if "tdelta" not in view}
    assert {view: sorted(columns) for view, columns in views.items()} == {
        view: sorted(str(column) for column in entry["columns"])  # type: ignore[attr-defined]
        for view, entry in listed(vendor).items()
    }
    assert all(re.match(r"(https://)?[\w./-]+\Z", str(entry["page"])) for entry in listed(vendor).values())


def test_every_procedure_of_the_servers_that_is_called_is_listed_with_the_vendors_page() -> None:
    text = files("tdelta.engines.sqlserver").joinpath("names.toml").read_text(encoding="utf-8")
    called = {name for sql in statements("tdelta.engines.sqlserver").values() for name in re.findall(r"\bsp_\w+", sql)}
    assert sorted(called) == sorted(tomllib.loads(text)["procedures"])


@pytest.mark.parametrize("workload", ["order-entry", "dml-trace", "warehouse", "read-only", "point-select"])
def test_workloads_have_no_name_that_the_vendor_reserves_and_no_limit_in_other_words(workload: str) -> None:
    made = load(workload, dialects())
    names = {table.name for table in made.tables} | {column.name for table in made.tables for column in table.columns}
    assert names.isdisjoint(RESERVED)
    for vendor in VENDORS:
        driver = import_module(f"tdelta.engines.{vendor}.worker").DRIVER
        for script in made.scripts().values():
            assert not re.search(r"\bLIMIT\b", driver.script(script["text"]))
