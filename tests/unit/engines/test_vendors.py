"""Statements for databases that nobody can install here: parsed where the parser knows them, names held to a list."""

import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.resources import files

import pytest
import sqlglot
from sqlglot import exp

from support.data import text_of
from tdelta.engines.oracle.driver import Oracle
from tdelta.engines.registry import dialects, profile
from tdelta.engines.server.sessions import statements
from tdelta.engines.sqlserver.driver import SqlServer
from tdelta.workloads import load

VENDORS = ("oracle", "sqlserver")
DATA = tomllib.loads(text_of("vendors.toml"))
NOT_PARSED, GIVEN = DATA["not-parsed"], DATA["given"]
RESERVED = {vendor: frozenset(DATA["reserved"][vendor].split()) for vendor in VENDORS}


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
def test_columns_of_answers_have_no_name_that_the_vendor_reserves_unless_it_is_quoted(vendor: str) -> None:
    made = [alias.args["alias"] for _, tree in parsed(vendor) for alias in tree.find_all(exp.Alias)]
    assert RESERVED[vendor].isdisjoint(name.name.lower() for name in made if not name.args.get("quoted"))


@pytest.mark.parametrize("vendor", VENDORS)
def test_what_sessions_set_is_read_back_in_the_order_of_the_query(vendor: str) -> None:
    (asked,) = [tree for name, tree in parsed(vendor) if name == "in_force"]
    wanted = {"oracle": Oracle, "sqlserver": SqlServer}[vendor].in_force.expected
    assert asked.named_selects == [*wanted]
    known = statements(f"tdelta.engines.{vendor}")
    set_by = " ".join(text for name, text in known.items() if name.startswith("session_")).lower().replace("_", " ")
    assert [name for name in wanted if name.replace("_", " ") not in set_by] == []


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
    for vendor in VENDORS:
        assert names.isdisjoint(RESERVED[vendor])
        driver = import_module(f"tdelta.engines.{vendor}.worker").DRIVER
        for script in made.scripts().values():
            assert not re.search(r"\bLIMIT\b", driver.script(script["text"]))
