import dataclasses
import json
from dataclasses import replace

import pytest

from support import samples as s
from support.json_docs import check_documented
from support.listed import ENGINES, OWN_PLAN, PLAN, STUDIES
from tdelta.messages import Reason, Refusal
from tdelta.records import Percentile99, TailMeasure
from tdelta.report.document import document, dry_run_document, error_document, to_json
from tdelta.report.listings import engines_document, studies_document
from tdelta.session.outlook import DryRun


def test_the_documentation_of_a_run_names_exactly_its_fields() -> None:
    few = Percentile99(1, 2, None, Reason.of("percentile-few-rounds", fewest=3))
    short = s.changed(s.with_tails(), tails=(replace(s.with_tails().of(TailMeasure)[0], p99=few),))
    check_documented(
        "tdelta.run/1", *(document(run, 0) for run in (short, *(sample() for sample in s.SAMPLES.values())))
    )


def test_the_documentation_of_the_other_documents_names_exactly_their_fields() -> None:
    refused = replace(PLAN, faults=(Refusal.of("path-unusable", path="/x", fault="not writable"),))
    check_documented("tdelta.dry-run/1", dry_run_document(refused), dry_run_document(OWN_PLAN))
    check_documented("tdelta.engines/1", engines_document(ENGINES))
    check_documented("tdelta.studies/2", studies_document(STUDIES))
    asked = Refusal.of("requires", what="a", needs="a mode").at("--modes")
    check_documented("tdelta.error/1", error_document([asked], asked.text, 2))


@pytest.mark.parametrize("name", s.SAMPLES)
def test_a_document_is_strict_json(name: str) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(to_json(document(s.SAMPLES[name](), 0)), parse_constant=refuse)["schema"] == "tdelta.run/1"


def test_a_number_that_does_not_exist_is_null() -> None:
    values = json.loads(to_json(document(s.without_numbers(), 0)))
    assert values["client_overhead_share"] is None
    assert values["verdicts"][1]["ratio_of_means"]["hdi95"] == [None, None]


def test_an_injected_twin_carries_its_share_and_its_actual_cost() -> None:
    values = json.loads(to_json(document(s.injected(), 0)))
    slowed = values["verdicts"][1]
    assert slowed["condition"] == {"cipher": "none", "threads": 1, "injected": 0.05}
    assert slowed["actual"] == 1.0521


def test_the_floor_of_a_stratum_names_its_plain_levels() -> None:
    values = json.loads(to_json(document(s.sweep(), 3)))
    assert [f["baseline"] for f in values["noise_floor"]] == [
        {"cipher": "none", "threads": 1},
        {"cipher": "none", "threads": 16},
    ]


def test_figures_are_passed_on_unrounded() -> None:
    ratio = json.loads(to_json(document(s.slower(), 0)))["verdicts"][0]["ratio_of_means"]
    assert ratio["median"] == 1.031
    assert ratio["hdi95"] == [1.031 - 0.007, 1.031 + 0.007]


@pytest.mark.parametrize("plan", [PLAN, OWN_PLAN])
def test_a_dry_run_is_passed_on_field_by_field(plan: DryRun) -> None:
    values = json.loads(to_json(dry_run_document(plan)))
    del values["schema"]
    codes = values.pop("caution_codes")
    assert [code.pop("text") for code in codes] == values["cautions"]
    values["cautions"] = codes
    refusals = values.pop("refusals")
    assert [refusal.pop("text") for refusal in refusals] == values["faults"]
    values["faults"] = refusals
    assert values == json.loads(json.dumps(dataclasses.asdict(plan)))


def test_a_database_is_told_by_its_name_and_size_and_is_null_where_rows_are_generated() -> None:
    assert document(s.own_database(), 0)["settings"]["database"] == {
        "file": "app.db", "size_bytes": 25_270_000, "page_size": 4096, "tables": 30, "rows": 207_192,
        "proposed": True, "restored": False, "in_place": False,
    }  # fmt: skip
    assert document(s.slower(), 0)["settings"]["database"] is None


def test_a_server_carries_its_measures_and_the_word_for_its_bottleneck() -> None:
    values = json.loads(to_json(document(s.served_sweep(), 3)))
    plain, _, encrypted, *_ = values["servers"]
    assert plain["condition"] == {"cipher": "none", "threads": 1, "cache": 0.1}
    assert plain["throughput"] == {"low": 0.97 * 412.4, "median": 412.4, "high": 1.02 * 412.4}
    assert (plain["bottleneck"], encrypted["counted"]["pages_decrypted"] > 0) == ("I/O", True)
    assert values["published"][0]["ratio"] == 1.0883
    assert values["twin_settings"]["varied"] == {"innodb_buffer_pool_size": ["33554432", "377487360"]}


def test_both_figures_stand_beside_each_other() -> None:
    values = json.loads(to_json(document(s.stalling(), 0)))
    head = values["verdicts"][0]
    assert (head["ratio_of_means"]["median"], head["typical"]["median"]) == (1.18, 1.004)
    assert [floor["twins"] for floor in values["noise_floor"]] == ["a/a", "b/b"]
    assert values["noise_floor"][1]["condition"] == {"cipher": "aes-256", "threads": 1}
    assert [(m["stalls"], m["stall_cost"]) for m in values["stalls"]] == [(0, 0.0), (15, 0.176)]
