"""What the twin before does to a trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tdelta.document.blocks import Block, Paragraph
from tdelta.document.labels import carried_words
from tdelta.findings.base import Kind
from tdelta.records import CarryOver, RunResult


def blocks(found: Sequence[CarryOver], _result: RunResult) -> Iterator[Block]:
    yield Paragraph(f"Carry-over: {carried_words(found[0])}.", "note")


KIND = Kind(CarryOver, lambda run: run.carry_over, blocks, "answer")
