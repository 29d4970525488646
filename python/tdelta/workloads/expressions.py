r"""The expressions of ``\set``, ``\if`` and ``\repeat``: pgbench's, read into a small tree.

Lowest to highest: ``or``; ``and``; ``not``; comparisons; ``+ -``; ``* / %``; unary minus. The functions are pgbench's,
and ``random_string(min, max)``, which is tdelta's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tdelta.inputs import out_of_range, too_large, too_many, unexpected
from tdelta.messages import Refusal
from tdelta.workloads.faults import hint, shown
from tdelta.workloads.limits import DEEPEST, LONGEST_TEXT, MOST_TOKENS

FUNCTIONS: Mapping[str, tuple[int, int]] = {
    "random": (2, 2),
    "random_gaussian": (3, 3),
    "random_exponential": (3, 3),
    "random_zipfian": (3, 3),
    "random_string": (2, 2),
    "permute": (2, 2),
    "hash": (1, 1),
    "min": (1, 16),
    "max": (1, 16),
    "least": (1, 16),
    "greatest": (1, 16),
    "abs": (1, 1),
    "int": (1, 1),
    "double": (1, 1),
}
"""Fewest and most arguments of each function."""

# The bounds are pgbench's, and those of the samplers behind them.
_SHAPES: Mapping[str, tuple[float, float]] = {
    "random_gaussian": (2.0, float("inf")),
    "random_exponential": (5e-324, float("inf")),
    "random_zipfian": (1.001, 1000.0),
}
_LEVELS: tuple[frozenset[str], ...] = (
    frozenset({"or"}),
    frozenset({"and"}),
    frozenset({"=", "<>", "!=", "<", "<=", ">", ">="}),
    frozenset({"+", "-"}),
    frozenset({"*", "/", "%"}),
)
_COMPARISON = 2
_LONGEST_NUMBER = 50
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.?\d*|\.\d+)|:(?P<variable>[A-Za-z_]\w*)|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<symbol><>|<=|>=|!=|[-+*/%()<>=,]))",
    re.ASCII,
)


class ExpressionFault(ValueError):
    """An expression that cannot be read; ``said`` is why."""

    def __init__(self, said: Refusal) -> None:
        super().__init__(said)
        self.said = said


@dataclass(frozen=True, slots=True)
class Number:
    value: int | float


@dataclass(frozen=True, slots=True)
class Variable:
    name: str


@dataclass(frozen=True, slots=True)
class Apply:
    operator: str
    operands: tuple[Expression, ...]


Expression: TypeAlias = Number | Variable | Apply


def parse(text: str) -> Expression:
    """Raises `ExpressionFault`: it is no expression; ``said`` is why."""
    tokens = list(_tokens(text))
    if len(tokens) > MOST_TOKENS:
        raise ExpressionFault(too_many("numbers, names and signs", MOST_TOKENS))
    try:
        return _Parser(tokens).whole()
    except RecursionError:
        raise ExpressionFault(too_many("levels of an expression", DEEPEST)) from None


def variables(expression: Expression) -> Iterator[str]:
    match expression:
        case Variable(name):
            yield name
        case Apply(_, operands):
            for operand in operands:
                yield from variables(operand)
        case Number():
            return


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    def whole(self) -> Expression:
        expression = self.binary(0)
        if self.at < len(self.tokens):
            raise ExpressionFault(unexpected("an operator", repr(self.tokens[self.at][1])))
        return expression

    def eat(self, *texts: str) -> str | None:
        if self.at < len(self.tokens):
            kind, text = self.tokens[self.at]
            if kind in ("word", "symbol") and text.lower() in texts:
                self.at += 1
                return text.lower()
        return None

    def expect(self, text: str) -> None:
        if not self.eat(text):
            found = repr(self.tokens[self.at][1]) if self.at < len(self.tokens) else "the end"
            raise ExpressionFault(unexpected(f"{text!r}", found))

    def binary(self, level: int) -> Expression:
        if level == len(_LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while operator := self.eat(*_LEVELS[level]):
            left = Apply(operator, (left, self.binary(level + 1)))
        return left

    def unary(self) -> Expression:
        self.depth += 1
        if self.depth > DEEPEST:
            raise RecursionError
        expression = self.operand()
        self.depth -= 1
        return expression

    def operand(self) -> Expression:
        if self.eat("-"):
            return Apply("-", (self.unary(),))
        if self.eat("not"):
            return Apply("not", (self.binary(_COMPARISON),))
        if self.eat("("):
            inner = self.binary(0)
            self.expect(")")
            return inner
        return self.atom()

    def atom(self) -> Expression:
        if self.at >= len(self.tokens):
            raise ExpressionFault(unexpected("more", "the end of the expression"))
        kind, text = self.tokens[self.at]
        self.at += 1
        match kind:
            case "number":
                return Number(_number(text))
            case "variable":
                return Variable(text)
            case "word":
                return self.call(text.lower())
            case _:
                raise ExpressionFault(unexpected("an operator", repr(text)))

    def call(self, name: str) -> Expression:
        if name in ("true", "false"):
            return Number(int(name == "true"))
        if name not in FUNCTIONS:
            variable = f"A variable is written :{name}."
            raise ExpressionFault(
                Refusal.of("unknown", kind="function", found=shown(name), hint=f"{hint(name, FUNCTIONS)} {variable}")
            )
        self.expect("(")
        operands = [self.binary(0)]
        while self.eat(","):
            operands.append(self.binary(0))
        self.expect(")")
        _check_call(name, operands)
        return Apply(name, tuple(operands))


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    end = len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise ExpressionFault(unexpected("a number, a name or a sign", shown(text[position:].strip())))
        kind = match.lastgroup or "symbol"
        yield kind, match.group(kind)
        position = match.end()


def _number(text: str) -> int | float:
    if len(text) > _LONGEST_NUMBER:
        raise ExpressionFault(too_large(shown(text), "64 bits"))
    value = float(text) if "." in text else int(text)
    if isinstance(value, int) and value >= 2**63:
        raise ExpressionFault(too_large(text, "64 bits"))
    return value


def _literal(expression: Expression) -> int | float | None:
    match expression:
        case Number(value):
            return value
        case Apply("-", (Number(value),)):
            return -value
        case _:
            return None


def _check_call(name: str, operands: list[Expression]) -> None:
    fewest, most = FUNCTIONS[name]
    if not fewest <= len(operands) <= most:
        wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise ExpressionFault(out_of_range(f"the number of arguments of {name}", wanted, len(operands)))
    if name.startswith("random"):
        low, high = _literal(operands[0]), _literal(operands[1])
        if low is not None and high is not None and low > high:
            raise ExpressionFault(out_of_range(f"the range of {name}", "not empty", f"{low} to {high}"))
        if name == "random_string" and high is not None and high > LONGEST_TEXT:
            raise ExpressionFault(too_large(f"the text of {name}", f"{LONGEST_TEXT:,} characters"))
    if name in _SHAPES and (shape := _literal(operands[2])) is not None:
        low, high = _SHAPES[name]
        if not low <= shape <= high:
            bounds = f"{low:g} to {high:g}" if high < float("inf") else "above 0" if low < 1 else f"at least {low:g}"
            raise ExpressionFault(out_of_range(f"the parameter of {name}", bounds, shape))
