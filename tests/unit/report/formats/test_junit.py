from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from support import samples as s
from tdelta.document.labels import decision_word
from tdelta.records import Decision, RunResult
from tdelta.report.formats.junit import junit
from tdelta.report.formats.rows import Answered

from .conftest import NASTY, answered


def suite(answered: Answered) -> ET.Element:
    root = ET.fromstring(junit(answered).encode("utf-8"))
    (found,) = root.findall("testsuite")
    assert root.tag == "testsuites"
    return found


def of_verdicts(answered: Answered) -> list[ET.Element]:
    return [case for case in suite(answered).findall("testcase") if case.get("classname", "").endswith(".overhead")]


@pytest.mark.parametrize(
    ("result", "passes", "child"),
    [
        (s.slower(), False, "system-out"),
        (s.over_budget(), False, "failure"),
        (s.over_budget(), True, "failure"),
        (s.undecided(), False, "failure"),
        (s.undecided(), True, "skipped"),
        (s.invalid(), True, "error"),
    ],
)
def test_a_verdict_is_a_test_case_that_fails_where_the_exit_code_does(
    result: RunResult, passes: bool, child: str
) -> None:
    (case,) = of_verdicts(answered(result, undecided_passes=passes))
    assert (case.get("name"), [one.tag for one in case]) == ("AES-256", [child])
    assert decision_word(result.decision, result.settings.metric) in (case[0].text or "")


def test_without_a_verdict_the_one_test_case_is_undecided() -> None:
    none = replace(s.undecided(), verdicts=(), decision=Decision.UNDECIDED)
    assert [[one.tag for one in case] for case in of_verdicts(answered(none))] == [["failure"]]


def test_checks_are_test_cases_too_and_the_counts_are_those_of_the_cases() -> None:
    found = suite(answered(s.invalid()))
    cases = found.findall("testcase")
    assert len(cases) == 1 + len(s.invalid().validity)
    for attribute, tag in (("errors", "error"), ("failures", "failure"), ("skipped", "skipped")):
        assert found.get(attribute) == str(len(found.findall(f"testcase/{tag}")))
    assert (found.get("tests"), found.get("errors")) == (str(len(cases)), "2")
    assert (found.get("timestamp"), found.get("time")) == ("2026-11-25T18:40:29+00:00", "71.300")


def test_a_label_comes_back_as_it_is_but_for_what_xml_cannot_write(strange: Answered) -> None:
    (case,) = of_verdicts(strange)
    expected = NASTY.replace("\x00", "\ufffd").replace("\x1b", "\ufffd").replace("\ud800", "\ufffd")
    assert expected in str(case.get("name"))
    assert expected in "".join(case.itertext())


@pytest.mark.parametrize("name", s.SAMPLES)
def test_every_answer_is_well_formed_with_names_that_are_unique(name: str) -> None:
    cases = suite(answered(s.SAMPLES[name]())).findall("testcase")
    assert len({(case.get("classname"), case.get("name")) for case in cases}) == len(cases)
