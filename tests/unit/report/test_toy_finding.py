"""A finding is a record, a model and a renderer: these three and a line of the registry are all that one takes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import pytest

from support import samples as s
from tdelta.document.blocks import Block, Paragraph
from tdelta.records import FINDINGS, Condition, Finding, RunResult, Verdict
from tdelta.report.details import run_blocks
from tdelta.report.document import document, to_json
from tdelta.report.drawing import draw
from tdelta.report.findings.registry import SHOWN, Shown
from tdelta.report.page.compose import compose
from tdelta.report.page.file import render as page
from tdelta.report.page.gather import RunData
from tdelta.store.codec import dumps, loads


@dataclass(frozen=True, slots=True)
class Doubled(Finding):
    """The record: twice an overhead."""

    FINDING = "doubled"
    DERIVED = ("halved",)

    condition: Condition
    twice: float = field(metadata={"json": "twice_the_overhead"})

    @property
    def halved(self) -> float:
        return self.twice / 2


del FINDINGS["doubled"]  # known to the tests below alone


def doubled(verdicts: Sequence[Verdict]) -> tuple[Doubled, ...]:
    return tuple(Doubled(v.condition, 2 * (v.ratio.median - 1)) for v in verdicts if v.primary)


def blocks(result: RunResult) -> list[Block]:
    return [Paragraph(f"Twice the overhead is {one.twice:.3f}.") for one in result.of(Doubled)]


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Iterator[RunResult]:
    monkeypatch.setitem(FINDINGS, "doubled", Doubled)
    SHOWN.append(Shown((Doubled,), blocks, "doubled", "Twice as much"))
    result = s.slower()
    yield replace(result, findings=(*result.findings, *doubled(result.verdicts)))
    SHOWN.pop()


def test_it_is_in_the_text_on_the_page_and_in_the_document(found: RunResult) -> None:
    assert "Twice the overhead is 0.062." in draw(run_blocks(found, with_details=True))
    drawn = page(compose(RunData(found, 0.0)))
    assert "Twice as much" in drawn
    assert "Twice the overhead is 0.062." in drawn
    (values,) = document(found, 0)["doubled"]  # type: ignore[misc]
    assert values == {
        "condition": s.AES.as_json(),
        "twice_the_overhead": pytest.approx(0.062),
        "halved": pytest.approx(0.031),
    }
    assert "twice_the_overhead" in to_json(document(found, 0))


def test_it_is_stored_and_read_again(found: RunResult) -> None:
    assert loads(RunResult, dumps(found)) == found


def test_a_run_without_it_shows_nothing_of_it(found: RunResult) -> None:
    without = s.slower()
    assert "Twice the overhead" not in draw(run_blocks(without, with_details=True))
    assert all(section.name != "doubled" for section in compose(RunData(without, 0.0)).sections)
    assert found.of(Doubled)
    assert document(without, 0)["doubled"] == []


def test_every_kind_of_finding_has_a_renderer() -> None:
    assert {kind for one in SHOWN for kind in one.kinds} == set(FINDINGS.values())
