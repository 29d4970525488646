"""A trial as one row: scalars in columns of their own, mappings as JSON, histograms as rows beside it.

The columns are the fields of the records, by name.
"""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Mapping

from tdelta.records import Condition, Measurement, Trial
from tdelta.records.parts import flat, flat_hints
from tdelta.store.codec import decode, dumps, loads

_DEFINITIONS: Mapping[object, str] = {
    int: "INTEGER NOT NULL",
    float: "REAL NOT NULL",
    str: "TEXT NOT NULL",
    int | None: "INTEGER",
    Mapping: "TEXT NOT NULL",
}
"""The column for values of a type."""

MEASURED_COLUMNS = {
    name: _DEFINITIONS[Mapping if typing.get_origin(hint) is Mapping else hint]
    for name, hint in flat_hints(Measurement).items()
    if name != "histograms"
}
"""What SQL says of each column that holds a field of a measurement."""

_MEASURED = tuple(MEASURED_COLUMNS)
MAPPINGS = frozenset(name for name, hint in flat_hints(Measurement).items() if typing.get_origin(hint) is Mapping)
"""The fields that are more than one value; all others are scalars."""

_PLACED = ("round", "block", "position", "condition_key", "condition", "instance", "started_unix_seconds")

TRIAL_COLUMNS = (*_PLACED, *_MEASURED)
"""The columns that :func:`trial_row` fills and :func:`trial_of` reads, in order."""


def trial_row(trial: Trial) -> tuple[str | int | float | None, ...]:
    """The cells of a trial, one for each of :data:`TRIAL_COLUMNS`."""
    placed = (
        trial.round,
        trial.block,
        trial.position,
        trial.condition.key,
        dumps(trial.condition),
        trial.instance,
        trial.started_unix_seconds,
    )
    measured = dict(flat(trial.measurement))
    return (*placed, *(_cell(name, measured[name]) for name in _MEASURED))


def trial_of(row: tuple[typing.Any, ...], histograms: Mapping[str, bytes]) -> Trial:
    """The trial of a row of :data:`TRIAL_COLUMNS`.

    Raises:
        StoreError: a cell does not hold what its column should.
    """
    round_number, block, position, _, condition, instance, started, *cells = row
    measured = {
        name: json.loads(cell) if name in MAPPINGS else cell for name, cell in zip(_MEASURED, cells, strict=True)
    }
    measurement = dataclasses.replace(decode(Measurement, measured), histograms=dict(histograms))
    return Trial(round_number, block, position, loads(Condition, condition), instance, started, measurement)


def _cell(name: str, value: typing.Any) -> str | int | float | None:
    return dumps(value) if name in MAPPINGS else typing.cast("str | int | float | None", value)
