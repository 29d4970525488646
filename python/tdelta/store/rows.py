"""A trial as one row: scalars in columns of their own, mappings as JSON, histograms as rows beside it.

The columns are the fields of the records, by name: a field that is added there, with a default, is stored from then on,
and added to the table of an older store.
"""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Mapping

from tdelta.records import Condition, Measurement, Trial
from tdelta.records.parts import earlier_names, flat, flat_hints
from tdelta.store.codec import decode, dumps, loads

_DEFINITIONS: Mapping[object, tuple[str, object]] = {
    int: ("INTEGER NOT NULL DEFAULT 0", 0),
    float: ("REAL NOT NULL DEFAULT 0", 0.0),
    str: ("TEXT NOT NULL DEFAULT ''", ""),
    int | None: ("INTEGER", None),
    Mapping: ("TEXT NOT NULL DEFAULT '{}'", "{}"),
}
"""The column for values of a type, and what a trial has there that was stored without it."""

_DEFINED = {
    name: _DEFINITIONS[Mapping if typing.get_origin(hint) is Mapping else hint]
    for name, hint in flat_hints(Measurement).items()
    if name != "histograms"
}

MEASURED_COLUMNS = {name: definition for name, (definition, _) in _DEFINED.items()}
"""What SQL says of each column that holds a field of a measurement."""

DEFAULTS = {name: default for name, (_, default) in _DEFINED.items()}
"""What is in each of them of a trial that was stored without it."""

EARLIER_COLUMNS = earlier_names(Measurement)
"""The columns that were renamed, by their names in the stores of earlier versions."""

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
