"""``--condition`` options that would work: the shortest glob that matches one group of files and no other."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path

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
    texts = [str(path.absolute()).lower() for path in paths]
    for word in (*words_of(paths[0].name), *words_of(str(paths[0]))):
        if not all(word.text in text for text in texts):
            continue
        start = str(paths[0]).lower().find(word.text)
        written = str(paths[0])[start : start + len(word.text)]
        glob = f"*{escape(written)}*"
        if all(_matches(path, glob) for path in paths) and not any(_matches(path, glob) for path in others):
            return [glob]
    names = [path.name for path in (*paths, *others)]
    return [escape(path.name if names.count(path.name) == 1 else str(path)) for path in paths]


def _matches(path: Path, glob: str) -> bool:
    return any(fnmatchcase(text, glob) for text in (path.name, str(path), str(path.absolute())))
