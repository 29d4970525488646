"""Phrases that a native reader stumbles over, and that must not come back into what users read."""

import ast
import functools
import io
import re
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


HABITS = {
    r"\b(?:is|are) of\b|(?:^|(?<=[.!?:] ))Of\b|\bof \w+'s\b": 0.336,
    r"\b(?:says?|said|tells?|told)\b": 1.026,
    r"\b(?:asked|met)\b": 0.201,
    r"nothing is decided|decides? nothing": 0.037,
    r"\bso many\b|\bas (?:many|much|long)\b": 0.192,
    r"\b(?:is|are) to\b(?! the)|\bto be had\b": 0.028,
    r"(?i)\b(?:mended|anew|hardly|meanwhile|whatever|however|spoilt|anyhow|surely|all the same|as ever)\b": 0.253,
    r"^#+ (?:What|How|Is|Are|Nothing|Who|Which|When|Where|Why|Does|Do|Can)\b": 0.3,
}
"""Habits of a foreign hand, and how often per 1,000 words each may occur: a quarter of the first review's rates."""


@pytest.mark.parametrize("habit", HABITS)
def test_a_habit_stays_rare_in_what_users_read(habit: str) -> None:
    """README, docs and the catalogues of messages (docs/messages.md); docs/cli.md has the help."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    text = re.sub(r"\{[^{}]*\}", "", text)  # parameters of messages
    words = len(re.findall(r"[A-Za-z][\w'-]*", text))
    found = [match[0] for match in re.finditer(habit, text, re.MULTILINE)]
    assert 1000 * len(found) / words <= HABITS[habit], found


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_does_not_come_back(phrase: str) -> None:
    assert [where for where, text in texts() if phrase in text] == []
