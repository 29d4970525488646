"""How SQL is written for one engine: names, bytes, turned values, keys of several columns, questions for a plan.

On servers columns have types, so a turned value is of the column's own; elsewhere each value may be asked for its type.
A key of several columns is compared as a row where the engine's indexes serve that; where they do not, it is spelled
out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

FLIPPED = "CASE WHEN {column}% 2 = 0 THEN {column} + 1 ELSE {column} - 1 END"
"""The last bit of an integer, without the bit operators, which some engines make unsigned."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One engine's SQL.

    ``name`` is the engine's, in the names of files such as ``schema.NAME.sql``; ``sqlglot`` what the parser calls it.
    ``misread`` has what the parser does not know, and what it reads instead. ``bytes_type`` is a column of bytes and
    ``bytes_literal`` a value of it, ``{}`` being its hexadecimal digits; ``{}`` in the type is the number of bytes.
    ``turned`` has another value of the same length by kind. ``new_key`` is a key above all that there are, and
    ``overriding`` has an insert take it where the column makes its own. ``has_types``: what is selected makes a table
    of the same types, and every derived table needs a name. ``explain`` goes before a statement to ask for its plan.
    ``pads_char``: drivers answer CHAR with the blanks that pad it, and the engine compares them: such columns are made
    VARCHAR, so that values are as they are everywhere else. ``names_keys``: a key without a name is given one, since
    the engine's own differ from server to server, and plans name them.
    """

    name: str
    sqlglot: str
    misread: tuple[tuple[re.Pattern[str], str], ...] = ()
    bytes_type: str = "BLOB"
    bytes_literal: str = "x'{}'"
    quote: str = '"'
    turned: Mapping[str, str] = field(default_factory=dict)
    new_key: str = "{highest} + :op"
    overriding: str = ""
    has_types: bool = True
    has_ordered_rows: bool = True
    doubles_backslashes: bool = False
    explain: str = ""
    pads_char: bool = False
    names_keys: bool = False

    def text_literal(self, text: str) -> str:
        text = text.replace("\\", "\\\\") if self.doubles_backslashes else text
        return "'" + text.replace("'", "''") + "'"

    def quoted(self, name: str) -> str:
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote

    def equal(self, columns: Sequence[str], drawn: Sequence[str]) -> str:
        return " AND ".join(f"{column} = {value}" for column, value in zip(columns, drawn, strict=True))

    def from_there(self, columns: Sequence[str], drawn: Sequence[str]) -> str:
        if len(columns) == 1:
            return f"{columns[0]} >= {drawn[0]}"
        if self.has_ordered_rows:
            return f"({', '.join(columns)}) >= ({', '.join(drawn)})"
        behind = self.from_there(columns[1:], drawn[1:])
        return f"{columns[0]} >= {drawn[0]} AND ({columns[0]} > {drawn[0]} OR ({behind}))"


GENERIC = Dialect("", "")  # what all engines have in common
