import dataclasses
import json
from dataclasses import replace

import pytest

from support import samples as s
from support.listed import OWN_PLAN, PLAN
from tdelta.document.labels import MARKS, listed
from tdelta.engines.profile import EngineInfo
from tdelta.messages.checks import CHECKS
from tdelta.records import CheckState, Validity
from tdelta.report.document import document, dry_run_document, to_json
from tdelta.report.drawing import draw
from tdelta.report.listings import dry_run_blocks, engines_blocks, engines_document
from tdelta.report.values import record_values
from tdelta.session.preflight import DryRun, TableLine


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


def check(state: CheckState, **changes: bool) -> Validity:
    return Validity(f"{state} check", state, (), **changes)


def test_checks_are_listed_with_the_worst_first_and_else_in_their_order() -> None:
    given = [check(state) for state in (CheckState.OK, CheckState.NOT_SHOWN, CheckState.FAILED, CheckState.OK)]
    assert [state for state, _ in listed(given)] == ["FAILED", "not shown", "ok", "ok"]
    assert set(MARKS) == set(CheckState)


@pytest.mark.parametrize(
    ("state", "makes_invalid", "found"),
    [
        (CheckState.OK, True, (True, False, False)),
        (CheckState.NOT_SHOWN, True, (False, False, False)),
        (CheckState.FAILED, True, (False, True, True)),
        (CheckState.FAILED, False, (False, True, False)),
    ],
)
def test_only_a_failed_check_can_make_a_run_invalid_and_not_every_one_does(
    state: CheckState, makes_invalid: bool, found: tuple[bool, bool, bool]
) -> None:
    one = check(state, makes_invalid=makes_invalid)
    assert (one.ok, one.failed, one.is_invalid) == found
    assert (record_values(one)["state"], record_values(one)["ok"]) == (state.value, one.ok)


@pytest.mark.parametrize("name", s.SAMPLES)
def test_samples_name_only_checks_that_runs_really_make(name: str) -> None:
    assert {one.code for one in s.SAMPLES[name]().validity} <= CHECKS.keys()


def test_a_library_of_an_engine_is_listed_with_the_option_that_tests_it() -> None:
    library = EngineInfo("sqlite", True, "0.6.4", ("none",), "SQLCipher", "", "", "sqlcipher", "openssl")
    missing = EngineInfo("sqlite", False, None, ("none",), "SQLCipher", "pip install it", "", "sqlcipher", "openssl")
    assert draw(engines_blocks((library,)), 100).splitlines()[0] == "sqlite       0.6.4  (--library sqlcipher)"
    assert (
        draw(engines_blocks((missing,)), 100).splitlines()[0]
        == "sqlite       not available here  (--library sqlcipher)"
    )
    (listed,) = engines_document((library,))["engines"]  # type: ignore[misc]
    assert (listed["option"], listed["crypto"]) == ("sqlcipher", "openssl")


def test_a_name_cannot_move_the_cursor() -> None:
    hostile = replace(OWN_PLAN, tables=(TableLine("red\x1b[31m\n", 1, 1),), notes=("no insert into 'a\rb'",))
    text = draw(dry_run_blocks(hostile), 100)
    assert "red?[31m?" in text
    assert "no insert into 'a?b'" in text
    assert "\x1b" not in text


def test_whether_the_aes_instructions_can_be_switched_off_is_told_with_the_reason() -> None:
    library = EngineInfo("sqlite", True, "1", ("none",), "SQLCipher", "", "", crypto="openssl")
    assert "    AES instructions: on, off" in draw(engines_blocks((library,), {"openssl": None}), 100).splitlines()
    told = draw(engines_blocks((library,), {"openssl": "this CPU has none"}), 100)
    assert "AES instructions: on (off cannot be had here: this CPU has none)" in told
    assert "AES instructions" not in draw(engines_blocks((library,), {}), 100)
    levels = [
        engines_document((library,), reasons)["engines"][0]["aes_instructions"] for reasons in ({}, {"openssl": None})
    ]  # type: ignore[index]
    assert levels == [[], ["on", "off"]]
