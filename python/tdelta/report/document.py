"""The ``--json`` document: one versioned schema, strict JSON, every field described in ``docs/json.md``.

Fields are only ever added under the same schema name; a field that changes its meaning makes a new one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdelta.findings import kinds
from tdelta.messages import Refusal
from tdelta.records import Finding, NoiseFloor, Role, RunResult, RunSettings, ServersFacts, Verdict
from tdelta.report.answer import against_trust, found, run_answer
from tdelta.report.calibration import simulated, used_values
from tdelta.report.command import repeat_command
from tdelta.report.subject import subject
from tdelta.report.values import record_values, values_of

if TYPE_CHECKING:
    from tdelta.session.preflight import DryRun

RUN_SCHEMA = "tdelta.run/1"
DRY_RUN_SCHEMA = "tdelta.dry-run/1"
ERROR_SCHEMA = "tdelta.error/1"


def document(result: RunResult, exit_code: int) -> dict[str, object]:
    return {
        "schema": RUN_SCHEMA,
        "run_id": result.settings.run_id,
        "seed": result.settings.seed,
        "decision": result.decision.value,
        "exit_code": exit_code,
        "sentence": run_answer(result).sentence,
        "found": found(result),
        "subject": subject(result),
        "verdicts": [_verdict(v) for v in result.verdicts],
        "noise_floor": [_noise_floor(f, result.settings) for f in result.noise_floor],
        "simulated_coverage": values_of(simulated(result)),
        "barely_encrypted": dict(result.barely_encrypted),
        "ciphers_in_force": dict(result.ciphers_in_force),
        **{kind.record.FINDING: _found(result, kind.record) for kind in kinds()},
        "overridden": list(result.overridden),
        **record_values(result.loop),
        "validity": values_of(result.validity),
        "cautions": [str(caution) for caution in result.cautions],
        "caution_codes": values_of(result.cautions),
        "against_trust": against_trust(result),
        "counts": values_of(result.counts),
        "stopped_by": result.stopped_by,
        "interrupted": result.interrupted,
        "settings": _settings(result.settings),
        "machine": result.machine,
        "versions": result.versions,
    }


def dry_run_document(plan: DryRun) -> dict[str, object]:
    texts = {
        "faults": [str(fault) for fault in plan.faults],
        "refusals": values_of(plan.faults),
        "cautions": [str(caution) for caution in plan.cautions],
        "caution_codes": values_of(plan.cautions),
    }
    return {"schema": DRY_RUN_SCHEMA, **record_values(plan), **texts}


def error_document(refusals: Sequence[Refusal], text: str, exit_code: int) -> dict[str, object]:
    """Why a command has no answer, as JSON values."""
    return {"schema": ERROR_SCHEMA, "exit_code": exit_code, "text": text, "refusals": values_of(tuple(refusals))}


def to_json(values: Mapping[str, object]) -> str:
    """Strict JSON text: a number that does not exist (NaN, infinite) is ``null``. Ends in a newline."""
    return json.dumps(_strict(values), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _strict(value: object) -> object:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {str(key): _strict(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_strict(inner) for inner in value]
        case Path():
            return str(value)
        case _:
            return value


def _found(result: RunResult, kind: type[Finding]) -> object:
    """The findings of one kind; of those that stand alone the one there is, or `None`."""
    return values_of(result.one(kind) if kind.IS_SINGLE else result.of(kind))


def _verdict(verdict: Verdict) -> dict[str, object]:
    values = record_values(verdict)
    values["reasons"] = [reason.text for reason in verdict.reasons]
    values["reason_codes"] = values_of(verdict.reasons)
    return values | {"ratio_of_means": values.pop("ratio")}


def _noise_floor(noise: NoiseFloor, settings: RunSettings) -> dict[str, object]:
    home = next((c for c in settings.conditions if c.stratum == noise.stratum and c.role is Role.BASELINE), None)
    twins = "a/a" if noise.condition is None else "b/b"
    return record_values(noise) | {"twins": twins, "baseline": values_of(home)}


def _external_servers(facts: ServersFacts | None) -> dict[str, object] | None:
    """The two servers in a list, and the scopes of each."""
    if facts is None:
        return None
    values = record_values(facts)
    return values | {"servers": [_external_server(values.pop(name)) for name in ("baseline", "encrypted")]}


def _external_server(server: Any) -> dict[str, object]:
    encrypted = server.pop("encrypted")
    scopes = [
        {"name": name, "reported_value": value, "is_encrypted": name in encrypted}
        for name, value in server["scopes"].items()
    ]
    return {**server, "scopes": scopes}


def _settings(settings: RunSettings) -> dict[str, object]:
    return {
        "study": settings.study,
        "engine": settings.engine,
        "workload": settings.workload,
        "conditions": [
            {"role": c.role.value, "stratum": c.stratum, "levels": c.as_json()} for c in settings.conditions
        ],
        "tolerance": settings.tolerance,
        "budget": settings.budget,
        "metric": settings.metric.value,
        "database": values_of(settings.database),
        "external_servers": _external_servers(settings.external_servers),
        "calibration": used_values(settings),
        "options": settings.options,
        "repeat": repeat_command(settings),
    }
