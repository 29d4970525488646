"""The laws by which columns are drawn, as ``workload.toml`` writes them: their parameters and what those must keep to.

The rows themselves are made in Rust (``tdelta-core``, module ``data``); a plan that passes here is accepted there.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

from tdelta.workloads import limits
from tdelta.workloads.faults import hint, shown

INTEGER, REAL, TEXT = "integer", "real", "text"

_I64 = range(-(2**63), 2**63)
_EXACT = 2**53

WEIGHT = f"a number of {limits.LEAST_WEIGHT:g} to {limits.MOST_WEIGHT:g}"
"""What a weight must be, in words."""


@dataclass(frozen=True, slots=True)
class Law:
    """One law: the type of each parameter (those in ``optional`` may be left out), what it makes, and its own check."""

    makes: str | None
    parameters: Mapping[str, str] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()
    check: Callable[[Mapping[str, object]], Iterator[str]] = lambda _: iter(())
    nullable: bool = True


def _number(values: Mapping[str, object], name: str) -> float:
    value = values[name]
    return value if isinstance(value, int | float) else math.nan


def _ordered(low: str, high: str) -> Callable[[Mapping[str, object]], Iterator[str]]:
    def check(values: Mapping[str, object]) -> Iterator[str]:
        if _number(values, low) > _number(values, high):
            yield f"{low} ({values[low]}) is above {high} ({values[high]})"

    return check


def _span(values: Mapping[str, object]) -> Iterator[str]:
    yield from _ordered("lo", "hi")(values)
    if _number(values, "hi") - _number(values, "lo") >= _EXACT:
        yield "lo to hi spans more than 2^53"


def _zipf(values: Mapping[str, object]) -> Iterator[str]:
    yield from _span(values)
    yield from _exponent(values)


def _exponent(values: Mapping[str, object]) -> Iterator[str]:
    if not 1.001 <= _number(values, "s") <= 1000:
        yield f"s must be 1.001 to 1000, found {values['s']}"


def _gaussian(values: Mapping[str, object]) -> Iterator[str]:
    yield from _span(values)
    if not 2 <= _number(values, "width") < math.inf:
        yield f"width must be at least 2, found {values['width']}"


def _reference(values: Mapping[str, object]) -> Iterator[str]:
    pick = values.get("pick", "uniform")
    if pick not in ("uniform", "zipf", "sequence"):
        yield f"unknown pick {shown(pick)}.{hint(str(pick), ('uniform', 'zipf', 'sequence'))}"
    elif pick == "zipf":
        if "s" in values:
            yield from _exponent(values)
        else:
            yield "a zipf pick needs s"
    elif "s" in values or "scatter" in values:
        yield "s and scatter belong to a zipf pick"


def _decimal(values: Mapping[str, object]) -> Iterator[str]:
    yield from _ordered("lo", "hi")(values)
    places = _number(values, "places")
    if not 0 <= places <= 9:
        yield f"places must be 0 to 9, found {values['places']}"
    elif max(abs(_number(values, "lo")), abs(_number(values, "hi"))) * 10**places >= _EXACT:
        yield "lo or hi is beyond 2^53 units of the last place"


def _lengths(values: Mapping[str, object]) -> Iterator[str]:
    yield from _ordered("min", "max")(values)
    if _number(values, "min") < 0:
        yield f"min must be at least 0, found {values['min']}"


def _template(values: Mapping[str, object]) -> Iterator[str]:
    if not str(values["template"]).isascii():
        yield "template must be ASCII"


def _choice(values: Mapping[str, object]) -> Iterator[str]:
    choices, weights = values["values"], values.get("weights")
    if not isinstance(choices, list) or not choices:
        yield "values must not be empty"
        return
    if bad := [value for value in choices if not _is("scalar", value)]:
        yield f"values must be texts and numbers, found {shown(bad[0])}"
    if not isinstance(weights, list):
        return
    if len(weights) != len(choices):
        yield f"{len(weights)} weights for {len(choices)} values"
    if not all(map(is_weight, weights)):
        yield f"each of the weights must be {WEIGHT}"


LAWS: Mapping[str, Law] = {
    "serial": Law(INTEGER, nullable=False),
    "const": Law(None, {"value": "scalar"}),
    "uniform": Law(INTEGER, {"lo": "integer", "hi": "integer"}, check=_ordered("lo", "hi")),
    "zipf": Law(
        INTEGER,
        {"lo": "integer", "hi": "integer", "s": "number", "scatter": "boolean"},
        frozenset({"scatter"}),
        _zipf,
    ),
    "gaussian": Law(INTEGER, {"lo": "integer", "hi": "integer", "width": "number"}, check=_gaussian),
    "ref": Law(
        INTEGER,
        {"table": "text", "pick": "text", "s": "number", "scatter": "boolean"},
        frozenset({"pick", "s", "scatter"}),
        _reference,
    ),
    "parent": Law(INTEGER),
    "line": Law(INTEGER),
    "decimal": Law(REAL, {"lo": "number", "hi": "number", "places": "integer"}, check=_decimal),
    "text": Law(TEXT, {"min": "integer", "max": "integer"}, check=_lengths),
    "words": Law(TEXT, {"min": "integer", "max": "integer"}, check=_lengths),
    "pattern": Law(TEXT, {"template": "text"}, check=_template),
    "choice": Law(None, {"values": "list", "weights": "list"}, frozenset({"weights"}), _choice),
    "timestamp": Law(INTEGER, {"start": "time", "end": "time"}, check=_ordered("start", "end")),
}
"""Every law by its name."""


def epoch_seconds(value: object) -> object:
    """A TOML date or time as seconds since 1970 (UTC where it names no zone); anything else as it is."""
    if isinstance(value, dt.datetime):
        return int((value if value.tzinfo else value.replace(tzinfo=dt.UTC)).timestamp())
    if isinstance(value, dt.date):
        return int(dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC).timestamp())
    return value


def law_faults(name: str, values: Mapping[str, object]) -> Iterator[str]:
    """What is wrong with the parameters of a known law, times as epoch seconds."""
    law = LAWS[name]
    for unknown in values.keys() - law.parameters.keys():
        yield f"law {name!r} has no parameter {shown(unknown)}.{hint(unknown, law.parameters)}"
    for parameter in law.parameters.keys() - law.optional - values.keys():
        yield f"law {name!r} needs {parameter!r}"
    wrong = [key for key, value in values.items() if key in law.parameters and not _is(law.parameters[key], value)]
    for key in wrong:
        yield f"{key} must be {_article(law.parameters[key])}, found {shown(values[key])}"
    if not wrong and law.parameters.keys() - law.optional <= values.keys():
        yield from law.check(values)


def is_weight(value: object) -> TypeGuard[float]:
    """Whether it may be the weight of a transaction, or of a value that is drawn."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return limits.LEAST_WEIGHT <= value <= limits.MOST_WEIGHT


def text_bytes(name: str, values: Mapping[str, object], longest: bool) -> float:
    """Bytes of the text that a law makes, at the most or on average; 0 where it makes numbers.

    The parameters have passed `law_faults`.
    """
    match name:
        case "text" | "words":
            return _number(values, "max") if longest else (_number(values, "min") + _number(values, "max")) / 2
        case "pattern":
            return len(str(values["template"]))
        case "const" | "choice":
            listed = values.get("values", [values.get("value")])
            sizes = [len(v.encode()) for v in listed if isinstance(v, str)] if isinstance(listed, list) else []
            return (max if longest else min)(sizes, default=0)
        case _:
            return 0.0


def made_types(name: str, values: Mapping[str, object]) -> set[str]:
    """The types of the values a law makes: ``integer``, ``real``, ``text``."""
    makes = LAWS[name].makes
    if makes is not None:
        return {makes}
    listed = values.get("values", [values.get("value")])
    types = {str: TEXT, int: INTEGER, float: REAL}
    return {types[type(value)] for value in listed if type(value) in types} if isinstance(listed, list) else set()


def _article(kind: str) -> str:
    return {
        "integer": "an integer of 64 bits",
        "number": "a number",
        "text": "a text",
        "boolean": "true or false",
        "list": "a list",
        "scalar": "a text or a number",
        "time": "a date, a time or epoch seconds",
    }[kind]


def _is(kind: str, value: object) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    match kind:
        case "integer" | "time":
            return isinstance(value, int) and value in _I64
        case "number":
            return isinstance(value, int | float) and math.isfinite(value)
        case "text":
            return isinstance(value, str)
        case "list":
            return isinstance(value, list)
        case "scalar":
            return _is("text", value) or _is("integer", value) or (isinstance(value, float) and math.isfinite(value))
        case _:
            return False
