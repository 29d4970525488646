import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tdelta.engines.registry import profile
from tdelta.errors import StatementFault
from tdelta.evidence.plans import NOT_EXPLAINED, SAMPLES, Sampled, compare, plans_of, sampled, without_estimates

EXPLAINED = Path(__file__).parent / "explained"
ENGINES = ("mariadb", "mysql", "postgres")
IN_WORDS = {
    "mariadb": "browse_orders/2: orders ref orders_customer(customer_id) | orders index PRIMARY(order_id)",
    "mysql": "browse_orders/2: Limit: 10 row(s), Filter: (orders.customer_id = 1), Index lookup on orders using"
    " orders_customer (customer_id = 1) (reverse) | Limit: 10 row(s), Filter: (orders.customer_id = 1), Index scan on"
    " orders using PRIMARY (reverse)",
    "postgres": "browse_orders/2: Limit, Sort, Index Scan using orders_customer on orders"
    " | Limit, Sort, Seq Scan on orders",
}
SCRIPT = "\\set a 1\nBEGIN;\nSELECT x FROM t WHERE a = :a AND b = ':a' LIMIT :n;\nUPDATE t SET x = :b;\nCOMMIT;\n"


def told(engine: str, which: str) -> tuple[list[Sampled], Callable[[str], Sequence[Sequence[Any]]]]:
    recorded = json.loads((EXPLAINED / f"{engine}.json").read_text())
    answers = {recorded["statements"][name]: rows for name, rows in recorded[which].items()}

    def rows(sql: str) -> Sequence[Sequence[Any]]:
        return next(answer for text, answer in answers.items() if sql.endswith(text))

    return [Sampled(name, (text,)) for name, text in recorded["statements"].items()], rows


def plans(engine: str, which: str) -> dict[str, Any]:
    statements, rows = told(engine, which)
    return plans_of(profile(engine).dialect, rows, statements)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_plan_without_the_index_is_told_from_one_with_it_by_statement_and_in_words(engine: str) -> None:
    differences = compare(plans(engine, "with_index"), plans(engine, "without_index"))
    assert [str(one) for one in differences] == [IN_WORDS[engine]]


@pytest.mark.parametrize("engine", ENGINES)
def test_equal_plans_do_not_differ(engine: str) -> None:
    assert compare(plans(engine, "with_index"), plans(engine, "with_index")) == ()


@pytest.mark.parametrize("engine", ["mariadb", "mysql", "postgres"])
def test_costs_and_row_counts_are_no_part_of_a_plan(engine: str) -> None:
    recorded = json.loads((EXPLAINED / f"{engine}.json").read_text())
    (text,) = {"\n".join(row[0] for row in rows) for name, rows in recorded["with_index"].items() if "browse_p" in name}
    scaled = json.loads(text, parse_float=lambda number: float(number) * 7)
    assert without_estimates(scaled) == without_estimates(json.loads(text))
    assert not [key for key in keys(without_estimates(scaled)) if "cost" in key.lower() or "rows" in key.lower()]


def keys(plan: Any) -> list[str]:
    if isinstance(plan, dict):
        return [*plan, *(key for value in plan.values() for key in keys(value))]
    return [key for value in plan for key in keys(value)] if isinstance(plan, list) else []


def test_statements_are_numbered_as_in_measurements_and_those_without_a_plan_left_out() -> None:
    statements = sampled(profile("mariadb").dialect, {"t": SCRIPT})
    assert [one.name for one in statements] == ["t/2", "t/3"]


def test_parameters_become_literals_but_for_those_in_strings() -> None:
    (select, update) = sampled(profile("mariadb").dialect, {"t": SCRIPT}, {"b": "it's \\ here"})
    assert select.texts[0] == "SELECT x FROM t WHERE a = '1' AND b = ':a' LIMIT 1"
    assert select.texts[1] == "SELECT x FROM t WHERE a = 1 AND b = ':a' LIMIT 1"
    assert len(SAMPLES) == len(select.texts)
    assert update.texts[0] == "UPDATE t SET x = 'it''s \\\\ here'"


@pytest.mark.parametrize(
    ("engine", "literal"), [("sqlite", "x'ff00'"), ("mysql", "x'ff00'"), ("postgres", "'\\xff00'::bytea")]
)
def test_bytes_and_nothing_are_written_as_each_engine_takes_them(engine: str, literal: str) -> None:
    (_, update) = sampled(profile(engine).dialect, {"t": SCRIPT}, {"b": b"\xff\x00"})
    assert update.texts[0] == f"UPDATE t SET x = {literal}"
    (_, update) = sampled(profile(engine).dialect, {"t": SCRIPT}, {"b": None})
    assert update.texts[0] == "UPDATE t SET x = NULL"


def test_a_statement_that_an_engine_refuses_with_text_is_tried_with_a_number() -> None:
    asked = []

    def rows(sql: str) -> Sequence[Sequence[Any]]:
        asked.append(sql)
        if "'1'" in sql:
            raise StatementFault("operator is not unique: unknown + unknown")
        return [["[]"]]

    dialect = profile("postgres").dialect
    (one,) = sampled(dialect, {"t": "SELECT :a + :b;"})
    assert plans_of(dialect, rows, [one]) == {"t/1": []}
    assert asked == ["EXPLAIN (FORMAT JSON) SELECT '1' + '1'", "EXPLAIN (FORMAT JSON) SELECT 1 + 1"]


def test_a_statement_that_cannot_be_explained_is_said_and_differs_from_one_that_can() -> None:
    def refuse(sql: str) -> Sequence[Sequence[Any]]:
        raise StatementFault("no such table: t")

    dialect = profile("mysql").dialect
    one = sampled(dialect, {"t": "SELECT * FROM t;"})
    none = plans_of(dialect, refuse, one)
    assert none == {"t/1": {NOT_EXPLAINED: "no such table: t"}}
    some = plans_of(dialect, lambda _: [['{"table_name": "t", "access_type": "ALL"}']], one)
    assert NOT_EXPLAINED not in some["t/1"]
    assert [str(found) for found in compare(some, none)] == [f"t/1: t ALL | {NOT_EXPLAINED}: no such table: t"]


def test_where_the_words_are_alike_the_first_detail_that_differs_is_told() -> None:
    def plan(condition: str) -> dict[str, Any]:
        table = {"table_name": "t", "access_type": "ALL", "attached_condition": condition}
        return {"t/1": {"query_block": {"table": table}}}

    (found,) = compare(plan("t.a = 1"), plan("t.b = 1"))
    assert found.baseline == "t ALL (query_block.table.attached_condition=t.a = 1)"
    assert found.other == "t ALL (query_block.table.attached_condition=t.b = 1)"
