"""The measurements of one trial's agents, added up, and whether the trial counts.

Each operation is timed by one clock on one agent, so totals and histograms add up as they are. A trial counts if its
agents did each operation once, worked at the same time, and none of them was short of CPU: then what it measured would
be its own delay.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tdelta import _native
from tdelta.messages import Refusal
from tdelta.records.trials import AgentPart, overlap

Answer = Mapping[str, Any]

LEAST_OVERLAP = 0.95
"""The share of a trial in which all agents are at work, at the least."""

MOST_CPU = 0.70
"""The share of one core that an agent may take, at the most."""

_DIGESTS = 1 << 64
"""How many digests of operations there are."""

_SUMMED = (
    "operations",
    "total_operations",
    "cpu_user_seconds",
    "cpu_system_seconds",
    "rows",
    "queued_operations",
    "planted_cpu_ns",
    "planted_elapsed_ns",
)


def added(answers: Sequence[Answer]) -> dict[str, Any]:
    """The answers of all agents as that of one worker: totals and histograms added, the longest of their times."""
    outcomes = [answer["outcome"] for answer in answers]
    delays = [outcome.get("run_delay_ns") for outcome in outcomes]
    merged: dict[str, Any] = {
        **outcomes[0],
        **{name: sum(outcome.get(name, 0) for outcome in outcomes) for name in _SUMMED},
        "elapsed_ns": max(_at_work_ns(outcome) for outcome in outcomes),
        "backlog_max": max(outcome["backlog_max"] for outcome in outcomes),
        "run_delay_ns": None if None in delays else sum(delays),
        "errors": _counted(outcome["errors"] for outcome in outcomes),
        "retries": _counted(outcome["retries"] for outcome in outcomes),
        "first_error": next((outcome["first_error"] for outcome in outcomes if outcome["first_error"]), None),
        "stopped_by": _ending([outcome["stopped_by"] for outcome in outcomes]),
        "standstill": next((outcome["standstill"] for outcome in outcomes if _stood(outcome)), None),
    }
    extras = [answer["extra"] or {} for answer in answers]
    client = ("client_cpu_user_seconds", "client_cpu_system_seconds")
    return {
        "outcome": merged,
        "spans": _spans(answers),
        "histograms": _histograms(answers),
        "extra": {
            **extras[0],
            **{name: sum(extra.get(name, 0.0) for extra in extras) for name in client},
        },
    }


def not_once(trial: Mapping[str, Any], answers: Mapping[str, Answer]) -> Refusal | None:
    """The fault of agents that did not do each operation of a trial once, and record those that are to be.

    Of one that ended early there is nothing to say: what ended it is said elsewhere.
    """
    outcomes = {name: answer["outcome"] for name, answer in answers.items()}
    if any(outcome["stopped_by"] != "count" or outcome["errors"] for outcome in outcomes.values()):
        return None
    expected = (trial["operations"], _recorded(trial), _native.operations_digest(trial["operations"]))
    names = ("total_operations", "operations", "operations_digest")
    executed, recorded, digest = (sum(outcome[name] for outcome in outcomes.values()) for name in names)
    if (executed, recorded, digest % _DIGESTS) == expected:
        return None
    by_agent = ", ".join(f"agent {name}: {outcome['total_operations']:,}" for name, outcome in outcomes.items())
    found = {"found": executed, "found_recorded": recorded, "by_agent": by_agent}
    return Refusal.of("agents-not-once", expected=expected[0], expected_recorded=expected[1], **found)


def parts(answers: Mapping[str, Answer], nodes: Mapping[str, str]) -> dict[str, AgentPart]:
    return {name: _part(answer, nodes[name]) for name, answer in answers.items()}


def own_histograms(answers: Mapping[str, Answer]) -> dict[str, bytes]:
    """The histograms of each agent as ``agent:NAME/tx:…``: kept apart, since one that is slow rules a pooled tail."""
    return {
        f"agent:{name}/{span}": base64.b64decode(text)
        for name, answer in answers.items()
        for span, text in answer["histograms"].items()
        if span.startswith("tx:")
    }


def fault(agents: Mapping[str, AgentPart]) -> str:
    """Why a trial does not count, for people; empty where it does."""
    busiest = max(agents, key=lambda name: agents[name].cpu_share)
    if (share := agents[busiest].cpu_share) > MOST_CPU:
        return (
            f"agent {busiest} took {share:.0%} of a core, where at most {MOST_CPU:.0%} leave it free to time"
            " (--agents: more of them)"
        )
    if (shared := overlap(agents)) < LEAST_OVERLAP:
        return (
            f"the agents were at work together for {shared:.0%} of the trial, where at least {LEAST_OVERLAP:.0%} count"
            " (--trial-time: longer trials)"
        )
    return ""


def _recorded(trial: Mapping[str, Any]) -> int:
    return max(0, int(trial["operations"]) - int(trial["discard"]))


def _part(answer: Answer, node: str) -> AgentPart:
    outcome, extra = answer["outcome"], answer["extra"] or {}
    cpu_seconds = extra.get("client_cpu_user_seconds", 0.0) + extra.get("client_cpu_system_seconds", 0.0)
    types = [tuple(total) for name, total in answer["spans"].items() if name.startswith("tx:")]
    return AgentPart(
        node=node,
        began_ns=answer["began_ns"],
        ended_ns=answer["ended_ns"],
        clock_error_ns=answer["clock_error_ns"],
        operations=sum(count for count, _ in types),
        response_total_ns=sum(total_ns for _, total_ns in types),
        elapsed_ns=_at_work_ns(outcome),
        cpu_seconds=max(0.0, cpu_seconds),
        waited_ns=outcome["waited_ns"],
    )


def _at_work_ns(outcome: Mapping[str, Any]) -> int:
    at_work: int = outcome["elapsed_ns"] - outcome["waited_ns"]
    return at_work


def _counted(counts: Any) -> dict[str, int]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(total)


def _ending(endings: Sequence[str]) -> str:
    return next((worst for worst in ("error", "deadline", "signal") if worst in endings), "count")


def _stood(outcome: Mapping[str, Any]) -> bool:
    found = outcome.get("standstill") or {}
    return bool(found.get("suspended_ns") or found.get("stopped") or found.get("paused_ns"))


def _spans(answers: Sequence[Answer]) -> dict[str, list[int]]:
    spans: dict[str, list[int]] = {}
    for answer in answers:
        for name, (count, total_ns) in answer["spans"].items():
            sums = spans.setdefault(name, [0, 0])
            sums[0] += count
            sums[1] += total_ns
    return spans


def _histograms(answers: Sequence[Answer]) -> dict[str, str]:
    """Bucket by bucket: all have the same buckets, so nothing is lost."""
    payloads: dict[str, list[bytes]] = {}
    for answer in answers:
        for name, text in answer["histograms"].items():
            payloads.setdefault(name, []).append(base64.b64decode(text))
    return {name: base64.b64encode(_native.histogram_merge(of)).decode() for name, of in payloads.items()}
