"""An action as it is carried out: what came of it, what it used, how it goes on beside a load.

`tdelta.design.actions` has the names. What each does is its engine's; whoever has a twin carries it out with what is
here, whatever the twin is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tdelta.errors import EnvironmentFault, TdeltaError
from tdelta.measure.children import Child, ready
from tdelta.measure.pressure import PressureMeter
from tdelta.messages import Refusal
from tdelta.records import Measurement, Usage
from tdelta.records.trials import Circumstances

ACTION_SECONDS = 3600.0
"""How long one may take: whoever waits for more waits in vain."""

_LOOK_AGAIN_SECONDS = 0.01

COUNTED = "action_"
"""The prefix of an action's counters, among those of its trial's engine."""

SECONDS = f"{COUNTED}ns"
"""The counter of a trial that has an action: how long that took, ns."""

WHILE_NS, WHILE_WORK = "while_ns", "while_statements"
"""Counters of a trial beside whose load something may go on: of the stretch in which it does, and the load as well, how
long that was, ns, and how many statements of the load the database executed in it. Of a trial with nothing beside its
load it is the stretch from when that would begin: after the head of the trial that is not recorded."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an action: its counts by name, and its ``seconds`` where these are not all that passed.

    ``programs`` were used that are not the database's: they are part of what the action costs. One that ``stops`` has
    stopped the database's processes now and then, which is then no standstill of theirs.
    """

    counters: Mapping[str, int] = field(default_factory=dict)
    seconds: float | None = None
    programs: Usage = field(default_factory=Usage)
    stops: bool = False


class Act(ABC):
    """One action, bound to the twin that it is done to. Only `perform` is measured."""

    def prepare(self) -> None:
        """Do what must be done first."""
        return

    @abstractmethod
    def perform(self) -> Outcome:
        """Do it; raises ``TdeltaError`` where it failed."""

    def inspect(self) -> Mapping[str, int]:
        """Counts of what it has left, by name; raises ``TdeltaError`` where that is not what it should be."""
        return {}

    def undo(self) -> None:
        """Have the twin as it was, for the next trial."""
        return


THERE, DELETED = "there", "deleted"
"""Rows that an action leaves in the clear: those that are in the database, and those that were deleted before it."""

_LEFT = "left"


def left(rows: str, file_class: str) -> str:
    """How `Act.inspect` names the markers that are found in the clear in files of a class."""
    return f"{_LEFT}:{rows}:{file_class}"


def as_left(counter: str) -> tuple[str, str] | None:
    """The rows and the class of files that a counter of a trial is of; None of others."""
    name, *parts = counter.removeprefix(COUNTED).split(":")
    return (parts[0], parts[1]) if name == _LEFT and len(parts) == 2 else None


class _Idle(Act):
    def perform(self) -> Outcome:
        return Outcome()


IDLE = _Idle()
"""The action beside the load of a baseline."""


class Halt:
    """Says to an action that it is to end, and waits with it. One for each twin."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def ask(self) -> None:
        self._asked.set()

    @property
    def is_asked(self) -> bool:
        return self._asked.is_set()

    def pause(self, seconds: float) -> None:
        self._asked.wait(seconds)

    def wait_for(self, child: Child, what: str, seconds: float = ACTION_SECONDS) -> Any:
        """The answer of a process to a request that was sent; raises as `wait_until` and `Child.answer` do."""
        self.wait_until(lambda: bool(ready([child], _LOOK_AGAIN_SECONDS)), what, seconds, 0.0)
        return child.answer()

    def wait_until(
        self,
        is_so: Callable[[], bool],
        what: str,
        seconds: float = ACTION_SECONDS,
        look_again_seconds: float = _LOOK_AGAIN_SECONDS,
    ) -> None:
        """Look until something is so; raises ``EnvironmentFault`` where it is not in time, or the action is to end."""
        give_up = time.monotonic() + seconds
        while not is_so():
            if self._asked.wait(look_again_seconds):
                raise EnvironmentFault(Refusal.of("action-stopped", what=what))
            if time.monotonic() > give_up:
                raise EnvironmentFault(Refusal.of("action-stopped", what=f"{what}, for {seconds:.0f} s"))


class Peak:
    """The most by which a quantity rises within a block; a rise between two looks is missed."""

    def __init__(self, now: Callable[[], int], look_seconds: float) -> None:
        self._now = now
        self._look_seconds = look_seconds
        self._is_over = threading.Event()
        self._before = self._most = 0

    @property
    def rise(self) -> int:
        return self._most - self._before

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        self._before = self._most = self._now()
        watcher = threading.Thread(target=self._watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            self._is_over.set()
            watcher.join()

    def _watch(self) -> None:
        while True:
            is_over = self._is_over.wait(self._look_seconds)
            self._most = max(self._most, self._now())
            if is_over:
                return


@contextlib.contextmanager
def prepared(act: Act, halt: Halt) -> Iterator[None]:
    """Prepares an action, and undoes it after the block; after a failure or a halt a fault of that does not matter."""
    try:
        act.prepare()
        yield
    except BaseException:
        with contextlib.suppress(TdeltaError):
            act.undo()
        raise
    with contextlib.suppress(*((TdeltaError,) if halt.is_asked else ())):
        act.undo()


def alone(act: Act, level: str, usage: Callable[[], Usage], halt: Halt, ready: Callable[[], None]) -> Measurement:
    """A trial that is an action, called ``level``: how long it took, and what the database used meanwhile."""
    with prepared(act, halt):
        ready()
        before, meter = usage(), PressureMeter()
        outcome, elapsed_ns = _performed(act)
        pressure = meter.stop()
        used = difference(usage(), before)
        measured = Measurement.of_one(
            level,
            elapsed_ns,
            engine_counters=_counted(outcome, elapsed_ns),
            pressure=pressure,
            usage=used + outcome.programs,
        )
        return inspected(act, measured)


def inspected(act: Act, measured: Measurement) -> Measurement:
    return dataclasses.replace(measured, engine_counters={**measured.engine_counters, **_named(act.inspect())})


def of_recorded(measured: Measurement) -> Measurement:
    """The share of the CPU time that falls to the recorded operations, out of that of all executed ones."""
    share = measured.operations / max(1, measured.counted_operations)
    used = measured.usage
    cpu = {name: share * getattr(used, name) for name in ("cpu_user_seconds", "cpu_system_seconds")}
    return dataclasses.replace(measured, usage=dataclasses.replace(used, **cpu))


class Beside:
    """An action that goes on in a thread of its own while a load runs; it is prepared before, and undone after.

    ``executed`` says how many statements of loads the database has executed so far, where it counts them.
    """

    def __init__(self, act: Act, executed: Callable[[], int] | None = None, head_seconds: float = 0.0) -> None:
        self._act = act
        self._executed = executed
        self._head_seconds = head_seconds
        self._began: tuple[int, int] | None = None
        """The time, ns, and how many statements of the load were executed until then."""

        self._ended: tuple[int, int] | None = None
        self._load_ended_ns = 0
        self._outcome: Outcome | None = None
        self._error: BaseException | None = None
        self._elapsed_ns = 0

    def _run(self, halt: Halt) -> None:
        try:
            halt.pause(self._head_seconds)
            self._began = self._mark()
            self._outcome, self._elapsed_ns = _performed(self._act)
            self._ended = None if self._act is IDLE else self._mark()
        except BaseException as error:
            self._error = error

    @contextlib.contextmanager
    def going_on(self, halt: Halt) -> Iterator[None]:
        """Within the block, the load, the action goes on; after it, it has ended: by itself, or when halted."""
        thread = threading.Thread(target=self._run, args=(halt,), daemon=True)
        thread.start()
        try:
            yield
        except BaseException:
            halt.ask()
            thread.join(ACTION_SECONDS)
            raise
        self._load_ended_ns = time.monotonic_ns()
        thread.join(ACTION_SECONDS)
        if thread.is_alive():
            halt.ask()
            what = f"the end of an action, for {ACTION_SECONDS:.0f} s"
            raise EnvironmentFault(Refusal.of("action-stopped", what=what))
        if self._error is not None and not halt.is_asked:
            raise self._error

    def added(self, measured: Measurement) -> Measurement:
        """The load's measurement with what the action took and counted; as it is where none came to its end."""
        if self._outcome is None:
            return measured
        counters, outcome = {**measured.engine_counters, **self._while()}, self._outcome
        if self._act is not IDLE:
            counters |= _counted(outcome, self._elapsed_ns)
        return dataclasses.replace(
            measured,
            engine_counters=counters,
            usage=measured.usage + outcome.programs,
            circumstances=Circumstances("" if outcome.stops else measured.standstill),
        )

    def _mark(self) -> tuple[int, int] | None:
        if self._executed is None:
            return None
        work = self._executed()
        return time.monotonic_ns(), work

    def _while(self) -> dict[str, int]:
        """The stretch from the action's beginning to its end or the load's, whichever came first."""
        if self._began is None or self._executed is None:
            return {}
        of_load = (self._load_ended_ns, self._executed())
        ended_ns, work = min(self._ended or of_load, of_load)
        return {WHILE_NS: max(0, ended_ns - self._began[0]), WHILE_WORK: work - self._began[1]}


def _performed(act: Act) -> tuple[Outcome, int]:
    """The outcome of an action, and how long it took, ns."""
    began_ns = time.monotonic_ns()
    outcome = act.perform()
    elapsed_ns = time.monotonic_ns() - began_ns
    return outcome, elapsed_ns if outcome.seconds is None else round(outcome.seconds * 1e9)


def _counted(outcome: Outcome, elapsed_ns: int) -> dict[str, int]:
    return {SECONDS: elapsed_ns, **_named(outcome.counters)}


def _named(counters: Mapping[str, int]) -> dict[str, int]:
    return {f"{COUNTED}{name}": value for name, value in counters.items()}


def difference(later: Usage, earlier: Usage) -> Usage:
    pairs = zip(dataclasses.astuple(later), dataclasses.astuple(earlier), strict=True)
    return Usage(*(max(type(a)(0), a - b) for a, b in pairs))
