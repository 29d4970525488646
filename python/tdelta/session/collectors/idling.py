"""Servers left running without work after a round's blocks: what their background work takes, of which no trial knows.

Between trials a server is frozen, so that what it does by itself (encryption threads that look for keys to rotate,
purging, checkpoints by the clock) is only seen while a load runs. Here each instance runs alone, without a load.
"""

from __future__ import annotations

from tdelta.driver.protocol import Idling
from tdelta.inference.idling import IdleUse
from tdelta.messages import RunPart
from tdelta.records import Phase
from tdelta.session.context import Round, RunContext
from tdelta.session.pace import IDLE_HEAD_SECONDS


class IdleServers:
    """What instances used, by the condition's key, one look in each round that had the time."""

    stage = RunPart.of("idle-servers")

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._plan = context.plan
        self._seconds = context.plan.request.design.idle_seconds

    def is_due(self) -> bool:
        """Whether it was asked for, and there is the time to look at all of a round's instances."""
        return self._seconds > 0 and self._context.seconds_left() >= self._context.pace.idling()

    def collect(self, of: Round) -> None:
        """Look at one instance after another. A round that is interrupted meanwhile keeps none of them."""
        context, found = self._context, dict[str, IdleUse]()
        instances = [condition for condition in self._plan.instances() if condition in of.twins]
        for done, condition in enumerate(instances):
            if context.interruption.requested:
                return
            context.observe(Phase("idle", "servers run without work", done, len(instances)))
            _, twin = of.twins[condition]
            if isinstance(twin, Idling):
                with context.interruption.watching(twin):
                    used = twin.idle(self._seconds, IDLE_HEAD_SECONDS)
                cpu_seconds = used.cpu_user_seconds + used.cpu_system_seconds
                found[condition.key] = IdleUse(self._seconds, cpu_seconds, used.syscall_written_bytes)
        if not context.interruption.requested:
            for key, use in found.items():
                context.state.idle.setdefault(key, []).append(use)
