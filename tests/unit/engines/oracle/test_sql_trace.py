"""Lines of a SQL trace, as the vendor and authors of books on it show them."""

import json
from pathlib import Path

from tdelta.engines.oracle.sql_trace import costs
from tdelta.records import StatementCost

CONVERSATION = json.loads((Path(__file__).parents[3] / "peers" / "oracle.synthetic.json").read_text(encoding="utf-8"))
LINES = [row[0] for entry in CONVERSATION if "diag_trace_file" in entry["sql"] for row in entry["rows"]]


def test_calls_are_added_up_by_statement_and_kind_in_any_order_of_lines() -> None:
    insert = StatementCost(
        calls=2,
        cpu_ns=4_500_000,
        elapsed_ns=6_500_000,
        rows=200,
        counters={"physical reads": 1, "consistent gets": 23, "db block gets": 290},
    )
    for lines in (LINES, LINES[::-1]):
        found = costs(lines)
        assert found["INSERT execute"] == insert
        assert (found["SELECT fetch"].calls, found["SELECT fetch"].rows) == (1, 100)


def test_the_servers_own_statements_and_those_of_the_routines_beginning_are_left_out() -> None:
    assert [*costs(LINES)] == ["INSERT execute", "INSERT parse", "SELECT execute", "SELECT fetch"]
    assert costs([]) == {}
