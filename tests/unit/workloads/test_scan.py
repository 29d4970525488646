import json

import pytest

from tdelta import _native
from tdelta.processes.jobs import TrialJob
from tdelta.workloads.scan import cut, without_last_comments

SCRIPT = r"""
\set id random(1, 10)
\connect
SELECT 1;
\set more random(1, 10)
SELECT :id, :more;
"""


def test_what_a_client_numbers_is_sql_and_connecting() -> None:
    pieces, faults = cut(SCRIPT)
    assert not faults
    assert [piece.text for piece in pieces if piece.is_counted] == ["\\connect", "SELECT 1", "SELECT :id, :more"]


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("SELECT 1;\n", "SELECT 1;\n"),
        ("SELECT 1;", "SELECT 1;"),
        ("-- first\nSELECT 1; -- one\nSELECT 2;\n\n  -- fin\n", None),
        ("SELECT 1; -- fin\n", "SELECT 1;\n"),
        ("SELECT ';' AS a\n\\gset\n/* fin\n */", "SELECT ';' AS a\n\\gset\n"),
        ("SELECT 1;-- a ; fin", "SELECT 1;\n"),
    ],
)
def test_the_load_loop_takes_a_script_whatever_comments_it_ends_with(text: str, given: str | None) -> None:
    found = without_last_comments(text)
    assert found == (text if given is None else given)
    script = [{"name": "a", "weight": 1.0, "text": found}]
    trial = TrialJob(seed=1, stream=1, operations=1, first_op=1, deadline_seconds=1.0).as_json()
    _native.loop_cost(json.dumps(script), "{}", json.dumps(trial))
