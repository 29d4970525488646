"""The process that speaks to Ray, and the only one of tdelta's that imports it besides Ray's own.

It is spoken to as a worker is (`tdelta.driver.worker_protocol`). When its input ends, tdelta is gone, by whatever
signal: then it ends the agents, and a Ray that it started, whose folder it removes. Agents are spread over the nodes
that have CPUs; a Ray head that is to have none is started with ``--num-cpus=0``.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tdelta.driver.agents.chunks import LEAST_SECONDS, HandOut
from tdelta.driver.agents.cluster import (
    LOOK_SECONDS,
    STOP_SECONDS,
    Placing,
    Refused,
    end_with,
    joined,
    kill,
    serve,
    words,
)
from tdelta.driver.agents.host import Agent, machine
from tdelta.driver.worker_protocol import Reply, Request

_CLOCK_SECONDS = 90.0
_PINGS = 5
_LEAST_LEAD_NS = 20_000_000
_MOST_LEAD_NS = 2_000_000_000
_LEAD_GROWTH = 2
_MOST_WAITED = 0.01
"""The share of a trial that an agent may wait for chunks before those of the next trial are made larger."""

_CHUNK_GROWTH, _CHUNK_DECAY = 2.0, 0.9
_MOST_CHUNK = 0.05
"""The share of a trial that its chunks take at the most for that reason."""

_GENTLE_SECONDS = 5.0
_CALLS = 8
"""How many of an agent's methods Ray may run at once."""


@dataclass(slots=True)
class _Placed:
    """An agent where it is. Its clock less this process's is ``offset_ns``, give or take ``error_ns``."""

    actor: Any
    node_id: str
    said: Mapping[str, Any]
    offset_ns: int = 0
    error_ns: int = 0
    open: set[str] = field(default_factory=set)

    @property
    def where(self) -> str:
        return str(self.said["node"])


class _Feeding:
    """The hand-out of one trial's chunks: a call to each agent that gives it one, and returns when it wants another."""

    def __init__(self, agents: Mapping[int, _Placed], twin: str, number: int, chunks: HandOut) -> None:
        self._agents = agents
        self._twin = twin
        self._number = number
        self._chunks = chunks
        self.asked: dict[Any, int] = {}
        """The agents by the calls that have not returned."""

    def begin(self) -> dict[int, Reply]:
        firsts = {agent: self._chunks.first(agent) for agent in self._agents}
        is_complete = self._chunks.is_over
        return {
            agent: {"number": self._number, "chunks": first, "is_complete": is_complete}
            for agent, first in firsts.items()
        }

    def ask(self) -> None:
        if not self._chunks.is_over:
            for agent in self._agents:
                self._call(agent, None, is_next=False)

    def answer(self, ref: Any, *, is_wanted: bool) -> None:
        agent = self.asked.pop(ref)
        if is_wanted and self._agents[agent].actor is not None:
            self._call(agent, self._chunks.next(agent), is_next=True)

    def _call(self, agent: int, chunk: tuple[int, int] | None, *, is_next: bool) -> None:
        call = self._agents[agent].actor.feed
        self.asked[call.remote(self._twin, self._number, chunk, is_next)] = agent


class Coordinator:
    def __init__(self) -> None:
        self._ray: Any = None
        self._agents: dict[int, _Placed] = {}
        self._twins: dict[str, Reply] = {}
        self._stopped = threading.Event()
        self._is_over = threading.Event()
        self._folder = ""
        self._lead_ns = _LEAST_LEAD_NS
        self._replaced = 0
        self._numbers = itertools.count(1)
        self._per_second: dict[int, float] = {}
        self._chunk_seconds = LEAST_SECONDS

    def answer(self, request: Request) -> Reply:
        try:
            return {"ok": getattr(self, f"do_{request['do']}")(request)}
        except Refused as refusal:
            return {"error": list(refusal.args)}

    def request_stop(self) -> None:
        self._stopped.set()
        self._stop_agents()

    def clear_stop(self) -> None:
        self._stopped.clear()

    def do_start(self, request: Request) -> Reply:
        """Join a cluster, or start a Ray of this machine's, and place the agents."""
        self._folder = request["folder"]
        ray = joined(request["address"], self._folder, request["agents"])
        self._ray = ray
        self._place(range(1, request["agents"] + 1))
        return {"ray": ray.__version__, "agents": self._introductions()}

    def do_open(self, request: Request) -> Reply:
        self._twins[request["twin"]] = request
        return {"answers": self._opened(request["twin"])}

    def do_trial(self, request: Request) -> Reply:
        """One trial by all agents at once. Where one is lost, the others end, and another is placed for it."""
        twin, seconds = request["twin"], float(request["patience_seconds"])
        failed = {name: found for name, found in self._opened(twin).items() if "ok" not in found}
        if failed:
            return self._since_start(failed, 0)
        if lost := self._see_clocks():
            return self._since_start(lost, 0)
        segments = self._twins[twin]["segments"]
        chunks = self._chunks(request["trial"], segments)
        feeding = None if chunks is None else _Feeding(self._agents, twin, next(self._numbers), chunks)
        fed = {} if feeding is None else feeding.begin()
        begin_ns = time.monotonic_ns() + self._lead_ns
        refs = {
            number: agent.actor.trial.remote(
                twin,
                {**request["trial"], "segment": segments[number - 1]},
                begin_ns + agent.offset_ns,
                seconds,
                fed.get(number),
            )
            for number, agent in self._agents.items()
        }
        if feeding is not None:
            feeding.ask()
        found = self._gather(refs, seconds, feeding)
        if chunks is not None:
            self._learn(chunks, found)
        answered = self._since_start(found, begin_ns)
        starts = [one["ok"]["began_ns"] for one in answered["answers"].values() if "ok" in one]
        late_ns = max(starts, default=0)
        if late_ns > _LEAST_LEAD_NS:  # an agent heard of the start when it was over
            self._lead_ns = min(_MOST_LEAD_NS, _LEAD_GROWTH * (self._lead_ns + late_ns))
        return answered

    def do_close(self, request: Request) -> Reply:
        self._twins.pop(request["twin"], None)
        refs = {}
        for number, agent in self._agents.items():
            if request["twin"] in agent.open and agent.actor is not None:  # what was lost has let go of all
                agent.open.discard(request["twin"])
                refs[number] = agent.actor.close.remote(request["twin"])
        self._gather(refs, STOP_SECONDS)
        self._replace()
        return {}

    def leave(self) -> None:
        self._is_over.set()

    def end(self) -> None:
        """Leave nothing: no agent, no worker, and of a Ray of our own no process and no folder."""
        self._is_over.set()
        there = [agent.actor for agent in self._agents.values() if agent.actor is not None]
        end_with(self._ray, there, self._folder, _GENTLE_SECONDS)

    def _place(self, numbers: Sequence[int]) -> None:
        """Start agents, each on the node that has the fewest."""
        others = [agent.node_id for number, agent in self._agents.items() if number not in numbers]

        def fewest(nodes: Mapping[str, str], chosen: Mapping[int, str]) -> str:
            taken = Counter([*others, *chosen.values()])
            return min(nodes, key=lambda one: (taken[one], one))

        for number, one in Placing(self._ray, Agent, _CALLS, fewest, self._is_over).place(numbers).items():
            self._agents[number] = _Placed(one.handle, one.node_id, one.said)

    def _opened(self, twin: str) -> dict[int, Reply]:
        """Have every agent connect to a twin that it is not connected to, as one is that was placed anew."""
        self._replace()
        order = self._twins[twin]
        refs = {}
        for number, agent in self._agents.items():
            if twin not in agent.open:
                segment = order["segments"][number - 1]
                connect = {"options": order["options"], "connections": segment["to"] - segment["from"]}
                said = {name: order[name] for name in ("program", "observe", "work", "patience_seconds")}
                refs[number] = agent.actor.open.remote(twin, {**said, "connect": connect})
        found = self._gather(refs, float(order["patience_seconds"]))
        for number, one in found.items():
            if "ok" in one:
                self._agents[number].open.add(twin)
        return found

    def _replace(self) -> None:
        lost = [number for number, agent in self._agents.items() if agent.actor is None]
        if lost:
            self._place(lost)
            self._replaced += len(lost)

    def _chunks(self, trial: Request, segments: Sequence[Request]) -> HandOut | None:
        """The operations of a trial that are handed out: those that are recorded of a closed loop."""
        if trial["pace"]["kind"] != "closed":
            return None
        connections = {number: one["to"] - one["from"] for number, one in enumerate(segments, 1)}
        known, least = self._per_second, self._chunk_seconds
        return HandOut(trial["discard"], trial["operations"], connections, known, least)

    def _learn(self, chunks: HandOut, found: Mapping[int, Request]) -> None:
        """Keep what the next trial is handed out by: how fast agents were, and whether they had to wait for chunks."""
        there = {number for number, agent in self._agents.items() if agent.actor is not None}
        self._per_second = {number: speed for number, speed in chunks.per_second().items() if number in there}
        outcomes = [one["ok"]["outcome"] for one in found.values() if "ok" in one]
        seconds = max((one["elapsed_ns"] for one in outcomes), default=0) * 1e-9
        waited_seconds = max((one["waited_ns"] for one in outcomes), default=0) * 1e-9
        changed = self._chunk_seconds * (_CHUNK_GROWTH if waited_seconds > _MOST_WAITED * seconds else _CHUNK_DECAY)
        self._chunk_seconds = max(LEAST_SECONDS, min(_MOST_CHUNK * seconds, changed))

    def _gather(self, refs: Mapping[int, Any], seconds: float, feeding: _Feeding | None = None) -> dict[int, Reply]:
        """All answers, as they come; ``{"lost": words}`` of an agent that died or is silent: then the others stop."""
        found: dict[int, Reply] = {}
        pending = {ref: number for number, ref in refs.items()}
        give_up = time.monotonic() + seconds
        while pending and not self._is_over.is_set():
            asked = {} if feeding is None else feeding.asked
            done, _ = self._ray.wait([*asked, *pending], num_returns=1, timeout=LOOK_SECONDS)
            for ref in done:
                if feeding is not None and ref in asked:
                    feeding.answer(ref, is_wanted=self._is_wanted(ref))
                    continue
                number = pending.pop(ref)
                try:
                    found[number] = self._ray.get(ref) or {"ok": {}}
                except Exception as fault:  # Ray's, of its actor or its node
                    found[number] = {"lost": words(fault)}
                if "lost" in found[number]:
                    self._lose(number)
                    give_up = min(give_up, time.monotonic() + STOP_SECONDS)
                    self._stopped.set()
            if self._stopped.is_set() and pending:
                self._stop_agents()  # again, since one may not have begun when it was first asked to end
            if pending and time.monotonic() > give_up:
                for number in pending.values():
                    found[number] = {"lost": f"no answer within {seconds:.0f} s"}
                    self._lose(number)
                break
        return found

    def _is_wanted(self, ref: Any) -> bool:
        """What such a call of `_Feeding` returned; where its agent died, the trial's own call says so."""
        try:
            return bool(self._ray.get(ref)) and not self._stopped.is_set()
        except Exception:  # Ray's, of its actor or its node
            return False

    def _lose(self, number: int) -> None:
        agent = self._agents[number]
        kill(self._ray, agent.actor)
        agent.actor = None

    def _stop_agents(self) -> None:
        for agent in list(self._agents.values()):
            if agent.actor is not None:
                with contextlib.suppress(Exception):
                    agent.actor.stop.remote()

    def _see_clocks(self) -> dict[int, Reply]:
        """See how far the clocks of other machines are from this one's, which agents of this machine share.

        The best of a few questions: its answer was read between asking and hearing, so that the error is half of that.
        Returns those that are lost.
        """
        own = machine()
        lost: dict[int, Reply] = {}
        for number, agent in self._agents.items():
            if agent.said["machine"] == own:
                continue
            seen = []
            try:
                for _ in range(_PINGS):
                    asked_ns = time.monotonic_ns()
                    clock_ns = self._ray.get(agent.actor.clock_ns.remote(), timeout=_CLOCK_SECONDS)
                    heard_ns = time.monotonic_ns()
                    seen.append(((heard_ns - asked_ns) // 2, clock_ns - (asked_ns + heard_ns) // 2))
            except Exception as fault:  # Ray's, of its actor or its node
                lost[number] = {"lost": words(fault)}
                self._lose(number)
                continue
            agent.error_ns, agent.offset_ns = min(seen)
        return lost

    def _since_start(self, found: Mapping[int, Request], begin_ns: int) -> Reply:
        """Answers, with times since the start that was set, by this process's clock."""
        answers: dict[str, Reply] = {}
        for number, one in sorted(found.items()):
            agent = self._agents[number]
            if "ok" in one and "began_ns" in one["ok"]:
                zero_ns = begin_ns + agent.offset_ns
                times = {name: one["ok"][name] - zero_ns for name in ("began_ns", "ended_ns")}
                one = {"ok": {**one["ok"], **times, "clock_error_ns": agent.error_ns}}
            answers[str(number)] = {**one, "node": agent.where}
        return {"answers": answers, "replaced": self._replaced}

    def _introductions(self) -> list[Reply]:
        return [{"name": str(number), **agent.said} for number, agent in sorted(self._agents.items())]


if __name__ == "__main__":
    serve(Coordinator())
