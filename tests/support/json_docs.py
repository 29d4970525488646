"""docs/json.md against the documents themselves: which fields there are, and of which type each is."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tdelta.report.document import to_json

DOCS = Path(__file__).parents[2] / "docs"
_ROW = re.compile(r"^\| `([^`]+)` \|(?: ([^|\n]*) \|)? (.*) \|$", re.MULTILINE)

_TYPES: Mapping[str, tuple[type, ...]] = {
    "text": (str,),
    "number": (int, float),
    "whole number": (int,),
    "true or false": (bool,),
    "object": (dict,),
    "levels by factor": (dict,),
}


def documented(schema: str, page: str = "json.md") -> dict[str, str]:
    """The type of each field in the table of a schema, as the page has it; empty where it has no types."""
    section = (DOCS / page).read_text(encoding="utf-8").split(f"## `{schema}`")[1].split("\n## ")[0]
    rows = _ROW.findall(section)
    assert [path for path, _, words in rows if not words.strip()] == [], "a field wants words"
    return {path: kind for path, kind, _ in rows}


def check_documented(schema: str, *documents: object, page: str = "json.md") -> None:
    """These documents have exactly the documented fields, of the documented types."""
    types = documented(schema, page)
    found = [one for document in documents for one in _fields(json.loads(to_json(document)), "", types)]
    assert {path for path, _ in found} == set(types)
    assert [(path, value) for path, value in found if types[path] and not _is_of(value, types[path])] == []


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
