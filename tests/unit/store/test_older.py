"""Results that an earlier version stored still open: lines and classes that are gone are where they belong."""

from __future__ import annotations

import copy
import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tdelta_samples as s

from tdelta.messages import Detail
from tdelta.records import CheckState, ComponentKind, CostBreakdown, CpuProfile, FunctionClass, RunResult, Validity
from tdelta.report.document import document, to_json
from tdelta.report.page.compose import compose
from tdelta.report.page.gather import RunData
from tdelta.report.terminal import render
from tdelta.store import decode, encode
from tdelta.store.older import modern

RESULTS = Path(__file__).parents[2] / "data" / "results"
BEFORE_FINDINGS: dict[str, Any] = json.loads((RESULTS / "before-findings.json").read_text(encoding="utf-8"))
"""Results as they were stored when each kind of finding was a field, and what their documents held besides prose."""


LATER = (
    "actions",
    "backups",
    "ageing",
    "data_sizes",
    "replication",
    "temporary",
    "checkpoints",
    "client_memory",
    "storage",
    "idle",
    "version_differences",
)
"""Kinds of findings that came after."""


def older(name: str) -> dict[str, Any]:
    """A stored result, to be made older still."""
    return copy.deepcopy(dict(BEFORE_FINDINGS[name]["stored"]))


def without_codes(values: dict[str, Any]) -> dict[str, Any]:
    """A document less the codes of its messages, whose English stands beside them."""
    for check in values["validity"]:
        assert check.pop("code")
        assert "; ".join(dict.fromkeys(detail["text"] for detail in check.pop("details"))) == check["detail"]
    for verdict in values["verdicts"]:
        assert [reason["text"] for reason in verdict.pop("reason_codes")] == verdict["reasons"]
    assert [caution["text"] for caution in values.pop("caution_codes")] == values["cautions"]
    for part in (tail[name] for tail in values["tails"] for name in ("exceedance", "p99") if tail[name]):
        code = part.pop("reason_code")
        assert part["reason"] == ("" if code is None else code["text"])
    for breakdown in values["cost_breakdown"]:
        assert [reason["text"] for reason in breakdown.pop("unattributed_codes")] == breakdown["unattributed"]
        code = breakdown.pop("where_unknown_code")
        assert breakdown["where_unknown"] == ("" if code is None else code["text"])
    if (order := values["order_effect"]) is not None:
        assert [reason["text"] for reason in order.pop("unknown_codes")] == order["unknown"]
    return values


@pytest.mark.parametrize("name", BEFORE_FINDINGS)
def test_the_document_of_a_result_of_before_findings_is_what_it_was_key_by_key(name: str) -> None:
    values = without_codes(json.loads(to_json(document(decode(RunResult, modern(older(name))), 3))))
    assert [values.pop(kind) for kind in LATER] == [[] for _ in LATER]
    assert [values.pop(kind) for kind in ("agents", "hosts")] == [None, None]
    assert values.pop("sentence")
    del values["against_trust"], values["percentiles"]
    prose = {"answer": values.pop("answer"), "subject": values.pop("subject")}
    assert all(prose.values())
    assert shlex.split(values["settings"].pop("repeat"))[:2] == ["tdelta", "run"]
    assert values == BEFORE_FINDINGS[name]["document"]


@pytest.mark.parametrize("name", [name for name in BEFORE_FINDINGS if name in s.SAMPLES])
def test_a_result_of_before_findings_has_a_text_and_a_page(name: str) -> None:
    result = decode(RunResult, modern(older(name)))
    assert result.settings.run_id in render(result)
    assert result.settings.run_id in compose(RunData(result, 0.0)).title


def older_ledger() -> dict[str, Any]:
    """The sample with a cost breakdown, as version 0.21 stored it."""
    data = older("with_cost_breakdown")
    first = data["ledger"][0]
    for ledger in data["ledger"]:
        del ledger["functions"], ledger["where_unknown"]
        for line in ledger["lines"]:
            del line["is_timed"]
    spun = {
        "kind": "spinning",
        "amount": {"us": 20.0, "hdi95": [10.0, 30.0]},
        "share": 0.145,
        "share_hdi95": [0.1, 0.2],
    }
    spun |= {"items": [], "source": "sampled, in the CPU profile"}
    first["lines"][-1:] = [spun, {**spun, "kind": "scheduling"}, {**spun, "kind": "crowding"}, first["lines"][-1]]
    first["in_rest"] = [
        "spinning: no sample was of it",
        "CPUs that slow one another: how long is not known",
        "log: in it",
    ]
    return data


def test_lines_that_are_gone_are_in_the_rest_of_an_older_ledger() -> None:
    found = decode(RunResult, modern(older_ledger())).of(CostBreakdown)[0]
    kinds = [line.kind for line in found.components]
    assert kinds == [ComponentKind.CIPHER, ComponentKind.INTEGRITY, ComponentKind.IO, ComponentKind.RESIDUAL]
    rest = found.components[-1]
    kept = sum(line.amount.us for line in found.components[:-1])
    assert rest.amount.us == pytest.approx(found.cpu.us - kept)
    assert rest.amount.hdi95[0] < found.cpu.hdi95[0] - kept
    assert rest.amount.hdi95[1] > found.cpu.hdi95[1] - kept
    assert rest.share == pytest.approx(rest.amount.us / found.cpu.us)
    assert rest.share_hdi95 is None
    assert found.unattributed == ["log: in it"]


def test_an_older_profile_has_its_samples_in_classes_that_there_are() -> None:
    (expected, _), data = s.profiled().of(CpuProfile), older("profiled")
    profile = data["profiles"][0]
    for side in ("baseline", "condition"):
        profile[side]["at_work_ns"] = [1.0, 2.0]
    for one in profile["classes"]:
        one["rounds"] = [{"operations": 5, "difference_ns": 1.0}]
    half = next(one for one in profile["classes"] if one["function_class"] == "database")
    halved = {name: half[name] / 2 for name in ("plain_ns", "encrypted_ns", "difference_ns")}
    half |= halved
    profile["classes"].append({**half, "function_class": "spinning"})
    found = decode(RunResult, modern(data)).of(CpuProfile)[0]
    (database,) = [one for one in found.classes if one.function_class is FunctionClass.DATABASE]
    (whole,) = [one for one in expected.classes if one.function_class is FunctionClass.DATABASE]
    assert database.difference_ns == pytest.approx(whole.difference_ns)
    assert database.interval95[0] < database.difference_ns < database.interval95[1]


def test_results_of_this_version_are_as_they_were() -> None:
    for sample in (s.with_cost_breakdown(), s.profiled()):
        data = json.loads(json.dumps(encode(sample)))
        assert decode(RunResult, modern(data)) == replace(sample)


@pytest.mark.parametrize(("held", "state"), [(True, CheckState.OK), (False, CheckState.FAILED)])
def test_a_check_of_before_there_were_three_states_has_one(held: bool, state: CheckState) -> None:
    data = older("bulk") | {"validity": [{"check": "settings are the same", "ok": held, "detail": "34 settings"}]}
    assert decode(RunResult, modern(data)).validity == (Validity("settings", state, (Detail.verbatim("34 settings"),)),)


def test_a_result_stored_before_the_ratio_of_means_opens_and_says_that_its_figure_is_the_typical_one() -> None:
    data = older("with_tails")
    for name in ("stalls", "order_effect"):
        del data[name]
    for verdict in data["verdicts"]:
        del verdict["typical"]
    for floor in data["noise_floor"]:
        del floor["condition"]
    values = document(decode(RunResult, modern(data)), 0)
    assert (values["schema"], values["estimand"]) == ("tdelta.run/3", "typical")
    assert (values["stalls"], values["order_effect"]) == ([], None)
    head: Any = values["verdicts"][0]  # type: ignore[index]
    assert (head["ratio_of_means"], head["typical"]["median"]) == (None, 1.031)
