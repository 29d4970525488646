"""Which condition each file is of: by the user's globs, by words for plain and encrypted, or by what differs.

Three ways, tried in this order, and one stance: a condition's name is made of words that are in the files' names, and
a side without a word of its own is understood only where its name is the other side's without that word (``mysql/``
beside ``mysql-tde/``, ``run1.log`` beside ``run1_enc.log``).
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from tdelta.errors import UsageError
from tdelta.importers.cutting import Name, Named
from tdelta.importers.words import TokenKind
from tdelta.messages import Refusal

_SAID = (TokenKind.BASELINE, TokenKind.ENCRYPTED)
_UNNAMED = "unnamed"
"""A side whose name lacks the word for plain that the other one has, and has no other."""


def patterns_of(asked: Sequence[str], files: Sequence[Named]) -> list[tuple[str, str]]:
    """The user's ``name=glob``, cut.

    Raises:
        UsageError: one that is no ``name=glob``, or whose glob no file matches.
    """
    patterns: list[tuple[str, str]] = []
    faults: list[Refusal] = []
    for one in asked:
        name, equals, glob = one.partition("=")
        name, glob = name.strip(), glob.strip()
        if not (name and equals and glob):
            faults.append(Refusal.of("not-name-and-glob").at(f"--condition {one!r}"))
        elif not any(matches(file.path, glob) for file in files):
            faults.append(Refusal.of("glob-matches-nothing", glob=glob).at(f"--condition {one!r}"))
        else:
            patterns.append((name, glob))
    if faults:
        raise UsageError(*faults)
    return patterns


def matches(path: Path, glob: str) -> bool:
    """Whether a glob is meant for a file."""
    return any(fnmatchcase(text, glob) for text in (path.name, str(path), str(path.absolute())))


def by_patterns(names: Sequence[Name], patterns: Sequence[tuple[str, str]]) -> None:
    """The user's globs decide; every word that is left may be a level."""
    for name in names:
        found = dict.fromkeys(condition for condition, glob in patterns if matches(name.file.path, glob))
        if len(found) == 1:
            name.condition = next(iter(found))
        elif found:
            name.faults.append(f"matches the globs of {' and of '.join(found)}")
        else:
            name.faults.append("matches no --condition")
        name.others = tuple(word.text for word in name.words(TokenKind.OTHER, TokenKind.NUMBER, *_SAID))


def by_words(names: Sequence[Name]) -> None:
    """A word for plain or for encrypted in each name; without one anywhere, what differs."""
    if not any(name.words(*_SAID) for name in names):
        _by_what_differs(names)
        return
    for name in names:
        plain = dict.fromkeys(word.value for word in name.words(TokenKind.BASELINE))
        encrypted = dict.fromkeys(word.value for word in name.words(TokenKind.ENCRYPTED))
        if plain and encrypted:
            name.faults.append(f"a word for plain ({', '.join(plain)}) and one for encrypted ({', '.join(encrypted)})")
        elif plain or encrypted:
            name.condition = "-".join(plain or encrypted)
        name.others = tuple(word.text for word in name.words(TokenKind.OTHER, TokenKind.NUMBER))
    silent = [name for name in names if not name.words(*_SAID)]
    if silent and not _are_counterparts(names, silent):
        for name in silent:
            name.faults.append("no word for plain or for encrypted")


def _are_counterparts(names: Sequence[Name], silent: Sequence[Name]) -> bool:
    """Whether files without a word are what the others are without theirs; then both are named."""
    spoken = [name for name in names if name.words(*_SAID)]
    if len({word.kind for name in spoken for word in name.words(*_SAID)}) != 1 or any(it.faults for it in spoken):
        return False
    places = {_place_of_word(name) for name in spoken}
    place = places.pop()
    if places or any(len(name.raw) <= place for name in silent):
        return False
    have, lack = {_key(name, place) for name in spoken}, {_key(name, place) for name in silent}
    if not (have <= lack or lack <= have) or not _rests(spoken, place) & _rests(silent, place):
        return False
    base = "-".join(next(iter(have))) if len(have | lack) == 1 else ""
    words = {name.condition for name in spoken}
    is_plain = spoken[0].words(TokenKind.BASELINE)
    without = _UNNAMED if is_plain else f"no-{words.pop()}" if len(words) == 1 else "no-encryption"
    for name in spoken:
        name.condition = f"{base}-{name.condition}" if base else name.condition
    for name in silent:
        name.condition = base or without
    return True


def _place_of_word(name: Name) -> int:
    """The outermost part of a name that has a word for plain or encrypted."""
    return next(number for number, part in enumerate(name.parts) if any(word.kind in _SAID for word in part))


def _key(name: Name, place: int) -> tuple[str, ...]:
    """The words of a part that are neither for a condition, nor a level, a run or a number."""
    return tuple(word.text for word in name.raw[place] if word.kind is TokenKind.OTHER)


def _rests(names: Sequence[Name], place: int) -> set[tuple[str, ...]]:
    """What the parts are without the words for a condition; without levels and numbers where other words are left."""
    return {
        _key(name, place) or tuple(word.text for word in name.raw[place] if word.kind not in _SAID) for name in names
    }


def _by_what_differs(names: Sequence[Name]) -> None:
    """Without a word of either kind: the outermost part of the names that differs in its words, else in a number."""
    depth = max((len(name.parts) for name in names), default=0)
    for place in range(depth) if len(names) > 1 else reversed(range(depth)):
        found = _conditions_at(names, place)
        if found is not None:
            _take(names, found, place, TokenKind.OTHER)
            return
    for place in range(depth - 1):
        found = [_joined(name, place, TokenKind.NUMBER) for name in names]
        if len(set(found)) > 1 and all(found) and not counts_up(found):
            _take(names, found, place, TokenKind.NUMBER)
            return
    for name in names:
        name.faults.append("no word for a condition")


def _conditions_at(names: Sequence[Name], place: int) -> list[str] | None:
    """Each name's condition by the words of a part; None where these do not differ."""
    found = [_joined(name, place, TokenKind.OTHER) for name in names]
    distinct = set(found)
    if len(names) == 1:
        return found if found[0] else None
    if len(distinct) == 1:
        return None
    if all(found):
        return found
    if _are_loads_instead(names, found, place):
        return found
    whole = ["-".join(_key(name, place)) if place < len(name.raw) else "" for name in names]
    if all(whole):
        return whole  # mysql beside mysql-non-pgo
    distinct.discard("")
    return [it or f"no-{next(iter(distinct))}" for it in found] if len(distinct) == 1 else found


def _are_loads_instead(names: Sequence[Name], found: Sequence[str], place: int) -> bool:
    """Whether names without a word have a level there that no other has: ``readonly`` beside ``prepared``."""
    silent = [name for name, condition in zip(names, found, strict=True) if not condition and place < len(name.parts)]
    spoken = [name for name, condition in zip(names, found, strict=True) if condition]
    of_silent, of_spoken = (
        {word.value for name in side for word in name.parts[place] if word.kind is TokenKind.LEVEL}
        for side in (silent, spoken)
    )
    return bool(of_silent) and not of_silent & of_spoken


def _take(names: Sequence[Name], found: Sequence[str], place: int, kind: TokenKind) -> None:
    for name, condition in zip(names, found, strict=True):
        if condition:
            name.condition = condition
        else:
            name.faults.append("no word for a condition")
        name.others = tuple(
            word.text
            for number, part in enumerate(name.parts)
            for word in part
            if word.kind in (TokenKind.OTHER, TokenKind.NUMBER) and not (number == place and word.kind is kind)
        )


def _joined(name: Name, place: int, kind: TokenKind) -> str:
    if place >= len(name.parts):
        return ""
    return "-".join(word.text for word in name.parts[place] if word.kind is kind)


def counts_up(texts: Sequence[str]) -> bool:
    """Whether numbers count from 0 or 1 without a gap, as those of runs do."""
    found = {int(text) for text in texts if text.isdecimal()}
    return (
        all(text.isdecimal() for text in texts)
        and len(found) > 1
        and min(found) in (0, 1)
        and max(found) - min(found) + 1 == len(found)
    )
