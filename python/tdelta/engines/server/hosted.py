"""Twins on several hosts: each host loads its own data, and a twin is started on the host that it is asked for.

What they do is done there by the engine's own twins (`tdelta.engines.server.hosted`). Not offered: unit costs,
timed calls and CPU profiles, which would be of several machines mixed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tdelta import own_folders
from tdelta.engines.registry import driver
from tdelta.errors import Defect, EnvironmentFault, StorageFault, TdeltaError
from tdelta.measure.private import UMASK
from tdelta.measure.space import require_memory, require_space, require_writable
from tdelta.messages import Refusal
from tdelta.processes import AnyJob, TrialJob, TwinFolder, WorkloadSpec, sweep
from tdelta.processes.answers import SequentialTwins
from tdelta.processes.files import default_base
from tdelta.processes.protocol import NOTHING, Checksums, LoopCost, Twin, nobody_waits
from tdelta.processes.workers import hurry
from tdelta.ray.bridge import Node, NodesRequest, packed, unpacked
from tdelta.ray.hosts import Call, Nodes
from tdelta.records import Measurement

_ACTOR = "tdelta.engines.server.hosted:TwinNode"


@dataclass(frozen=True, slots=True)
class OnHosts:
    """Data given to a host once: the engine with its options, the run, its resources, and its data and work.

    ``needs`` are bytes of disk and of memory; ``versions`` what the engine is of that the run was planned with.
    """

    engine: str
    options: Mapping[str, Any]
    run_id: str
    needs: tuple[int, int]
    versions: Mapping[str, str]


def _there(method: str) -> Any:
    def call(self: HostedTwin, *arguments: Any) -> Any:
        return self._call(method, *arguments)

    return call


class HostedTwin(Twin):
    def __init__(self, nodes: Nodes, host: int, number: int) -> None:
        self._nodes = nodes
        self.host = host
        self.number = number

    facts, cipher_facts, checksums, plans, prove, evidence = map(
        _there, ("facts", "cipher_facts", "checksums", "plans", "prove", "evidence")
    )

    def trial(self, job: TrialJob, ready: Callable[[], None] = nobody_waits) -> Measurement:
        """Run one trial; ``ready`` is called before it is asked for."""
        ready()
        measured: Measurement = self._call("trial", job)
        where = dataclasses.replace(measured.circumstances, host=self._nodes.names[self.host])
        return dataclasses.replace(measured, circumstances=where)

    def processes(self) -> tuple[int, ...]:
        """None of them is on this machine."""
        return ()

    def stop(self) -> None:
        self._nodes.send("stop")

    def end(self) -> None:
        """Close the connections; end the server where it is this twin's."""
        with contextlib.suppress(TdeltaError):  # with its node, which is said where it was needed
            self._call("end")

    def _call(self, method: str, *arguments: Any) -> Any:
        return self._nodes.call(self.host, Call(method, arguments, self.number))


class HostedTwins(SequentialTwins):
    observes_ciphers = True

    def __init__(self, asked: NodesRequest, told: OnHosts, job: AnyJob, mix: WorkloadSpec) -> None:
        super().__init__(mix)
        self._loaded: dict[Path, list[Path]] = {}
        self._nodes = Nodes(asked.address, asked.count, _ACTOR)
        try:
            self.library = self._begun(told, job, mix)
        except BaseException:
            self._nodes.end()
            raise

    def on(self, host: int) -> HostedStarts:
        return HostedStarts(self._nodes, host)

    def load(self, settings: Any) -> tuple[Path, Checksums]:
        """Load the data of these settings on every host; raises ``EnvironmentFault`` where rows differ between them."""
        loaded = self._nodes.call_all(Call("load", (settings,)))
        first, sums = loaded[0]
        for name, (_, other) in zip(self._nodes.names, loaded, strict=True):
            if other != sums:
                raise EnvironmentFault(Refusal.of("hosts-load-differs", node=name, first=self._nodes.names[0]))
        self._loaded[first] = [path for path, _ in loaded]
        return first, sums

    def expected_checksums(self) -> Checksums:
        found: Checksums = self._nodes.call(0, Call("expected_checksums"))
        return found

    def data_bytes(self, path: Path) -> int:
        """How large the tables are, on the first host."""
        return int(self._nodes.call(0, Call("data_bytes", (self._loaded[path][0],))))

    def is_encrypted(self, path: Path) -> bool:
        paths = enumerate(self._loaded[path])
        return all(self._nodes.call(host, Call("is_encrypted", (there,))) for host, there in paths)

    def start(self, settings: Any, name: str, environment: Mapping[str, str] = NOTHING) -> HostedTwin:
        return self.on(0).start(settings, name, environment)

    def join(self, twin: HostedTwin, settings: Any) -> HostedTwin:
        number = self._nodes.call(twin.host, Call("join", (twin.number, settings)))
        return HostedTwin(self._nodes, twin.host, number)

    def loop_cost(self, job: TrialJob) -> LoopCost:
        """Run the transactions on a client that does nothing, on the first host."""
        found: LoopCost = self._nodes.call(0, Call("loop_cost", (job,)))
        return found

    def observe(self, settings: Any) -> str:
        """Which ciphers a server of these settings starts, on the first host."""
        return str(self._nodes.call(0, Call("observe", (settings,))))

    def end(self) -> None:
        self._nodes.end()

    def _begun(self, told: OnHosts, job: AnyJob, mix: WorkloadSpec) -> str:
        """Have every host find the engine and see that there is room; returns what the engine is.

        Raises:
            EnvironmentFault: what any of the hosts lacks, of all of them at once.
        """
        given, work = (told.engine, dict(told.options)), (told.needs, job, mix)
        numbers = range(len(self._nodes.names))
        calls = {at: Call("begin", (*given, f"{told.run_id}-{at + 1}", *work)) for at in numbers}
        libraries: list[str] = []
        faults: list[Refusal] = []
        for name, found in zip(self._nodes.names, self._nodes.answers(calls), strict=True):
            if isinstance(found, EnvironmentFault):
                faults += found.refusals
            elif isinstance(found, TdeltaError):
                raise found
            else:
                libraries.append(str(found.pop("library")))
                faults += _of_other_server(name, told.versions, found)
        if faults:
            raise EnvironmentFault(*faults)
        return libraries[0]


def _of_other_server(node: str, expected: Mapping[str, str], found: Mapping[str, str]) -> Iterator[Refusal]:
    """That a host has another server than the run was planned with; nothing where it has the same."""
    if found != expected:
        own, other = (", ".join(f"{name} {version}" for name, version in of.items()) for of in (expected, found))
        yield Refusal.of("version-mismatch", what=f"host {node}", expected=f"{own}, as on this machine", found=other)


@dataclass(frozen=True, slots=True)
class HostedStarts:
    nodes: Nodes
    host: int

    def start(self, settings: Any, name: str, _environment: Mapping[str, str] = NOTHING) -> HostedTwin:
        return HostedTwin(self.nodes, self.host, self.nodes.call(self.host, Call("start", (settings, name))))


class TwinNode(Node):
    """An actor of Ray's on a host, in whose process twins live as they do in tdelta's own.

    Their folder, its keeper, workers and supervisors are the node's. Where the actor dies, by whatever signal, the end
    of their input is the end of these, too, and nothing stays.
    """

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
