"""Parts of a record: records of their own in Python, whose fields stand among the whole's wherever it is written.

A record that is wide is made of parts that belong together; what is stored, exported or printed of it keeps one flat
list of names. A part's field is called there what it is called in Python, behind the part's prefix.
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

_PREFIX = "flat prefix"


def part(kind: type[Any] | None = None, prefix: str = "") -> Any:
    """Declare a field that is a part.

    Args:
        kind: what to make it of where it is left out; None where it must be given.
        prefix: what its fields' names begin with where they stand among the whole's.
    """
    default: Any = dataclasses.MISSING if kind is None else kind
    return dataclasses.field(default_factory=default, metadata={_PREFIX: prefix})


def prefix_of(field: dataclasses.Field[Any]) -> str | None:
    """The prefix of a part's names; None for a field that is no part."""
    return field.metadata.get(_PREFIX)


@functools.cache
def flat_hints(kind: type) -> Mapping[str, Any]:
    hints = typing.get_type_hints(kind)
    found: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        prefix = prefix_of(field)
        inner = {} if prefix is None else flat_hints(hints[field.name])
        found |= {field.name: hints[field.name]} if prefix is None else {f"{prefix}{n}": h for n, h in inner.items()}
    return MappingProxyType(found)


def flat(record: Any) -> Iterator[tuple[str, Any]]:
    """The values of a record's fields with their flat names, in the order of `flat_hints`."""
    for field in dataclasses.fields(record):
        value, prefix = getattr(record, field.name), prefix_of(field)
        if prefix is None:
            yield field.name, value
        else:
            yield from ((f"{prefix}{name}", inner) for name, inner in flat(value))


def nested(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a record, from values by their flat names: those of a part as that part.

    Raises:
        TypeError: a part lacks a value.
    """
    made = dict(values)
    for name, prefix, of in _parts(kind):
        inner = {one: made.pop(f"{prefix}{one}") for one in flat_hints(of) if f"{prefix}{one}" in made}
        made[name] = of(**nested(of, inner))
    return made


@functools.cache
def _parts(kind: type) -> tuple[tuple[str, str, type], ...]:
    hints = typing.get_type_hints(kind)
    prefixes = ((field.name, prefix_of(field)) for field in dataclasses.fields(kind))
    return tuple((name, prefix, hints[name]) for name, prefix in prefixes if prefix is not None)
