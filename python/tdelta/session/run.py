"""A run from its first file to its answer.

The stages, in order: make room, load each kind of file once and compare the rows, find how many operations fill a
trial, then rounds of fresh twins until the answer is precise enough or the time is up. Every block is stored before
the next one starts, so whatever ends a run, what it measured stays and `resume` goes on behind it.
"""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from tdelta import own_folders
from tdelta.design import fresh_seed
from tdelta.engines.server.hosted import HostedTwins, OnHosts
from tdelta.errors import InvalidTwins, ServerFault, StorageFault, TdeltaError, TimeFault, UsageError
from tdelta.inference.decisions import should_stop
from tdelta.inference.run_analysis import analyze_run, gate_answered, interim_estimates
from tdelta.measure.machine import library_versions, machine_facts
from tdelta.messages import Caution, Refusal
from tdelta.processes import MakeTwins, TwinFolder, Twins, signals, sweep
from tdelta.processes.files import default_templates
from tdelta.processes.templates import Templates
from tdelta.ray.load_agents import AgentPool
from tdelta.records import InterimAnalysis, Phase, RunPlanned, RunResult
from tdelta.records.kept import OfLast, RunKind
from tdelta.session.answer import Ending, assemble
from tdelta.session.calibration_lookup import key_of, with_calibration
from tdelta.session.clock import Clock, Interruption, interruptible
from tdelta.session.collectors import Collectors
from tdelta.session.collectors.checks import Checks
from tdelta.session.context import Observer, Ready, RunContext
from tdelta.session.housing import Housing, resource_estimate
from tdelta.session.keeping import first_facts, mark_sitting
from tdelta.session.pace import Stage
from tdelta.session.preflight import (
    check_room,
    patient_clock,
    prepared_inputs,
    time_caution,
    with_bb_twin,
    with_enough_rounds,
    with_enough_time,
)
from tdelta.session.prepare import prepare, remember_size
from tdelta.session.request import RunRequest
from tdelta.session.rounds import RoundRunner
from tdelta.session.run_plan import Plan, plan
from tdelta.session.state import RunState
from tdelta.store import RunStatus, Store
from tdelta.store.store import NO_FACTS


def conduct(
    request: RunRequest,
    observer: Observer,
    *,
    kind: RunKind = RunKind.RUN,
    facts: Mapping[str, object] = NO_FACTS,
    make_twins: MakeTwins | None = None,
    templates: Templates | None = None,
    now: Callable[[], float] = time.monotonic,
) -> RunResult:
    """Run what was asked, from the set-up to the verdict, and keep it in the store.

    Ctrl-C during trials ends the run with what is known so far (``interrupted`` in the result).

    Args:
        kind: what the run is for, which is stored with it.
        facts: what else is stored with it from its beginning.
        make_twins: makes the run's twins in the engine's place, as tests do.
        templates: where loaded data are kept; None for the default place, which keeps generated rows alone.
        now: the clock, seconds.

    Raises:
        UsageError: what was asked cannot be done.
        TimeFault: not even one short round fits into the run's time, as was estimated, or as it turned out to be.
        EnvironmentFault: the machine cannot do it (no room, not writable, no engine).
        StoreError: the store cannot be used.
        KeyboardInterrupt: before there was anything to say.
    """
    clock = patient_clock(request, now)
    request = request.replace(seed=fresh_seed() if request.seed is None else request.seed)
    with Store.open(request.store) as store, interruptible(Interruption(), clock, clock.fault):
        run_id = store.fresh_run_id()
        with _forgotten(store, run_id), prepared_inputs(request, run_id, observer, templates) as inputs:
            made = with_enough_rounds(with_bb_twin(plan(request, run_id, inputs.source, inputs.servers)))
            state = RunState()
            made = _make_room(made, clock, state)
            machine, versions = machine_facts(made.base), library_versions() | made.engine.versions()
            key = key_of(made, machine)
            made = with_calibration(made, key, store)
            store.create_run(made.settings, machine, versions, {**first_facts(made.request, kind), **facts})
            state.key = key
            _keep_work(made, store, state)
            with inputs.active():
                return _sit(RunContext.of(made, store, state, observer, clock), make_twins, templates)


def resume(
    run_id: str,
    store_path: Path | None,
    observer: Observer,
    *,
    max_seconds: float | None = None,
    make_twins: MakeTwins | None = None,
    templates: Templates | None = None,
    now: Callable[[], float] = time.monotonic,
) -> RunResult:
    """Complete a run that was cut short: same settings and seed, fresh twins, the next rounds.

    Trials that are stored count; a block that was cut short stays in the store and out of the verdict.

    Args:
        run_id: the run, or the beginning of its id, or ``last``.
        store_path: the store, or None for the default one.
        max_seconds: the time of this sitting in place of the run's.
        make_twins: as for `conduct`.
        templates: as for `conduct`.
        now: as for `conduct`.

    Raises:
        UnknownName: there is no such run.
        UsageError: it is complete, or its workload or the library under test has changed since.
    """
    with Store.open(store_path, must_exist=True) as store:
        found = store.resolve(run_id, OfLast.UNFINISHED)
        if store.status(found) is RunStatus.DONE:
            raise UsageError(Refusal.of("run-complete", run=found))
        if store.summary(found).kind is RunKind.IMPORTED:
            raise UsageError(Refusal.of("run-imported", run=found))
        settings = store.settings(found)
        request = RunRequest.from_json(settings.options)
        _require_same(found, store.versions(found), library_versions())
        state = RunState.of(store, found)
        if state.extended_seconds is not None:
            request = request.replace(max_seconds=state.extended_seconds, typed=(*request.typed, "max_seconds"))
        if max_seconds is not None:
            request = request.replace(max_seconds=max_seconds, typed=(*request.typed, "max_seconds"))
        clock = patient_clock(request, now)
        with (
            interruptible(Interruption(), clock, clock.fault),
            prepared_inputs(request, found, observer, templates) as inputs,
        ):
            mark_sitting(store, found)
            made = dataclasses.replace(plan(request, found, inputs.source, inputs.servers), settings=settings)
            if state.fingerprint not in (None, made.fingerprint()):
                changed = "workload" if inputs.source is None else "database or its workload"
                raise UsageError(Refusal.of("run-changed", run=found, changed=changed))
            if state.library is not None:  # else the run was killed at once
                library = "the library under test:"
                _require_same(found, {library: state.library}, {library: made.engine.identity()})
            made = _make_room(made, clock, state)
            _keep_work(made, store, state)  # a run that was killed at once has none yet
            with inputs.active():
                return _sit(RunContext.of(made, store, state, observer, clock), make_twins, templates)


@contextmanager
def _forgotten(store: Store, run_id: str) -> Iterator[None]:
    """Keep nothing of a run whose time turned out to be too short for any trial."""
    try:
        yield
    except TimeFault:
        store.forget(run_id)
        raise


def _keep_work(plan: Plan, store: Store, state: RunState) -> None:
    """Keep the run's work, by its digest, and its settings; in full of a user's database: it may be a proposal."""
    state.fingerprint, state.library = plan.fingerprint(), plan.engine.identity()
    state.database = None if plan.source is None else plan.source.as_json()
    state.keep(store, plan.settings.run_id)


def _require_same(run_id: str, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Trials under another library would be compared with these as if nothing had changed."""
    changed = [f"{name} {before.get(name)} → {now.get(name)}" for name in now if before.get(name) != now[name]]
    if changed:
        raise UsageError(Refusal.of("run-changed", run=run_id, changed=", ".join(changed)))


def _make_room(plan: Plan, clock: Clock, state: RunState) -> Plan:
    """Remove what killed runs left, then see that there is room and time, and make the folder."""
    sweep(plan.base)
    given = plan.request.max_seconds
    plan = with_enough_time(plan, clock)
    if plan.request.max_seconds > given:
        state.extended_seconds = plan.request.max_seconds
    check_room(plan, clock.elapsed())
    try:
        own_folders.ensure(plan.base)
    except OSError as error:
        raise StorageFault(Refusal.of("folder-unusable", folder=plan.base, fault=error.strerror)) from error
    return plan


def _sit(context: RunContext, make_twins: MakeTwins | None, templates: Templates | None) -> RunResult:
    """One sitting: prepare, rounds, judge. Whatever ends it, the store says how far the run came."""
    plan, run_id = context.plan, context.run_id
    short = time_caution(plan, context.clock.elapsed())
    _announce(context, short)
    with ExitStack() as stack:
        stack.enter_context(interruptible(context.interruption, context.clock, context.pace.fault))
        with signals.held():  # or a Ctrl-C could leave a folder that nobody owns
            # Refuses a run that another process is at.
            folder = stack.enter_context(TwinFolder(plan.base, run_id, templates or default_templates()))
        context.store.set_status(run_id, RunStatus.RUNNING)
        try:
            try:
                return _measured(context, folder, make_twins, short)
            except _BadData as bad:
                context.observe(Phase("load", f"anew, since kept data failed: {bad}"))
            return _measured(context, folder, make_twins, short)
        except BaseException as error:
            status = RunStatus.INTERRUPTED if isinstance(error, KeyboardInterrupt) else RunStatus.FAILED
            with suppress(TdeltaError):  # a store that is full must not hide what went wrong
                context.store.set_status(run_id, status)
            raise


class _BadData(Exception):
    """Data that an earlier run loaded failed, for the reason given; they are discarded."""


def _measured(
    context: RunContext, folder: TwinFolder, make_twins: MakeTwins | None, short: Caution | None
) -> RunResult:
    plan, before = context.plan, len(context.trials)
    with _twins(plan, folder, make_twins) as twins:
        try:
            checks = Checks(plan, context.state)
            ready = prepare(context, twins, folder.path, checks, Housing.of(plan, folder))
            collectors = Collectors.of(context, ready, checks)
            context.interruption.arm()
            stopped_by = _rounds(context, ready, RoundRunner(context, ready, collectors))
        except (ServerFault, InvalidTwins) as fault:
            if len(context.trials) == before and twins.discard():
                raise _BadData(fault.refusals[0]) from fault
            raise
        remember_size(context, twins)
    return _answer(context, ready, collectors, stopped_by, short)


def _announce(context: RunContext, short: Caution | None) -> None:
    plan, request = context.plan, context.plan.request
    planned = RunPlanned(
        settings=plan.settings,
        blocks_per_round=request.blocks_per_round,
        rounds_min=request.min_rounds,
        trial_seconds=request.trial_seconds,
        deadline_seconds=request.max_seconds,
        directory=str(plan.base),
    )
    context.observe(planned)
    if short is not None:
        context.observe(Phase("time", short.text))


@contextmanager
def _twins(plan: Plan, folder: TwinFolder, make_twins: MakeTwins | None) -> Iterator[Twins[Any]]:
    with ExitStack() as stack:
        job, mix = plan.populate_job(), plan.workload_spec()
        if plan.agents is not None:
            mix = dataclasses.replace(mix, agents=stack.enter_context(AgentPool(plan.agents)))
        twins: Twins[Any]
        if plan.hosts is not None:
            twins = HostedTwins(plan.hosts, _on_hosts(plan), job, mix)
        elif make_twins is None:
            twins = plan.engine.make_twins(folder, job, mix)
        else:
            twins = make_twins(plan.engine, folder, job, mix)
        stack.callback(twins.end)
        yield twins


def _on_hosts(plan: Plan) -> OnHosts:
    """The message to every host about a run. A host may come to have all twins of a round at once."""
    needs = resource_estimate(plan.of_one_round())
    return OnHosts(
        engine=plan.settings.engine,
        options=plan.request.values,
        run_id=plan.settings.run_id,
        needs=(needs.disk_bytes, needs.memory_bytes),
        versions=plan.engine.versions(),
    )


def _rounds(context: RunContext, ready: Ready, runner: RoundRunner) -> str:
    """Rounds until the answer is precise enough, the rounds are used up, or the time is. Returns which."""
    trials, clock = context.trials, context.clock
    done = _whole_rounds(context)
    number = max((trial.round for trial in trials), default=-1) + 1
    block = max((trial.block for trial in trials), default=-1) + 1
    longest = 0.0
    # An earlier sitting may have come to the end of its rounds, and died before it could say so.
    ended = _why_to_stop(context, number - 1, done, 0.0) if done else None
    while ended is None:
        began = clock.elapsed()
        block = runner.run(number, block)
        context.state.storages.update(ready.housing.found)
        context.keep_state()
        longest = max(longest, clock.elapsed() - began - runner.extra_seconds)
        done, number = done + (runner.loss is None), number + 1
        if runner.loss is not None and not trials:
            # There is nothing to say yet: what was lost is raised where there is no time to make up for it.
            if context.interruption.requested or clock.left() < longest + context.pace.closing():
                raise runner.loss
            continue
        # fewer rounds than were asked for are worse than a short one: the effects of layout differ between rounds
        blocks = context.plan.request.blocks_per_round
        needed = runner.seconds_for(1 if done < context.plan.request.min_rounds else -(-blocks // 2))
        ended = _why_to_stop(context, number - 1, done, needed)
    return ended


def _whole_rounds(context: RunContext) -> int:
    in_round = Counter(trial.round for trial in context.trials)
    return sum(count >= context.plan.trials_in(number) for number, count in in_round.items())


def _why_to_stop(context: RunContext, number: int, done: int, needed: float) -> str | None:
    """Look at what is known after ``done`` rounds, where another needs so many seconds: why to stop, if so."""
    if context.interruption.requested:
        return "time" if context.interruption.is_late else "interrupt"
    request, settings, pace = context.plan.request, context.plan.settings, context.pace
    with pace.timed(Stage.LOOK):
        looks = interim_estimates(context.trials, settings)
    precise = should_stop(looks, budget=request.budget, rounds_done=done, first_look=request.min_rounds)
    if precise and request.budget is not None:
        precise = gate_answered(context.trials, settings)
    used_up = request.max_rounds is not None and done >= request.max_rounds
    late = context.clock.left() < needed + pace.closing()
    is_late = late and not precise and not used_up
    context.observe(InterimAnalysis(number, looks, context.clock.left(), precise or used_up or late, is_late))
    return "precision" if precise else "rounds" if used_up else "time" if late else None


def _answer(
    context: RunContext, ready: Ready, collectors: Collectors, stopped_by: str, short: Caution | None
) -> RunResult:
    """The verdict on what there is, stored; a run that was interrupted can be resumed all the same."""
    interruption, store, elapsed = context.interruption, context.store, context.clock.elapsed()
    context.observe(Phase("judge"))
    if not context.trials:
        raise context.pace.fault() if interruption.is_late else KeyboardInterrupt
    if short is not None and stopped_by == "time":
        context.plan = dataclasses.replace(context.plan, cautions=(*context.plan.cautions, short))
    ending = Ending(stopped_by, interruption.requested and not interruption.is_late, elapsed)
    result = assemble(context, ready, collectors, analyze_run(context.trials, context.plan.settings), ending)
    store.finish(context.run_id, result)
    if ending.interrupted:
        store.set_status(context.run_id, RunStatus.INTERRUPTED)
    return result
