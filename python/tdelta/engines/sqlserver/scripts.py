"""Scripts of transactions in Transact-SQL, and how the server remembers their statements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tdelta.workloads.scan import cut

_LIMIT = re.compile(r"\bLIMIT\s+(\d+)", re.IGNORECASE)
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_VARIABLE = re.compile(r"(?<!:):[A-Za-z_]\w*|@P\d+|\?")
_SPACE = re.compile(r"\s+")


def as_written(text: str) -> str:
    """``LIMIT`` in Transact-SQL's words; what it stands behind is an ``ORDER BY``."""
    return _LIMIT.sub(r"OFFSET 0 ROWS FETCH NEXT \1 ROWS ONLY", text)


def bare(statement: str) -> str:
    """A statement without its comments, spaces and the names of its parameters, which drivers and servers change."""
    text = _VARIABLE.sub("?", _COMMENT.sub(" ", as_written(statement)))
    return _SPACE.sub(" ", text).strip(" ;").casefold()


def named(scripts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The statements of transactions: the transaction's name with the statement's number from 1, and it `bare`."""
    for name, text in scripts.items():
        for number, piece in enumerate((piece for piece in cut(text)[0] if piece.is_counted), start=1):
            yield f"{name}/{number}", bare(piece.text)
