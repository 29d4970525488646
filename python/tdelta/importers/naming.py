"""Which condition, run and levels a file is of, from its name and folders, or from what the user says.

The rules, which ``docs/analyze-files.md`` explains to users:

1. ``--condition name=glob`` decides the condition where it is given, and nothing else: levels and runs are found as
   without it. Every file that does not say its conditions itself must then match the globs of one name.
2. Otherwise what all names have in common is left out, and the rest is searched for `words`: one for plain or one for
   encrypted in every file, never both; or only one side has a word, and the other's name is the same without it.
   Without such words anywhere, the outermost folder, else the name, that differs is the condition: in its words
   (versions such as ``8.0.35`` are words), else in its numbers (`conditions`).
3. ``t16``, ``16-threads``, ``clients8``, ``bp5g``, ``read-only`` are levels; ``run2``, ``r2``, ``rep-2`` is a run.
4. What else differs is a run if it counts, a level if it may be a configuration, else it tells runs apart
   (`differing`); dates and process ids only ever tell runs apart.

Nothing is guessed beyond that: what stays open is an error, which says what was understood of every file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from tdelta.errors import ImportFault, UnknownName, UsageError
from tdelta.importers.conditions import by_patterns, by_words, matches, patterns_of
from tdelta.importers.cutting import Name, Named, cut_names
from tdelta.importers.differing import differences, levels_and_runs
from tdelta.importers.protocol import Naming
from tdelta.importers.reading import printable
from tdelta.importers.suggesting import suggestion
from tdelta.importers.words import TokenKind, is_baseline, is_encrypted, says_encryption, words_of
from tdelta.messages import Refusal

_MOST_SHOWN = 20


_DENIALS = frozenset(("no", "non", "not", "without"))
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
    patterns = patterns_of(asked, files)
    speaking = [file for file in files if file.says_itself and not any(matches(file.path, it) for _, it in patterns)]
    names = cut_names([file for file in files if file not in speaking])
    if patterns:
        by_patterns(names, patterns)
    else:
        by_words(names)
    levels_and_runs(names)
    differences(names)
    _tell_runs_apart(names)
    if any(name.faults or name.twin for name in names):
        raise ImportFault(Refusal.of("names-leave-open", understood=_open_questions(names)))
    return {name.file.path: Naming(name.condition, name.run or _ONLY_RUN, name.levels) for name in names} | _speaking(
        speaking
    )


def baseline_of(conditions: Collection[str], asked: str | None = None) -> str:
    """Which condition is the plain one: the one asked for, else the one whose name says so.

    Where no name says so, it is the one without a word that all others have: all names except one say that something is
    encrypted, one denies what they have (``no-pgo``), or they are its name and more (``mysql``, ``mysql-pgo``).

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
    if not plain and (without := _without_the_word(listed)) is not None:
        return without
    found = "several that do" if plain else "none that does"
    raise UsageError(
        Refusal.of(
            "no-baseline-named",
            found=found,
            listed=", ".join(listed) or "no condition at all",
            name=_quoted((plain or listed or ["NAME"])[0]),
        )
    )


def is_about_encryption(conditions: Iterable[str]) -> bool:
    """Whether names of conditions say that encryption is what they differ in; ``plain`` over ``pgo`` does not."""
    return any(says_encryption(name) for name in conditions)


def _without_the_word(conditions: Sequence[str]) -> str | None:
    """The one condition that lacks, or denies, what the others are named for."""
    words = {name: {word.value for word in words_of(name)} for name in conditions}
    denying = [name for name, found in words.items() if found & _DENIALS]
    if len(denying) == 1 and len(conditions) == 2:
        return denying[0]
    least = [
        name for name, found in words.items() if found and all(found < it for of, it in words.items() if of != name)
    ]
    return least[0] if len(least) == 1 and len(conditions) > 1 and not denying else None


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
        runs = [word.value for word in words_of(file.path.name) if word.kind is TokenKind.RUN]
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
            *lines,
            *more,
            *_remedy(names),
        )
    )


def _quoted(name: str) -> str:
    return name if name.isascii() and name.replace("-", "").isalnum() else f"'{name}'"


def _remedy(names: Sequence[Name]) -> Iterable[str]:
    if any(name.faults for name in names):
        yield "Name files and folders so that one word differs, or say it, for example:"
        yield from (f"  {line}" for line in suggestion(_groups(names)))
    if any(name.twin for name in names):
        yield "Tell runs apart in the names of files or folders: run1, run2, …"


def _groups(names: Sequence[Name]) -> Mapping[str, Sequence[Path]]:
    """Files by the condition they might be of: as understood, else by the first folder or name that differs."""
    groups: dict[str, list[Path]] = {}
    for name in names:
        groups.setdefault(name.condition or "baseline", []).append(name.file.path)
    if len(groups) > 1 or len(names) < 2:
        return groups
    first, *rest = [name.file.path for name in names]
    return {"plain": [first], "encrypted": rest}
