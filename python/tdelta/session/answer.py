"""The result of a run, put together from the verdicts, the checks and what happened on the way."""

from __future__ import annotations

import dataclasses
import os
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tdelta.findings import findings_of
from tdelta.findings.base import FinishedRun
from tdelta.inference.cipher_work import barely_encrypted, idle_cipher_caution, unexplained_cautions, with_cached
from tdelta.inference.decisions import most_severe
from tdelta.inference.run_analysis import Judgement
from tdelta.messages import Caution
from tdelta.messages.catalogue import CACHED
from tdelta.records import (
    Counts,
    Decision,
    LoopFacts,
    Role,
    RunResult,
    StorageFound,
    Trial,
    Validity,
    Verdict,
)
from tdelta.records.trials import BUSY, others_cpu_share
from tdelta.session.collectors import Collectors
from tdelta.session.context import Ready, RunContext
from tdelta.session.housing import storage_cautions
from tdelta.session.options import Option
from tdelta.session.request import OPTIONS, RunRequest
from tdelta.session.run_plan import Plan
from tdelta.session.state import TrialSize
from tdelta.session.studies import study
from tdelta.session.values import Flag
from tdelta.workloads.scan import cut

DELAYED = 0.05
"""The share of the measured time in which the database itself did."""

STOLEN = 0.02


def pressure_cautions(trials: Sequence[Trial]) -> Iterator[Caution]:
    """Whether other programs used the machine.

    Pressure stall information does not show it: the threads of a server and its client wait for one another, too. Where
    the delay of the database itself is known to be other programs' doing, that is reported in place of their CPU time.
    """
    busy, delayed = others_cpu_share(trials), others_delay_share(trials)
    if delayed is not None and delayed > DELAYED:
        yield Caution.of("others-delayed-database", share=delayed)
    elif busy > BUSY and delayed is None:
        yield Caution.of("others-used-cpu", share=busy)
    stolen = median_pressure(trials, "steal")
    if stolen > STOLEN:
        yield Caution.of("host-took-cpu", share=stolen)


def median_pressure(trials: Sequence[Trial], name: str) -> float:
    """The median over the trials that have it; 0 where none has."""
    values = [trial.measurement.pressure[name] for trial in trials if name in trial.measurement.pressure]
    return statistics.median(values) if values else 0.0


def others_delay_share(trials: Sequence[Trial]) -> float | None:
    """The share of the measured time in which other programs kept the database from a CPU.

    Returns:
        Of all trials together; None where it cannot be told of every one of them.
    """
    delays = [trial.measurement.delays.others_delay_ns for trial in trials]
    elapsed_ns = sum(trial.measurement.elapsed_ns for trial in trials)
    known = [delay for delay in delays if delay is not None]
    return min(1.0, sum(known) / elapsed_ns) if elapsed_ns and len(known) == len(delays) else None


class Change(NamedTuple):
    """A setting, as it is and as the study has it; its text is for people: ``--threads 1 instead of 4``."""

    name: str
    now: str
    then: str

    def __str__(self) -> str:
        option = OPTIONS.get(self.name)
        name = self.name.replace("_", " ") if option is None or not option.flag else option.flag
        return f"{name} {self.now} instead of {self.then}"


def overridden(request: RunRequest) -> tuple[Change, ...]:
    if request.study is None:
        return ()
    names = ["study", "engine", "study_size", *(["baseline", "encrypted"] if request.baseline is not None else [])]
    return tuple(_changes(request, RunRequest(**{name: getattr(request, name) for name in names})))


def _changes(request: RunRequest, original: RunRequest) -> Iterator[Change]:
    now, then = request.values, original.values
    for factor in dict.fromkeys((*then["vary"], *now["vary"])):
        levels = [_levels(values["vary"].get(factor), values.get(factor)) for values in (now, then)]
        if levels[0] != levels[1]:
            yield Change(factor, *levels)
    beside = {option.also for option in OPTIONS.values()}
    for name, option in OPTIONS.items():
        here, there = (_value(option, values) for values in (now, then))
        is_left_to_the_run = then[name] is None and isinstance(here, bool)  # a B/B twin, where there is room for one
        is_told = option.of_study and name not in beside and name not in now["vary"]
        if is_told and here != there and not is_left_to_the_run:
            yield Change(name, _written(option, here), _written(option, there))


def _value(option: Option, values: Mapping[str, Any]) -> Any:
    """Of a flag that sets two fields both."""
    return (values[option.name], values[option.also]) if option.also else values[option.name]


def _levels(varied: tuple[object, ...] | None, fixed: object) -> str:
    if varied:
        return ", ".join(map(str, varied))
    return "not varied" if fixed is None else str(fixed)


def _written(option: Option, value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(option.value, Flag):
        return "given" if value is option.value.stands_for else "not given"
    return ", ".join(text for text in option.value.texts(value) if text is not None)


_DILUTED = 0.05
_LATE = 0.80
"""The share of arrivals that wait is about the share of the time in which every connection is busy."""


@dataclass(frozen=True, slots=True)
class Ending:
    stopped_by: str
    interrupted: bool
    elapsed_seconds: float


def assemble(
    context: RunContext, ready: Ready, collectors: Collectors, judgement: Judgement, ending: Ending
) -> RunResult:
    """Put the answer together. A failed check makes every primary verdict ``invalid``."""
    plan, state, trials, size = context.plan, context.state, context.trials, ready.size
    checks, profiles, search = collectors.checks, collectors.profiles, collectors.search
    machine, versions = context.store.machine(context.run_id), context.store.versions(context.run_id)
    own = (*checks.validity(trials), *search.validity())
    validity = (*own, *judgement.validity)
    verdicts, decision = judgement.verdicts, judgement.decision
    # The A/A check is the judgement's own: it has made the verdicts of its stratum invalid already, and only those.
    failed = [check for check in own if check.is_invalid]
    if failed:
        verdicts, decision = tuple(_invalid(verdicts, failed)), Decision.INVALID
    dilution = _dilution(trials, size)
    idle = barely_encrypted(trials, plan.settings)
    if idle:
        verdicts = tuple(with_cached(verdicts, idle, plan.settings, _own_caches(plan)))
        decision = most_severe(verdict.decision for verdict in verdicts if verdict.primary)
    unexplained = tuple(unexplained_cautions(verdicts, idle))
    explained = {v.condition.key for v in verdicts if v.primary and any(r.code == CACHED for r in v.reasons)}
    said = explained | {caution.parameters["condition"] for caution in unexplained}
    open_ = {key: pages for key, pages in idle.items() if key not in said}
    findings, cautions = findings_of(_finished(context, collectors, judgement, verdicts))
    return RunResult(
        settings=plan.settings,
        decision=decision,
        verdicts=verdicts,
        noise_floor=judgement.noise_floor,
        validity=validity,
        cautions=(
            *judgement.cautions,
            *checks.cautions,
            *((idle_cipher_caution(open_, plan.settings),) if open_ else ()),
            *unexplained,
            *cautions,
            *_cautions(plan, ending),
            *pressure_cautions(trials),
            *_loop_cautions(trials, dilution),
            *profiles.cautions(),
            *collectors.unit_costs.cautions(),
        ),
        counts=Counts(
            rounds=len({trial.round for trial in trials}),
            blocks=len({trial.block for trial in trials}),
            trials=len(trials),
            operations_per_trial=min(size.operations.values()),
            trial_seconds=_trial_seconds(trials),
            elapsed_seconds=ending.elapsed_seconds,
            measured_seconds=context.measured_seconds,
        ),
        loop=LoopFacts(
            loop_cost_ns=size.loop_cost_ns,
            client_overhead_share=dilution,
            queued_operations=sum(trial.measurement.queue.queued_operations for trial in trials),
            backlog_max=max(trial.measurement.queue.backlog_max for trial in trials),
            errors=_by_kind(trial.measurement.errors for trial in trials),
            retries=_by_kind(trial.measurement.retries for trial in trials),
            arrival_rates=_by_baseline(plan, size.rates),
            capacities=_by_baseline(plan, size.capacities),
        ),
        machine=machine,
        versions={**versions, "library under test": ready.twins.library, **_kernel_crypto(state.storages)},
        stopped_by=ending.stopped_by,
        interrupted=ending.interrupted,
        overridden=tuple(map(str, overridden(plan.request))),
        ciphers_in_force=checks.ciphers_in_force,
        barely_encrypted=idle,
        findings=findings,
    )


def _finished(
    context: RunContext, collectors: Collectors, judgement: Judgement, verdicts: Sequence[Verdict]
) -> FinishedRun:
    plan, state = context.plan, context.state
    return FinishedRun(
        settings=plan.settings,
        trials=context.trials,
        read_trials=lambda: context.store.iter_trials(context.run_id),
        verdicts=verdicts,
        known=(
            *judgement.stalls,
            *judgement.contrasts,
            *(one for one in (judgement.order_effect, judgement.hosts) if one is not None),
            *collectors.search.records(),
            collectors.checks.settings_compared(),
            *(collectors.profiles.records() if plan.request.profile else ()),
        ),
        cpus=_cpus(context.store.machine(context.run_id)),
        storages=state.storages,
        data_bytes=state.data_bytes,
        published=study(plan.settings.study).figures if plan.settings.study else (),
        levels={"threads": plan.request.threads, "cache": plan.request.cache},
        of_transactions=[trial for trial in context.trials if not plan.step(trial.condition)],
        is_spilling=plan.workload.spills,
        is_writing=plan.writes,
        scripts={
            name: [piece.text for piece in cut(str(script["text"]))[0] if piece.is_counted]
            for name, script in plan.workload.scripts().items()
        },
        headings=plan.engine.profile.headings,
        explained=collectors.profiles.explained(),
    )


def _kernel_crypto(storages: Mapping[str, StorageFound]) -> dict[str, str]:
    """Which driver the kernel takes for AES-XTS, whatever used it."""
    if not storages:
        return {}
    return {"kernel's AES-XTS": next((one.driver for one in storages.values() if one.driver), "not listed")}


def _cpus(machine: Mapping[str, object]) -> int:
    usable = machine.get("usable_cpus")
    return usable if isinstance(usable, int) else os.cpu_count() or 1


def _own_caches(plan: Plan) -> set[str]:
    """Conditions whose cache the user chose: own servers', one that was given, one that varies."""
    is_given = plan.settings.options.get("cache") != OPTIONS["cache"].default
    is_own = plan.settings.external_servers is not None or is_given
    return {c.key for c in plan.conditions if is_own or c.get("cache") is not None}


def _invalid(verdicts: Sequence[Verdict], failed: Sequence[Validity]) -> Iterator[Verdict]:
    reasons = tuple(check.why_invalid for check in failed)
    for verdict in verdicts:
        if verdict.primary and verdict.decision is not Decision.INVALID:
            verdict = dataclasses.replace(verdict, decision=Decision.INVALID, reasons=reasons)
        yield verdict


def _by_baseline(plan: Plan, values: Mapping[int, float]) -> dict[str, float]:
    baselines = {c.stratum: c.key for c in plan.conditions if c.role is Role.BASELINE}
    return {baselines[stratum]: value for stratum, value in values.items()}


def _by_kind(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(total)


def _of_baseline(trials: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.condition.role is Role.BASELINE]


def _trial_seconds(trials: Sequence[Trial]) -> float:
    return statistics.median(trial.measurement.elapsed_ns / 1e9 for trial in _of_baseline(trials) or trials)


def _dilution(trials: Sequence[Trial], size: TrialSize) -> float:
    responses = [trial.measurement.response_ns for trial in _of_baseline(trials) or trials]
    finished = [response for response in responses if response > 0]  # a trial that was cut off may have done nothing
    return min(1.0, size.loop_response_ns / statistics.median(finished)) if finished else 0.0


def _cautions(plan: Plan, ending: Ending) -> Iterator[Caution]:
    yield from plan.cautions
    if plan.command is not None:
        yield Caution.of("load-generator", command=plan.command.text)
        yield from plan.command.cautions
    yield from storage_cautions(plan)
    engine = plan.engine
    kinds = (plan.twin_settings(condition, 0) for condition in plan.data_templates().values())
    yield from dict.fromkeys(caution for settings in kinds for caution in engine.cautions(settings))
    if ending.interrupted:
        yield Caution.of("run-interrupted")
    if plan.source is not None:
        yield from plan.source.cautions


def _loop_cautions(trials: Sequence[Trial], dilution: float) -> Iterator[Caution]:
    if dilution > _DILUTED:
        yield Caution.of("loop-dilutes", share=dilution)
    late = sum(trial.measurement.queue.queued_operations for trial in trials)
    operations = sum(trial.measurement.operations for trial in trials)
    if late > _LATE * operations:
        worst = max(trial.measurement.queue.backlog_max for trial in trials)
        yield Caution.of("late-arrivals", share=late / operations, backlog=worst)
