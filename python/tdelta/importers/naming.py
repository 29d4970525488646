"""The condition, run and levels of each file, by the arguments of ``tdelta analyze`` (rules: docs/formats.md).

Each argument is one condition, named by its stem or by the user (``NAME=GLOB``). Within a condition, every file is a
run, unless the conditions have the same words in their files' names: then these words are a level, so that two
configurations are never taken for two runs of one.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from glob import glob, has_magic
from os.path import commonpath
from pathlib import Path

from tdelta.errors import UsageError
from tdelta.importers.importer import Naming
from tdelta.importers.words import is_encrypted, is_plain
from tdelta.inputs import unexpected
from tdelta.messages import Refusal
from tdelta.records.conditions import Level

_COUNTED = r"threads?|thr|clients?|users?|vus?|connections?|conns?"
_LEVEL = re.compile(
    rf"(?<![^\W_])(?:({_COUNTED}(?=[-_ =]?\d)|[tc](?=\d))[-_ =]?(\d{{1,5}})|(\d{{1,5}})-?({_COUNTED}|th?))(?![^\W_])",
    re.IGNORECASE,
)
_LEVEL_NAMES = {"t": "threads", "c": "clients", "co": "connections", "u": "users", "v": "users"}
_RUN = re.compile(r"(?<![^\W_])(?:run|rep|repeat|trial|iteration|round|r)[-_ ]?(\d{1,5})(?![^\W_])", re.IGNORECASE)
_DATE = re.compile(
    r"(?<![^\W_])(?:20\d\d[-_.]?[01]\d[-_.]?[0-3]\d(?:[-_.T ]?[0-2]\d[-_.:]?[0-5]\d(?:[-_.:]?[0-5]\d)?Z?)?|\d{6,})"
    r"(?![^\W_])",
    re.IGNORECASE,
)
_LAST_NUMBER = re.compile(r"(?:^|(?<=[-_. /]))(?<!\d\.)(?<!aes[-_. ])(\d{1,5})(?=/|$)", re.IGNORECASE)
_ENDS = re.compile(
    r"(?<=.)(?:\.(?:gz|logs?|txt|[ct]sv|xml|json|out|output|db|sqlite|dat|res|results?|raw|samples|summary|jtl|jsonl|ndjson"
    r"|xlsx))+$",
    re.IGNORECASE,
)
_COMPOUND = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_GAPS = " -_.:="
_GAP = re.compile(r"([-_ .])[-_ .]+")
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
    levels: dict[str, Level] = field(default_factory=dict, init=False)
    label: str = field(default="", init=False)
    words: list[str] = field(default_factory=list, init=False)

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
    _read_names(silent)
    _name_conditions(silent)
    _tell_levels_from_runs(silent)
    _tell_runs_apart(silent)
    named = {it.path: Naming(it.condition, it.run or "1", tuple(it.levels.items())) for it in silent}
    speaking = [file for file in files if file.path not in named]
    for position, file in enumerate(speaking, 1):
        match = _RUN.search(file.text)
        named[file.path] = Naming(None, match[1].lstrip("0") or "0" if match else str(position))
    return named


def _read_names(files: Sequence[Named]) -> None:
    """Threads, runs, dates and the words that are left, from each name and from the folders below its argument."""
    texts: list[str] = []
    for file in files:
        folders = file.path.relative_to(file.argument.path).parent.parts if file.path != file.argument.path else ()
        text = "/".join((*folders, file.text))
        file.date = " ".join((*_DATE.findall(text), *([file.process] if file.process else [])))
        text = _DATE.sub("", text)
        for match in _LEVEL.finditer(text):
            name = (match[1] or match[4]).lower()
            factor = _LEVEL_NAMES.get(name[:2]) or _LEVEL_NAMES[name[0]]
            file.levels.setdefault(factor, int(match[2] or match[3]))
        runs = _RUN.findall(text)
        file.run = ".".join(dict.fromkeys(run.lstrip("0") or "0" for run in runs))
        texts.append(_RUN.sub("", _LEVEL.sub("", text)).rstrip(_GAPS))
    numbers = {int(found[-1]) for text in texts if (found := _LAST_NUMBER.findall(text))}
    do_count = numbers == set(range(min(numbers), max(numbers) + 1)) and min(numbers) < 2 if numbers else False
    for file, text in zip(files, texts, strict=True):
        last = next(reversed([*_LAST_NUMBER.finditer(text)]), None)
        if last is not None and do_count and not file.run:
            file.run = last[1].lstrip("0") or "0"
        elif last is not None and text[: last.start()].endswith("_") and not file.levels:
            file.levels["threads"] = int(last[1])
        else:
            last = None
        text = text if last is None else text[: last.start()] + text[last.end() :]
        file.label = _GAP.sub(r"\1", text.strip(_GAPS + "/"))


def _name_conditions(files: Sequence[Named]) -> None:
    """By the user, else by the argument: a folder's name, or a file's name without threads, run and date."""
    for file in files:
        path = file.argument.path
        if file.argument.condition is not None:
            file.condition = file.argument.condition
        elif file.path != path:
            file.condition = path.name or path.resolve().name
        else:
            file.condition = file.label or file.text.strip(_GAPS) or "stdin"
            file.label = ""
    for condition in dict.fromkeys(file.condition for file in files):
        own = {file.argument.path.absolute().parent for file in files if file.condition == condition}
        shared = commonpath(own)
        for file in files:
            if file.condition == condition:
                outer = file.argument.path.absolute().parent.relative_to(shared)
                file.label = f"{outer}/{file.label}"
                file.words = re.findall(r"[^\W_]+", file.label)


def _tell_levels_from_runs(files: Sequence[Named]) -> None:
    """Words that two conditions have are a level, others tell runs apart; words that all files have say nothing."""
    for file_format in dict.fromkeys(file.format for file in files):
        alike = [file for file in files if file.format == file_format]
        _leave_out(_common(alike, ()), alike)
        users: dict[str, set[str]] = {}
        for file in alike:
            for word in file.words:
                users.setdefault(word, set()).add(file.condition)
        shared = {word for word, conditions in users.items() if len(conditions) > 1}
        for condition in dict.fromkeys(file.condition for file in alike):
            own = [file for file in alike if file.condition == condition]
            only_here = _common(own, shared)
            _leave_out(only_here, own)
            for file in own:
                levels = shared.intersection(file.words) or set(file.words if shared else ())
                if levels:
                    compounds = [it.split("-") for it in _COMPOUND.findall(file.label) if levels & set(it.split("-"))]
                    file.levels["name"] = "-".join(it for parts in compounds for it in parts if it not in only_here)
                labels = "-".join(word for word in file.words if word not in levels)
                file.run = " ".join(text for text in (labels, file.run) if text)


def _common(files: Sequence[Named], others: Collection[str]) -> set[str]:
    return set.intersection(*(set(file.words) for file in files)).difference(others)


def _leave_out(words: Collection[str], files: Sequence[Named]) -> None:
    for file in files:
        file.words = [word for word in file.words if word not in words]


def _tell_runs_apart(files: Sequence[Named]) -> None:
    """Files that would be one run: by their dates or process ids, else by their order."""
    alike: dict[object, list[Named]] = {}
    for file in files:
        key = (file.condition, tuple(file.levels.items()), file.run or "1", file.format, file.thread)
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
