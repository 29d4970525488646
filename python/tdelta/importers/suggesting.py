"""``--condition`` options that would work: the shortest glob that matches one group of files and no other."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from glob import escape
from pathlib import Path

from tdelta.importers.conditions import matches
from tdelta.importers.words import words_of

_MOST_GLOBS = 20


def suggestion(groups: Mapping[str, Sequence[Path]]) -> Iterator[str]:
    """One ``--condition`` a line for each condition's files; a file each where no glob tells them from the others."""
    written = 0
    for condition, paths in groups.items():
        others = [path for name, more in groups.items() if name != condition for path in more]
        for glob in _globs(paths, others):
            written += 1
            if written > _MOST_GLOBS:
                yield "…"
                return
            yield f"--condition {shlex.quote(f'{condition}={glob}')}"


def _globs(paths: Sequence[Path], others: Sequence[Path]) -> list[str]:
    for folder in reversed(paths[0].absolute().parent.parts):
        glob = f"*/{escape(folder)}/*"
        if _tells(glob, paths, others):
            return [glob]
    texts = [str(path.absolute()).lower() for path in paths]
    for word in (*words_of(paths[0].name), *words_of(str(paths[0]))):
        if not all(word.text in text for text in texts):
            continue
        start = str(paths[0]).lower().find(word.text)
        written = str(paths[0])[start : start + len(word.text)]
        glob = f"*{escape(written)}*"
        if _tells(glob, paths, others):
            return [glob]
    if len(folders := {path.parent: path for path in paths}) < len(paths):
        return list(dict.fromkeys(glob for path in folders.values() for glob in _of_folder(path, paths, others)))
    names = [path.name for path in (*paths, *others)]
    return [escape(path.name if names.count(path.name) == 1 else str(path)) for path in paths]


def _of_folder(path: Path, paths: Sequence[Path], others: Sequence[Path]) -> list[str]:
    """A glob for the files of one folder; one for each of them where others lie there, too."""
    own = [it for it in paths if it.parent == path.parent]
    glob = f"*/{escape(path.parent.name)}/*"
    return [glob] if _tells(glob, own, others) else [escape(str(it)) for it in own]


def _tells(glob: str, paths: Sequence[Path], others: Sequence[Path]) -> bool:
    """Whether a glob matches these files and none of the others, of which there must be some."""
    return (
        bool(others) and all(matches(path, glob) for path in paths) and not any(matches(path, glob) for path in others)
    )
