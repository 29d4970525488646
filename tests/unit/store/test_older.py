"""Results that an earlier version stored still open: lines and classes that are gone are where they belong."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
import tdelta_samples as s

from tdelta.records import FunctionClass, LedgerKind, RunResult
from tdelta.report.document import document
from tdelta.store import decode, encode
from tdelta.store.older import modern


def older_ledger() -> dict[str, Any]:
    """The sample with a ledger, as version 0.21 stored it."""
    data: dict[str, Any] = json.loads(json.dumps(encode(s.with_ledger())))
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
    found = decode(RunResult, modern(older_ledger())).ledger[0]
    kinds = [line.kind for line in found.lines]
    assert kinds == [LedgerKind.CIPHER, LedgerKind.INTEGRITY, LedgerKind.IO, LedgerKind.REST]
    rest = found.lines[-1]
    kept = sum(line.amount.us for line in found.lines[:-1])
    assert rest.amount.us == pytest.approx(found.cpu.us - kept)
    assert rest.amount.hdi95[0] < found.cpu.hdi95[0] - kept
    assert rest.amount.hdi95[1] > found.cpu.hdi95[1] - kept
    assert rest.share == pytest.approx(rest.amount.us / found.cpu.us)
    assert rest.share_hdi95 is None
    assert found.in_rest == ("log: in it",)


def test_an_older_profile_has_its_samples_in_classes_that_there_are() -> None:
    data: dict[str, Any] = json.loads(json.dumps(encode(s.profiled())))
    expected = decode(RunResult, data).profiles[0]
    older = copy.deepcopy(data)
    profile = older["profiles"][0]
    for side in ("baseline", "condition"):
        profile[side]["at_work_ns"] = [1.0, 2.0]
    for one in profile["classes"]:
        one["rounds"] = [{"operations": 5, "difference_ns": 1.0}]
    half = next(one for one in profile["classes"] if one["function_class"] == "database")
    halved = {name: half[name] / 2 for name in ("plain_ns", "encrypted_ns", "difference_ns")}
    half |= halved
    profile["classes"].append({**half, "function_class": "spinning"})
    found = decode(RunResult, modern(older)).profiles[0]
    (database,) = [one for one in found.classes if one.function_class is FunctionClass.DATABASE]
    (whole,) = [one for one in expected.classes if one.function_class is FunctionClass.DATABASE]
    assert database.difference_ns == pytest.approx(whole.difference_ns)
    assert database.interval95[0] < database.difference_ns < database.interval95[1]


def test_results_of_this_version_are_as_they_were() -> None:
    for sample in (s.with_ledger(), s.profiled()):
        data = json.loads(json.dumps(encode(sample)))
        assert decode(RunResult, modern(data)) == replace(sample)


def test_a_result_stored_before_the_ratio_of_means_opens_and_says_that_its_figure_is_the_typical_one() -> None:
    older: dict[str, Any] = json.loads(json.dumps(encode(s.earlier())))
    for name in ("stalls", "order_effect"):
        del older[name]
    for verdict in older["verdicts"]:
        del verdict["typical"]
    for floor in older["noise_floor"]:
        del floor["condition"]
    values = document(decode(RunResult, modern(older)), 0)
    assert (values["schema"], values["estimand"]) == ("tdelta.run/2", "typical")
    assert (values["stalls"], values["order_effect"]) == ([], None)
    head: Any = values["verdicts"][0]  # type: ignore[index]
    assert (head["ratio_of_means"], head["typical"]["median"]) == (None, 1.031)
    assert "This result is of an earlier version" in str(values["answer"])
