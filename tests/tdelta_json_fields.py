"""The fields of findings in docs/json.md, from the types of their records.

Names, order and types are derived as the document's own are (`tdelta.report.values`); the words are kept where the page
has some, and point to the first place of a record that is in several. ``TDELTA_UPDATE_GOLDEN=1`` writes the page anew.
"""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from tdelta.records import FINDINGS, Condition
from tdelta.records.parts import prefix_of

BEGIN, END = "<!-- findings: generated -->\n", "<!-- end -->"
HEAD = "| field | type | what it is |\n|---|---|---|\n"
_ROW = re.compile(r"^\| `([^`]+)` \|(?:[^|\n]*\|)? ((?:[^|\n]|\\\|)*) \|$", re.MULTILINE)
_SCALARS: Mapping[type, str] = {float: "number", int: "whole number", bool: "true or false", str: "text"}

Field = tuple[str, str, "type | None"]
"""A path, the words for its type, and the record that its value or each item is; None where it is none."""


def generated(page: str) -> str:
    """The page with the fields of findings written anew."""
    before, _, rest = page.partition(BEGIN)
    old, _, after = rest.partition(END)
    return f"{before}{BEGIN}{HEAD}{''.join(_rows(dict(_ROW.findall(old))))}{END}{after}"


def _rows(words: Mapping[str, str]) -> Iterator[str]:
    first: dict[type, str] = {}
    shipped = {name: kind for name, kind in FINDINGS.items() if kind.__module__.startswith("tdelta.")}
    for name, kind in shipped.items():
        yield f"| `{name}` | {'object or null' if kind.IS_SINGLE else 'list'} | {words.get(name, '')} |\n"
        for path, typed, record in fields(kind, name if kind.IS_SINGLE else f"{name}[]"):
            parent = path.rpartition(".")[0]
            seen = first.setdefault(record, parent) if record else parent
            yield f"| `{path}` | {typed} | {words.get(path) or (f'as under `{seen}`' if seen != parent else '')} |\n"


def fields(kind: type, at: str, names: Mapping[str, str] | None = None) -> Iterator[Field]:
    """Every field of a record below a path, and those of records in it, each with the record it is a field of."""
    hints = typing.get_type_hints(kind)
    shown: dict[str, tuple[Any, Mapping[str, str] | None]] = {}
    for field in dataclasses.fields(kind):
        if prefix_of(field) is not None:
            raise NotImplementedError(f"{kind.__name__}.{field.name} is a part")
        name = (names or {}).get(field.name, field.metadata.get("json", field.name))
        if name:
            shown[name] = (hints[field.name], field.metadata.get("inside"))
    for name in getattr(kind, "DERIVED", ()):
        shown[name] = (typing.get_type_hints(getattr(kind, name).fget)["return"], None)
    for name, (hint, inside) in shown.items():
        typed, marks, record = _typed(hint)
        yield f"{at}.{name}", typed, kind
        if record is not None:
            yield from fields(record, f"{at}.{name}{marks}", inside)


def _typed(hint: Any) -> tuple[str, str, type | None]:
    """A type in words, what a path goes on with, and the record that is there."""
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        kinds = [kind for kind in arguments if kind is not types.NoneType]
        typed, marks, record = _typed(kinds[0])
        return f"{typed}{' or null' if len(kinds) < len(arguments) else ''}", marks, record
    match typing.get_origin(hint) or hint:
        case origin if origin is tuple and arguments[-1] is not Ellipsis:
            return f"`[{', '.join(_typed(one)[0] for one in arguments)}]`", "", None
        case origin if origin in (tuple, list):
            typed, marks, record = _typed(arguments[0])
            return f"list of {'objects' if typed == 'object' else typed}", f"[]{marks}", record
        case kind if kind is Condition:
            return "levels by factor", "", None
        case kind if dataclasses.is_dataclass(kind):
            return "object", "", kind
        case kind if isinstance(kind, type) and issubclass(kind, StrEnum):
            return "text", "", None
        case kind if kind in _SCALARS:
            return _SCALARS[kind], "", None
    return "object", "", None
