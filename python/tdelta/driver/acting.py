"""An action as it is carried out: what came of it, what it used, how it goes on beside a load.

`tdelta.design.actions` has the names. What each does is its engine's; whoever has a twin carries it out with what is
here, whatever the twin is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tdelta.errors import EnvironmentFault, TdeltaError
from tdelta.measure.pressure import PressureMeter
from tdelta.messages import Refusal
from tdelta.records import Measurement, SpanTotals, Usage

ACTION_SECONDS = 3600.0
"""How long one may take: whoever waits for more waits in vain."""

_LOOK_AGAIN_SECONDS = 0.01

COUNTED = "action_"
"""What the counters of an action begin with, among those of its trial's engine."""

SECONDS = f"{COUNTED}ns"
"""The counter of a trial that has an action: how long that took, ns."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an action.

    Attributes:
        counters: what it counted, by name: whole numbers.
        seconds: how long it took, where that is not the whole of it; None: all of it.
        programs: what was used by processes that are not the database's: they are part of what the action costs.
    """

    counters: Mapping[str, int] = field(default_factory=dict)
    seconds: float | None = None
    programs: Usage = field(default_factory=Usage)


class Act(Protocol):
    """One action, bound to the twin that it is done to."""

    def prepare(self) -> None:
        """Do what must be done first; nothing of it is measured."""

    def perform(self) -> Outcome:
        """Do it.

        Raises:
            TdeltaError: it failed.
        """

    def undo(self) -> None:
        """Have the twin as it was, for the next trial; nothing of it is measured."""


class _Idle:
    """Nothing goes on."""

    def prepare(self) -> None:
        """Nothing."""

    def perform(self) -> Outcome:
        """Nothing."""
        return Outcome()

    def undo(self) -> None:
        """Nothing."""


IDLE: Act = _Idle()
"""What goes on beside the load of a baseline."""


class Halt:
    """Says to an action that it is to end, and waits with it. One for each twin."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def ask(self) -> None:
        """Have whatever waits here end."""
        self._asked.set()

    @property
    def is_asked(self) -> bool:
        """Whether the action is to end."""
        return self._asked.is_set()

    def wait_until(self, is_so: Callable[[], bool], what: str, seconds: float = ACTION_SECONDS) -> None:
        """Look again and again until something is so.

        Raises:
            EnvironmentFault: it is not so in time, or the action is to end.
        """
        give_up = time.monotonic() + seconds
        while not is_so():
            if self._asked.wait(_LOOK_AGAIN_SECONDS):
                raise EnvironmentFault(Refusal.of("action-stopped", what=what))
            if time.monotonic() > give_up:
                raise EnvironmentFault(Refusal.of("action-in-vain", what=what, seconds=seconds))


@contextlib.contextmanager
def prepared(act: Act, halt: Halt) -> Iterator[None]:
    """Prepares an action, and undoes it after the block.

    What cannot be undone after a failure, or after a halt, is of no account: the twin ends.
    """
    try:
        act.prepare()
        yield
    except BaseException:
        with contextlib.suppress(TdeltaError):
            act.undo()
        raise
    with contextlib.suppress(*((TdeltaError,) if halt.is_asked else ())):
        act.undo()


def alone(
    act: Act, level: str, usage: Callable[[], Usage], halt: Halt, ready: Callable[[], None] | None
) -> Measurement:
    """A trial that is an action: how long it took, and what the database used meanwhile.

    Args:
        act: the action.
        level: what it is called among transactions.
        usage: what the database used so far.
        halt: says whether it is to end.
        ready: called when it begins.
    """
    with prepared(act, halt):
        if ready is not None:
            ready()
        before, meter = usage(), PressureMeter()
        meter.start()
        began_ns = time.monotonic_ns()
        outcome = act.perform()
        elapsed_ns = time.monotonic_ns() - began_ns
        pressure = meter.stop()
        used = difference(usage(), before)
    if outcome.seconds is not None:
        elapsed_ns = round(outcome.seconds * 1e9)
    return Measurement(
        operations=1,
        executed_operations=1,
        elapsed_ns=elapsed_ns,
        transactions={level: SpanTotals(1, elapsed_ns)},
        statements={},
        engine_counters=_counted(outcome, elapsed_ns),
        pressure=pressure,
        usage=used + outcome.programs,
    )


class Beside:
    """An action that goes on in a thread of its own while a load runs; it is prepared before, and undone after."""

    def __init__(self, act: Act) -> None:
        self._act = act
        self._outcome: Outcome | None = None
        self._error: BaseException | None = None
        self._elapsed_ns = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        began_ns = time.monotonic_ns()
        try:
            self._outcome = self._act.perform()
        except BaseException as error:
            self._error = error
        self._elapsed_ns = time.monotonic_ns() - began_ns

    @contextlib.contextmanager
    def going_on(self, halt: Halt) -> Iterator[None]:
        """Within the block the action goes on; after it, it has ended, by itself or because it was to.

        Raises:
            EnvironmentFault: it does not end.
            TdeltaError: it failed.
        """
        self._thread.start()
        try:
            yield
        except BaseException:
            halt.ask()
            self._thread.join(ACTION_SECONDS)
            raise
        self._thread.join(ACTION_SECONDS)
        if self._thread.is_alive():
            halt.ask()
            raise EnvironmentFault(Refusal.of("action-in-vain", what="the end of an action", seconds=ACTION_SECONDS))
        if self._error is not None and not halt.is_asked:
            raise self._error

    def added(self, measured: Measurement) -> Measurement:
        """The load's measurement with what the action took and counted; as it is where none came to its end."""
        if self._act is IDLE or self._outcome is None:
            return measured
        outcome = self._outcome
        elapsed_ns = self._elapsed_ns if outcome.seconds is None else round(outcome.seconds * 1e9)
        return dataclasses.replace(
            measured,
            engine_counters={**measured.engine_counters, **_counted(outcome, elapsed_ns)},
            usage=measured.usage + outcome.programs,
        )


def _counted(outcome: Outcome, elapsed_ns: int) -> dict[str, int]:
    return {SECONDS: elapsed_ns, **{f"{COUNTED}{name}": value for name, value in outcome.counters.items()}}


def difference(later: Usage, earlier: Usage) -> Usage:
    """What was used between two looks."""
    pairs = zip(dataclasses.astuple(later), dataclasses.astuple(earlier), strict=True)
    return Usage(*(max(type(a)(0), a - b) for a, b in pairs))
