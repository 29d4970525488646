"""Load agents: processes on this machine or on more that share the operations of each trial.

Ray places, starts, watches and ends them. What is in the hot path is tdelta's load loop, in a worker process on each
node (`Agent`), which is given its segment of the operations and asked for what it measured. The process that speaks to
Ray has `LoadAgents`, which sets the start of each trial and hands out its operations; the session has an `AgentPool`,
and adds up what the agents measured (`merging`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

from tdelta.errors import EnvironmentFault, ServerLost, TdeltaError
from tdelta.measure.children import Declined, taken
from tdelta.messages import Refusal
from tdelta.processes.actions import of_recorded
from tdelta.processes.answers import SETTLE_SECONDS, connect_seconds, measurement
from tdelta.processes.jobs import TrialJob
from tdelta.processes.load_generator.trial import with_server
from tdelta.processes.workers import GRACE_SECONDS, PROGRAM, Worker, failure
from tdelta.ray import merging
from tdelta.ray.bridge import Bridge, Node, NodesRequest, machine, network
from tdelta.ray.chunks import LEAST_SECONDS, HandOut
from tdelta.ray.cluster import STOP_SECONDS, Cluster, OnCluster, words
from tdelta.records import Measurement
from tdelta.records.trials import AgentPart, Circumstances

Answer = dict[str, Any]

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

_CALLS = 8
"""How many of an agent's methods Ray may run at once."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Wishes:
    """The resources that trials, by number, wanted and did not get yet. A later trial has a larger number."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open: Counter[int] = Counter()
        self._over = 0

    def add(self, number: int) -> None:
        with self._changed:
            self._open[number] += 1
            self._changed.notify_all()

    def end(self, number: int) -> None:
        with self._changed:
            self._over = max(self._over, number)
            self._open.clear()
            self._changed.notify_all()

    def take(self, number: int) -> bool:
        """Wait until a trial wants more, which it may before it has begun; False when it is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._over >= number or self._open[number] > 0)
            if self._over >= number:
                return False
            self._open[number] -= 1
            return True


class Agent(Node):
    """One agent: an actor of Ray's, with a worker process for each twin that is open.

    Answers are JSON values: ``{"ok": …}``, ``{"error": [kind, message]}`` for what a database or a machine refused, and
    ``{"lost": words}`` where a worker died. Passwords are in arguments of `open`, and go on to a worker's standard
    input.
    """

    def __init__(self) -> None:
        self._workers: dict[str, Worker] = {}
        self._wishes = Wishes()

    def clock_ns(self) -> int:
        return time.monotonic_ns()

    def open(self, twin: str, order: Mapping[str, Any]) -> Answer:
        """Connect to a twin's server, in a worker of its own, and prepare the transactions."""

        def begin() -> Answer:
            self._end(twin)
            worker = self._workers[twin] = Worker(program=order["program"])
            seconds = float(order["patience_seconds"])
            _asked(worker, "connect", seconds, options=order["options"], connections=order["connections"])
            _asked(worker, "observe", seconds, observed={"watch": [], "counters": []})
            _asked(worker, "prepare", seconds, **order["work"])
            return {"pid": worker.pid}

        return self._answered(twin, begin)

    def trial(
        self, twin: str, trial: Mapping[str, Any], begin_ns: int, seconds: float, fed: Mapping[str, Any] | None = None
    ) -> Answer:
        """Run this agent's part of one trial, from a time of this machine's monotonic clock on.

        With ``fed`` (``number``, ``chunks``, ``is_complete``) it is given its operations while it runs, see `feed`.
        """
        order: dict[str, Any] = {"trial": trial, "begin_ns": begin_ns}
        if fed is None:
            return self._answered(twin, lambda: _asked(self._workers[twin], "trial", seconds, **order))
        number = fed["number"]
        wanted = partial(self._wishes.add, number)
        try:
            return self._answered(
                twin, lambda: _asked(self._workers[twin], "trial", seconds, wanted, **order, fed=dict(fed))
            )
        finally:
            self._wishes.end(number)

    def feed(self, twin: str, number: int, chunk: Sequence[int] | None, is_next: bool) -> bool:
        """Give a trial that chunk if ``is_next`` (None: there is none any more), then wait until it wants another.

        Returns False when it is over.
        """
        worker = self._workers.get(twin)
        if is_next and worker is not None:
            with contextlib.suppress(TdeltaError):  # it has died, which is its trial's to say
                worker.send("feed", number=number, chunk=chunk)
        return self._wishes.take(number)

    def stop(self) -> None:
        for worker in list(self._workers.values()):
            with contextlib.suppress(TdeltaError):
                worker.send("stop")

    def close(self, twin: str) -> None:
        self._end(twin)

    def end(self) -> None:
        for twin in list(self._workers):
            self._end(twin)

    def _answered(self, twin: str, act: Callable[[], Answer]) -> Answer:
        try:
            return {"ok": act()}
        except Declined as refusal:
            return {"error": [refusal.kind, str(refusal)]}
        except TdeltaError as fault:
            self._end(twin)
            return {"lost": str(fault)}

    def _end(self, twin: str) -> None:
        worker = self._workers.pop(twin, None)
        if worker is not None:
            worker.kill()  # a connection to a server that is frozen would not close
            worker.end()


def _asked(
    worker: Worker, do: str, seconds: float, wanted: Callable[[], None] | None = None, **order: object
) -> Answer:
    """An answer as the worker gives it: what a refusal means is for the session to say, which knows the engine.

    ``wanted`` is called whenever it wants more operations.
    """
    worker.send(do, **order)
    while "wants" in (said := worker.hear(seconds)):
        if wanted is not None:
            wanted()
    found: Answer = taken(said)
    return found


@dataclass(frozen=True, slots=True)
class Segment:
    """The connections ``first`` up to ``last`` (not included), of ``of`` in all."""

    first: int
    last: int
    of: int

    @property
    def connections(self) -> int:
        return self.last - self.first

    def as_json(self) -> dict[str, int]:
        return {"from": self.first, "to": self.last, "of": self.of}


def segments(connections: int, agents: int) -> tuple[Segment, ...]:
    """Share connections among agents, as evenly as they go; each has one at least, or ``ValueError``."""
    if not 1 <= agents <= connections:
        raise ValueError(f"expected 1 to {connections} agents for {connections} connections, found {agents}")
    edges = [connections * place // agents for place in range(agents + 1)]
    return tuple(Segment(first, last, connections) for first, last in pairwise(edges))


@dataclass(slots=True)
class _Placed:
    """An agent where it is. Its clock less this process's is ``offset_ns``, give or take ``error_ns``."""

    actor: Any
    node_id: str
    said: Mapping[str, Any]
    offset_ns: int = 0
    error_ns: int = 0
    open: set[str] = field(default_factory=set)


class _Feeding:
    """The hand-out of one trial's chunks: a call to each agent that gives it one, and returns when it wants another."""

    def __init__(self, agents: Mapping[int, _Placed], twin: str, number: int, chunks: HandOut) -> None:
        self._agents = agents
        self._twin = twin
        self._number = number
        self._chunks = chunks
        self.asked: dict[Any, int] = {}
        """The agents by the calls that have not returned."""

    def begin(self) -> dict[int, dict[str, Any]]:
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


class LoadAgents(OnCluster):
    """The agents of one run, by their numbers from 1. Answers are by these, as texts, each with its ``node``."""

    placed = "a load agent"

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._agents: dict[int, _Placed] = {}
        self._twins: dict[str, tuple[tuple[Segment, ...], dict[str, Any]]] = {}
        """The segments of each twin's connections, and what else is to be said to an agent for it to connect."""

        self._stopped = threading.Event()
        self._lead_ns = _LEAST_LEAD_NS
        self._numbers = itertools.count(1)
        self._per_second: dict[int, float] = {}
        self._chunk_seconds = LEAST_SECONDS

    def stop(self) -> None:
        self._stopped.set()
        self._stop_agents()

    def go_on(self) -> None:
        self._stopped.clear()

    def handles(self) -> list[Any]:
        return [agent.actor for agent in self._agents.values() if agent.actor is not None]

    def begin(self, count: int) -> list[dict[str, Any]]:
        self._place(range(1, count + 1))
        return [{"name": str(number), **agent.said} for number, agent in sorted(self._agents.items())]

    def open(
        self,
        twin: str,
        program: str,
        options: Mapping[str, Any],
        connections: int,
        work: Mapping[str, Any],
        patience_seconds: float,
    ) -> dict[str, Answer]:
        """Have every agent connect to a twin's server, in a worker of that program, and prepare the transactions."""
        order = {"program": program, "options": options, "work": work, "patience_seconds": patience_seconds}
        self._twins[twin] = segments(connections, len(self._agents)), order
        return self._since_start(self._opened(twin), 0)

    def trial(self, twin: str, trial: Mapping[str, Any], patience_seconds: float) -> dict[str, Answer]:
        """One trial by all agents at once. Where one is lost, the others end, and another is placed for it."""
        failed = {name: found for name, found in self._opened(twin).items() if "ok" not in found}
        if failed := failed or self._see_clocks():
            return self._since_start(failed, 0)
        parts, _ = self._twins[twin]
        chunks = self._chunks(trial, parts)
        feeding = None if chunks is None else _Feeding(self._agents, twin, next(self._numbers), chunks)
        fed = {} if feeding is None else feeding.begin()
        begin_ns = time.monotonic_ns() + self._lead_ns
        refs = {
            number: agent.actor.trial.remote(
                twin,
                {**trial, "segment": parts[number - 1].as_json()},
                begin_ns + agent.offset_ns,
                patience_seconds,
                fed.get(number),
            )
            for number, agent in self._agents.items()
        }
        if feeding is not None:
            feeding.ask()
        found = self._gather(refs, patience_seconds, feeding)
        if chunks is not None:
            self._learn(chunks, found)
        answers = self._since_start(found, begin_ns)
        late_ns = max((one["ok"]["began_ns"] for one in answers.values() if "ok" in one), default=0)
        if late_ns > _LEAST_LEAD_NS:  # an agent heard of the start when it was over
            self._lead_ns = min(_MOST_LEAD_NS, _LEAD_GROWTH * (self._lead_ns + late_ns))
        return answers

    def close(self, twin: str) -> None:
        self._twins.pop(twin, None)
        refs = {}
        for number, agent in self._agents.items():
            if twin in agent.open and agent.actor is not None:  # what was lost has let go of all
                agent.open.discard(twin)
                refs[number] = agent.actor.close.remote(twin)
        self._gather(refs, STOP_SECONDS)
        self._replace()

    def _place(self, numbers: Sequence[int]) -> None:
        """Start agents, each on the node that has the fewest."""
        others = [agent.node_id for number, agent in self._agents.items() if number not in numbers]

        def fewest(nodes: Mapping[str, str], chosen: Mapping[int, str]) -> str:
            taken = Counter([*others, *chosen.values()])
            return min(nodes, key=lambda one: (taken[one], one))

        for number, one in self.cluster.place(Agent, _CALLS, numbers, fewest).items():
            self._agents[number] = _Placed(one.handle, one.node_id, one.said)

    def _opened(self, twin: str) -> dict[int, Answer]:
        """Have every agent connect to a twin that it is not connected to, as one is that was placed anew."""
        self._replace()
        parts, order = self._twins[twin]
        refs = {
            number: agent.actor.open.remote(twin, {**order, "connections": parts[number - 1].connections})
            for number, agent in self._agents.items()
            if twin not in agent.open
        }
        found = self._gather(refs, order["patience_seconds"])
        for number, one in found.items():
            if "ok" in one:
                self._agents[number].open.add(twin)
        return found

    def _replace(self) -> None:
        lost = [number for number, agent in self._agents.items() if agent.actor is None]
        if lost:
            self._place(lost)

    def _chunks(self, trial: Mapping[str, Any], parts: Sequence[Segment]) -> HandOut | None:
        if trial["pace"]["kind"] != "closed":
            return None
        connections = {number: one.connections for number, one in enumerate(parts, 1)}
        return HandOut(trial["discard"], trial["operations"], connections, self._per_second, self._chunk_seconds)

    def _learn(self, chunks: HandOut, found: Mapping[int, Answer]) -> None:
        """Keep what the next trial is handed out by: how fast agents were, and whether they had to wait for chunks."""
        there = {number for number, agent in self._agents.items() if agent.actor is not None}
        self._per_second = {number: speed for number, speed in chunks.per_second().items() if number in there}
        outcomes = [one["ok"]["outcome"] for one in found.values() if "ok" in one]
        seconds = max((one["elapsed_ns"] for one in outcomes), default=0) * 1e-9
        waited_seconds = max((one["waited_ns"] for one in outcomes), default=0) * 1e-9
        changed = self._chunk_seconds * (_CHUNK_GROWTH if waited_seconds > _MOST_WAITED * seconds else _CHUNK_DECAY)
        self._chunk_seconds = max(LEAST_SECONDS, min(_MOST_CHUNK * seconds, changed))

    def _gather(self, refs: Mapping[int, Any], seconds: float, feeding: _Feeding | None = None) -> dict[int, Answer]:
        """All answers, as they come; ``{"lost": words}`` of an agent that died or is silent: then the others stop."""
        found: dict[int, Answer] = {}
        pending = {ref: number for number, ref in refs.items()}
        give_up = time.monotonic() + seconds
        while pending and not self.cluster.is_over.is_set():
            asked = {} if feeding is None else feeding.asked
            for ref, value in self.cluster.returned([*asked, *pending]):
                is_lost = isinstance(value, Exception)
                if feeding is not None and ref in asked:  # where its agent died, the trial's own call says so
                    feeding.answer(ref, is_wanted=not is_lost and bool(value) and not self._stopped.is_set())
                    continue
                number = pending.pop(ref)
                found[number] = {"lost": words(value)} if is_lost else value or {"ok": {}}
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

    def _lose(self, number: int) -> None:
        agent = self._agents[number]
        self.cluster.kill(agent.actor)
        agent.actor = None

    def _stop_agents(self) -> None:
        for agent in list(self._agents.values()):
            if agent.actor is not None:
                with contextlib.suppress(Exception):
                    agent.actor.stop.remote()

    def _see_clocks(self) -> dict[int, Answer]:
        """See how far the clocks of other machines are from this one's, which agents of this machine share.

        The best of a few questions: its answer was read between asking and hearing, so that the error is half of that.
        Returns those that are lost.
        """
        own = machine()
        lost: dict[int, Answer] = {}
        for number, agent in self._agents.items():
            if agent.said["machine"] == own:
                continue
            seen = []
            try:
                for _ in range(_PINGS):
                    asked_ns = time.monotonic_ns()
                    clock_ns = self.cluster.ray.get(agent.actor.clock_ns.remote(), timeout=_CLOCK_SECONDS)
                    heard_ns = time.monotonic_ns()
                    seen.append(((heard_ns - asked_ns) // 2, clock_ns - (asked_ns + heard_ns) // 2))
            except Exception as fault:  # Ray's, of its actor or its node
                lost[number] = {"lost": words(fault)}
                self._lose(number)
                continue
            agent.error_ns, agent.offset_ns = min(seen)
        return lost

    def _since_start(self, found: Mapping[int, Answer], begin_ns: int) -> dict[str, Answer]:
        """Answers, with times since the start that was set, by this process's clock."""
        answers: dict[str, Answer] = {}
        for number, one in sorted(found.items()):
            agent = self._agents[number]
            if "ok" in one and "began_ns" in one["ok"]:
                zero_ns = begin_ns + agent.offset_ns
                times = {name: one["ok"][name] - zero_ns for name in ("began_ns", "ended_ns")}
                one = {"ok": {**one["ok"], **times, "clock_error_ns": agent.error_ns}}
            answers[str(number)] = {**one, "node": str(agent.said["node"])}
        return answers


class AgentPool(Bridge):
    """The agents of one run, in whose place the process that speaks to Ray is spoken to."""

    called = "the coordinator of the load agents"
    kind = f"{__name__}:LoadAgents"
    option = "--agents"

    def __init__(self, asked: NodesRequest) -> None:
        super().__init__(asked.address, asked.count)
        self._twins = itertools.count(1)

    def twin(self, failed: Callable[[str, str], TdeltaError] = failure, program: str = PROGRAM) -> AgentLoad:
        return AgentLoad(self, f"twin {next(self._twins)}", failed, program)

    def require_reach(self, options: Mapping[str, Any]) -> None:
        """See that every agent can mean the same server by these options of a connection."""
        host = options.get("host")
        if options.get("socket"):
            away, where = [one for one in self.placed if one["machine"] != machine()], str(options["socket"])
        elif host in _LOOPBACK:
            away, where = [one for one in self.placed if one["network"] != network()], str(host)
        else:
            return
        if away:
            names = ", ".join(f"{one['name']} (node {one['node']})" for one in away)
            raise EnvironmentFault(Refusal.of("agents-elsewhere", agents=names, address=where))


class AgentLoad:
    """One twin's side of trials by agents. Each agent has connections of its own to the twin's server."""

    def __init__(self, pool: AgentPool, name: str, failed: Callable[[str, str], TdeltaError], program: str) -> None:
        self._pool = pool
        self._name = name
        self._failed = failed
        self._program = program

    def connect(self, options: Mapping[str, Any], connections: int, work: Mapping[str, Any]) -> None:
        """Have every agent connect anew, and prepare the transactions."""
        self._pool.require_reach(options)
        self.end()
        seconds = connect_seconds(connections)
        order = (self._program, dict(options), connections, dict(work), seconds)
        self._raise(self._pool.invoke("open", self._name, *order, seconds=seconds + self._pool.start_seconds))

    def trial(self, trial: Mapping[str, Any], deadline_seconds: float) -> AgentsTrial:
        """Run one trial on all agents; ``ServerLost`` where one died, or they did not do each operation once."""
        seconds = deadline_seconds + GRACE_SECONDS
        most_seconds = seconds + self._pool.start_seconds
        answers = self._pool.invoke("trial", self._name, dict(trial), seconds, seconds=most_seconds)
        self._raise(answers)
        found = {name: one["ok"] for name, one in answers.items()}
        if (wrong := merging.not_once(trial, found)) is not None:
            raise ServerLost(wrong)  # what was done to this twin was done to no other
        agents = merging.parts(found, {name: one["node"] for name, one in answers.items()})
        return AgentsTrial(merging.added(list(found.values())), agents, merging.own_histograms(found))

    def measured(self, worker: Worker, job: TrialJob) -> Measurement:
        """One trial, with what the server used meanwhile as this worker reads it, coming to rest included.

        Where the agents' figures do not count, that is why the measurement says that something stood still.
        """
        worker.ask("begin_external_load")
        done = self.trial(job.as_json(), job.deadline_seconds)
        used = worker.ask("end_external_load", seconds=SETTLE_SECONDS)
        own = measurement(done.answer)
        measured = of_recorded(with_server(own, used))
        return dataclasses.replace(
            measured,
            histograms={**measured.histograms, **done.histograms},
            client=dataclasses.replace(measured.client, agents=dict(done.agents)),
            circumstances=Circumstances(own.standstill or measured.standstill or merging.fault(done.agents)),
            delays=dataclasses.replace(measured.delays, client_run_delay_ns=own.delays.client_run_delay_ns),
        )

    def stop(self) -> None:
        self._pool.send("stop")

    def end(self) -> None:
        with contextlib.suppress(TdeltaError):
            self._pool.invoke("close", self._name, seconds=self._pool.start_seconds)

    def _raise(self, answers: Mapping[str, Mapping[str, Any]]) -> None:
        for name, one in answers.items():
            if "lost" in one:
                raise ServerLost(Refusal.of("agent-lost", agent=name, node=one["node"], why=one["lost"]))
        for name, one in answers.items():
            if "error" in one:
                kind, said = one["error"]
                raise self._failed(kind, f"agent {name} on node {one['node']}: {said}")


@dataclass(frozen=True, slots=True)
class AgentsTrial:
    """A trial by agents: their answers as one worker's, what each did, and the histograms of each."""

    answer: Mapping[str, Any]
    agents: Mapping[str, AgentPart]
    histograms: Mapping[str, bytes]
