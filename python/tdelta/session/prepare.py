"""All of a run that comes before its first round: data is loaded once for each kind of twin, and trials are sized."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import statistics
from pathlib import Path
from typing import Any

from tdelta.design.layout import PLAIN
from tdelta.errors import ServerLost
from tdelta.measure.aes import CryptoKind
from tdelta.messages import RunPart
from tdelta.processes import Twins
from tdelta.records import Level, Phase, Role, Trial
from tdelta.session.collectors.checks import Checks
from tdelta.session.context import Ready, RunContext
from tdelta.session.housing import Housing
from tdelta.session.pace import Stage
from tdelta.session.run_plan import Plan
from tdelta.session.state import TrialSize
from tdelta.session.trial_size import find_trial_size
from tdelta.store import decode, encode

_SIZING = ("trial_seconds", "warmup_seconds", "cache", "cold", "load_generator", "load_operations", "agents", "threads")
"""Options that the size of a trial depends on beside the conditions."""

_MOST_OFF = 1.5
"""How far trials may be from the time that they are to fill for their size to be kept."""


def prepare(context: RunContext, twins: Twins[Any], folder: Path, checks: Checks, housing: Housing) -> Ready:
    """Load and compare the rows, see which ciphers are at work, and size the trials."""
    data_bytes = _load(context, twins, checks)
    with context.pace.timed(Stage.OBSERVE):
        _observe_ciphers(context, twins)
    context.require_time()
    size = _size(context, twins, data_bytes, checks, housing)
    context.require_time()
    return Ready(twins, data_bytes, size, folder, housing)


def _load(context: RunContext, twins: Twins[Any], checks: Checks) -> int:
    plan, expected = context.plan, twins.expected_checksums()
    kinds = plan.data_templates()
    data_bytes = 0
    for number, (kind, condition) in enumerate(kinds.items()):
        settings = plan.twin_settings(condition, 0)
        context.observe(Phase("load", plan.engine.template(settings).words, number, len(kinds)))
        with context.pace.timed(Stage.LOAD):
            path, sums = twins.load(settings)
            checks.loaded("/".join(map(str, kind)), sums, expected)
            checks.ciphered(str(kind[0]), is_encrypted=twins.is_encrypted(path))
        size = twins.data_bytes(path)
        context.state.data_bytes[condition.key] = size
        data_bytes = data_bytes or size
        context.require_time()
    if plan.source is not None:
        plan.source.copy.let_go()
    checks.raise_if_rows_differ()
    return data_bytes


def _observe_ciphers(context: RunContext, twins: Twins[Any]) -> None:
    """Observe the ciphers that engines encrypt pages with, in runs of their own, before anything is measured."""
    plan, found, seen = context.plan, dict[str, str](), dict[tuple[str, Level], str]()
    is_seen = plan.engine.profile.is_server and plan.engine.crypto == CryptoKind.OPENSSL
    if not is_seen or not twins.observes_ciphers or context.state.ciphers is not None:
        return
    for condition in plan.data_templates().values():
        cipher, version = str(condition.level("cipher")), condition.get("server", "")
        if cipher != PLAIN and (cipher, version) not in seen:
            context.observe(Phase("observe", f"which cipher {cipher} is in fact"))
            seen[cipher, version] = twins.observe(plan.twin_settings(condition, 0))
    for (cipher, version), reported in seen.items():
        if not reported or not version:
            found[cipher] = reported
        elif found.get(cipher, version):  # what was not seen of one version is not said of the cipher
            found[cipher] = "; ".join(filter(None, (found.get(cipher), f"{version}: {reported}")))
    context.state.ciphers = found
    context.keep_state()


def _size(context: RunContext, twins: Twins[Any], data_bytes: int, checks: Checks, housing: Housing) -> TrialSize:
    """Find the trial's size, or take the one that an earlier sitting found; a server may be lost once meanwhile."""
    context.observe(Phase("size", "how many operations fill a trial"))
    with context.pace.timed(Stage.SIZE):
        found = context.state.trial_size or _recalled(context.plan, twins)
        try:
            found = found or find_trial_size(context.plan, twins, data_bytes, housing)
        except ServerLost as loss:
            checks.lost(0, RunPart.of("sizing"), loss.said)
            found = find_trial_size(context.plan, twins, data_bytes, housing)
    context.pace.filled(found.trial_seconds)
    context.state.trial_size = found
    context.keep_state()
    return found


def _recalled(plan: Plan, twins: Twins[Any]) -> TrialSize | None:
    """The size that trials of this work had at the end of an earlier run on the same data."""
    found = twins.recall(_size_name(plan))
    return None if found is None else decode(TrialSize, found)


def remember_size(context: RunContext, twins: Twins[Any]) -> None:
    """Keep the trial's size with the loaded data, corrected by how long trials of the baseline took."""
    size, plan = context.state.trial_size, context.plan
    if size is None or not twins.remembers or size.rates or plan.workload.connects:
        return
    took = {
        stratum: statistics.median(t.measurement.elapsed_ns / t.measurement.operations for t in trials) / 1e9
        for stratum, trials in _baseline_trials(context).items()
    }
    wanted = plan.request.trial_seconds
    if any(not (1 / _MOST_OFF < took.get(s, 0.0) * n / wanted < _MOST_OFF) for s, n in size.operations.items()):
        twins.remember(_size_name(plan), None)  # what is slow or cold has its own rules
        return
    operations = {stratum: round(wanted / took[stratum]) for stratum in size.operations}
    twins.remember(_size_name(plan), encode(dataclasses.replace(size, operations=operations, trial_seconds=wanted)))


def _baseline_trials(context: RunContext) -> dict[int, list[Trial]]:
    found: dict[int, list[Trial]] = {}
    for trial in context.trials:
        if trial.condition.role is Role.BASELINE and trial.measurement.operations:
            found.setdefault(trial.condition.stratum, []).append(trial)
    return found


def _size_name(plan: Plan) -> str:
    options = {name: plan.request.values[name] for name in _SIZING}
    parts = [plan.fingerprint(), *(condition.key for condition in plan.conditions), options]
    return f"size-{hashlib.sha256(json.dumps(parts, default=str, sort_keys=True).encode()).hexdigest()[:12]}"
