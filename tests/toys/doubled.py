"""A finding as one file: twice each overhead. Declaring its kind is all that makes it known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tdelta.document.blocks import Block, Line, Paragraph
from tdelta.findings.base import FinishedRun, Kind
from tdelta.messages import Caution
from tdelta.records import Condition, Finding, RunResult


@dataclass(frozen=True, slots=True)
class Doubled(Finding):
    FINDING = "doubled"
    DERIVED = ("halved",)

    condition: Condition
    twice: float = field(metadata={"json": "twice_the_overhead"})

    @property
    def halved(self) -> float:
        return self.twice / 2


def of_run(run: FinishedRun) -> Iterator[Doubled]:
    for verdict in run.verdicts:
        if verdict.primary:
            yield Doubled(verdict.condition, 2 * (verdict.ratio.median - 1))


def blocks(found: Sequence[Doubled], _result: RunResult) -> Iterator[Block]:
    yield from (Paragraph(f"Twice the overhead is {one.twice:.3f}.") for one in found)


def lines(found: Sequence[Doubled], _result: RunResult) -> Iterator[Line]:
    yield Line("Doubled", f"{found[0].twice:.3f}")


def cautions(found: Sequence[Doubled], _run: FinishedRun) -> Iterator[Caution]:
    if any(one.twice > 1 for one in found):
        yield Caution.verbatim("twice the overhead is more than the cost")


KIND = Kind(Doubled, of_run, blocks, "doubled", "Twice as much", lines, cautions)
