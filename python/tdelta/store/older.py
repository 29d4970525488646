"""Results of earlier versions, brought to the fields that this one knows.

Earlier ledgers had lines out of a CPU profile (spinning, scheduling, crowding), and profiles classes for the first two.
What these took is what no line explains now: it goes back to the rest, and to the classes that their functions are of.

Earlier results had a field for each kind of finding.

Earlier tails said in English why they have no interval, and earlier cost breakdowns why they have no functions.

Earlier checks had English names and texts where there are codes now, and a truth value, ``ok``, for the three states.

Limits: a stored interval is not the draws it came from. Intervals of what is put together here are of independent
parts, side by side, and a share that is put together has none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tdelta.messages.checks import CHECKS
from tdelta.records import EARLIER_FINDINGS, FINDINGS, CheckState, TailMeasure

_LINES = ("spinning", "scheduling", "crowding")
_CLASSES = {"spinning": "database", "scheduling": "kernel"}
_WORDS = ("spinning and scheduling", "spinning", "scheduling", "CPUs that slow one another", "task switches")


def modern(result: Any) -> Any:
    """A stored result with the fields of this version; the same where it is of this one."""
    if not isinstance(result, dict):
        return result
    changed = dict(result)
    if isinstance(result.get("validity"), list):
        changed["validity"] = [_check(one) for one in result["validity"]]
    for part in ("counts", "loop"):  # records of their own, for a while
        changed |= changed.pop(part, {})
    if "findings" in result:
        return changed | {"findings": [_with_codes(one) for one in result["findings"]]}
    for name, of in {"ledger": _ledger, "profiles": _profile}.items():
        if isinstance(result.get(name), list):
            changed[name] = [of(one) for one in result[name]]
    order = result.get("order_effect")
    if isinstance(order, dict):
        changed["order_effect"] = {**order, "positions": [_effect(one) for one in order["positions"]]}
        changed["order_effect"] |= {name: _effect(order[name]) for name in ("after_encrypted", "bias")}
    return changed | {"findings": list(_findings(changed))}


def _effect(pair: Any) -> Any:
    """An effect of the order within a block was a pair."""
    return None if pair is None else {"share": pair[0], "interval95": pair[1]}


def _findings(result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The findings, which had a field of the result for each kind; they are taken out of it."""
    for name in [name for name in (*FINDINGS, *EARLIER_FINDINGS) if name in result]:
        found = result.pop(name)
        for one in found if isinstance(found, list) else [found]:
            if one is not None:
                yield _with_codes({"finding": name, **one})


def _with_codes(finding: Any) -> Any:
    """A tail said in English why it has no interval, and a breakdown why it has no functions: there are codes now."""
    if not isinstance(finding, dict):
        return finding
    if "where_unknown" in finding:
        known = {name: it for name, it in finding.items() if name != "where_unknown"}
        return known | {"where_unknown_code": finding["where_unknown"] or None}
    if finding.get("finding") != TailMeasure.FINDING:
        return finding
    parts = {name: finding[name] for name in ("exceedance", "p99") if isinstance(finding.get(name), dict)}
    return finding | {name: _with_code(part) for name, part in parts.items()}


def _with_code(part: dict[str, Any]) -> dict[str, Any]:
    if "reason" not in part:
        return part
    return {name: it for name, it in part.items() if name != "reason"} | {"reason_code": part["reason"] or None}


def _check(check: Any) -> Any:
    """A check was its English name and text, and before that held or not."""
    if not isinstance(check, dict) or "check" not in check:
        return check
    codes = {name: code for code, name in CHECKS.items()}
    changed = {
        "code": codes.get(check["check"], check["check"]),
        "details": [check["detail"]] if check["detail"] else [],
    }
    if "ok" in check:
        changed["state"] = (CheckState.OK if check["ok"] else CheckState.FAILED).value
    return changed | {name: value for name, value in check.items() if name not in ("check", "detail", "ok")}


def _ledger(ledger: Mapping[str, Any]) -> dict[str, Any]:
    words = [one for one in ledger["in_rest"] if one.partition(":")[0] not in _WORDS]
    lines = [line for line in ledger["lines"] if line["kind"] not in _LINES]
    if len(lines) < len(ledger["lines"]):
        kept = [line for line in lines if line["kind"] != "rest"]
        lines = [*kept, *(_rest(line, ledger["cpu"], kept) for line in lines if line["kind"] == "rest")]
    return {**ledger, "lines": lines, "in_rest": words}


def _rest(rest: Mapping[str, Any], cpu: Mapping[str, Any], kept: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The total less the lines that stay."""
    us = cpu["us"] - sum(line["amount"]["us"] for line in kept)
    amounts = [cpu, *(line["amount"] for line in kept)]
    below = [abs(amounts[0]["us"] - cpu["hdi95"][0]), *(a["hdi95"][1] - a["us"] for a in amounts[1:])]
    above = [abs(cpu["hdi95"][1] - cpu["us"]), *(a["us"] - a["hdi95"][0] for a in amounts[1:])]
    amount = {"us": us, "hdi95": [us - math.hypot(*below), us + math.hypot(*above)]}
    share = None if rest["share"] is None else us / cpu["us"]
    return {**rest, "amount": amount, "share": share, "share_hdi95": None}


def _profile(profile: Mapping[str, Any]) -> dict[str, Any]:
    sides = {name: _without(profile[name], "at_work_ns") for name in ("baseline", "condition")}
    functions = [{**one, "function_class": _class_of(one)} for one in profile["functions"]]
    return {**profile, **sides, "functions": functions, "classes": _classes(profile["classes"])}


def _class_of(one: Mapping[str, Any]) -> str:
    name: str = one["function_class"]
    return _CLASSES.get(name, name)


def _classes(classes: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for one in classes:
        name, known = _class_of(one), _without(one, "rounds")
        found[name] = _together(found[name], known) if name in found else {**known, "function_class": name}
    return list(found.values())


def _together(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    sums = {name: one[name] + other[name] for name in ("plain_ns", "encrypted_ns", "difference_ns")}
    middle = sums["difference_ns"]
    below, above = (
        math.hypot(*(abs(of["interval95"][end] - of["difference_ns"]) for of in (one, other))) for end in (0, 1)
    )
    share = None if one["share"] is None or other["share"] is None else one["share"] + other["share"]
    return {**one, **sums, "interval95": [middle - below, middle + above], "share": share, "share_interval95": None}


def _without(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}
