"""Do twins run the same plans? A difference in plan is a difference that encryption did not make by itself.

The optimizer goes by statistics, and these are drawn by sampling: twins with equal rows can be given different plans.
Each statement of the workload is explained on each twin once statistics are gathered, costs and estimates are left out
of the answers, and what is left is compared: join order, access types, keys, kinds of nodes, conditions.

Limits: a statement is explained with sample values in the place of its parameters, so a plan that depends on the values
is seen for these only; nothing is run, so a plan that is changed while it runs (adaptive ones) is not seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

from tdelta.errors import TdeltaError
from tdelta.workloads.dialect import Dialect
from tdelta.workloads.scan import Piece, cut

Rows: TypeAlias = Callable[[str], Sequence[Sequence[object]]]  # the rows that a statement answers on one twin

Value: TypeAlias = "str | int | float | bytes | None"
Plan: TypeAlias = Any  # as JSON values, without what differs from run to run

SAMPLES: tuple[Value, ...] = ("1", 1)
"""For a parameter of which nothing is said: as text, which engines take for a number where one is due, and where they
do not (PostgreSQL on the sum of two) as a number."""

_VARIABLE = re.compile(r"(?<!:):([A-Za-z_][A-Za-z0-9_]*)")
_COUNTED = re.compile(r"\b(limit|offset|fetch\s+(first|next))\s*$", re.IGNORECASE)
_EXPLAINED = ("select", "insert", "update", "delete", "replace", "with", "values", "merge")
_ESTIMATES = re.compile(
    r"(^|[ _])(costs?|rows|filtered|loops|time|width|estimated|actual|selectivity|optimization|statistics)([ _]|$)"
    r"|^r_|^data_read|_per_scan$|_per_join$|^query$|^schema_name$",
    re.IGNORECASE,
)
NOT_EXPLAINED = "not explained"
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Sampled:
    """One statement of a workload as one engine takes it, sample values in the place of its parameters.

    ``name`` is the transaction's with the statement's number from 1, ``order_products/3``, as measurements have it.
    ``texts`` are tried in their order until one is explained.
    """

    name: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanDifference:
    """A statement that two twins run differently: in short words how the baseline does it, and how the other does."""

    statement: str
    baseline: str
    other: str

    def __str__(self) -> str:
        return f"{self.statement}: {self.baseline} | {self.other}"


def sampled(
    dialect: Dialect, scripts: Mapping[str, str], values: Mapping[str, Value] | None = None
) -> tuple[Sampled, ...]:
    """The statements of a workload that have a plan.

    `values`: what to put for a parameter, by name; `SAMPLES` for those that are not named.
    """
    return tuple(
        Sampled(f"{name}/{number}", tuple(_bound(dialect, piece, values or {}, sample) for sample in SAMPLES))
        for name, text in scripts.items()
        for number, piece in enumerate((piece for piece in cut(text)[0] if piece.is_counted), start=1)
        if piece.code.split(maxsplit=1)[0].lower() in _EXPLAINED
    )


def plans_of(dialect: Dialect, rows: Rows, statements: Iterable[Sampled]) -> dict[str, Plan]:
    """The plan of each statement on one twin, by the statement's name; why there is none where there is none."""
    return {one.name: _plan(dialect, rows, one) for one in statements}


def compare(baseline: Mapping[str, Plan], other: Mapping[str, Plan]) -> tuple[PlanDifference, ...]:
    return tuple(
        PlanDifference(name, *_words(plan, other.get(name)))
        for name, plan in baseline.items()
        if plan != other.get(name)
    )


def _bound(dialect: Dialect, piece: Piece, values: Mapping[str, Value], sample: Value) -> str:
    """The text with literals for parameters. Places are looked for where strings and comments are blanked."""
    parts, end = [], 0
    for match in _VARIABLE.finditer(piece.code):
        is_counted = _COUNTED.search(piece.code[: match.start()]) is not None
        value = values.get(match[1], 1 if is_counted else sample)
        parts += [piece.text[end : match.start()], _literal(dialect, value)]
        end = match.end()
    return "".join((*parts, piece.text[end:]))


def _literal(dialect: Dialect, value: Value) -> str:
    match value:
        case None:
            return "NULL"
        case bytes():
            return dialect.bytes_literal.format(value.hex())
        case str():
            return dialect.text_literal(value)
        case _:
            return repr(value)


def _plan(dialect: Dialect, rows: Rows, statement: Sampled) -> Plan:
    refused = ""
    for text in dict.fromkeys(statement.texts):
        try:
            answer = rows(f"{dialect.explain} {text}")
        except TdeltaError as error:
            refused = refused or str(error)
        else:
            return without_estimates(json.loads("\n".join(str(row[0]) for row in answer)))
    return {NOT_EXPLAINED: refused}


def without_estimates(plan: Plan) -> Plan:
    """A plan without costs, row counts, times and names of schemas, which two servers need not agree on."""
    if isinstance(plan, Mapping):
        return {key: without_estimates(value) for key, value in plan.items() if not _ESTIMATES.search(key)}
    if isinstance(plan, list):
        return [without_estimates(value) for value in plan]
    return plan


def _words(baseline: Plan, other: Plan) -> tuple[str, str]:
    """Both in short words: what is done with which table by which key; where that is alike, what first differs."""
    short = _short(baseline), _short(other)
    if short[0] != short[1]:
        return short
    pairs = list(_leaves(baseline)), list(_leaves(other))
    differing = next((pair for pair in zip(*pairs, strict=False) if pair[0] != pair[1]), None)
    if differing is None:
        return f"{len(pairs[0])} details", f"{len(pairs[1])} details"
    return f"{short[0]} ({differing[0]})", f"{short[1]} ({differing[1]})"


def _short(plan: Plan) -> str:
    if plan is None:
        return "no plan"
    return _line(", ".join(_nodes(plan))) or _line(json.dumps(plan))


def _nodes(plan: Plan) -> Iterator[str]:
    """Every step that touches a table or sorts, in the order in which the plan has them."""
    if isinstance(plan, list):
        for one in plan:
            yield from _nodes(one)
    elif isinstance(plan, Mapping):
        described = next((tell(plan) for key, tell in _TELLERS.items() if key in plan), None)
        if described:
            yield described
        for key, value in plan.items():
            if key in _OPERATIONS and isinstance(value, Mapping):
                yield _OPERATIONS[key]
            yield from _nodes(value)


def _table(node: Mapping[str, Any]) -> str:
    """MariaDB, and MySQL's first format."""
    parts = node.get("used_key_parts", ())
    key = f" {node['key']}({','.join(parts)})" if "key" in node else ""
    return f"{node['table_name']} {node.get('access_type', 'written')}{key}"


def _node(node: Mapping[str, Any]) -> str:
    using = f" using {node['Index Name']}" if "Index Name" in node else ""
    on = f" on {node['Relation Name']}" if "Relation Name" in node else ""
    return f"{node['Node Type']}{using}{on}"


_TELLERS: Mapping[str, Callable[[Mapping[str, Any]], str]] = MappingProxyType(
    {
        "operation": lambda node: str(node["operation"]),  # MySQL's second format has whole phrases
        "Node Type": _node,
        "table_name": _table,
        NOT_EXPLAINED: lambda node: f"{NOT_EXPLAINED}: {node[NOT_EXPLAINED]}",
    }
)
_OPERATIONS = MappingProxyType(
    {
        "filesort": "filesort",
        "temporary_table": "temporary table",
        "materialized": "materialized",
        "ordering_operation": "ordering",
        "grouping_operation": "grouping",
    }
)


def _leaves(plan: Plan, path: str = "") -> Iterator[str]:
    if isinstance(plan, Mapping):
        for key, value in plan.items():
            yield from _leaves(value, f"{path}.{key}" if path else key)
    elif isinstance(plan, list):
        for value in plan:
            yield from _leaves(value, path)
    else:
        yield f"{path}={plan}"


def _line(text: str) -> str:
    return _SPACE.sub(" ", text).strip()
