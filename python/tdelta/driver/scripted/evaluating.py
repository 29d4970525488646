r"""The expressions of ``\set``, ``\if`` and ``\repeat``, made into functions of the variables and a generator.

Integers are 64 bits and wrap, division truncates, a condition is 0 or 1: as crates/tdelta-core/src/script.rs has it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tdelta.driver.scripted.draws import Rng, mix64, permute, signed
from tdelta.workloads.expressions import Apply, Expression, Number, Variable

Value: TypeAlias = "int | float | str | bytes | None"
Variables: TypeAlias = dict[str, Value]
Evaluate: TypeAlias = Callable[[Variables, Rng], Value]


class ScriptFault(Exception):
    """What an expression cannot compute."""


def compiled(expression: Expression) -> Evaluate:
    """The function that gives an expression's value; it raises `ScriptFault` for what cannot be computed."""
    match expression:
        case Number(value):
            return lambda _variables, _rng: value
        case Variable(name):
            return lambda variables, _rng: variables[name]
        case Apply("-", (operand,)):
            return _negated(compiled(operand))
        case Apply("not", (operand,)):
            inner = compiled(operand)
            return lambda variables, rng: int(not is_true(inner(variables, rng)))
        case Apply("and" | "or" as word, (left, right)):
            return _connected(word, compiled(left), compiled(right))
        case Apply(symbol, (left, right)) if symbol in _COMPARISONS or symbol in _ARITHMETIC:
            first, second = compiled(left), compiled(right)
            return lambda variables, rng: _binary(symbol, first(variables, rng), second(variables, rng))
        case Apply(name, operands):
            return _called(name, [compiled(operand) for operand in operands])
    raise ScriptFault(f"{expression!r} is no expression")


def is_true(value: Value) -> bool:
    """Whether a value is true: a number other than 0."""
    return isinstance(value, int | float) and value != 0


def as_integer(value: Value) -> int:
    """A value as an integer; a double is truncated.

    Raises:
        ScriptFault: it is no number.
    """
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value)
    if value is None:
        raise ScriptFault("a variable is used before it is set (or its row had NULL)")
    raise ScriptFault(f"{value!r} is not a number")


def _as_real(value: Value) -> float:
    return value if isinstance(value, float) else float(as_integer(value))


def _negated(inner: Evaluate) -> Evaluate:
    def evaluate(variables: Variables, rng: Rng) -> Value:
        value = inner(variables, rng)
        return signed(-value) if isinstance(value, int) else -_as_real(value)

    return evaluate


def _connected(word: str, left: Evaluate, right: Evaluate) -> Evaluate:
    """``and`` and ``or``, the right side only where it decides: a draw in it is otherwise not made."""
    decides = word == "or"

    def evaluate(variables: Variables, rng: Rng) -> Value:
        if is_true(left(variables, rng)) is decides:
            return int(decides)
        return int(is_true(right(variables, rng)))

    return evaluate


_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC = frozenset("+-*/%")


def _binary(symbol: str, left: Value, right: Value) -> Value:
    compare = _COMPARISONS.get(symbol)
    if isinstance(left, str) and isinstance(right, str):
        if compare is None:
            raise ScriptFault("text has no arithmetic")
        return int(compare(left, right))
    if isinstance(left, int) and isinstance(right, int):
        return int(compare(left, right)) if compare else _integers(symbol, left, right)
    a, b = _as_real(left), _as_real(right)
    return int(compare(a, b)) if compare else _reals(symbol, a, b)


def _integers(symbol: str, a: int, b: int) -> int:
    match symbol:
        case "+":
            return signed(a + b)
        case "-":
            return signed(a - b)
        case "*":
            return signed(a * b)
    if b == 0:
        raise ScriptFault("division by zero")
    quotient = abs(a) // abs(b) if (a < 0) is (b < 0) else -(abs(a) // abs(b))
    return signed(quotient if symbol == "/" else a - b * quotient)


def _reals(symbol: str, a: float, b: float) -> float:
    match symbol:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
    if b == 0.0:
        raise ScriptFault("division by zero")
    return a / b if symbol == "/" else math.fmod(a, b)


def _called(name: str, operands: list[Evaluate]) -> Evaluate:
    if name in ("min", "least", "max", "greatest"):
        return _extreme("<" if name in ("min", "least") else ">", operands)
    if name.startswith("random"):
        return _drawn(name, operands)
    return _plain(name, operands)


def _drawn(name: str, operands: list[Evaluate]) -> Evaluate:
    low, high, *more = operands

    def evaluate(variables: Variables, rng: Rng) -> Value:
        first, last = as_integer(low(variables, rng)), as_integer(high(variables, rng))
        if first > last:
            raise ScriptFault(f"the range {first} … {last} is empty")
        match name:
            case "random":
                return rng.between(first, last)
            case "random_string":
                return rng.text(rng.between(max(first, 0), max(last, 0)))
        return _shaped(name, rng, first, last, _as_real(more[0](variables, rng)))

    return evaluate


def _shaped(name: str, rng: Rng, low: int, high: int, parameter: float) -> int:
    match name:
        case "random_gaussian" if parameter >= 2.0:
            return rng.gaussian(low, high, parameter)
        case "random_exponential" if parameter > 0.0:
            return rng.exponential(low, high, parameter)
        case "random_zipfian" if 1.001 <= parameter <= 1000.0:
            return rng.zipfian(low, high, parameter)
    raise ScriptFault(f"{name} does not take the parameter {parameter:g}")


def _plain(name: str, operands: list[Evaluate]) -> Evaluate:
    first = operands[0]

    def evaluate(variables: Variables, rng: Rng) -> Value:
        match name:
            case "permute":
                index, size = as_integer(first(variables, rng)), as_integer(operands[1](variables, rng))
                if size < 1:
                    raise ScriptFault(f"permute needs a size of at least 1, not {size}")
                return permute(index, size)
            case "hash":
                return signed(mix64(as_integer(first(variables, rng))))
            case "abs":
                value = first(variables, rng)
                return signed(abs(value)) if isinstance(value, int) else abs(_as_real(value))
            case "int":
                return as_integer(first(variables, rng))
            case "double":
                return _as_real(first(variables, rng))
        raise ScriptFault(f"unknown function {name}")

    return evaluate


def _extreme(symbol: str, operands: list[Evaluate]) -> Evaluate:
    def evaluate(variables: Variables, rng: Rng) -> Value:
        best = operands[0](variables, rng)
        for operand in operands[1:]:
            value = operand(variables, rng)
            if is_true(_binary(symbol, value, best)):
                best = value
        return best

    return evaluate
