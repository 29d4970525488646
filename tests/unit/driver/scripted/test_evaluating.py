"""Expressions mean what they mean in the native loop."""

from __future__ import annotations

import pytest

from tdelta.driver.scripted.draws import Rng
from tdelta.driver.scripted.evaluating import ScriptFault, Value, compiled
from tdelta.workloads.expressions import parse


def value_of(text: str, **variables: Value) -> Value:
    return compiled(parse(text))(variables, Rng(1, 2, 3))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 - 4 / 2", 5),
        ("-(2 + 3) % 3", -2),
        ("-7 / 2", -3),
        ("7 / -2", -3),
        ("-7 % 2", -1),
        ("1 < 2 and not 3 = 4", 1),
        ("0 or 0", 0),
        ("max(1, 7, 3) + min(2, 5)", 9),
        ("double(7) / 2", 3.5),
        ("int(3.9)", 3),
        ("abs(-4)", 4),
        ("9223372036854775807 + 1", -(2**63)),
        ("5.5 % 2", 1.5),
        ("1 <> 2", 1),
        ("2 >= 2.0", 1),
    ],
)
def test_arithmetic_is_that_of_64_bits(text: str, value: Value) -> None:
    found = value_of(text)
    assert (found, type(found)) == (value, type(value))


def test_variables_are_read_and_texts_compared() -> None:
    assert value_of(":a + :b", a=1, b=2) == 3
    assert value_of(":a = :b", a="x", b="x") == 1
    assert value_of(":a < :b", a="b", b="a") == 0


def test_the_side_that_does_not_decide_is_not_drawn() -> None:
    expression = compiled(parse("0 and random(1, 5) = 1"))
    rng, untouched = Rng(1, 2, 3), Rng(1, 2, 3)
    assert expression({}, rng) == 0
    assert rng.bits() == untouched.bits()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 / :zero", "division by zero"),
        ("1 % :zero", "division by zero"),
        ("1.5 / :zero", "division by zero"),
        (":never + 1", "before it is set"),
        (":word + 1", "is not a number"),
        (":word + :word", "text has no arithmetic"),
        ("random(:five, 1)", "is empty"),
        ("permute(1, :zero)", "size of at least 1"),
        ("random_zipfian(1, 5, :zero)", "does not take the parameter 0"),
    ],
)
def test_what_cannot_be_computed_is_told(text: str, told: str) -> None:
    with pytest.raises(ScriptFault, match=told):
        value_of(text, zero=0, never=None, word="a", five=5)
