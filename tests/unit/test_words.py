"""Phrases that a native reader stumbles over, and that must not come back into what users read."""

from __future__ import annotations

import ast
import functools
import io
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "python" / "tdelta"

PHRASES = (
    "limits are told",
    "is told, and decides nothing;",
    "to be told; repeatable",
    "Server of your own",
    "What finds the number of operations",
    "Head of a trial",
    "Draws everything",
    "'s disk for encrypted",
    "of servers of yours only",
    "this is no TOML",
    "keeps for its own",
    "times as dear as",
    "wait in the main",
    "no I/O is told",
    "preflight reckons",
    "by lot",
    "is told from it by",
    "CPU an operation",
    "time an operation",
    "bits a byte",
    "one run a condition",
    "one figure a condition",
    "you said you care about",
    "you said you would not care about",
    "oftener",
    "a defect of tdelta",
    "for ever.",
    "for ever:",
    "for want of",
    "held the truth",
    "is told, and decides nothing",
    "to be told",
    "overheads read that much",
    "Smallest visible overhead",
    "somebody",
    "before anything is said",
    "tells 10 %",
    "prices measured apart",
    "show them there, this one does not",
    "With a prior that forbids a speed-up: the same figures",
    "expected none of the options of a pilot",
    "of tdelta's own loop only",
    "by turns",
    "servers of yours",
    "server of yours",
    "folder of yours",
    "servers of your own",
    "a database of your own",
    "a workload of your own",
    "bytes a page",
    "µs a page",
    "µs a statement",
    "blocks a round",
    "runs a side",
    "transactions a second",
    "operations a second",
    "operations due a second",
    "statements a run",
    "row a trial",
    "one item a condition",
    "a column a condition",
    "a row a condition",
    "Clients at work at once",
    "Look for no ",
)


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
