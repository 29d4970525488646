"""Refusals as tests look at them: codes and the parameters that matter, not the English of the catalogue.

::

    with refused(ImportFault, "not-a-number", where="rows.csv:3"):
        ...

All refusals are named, in the order in which they are raised; a parameter that is left out may be anything.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tdelta.errors import TdeltaError
from tdelta.messages import Message


@dataclass(frozen=True)
class Part:
    """Stands for any text that has this in it: the words of a database or of the system, which are not tdelta's."""

    words: str


Expected = Any
"""A parameter's value, the end of a path, a ``Part`` or ``pytest.approx``."""


@dataclass(frozen=True)
class Coded:
    """An expected message: its code, and the parameters that matter."""

    code: str
    parameters: Mapping[str, Expected]


def coded(code: str, /, **parameters: Expected) -> Coded:
    return Coded(code, parameters)


@contextmanager
def refused(
    error: type[TdeltaError],
    /,
    *said: str | Coded,
    shows: str = "",
    **parameters: Expected | tuple[Expected | None, ...],
) -> Iterator[pytest.ExceptionInfo[TdeltaError]]:
    """The block raises this error, with exactly these refusals.

    ``shows`` are words of another program; of several refusals ``parameters`` have a tuple (None: not looked at).
    """
    with pytest.raises(error) as caught:
        yield caught
    assert shows in str(caught.value)
    check_messages(caught.value.refusals, *said, **parameters)


def check_messages(
    given: Iterable[Message | None], /, *said: str | Coded, **parameters: Expected | tuple[Expected | None, ...]
) -> None:
    """These messages, be they refusals, cautions or details, have these codes and parameters, and there are no more."""
    expected = [one if isinstance(one, Coded) else coded(one) for one in said]
    messages = [message for message in given if message is not None]
    assert [message.code for message in messages] == [one.code for one in expected], "\n".join(map(repr, messages))
    for message, one in zip(messages, expected, strict=True):
        for name, value in one.parameters.items():
            _check(message, name, value)
    for name, values in parameters.items():
        each = values if isinstance(values, tuple) else (values,) * len(messages)
        assert len(each) == len(messages), f"{name}: one value per code"
        for message, value in zip(messages, each, strict=True):
            if value is not None:
                _check(message, name, value)


def has(messages: Iterable[Message | None], said: str | Coded, /, **parameters: Expected) -> bool:
    """Whether one of these messages is this, or has this code and these parameters."""
    one = coded(said, **parameters) if isinstance(said, str) else said
    return any(
        message.code == one.code and all(_agrees(message, name, value) for name, value in one.parameters.items())
        for message in messages
        if message is not None
    )


def _check(message: Message, name: str, expected: Expected) -> None:
    assert _agrees(message, name, expected), f"{name} of {message!r}, expected {expected!r}"


def _agrees(message: Message, name: str, expected: Expected) -> bool:
    """The end of a path stands for the path: ``rows.csv:3`` for ``/tmp/x/rows.csv:3``; a number for its text."""
    found = message.parameters.get(name)
    match expected:
        case Part():
            return isinstance(found, str) and expected.words in found
        case str() | Path():
            return isinstance(found, str) and (found == str(expected) or found.endswith(f"/{expected}"))
    return found == expected or str(found) == str(expected)
