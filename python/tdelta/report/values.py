"""Records as the values of a JSON document, by their types: a field is called there what it is called here.

Where a document wants more of a field than its value, the record says so: ``metadata={"json": NAME}`` names it
otherwise (no name leaves it out), ``metadata={"inside": {NAME: OTHER}}`` renames fields of the records in it, and a
record's ``DERIVED`` are properties that stand beside its fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import StrEnum

from tdelta.records import Condition
from tdelta.records.parts import prefix_of


def values_of(value: object, names: Mapping[str, str] | None = None) -> object:
    """A record, or what a field may hold, as JSON values. A condition is its levels, by factor.

    Args:
        names: what fields of it are called instead.
    """
    match value:
        case Condition():
            return value.as_json()
        case StrEnum():
            return value.value
        case Mapping():
            return {key: values_of(inner) for key, inner in value.items()}
        case tuple() | list():
            return [values_of(inner, names) for inner in value]
    return record_values(value, names) if dataclasses.is_dataclass(value) else value


def record_values(record: object, names: Mapping[str, str] | None = None) -> dict[str, object]:
    found: dict[str, object] = {}
    for field in dataclasses.fields(record):  # type: ignore[arg-type]
        if (prefix := prefix_of(field)) is not None:
            part = record_values(getattr(record, field.name))
            found |= {f"{prefix}{name}": value for name, value in part.items()}
            continue
        name = (names or {}).get(field.name, field.metadata.get("json", field.name))
        if name:
            found[name] = values_of(getattr(record, field.name), field.metadata.get("inside"))
    return found | {name: getattr(record, name) for name in getattr(record, "DERIVED", ())}
