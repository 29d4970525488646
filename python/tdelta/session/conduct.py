"""A run from its first file to its answer.

The stages, in order: make room, load each kind of file once and compare the rows, find how many operations fill a
trial, then rounds of fresh twins until the answer is precise enough or the time is up. Every block is stored before
the next one starts, so whatever ends a run, what it measured stays and `resume` goes on behind it.
"""

from __future__ import annotations

import dataclasses
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from tdelta.design import fresh_seed
from tdelta.design.layout import PLAIN
from tdelta.driver import MakeTwins, TwinFolder, Twins, signals, sweep
from tdelta.errors import ServerLost, StorageFault, TdeltaError, TimeFault, UsageError
from tdelta.inference import enough, gate_answered, judge, look
from tdelta.inference.ledger import ledgers, may_have_much_rest
from tdelta.inference.tails import tail_measures
from tdelta.measure import library_versions, machine_facts
from tdelta.records import Event, Look, Phase, RunPlanned, RunResult, Trial
from tdelta.session.answer import Ending, assemble, explain
from tdelta.session.calibrated import key_of, with_calibration
from tdelta.session.calibration import calibrate
from tdelta.session.checks import Checks
from tdelta.session.evidence import Evidence
from tdelta.session.floors import measure_floors
from tdelta.session.ground import grounded
from tdelta.session.pace import Pace, Stage
from tdelta.session.planning import Plan, plan, request_from_json
from tdelta.session.preflight import check_room, time_caution, with_bb_twin
from tdelta.session.prices import Prices
from tdelta.session.profiling import Profiling
from tdelta.session.request import RunRequest
from tdelta.session.rounds import Clock, Interruption, RoundRunner
from tdelta.session.state import RunState, TrialSize
from tdelta.session.timing import Timing
from tdelta.store import RunStatus, Store

Observer = Callable[[Event], None]


def conduct(
    request: RunRequest,
    observer: Observer,
    *,
    make_twins: MakeTwins | None = None,
    now: Callable[[], float] = time.monotonic,
) -> RunResult:
    """Run what was asked, from the set-up to the verdict, and keep it in the store.

    Ctrl-C during trials ends the run with what is known so far (``interrupted`` in the result).

    Args:
        request: what was asked.
        observer: told what happens.
        make_twins: makes the run's twins in the engine's place; `tdelta.driver.fake` has some for tests.
        now: the clock, seconds.

    Raises:
        UsageError: what was asked cannot be done.
        TimeFault: not even one short round fits into the run's time, as was estimated, or as it turned out to be.
        EnvironmentFault: the machine cannot do it (no room, not writable, no engine).
        StoreError: the store cannot be used.
        KeyboardInterrupt: before there was anything to say.
    """
    clock = Clock(request.max_seconds, now)
    request = dataclasses.replace(request, seed=fresh_seed() if request.seed is None else request.seed)
    with Store.open(request.store) as store, _interruptible(Interruption(), clock, clock.fault):
        run_id = store.fresh_run_id()
        with _forgotten(store, run_id), grounded(request, run_id, observer) as ground:
            made = with_bb_twin(plan(request, run_id, ground.source, ground.servers))
            _make_room(made, clock)
            machine, versions = machine_facts(made.base), library_versions() | made.family.versions()
            key = key_of(made, machine)
            made = with_calibration(made, key, store)
            store.create_run(made.settings, machine, versions)
            state = RunState(key=key)
            _keep_work(made, store, state)
            with ground.entered():
                return _Session(made, store, state, observer, clock, make_twins).run()


def resume(
    run_id: str,
    store_path: Path | None,
    observer: Observer,
    *,
    make_twins: MakeTwins | None = None,
    now: Callable[[], float] = time.monotonic,
) -> RunResult:
    """Complete a run that was cut short: same settings and seed, fresh twins, the next rounds.

    Trials that are stored count; a block that was cut short stays in the store and out of the verdict.

    Args:
        run_id: the run, or the beginning of its id, or ``last``.
        store_path: the store, or None for the default one.
        observer: told what happens.
        make_twins: as for `conduct`.
        now: as for `conduct`.

    Raises:
        UnknownName: there is no such run.
        UsageError: it is complete, or its workload or the library under test has changed since.
    """
    with Store.open(store_path, must_exist=True) as store:
        found = store.resolve(run_id)
        if store.status(found) is RunStatus.DONE:
            raise UsageError(f"run {found} is complete: `tdelta show {found}` repeats its answer")
        settings = store.settings(found)
        request = request_from_json(settings.options)
        _require_same_versions(found, store.versions(found))
        clock = Clock(request.max_seconds, now)
        with _interruptible(Interruption(), clock, clock.fault), grounded(request, found, observer) as ground:
            made = dataclasses.replace(plan(request, found, ground.source, ground.servers), settings=settings)
            state = RunState.of(store, found)
            if state.fingerprint not in (None, made.fingerprint()):
                changed = "workload" if ground.source is None else "database or its workload"
                raise UsageError(f"run {found}: its {changed} has changed since it began; start a new run")
            _require_same_library(found, state.library, made.family.identity())
            _keep_work(made, store, state)  # a run that was killed at once has none yet
            _make_room(made, clock)
            with ground.entered():
                return _Session(made, store, state, observer, clock, make_twins).run()


@contextmanager
def _forgotten(store: Store, run_id: str) -> Iterator[None]:
    """Keep nothing of a run whose time turned out to be too short for any trial."""
    try:
        yield
    except TimeFault:
        store.forget(run_id)
        raise


def _keep_work(plan: Plan, store: Store, state: RunState) -> None:
    """What the run does, by its digest, and with what; on a user's database in full, since it may be a proposal."""
    state.fingerprint, state.library = plan.fingerprint(), plan.family.identity()
    state.database = None if plan.source is None else plan.source.as_json()
    state.keep(store, plan.settings.run_id)


def _require_same_versions(run_id: str, before: Mapping[str, str]) -> None:
    """Trials under another library would be compared with these as if nothing had changed."""
    now = library_versions()
    changed = [f"{name} {before.get(name)} → {now.get(name)}" for name in now if before.get(name) != now[name]]
    if changed:
        raise UsageError(f"run {run_id}: versions have changed since it began ({', '.join(changed)}); start a new run")


def _require_same_library(run_id: str, before: str | None, now: str) -> None:
    """A run without that fact was killed at once, or is of a version that knew one library only."""
    if before not in (None, now):
        raise UsageError(f"run {run_id}: the library under test was {before}, and is now {now}; start a new run")


def _make_room(plan: Plan, clock: Clock) -> None:
    """Remove what killed runs left, then see that there is room, and make the folder."""
    sweep(plan.base)
    check_room(plan, clock.elapsed())
    try:
        plan.base.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageFault(f"cannot make {plan.base}: {error.strerror}; choose another folder with --dir") from error


class _Session:
    """One sitting at a run."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        state: RunState,
        observer: Observer,
        clock: Clock,
        make_twins: MakeTwins | None,
    ) -> None:
        self._plan = plan
        self._store = store
        self._state = state
        self._observe = observer
        self._clock = clock
        self._pace = Pace(plan, clock.elapsed)
        self._short = time_caution(plan, clock.elapsed())
        self._make_twins = make_twins
        self._run_id = plan.settings.run_id
        self._trials: list[Trial] = list(store.trials(self._run_id, histograms=False))
        self._checks = Checks(plan, state)
        self._evidence = Evidence(plan, state)
        self._profiling = Profiling(plan, state)
        self._prices = Prices(plan, state)
        self._timing = Timing(plan, state)
        self._interruption = Interruption()

    def run(self) -> RunResult:
        """All stages. Whatever ends them, the store says how far the run came."""
        self._announce()
        with ExitStack() as stack:
            stack.enter_context(_interruptible(self._interruption, self._clock, self._pace.fault))
            with signals.held():  # or a Ctrl-C could leave a folder that nobody owns
                # Refuses a run that another process is at.
                folder = stack.enter_context(TwinFolder(self._plan.base, self._run_id))
            self._store.set_status(self._run_id, RunStatus.RUNNING)
            try:
                return self._finish(self._measure(folder))
            except BaseException as error:
                status = RunStatus.INTERRUPTED if isinstance(error, KeyboardInterrupt) else RunStatus.FAILED
                with suppress(TdeltaError):  # a store that is full must not hide what went wrong
                    self._store.set_status(self._run_id, status)
                raise

    def _announce(self) -> None:
        request = self._plan.request
        planned = RunPlanned(
            settings=self._plan.settings,
            blocks_per_round=request.blocks_per_round,
            rounds_min=request.min_rounds,
            trial_seconds=request.trial_seconds,
            deadline_seconds=request.max_seconds,
            directory=str(self._plan.base),
        )
        self._observe(planned)
        if self._short is not None:
            self._observe(Phase("time", self._short))

    def _measure(self, folder: TwinFolder) -> Ending:
        with ExitStack() as stack:
            self._profiling.folder = folder.path
            twins = self._twins(folder)
            stack.callback(twins.end)
            return self._measure_on(twins)

    def _measure_on(self, twins: Twins[Any]) -> Ending:
        data_bytes = self._load(twins)
        found = self._calibrate(twins, data_bytes)
        self._measure_floors(twins)
        self._require_time()
        self._interruption.arm()
        stopped_by = self._rounds(twins, found, data_bytes)
        return Ending(
            stopped_by=stopped_by,
            interrupted=self._interruption.requested and not self._interruption.is_late,
            elapsed_seconds=self._clock.elapsed(),
            size=found,
            library=twins.library,
        )

    def _twins(self, folder: TwinFolder) -> Twins[Any]:
        family, job, mix = self._plan.family, self._plan.load_job(), self._plan.mix()
        if self._make_twins is not None:
            return self._make_twins(family.engine, folder, job, mix)
        return family.make_twins(folder, job, mix)

    def _load(self, twins: Twins[Any]) -> int:
        """Load every kind of data, compare the rows, and return the size of the plain one."""
        kinds = self._plan.load_kinds()
        expected = twins.expected_checksums()
        data_bytes = 0
        for number, (kind, condition) in enumerate(kinds.items()):
            settings = self._plan.twin_settings(condition, 0)
            self._observe(Phase("load", self._plan.family.kind_words(settings), number, len(kinds)))
            with self._pace.timed(Stage.LOAD):
                path, sums = twins.load(settings)
                self._checks.loaded("/".join(map(str, kind)), sums, expected)
                self._checks.ciphered(str(kind[0]), is_encrypted=twins.is_encrypted(path))
            data_bytes = data_bytes or twins.data_bytes(path)
            self._require_time()
        if self._plan.source is not None:
            self._plan.source.let_go()
        self._checks.raise_if_rows_differ()
        with self._pace.timed(Stage.OBSERVE):
            self._observe_ciphers(twins)
        self._require_time()
        return data_bytes

    def _require_time(self) -> None:
        """Raise where what is left cannot be done in time, as long as there is nothing else to say."""
        if not self._trials:
            self._pace.require(searches=False)
        self._clock.ring_at_end(self._pace.tidying())

    def _observe_ciphers(self, twins: Twins[Any]) -> None:
        """What engines really encrypt pages with, in runs of their own, before anything is measured."""
        if not self._plan.family.observes_ciphers() or self._state.ciphers is not None:
            return
        found: dict[str, str] = {}
        for condition in self._plan.load_kinds().values():
            cipher = str(condition.level("cipher"))
            if cipher != PLAIN and cipher not in found:
                self._observe(Phase("observe", f"which cipher {cipher} is in fact"))
                found[cipher] = twins.observe(self._plan.twin_settings(condition, 0))
        self._state.ciphers = found
        self._keep_state()

    def _keep_state(self) -> None:
        self._state.keep(self._store, self._run_id)

    def _calibrate(self, twins: Twins[Any], data_bytes: int) -> TrialSize:
        """Find the trial's size, or take the one that an earlier sitting found."""
        self._observe(Phase("calibrate", "how many operations fill a trial"))
        with self._pace.timed(Stage.CALIBRATE):
            found = self._state.trial_size or self._calibrated(twins, data_bytes)
        self._pace.filled(found.trial_seconds)
        self._state.trial_size = found
        self._keep_state()
        return found

    def _calibrated(self, twins: Twins[Any], data_bytes: int) -> TrialSize:
        try:
            return calibrate(self._plan, twins, data_bytes)
        except ServerLost as loss:
            self._checks.lost(0, "calibration", loss.said)
            return calibrate(self._plan, twins, data_bytes)

    def _measure_floors(self, twins: Twins[Any]) -> None:
        if self._state.floors is None:
            self._observe(Phase("floor", "what the cipher alone takes for a page"))
            self._state.floors = measure_floors(self._plan, twins)
            self._keep_state()

    def _rounds(self, twins: Twins[Any], found: TrialSize, data_bytes: int) -> str:
        """Rounds until the answer is precise enough, the rounds are used up, or the time is. Returns which."""
        runner = RoundRunner(
            self._plan,
            twins,
            found,
            data_bytes,
            keep=self._keep,
            observe=self._observe,
            checks=self._checks,
            evidence=self._evidence,
            profiling=self._profiling,
            prices=self._prices,
            timing=self._timing,
            has_much_rest=self._has_much_rest,
            clock=self._clock,
            pace=self._pace,
            interruption=self._interruption,
        )
        done = self._whole_rounds()
        number = max((trial.round for trial in self._trials), default=-1) + 1
        block = max((trial.block for trial in self._trials), default=-1) + 1
        longest = 0.0
        # An earlier sitting may have come to the end of its rounds, and died before it could say so.
        ended = self._look(number - 1, done, 0.0) if done else None
        while ended is None:
            began = self._clock.elapsed()
            block = runner.run(number, block)
            self._keep_state()
            longest = max(longest, self._clock.elapsed() - began - runner.extra_seconds)
            done, number = done + (runner.loss is None), number + 1
            if runner.loss is not None and not self._trials:
                self._require_time_after(runner.loss, longest)
                continue
            # fewer rounds than were asked for are worse than a short one: luck of layout differs between rounds
            needed = runner.shortest_seconds() if done < self._plan.request.min_rounds else longest
            ended = self._look(number - 1, done, needed)
        return ended

    def _has_much_rest(self) -> bool:
        """Whether lines leave much of some condition's extra CPU unexplained, as far as is known."""
        explained = explain(self._plan, self._state, None)
        return any(map(may_have_much_rest, ledgers(self._trials, self._plan.settings, explained)))

    def _require_time_after(self, loss: ServerLost, longest: float) -> None:
        """Raise what was lost where there is no time to make up for it, and nothing else to say."""
        if self._interruption.requested or self._clock.left() < longest + self._pace.closing():
            raise loss

    def _whole_rounds(self) -> int:
        """Rounds of earlier sittings that came to their end."""
        in_round = Counter(trial.round for trial in self._trials)
        return sum(count >= self._plan.trials_in(number) for number, count in in_round.items())

    def _look(self, number: int, done: int, needed: float) -> str | None:
        """Look at what is known after ``done`` rounds, where another needs so many seconds: why to stop, if so."""
        if self._interruption.requested:
            return "time" if self._interruption.is_late else "interrupt"
        request = self._plan.request
        with self._pace.timed(Stage.LOOK):
            looks = look(self._trials, self._plan.settings)
        precise = enough(looks, budget=request.budget, rounds_done=done, first_look=request.min_rounds)
        if precise and request.budget is not None:
            precise = gate_answered(self._trials, self._plan.settings)
        used_up = request.max_rounds is not None and done >= request.max_rounds
        late = self._clock.left() < needed + self._pace.closing()
        self._observe(Look(number, looks, self._clock.left(), precise or used_up or late))
        return "precision" if precise else "rounds" if used_up else "time" if late else None

    def _keep(self, trial: Trial) -> int:
        """Store a trial durably; keep it without its histograms. Returns how many there are."""
        self._store.add_trial(self._run_id, trial)
        bare = dataclasses.replace(trial.measurement, histograms={})
        self._trials.append(dataclasses.replace(trial, measurement=bare))
        return len(self._trials)

    def _finish(self, ending: Ending) -> RunResult:
        ending = dataclasses.replace(ending, elapsed_seconds=self._clock.elapsed())  # its files are gone by now
        self._observe(Phase("judge"))
        if not self._trials:
            self._store.set_status(self._run_id, RunStatus.INTERRUPTED)
            raise KeyboardInterrupt
        if self._short is not None and ending.stopped_by == "time":
            self._plan = dataclasses.replace(self._plan, cautions=(*self._plan.cautions, self._short))
        judgement = judge(self._trials, self._plan.settings)
        tails = tail_measures(self._trials, self._plan.settings, lambda: self._store.iter_trials(self._run_id))
        result = assemble(
            self._plan,
            judgement,
            self._trials,
            self._checks,
            self._evidence,
            ending,
            state=self._state,
            tails=tails,
            profiling=self._profiling,
            machine=self._store.machine(self._run_id),
            versions=self._store.versions(self._run_id),
        )
        self._store.finish(self._run_id, result)
        if ending.interrupted:
            self._store.set_status(self._run_id, RunStatus.INTERRUPTED)
        return result


@contextmanager
def _interruptible(interruption: Interruption, clock: Clock, fault: Callable[[], TimeFault]) -> Iterator[None]:
    """Turn Ctrl-C, SIGTERM and a closed terminal into a request, or, with nothing to say yet, KeyboardInterrupt.

    The end of the run's time is such a request, too, whatever stage it falls into; with nothing to say, ``fault``.
    Where signals are not tdelta's, neither: Ctrl-C is then the `KeyboardInterrupt` that Python makes of it, and the
    time is looked at between stages alone.
    """
    if not signals.are_ours():
        yield
        return

    def handle(number: int, _frame: FrameType | None) -> None:
        signals.deliver(interruption.ring if number == signal.SIGALRM else interruption.request)

    before = {number: signal.signal(number, handle) for number in (*signals.ENDING, signal.SIGALRM)}
    try:
        clock.ring_at_end()
        yield
    except KeyboardInterrupt:
        if interruption.is_out_of_time:
            raise fault() from None
        raise
    finally:
        clock.never_ring()
        for number, handler in before.items():
            signal.signal(number, handler)
