"""Refusals as tests look at them: codes and the parameters that matter, not the English of the catalogue.

::

    with refused(ImportFault, "not-a-number", where="rows.csv:3"):
        ...

All refusals are named, in the order in which they are raised; a parameter that is left out may be anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tdelta.errors import TdeltaError
from tdelta.messages import Message, Parameter


@dataclass(frozen=True)
class Part:
    """Stands for any text that has this in it: the words of a database or of the system, which are not tdelta's."""

    words: str


Expected = Parameter | Path | Part


@contextmanager
def refused(
    error: type[TdeltaError], *codes: str, shows: str = "", **parameters: Expected | tuple[Expected | None, ...]
) -> Iterator[pytest.ExceptionInfo[TdeltaError]]:
    """What is inside raises this error, with exactly these refusals.

    Args:
        error: its type.
        codes: of all its refusals.
        shows: what its text must have beside them: the words of another program, the end of its log.
        parameters: what they must have: a value of each, or a tuple with one per refusal (None: not looked at).
    """
    with pytest.raises(error) as caught:
        yield caught
    assert shows in str(caught.value)
    check_messages(caught.value.refusals, *codes, **parameters)


def check_messages(
    messages: Sequence[Message], *codes: str, **parameters: Expected | tuple[Expected | None, ...]
) -> None:
    """These messages, be they refusals, cautions or details, have these codes and parameters."""
    assert [message.code for message in messages] == list(codes), "\n".join(map(repr, messages))
    for name, expected in parameters.items():
        each = expected if isinstance(expected, tuple) else (expected,) * len(codes)
        assert len(each) == len(codes), f"{name}: one value per code"
        for message, value in zip(messages, each, strict=True):
            assert value is None or _agrees(message.parameters, name, value), f"{name} of {message!r}, not {value!r}"


def _agrees(parameters: Mapping[str, Parameter], name: str, expected: Expected) -> bool:
    """The end of a path stands for the path: ``rows.csv:3`` for ``/tmp/x/rows.csv:3``; a number for its text."""
    found = parameters.get(name)
    match expected:
        case Part():
            return isinstance(found, str) and expected.words in found
        case str() | Path():
            return isinstance(found, str) and (found == str(expected) or found.endswith(f"/{expected}"))
    return found == expected or str(found) == str(expected)
