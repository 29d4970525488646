"""The JSON document of a plan; every field is described in ``docs/json-plan.md``."""

from __future__ import annotations

from tdelta.records.prospects import Prospect
from tdelta.report.command import run_command
from tdelta.report.values import record_values, values_of

PLAN_SCHEMA = "tdelta.plan/1"


def plan_document(found: Prospect) -> dict[str, object]:
    values = record_values(found) | {
        "schema": PLAN_SCHEMA,
        "cautions": list(map(str, found.cautions)),
        "caution_codes": values_of(found.cautions),
        "primary_targets": [{"effect": target.effect, "rope": target.rope} for target in found.primary_targets],
        "advised_seconds": None if found.advised_rounds is None else found.layout.seconds(found.advised_rounds),
        "advised_command": run_command(found.options) if found.options else None,
    }
    return {name: value for name, value in values.items() if name not in ("options", "again")}
