"""The fields that docs/json.md lists against the documents themselves: their names and types."""

import json
from collections.abc import Iterator, Mapping

from support.reference import reference
from tdelta.report.document import to_json

_TYPES: Mapping[str, tuple[type, ...]] = {
    "text": (str,),
    "number": (int, float),
    "whole number": (int,),
    "true or false": (bool,),
    "object": (dict,),
    "levels by factor": (dict,),
}


def check_documented(schema: str, *documents: object) -> None:
    """These documents have exactly the documented fields, of the documented types."""
    types = reference().fields_of(schema)
    found = [one for document in documents for one in _fields(json.loads(to_json(document)), "", types)]
    assert {path for path, _ in found} == set(types)
    assert [(path, value) for path, value in found if not _is_of(value, types[path])] == []


def _fields(value: object, at: str, types: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    """Every field below a path with its value; what is documented as a whole only is free in its form."""
    if isinstance(value, list):
        for inner in value:
            yield from _fields(inner, f"{at}[]", types)
    elif isinstance(value, dict) and (not at or any(path.startswith(f"{at}.") for path in types)):
        for key, inner in value.items():
            path = f"{at}.{key}" if at else key
            yield path, inner if isinstance(inner, str | int | float | None) else type(inner)()
            yield from _fields(inner, path, types)


def _is_of(value: object, kind: str) -> bool:
    named = kind.removesuffix(" or null")
    if value is None:
        return named != kind or named == "number"  # one that does not exist
    expected = (list,) if named.startswith(("list", "`[")) else _TYPES[named]
    return isinstance(value, expected) and isinstance(value, bool) == (bool in expected)
