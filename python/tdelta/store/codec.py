"""Records to JSON values and back, exactly: ``decode(type(record), encode(record)) == record``.

Driven by the type hints of the records, so that a new field of a record needs nothing here. JSON lacks bytes and
non-finite floats: bytes become Base64 text, and a ``float`` that is not finite the text ``nan``, ``inf`` or ``-inf``
(the documents stay valid JSON). What is free-form in the records (``Mapping[str, object]``) must be made of JSON
values; a tuple in there comes back as a list, which is the one thing that does not come back as it was.

Limits: the field types that records use (scalars, ``StrEnum``, dataclasses, tuples, lists, mappings by text or whole
numbers, unions of scalars, ``X | None``, and findings, which are written with their kind), no others.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import types
import typing
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar

from tdelta.errors import Defect, StoreError
from tdelta.inputs import unexpected
from tdelta.messages import Refusal
from tdelta.records import Finding
from tdelta.records.findings import known_findings
from tdelta.records.parts import flat, flat_hints, nested

T = TypeVar("T")

KIND = "finding"
"""Under what a stored finding says of which kind it is."""


def encode(value: object) -> Any:
    """Turn a record, or any part of one, into JSON values."""
    match value:
        case StrEnum():
            return value.value
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case Mapping():
            return {_text_key(key): encode(item) for key, item in value.items()}
        case tuple() | list():
            return [encode(item) for item in value]
    if dataclasses.is_dataclass(value):
        fields = {name: encode(inner) for name, inner in flat(value)}
        return {KIND: value.FINDING, **fields} if isinstance(value, Finding) else fields
    raise Defect(f"cannot be stored as JSON: expected a record or a JSON value, found {type(value).__name__}")


def decode(kind: type[T], data: object) -> T:
    """Turn JSON values back into a record of type ``kind``.

    A field that is missing takes its default; an unknown one is a fault.
    """
    return typing.cast(T, _decode(kind, data, kind.__name__))


def dumps(value: object) -> str:
    return json.dumps(encode(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def loads(kind: type[T], text: str) -> T:
    """Decode from JSON text. Raises as :func:`decode` does, and for text that is not JSON."""
    try:
        data = json.loads(text)
    except ValueError as error:
        said = Refusal.of("invalid", kind="JSON", fault=f"{text[:40]!r} ({error})")
        raise StoreError(said.at(kind.__name__)) from error
    return decode(kind, data)


def _text_key(key: object) -> str:
    if not isinstance(key, str | int) or isinstance(key, bool):
        raise Defect(f"cannot be stored as JSON: expected text as a mapping's key, found {key!r}")
    return str(key)


def _key(kind: Any, key: str, where: str) -> object:
    if kind is not int:
        return key
    try:
        return int(key)
    except ValueError as error:
        raise StoreError(unexpected("a number as the key", repr(key), where)) from error


def _decode(kind: Any, data: object, where: str) -> object:
    """Decode ``data`` as the type hint ``kind``; ``where`` is the path for messages."""
    if kind in (object, Any):
        return data
    if isinstance(kind, type) and issubclass(kind, Finding):
        return _decode_finding(kind, _expect(data, dict, where), where)
    if dataclasses.is_dataclass(kind):
        return _decode_record(typing.cast(type, kind), data, where)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return _decode_tuple(arguments, _expect(data, list, where), where)
    if origin is list:
        return list(_decode_tuple((arguments[0], Ellipsis), _expect(data, list, where), where))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        items = _expect(data, dict, where).items()
        return {_key(arguments[0], key, where): _decode(arguments[1], item, f"{where}.{key}") for key, item in items}
    if origin in (typing.Union, types.UnionType):
        return _decode_union(arguments, data, where)
    return _decode_scalar(kind, data, where)


def _decode_finding(kind: type[Finding], data: dict[str, object], where: str) -> object:
    """A finding says of which kind it is, since a result holds all kinds side by side."""
    name, known = data.get(KIND), known_findings()
    if not isinstance(name, str) or name not in known or not issubclass(known[name], kind):
        raise StoreError(unexpected(f"a finding ({', '.join(known)})", repr(name), where))
    return _decode_record(known[name], {key: item for key, item in data.items() if key != KIND}, where)


def _decode_record(kind: type, data: object, where: str) -> object:
    hints = flat_hints(kind)
    fields = _expect(data, dict, where)
    if unknown := ", ".join(sorted(fields.keys() - hints.keys())):
        raise StoreError(unexpected(f"the fields of {kind.__name__}", f"{unknown} among them", where))
    values = {name: _decode(hints[name], item, f"{where}.{name}") for name, item in fields.items()}
    try:
        return kind(**nested(kind, values))
    except TypeError as error:
        raise StoreError(unexpected("a complete record", error, where)) from error


def _decode_tuple(arguments: tuple[Any, ...], data: list[object], where: str) -> tuple[object, ...]:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        arguments = (arguments[0],) * len(data)
    if len(arguments) != len(data):
        raise StoreError(unexpected(f"{len(arguments)} items", len(data), where))
    pairs = zip(arguments, data, strict=True)
    return tuple(_decode(kind, item, f"{where}[{index}]") for index, (kind, item) in enumerate(pairs))


def _decode_union(arguments: tuple[Any, ...], data: object, where: str) -> object:
    if data is None and types.NoneType in arguments:
        return None
    kinds = [kind for kind in arguments if kind is not types.NoneType]
    if len(kinds) == 1:
        return _decode(kinds[0], data, where)
    if type(data) not in kinds:  # JSON keeps 1, 1.0 and "1" apart, so the value's own type decides
        raise StoreError(unexpected(f"one of {', '.join(k.__name__ for k in kinds)}", repr(data), where))
    return data


def _decode_scalar(kind: Any, data: object, where: str) -> object:
    try:
        if kind is float and not isinstance(data, bool) and isinstance(data, int | float | str):
            return float(data)
        if kind is bytes and isinstance(data, str):
            return base64.b64decode(data, validate=True)
        if isinstance(kind, type) and issubclass(kind, StrEnum) and isinstance(data, str):
            return kind(data)
    except ValueError as error:
        raise StoreError(unexpected(kind.__name__, repr(data), where)) from error
    return _expect(data, kind, where)


def _expect(data: object, kind: type[T], where: str) -> T:
    if type(data) is not kind:  # not isinstance: True is no int here
        raise StoreError(unexpected(kind.__name__, repr(data), where))
    return data
