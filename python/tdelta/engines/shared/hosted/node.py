"""What runs on a host: an actor of Ray's, in whose process twins live as they do in tdelta's own.

Their folder, its keeper, workers and supervisors are the node's. Where the actor dies, by whatever signal, the end of
their input is the end of these, too, and nothing stays.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import traceback
from contextlib import ExitStack
from typing import Any

from tdelta import own_folders
from tdelta.driver import AnyJob, TwinFolder, WorkloadSpec, sweep
from tdelta.driver.agents.bridge import Node, packed, unpacked
from tdelta.driver.agents.hosts import Call
from tdelta.driver.files import default_base
from tdelta.driver.workers import hurry
from tdelta.engines.registry import driver
from tdelta.errors import Defect, StorageFault, TdeltaError
from tdelta.measure import require_memory, require_space, require_writable
from tdelta.measure.private import UMASK
from tdelta.messages import Refusal


class TwinNode(Node):
    def __init__(self) -> None:
        os.umask(UMASK)
        self._stack = ExitStack()
        self._numbers = itertools.count(1)
        self._made: dict[int, Any] = {}
        self._twins: Any = None

    def call(self, payload: str) -> str:
        """Carry out a `Call`; the answer is what it returns, or the error that it raises."""
        call: Call = unpacked(payload)
        try:
            return packed(self._carried_out(call))
        except TdeltaError as fault:
            return packed(fault)
        except Exception:  # or Ray would say that the host is lost
            return packed(Defect(traceback.format_exc()))

    def stop(self) -> None:
        """Have a trial that is running end after the operation it is at, and anything else within seconds.

        It is the last that is asked of this node but `end`.
        """
        hurry()
        for twin in list(self._made.values()):
            with contextlib.suppress(TdeltaError):
                twin.stop()

    def end(self) -> None:
        with contextlib.suppress(TdeltaError):
            self._stack.close()

    def _carried_out(self, call: Call) -> Any:
        match call.method:
            case "begin":
                return self._begin(*call.arguments)
            case "start" | "join":
                return self._start(call)
            case "end":
                return self._ended(call.twin)
        target = self._twins if call.twin is None else self._made[call.twin]
        return getattr(target, call.method)(*call.arguments)

    def _begin(
        self,
        engine: str,
        options: dict[str, Any],
        run: str,
        needs: tuple[int, int],
        job: AnyJob,
        mix: WorkloadSpec,
    ) -> dict[str, str]:
        found = driver(engine, options)
        base = options["directory"] or default_base()
        sweep(base)
        try:
            own_folders.ensure(base)
        except OSError as error:
            raise StorageFault(Refusal.of("folder-unusable", folder=base, fault=error.strerror)) from error
        require_writable(base)
        require_space(base, needs[0])
        require_memory(needs[1])
        folder = self._stack.enter_context(TwinFolder(base, run))
        self._twins = found.make_twins(folder, job, mix)
        self._stack.callback(self._twins.end)
        return {**found.versions(), "library": self._twins.library}

    def _start(self, call: Call) -> int:
        """Start a twin, or join one by its number; returns the new one's number."""
        first, *rest = call.arguments
        made = self._twins.start(first, *rest) if call.method == "start" else self._twins.join(self._made[first], *rest)
        number = next(self._numbers)
        self._made[number] = made
        self._stack.callback(self._ended, number)
        return number

    def _ended(self, number: int | None) -> None:
        twin = self._made.pop(number or 0, None)
        if twin is not None:
            twin.end()
