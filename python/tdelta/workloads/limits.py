"""How large a workload folder, and what it makes, may be. ``docs/formats.md`` lists the same.

The limits keep the check of a folder within seconds, the rows in the making within half a gigabyte of memory, and
every sum finite.
"""

from __future__ import annotations

MOST_FILE_BYTES = 1 << 20  # of each file of a folder
MOST_PIECES = 2_000  # statements and backslash commands of one file
MOST_PIECES_OF_ALL = 10_000  # the same of all scripts of a folder
LONGEST_STATEMENT = 1 << 16  # characters of one statement or command

DEEPEST = 30
"""Levels within each other: brackets of ``workload.toml``, parentheses of a statement, all that an expression nests."""

MOST_TOKENS = 300  # numbers, names and signs of one expression of ``\set``, ``\if`` or ``\repeat``
MOST_ENTRIES = 1_000  # tables, columns of a table, transactions, tables of keys
MOST_FAULTS = 100  # faults that are listed; more are counted
MOST_ROWS = 1 << 40  # of a table at scale 1; the row generator's own limit at any scale
MOST_BYTES = 1 << 50  # of a unit of scale, and of what does not scale
LONGEST_ROW_BYTES = 1 << 16  # of one row with every text at its longest: rows are made a thousand at a time

LONGEST_TEXT = 1 << 20
"""Characters that ``random_string`` of a script draws; ``script.rs`` holds what only a trial can know to the same."""

LEAST_WEIGHT, MOST_WEIGHT = 1e-9, 1e9
"""Of a transaction, and of a value that the distribution ``choice`` draws."""

LONGEST_TITLE = 200  # characters of a workload's name and of titles
