"""A figure comes with the command that repeats it, so every bench that is quoted anywhere is there."""

from __future__ import annotations

import re
from pathlib import Path

TREE = Path(__file__).parents[2]
QUOTED = re.compile(r"benches/[\w/-]+\.py")
WHERE = ("*.md", "docs/**/*.md", "docs/**/*.ipynb", "python/**/*.py", "crates/**/*.rs", "crates/**/*.md")


def quoted() -> dict[str, list[str]]:
    """The benches that are quoted, and where."""
    found: dict[str, list[str]] = {}
    for path in (path for pattern in WHERE for path in TREE.glob(pattern)):
        for bench in QUOTED.findall(path.read_text(errors="replace")):
            found.setdefault(bench, []).append(path.relative_to(TREE).as_posix())
    return found


def test_every_bench_that_is_quoted_is_there() -> None:
    found = quoted()
    assert "docs/measurements.md" in found["benches/loop.py"]
    assert {bench: places for bench, places in found.items() if not (TREE / bench).is_file()} == {}
