"""Which condition, run and levels a file is of, from its name and folders, or from what the user says.

The rules, which ``docs/analyze-files.md`` explains to users:

1. ``--condition name=glob`` decides where it is given; then every file that does not say its conditions itself must
   match the globs of one name.
2. Otherwise what all names have in common is left out, and the rest is searched for `words`: one for plain or one for
   encrypted in every file, never both. Without such words anywhere, the outermost folder, else the name, that differs
   is the condition.
3. ``t16``, ``16-threads``, ``clients8``, ``bp5g``, ``oltp_read_only`` are levels; ``run2``, ``r2``, ``rep-2`` is a run.
4. A bare number that counts from 0 or 1 is a run. What else differs is a level if it occurs with two conditions or
   more (``number``, ``name``), else it tells runs apart; dates and process ids only ever tell runs apart.

Nothing is guessed beyond that: what stays open is an error, which says what was understood of every file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from tdelta.errors import ImportFault, UnknownName, UsageError
from tdelta.importers.cutting import Name, Named, cut_names
from tdelta.importers.protocol import Naming
from tdelta.importers.reading import printable
from tdelta.importers.suggesting import suggestion
from tdelta.importers.words import Kind, is_baseline, is_encrypted, words_of
from tdelta.records.conditions import Level

_MOST_SHOWN = 20


_ONLY_RUN = "1"
"""What a run is called that its file's name says nothing of."""


def namings(files: Sequence[Named], asked: Sequence[str] = ()) -> Mapping[Path, Naming]:
    """What each file's name says.

    Args:
        files: all files, each once.
        asked: the user's ``name=glob``, in his order.

    Raises:
        ImportFault: what stays open, for all files at once, with a command that would say it.
        UsageError: an ``asked`` that is no ``name=glob``, or whose glob no file matches.
    """
    silent = [file for file in files if not file.says_itself]
    patterns = _patterns(asked, silent)
    names = cut_names(silent)
    if patterns:
        _by_patterns(names, patterns)
    else:
        _by_words(names)
    _levels_and_runs(names)
    _differences(names)
    _tell_runs_apart(names)
    if any(name.faults or name.twin for name in names):
        raise ImportFault(_open_questions(names))
    return {name.file.path: Naming(name.condition, name.run or _ONLY_RUN, name.levels) for name in names} | _speaking(
        [file for file in files if file.says_itself]
    )


def baseline_of(conditions: Collection[str], asked: str | None = None) -> str:
    """Which condition is the plain one: the one asked for, else the one whose name says so.

    Where no name says so, but all names except one say that something is encrypted, it is that one.

    Raises:
        UnknownName: the one asked for is not among them.
        UsageError: the names do not decide it.
    """
    listed = sorted(set(conditions))
    if asked is not None:
        if asked not in listed:
            raise UnknownName("baseline", asked, listed)
        return asked
    plain = [name for name in listed if is_baseline(name)]
    silent = [name for name in listed if not is_baseline(name) and not is_encrypted(name)]
    if len(plain) == 1:
        return plain[0]
    if not plain and len(silent) == 1 and len(listed) > 1:
        return silent[0]
    found = "several that do" if plain else "none that does"
    raise UsageError(
        "which condition is the plain one? Expected one whose name says so (none, plain, tde-off, …),"
        f" found {found}: {', '.join(listed) or 'no condition at all'}."
        f" Name it: --baseline {_quoted((plain or listed or ['NAME'])[0])}"
    )


def _patterns(asked: Sequence[str], files: Sequence[Named]) -> list[tuple[str, str]]:
    patterns: list[tuple[str, str]] = []
    faults: list[str] = []
    for one in asked:
        name, equals, glob = one.partition("=")
        name, glob = name.strip(), glob.strip()
        if not (name and equals and glob):
            faults.append(f"--condition {one!r}: expected NAME=GLOB, such as plain='*none*'")
        elif not any(_matches(file.path, glob) for file in files):
            faults.append(
                f"--condition {one!r}: no file matches {glob!r} that does not say its conditions itself. Globs are"
                " matched on the file's name, on its path as given, and on its full path"
            )
        else:
            patterns.append((name, glob))
    if faults:
        raise UsageError("\n".join(faults))
    return patterns


def _matches(path: Path, glob: str) -> bool:
    return any(fnmatchcase(text, glob) for text in (path.name, str(path), str(path.absolute())))


def _by_patterns(names: list[Name], patterns: list[tuple[str, str]]) -> None:
    for name in names:
        found = dict.fromkeys(condition for condition, glob in patterns if _matches(name.file.path, glob))
        if len(found) == 1:
            name.condition = next(iter(found))
        elif found:
            name.faults.append(f"matches the globs of {' and of '.join(found)}")
        else:
            name.faults.append("matches no --condition")
        name.others = tuple(word.text for word in name.words(Kind.OTHER, Kind.NUMBER, Kind.BASELINE, Kind.ENCRYPTED))


def _by_words(names: list[Name]) -> None:
    if not any(name.words(Kind.BASELINE, Kind.ENCRYPTED) for name in names):
        _by_what_differs(names)
        return
    for name in names:
        plain = dict.fromkeys(word.value for word in name.words(Kind.BASELINE))
        encrypted = dict.fromkeys(word.value for word in name.words(Kind.ENCRYPTED))
        if plain and encrypted:
            name.faults.append(f"a word for plain ({', '.join(plain)}) and one for encrypted ({', '.join(encrypted)})")
        elif not plain and not encrypted:
            name.faults.append("no word for plain or for encrypted")
        else:
            name.condition = "-".join(plain or encrypted)
        name.others = tuple(word.text for word in name.words(Kind.OTHER, Kind.NUMBER))


def _by_what_differs(names: list[Name]) -> None:
    """Without a word of either kind: the outermost part of the names that differs in its words."""
    depth = max((len(name.parts) for name in names), default=0)
    for level in range(depth) if len(names) > 1 else reversed(range(depth)):
        found = [
            "-".join(word.text for word in name.parts[level] if word.kind is Kind.OTHER)
            if level < len(name.parts)
            else ""
            for name in names
        ]
        if len(set(found)) == 1 and (len(names) > 1 or not found[0]):
            continue
        for name, condition in zip(names, found, strict=True):
            if condition:
                name.condition = condition
            else:
                name.faults.append("no word for a condition")
            name.others = tuple(
                word.text
                for number, part in enumerate(name.parts)
                for word in part
                if word.kind is Kind.NUMBER or (word.kind is Kind.OTHER and number != level)
            )
        return
    for name in names:
        name.faults.append("no word for a condition")


def _levels_and_runs(names: list[Name]) -> None:
    for name in names:
        levels: dict[str, Level] = {}
        for word in name.words(Kind.LEVEL):
            if word.level is not None:
                factor, level = word.level
                if levels.setdefault(factor, level) != level:
                    name.faults.append(f"{factor} {levels[factor]} and {factor} {level}")
        name.levels = tuple(levels.items())
        runs = dict.fromkeys(word.value for word in name.words(Kind.RUN))
        name.run = ".".join(runs)


def _differences(names: list[Name]) -> None:
    """What else differs: runs, if a number counts them; a level, if conditions share it; else words for runs."""
    numbers = [tuple(text for text in name.others if text.isdecimal()) for name in names]
    counted = {int(found[0]) for found in numbers if len(found) == 1}
    if (
        all(len(found) == 1 for found in numbers)
        and not any(name.run for name in names)
        and len(counted) > 1
        and min(counted) in (0, 1)
        and max(counted) - min(counted) + 1 == len(counted)
    ):
        for name, (number,) in zip(names, numbers, strict=True):
            name.run = str(int(number))
            name.others = tuple(text for text in name.others if text != number)
    used: dict[str, set[str | None]] = {}
    for name in names:
        used.setdefault("-".join(name.others), set()).add(name.condition)
    if any(len(conditions) > 1 for text, conditions in used.items() if text):
        is_number = all(text.isdecimal() for text in used if text)
        for name in names:
            text = "-".join(name.others)
            if text:
                level: tuple[str, Level] = ("number", int(text)) if is_number else ("name", text)
                name.levels = (*name.levels, level)
        return
    for condition in {name.condition for name in names}:
        own = [name for name in names if name.condition == condition]
        common = set(own[0].others).intersection(*(name.others for name in own))
        for name in own:
            label = "-".join(text for text in name.others if text not in common)
            name.run = " ".join(text for text in (label, name.run) if text)


def _tell_runs_apart(names: list[Name]) -> None:
    """Files that are one run of one condition in one format: by date or process id, or nobody knows."""
    alike = {_run_key(name) for name, _ in _collisions(names)}
    for name in names:
        if name.stamp and _run_key(name) in alike:
            name.run = " ".join(text for text in (name.run, name.stamp) if text)
    for name, twin in _collisions(names):
        twin.twin = name.file.path


def _run_key(name: Name) -> tuple[object, ...]:
    return name.condition, name.levels, name.run or _ONLY_RUN, name.file.format


def _collisions(names: list[Name]) -> list[tuple[Name, Name]]:
    seen: dict[object, Name] = {}
    found: list[tuple[Name, Name]] = []
    for name in names:
        if name.condition is not None:
            key = (_run_key(name), name.file.thread)
            if key in seen:
                found.append((seen[key], name))
            seen.setdefault(key, name)
    return found


def _speaking(files: Sequence[Named]) -> dict[Path, Naming]:
    """Files that say their conditions: their names only tell runs apart, by a word for it or by their order."""
    found: dict[Path, Naming] = {}
    for number, file in enumerate(files, 1):
        runs = [word.value for word in words_of(file.path.name) if word.kind is Kind.RUN]
        run = runs[-1] if runs else str(number)
        found[file.path] = Naming(None, run if len(files) > 1 or runs else _ONLY_RUN)
    return found


def _open_questions(names: Sequence[Name]) -> str:
    shown = sorted(names, key=lambda name: not (name.faults or name.twin))[:_MOST_SHOWN]
    width = max(len(printable(str(name.file.path))) for name in shown)
    lines = [f"  {printable(str(name.file.path)):<{width}}  {name.understood}" for name in shown]
    more = [f"  … and {len(names) - len(shown)} more"] if len(names) > len(shown) else []
    return "\n".join(
        (
            "the names of these files leave open which condition and run each is of. What was understood:",
            *lines,
            *more,
            *_remedy(names),
        )
    )


def _quoted(name: str) -> str:
    return name if name.isascii() and name.replace("-", "").isalnum() else f"'{name}'"


def _remedy(names: Sequence[Name]) -> Iterable[str]:
    if any(name.faults for name in names):
        groups: dict[str, list[Path]] = {}
        for name in names:
            groups.setdefault(name.condition or "baseline", []).append(name.file.path)
        yield "Name files and folders so that one word differs, or say it, for example:"
        yield from (f"  {line}" for line in suggestion(groups))
    if any(name.twin for name in names):
        yield "Tell runs apart in the names of files or folders: run1, run2, …"
