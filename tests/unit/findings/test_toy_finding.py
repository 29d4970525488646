"""A finding is one file: `toys.doubled` is computed, stored, and shown everywhere, though nothing else names it."""

from dataclasses import replace
from pathlib import Path

import pytest

from support import samples as s
from tdelta.findings import KINDS, findings_of
from tdelta.findings.base import FinishedRun
from tdelta.records import RunResult
from tdelta.records.findings import FINDINGS
from tdelta.report.details import run_blocks
from tdelta.report.document import document, to_json
from tdelta.report.drawing import draw
from tdelta.report.page.compose import compose
from tdelta.report.page.file import render as page
from tdelta.report.page.gather import RunData
from tdelta.store import Store
from toys.doubled import KIND, Doubled

for known in (KINDS, FINDINGS):
    del known[Doubled.FINDING]  # known to the tests below alone


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> RunResult:
    monkeypatch.setitem(KINDS, Doubled.FINDING, KIND)
    monkeypatch.setitem(FINDINGS, Doubled.FINDING, Doubled)
    result = s.slower()
    computed, cautions = findings_of(
        FinishedRun(settings=result.settings, trials=(), verdicts=result.verdicts, known=(s.odd(s.AES, 30),))
    )
    assert cautions == ()
    return replace(result, findings=computed)


def test_it_is_computed_with_all_others(found: RunResult) -> None:
    (one,) = found.of(Doubled)
    assert (one.condition, one.twice) == (s.AES, pytest.approx(0.062))
    assert {kind.FINDING for kind in map(type, found.findings)} == {"stalls", "doubled"}


def test_it_is_in_the_answer_in_the_text_on_the_page_and_in_the_document(found: RunResult) -> None:
    assert "0.062" in draw(run_blocks(found), 100)
    assert "Twice the overhead is 0.062." in draw(run_blocks(found, with_details=True), 100)
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


def test_it_is_stored_and_read_again(found: RunResult, tmp_path: Path) -> None:
    with Store.open(tmp_path / "runs.sqlite") as store:
        store.create_run(found.settings, found.machine, found.versions)
        store.finish(found.settings.run_id, found)
        assert store.result(found.settings.run_id) == found


def test_it_may_add_to_the_cautions(found: RunResult) -> None:
    much = replace(found.primary[0], ratio=s.estimate(1.9, 0.1))
    _, (caution,) = findings_of(FinishedRun(settings=found.settings, trials=(), verdicts=[much]))
    assert caution.text == "twice the overhead is more than the cost"


def test_a_run_without_it_shows_nothing_of_it(found: RunResult) -> None:
    without = s.slower()
    assert found.of(Doubled)
    assert "Twice the overhead" not in draw(run_blocks(without, with_details=True), 100)
    assert all(section.name != "doubled" for section in compose(RunData(without, 0.0)).sections)
    assert document(without, 0)["doubled"] == []
