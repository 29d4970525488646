from __future__ import annotations

from dataclasses import replace

import pytest

from support import samples as s
from support import stored as t
from support.reading import read
from support.refused import refused
from tdelta.errors import UsageError
from tdelta.records import Metric, RunResult
from tdelta.report.page.compare import UNPAIRED, compare
from tdelta.report.page.gather import RunData
from tdelta.report.page.render import render


def data_of(result: RunResult, run_id: str, **options: object) -> RunData:
    settings = replace(result.settings, run_id=run_id, options={**result.settings.options, **options})
    return RunData(replace(result, settings=settings), t.CREATED)


RUNS = (data_of(s.costly(), "20261121-aaaa", cache=0.1), data_of(s.undecided(), "20261121-bbbb", cache=1.2))


def test_the_page_begins_by_saying_that_nothing_is_paired_between_runs() -> None:
    reading = read(render(compare(RUNS)))
    assert reading.faults == []
    paragraphs = [e for e in reading.all("p") if "main" in e.within]
    assert paragraphs[0].words == UNPAIRED


def test_every_run_has_its_answer_and_its_rows() -> None:
    reading = read(render(compare(RUNS)))
    assert "20261121-aaaa: Slower: +3.1 % response time" in reading.text("h3")
    assert "20261121-bbbb: Undecided: +1.9 % response time" in reading.text("h3")
    (words,) = (e.words for e in reading.all("desc", id="drawing-answers-response-time-desc"))
    assert words.count("A/A twin") == 2


def test_settings_that_differ_are_listed_and_no_others() -> None:
    reading = read(render(compare(RUNS)))
    names = {e.words for e in reading.all("th", scope="row")}
    assert {"cache", "rounds", "blocks"} <= names
    assert not {"engine", "workload", "size bytes", "threads"} & names
    assert "Versions that differ: none." in reading.text("p")


def test_runs_with_other_metrics_are_not_drawn_on_one_axis() -> None:
    other = data_of(s.costly(), "20261121-cccc")
    settings = replace(other.result.settings, metric=Metric.CPU_PER_OPERATION)
    runs = (RUNS[0], replace(other, result=replace(other.result, settings=settings)))
    figures = [e.attributes["id"] for e in read(render(compare(runs))).all("figure")]
    assert figures == ["figure-answers-response-time", "figure-answers-cpu-per-operation"]


def test_an_unsound_run_is_told_as_such_beside_a_sound_one() -> None:
    page = render(compare((RUNS[0], data_of(s.unsound(), "20261121-dddd"))))
    assert "20261121-dddd: Unsound: no answer" in read(page).text("h3")
    assert 'class="alarm-dot"' in page


@pytest.mark.parametrize("runs", [(), RUNS[:1]])
def test_fewer_than_two_runs_cannot_be_compared(runs: tuple[RunData, ...]) -> None:
    with refused(UsageError, "fewer-than-two-runs"):
        compare(runs)


def test_a_run_is_not_compared_with_itself() -> None:
    with refused(UsageError, "run-twice", runs="20261121-aaaa"):
        compare((RUNS[0], RUNS[1], RUNS[0]))
