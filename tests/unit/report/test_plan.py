import json
from dataclasses import replace

from support.prospect_samples import hopeless, whole
from tdelta.report.document import to_json
from tdelta.report.drawing import draw
from tdelta.report.plan import plan_blocks, plan_document


def test_what_cannot_be_reached_has_no_rounds_and_no_command() -> None:
    values = json.loads(to_json(plan_document(hopeless())))
    assert (values["advised_rounds"], values["advised_seconds"], values["advised_command"]) == (None, None, None)
    assert [target["attainability"] for target in values["targets"]] == ["on the edge", "too long"]


def test_figures_are_passed_on_unrounded() -> None:
    values = json.loads(to_json(plan_document(whole())))
    assert values["lengths"][0]["sd95"] == [0.91 * 0.0221, 1.1 * 0.0221]
    assert values["lengths"][0]["scales"][1]["excess95"] == [0.81, 1.47]


def test_going_over_it_again_asks_of_the_same_store_with_the_same_chance_and_time() -> None:
    again = {"assurance": 0.9, "max_seconds": 1800.0, "metric": "cpu_per_operation", "store": "/my runs.sqlite"}
    text = " ".join(draw(plan_blocks(replace(whole(), again=again)), 100).split())
    besides = "--assurance 0.9 --max-time 30m --metric cpu_per_operation --store '/my runs.sqlite'"
    assert f"20261122-jklm --effect 3% --tolerance 1% {besides}" in text
