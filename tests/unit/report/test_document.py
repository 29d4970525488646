from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support import json_fields as tdelta_json_fields
from support import samples as s
from tdelta.messages import Reason, Refusal
from tdelta.records import Percentile99, TailMeasure
from tdelta.report.document import document, dry_run_document, error_document, to_json
from tdelta.report.listings import engines_document, studies_document
from tdelta.session.outlook import DryRun

from .listed import ENGINES, OWN_PLAN, PLAN, STUDIES

DOCS = Path(__file__).parents[3] / "docs" / "json.md"
_FREE_FORM = {"verdicts[].condition", "verdicts[].baseline", "noise_floor[].baseline", "settings.conditions[].levels"}
_FREE_FORM |= {"version_differences[].condition", "version_differences[].versus"}
_FREE_FORM |= {"contrasts[].condition", "contrasts[].versus", "evidence[].condition"}
_FREE_FORM |= {"tails[].condition", "tails[].baseline", "steps[].condition", "actions[].condition", "actions[].counted"}
_FREE_FORM |= {"backups[].condition", "backups[].markers"}
_FREE_FORM |= {"replication[].condition", "storage[].condition"}
_FREE_FORM |= {"traces.headings", "traces.statements[].condition", "traces.statements[].reads"}
_FREE_FORM |= {"profiles[].condition.condition", "profiles[].baseline.condition"}
_FREE_FORM |= {
    "cost_breakdown[].condition",
    "cost_breakdown[].baseline",
}
_FREE_FORM |= {"settings.options", "machine", "versions", "servers[].condition", "published[].condition"}
_FREE_FORM |= {"stalls[].condition", "noise_floor[].condition", "percentiles[].condition", "percentiles[].baseline"}
_FREE_FORM |= {
    f"{at}[].parameters" for at in ("verdicts[].reason_codes", "validity[].details", "caution_codes", "refusals")
}
_FREE_FORM |= {
    "cost_breakdown[].unattributed_codes[].parameters",
    "cost_breakdown[].where_unknown_code.parameters",
    "order_effect.unknown_codes[].parameters",
}
_FREE_FORM |= {"tails[].exceedance.reason_code.parameters", "tails[].p99.reason_code.parameters"}
_FREE_FORM |= {"ciphers_in_force", "barely_encrypted"}
_FREE_FORM |= {"checkpoints[].condition", "data_sizes[].condition"}
_FREE_FORM |= {"agents.effects[].condition", "client_memory[].condition"}
_FREE_FORM |= {"hosts.effects[].baseline", "hosts.overheads[].condition"}
_FREE_FORM |= {f"temporary[].{part}" for part in ("condition", "counters", "files")}
_FREE_FORM |= {f"twin_settings.{part}" for part in ("shared", "varied", "differing")}


def paths(value: object, at: str = "") -> Iterator[str]:
    """Every field of a document, as the documentation names it."""
    if isinstance(value, dict) and at not in _FREE_FORM:
        for key, inner in value.items():
            here = f"{at}.{key}" if at else key
            yield here
            yield from paths(inner, here)
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner, f"{at}[]")


def documented(schema: str) -> set[str]:
    section = DOCS.read_text(encoding="utf-8").split(f"## `{schema}`")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE))


def produced(*documents: dict[str, object]) -> set[str]:
    return {path for values in documents for path in paths(json.loads(to_json(values)))}


def test_the_documentation_of_a_run_names_exactly_its_fields() -> None:
    few = Percentile99(1, 2, None, Reason.of("percentile-few-rounds", fewest=3))
    short = s.changed(s.with_tails(), tails=(replace(s.with_tails().of(TailMeasure)[0], p99=few),))
    made = produced(*(document(run, 0) for run in (short, *(sample() for sample in s.SAMPLES.values()))))
    assert made == documented("tdelta.run/1")


def test_fields_are_documented_as_their_types_have_them_each_with_words() -> None:
    page = DOCS.read_text(encoding="utf-8")
    written = tdelta_json_fields.generated(page)
    if os.environ.get("TDELTA_UPDATE_GOLDEN"):
        DOCS.write_text(written, encoding="utf-8")
    assert page == written
    assert not re.findall(r"^.* \|  \|$", written, re.MULTILINE), "a new field wants words"


def test_the_documentation_of_the_other_documents_names_exactly_their_fields() -> None:
    refused = replace(PLAN, faults=(Refusal.of("encrypted-folder-not-writable", folder="/x"),))
    assert produced(dry_run_document(refused), dry_run_document(OWN_PLAN)) == documented("tdelta.dry-run/1")
    assert produced(engines_document(ENGINES)) == documented("tdelta.engines/1")
    assert produced(studies_document(STUDIES)) == documented("tdelta.studies/2")
    asked = Refusal.of("none-given", kind="mode").at("--modes")
    assert produced(error_document([asked], asked.text, 2)) == documented("tdelta.error/1")


@pytest.mark.parametrize("name", s.SAMPLES)
def test_a_document_is_strict_json(name: str) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(to_json(document(s.SAMPLES[name](), 0)), parse_constant=refuse)["schema"] == "tdelta.run/1"


def test_a_number_that_does_not_exist_is_null() -> None:
    values = json.loads(to_json(document(s.without_numbers(), 0)))
    assert values["client_overhead_share"] is None
    assert values["verdicts"][1]["ratio_of_means"]["hdi95"] == [None, None]


def test_a_planted_twin_carries_its_share_and_its_realised_cost() -> None:
    values = json.loads(to_json(document(s.planted(), 0)))
    slowed = values["verdicts"][1]
    assert slowed["condition"] == {"cipher": "none", "threads": 1, "planted": 0.05}
    assert slowed["realised"] == 1.0521


def test_the_floor_of_a_stratum_names_its_plain_levels() -> None:
    values = json.loads(to_json(document(s.sweep(), 3)))
    assert [f["baseline"] for f in values["noise_floor"]] == [
        {"cipher": "none", "threads": 1},
        {"cipher": "none", "threads": 16},
    ]


def test_figures_are_passed_on_unrounded() -> None:
    ratio = json.loads(to_json(document(s.costly(), 0)))["verdicts"][0]["ratio_of_means"]
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
        "proposed": True, "restored": False,
    }  # fmt: skip
    assert document(s.costly(), 0)["settings"]["database"] is None


def test_a_server_carries_its_measures_and_the_word_for_its_bottleneck() -> None:
    values = json.loads(to_json(document(s.served_sweep(), 3)))
    plain, _, encrypted, *_ = values["servers"]
    assert plain["condition"] == {"cipher": "none", "threads": 1, "cache": 0.1}
    assert plain["throughput"] == {"low": 0.97 * 412.4, "median": 412.4, "high": 1.02 * 412.4}
    assert (plain["bottleneck"], encrypted["moved"]["pages_decrypted"] > 0) == ("I/O", True)
    assert values["published"][0]["ratio"] == 1.0883
    assert values["twin_settings"]["varied"] == {"innodb_buffer_pool_size": ["33554432", "377487360"]}


def test_both_figures_stand_beside_each_other() -> None:
    values = json.loads(to_json(document(s.stalling(), 0)))
    head = values["verdicts"][0]
    assert (head["ratio_of_means"]["median"], head["typical"]["median"]) == (1.18, 1.004)
    assert [floor["twins"] for floor in values["noise_floor"]] == ["a/a", "b/b"]
    assert values["noise_floor"][1]["condition"] == {"cipher": "aes-256", "threads": 1}
    assert [(m["stalls"], m["stall_cost"]) for m in values["stalls"]] == [(0, 0.0), (15, 0.176)]
