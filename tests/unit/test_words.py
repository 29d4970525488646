"""Phrases that a native reader stumbles over, and that must not come back into what users read."""

from __future__ import annotations

import ast
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
    "much oftener",
)


def texts() -> list[tuple[str, str]]:
    """Every string of the package that is not documentation of its own, and every page, by where it stands."""
    found = [(path.name, path.read_text(encoding="utf-8")) for path in (ROOT / "docs").rglob("*.md")]
    found.append(("README.md", (ROOT / "README.md").read_text(encoding="utf-8")))
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                found.append((f"{path.relative_to(SOURCE)}:{node.lineno}", node.value))
    return found


TEXTS = texts()


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_does_not_come_back(phrase: str) -> None:
    assert [where for where, text in TEXTS if phrase in text] == []


def test_there_are_texts_to_look_at() -> None:
    assert len(TEXTS) > 1000
