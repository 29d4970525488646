"""The distributions that columns are drawn from, as ``workload.toml`` writes them: their parameters and their limits.

The rows themselves are made in Rust (``tdelta-core``, module ``data``); a plan that passes here is accepted there.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

from tdelta.inputs import missing, out_of_range, requires, too_large, unexpected
from tdelta.messages import Refusal
from tdelta.workloads import limits
from tdelta.workloads.faults import shown, unknown

INTEGER, REAL, TEXT = "integer", "real", "text"
_I64 = range(-(2**63), 2**63)
_EXACT = 2**53
WEIGHT = f"a number of {limits.LEAST_WEIGHT:g} to {limits.MOST_WEIGHT:g}"  # what a weight must be, in words


@dataclass(frozen=True, slots=True)
class Distribution:
    """The type that it makes, those of its parameters (``optional`` ones may be left out), and its own check."""

    makes: str | None
    parameters: Mapping[str, str] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()
    check: Callable[[Mapping[str, object]], Iterator[Refusal]] = lambda _: iter(())
    nullable: bool = True


def _number(values: Mapping[str, object], name: str) -> float:
    value = values[name]
    return value if isinstance(value, int | float) else math.nan


def _ordered(low: str, high: str) -> Callable[[Mapping[str, object]], Iterator[Refusal]]:
    def check(values: Mapping[str, object]) -> Iterator[Refusal]:
        if _number(values, low) > _number(values, high):
            yield out_of_range(low, f"at most {high} ({values[high]})", values[low])

    return check


def _span(values: Mapping[str, object]) -> Iterator[Refusal]:
    yield from _ordered("lo", "hi")(values)
    if _number(values, "hi") - _number(values, "lo") >= _EXACT:
        yield too_large("the span from lo to hi", "2^53")


def _zipf(values: Mapping[str, object]) -> Iterator[Refusal]:
    yield from _span(values)
    yield from _exponent(values)


def _exponent(values: Mapping[str, object]) -> Iterator[Refusal]:
    if not 1.001 <= _number(values, "s") <= 1000:
        yield out_of_range("s", "1.001 to 1000", values["s"])


def _gaussian(values: Mapping[str, object]) -> Iterator[Refusal]:
    yield from _span(values)
    if not 2 <= _number(values, "width") < math.inf:
        yield out_of_range("width", "at least 2", values["width"])


def _reference(values: Mapping[str, object]) -> Iterator[Refusal]:
    pick = values.get("pick", "uniform")
    if pick not in ("uniform", "zipf", "sequence"):
        yield unknown("pick", str(pick), ("uniform", "zipf", "sequence"), shown(pick))
    elif pick == "zipf":
        if "s" in values:
            yield from _exponent(values)
        else:
            yield requires("a zipf pick", "s")
    elif "s" in values or "scatter" in values:
        yield requires("s or scatter", "a zipf pick")


def _decimal(values: Mapping[str, object]) -> Iterator[Refusal]:
    yield from _ordered("lo", "hi")(values)
    places = _number(values, "places")
    if not 0 <= places <= 9:
        yield out_of_range("places", "0 to 9", values["places"])
    elif max(abs(_number(values, "lo")), abs(_number(values, "hi"))) * 10**places >= _EXACT:
        yield too_large("lo or hi", "2^53 units of the last place")


def _lengths(values: Mapping[str, object]) -> Iterator[Refusal]:
    yield from _ordered("min", "max")(values)
    if _number(values, "min") < 0:
        yield out_of_range("min", "at least 0", values["min"])


def _template(values: Mapping[str, object]) -> Iterator[Refusal]:
    if not str(values["template"]).isascii():
        yield unexpected("a template in ASCII", "another character")


def _choice(values: Mapping[str, object]) -> Iterator[Refusal]:
    choices, weights = values["values"], values.get("weights")
    if not isinstance(choices, list) or not choices:
        yield missing("an entry of values")
        return
    if bad := [value for value in choices if not _is("scalar", value)]:
        yield out_of_range("values", "texts and numbers", shown(bad[0]))
    if not isinstance(weights, list):
        return
    if len(weights) != len(choices):
        yield out_of_range("weights", f"one for each of {len(choices)} values", len(weights))
    if not all(map(is_weight, weights)):
        yield out_of_range("each weight", "a number from 1e-09 to 1e+09", "another")


DISTRIBUTIONS: Mapping[str, Distribution] = {
    "serial": Distribution(INTEGER, nullable=False),
    "const": Distribution(None, {"value": "scalar"}),
    "uniform": Distribution(INTEGER, {"lo": "integer", "hi": "integer"}, check=_ordered("lo", "hi")),
    "zipf": Distribution(
        INTEGER, {"lo": "integer", "hi": "integer", "s": "number", "scatter": "boolean"}, frozenset({"scatter"}), _zipf
    ),
    "gaussian": Distribution(INTEGER, {"lo": "integer", "hi": "integer", "width": "number"}, check=_gaussian),
    "ref": Distribution(
        INTEGER,
        {"table": "text", "pick": "text", "s": "number", "scatter": "boolean"},
        frozenset({"pick", "s", "scatter"}),
        _reference,
    ),
    "parent": Distribution(INTEGER),
    "line": Distribution(INTEGER),
    "decimal": Distribution(REAL, {"lo": "number", "hi": "number", "places": "integer"}, check=_decimal),
    "text": Distribution(TEXT, {"min": "integer", "max": "integer"}, check=_lengths),
    "words": Distribution(TEXT, {"min": "integer", "max": "integer"}, check=_lengths),
    "pattern": Distribution(TEXT, {"template": "text"}, check=_template),
    "choice": Distribution(None, {"values": "list", "weights": "list"}, frozenset({"weights"}), _choice),
    "timestamp": Distribution(INTEGER, {"start": "time", "end": "time"}, check=_ordered("start", "end")),
}
"""Every distribution by its name."""


def epoch_seconds(value: object) -> object:
    """A TOML date or time as seconds since 1970 (UTC where it names no zone); anything else as it is."""
    if isinstance(value, dt.datetime):
        return int((value if value.tzinfo else value.replace(tzinfo=dt.UTC)).timestamp())
    if isinstance(value, dt.date):
        return int(dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC).timestamp())
    return value


def parameter_faults(name: str, values: Mapping[str, object]) -> Iterator[Refusal]:
    """Faults in the parameters of a known distribution, times as epoch seconds."""
    distribution = DISTRIBUTIONS[name]
    for other in values.keys() - distribution.parameters.keys():
        yield unknown("parameter", other, distribution.parameters, f"{shown(other)} of distribution {name!r}")
    for parameter in distribution.parameters.keys() - distribution.optional - values.keys():
        yield missing(f"{parameter!r} of distribution {name!r}")
    wrong = [
        key
        for key, value in values.items()
        if key in distribution.parameters and not _is(distribution.parameters[key], value)
    ]
    for key in wrong:
        yield out_of_range(key, _article(distribution.parameters[key]), shown(values[key]))
    if not wrong and distribution.parameters.keys() - distribution.optional <= values.keys():
        yield from distribution.check(values)


def is_weight(value: object) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return limits.LEAST_WEIGHT <= value <= limits.MOST_WEIGHT


def text_bytes(name: str, values: Mapping[str, object], longest: bool) -> float:
    """Bytes of the text that a distribution makes, at the most or on average; 0 where it makes numbers.

    The parameters have passed `parameter_faults`.
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
    """The types of the values a distribution makes: ``integer``, ``real``, ``text``."""
    makes = DISTRIBUTIONS[name].makes
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
