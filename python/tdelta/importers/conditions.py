"""The condition, run and level of each file, by the arguments of ``tdelta analyze`` (rules: docs/formats.md).

Each argument is one condition, named by its stem or by the user (``NAME=GLOB``). Within a condition, every file is a
run, unless files of several conditions have the same names: then the name is a level, so that two configurations are
never taken for two runs of one. Folders below an argument are a part of the name. Threads and other facts of a test
are read from files, never from their names.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from glob import glob, has_magic
from os.path import commonpath
from pathlib import Path

from tdelta.errors import UnknownName, UsageError
from tdelta.importers.importer import Naming
from tdelta.inputs import unexpected
from tdelta.messages import Refusal

# Words that say whether something is encrypted, in names of conditions, columns and commands: ``plain``, ``tde-off``.
#
# They decide which condition is the baseline, which columns of a table are conditions, and whether an answer speaks of
# encryption. Case does not matter; a word within a word (``encoder``) says nothing.

_HIDDEN = r"(?:pg[-_ ]?tde|tde|encrypt(?:ed|ion)?|enc|crypt(?:ed)?|cipher(?:ed)?)"
_PLAIN = (
    rf"(?:no|not|non|without|un)[-_ =:]?(?:{_HIDDEN}|aes)|{_HIDDEN}[-_ =:]?(?:off|none|no|false|disabled)"
    r"|none|plain(?:[-_ ]?text)?|clear(?:[-_ ]?text)?|baseline|off"
)
_ENCRYPTED = (
    rf"{_HIDDEN}[-_ =:]?(?:on|yes|true|enabled)|aes[-_ ]?(?:128|192|256)(?:[-_ ]?(?:cbc|ctr|gcm|xts|cfb))?"
    rf"|{_HIDDEN}|aes|luks|sqlcipher|gocryptfs|dm[-_]?crypt|chacha20|on"
)
_SAID = re.compile(rf"(?<![^\W_])(?:(?P<plain>{_PLAIN})|(?P<encrypted>{_ENCRYPTED}))(?![^\W_])", re.IGNORECASE)
_SPEAKING = re.compile(r"tde|enc|crypt|cipher|aes|luks|chacha|plain.?text|clear.?text", re.IGNORECASE)


def is_plain(text: str) -> bool:
    """Whether a text says that nothing is encrypted, and not the opposite as well: ``No encryption``, ``TDE off``."""
    return {word.lastgroup for word in _SAID.finditer(text)} == {"plain"}


def is_encrypted(text: str) -> bool:
    """Whether a text says that something is encrypted, and not the opposite as well: ``TDE (AES-256)``."""
    return {word.lastgroup for word in _SAID.finditer(text)} == {"encrypted"}


def said_of_encryption(text: str) -> str:
    """The words of a text that say whether something is encrypted, joined; empty where it has none, or both kinds."""
    if not is_plain(text) and not is_encrypted(text):
        return ""
    return "-".join(dict.fromkeys(re.sub(r"[-_ =:]+", "-", word[0].lower()) for word in _SAID.finditer(text)))


def other_words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", _SAID.sub(" ", text))


def is_about_encryption(conditions: Iterable[str]) -> bool:
    """Whether conditions differ in encryption, by their names; ``plain`` over ``pgo``, ``on`` over ``off`` do not."""
    return any(_SPEAKING.search(word[0]) for name in conditions for word in _SAID.finditer(name))


def baseline_of(conditions: Iterable[str], asked: str | None = None, remedy: str = "") -> str:
    """The condition that the others are compared with.

    `asked`: the one that the user names; None: the only one whose name says plain, else the only one whose name does
    not say encrypted; `remedy`: a command that assigns the files to conditions, for the message; empty if files name
    conditions inside. Raises `UnknownName`: the one asked for is not among them; `UsageError`: the names do not decide
    it.
    """
    listed = sorted(set(conditions))
    if asked is not None:
        if asked not in listed:
            raise UnknownName("baseline", asked, listed)
        return asked
    plain = [name for name in listed if is_plain(name)]
    silent = [name for name in listed if not is_encrypted(name)]
    if len(plain) == 1:
        return plain[0]
    if not plain and len(silent) == 1 and len(listed) > 1:
        return silent[0]
    name = (plain or listed or ["NAME"])[0]
    raise UsageError(
        Refusal.of(
            "no-baseline-named",
            found="several" if plain else "none",
            listed=", ".join(listed) or "no configuration",
            name=name if name.isascii() and name.replace("-", "").isalnum() else f"'{name}'",
            remedy=remedy and f"; or assign the files to configurations:\n  {remedy}",
        )
    )


_RUN = re.compile(r"(?<![^\W_])(?:run|rep|repeat|trial|iteration|round|r)[-_ ]?(\d{1,5})(?![^\W_])", re.IGNORECASE)
_DATE = re.compile(
    r"(?<![^\W_])(?:20\d\d[-_.]?[01]\d[-_.]?[0-3]\d(?:[-_.T ]?[0-2]\d[-_.:]?[0-5]\d(?:[-_.:]?[0-5]\d)?Z?)?|\d{6,})"
    r"(?![^\W_])",
    re.IGNORECASE,
)
_LAST_NUMBER = re.compile(r"(?:^|(?<=[-_. /]))(?<!\d\.)(?<!aes[-_. ])(\d{1,5})(?=/|$)", re.IGNORECASE)
_OF_LOAD = re.compile(r"(?:threads?|thr|clients?|users?|vus?|conn\w*)[-_ =./]?$", re.IGNORECASE)
"""Before a number that counts threads, and no runs."""
_ENDS = re.compile(
    r"(?<=.)(?:\.(?:gz|logs?|txt|[ct]sv|xml|json|out|output|db|sqlite|dat|res|results?|raw|samples|summary|jtl|jsonl|ndjson))+$",
    re.IGNORECASE,
)
_GAPS = " _.:=/-"
_GAP = re.compile(r"([-_ ./])[-_ ./]+")
NAME = "name"
"""The factor of names that several conditions share."""
_MOST_SUGGESTED = 20


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument, or one entry of the only folder that was given: paths of one condition."""

    path: Path
    condition: str | None = None  # as the user named it (``NAME=GLOB``); None: named by the path
    is_asked_for: bool = True  # whether the user named the path himself, so that it must be a result


@dataclass(slots=True)
class Named:
    path: Path
    argument: Argument
    format: str  # its importer's name; files of two formats may be views of one run
    says_itself: bool = False  # whether its conditions are in the file
    thread: str | None = None  # of tools that write a file for each of their threads: which one
    process: str | None = None  # the process id in the name of such a file
    condition: str = field(default="", init=False)
    run: str = field(default="", init=False)
    date: str = field(default="", init=False)
    label: str = field(default="", init=False)  # its folders and its name without run and date
    level: str = field(default="", init=False)

    @property
    def text(self) -> str:
        name = _ENDS.sub("", self.path.name)
        for number in (self.thread, self.process):
            name = name.removesuffix(f".{number}")
        return name


def parse_arguments(arguments: Sequence[str | Path]) -> list[Argument]:
    """The files of the arguments: ``NAME=GLOB``, globs, files, folders; the entries of a folder given alone.

    Raises `UsageError`: a ``NAME=GLOB`` without a name, a glob that matches nothing, a path of two conditions.
    """
    found: dict[Path, Argument] = {}
    faults: list[Refusal] = []
    for argument in map(str, arguments):
        name, equals, pattern = argument.partition("=")
        is_named = bool(equals) and "/" not in name and not Path(argument).exists()
        pattern = pattern if is_named else argument
        if is_named and not (name.strip() and pattern):
            faults.append(
                unexpected("NAME=GLOB such as plain='results/plain-*.log'", "another argument", repr(argument))
            )
            continue
        if has_magic(pattern) and not Path(pattern).exists():
            condition = name.strip() if is_named else _of_glob(pattern)
            paths = sorted(map(Path, glob(pattern, recursive=True)))  # noqa: PTH207 - may be absolute
            ones = [Argument(path, condition, is_asked_for=False) for path in paths]
            if not paths:
                faults.append(Refusal.of("glob-matches-nothing", glob=pattern))
        else:
            ones = [Argument(Path(pattern), name.strip() if is_named else None)]
        for one in ones:
            known = found.setdefault(one.path, one)
            if known.condition != one.condition:
                both = f"{known.condition or one.path.stem} and {one.condition or one.path.stem}"
                faults.append(unexpected("one configuration", both, one.path))
    if faults:
        raise UsageError(*faults)
    return _entries(*found.values()) if len(found) == 1 else list(found.values())


def _of_glob(pattern: str) -> str:
    """``plain`` of ``plain/*.log`` and of ``results/plain-*.log``."""
    stems = (re.sub(r"[*?]|\[.*?\]", "", _ENDS.sub("", part)).strip(_GAPS) for part in reversed(Path(pattern).parts))
    return next((stem for stem in stems if stem), pattern)


def _entries(only: Argument) -> list[Argument]:
    """The entries of a folder that stands alone; of the folder within it, where that is its only entry."""
    folder = only.path
    while only.condition is None and folder.is_dir() and os.access(folder, os.R_OK | os.X_OK):
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
        if len(entries) != 1 or not entries[0].is_dir():
            return [Argument(entry, is_asked_for=False) for entry in entries] or [only]
        (folder,) = entries
    return [only]


def namings(files: Sequence[Named]) -> Mapping[Path, Naming]:
    """The naming of each file; those that name their conditions inside keep nothing but a run."""
    silent = [file for file in files if not file.says_itself or file.argument.condition is not None]
    _name_conditions(silent, _without_runs(silent, [file.text for file in silent]))
    _tell_levels_from_runs(silent)
    _tell_runs_apart(silent)
    named = {it.path: Naming(it.condition, it.run or "1", ((NAME, it.level),) if it.level else ()) for it in silent}
    speaking = [file for file in files if file.path not in named]
    for position, file in enumerate(speaking, 1):
        match = _RUN.search(file.text)
        named[file.path] = Naming(None, match[1].lstrip("0") or "0" if match else str(position))
    return named


def _without_runs(files: Sequence[Named], texts: Sequence[str]) -> list[str]:
    """The texts, a name or the folders of each file, without the runs and dates in them, which the files keep.

    Last numbers are runs if those of all files run from 0 or 1 without a gap.
    """
    left: list[str] = []
    numbered: dict[int, list[tuple[int, re.Match[str]]]] = {}
    for at, (file, text) in enumerate(zip(files, texts, strict=True)):
        file.date = " ".join(filter(None, (*_DATE.findall(text), file.date or file.process)))
        text = _DATE.sub("", text)
        runs = (run.lstrip("0") or "0" for run in _RUN.findall(text))
        file.run = ".".join(filter(None, dict.fromkeys((*runs, file.run))))
        left.append(_GAP.sub(r"\1", _RUN.sub("", text).strip(_GAPS)))
        for last in [*_LAST_NUMBER.finditer(left[at])][-1:]:
            if not file.run and not _OF_LOAD.search(left[at][: last.start()]):
                numbered.setdefault(int(last[1]), []).append((at, last))
    if numbered and min(numbered) < 2 and max(numbered) - min(numbered) < len(numbered):
        for number, of in numbered.items():
            for at, last in of:
                files[at].run = str(number)
                left[at] = _GAP.sub(r"\1", f"{left[at][: last.start()]}{left[at][last.end() :]}".strip(_GAPS))
    return left


def _name_conditions(files: Sequence[Named], names: Sequence[str]) -> None:
    """By the user, else by the argument: a folder's name, or a file's name without its run and date.

    Labels then begin with the folders in which files of one condition differ.
    """
    for file, name in zip(files, names, strict=True):
        path = file.argument.path
        file.label = name
        if file.argument.condition is not None:
            file.condition = file.argument.condition
        elif file.path != path:
            file.condition = path.name or path.resolve().name
        else:
            file.condition, file.label = name or file.text.strip(_GAPS) or "stdin", ""
    folders: dict[Path, str] = {}
    for of in _by(files, lambda file: file.condition):
        shared = commonpath({file.path.absolute().parent for file in of})
        folders |= {it.path: it.path.absolute().parent.relative_to(shared).as_posix().strip(".") for it in of}
    for file, folder in zip(files, _without_runs(files, [folders[file.path] for file in files]), strict=True):
        file.label = "/".join(filter(None, (folder, file.label)))


def _tell_levels_from_runs(files: Sequence[Named]) -> None:
    """Labels that two conditions have are levels; others tell runs apart.

    Where no label is the same, the words that all of a condition have may be why (``mysql-2g``, ``tde-2g``).
    """
    for alike in _by(files, lambda file: file.format):
        conditions = list(_by(alike, lambda file: file.condition))
        if not _are_shared(conditions):
            for of in conditions:
                words = [re.split(rf"[{_GAPS}]+", file.label) for file in of]
                common = set.intersection(*map(set, words))
                for file, own in zip(of, words, strict=True):
                    file.label = "-".join(it for it in own if it not in common)
        is_level = _are_shared(conditions)
        for file in alike:
            if is_level:
                file.level = file.label
            else:
                file.run = " ".join(text for text in (file.label, file.run) if text)


def _are_shared(conditions: Sequence[Sequence[Named]]) -> bool:
    """Whether conditions have labels in common, and one of them several: a label that all files have says nothing."""
    labels = [{file.label for file in of} for of in conditions]
    return max(map(len, labels)) > 1 and len(set.union(*labels)) < sum(map(len, labels))


def _by(files: Iterable[Named], key: Callable[[Named], str]) -> Iterable[list[Named]]:
    found: dict[str, list[Named]] = {}
    for file in files:
        found.setdefault(key(file), []).append(file)
    return found.values()


def _tell_runs_apart(files: Sequence[Named]) -> None:
    """Files that would be one run: by their dates or process ids, else by their order."""
    alike: dict[object, list[Named]] = {}
    for file in files:
        key = (file.condition, file.level, file.run or "1", file.format, file.thread)
        alike.setdefault(key, []).append(file)
    for same in alike.values():
        if len(same) > 1:
            has_dates = len({file.date for file in same}) == len(same)
            for position, file in enumerate(same, 1):
                file.run = f"{file.run} {file.date if has_dates else position}".strip()


def assigning(arguments: Sequence[Argument]) -> str:
    """A command that assigns paths to two conditions: by words for plain and encrypted, else by what differs first."""
    paths = [it.path for it in arguments]
    if len(paths) > _MOST_SUGGESTED:
        paths = list(dict.fromkeys(path.parent for path in paths))[:_MOST_SUGGESTED]
    if len(paths) == 1 and paths[0].is_dir():
        paths = [it.path for it in _entries(Argument(paths[0]))][:_MOST_SUGGESTED]
    rules: tuple[Callable[[Path], object], ...] = (
        lambda path: "plain" if is_plain(str(path)) else "tde" if is_encrypted(str(path)) else "",
        *(lambda path, at=at: path.absolute().parts[at : at + 1] for at in range(len(paths[0].absolute().parts))),
    )
    for rule in rules:
        sides = [rule(path) for path in paths]
        if len(set(sides)) > 1:
            plain = "plain" if "plain" in sides else "" if "" in sides else sides[0]
            return " ".join(("tdelta analyze", *_words(paths, [side == plain for side in sides])))
    return f"tdelta analyze plain={shlex.quote(str(paths[0]))} tde=OTHER"


def _words(paths: Sequence[Path], are_plain: Sequence[bool]) -> Iterator[str]:
    for path, plain in zip(paths, are_plain, strict=True):
        yield shlex.quote(f"{'plain' if plain else 'tde'}={path}")
