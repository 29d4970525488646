"""What can be done to a database beside its load: started anew, backed up, encrypted.

An action is a level of one of two factors. As a level of ``work`` it *is* the trial, by itself (``work=restart``); as a
level of ``during`` it goes on while a trial's transactions run (``during=encrypt``). Which of them an engine has, and
by which statements, its own package says; here stand the names, which are the same for all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

NOTHING = "nothing"
"""The level of ``during`` of every baseline."""

_KNOB = re.compile(r"([a-z]+(?:-[a-z]+)*)=([0-9]{1,9})")


class Of(Enum):
    """Which twins an action can be done to."""

    ANY = "any twin"
    PLAIN = "a plain twin"
    ENCRYPTED = "an encrypted twin"


@dataclass(frozen=True, slots=True)
class Action:
    """One action.

    ``words`` is what it is, for people; ``of`` which twins it is for; ``is_work`` whether it can be a trial by itself,
    ``is_during`` whether it can go on beside a load.
    """

    name: str
    words: str
    of: Of = Of.ANY
    is_work: bool = False
    is_during: bool = False


ACTIONS: Mapping[str, Action] = MappingProxyType(
    {
        action.name: action
        for action in (
            Action("restart", "a clean stop and a start, until the first answer", is_work=True),
            Action("recovery", "a start after a crash, until the first answer", is_work=True),
            Action("storm", "all connections opened at once", is_work=True),
            Action("encrypt", "the database is encrypted", Of.PLAIN, is_during=True),
        )
    }
)
"""Every action by its name, in the order in which people meet them."""

WORK_ACTIONS = tuple(name for name, action in ACTIONS.items() if action.is_work)
DURING = (NOTHING, *(name for name, action in ACTIONS.items() if action.is_during))


@dataclass(frozen=True, slots=True)
class AskedAction:
    """An action with its knobs, as a level says it: ``encrypt:threads=4:iops=200``."""

    name: str
    knobs: Mapping[str, int]


def parse_action(level: str) -> AskedAction:
    """An action out of a level of ``work`` or ``during``.

    Raises:
        ValueError: it is not written as one.
    """
    name, *parts = level.split(":")
    knobs: dict[str, int] = {}
    for part in parts:
        match = _KNOB.fullmatch(part)
        if match is None or match[1] in knobs:
            raise ValueError(level)
        knobs[match[1]] = int(match[2])
    return AskedAction(name, MappingProxyType(knobs))


def is_for(level: str, *, is_encrypted: bool) -> bool:
    """Whether a level of ``during`` is for plain twins, or for encrypted ones."""
    of = Of.ANY if level == NOTHING else ACTIONS[parse_action(level).name].of
    return of is Of.ANY or (of is Of.ENCRYPTED) == is_encrypted
