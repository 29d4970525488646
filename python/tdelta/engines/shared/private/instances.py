"""One private server with all its connections, and one condition's part of them.

An instance that nobody drives is frozen, so that the others have the machine to themselves; a trial thaws it, runs, has
it settle (that cost is the trial's own), and freezes it again. Conditions that differ in what the client does only
(threads, rate) share an instance, each with connections of its own. The load is tdelta's own loop in a worker, or a
command of the user's, beside which the worker reads what the server used.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tdelta.design import stream
from tdelta.design.actions import NOTHING, parse_action
from tdelta.driver import acting
from tdelta.driver.answers import STEP_SECONDS, checksums, client_step, measurement, raise_failed, traced
from tdelta.driver.jobs import STEPS, TRACE, TrialJob, WorkloadSpec
from tdelta.driver.load_generator.command import Work
from tdelta.driver.load_generator.connections import Connection
from tdelta.driver.load_generator.trial import CommandLoad, with_server
from tdelta.driver.protocol import Checksums, CipherProof, Tables
from tdelta.driver.servers.recipes import Recipe
from tdelta.driver.servers.sequential import by_agents, work_of
from tdelta.driver.servers.server import Server
from tdelta.driver.workers import LOOK_SECONDS, Worker
from tdelta.engines.servers import DATABASE, Proven, ServerEngine, ServerSettings, flushing
from tdelta.engines.shared.private.actions import Acts, CountsWork, MakeRecipe, Site, TwinRows
from tdelta.engines.shared.private.caches import KeptCache
from tdelta.engines.shared.private.disk import allocated_bytes, kept
from tdelta.engines.shared.private.exposure import Files, ServerExposure
from tdelta.engines.shared.private.replicas import Replica
from tdelta.engines.shared.server_files import ServerFiles
from tdelta.engines.shared.sessions import AdminConnection
from tdelta.errors import Defect
from tdelta.evidence import MarkerHit
from tdelta.evidence.plans import plans_of, sampled
from tdelta.measure.aes import PreloadMode
from tdelta.measure.caches import empty_page_cache
from tdelta.measure.children import ready
from tdelta.records import Measurement

_DEVICES = Path("/sys/dev/block")


def device_statistics(folder: Path, devices: Path = _DEVICES) -> str | None:
    """The file with the counts of a folder's device; None where there is no such device (in memory, over a network)."""
    number = folder.stat().st_dev
    path = devices / f"{os.major(number)}:{os.minor(number)}" / "stat"
    return str(path) if path.exists() else None


_START_SECONDS = 120.0
_CONNECT_SECONDS = 60.0
_CONNECTIONS_A_SECOND = 50.0
"""Far fewer than any server takes; how long so many may take at most."""

_GRACE_SECONDS = 60.0
_SETTLE_SECONDS = 120.0
_PROOF_CIPHER = "aes-128"
_PROOF_PAGES = 2000
_PROOF_RUNS = 3


class Instance:
    """One running server with all its connections. Frozen, but for the while that someone needs it."""

    def __init__(
        self,
        engine: ServerEngine,
        settings: ServerSettings,
        recipe: Recipe,
        server: Server,
        replica: Replica | None = None,
    ) -> None:
        self.engine = engine
        self.settings = settings
        self.recipe = recipe
        self.server = server
        self.replica = replica
        self.starts = 1
        """How often the server was started: connections of an earlier start are gone."""

        self._awake = 0
        self._lock = threading.Lock()

    @property
    def kept_until_applied(self) -> Sequence[str]:
        """Statements of settling that are not run before the replica has applied all."""
        return () if self.replica is None else self.replica.kept_until_applied

    @contextlib.contextmanager
    def awake(self) -> Iterator[None]:
        with self._lock:
            if self._awake == 0:
                self.thaw()
            self._awake += 1
        try:
            yield
        finally:
            with self._lock:
                self._awake -= 1
                if self._awake == 0:
                    self.freeze()

    def thaw(self) -> None:
        self.server.thaw()
        if self.replica is not None:
            self.replica.server.thaw()

    def freeze(self) -> None:
        if self.replica is not None:
            self.replica.server.freeze()
        self.server.freeze()

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Within the block the server runs, and its replica; raises as `Server.at_work` does, for either."""
        of_replica = contextlib.nullcontext() if self.replica is None else self.replica.server.at_work()
        with self.server.at_work(), of_replica, self.awake():
            yield

    def restarted(self) -> None:
        self.starts += 1

    def cool(self) -> None:
        """Start the server anew, with nothing of its data in any cache. Its connections are gone then."""
        self.server.stop()
        empty_page_cache(kept(self.recipe))
        self.server.start(seconds=_START_SECONDS)
        self.starts += 1

    def end(self) -> None:
        if self.replica is not None:
            self.replica.end()
        self.server.end()


class ServerTwin:
    def __init__(
        self,
        instance: Instance,
        settings: ServerSettings,
        mix: WorkloadSpec,
        rows: TwinRows,
        beside: MakeRecipe,
        pages: Path,
        *,
        owns_instance: bool,
    ) -> None:
        self.instance = instance
        self._settings = settings
        self._mix = mix
        self._owns_instance = owns_instance
        self._is_stopped = False
        self._halt = acting.Halt()
        self._rows = rows
        self._beside_it = beside
        self._kept_cache = KeptCache(instance.engine, instance.recipe, pages)
        self._worker = Worker()
        self._command: CommandLoad | None = None
        self._agents = None if mix.agents is None else mix.agents.twin()
        try:
            if mix.command is not None:
                place, options = instance.recipe.place, {**instance.recipe.connect, "database": DATABASE}
                self._command = CommandLoad(mix.command, Connection.from_options(options), place.folder)
            with instance.at_work():
                self._connect()
        except BaseException:
            self._let_go()
            raise

    @property
    def pid(self) -> int:
        return self.instance.server.pid

    def facts(self) -> dict[str, str]:
        """Settings in force that all twins share, read back from the server."""
        return self._ask("facts", queries=dict(self.instance.engine.facts))

    def cipher_facts(self) -> dict[str, str]:
        return self._ask("facts", queries=dict(self.instance.engine.cipher_facts(self._settings)))

    def checksums(self, tables: Tables) -> Checksums:
        with self._connected():
            found = checksums(self._worker, tables)
            self._worker.ask("run", statements=flushing(self.instance.engine))  # or the next trial would have its reads
            return found

    def keep_cache(self, misses: float) -> None:
        with self.instance.at_work():
            self._kept_cache.keep(misses)

    def restore_cache(self) -> float | None:
        with self.instance.at_work():
            return self._kept_cache.restore()

    def plans(self, scripts: Mapping[str, str]) -> Mapping[str, Any]:
        dialect = self.instance.engine.profile.dialect
        with self._connected():
            return plans_of(dialect, lambda sql: self._worker.ask("rows", sql=sql)["rows"], sampled(dialect, scripts))

    def prove(self) -> CipherProof | None:
        """What a page's cipher costs in the server's own processes; None where none of them has a cipher."""
        engine = self.instance.engine
        queries = engine.proof_sql(self.instance.settings, _PROOF_PAGES) if isinstance(engine, Proven) else {}
        if not queries:
            return None
        with self._connected():
            # In turns, each the least of a few: what else the machine does only adds, and it computes at two speeds.
            took = [{name: self._microseconds_a_page(sql) for name, sql in queries.items()} for _ in range(_PROOF_RUNS)]
            cost_us = {name: min(turn[name] for turn in took) for name in queries}
        return CipherProof(
            cipher=_PROOF_CIPHER,
            library=engine.binary.text,
            plain_us_per_page=cost_us["plain"],
            cipher_us_per_page=cost_us["encrypted"] - cost_us["plain"],
            mode=PreloadMode.NONE,
            patched=0,
            unpatched=0,
            answered=0,
        )

    def _microseconds_a_page(self, sql: str) -> float:
        """CPU time of the server's processes."""
        self._worker.ask("begin_external_load")
        self._worker.ask("rows", sql=sql)
        return _cpu_seconds(self._worker.ask("end_external_load", settle=False)) * 1e6 / _PROOF_PAGES

    def evidence(self, job: TrialJob, needles: Sequence[bytes]) -> tuple[MarkerHit, ...]:
        """Run one trial that nobody measures, marker rows on their way through all files; search these meanwhile."""
        instance = self.instance
        evidence, recipe = instance.engine.evidence, instance.recipe
        files = ServerFiles(evidence.files, recipe.place, instance.server.pids, recipe.mount)
        options = {**recipe.connect, "database": DATABASE}
        replica = instance.replica
        places: list[Files] = [files] if replica is None else [files, replica.files()]
        inflate = evidence.inflating(is_compressed=self._settings.is_compressed)
        exposure = ServerExposure(evidence.plan, lambda: AdminConnection(options), places, needles, inflate)
        with self._connected():
            following = contextlib.nullcontext() if replica is None else replica.following(self._halt)
            with following, exposure.under_way():
                self._worker.send("trial", trial=job.as_json(), checkpoint=False)
                exposure.scan_while(lambda: not ready([self._worker], 0.0), job.deadline_seconds)
                raise_failed(self._worker.answer(job.deadline_seconds + _GRACE_SECONDS))
            if replica is not None:
                replica.flush(evidence.plan)
            exposure.scan_afterwards()
        return exposure.found()

    def trial(self, job: TrialJob, ready: Callable[[], None] | None = None) -> Measurement:
        with self._connected():
            if self._settings.is_cold and job.step != TRACE:
                self.instance.cool()
                self._connect()
            if self._is_stopped and job.step != TRACE:
                return Measurement(0, 0, {}, {}, stopped_by="signal")
            if job.step in STEPS:
                return self._step(job.step, ready)
            if job.step and job.step != TRACE:
                used = self.instance.server.usage
                return acting.alone(self._act(job.step), job.step, used, self._halt, ready)
            if job.during:
                return self._beside(job, ready)
            if self.instance.replica is not None and job.step != TRACE:
                return self._replicated(self.instance.replica, job, ready)
            if ready is not None:
                ready()
            if job.step == TRACE:
                return self._traced(job)
            if self._command is not None:
                return self._commanded(self._command, job)
            if self._agents is not None:
                return by_agents(self._agents, self._worker, job)
            seconds = job.deadline_seconds + _GRACE_SECONDS
            return measurement(self._worker.ask("trial", seconds=seconds, trial=job.as_json()))

    def _act(self, level: str) -> acting.Act:
        asked, instance = parse_action(level), self.instance
        if not isinstance(instance.engine, Acts):
            raise Defect(f"{asked.name} was asked of a server that has no actions")
        site = Site(
            server=instance.server,
            recipe=instance.recipe,
            settings=self._settings,
            halt=self._halt,
            restarted=instance.restarted,
            beside=self._beside_it,
            knobs=asked.knobs,
            choices=asked.choices,
            engine=instance.engine,
            rows=self._rows,
        )
        return instance.engine.actions[asked.name].make(site)

    def _beside(self, job: TrialJob, ready: Callable[[], None] | None) -> Measurement:
        """A trial beside whose load something goes on, or nothing does: all that the server used until both ended.

        An action begins after the head of the trial that is not recorded. Bytes are of all executed operations, and of
        what came after the load where the action took longer; of the CPU time the recorded ones have their share.
        """
        act = acting.IDLE if job.during == NOTHING else self._act(job.during)
        with self._counting() as executed, acting.prepared(act, self._halt):
            beside = acting.Beside(act, executed, job.head_seconds)
            self._worker.ask("begin_external_load")
            with beside.going_on(self._halt):
                if ready is not None:
                    ready()
                seconds = job.deadline_seconds + _GRACE_SECONDS
                answer = self._worker.ask("trial", seconds=seconds, trial=job.as_json(), checkpoint=False)
            used = self._worker.ask("end_external_load", seconds=_SETTLE_SECONDS)
            measured = acting.of_recorded(beside.added(with_server(measurement(answer), used)))
            return measured if self._halt.is_asked else acting.inspected(act, measured)

    @contextlib.contextmanager
    def _counting(self) -> Iterator[Callable[[], int] | None]:
        """How many statements of loads the server has executed so far, asked on a connection of its own."""
        engine = self.instance.engine
        if not isinstance(engine, CountsWork):
            yield None
            return
        asking, query = AdminConnection({**self.instance.recipe.connect, "database": DATABASE}), engine.work_sql
        try:
            yield lambda: int(asking.rows(query)[1][0][-1] or 0)
        finally:
            asking.close()

    def _replicated(self, replica: Replica, job: TrialJob, began: Callable[[], None] | None) -> Measurement:
        """A trial whose log a replica applies, beside it or after it: what the primary used until it was at rest."""
        course = replica.course(self._settings.replication, self._halt)
        with course.going_on():
            self._worker.ask("begin_external_load")
            if began is not None:
                began()
            answer = self._watched(replica, job)
            course.load_ended()
            used = self._worker.ask("end_external_load", seconds=_SETTLE_SECONDS)
        return course.added(with_server(measurement(answer), used))

    def _watched(self, replica: Replica, job: TrialJob) -> dict[str, Any]:
        """A trial's answer, unless the replica is lost meanwhile: commits would wait for it without end."""
        self._worker.send("trial", trial=job.as_json(), checkpoint=False)
        give_up = time.monotonic() + job.deadline_seconds + _GRACE_SECONDS
        while not ready([self._worker], LOOK_SECONDS) and time.monotonic() < give_up:
            self._worker.look()
            replica.look()
        return self._worker.answer(_GRACE_SECONDS)

    def replica_checksums(self, tables: Tables) -> Checksums | None:
        """Rows and checksum of each table of the replica, once it has applied all; None where there is none."""
        replica = self.instance.replica
        if replica is None:
            return None
        with self._connected():
            return replica.checksums(tables, self._halt)

    def _traced(self, job: TrialJob) -> Measurement:
        """Every statement metered by itself; two queries of the status counters surround each."""
        tracing = self.instance.engine.tracing
        request = {"thread": tracing.thread, "counters": list(tracing.counters)}
        seconds = job.deadline_seconds + _GRACE_SECONDS
        return traced(self._worker.ask("trace", seconds=seconds, trial=job.as_json(), tracing=request))

    def _commanded(self, command: CommandLoad, job: TrialJob) -> Measurement:
        work = Work(self._settings.threads, job.operations, job.trial_seconds, _load_seed(job))
        self._worker.ask("begin_external_load")
        measured = command.trial(work, job.deadline_seconds)
        return with_server(measured, self._worker.ask("end_external_load", seconds=_SETTLE_SECONDS))

    def _step(self, step: str, ready: Callable[[], None] | None) -> Measurement:
        """One load or rebuild. What the server writes to come to rest is in its CPU and bytes, not in the time."""
        if self._mix.steps is None:
            raise Defect(f"a {step} was asked of a run that has none")
        request = self._mix.steps.request(step, self._settings.threads)
        if request["before"]:
            self._worker.ask("run", seconds=STEP_SECONDS, statements=request["before"])
        if ready is not None:
            ready()
        self._worker.ask("begin_external_load")
        answer = self._worker.ask("step", seconds=STEP_SECONDS, **{**request, "before": []})
        used = self._worker.ask("end_external_load", seconds=STEP_SECONDS)
        measured = with_server(client_step(step, answer), used)
        return dataclasses.replace(
            measured,
            engine_counters={**measured.engine_counters, "rows": self._mix.steps.rows},
            files_bytes={"data directory": allocated_bytes(kept(self.instance.recipe))},
        )

    def processes(self) -> tuple[int, ...]:
        """The server's, an encrypted file system's under it, and their supervisor's, which starts both anew."""
        return (self.instance.server.supervisor_pid, *self.instance.server.pids())

    def stop(self) -> None:
        """Have a trial that is running end after the operation it is at; a command ends at once. Others are not begun.

        The twins of a block run one after another, so most of them have not begun theirs.
        """
        self._is_stopped = True
        self._halt.ask()
        if self._command is not None:
            self._command.stop()
        if self._agents is not None:
            self._agents.stop()
        self._worker.send("stop")

    def end(self) -> None:
        """Close the connections; end the server where it is this twin's."""
        self._let_go()
        if self._owns_instance:
            self.instance.end()

    def _let_go(self) -> None:
        if self._command is not None:
            self._command.end()
        if self._agents is not None:
            self._agents.end()
        self._worker.kill()  # a connection to a frozen server would not close
        self._worker.end()

    def _ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        with self._connected():
            return self._worker.ask(do, **arguments)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[None]:
        """Within the block the server runs and this twin is connected, also if another has had it started anew."""
        with self.instance.at_work():
            if self._connected_to != self.instance.starts:
                self._connect()
            yield

    def _connect(self) -> None:
        self._connected_to = self.instance.starts
        options = {**self.instance.recipe.connect, "database": DATABASE}
        threads = self._settings.threads if self._command is None and self._agents is None else 1
        seconds = _CONNECT_SECONDS + threads / _CONNECTIONS_A_SECOND
        self._worker.ask("connect", seconds=seconds, options=options, connections=threads)
        engine = self.instance.engine
        settling = engine.settling
        self._worker.server = self.instance.server.pid
        self._worker.file_systems = self.instance.server.file_system_pids()
        self._worker.ask(
            "observe",
            observed={
                "watch": [self.instance.server.supervisor_pid],
                "file_systems": list(self._worker.file_systems),
                "counters": list(engine.counters),
                "flush": flushing(engine),
                "settle": [sql for sql in settling.statements if sql not in self.instance.kept_until_applied],
                "settle_query": settling.query,
                "settle_at_most": settling.at_most,
                "settle_seconds": settling.seconds,
                "device": device_statistics(kept(self.instance.recipe)),
            },
        )
        self._worker.ask("prepare", seconds=seconds, **work_of(self._mix))
        if self._agents is not None:
            self._agents.connect(options, self._settings.threads, work_of(self._mix))


def _cpu_seconds(used: Mapping[str, Any]) -> float:
    return float(used["usage"]["cpu_user_seconds"] + used["usage"]["cpu_system_seconds"])


def _load_seed(job: TrialJob) -> int:
    """A command's seed: of the block, the same for all its twins."""
    return int(stream(job.seed, "load generator", job.stream).integers(1 << 31))
