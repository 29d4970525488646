"""The JSON document of a plan; every field is described in ``docs/json-plan.md``."""

from __future__ import annotations

import dataclasses

from tdelta.records.prospects import Aim, Prospect
from tdelta.report.command import run_command
from tdelta.report.order import order_json

PLAN_SCHEMA = "tdelta.plan/1"


def plan_document(found: Prospect) -> dict[str, object]:
    """A plan as JSON values."""
    layout = found.layout
    return {
        "schema": PLAN_SCHEMA,
        "engine": found.engine,
        "workload": found.workload,
        "metric": found.metric.value,
        "run_ids": list(found.run_ids),
        "pilot_seconds": found.pilot_seconds,
        "assurance": found.assurance,
        "max_seconds": found.max_seconds,
        "advised_rounds": found.advised_rounds,
        "advised_seconds": None if found.advised_rounds is None else layout.seconds(found.advised_rounds),
        "advised_command": run_command(found.options) if found.options else None,
        "headline": [{"effect": aim.effect, "rope": aim.rope} for aim in found.headline],
        "aims": [_aim(aim) for aim in found.aims],
        "widths": [{**dataclasses.asdict(width), "width80": list(width.width80)} for width in found.widths],
        "lengths": [_lists(dataclasses.asdict(length)) for length in found.lengths],
        "luck": _lists(dataclasses.asdict(found.luck)),
        "carry_over": order_json(found.carry_over),
        "times": dataclasses.asdict(found.times),
        "layout": {**dataclasses.asdict(layout), "whole_round_seconds": layout.whole_round_seconds},
        "advice": dataclasses.asdict(found.advice),
        "simulated": found.simulated,
        "cautions": list(found.cautions),
    }


def _aim(aim: Aim) -> dict[str, object]:
    return {
        "effect": aim.effect,
        "rope": aim.rope,
        "decision": None if aim.decision is None else aim.decision.value,
        "reach": aim.reach.value,
        "rounds": aim.rounds,
        "seconds": aim.seconds,
        "reason": aim.reason,
        "curve": [dataclasses.asdict(point) for point in aim.curve],
    }


def _lists(values: dict[str, object]) -> dict[str, object]:
    """Tuples as the lists that JSON has."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
