"""Phrases that a native reader stumbles over, and that must not come back into what users read."""

import ast
import functools
import io
import tokenize
from pathlib import Path

import pytest

from support.data import text_of

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "python" / "tdelta"

PHRASES = [line.removesuffix("|") for line in text_of("phrases.txt").splitlines()]
"""A bar ends each line of the file, so that a blank at the end of a phrase is seen."""


@functools.cache  # not when tests are collected, which every process does
def texts() -> list[tuple[str, str]]:
    """Every page, and every string, docstring and comment of the package, by where it stands."""
    found = [(path.name, " ".join(path.read_text(encoding="utf-8").split())) for path in (ROOT / "docs").rglob("*.md")]
    found.append(("README.md", (ROOT / "README.md").read_text(encoding="utf-8")))
    for path in SOURCE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        where = path.relative_to(SOURCE)
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append((f"{where}:{node.lineno}", " ".join(node.value.split())))
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                found.append((f"{where}:{token.start[0]}", token.string))
    return found


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_does_not_come_back(phrase: str) -> None:
    assert [where for where, text in texts() if phrase in text] == []


def test_there_are_texts_to_look_at() -> None:
    assert len(texts()) > 1000
