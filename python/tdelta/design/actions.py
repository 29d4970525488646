"""Actions on a database beside its load: a restart, a start after a crash, encryption.

An action is a level of one of two factors. As a level of ``work`` it *is* the trial, by itself (``work=restart``); as a
level of ``during`` it goes on while a trial's transactions run (``during=encrypt``). Which of them an engine has, and
by which statements, its own package says; here stand the names, which are the same for all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

NOTHING = "nothing"
"""The level of ``during`` of every baseline."""

_NAME = "[a-z]+(?:-[a-z]+)*"
_KNOB = re.compile(rf"({_NAME})=(?:([1-9][0-9]{{0,8}})|({_NAME}))")


@dataclass(frozen=True, slots=True)
class Action:
    """One action.

    ``words`` is what it is, for people; ``is_work`` whether it can be a trial by itself, ``is_during`` whether it can
    go on beside a load; ``needs_plain`` whether beside a load it is done to plain twins only, ``needs_encrypted``
    whether to encrypted ones only; ``connects`` whether opening connections is what is measured. ``is_injected``
    whether it is an injected harm, which says nothing about encryption.
    """

    name: str
    words: str
    is_work: bool = False
    is_during: bool = False
    needs_plain: bool = False
    needs_encrypted: bool = False
    connects: bool = False
    is_injected: bool = False

    @property
    def needs_keys(self) -> bool:
        """Whether plain twins that it goes on beside must have keys."""
        return self.needs_plain and not self.is_injected


ACTIONS: Mapping[str, Action] = MappingProxyType(
    {
        action.name: action
        for action in (
            Action(
                "restart",
                "a clean stop and a start, until the first answer",
                is_work=True,
                connects=True,
            ),
            Action("recovery", "a start after a crash, until the first answer", is_work=True),
            Action("storm", "all connections opened at once", is_work=True, connects=True),
            Action("encrypt", "the database is encrypted", is_work=True, is_during=True, needs_plain=True),
            Action("rekey", "the database gets another key", is_work=True, is_during=True, needs_plain=True),
            Action("decrypt", "the database is decrypted", is_work=True, is_during=True, needs_plain=True),
            Action("alter", "its tables are encrypted by statements", is_during=True, needs_plain=True),
            Action("backup", "a backup is made", is_work=True, is_during=True),
            Action("restore", "a backup is restored, until the first answer", is_work=True),
            Action("rotate", "the master key is changed", is_during=True, needs_encrypted=True),
            Action(
                "throttle",
                "the server is stopped at times, as injected",
                is_during=True,
                needs_plain=True,
                is_injected=True,
            ),
        )
    }
)
"""Every action by its name, in the order in which people meet them."""

WORK_ACTIONS = tuple(name for name, action in ACTIONS.items() if action.is_work)
DURING = (NOTHING, *(name for name, action in ACTIONS.items() if action.is_during))


@dataclass(frozen=True, slots=True)
class AskedAction:
    """An action as a level says it: ``knobs`` are numbers, ``choices`` words.

    ``encrypt:threads=4:iops=200`` has two knobs, ``backup:tool=copy:compress=zstd`` two choices.
    """

    name: str
    knobs: Mapping[str, int] = field(default_factory=dict)
    choices: Mapping[str, str] = field(default_factory=dict)


@cache
def parse_action(level: str) -> AskedAction:
    """An action out of a level of ``work`` or ``during``. A knob is above 0: nothing would ever come of 0 threads.

    Raises:
        ValueError: it is not written as one.
    """
    name, *parts = level.split(":")
    knobs: dict[str, int] = {}
    choices: dict[str, str] = {}
    for part in parts:
        match = _KNOB.fullmatch(part)
        if match is None or match[1] in knobs or match[1] in choices:
            raise ValueError(level)
        if match[2]:
            knobs[match[1]] = int(match[2])
        else:
            choices[match[1]] = match[3]
    if parts and name not in ACTIONS:
        raise ValueError(level)
    return AskedAction(name, MappingProxyType(knobs), MappingProxyType(choices))


def is_action(work: str) -> bool:
    """Whether a level of ``work`` is an action, and not transactions, a load or a rebuild."""
    return parse_action(work).name in ACTIONS


def knobs_apart(level: str, other: str) -> int:
    """In how many knobs two settings of one action differ; 0 of different actions."""
    one, against = parse_action(level), parse_action(other)
    if one.name != against.name:
        return 0
    return sum(one.knobs.get(knob) != against.knobs.get(knob) for knob in {*one.knobs, *against.knobs})


def connects(works: Iterable[object]) -> bool:
    names = {parse_action(str(level)).name for level in works}
    return any(ACTIONS[name].connects for name in names & ACTIONS.keys())


def is_for(level: str, *, is_encrypted: bool) -> bool:
    if level == NOTHING:
        return True
    action = ACTIONS[parse_action(level).name]
    return not (action.needs_plain if is_encrypted else action.needs_encrypted)
