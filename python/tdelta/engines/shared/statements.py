"""Statements of an engine as a file of SQL: each under a line ``-- name: WORD``, with ``{parameters}``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def statements(package: str, file: str = "queries.sql") -> Mapping[str, str]:
    """The statements of a package's file by their names, without the semicolon that ends each."""
    text = files(package).joinpath(file).read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    return {name: _bare(body) for name, body in zip(parts[::2], parts[1::2], strict=True)}


def _bare(body: str) -> str:
    lines = [line for line in body.strip().splitlines() if not line.startswith("--")]
    return "\n".join(lines).strip().removesuffix(";")
