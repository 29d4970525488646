"""How much room the same rows take, plain and encrypted."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.records.conditions import Condition
from tdelta.records.findings import Finding


@dataclass(frozen=True, slots=True)
class DataSize(Finding):
    """How large one kind of twin's data was when it had been loaded and nothing else done to it: as the engine counts.

    ``condition`` is the first of those whose twins are copies of it.
    """

    FINDING = "data_sizes"

    condition: Condition
    size_bytes: int
