import re
from dataclasses import replace

import pytest

from support import analysis_samples as s
from support.reading import read
from tdelta.records import Decision, Model
from tdelta.report.analysis.page import _MODELS, check_figure, compose_analysis
from tdelta.report.page.file import render

COMMAND = "tdelta analyze plain.csv 'a b.csv'"


def page_of(name: str) -> str:
    found = s.SAMPLES[name]()
    return render(compose_analysis(found, s.pictures(found), COMMAND))


@pytest.mark.parametrize("name", s.SAMPLES)
def test_every_page_is_whole_says_no_name_twice_and_asks_nothing_of_any_network(name: str) -> None:
    text = page_of(name)
    reading = read(text)
    assert reading.faults == []
    ids = [e.attributes["id"] for e in reading.elements if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    assert not re.search(r'(?:src|href)="(?!#|data:)', text)
    assert text == page_of(name)


def test_strangers_names_are_escaped() -> None:
    odd = s.comparison(10.0, 11.0, name="<script>alert(1)</script>")
    found = s.result(odd)
    assert "<script>alert" not in render(compose_analysis(found, s.pictures(found), "tdelta analyze '<b>'"))


def test_bare_quotients_are_diamonds_without_bars() -> None:
    figure = page_of("sweep").split("<figure")[1]
    assert 'class="truth"' in figure
    assert 'class="hdi95"' not in figure


def test_a_check_has_a_bar_for_every_bin_and_the_band() -> None:
    check = s.pictures(s.one_run())[0].checks[0]
    figure = check_figure(check, "ms", "c", "x")
    assert figure.drawing.count('class="plain-bar-second"') == check.observed.size == len(figure.table.rows)
    assert figure.drawing.count('class="band"') == 1


def test_an_invalid_answer_is_told_as_none() -> None:
    found = s.one_run()
    bad = replace(found, decision=Decision.INVALID)
    assert compose_analysis(bad, (), COMMAND).is_alarm


def test_every_model_is_explained() -> None:
    assert set(_MODELS) == set(Model)
