import json

import pytest

from support.json_docs import check_documented
from support.prospect_samples import PROSPECTS, hopeless, whole
from tdelta.report.document import to_json
from tdelta.report.plan import plan_document


def test_the_documentation_of_a_plan_names_exactly_its_fields() -> None:
    check_documented("tdelta.plan/1", *(plan_document(sample()) for sample in PROSPECTS.values()))


def test_a_plan_is_strict_json() -> None:
    for sample in PROSPECTS.values():
        values = json.loads(to_json(plan_document(sample())), parse_constant=pytest.fail)
        assert values["schema"] == "tdelta.plan/1"


def test_what_cannot_be_reached_has_no_rounds_and_no_command() -> None:
    values = json.loads(to_json(plan_document(hopeless())))
    assert (values["advised_rounds"], values["advised_seconds"], values["advised_command"]) == (None, None, None)
    assert [target["attainability"] for target in values["targets"]] == ["on the edge", "too long"]


def test_figures_are_passed_on_unrounded() -> None:
    values = json.loads(to_json(plan_document(whole())))
    assert values["lengths"][0]["sd95"] == [0.91 * 0.0221, 1.1 * 0.0221]
    assert values["lengths"][0]["scales"][1]["excess95"] == [0.81, 1.47]
