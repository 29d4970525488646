"""The result of a run, put together from the verdicts, the checks and what happened on the way."""

from __future__ import annotations

import dataclasses
import os
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tdelta.engines.capabilities import Cautioned
from tdelta.inference import Judgement, cache_cautions, server_measures
from tdelta.inference.actions import action_measures, backup_measures, left_cautions
from tdelta.inference.agents import agent_cautions, load_agents
from tdelta.inference.between import version_differences
from tdelta.inference.cipher_work import barely_encrypted, idle_cipher_caution, is_whole_run
from tdelta.inference.cost_breakdown import cost_breakdowns
from tdelta.inference.decisions import most_severe
from tdelta.inference.described import checkpoint_measures, client_memory, replication_measures, step_measures
from tdelta.inference.tails import percentiles, tail_cautions, tail_measures
from tdelta.inference.temporary import temporary_data
from tdelta.inference.traces import statement_texts, statement_traces
from tdelta.messages import Caution, Reason
from tdelta.records import (
    Counts,
    DataSize,
    Decision,
    FileEvidence,
    Finding,
    Level,
    LoopFacts,
    Metric,
    Role,
    RunResult,
    StorageFound,
    TemporaryData,
    Trial,
    Validity,
    Verdict,
)
from tdelta.session.collectors import Collectors
from tdelta.session.context import Ready, RunContext
from tdelta.session.housing import storage_cautions, storage_layers
from tdelta.session.options import Option
from tdelta.session.planning import Plan
from tdelta.session.published import published_cells
from tdelta.session.request import OPTIONS, RunRequest
from tdelta.session.state import TrialSize
from tdelta.session.values import Flag
from tdelta.workloads.scan import cut

PRESSED = 0.10
"""The median share of a trial's time in which tasks of the machine waited for a CPU."""

DELAYED = 0.05
"""The share of the measured time in which the database itself did."""

STOLEN = 0.02
_DECIDED = frozenset({Decision.SLOWER, Decision.FASTER, Decision.NEGLIGIBLE, Decision.OVER, Decision.WITHIN})


def pressure_cautions(
    plan: Plan, trials: Sequence[Trial], verdicts: Sequence[Verdict], by_cpu: Mapping[str, Decision]
) -> Iterator[Caution]:
    """How pressed the machine was, by whom, and what would decide in spite of it: ``by_cpu``, as judged.

    Pressure counts tdelta's own threads as well. So it is told where there is one, and in a closed loop; where the
    database's own delay is known to be other programs' doing, that is told in its place.
    """
    pressed, delayed = median_pressure(trials, "cpu_some"), others_delay_share(trials)
    is_delayed = delayed is not None and delayed > DELAYED
    is_pressed = pressed > PRESSED and not plan.is_open and _threads(plan) == 1
    if delayed is not None and is_delayed:
        yield Caution.of("others-delayed-database", share=delayed)
    elif is_pressed and delayed is None:
        # Of a server, one client has several threads at work: they wait for one another as well.
        if plan.request.is_served:
            yield Caution.of("machine-busy", who="threads", share=pressed)
        else:
            yield Caution.of("machine-busy", who="other programs", share=pressed)
    stolen = median_pressure(trials, "steal")
    if stolen > STOLEN:
        yield Caution.of("host-took-cpu", share=stolen)
    if pressed > PRESSED or is_delayed:
        yield from _deciding(verdicts, by_cpu)


def _deciding(verdicts: Sequence[Verdict], by_cpu: Mapping[str, Decision]) -> Iterator[Caution]:
    """Where CPU time per operation, which nobody's waiting is in, decides and response time does not."""
    for verdict in verdicts:
        is_open = verdict.primary and verdict.metric is Metric.RESPONSE_TIME and verdict.decision is Decision.UNDECIDED
        decision = by_cpu.get(verdict.condition.key)
        if is_open and decision is not None and decision in _DECIDED:
            yield Caution.of(
                "cpu-would-decide",
                condition=verdict.condition.key,
                decision=decision.value,
                metric=Metric.CPU_PER_OPERATION.value,
            )


def _threads(plan: Plan) -> int:
    return max(int(condition.level("threads")) for condition in plan.conditions)


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
    if request.tested.study is None:
        return ()
    tested = request.tested
    original = {"study": tested.study, "engine": tested.engine, "study_size": tested.study_size}
    if tested.baseline is not None:
        original |= {"baseline": tested.baseline, "encrypted": tested.encrypted}
    return tuple(_changes(request, RunRequest(**original)))


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
    """As it is typed."""
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
    tails = tail_measures(trials, plan.settings, lambda: context.store.iter_trials(context.run_id))
    own = (*checks.validity(trials), *search.validity())
    validity = (*own, *judgement.validity)
    verdicts, decision = judgement.verdicts, judgement.decision
    # The A/A check is the judgement's own: it has made the verdicts of its stratum invalid already, and only those.
    failed = [check for check in own if check.is_invalid]
    if failed:
        verdicts, decision = tuple(_invalid(verdicts, failed)), Decision.INVALID
    agents = load_agents(trials, plan.settings)
    dilution = _dilution(trials, size)
    idle = barely_encrypted(trials, plan.settings)
    if is_whole_run(idle, plan.settings):
        verdicts = tuple(_without_work(verdicts))
        decision = most_severe(verdict.decision for verdict in verdicts if verdict.primary)
    servers = server_measures(trials, plan.settings, _cpus(machine))
    actions = action_measures(trials, plan.settings)
    return RunResult(
        settings=plan.settings,
        decision=decision,
        verdicts=verdicts,
        noise_floor=judgement.noise_floor,
        validity=validity,
        cautions=(
            *judgement.cautions,
            *checks.cautions,
            *((idle_cipher_caution(idle, plan.settings),) if idle else ()),
            *left_cautions(actions),
            *cache_cautions(servers),
            *agent_cautions(agents),
            *tail_cautions(trials, tails, plan.settings),
            *_cautions(plan, ending),
            *pressure_cautions(plan, trials, verdicts, judgement.by_cpu),
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
        findings=(
            *judgement.stalls,
            *_known(judgement.order_effect),
            *judgement.contrasts,
            *version_differences(verdicts, plan.settings),
            *storage_layers(state.storages, plan.conditions),
            *checkpoint_measures(trials, plan.settings),
            *(DataSize(c, state.data_bytes[c.key]) for c in plan.conditions if c.key in state.data_bytes),
            *search.records(),
            *servers,
            *_known(agents),
            *_known(judgement.hosts),
            *client_memory(trials, plan.settings),
            *published_cells(plan.settings.study, plan.conditions, _fixed(plan.request)),
            *_known(checks.settings_compared()),
            *tails,
            *percentiles(trials, plan.settings, lambda: context.store.iter_trials(context.run_id)),
            *step_measures(trials, plan.settings),
            *actions,
            *backup_measures(trials, plan.settings),
            *replication_measures(trials, plan.settings),
            *_temporary(context, search.records()),
            *_known(statement_traces(trials, plan.settings, _statements(plan), plan.engine.profile.headings)),
            *(profiles.records() if plan.request.design.profile else ()),
            *cost_breakdowns(trials, plan.settings, profiles.explained()),
        ),
    )


def _temporary(context: RunContext, evidence: Sequence[FileEvidence]) -> tuple[TemporaryData, ...]:
    plan = context.plan
    if not plan.workload.spills:
        return ()
    trials = [trial for trial in context.trials if not plan.step(trial.condition)]
    return temporary_data(trials, plan.settings, evidence, writes=plan.layout.writes)


def _kernel_crypto(storages: Mapping[str, StorageFound]) -> dict[str, str]:
    """Which driver the kernel takes for AES-XTS, whatever used it."""
    if not storages:
        return {}
    return {"kernel's AES-XTS": next((one.driver for one in storages.values() if one.driver), "not listed")}


def _known(finding: Finding | None) -> tuple[Finding, ...]:
    return () if finding is None else (finding,)


def _statements(plan: Plan) -> dict[str, str]:
    scripts = {name: str(script["text"]) for name, script in plan.workload.scripts().items()}
    pieces = {name: [piece.text for piece in cut(text)[0] if piece.is_counted] for name, text in scripts.items()}
    return dict(statement_texts(pieces))


def _cpus(machine: Mapping[str, object]) -> int:
    usable = machine.get("usable_cpus")
    return usable if isinstance(usable, int) else os.cpu_count() or 1


def _fixed(request: RunRequest) -> dict[str, Level]:
    """The levels of factors that the run does not vary, where published figures name them."""
    return {"threads": request.work.threads, "cache": request.twins.cache}


def _without_work(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """Primary verdicts on encrypted copies that encrypted next to nothing: undecided."""
    for verdict in verdicts:
        if verdict.primary and verdict.condition.is_encrypted and verdict.decision is not Decision.INVALID:
            reasons = (*verdict.reasons, Reason.of("nothing-encrypted"))
            yield dataclasses.replace(verdict, decision=Decision.UNDECIDED, reasons=reasons)
        else:
            yield verdict


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
    if isinstance(engine, Cautioned):
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
