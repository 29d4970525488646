"""Which calibration a run begins with: the newest with everything in common that noise and effects depend on.

In common must be: the machine (by its hardware, not by its name), the engine, its
library or server program, the workload with its data, the options that decide what a trial is, and tdelta's version.
Ciphers, rounds, the tolerance and a budget may differ: they do not change the effect of a plain twin.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping

from tdelta import __version__
from tdelta.design.factors import DEFAULT_PAGE_SIZE
from tdelta.messages import Caution
from tdelta.records import CalibrationKey, Role
from tdelta.session.request import OPTIONS
from tdelta.session.run_plan import Plan
from tdelta.store import Store
from tdelta.store.store import newest_calibration

MOST_DAYS = 30
"""How old a calibration may be."""

_DAY_SECONDS = 86_400.0
_MACHINE = (
    "cpu_model",
    "cpu_architecture",
    "logical_cpus",
    "usable_cpus",
    "cpu_governor",
    "virtualized",
    "file_system",
)


def key_of(plan: Plan, machine: Mapping[str, object]) -> CalibrationKey | None:
    """The properties that a calibration must share with this run; None where none can.

    That is so for servers and load generators of the user's and for hosts, which `tdelta calibrate` does not take, and
    for runs whose strata differ in an option that decides what a trial is.
    """
    request = plan.request
    of_user = (request.baseline, request.restore, request.load_generator)
    if plan.hosts is not None or any(given is not None for given in of_user):
        return None
    options = _options(plan)
    if options is None:
        return None
    return CalibrationKey(
        machine=_machine(machine),
        engine=plan.settings.engine,
        library=plan.engine.identity(),
        workload=plan.settings.workload,
        work=plan.fingerprint(),
        options=options,
        tdelta=__version__,
    )


def with_calibration(plan: Plan, key: CalibrationKey | None, store: Store) -> Plan:
    """The same plan with the newest calibration that fits; one that showed the instrument to lie is told, not used."""
    if key is None or not plan.request.use_calibration:
        return plan
    found = newest_calibration(store, key, since_unix_seconds=time.time() - MOST_DAYS * _DAY_SECONDS)
    if found is None:
        return plan
    if not found.is_valid:
        caution = Caution.of("calibration-invalid", calibration=found.calibration_id, fault=found.faults[0])
        return dataclasses.replace(plan, cautions=(*plan.cautions, caution))
    return dataclasses.replace(plan, settings=dataclasses.replace(plan.settings, calibration=found.used()))


def _machine(facts: Mapping[str, object]) -> dict[str, object]:
    memory = facts.get("memory_total_bytes")
    gibibytes = round(memory / 2**30) if isinstance(memory, int) else None
    return {**{name: facts.get(name) for name in _MACHINE}, "memory_gib": gibibytes}


def _options(plan: Plan) -> dict[str, object] | None:
    """The options that decide what a trial is; None where strata differ in one, or trials are loads or rebuilds."""
    if any(plan.step(condition) for condition in plan.conditions):
        return None
    found: dict[str, object] = {}
    baselines = [c for c in plan.conditions if c.role is Role.BASELINE]
    for name in (option.name for option in OPTIONS.values() if option.decides_trial):
        values = {plan.is_cold(c) if name == "cold" else c.get(name, _given(plan, name)) for c in baselines}
        if len(values) != 1:
            return None
        found[name] = values.pop()
    return found


def _given(plan: Plan, name: str) -> object:
    """An option as it was typed, or its default; the page size that is usual where none was typed."""
    value: object = plan.request.values[name]
    return DEFAULT_PAGE_SIZE if name == "page_size" and value is None and plan.source is None else value
