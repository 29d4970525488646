"""Names of files, cut into words, without what all of them have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from os.path import commonpath
from pathlib import Path

from tdelta.importers.reading import printable
from tdelta.importers.words import TokenKind, Word, words_of
from tdelta.records.conditions import Level

_ENDS = frozenset(
    (
        ".gz", ".log", ".logs", ".txt", ".csv", ".tsv", ".xml", ".json", ".out", ".output", ".db", ".sqlite", ".dat",
        ".res", ".result", ".results", ".raw", ".summary", ".jtl", ".jsonl", ".ndjson", ".xlsx",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Named:
    """A file whose naming is asked for.

    Attributes:
        path: as the user named it, or as it was found in a folder he named.
        format: its importer's name; files of two formats may be views of one run.
        says_itself: whether its conditions are in the file.
        thread: of tools that write a file for each of their threads: which one.
        process: the process id in the name of such a file.
    """

    path: Path
    format: str
    says_itself: bool = False
    thread: str | None = None
    process: str | None = None


@dataclass(slots=True)
class Name:
    """One file's name, as far as it is understood; ``raw`` has its parts with the words that all have in common."""

    file: Named
    parts: tuple[tuple[Word, ...], ...]
    raw: tuple[tuple[Word, ...], ...]
    condition: str | None = None
    run: str = ""
    levels: tuple[tuple[str, Level], ...] = ()
    others: tuple[str, ...] = ()
    faults: list[str] = field(default_factory=list)
    twin: Path | None = None

    def words(self, *kinds: TokenKind) -> list[Word]:
        """Its words of these kinds."""
        return [word for part in self.parts for word in part if word.kind in kinds]

    @property
    def stamp(self) -> str:
        """Dates and process ids: what tells runs apart where nothing else does."""
        stamps = [word.text for word in self.words(TokenKind.STAMP)]
        return " ".join((*stamps, *([self.file.process] if self.file.process else [])))

    @property
    def understood(self) -> str:
        """What is known of it, and what is open, in words."""
        said = [f"condition {self.condition}"] if self.condition else []
        said += [f"{name} {level}" for name, level in self.levels]
        said += [f"run {self.run}"] if self.run else []
        faults = [*self.faults, *([f"as {printable(str(self.twin))} is: which run?"] if self.twin else [])]
        return "; ".join((", ".join(said) or "nothing", *faults))


def cut_names(files: Sequence[Named]) -> list[Name]:
    """The words of each name below the folder that all have in common, without the words that all have in common."""
    names = [_name(file, parts, is_alone=len(files) < 2) for file, parts in _parts(files)]
    if len(names) < 2:
        return names
    common = _multiset(names[0])
    for name in names[1:]:
        common &= _multiset(name)
    cut = [_without(name, common) for name in names]
    conditions = (TokenKind.BASELINE, TokenKind.ENCRYPTED)
    if any(name.words(*conditions, TokenKind.OTHER) for name in cut) or not any(
        name.words(*conditions) for name in names
    ):
        return cut
    # All are of one condition: then the word for it is what they have in common.
    kept = Counter({key: count for key, count in common.items() if key[0] not in conditions})
    return [_without(name, kept) for name in names]


def _name(file: Named, parts: Sequence[str], *, is_alone: bool) -> Name:
    """The words of one name; the folder that all have in common says nothing of which run each is."""
    root, *inner = parts
    words = [tuple(words_of(root, is_folder=True))]
    if not is_alone:
        words = [tuple(word for word in words[0] if word.kind is not TokenKind.RUN)]
    words += [tuple(words_of(part, is_folder=number < len(inner))) for number, part in enumerate(inner, 1)]
    return Name(file, tuple(words), tuple(words))


def _parts(files: Sequence[Named]) -> Iterable[tuple[Named, tuple[str, ...]]]:
    if not files:
        return
    parents = [str(file.path.absolute().parent) for file in files]
    root = Path(commonpath(parents))
    for file in files:
        stem = file.path.name
        while (end := Path(stem).suffix.lower()) in _ENDS and end != stem.lower():
            stem = stem[: -len(end)]
        for number in (file.thread, file.process):
            if number is not None and stem.endswith(f".{number}"):
                stem = stem[: -len(number) - 1]
        folders = file.path.absolute().parent.relative_to(root).parts
        yield file, (root.name, *folders, stem)


def _multiset(name: Name) -> Counter[tuple[TokenKind, str]]:
    """What may be left out. Levels and runs stay facts, however many files they are said of."""
    return Counter(
        (word.kind, word.value)
        for word in name.words(
            TokenKind.BASELINE, TokenKind.ENCRYPTED, TokenKind.NUMBER, TokenKind.OTHER, TokenKind.STAMP
        )
    )


def _without(name: Name, common: Counter[tuple[TokenKind, str]]) -> Name:
    left = Counter(common)
    parts: list[tuple[Word, ...]] = []
    for part in name.parts:
        kept: list[Word] = []
        for word in part:
            if left[(word.kind, word.value)] > 0:
                left[(word.kind, word.value)] -= 1
            else:
                kept.append(word)
        parts.append(tuple(kept))
    return replace(name, parts=tuple(parts), faults=[])
