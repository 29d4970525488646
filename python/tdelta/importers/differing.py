"""What else differs between names once their conditions are known: levels, runs, and what tells runs apart.

Two configurations are never taken for two runs of one: what conditions share is a level, and so is any number, and any
word with a number in it (``tier2g``, ``io6000``), that varies within a condition and does not count runs. Only plain
words that one condition alone has (``monday``), dates and process ids tell runs apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from tdelta.importers.conditions import counts_up
from tdelta.importers.cutting import Name
from tdelta.importers.words import TokenKind
from tdelta.records.conditions import Level

_WORKLOAD = "workload"


def levels_and_runs(names: Sequence[Name]) -> None:
    """What words say outright: ``t16``, ``read-only``, ``run2``."""
    for name in names:
        levels: dict[str, Level] = {}
        for word in name.words(TokenKind.LEVEL):
            if word.level is None:
                continue
            factor, level = word.level
            known = levels.setdefault(factor, level)
            if known != level and factor == _WORKLOAD:
                levels[factor] = f"{known} {level}"
            elif known != level:
                name.faults.append(f"{factor} {known} and {factor} {level}")
        name.levels = tuple(levels.items())
        name.run = ".".join(dict.fromkeys(word.value for word in name.words(TokenKind.RUN)))


def differences(names: Sequence[Name]) -> None:
    """Numbers that count are runs; of the rest, each name's levels and what tells its run apart."""
    if not _number_runs(names):
        _leave_out_own(names)
        _number_runs(names)
    _leave_out_own(names)
    shared = _shared(names)
    for name in names:
        numbers = [text for text in name.others if text.isdecimal()]
        words = [text for text in name.others if not text.isdecimal()]
        levels = [text for text in words if text in shared or any(sign.isdecimal() for sign in text)]
        if shared and not any(text in shared for text in words):
            levels = words
        labels = [text for text in words if text not in levels]
        if levels:
            name.levels = (*name.levels, ("name", "-".join(levels)))
        if numbers:
            number: Level = int(numbers[0]) if len(numbers) == 1 else "-".join(numbers)
            name.levels = (*name.levels, ("number", number))
        name.run = " ".join(text for text in ("-".join(labels), name.run) if text)


def _number_runs(names: Sequence[Name]) -> bool:
    """Whether the last number of each name counts runs; then it is the run."""
    numbers = [[text for text in name.others if text.isdecimal()] for name in names]
    if any(name.run for name in names) or len({len(found) for found in numbers}) != 1 or not numbers or not numbers[0]:
        return False
    if not counts_up([found[-1] for found in numbers]):
        return False
    for name, found in zip(names, numbers, strict=True):
        name.run = str(int(found[-1]))
        others = list(name.others)
        del others[len(others) - 1 - others[::-1].index(found[-1])]
        name.others = tuple(others)
    return True


def _leave_out_own(names: Sequence[Name]) -> None:
    """What all names of one condition have and no other's has, is of that condition, and no level."""
    by_condition: dict[str | None, list[Name]] = {}
    for name in names:
        by_condition.setdefault(name.condition, []).append(name)
    for condition, own in by_condition.items():
        others = {text for name in names if name.condition != condition for text in name.others}
        common = set(own[0].others).intersection(*(name.others for name in own)) - others
        for name in own:
            name.others = tuple(text for text in name.others if text not in common)


def _shared(names: Sequence[Name]) -> set[str]:
    """Words that names of two conditions or more have."""
    used: dict[str, set[str | None]] = {}
    for name in names:
        for text in name.others:
            if not text.isdecimal():
                used.setdefault(text, set()).add(name.condition)
    return {text for text, conditions in used.items() if len(conditions) > 1}
