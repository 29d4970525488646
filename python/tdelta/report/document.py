"""The ``--json`` document: one versioned schema, strict JSON, every field described in ``docs/json.md``.

Fields are only ever added under the same schema name; a field that changes its meaning makes a new one.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path

from tdelta.records import (
    Contrast,
    CpuProfile,
    DatabaseFacts,
    Estimate,
    Ledger,
    NoiseFloor,
    PageCost,
    PublishedCell,
    Role,
    RunResult,
    RunSettings,
    ServerFacts,
    ServerMeasures,
    ServersFacts,
    SettingsCompared,
    StallMeasure,
    StepMeasure,
    TailMeasure,
    Traces,
    Verdict,
    WhatIf,
)
from tdelta.report.calibrated import used_json
from tdelta.report.checks import check_json
from tdelta.report.command import repeat_command
from tdelta.report.estimand import RATIO_OF_MEANS, estimand
from tdelta.report.evidence import evidence_json
from tdelta.report.order import order_json
from tdelta.report.sentence import answer
from tdelta.report.simulated import held_json
from tdelta.report.subject import subject
from tdelta.session.request import DryRun

RUN_SCHEMA = "tdelta.run/2"
DRY_RUN_SCHEMA = "tdelta.dry-run/1"


def document(result: RunResult, exit_code: int) -> dict[str, object]:
    """The answer as JSON values.

    Args:
        result: the finished (or interrupted) run.
        exit_code: what the command ends with.
    """
    return {
        "schema": RUN_SCHEMA,
        "run_id": result.settings.run_id,
        "seed": result.settings.seed,
        "decision": result.decision.value,
        "exit_code": exit_code,
        "answer": answer(result),
        "subject": subject(result),
        "estimand": estimand(result),
        "verdicts": [_verdict(v, estimand(result)) for v in result.verdicts],
        "stalls": [_stalls(m) for m in result.stalls],
        "order_effect": None if result.order_effect is None else order_json(result.order_effect),
        "noise_floor": [_noise_floor(f, result.settings) for f in result.noise_floor],
        "simulated_coverage": held_json(result),
        "contrasts": [_contrast(c) for c in result.contrasts],
        "page_costs": [_page_cost(c) for c in result.page_costs],
        "servers": [_server(m) for m in result.servers],
        "published": [_published(c) for c in result.published],
        "twin_settings": _twin_settings(result.twin_settings),
        "barely_encrypted": dict(result.barely_encrypted),
        "ciphers_in_force": dict(result.ciphers_in_force),
        "tails": [_tail(m) for m in result.tails],
        "steps": [_step(m) for m in result.steps],
        "traces": _traces(result.traces),
        "profiles": [_profile(p) for p in result.profiles],
        "ledger": [_ledger(one) for one in result.ledger],
        "what_if": [_what_if(one) for one in result.what_if],
        "overridden": list(result.overridden),
        "loop_cost_ns": result.loop_cost_ns,
        "dilution": result.dilution,
        "arrival_rates": dict(result.arrival_rates),
        "capacities": dict(result.capacities),
        "late_starts": result.late_starts,
        "backlog_max": result.backlog_max,
        "errors": dict(result.errors),
        "retries": dict(result.retries),
        "validity": [check_json(v) for v in result.validity],
        "evidence": evidence_json(result.evidence),
        "cautions": list(result.cautions),
        "counts": _counts(result),
        "stopped_by": result.stopped_by,
        "interrupted": result.interrupted,
        "settings": _settings(result.settings),
        "machine": result.machine,
        "versions": result.versions,
    }


def dry_run_document(plan: DryRun) -> dict[str, object]:
    """What a run would take, as JSON values."""
    return {
        "schema": DRY_RUN_SCHEMA,
        "conditions": list(plan.conditions),
        "seconds_least": plan.seconds_least,
        "seconds_at_least": plan.seconds_at_least,
        "seconds_at_most": plan.seconds_at_most,
        "disk_bytes": plan.disk_bytes,
        "disk_free_bytes": plan.disk_free_bytes,
        "memory_bytes": plan.memory_bytes,
        "memory_free_bytes": plan.memory_free_bytes,
        "directory": plan.directory,
        "trials_at_least": plan.trials_at_least,
        "faults": list(plan.faults),
        "cautions": list(plan.cautions),
        "database": _database(plan.database),
        "tables": [{"name": t.name, "rows": t.rows, "size_bytes": t.size_bytes} for t in plan.tables],
        "transactions": [
            {"name": t.name, "title": t.title, "share": t.share, "script": t.script} for t in plan.transactions
        ],
        "notes": list(plan.notes),
        "written": plan.written,
    }


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


def _verdict(verdict: Verdict, figure: str) -> dict[str, object]:
    """A verdict; of an earlier version's the one ratio it has is the typical one."""
    means, typical = (verdict.ratio, verdict.typical) if figure == RATIO_OF_MEANS else (None, verdict.ratio)
    return {
        "primary": verdict.primary,
        "condition": verdict.condition.as_json(),
        "baseline": verdict.baseline.as_json(),
        "metric": verdict.metric.value,
        "transaction": verdict.transaction,
        "unit": verdict.unit,
        "baseline_value": verdict.baseline_value,
        "condition_value": verdict.condition_value,
        "ratio_of_means": None if means is None else _estimate(means),
        "typical": None if typical is None else _estimate(typical),
        "decision": verdict.decision.value,
        "reasons": list(verdict.reasons),
        "realised": verdict.realised,
        "no_speedup": None if verdict.no_speedup is None else _estimate(verdict.no_speedup),
    }


def _stalls(measure: StallMeasure) -> dict[str, object]:
    """The odd trials of a condition: fields of the record as they are called there."""
    return dataclasses.asdict(measure) | {"condition": measure.condition.as_json()}


def _estimate(estimate: Estimate) -> dict[str, object]:
    return {
        "median": estimate.median,
        "hdi95": list(estimate.hdi95),
        "hdi99": list(estimate.hdi99),
        "mass_above_rope": estimate.mass_above_rope,
        "mass_in_rope": estimate.mass_in_rope,
        "mass_below_rope": estimate.mass_below_rope,
    }


def _noise_floor(noise: NoiseFloor, settings: RunSettings) -> dict[str, object]:
    home = next((c for c in settings.conditions if c.stratum == noise.stratum and c.role is Role.BASELINE), None)
    return {
        "stratum": noise.stratum,
        "twins": "a/a" if noise.condition is None else "b/b",
        "baseline": None if home is None else home.as_json(),
        "condition": None if noise.condition is None else noise.condition.as_json(),
        "metric": noise.metric.value,
        "ratio": _estimate(noise.ratio),
        "instance_sd": noise.instance_sd,
        "rounds": noise.rounds,
        "blocks": noise.blocks,
    }


def _contrast(contrast: Contrast) -> dict[str, object]:
    return {
        "factor": contrast.factor,
        "condition": contrast.condition.as_json(),
        "versus": contrast.versus.as_json(),
        "metric": contrast.metric.value,
        "ratio": _estimate(contrast.ratio),
    }


def _page_cost(cost: PageCost) -> dict[str, object]:
    return {
        "condition": cost.condition.as_json(),
        "pages_per_operation": cost.pages_per_operation,
        "cpu_us_per_page": cost.cpu_us_per_page,
        "hdi95": None if cost.hdi95 is None else list(cost.hdi95),
        "floor_us_per_page": cost.floor_us_per_page,
        "floor_of": cost.floor_of,
    }


def _server(measures: ServerMeasures) -> dict[str, object]:
    """What a server did: fields of the record as they are called there, the condition as everywhere here."""
    fields = dataclasses.asdict(measures)
    return fields | {"condition": measures.condition.as_json(), "bottleneck": measures.bottleneck.value}


def _step(measure: StepMeasure) -> dict[str, object]:
    """Loads or rebuilds: fields of the record as they are called there."""
    return dataclasses.asdict(measure) | {"condition": measure.condition.as_json()}


def _traces(traces: Traces | None) -> dict[str, object] | None:
    """The statements, field by field; `None` without ``--trace``."""
    if traces is None:
        return None
    ratios = ("cpu_ratio", "elapsed_ratio")
    statements = [
        {
            **dataclasses.asdict(one),
            "condition": one.condition.as_json(),
            **{name: None if getattr(one, name) is None else _estimate(getattr(one, name)) for name in ratios},
        }
        for one in traces.statements
    ]
    return {"statements": statements, "headings": dict(traces.headings)}


def _profile(profile: CpuProfile) -> dict[str, object]:
    """A CPU profile: fields of the records as they are called there."""
    fields = dataclasses.asdict(profile)
    for name, side in (("baseline", profile.baseline), ("condition", profile.condition)):
        fields[name] |= {"condition": side.condition.as_json()}
    for name in ("classes", "functions"):
        for one in fields[name]:
            one["class"] = one.pop("function_class").value
    return fields


def _ledger(ledger: Ledger) -> dict[str, object]:
    """A ledger: fields of the record as they are called there."""
    fields = dataclasses.asdict(ledger)
    return fields | {"condition": ledger.condition.as_json(), "baseline": ledger.baseline.as_json()}


def _what_if(one: WhatIf) -> dict[str, object]:
    """A prediction: fields of the record as they are called there."""
    fields = dataclasses.asdict(one)
    for cell, found in zip(fields["cells"], one.cells, strict=True):
        cell["condition"] = found.condition.as_json()
    return fields | {"condition": one.condition.as_json()}


def _tail(measure: TailMeasure) -> dict[str, object]:
    """A tail: fields of the record as they are called there, shares beside their counts."""
    fields = dataclasses.asdict(measure)
    if measure.exceedance is not None:
        for name, side in (("baseline", measure.exceedance.baseline), ("condition", measure.exceedance.condition)):
            fields["exceedance"][name]["share"] = side.share
        if measure.exceedance.bad_trials is not None:
            fields["exceedance"]["bad_trials"]["quotient"] = measure.exceedance.bad_trials.quotient
    if measure.p99 is not None:
        fields["p99"]["quotient"] = measure.p99.quotient
    return fields | {"condition": measure.condition.as_json(), "baseline": measure.baseline.as_json()}


def _published(cell: PublishedCell) -> dict[str, object]:
    return {
        "condition": cell.condition.as_json(),
        "ratio": cell.ratio,
        "said": cell.said,
        "source": cell.source,
    }


def _twin_settings(compared: SettingsCompared | None) -> dict[str, object] | None:
    if compared is None:
        return None
    return {
        "shared": dict(compared.shared),
        "varied": {name: list(values) for name, values in compared.varied.items()},
        "differing": {kind: list(names) for kind, names in compared.differing.items()},
    }


def _database(facts: DatabaseFacts | None) -> dict[str, object] | None:
    """What is told of a user's database; None where the rows are generated."""
    if facts is None:
        return None
    return {
        "file": facts.file,
        "size_bytes": facts.size_bytes,
        "page_size": facts.page_size,
        "tables": facts.tables,
        "rows": facts.rows,
        "proposed": facts.proposed,
        "restored": facts.restored,
    }


def _own_servers(facts: ServersFacts | None) -> dict[str, object] | None:
    if facts is None:
        return None
    return {
        "servers": [_own_server(facts.baseline), _own_server(facts.encrypted)],
        "schema": facts.schema,
        "assumed": facts.assumed,
        "differences": [
            {"name": one.name, "baseline": one.baseline, "encrypted": one.encrypted, "is_important": one.is_important}
            for one in facts.differences
        ],
    }


def _own_server(facts: ServerFacts) -> dict[str, object]:
    return {
        "option": facts.option,
        "where": facts.where,
        "product": facts.product,
        "version": facts.version,
        "connection": facts.connection,
        "scopes": [
            {"name": name, "said": said, "is_encrypted": name in facts.encrypted} for name, said in facts.scopes.items()
        ],
        "has_cpu_time": facts.has_cpu_time,
    }


def _counts(result: RunResult) -> dict[str, object]:
    return {
        "rounds": result.rounds,
        "blocks": result.blocks,
        "trials": result.trials,
        "operations_per_trial": result.operations_per_trial,
        "slices_per_trial": result.slices,
        "trial_seconds": result.trial_seconds,
        "elapsed_seconds": result.elapsed_seconds,
    }


def _settings(settings: RunSettings) -> dict[str, object]:
    return {
        "study": settings.study,
        "engine": settings.engine,
        "workload": settings.workload,
        "conditions": [
            {"role": c.role.value, "stratum": c.stratum, "levels": c.as_json()} for c in settings.conditions
        ],
        "rope": settings.rope,
        "budget": settings.budget,
        "metric": settings.metric.value,
        "database": _database(settings.database),
        "own_servers": _own_servers(settings.own_servers),
        "calibration": used_json(settings),
        "options": settings.options,
        "repeat": repeat_command(settings),
    }
