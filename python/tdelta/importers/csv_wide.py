"""Tables with a column for each condition, as articles print them: ``threads;encrypted storage;no encryption``.

A column is of a condition if its name has a word for plain or for encrypted; there must be one of either. What else its
name says is the metric or the unit, before or behind the condition: ``plain_ms``, ``tps (encrypted)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tdelta.importers.csv_units import Measure, measure_of_unit
from tdelta.importers.words import is_encrypted, is_plain


@dataclass(frozen=True, slots=True)
class WideColumn:
    """A condition's column; ``measure`` is None where the name says no unit."""

    condition: str
    measure: Measure | None


def wide_columns(
    names: Sequence[str], numeric: Sequence[bool], measure_of: Callable[[str], Measure | None]
) -> Mapping[int, WideColumn]:
    """The columns of conditions by their places; empty where the table has one row per condition.

    Args:
        names: of all columns, in one spelling.
        numeric: which have numbers only.
        measure_of: what a column of figures is by its name; None for anything else.
    """
    found = [name for index, name in enumerate(names) if numeric[index]]
    if not any(map(is_plain, found)) or not any(map(is_encrypted, found)):
        return {}
    return {
        index: _cut(name, measure_of)
        for index, name in enumerate(names)
        if numeric[index] and (is_plain(name) or is_encrypted(name))
    }


def _cut(name: str, measure_of: Callable[[str], Measure | None]) -> WideColumn:
    """The condition and the measure: the longest end, else the longest beginning, that is one."""
    parts = name.split("_")
    cuts = [(parts[at:], parts[:at]) for at in range(1, len(parts))]
    cuts += [(parts[:at], parts[at:]) for at in range(len(parts) - 1, 0, -1)]
    for rest, condition in cuts:
        text = "_".join(rest)
        has_side = is_plain(text) or is_encrypted(text)
        if not has_side and (measure := measure_of_unit(text) or measure_of(text)) is not None:
            return WideColumn(" ".join(condition), measure)
    return WideColumn(" ".join(parts), None)
