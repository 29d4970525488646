import json

import pytest
import sqlglot
from sqlglot import exp

from tdelta.engines.registry import dialects
from tdelta.workloads import BUILT_IN, load
from tdelta.workloads.scripts import check_script, given_variables

from .rows import Runner, loaded

SCALE = 0.5
SMALL_BYTES = 2_000_000


@pytest.fixture(params=BUILT_IN)
def workload(request):
    return load(request.param, dialects())


def test_a_built_in_workload_is_found_by_its_name(workload):
    assert workload.name in BUILT_IN
    assert workload.title
    assert workload.description
    assert all(transaction.title for transaction in workload.transactions)


def test_every_transaction_runs_again_and_again_without_an_error(workload):
    database = loaded(workload, SCALE)
    runner = Runner(workload, SCALE, database)
    for _ in range(60):
        for transaction in workload.transactions:
            runner.run(transaction.name)
            assert not database.in_transaction
    statements = {
        (name, step.piece.line) for name, steps in runner.steps.items() for step in steps if hasattr(step, "piece")
    }
    # Only the shelf that is filled up again is out of reach of a few orders.
    assert len(statements - runner.executed) <= (workload.name == "order-entry")


def test_transactions_change_rows_exactly_if_they_say_so(workload):
    database = loaded(workload, SCALE)
    runner = Runner(workload, SCALE, database)
    for transaction in workload.transactions:
        before = database.total_changes
        for _ in range(20):
            runner.run(transaction.name)
        assert (database.total_changes > before) == transaction.writes, transaction.name


def test_no_statement_computes_with_a_parameter_and_a_literal_whose_type_postgresql_would_take(workload):
    given = given_variables(workload.rows(SCALE))
    for transaction in workload.transactions:
        for statement in check_script(transaction.text, given).statements:
            for node in statement.tree.find_all(exp.Binary):
                assert {type(node.left), type(node.right)} != {exp.Placeholder, exp.Literal}, node.sql()


def test_the_size_at_a_scale_is_the_one_of_a_plain_file(workload):
    scale = workload.scale_for(SMALL_BYTES)
    database = loaded(workload, scale)
    ((pages,), (page_size,)) = (database.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    assert workload.size_at(scale) == pytest.approx(SMALL_BYTES)
    assert pages * page_size == pytest.approx(SMALL_BYTES, rel=0.15)


def test_a_plan_is_json_and_lists_what_the_schema_defines(workload):
    plan = json.loads(json.dumps(workload.plan(SCALE)))
    columns = {table["name"]: [column["name"] for column in table["columns"]] for table in plan["tables"]}
    database = loaded(workload, SCALE)
    for name, expected in columns.items():
        assert sorted(row[1] for row in database.execute(f"PRAGMA table_info({name})")) == sorted(expected)
        assert database.execute(f"SELECT COUNT(*) FROM {name}").fetchone() == (workload.rows(SCALE)[name],)


@pytest.mark.parametrize("dialect", dialects().values(), ids=dialects())
def test_the_schema_speaks_every_dialect_tables_first(workload, dialect):
    statements = workload.tables_sql(dialect) + workload.indexes_sql(dialect)
    kinds = [sqlglot.parse_one(statement, read=dialect.sqlglot).kind for statement in statements]
    assert kinds == sorted(kinds, reverse=True)
    assert kinds.count("TABLE") == len(workload.tables)


def test_keys_are_sqlite_row_ids_so_that_a_point_select_is_one_search():
    database = loaded(load("point-select", dialects()), 0.01)
    plan = database.execute("EXPLAIN QUERY PLAN SELECT c FROM sbtest1 WHERE id = 1")
    assert "INTEGER PRIMARY KEY" in plan.fetchone()[3]


def test_rows_grow_with_the_scale_while_fixed_tables_stay():
    rows = load("order-entry", dialects()).rows
    assert rows(50)["customers"] == 50_000
    assert rows(50)["order_items"] == 5 * rows(50)["orders"]
    assert rows(50)["products"] == rows(0.001)["products"] == 1000
    assert rows(0.001)["customers"] == 1


def test_half_of_order_entry_browses_as_in_swingbench():
    weights = {transaction.name: transaction.weight for transaction in load("order-entry", dialects()).transactions}
    browsing = weights["browse_products"] + weights["browse_orders"]
    assert browsing / sum(weights.values()) == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("name", BUILT_IN)
def test_only_connect_opens_connections_as_part_of_its_work(name):
    assert load(name, dialects()).connects == (name == "connect")


def test_read_only_has_the_shape_of_sysbench():
    text = load("read-only", dialects()).transactions[0].text
    assert text.count("WHERE id = ") == 10
    assert text.count("BETWEEN") == 4
    assert text.count("+ 99") == 4


@pytest.mark.parametrize("scale", [0, -1, float("nan")])
def test_a_scale_that_is_none_is_refused(scale):
    with pytest.raises(ValueError, match="scale"):
        load("read-only", dialects()).plan(scale)
