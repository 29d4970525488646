"""Scripts become steps, statements with a client's marks, and shares of a mix."""

from __future__ import annotations

import pytest

from tdelta.driver.scripted.draws import Rng
from tdelta.driver.scripted.programs import Kind, Program, Run, compile_program, mix_of


def dollar(number: int) -> str:
    return f"${number}"


def program(text: str) -> Program:
    return compile_program("t", text, ("rows_t", "scale"), dollar)


def test_a_variable_becomes_a_mark_and_strings_and_comments_stay() -> None:
    made = program("\\set a 1\n\\set b 2\nSELECT ':a', x /* :a */ FROM t WHERE y = :b AND z = :a AND w = :b;")
    (statement,) = made.statements
    assert statement.sql == "SELECT ':a', x /* :a */ FROM t WHERE y = $1 AND z = $2 AND w = $1"
    assert statement.names == ("b", "a")


def test_statements_say_what_they_do() -> None:
    made = program("BEGIN; UPDATE t SET x = 1; COMMIT;\n\\connect\nSELECT 1 AS x;")
    assert [one.kind for one in made.statements] == [Kind.BOUNDARY, Kind.WRITE, Kind.BOUNDARY, Kind.CONNECT, Kind.QUERY]


def test_a_row_fills_variables_column_by_column() -> None:
    made = program("SELECT a, b + 1 AS c FROM t \\gset p_\nSELECT :p_a, :p_c;")
    assert made.statements[0].into == ("p_a", "p_c")
    assert made.statements[1].into is None
    assert {"p_a", "p_c"} <= set(made.names)


def test_every_statement_is_run_by_one_step_in_order() -> None:
    made = program("\\repeat 2\nSELECT 1;\n\\if 1\nSELECT 2;\n\\else\nSELECT 3;\n\\endif\n\\endrepeat\nSELECT 4;")
    assert [step.statement for step in made.steps if isinstance(step, Run)] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("text", "told"), [("SELECT :never;", "t, line 1: unknown variable"), ("\\set x 1 +\nSELECT 1;", "t, line 1")]
)
def test_a_fault_names_script_and_line(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        program(text)


def test_types_are_drawn_by_their_weights_and_spans_are_named() -> None:
    scripts = [{"name": n, "weight": w, "text": "SELECT 1;\nSELECT 2;"} for n, w in (("a", 3), ("b", 1))]
    mix = mix_of(scripts, {"rows_t": 5.0, "scale": 0.5}, dollar)
    drawn = [mix.draw(Rng(1, 1, index)) for index in range(2000)]
    assert 0.70 < drawn.count(0) / len(drawn) < 0.80
    assert mix.span_names == ("tx:a", "tx:b", "stmt:a/1", "stmt:a/2", "stmt:b/1", "stmt:b/2")
    assert mix.first_span == (2, 4)
    assert (mix.constants["rows_t"], type(mix.constants["rows_t"])) == (5, int)
    assert mix.constants["scale"] == 0.5


def test_a_mix_without_weight_is_refused() -> None:
    with pytest.raises(ValueError, match="a weight above 0"):
        mix_of([{"name": "a", "weight": 0, "text": "SELECT 1;"}], {}, dollar)
