"""A trial as one row: scalars in columns of their own, mappings as JSON, histograms as rows beside it.

The columns are those of the records, by name, so that a field cannot be forgotten here (a test holds ``schema.sql`` to
the same names).
"""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Mapping

from tdelta.records import Condition, Measurement, Trial
from tdelta.records.parts import flat, flat_hints
from tdelta.store.codec import decode, dumps, loads

_MEASURED = tuple(name for name in flat_hints(Measurement) if name != "histograms")
_MAPPINGS = frozenset(
    name
    for name, hint in flat_hints(Measurement).items()
    if typing.get_origin(hint) is not None and issubclass(typing.get_origin(hint), Mapping)
)
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
        name: json.loads(cell) if name in _MAPPINGS else cell for name, cell in zip(_MEASURED, cells, strict=True)
    }
    measurement = dataclasses.replace(decode(Measurement, measured), histograms=dict(histograms))
    return Trial(round_number, block, position, loads(Condition, condition), instance, started, measurement)


def _cell(name: str, value: typing.Any) -> str | int | float | None:
    return dumps(value) if name in _MAPPINGS else typing.cast("str | int | float | None", value)
