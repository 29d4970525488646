"""One private server with all its connections, and one condition's part of them.

An instance that nobody drives is frozen, so that the others have the machine to themselves; a trial thaws it, runs, has
it settle (that cost is the trial's own), and freezes it again. Conditions that differ in what the client does only
(threads, rate) share an instance, each with connections of its own. The load is tdelta's own loop in a worker, or a
command of the user's, beside which the worker reads what the server used.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tdelta.design import stream
from tdelta.design.actions import parse_action
from tdelta.engines.server.actions import MakeRecipe, Site, TwinRows, allocated_bytes, kept
from tdelta.engines.server.base import DATABASE, PageList, ServerEngine, ServerSettings
from tdelta.engines.server.evidence import ServerExposure, ServerFiles
from tdelta.engines.server.replicas import Replica
from tdelta.engines.server.sessions import admin_session
from tdelta.engines.server.twin import ServerTwin
from tdelta.errors import TdeltaError
from tdelta.evidence import MarkerHit
from tdelta.measure.aes import PreloadMode
from tdelta.measure.caches import empty_page_cache
from tdelta.measure.children import ready
from tdelta.measure.private import private
from tdelta.processes import actions as acting
from tdelta.processes.answers import SETTLE_SECONDS, STEP_SECONDS, raise_failed
from tdelta.processes.jobs import TrialJob, WorkloadSpec
from tdelta.processes.load_generator.command import Work
from tdelta.processes.load_generator.connections import Connection
from tdelta.processes.load_generator.trial import CommandLoad, with_server
from tdelta.processes.protocol import Checksums, CipherProof, Tables
from tdelta.processes.servers.recipes import Recipe
from tdelta.processes.servers.server import Server
from tdelta.processes.workers import GRACE_SECONDS, LOOK_SECONDS, Worker
from tdelta.records import Measurement

_MOST_SECONDS = 60.0
_LOOK_AGAIN_SECONDS = 0.02


class KeptCache:
    """How an earlier twin's cache was at rest, in a file beside the data: its misses, and the list of its pages.

    It only saves time: after any failure the twin warms up as usual. Its queries use a separate connection.
    """

    def __init__(self, engine: ServerEngine, recipe: Recipe, path: Path) -> None:
        self._recipe = recipe
        self._list = engine.page_list
        self._flushing = list(engine.flushing)
        self._path = path

    def keep(self, misses: float) -> None:
        """Keep it of a server that is awake, unless one that misses no more is kept."""
        with contextlib.suppress(OSError, ValueError):
            if self._read()[0] <= misses:
                return
        with contextlib.suppress(OSError, TdeltaError):
            pages = b"" if self._list is None else self._listed(self._list)
            new = self._path.with_name(f"{self._path.name}.new-{os.getpid()}")
            with private(new) as file:
                file.write(f"{misses}\n".encode() + pages)
            new.replace(self._path)

    def restore(self) -> float | None:
        """Fill the cache of a server that is awake; returns the misses of the kept one, None where that fails."""
        with contextlib.suppress(OSError, ValueError, TdeltaError):
            misses, pages = self._read()
            if self._list is not None and pages:
                self._fill(self._list, pages)
            return misses
        return None

    def _read(self) -> tuple[float, bytes]:
        misses, _, pages = self._path.read_bytes().partition(b"\n")
        return float(misses), pages

    def _listed(self, pages: PageList) -> bytes:
        listed = self._recipe.place.data / pages.file
        try:
            self._do(pages.write, pages.written, pages)
            return listed.read_bytes() if listed.exists() else b""
        finally:
            listed.unlink(missing_ok=True)

    def _fill(self, pages: PageList, content: bytes) -> None:
        listed = self._recipe.place.data / pages.file
        try:
            with private(listed) as file:
                file.write(content)
            self._do(pages.fetch, pages.fetched, pages)
        finally:
            listed.unlink(missing_ok=True)

    def _do(self, statements: Sequence[str], query: str, pages: PageList) -> None:
        """Raises TimeoutError where the server is not done in time; it does not go on then."""
        until = time.monotonic() + _MOST_SECONDS
        with Worker() as worker:
            worker.ask("connect", options={**self._recipe.connect, "database": DATABASE}, connections=1)
            worker.ask("run", seconds=_MOST_SECONDS, statements=list(statements))
            while pages.done not in str(worker.ask("rows", sql=query)["rows"][0][-1]):
                if time.monotonic() > until:
                    worker.ask("run", statements=list(pages.give_up))
                    raise TimeoutError
                time.sleep(_LOOK_AGAIN_SECONDS)
            worker.ask("run", statements=self._flushing)  # or the next trial would have what this read


_DEVICES = Path("/sys/dev/block")


def device_statistics(folder: Path, devices: Path = _DEVICES) -> str | None:
    """The file with the counts of a folder's device; None where there is no such device (in memory, over a network)."""
    number = folder.stat().st_dev
    path = devices / f"{os.major(number)}:{os.minor(number)}" / "stat"
    return str(path) if path.exists() else None


_START_SECONDS = 120.0
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


class PrivateTwin(ServerTwin):
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
        agents = None if mix.agents is None else mix.agents.twin()
        super().__init__(instance.engine, mix, settings.threads, Worker(), agents)
        self.instance = instance
        self._settings = settings
        self._owns_instance = owns_instance
        self._rows_planted = rows
        self._beside_it = beside
        self._kept_cache = KeptCache(instance.engine, instance.recipe, pages)
        self._command: CommandLoad | None = None
        try:
            if mix.command is not None:
                place, options = instance.recipe.place, self._options()
                connection = Connection(options["protocol"], options["user"], options["database"], place.socket)
                self._command = CommandLoad(mix.command, connection, place.folder)
            with instance.at_work():
                self._connect_all()
        except BaseException:
            self._let_go()
            raise

    @property
    def pid(self) -> int:
        return self.instance.server.pid

    def facts(self) -> dict[str, str]:
        """Settings in force that all twins share, read back from the server."""
        return self._ask("facts", queries=dict(self.engine.facts))

    def cipher_facts(self) -> dict[str, str]:
        return self._ask("facts", queries=dict(self.engine.cipher_facts(self._settings)))

    def checksums(self, tables: Tables) -> Checksums:
        with self._connected():
            found = super().checksums(tables)
            flushing = list(self.engine.flushing)  # or the next trial would have its reads
            self._worker.ask("run", statements=flushing)
            return found

    def keep_cache(self, misses: float) -> bool:
        with self.instance.at_work():
            self._kept_cache.keep(misses)
        return True

    def restore_cache(self) -> float | None:
        with self.instance.at_work():
            return self._kept_cache.restore()

    def prove(self) -> CipherProof | None:
        """The cost of a page's cipher in the server's own processes; None where none of them has a cipher."""
        engine = self.engine
        queries = engine.proof_sql(self.instance.settings, _PROOF_PAGES)
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
        evidence, recipe = self.engine.evidence, instance.recipe
        files = ServerFiles(evidence.files, recipe.place, instance.server.pids, recipe.mount)
        replica = instance.replica
        places = [files] if replica is None else [files, replica.files()]
        inflate = evidence.inflating(is_compressed=self._settings.is_compressed)
        exposure = ServerExposure(evidence.plan, lambda: admin_session(self._options()), places, needles, inflate)
        with self._connected():
            following = contextlib.nullcontext() if replica is None else replica.following(self._halt)
            with following, exposure.under_way():
                self._worker.send("trial", trial=job.as_json(), checkpoint=False)
                exposure.scan_while(lambda: not ready([self._worker], 0.0), job.deadline_seconds)
                raise_failed(self._worker.answer(job.deadline_seconds + GRACE_SECONDS))
            if replica is not None:
                replica.flush(evidence.plan)
            exposure.scan_afterwards()
        return exposure.found()

    def _cool(self, _job: TrialJob) -> None:
        if self._settings.is_cold:
            self.instance.cool()
            self._connect_all()

    def _loaded(self, job: TrialJob, ready: Callable[[], None]) -> Measurement:
        if self.instance.replica is not None:
            return self._replicated(self.instance.replica, job, ready)
        if self._command is None:
            return super()._loaded(job, ready)
        ready()
        seed = int(stream(job.seed, "load generator", job.stream).integers(1 << 31))  # of the block: all twins have it
        work = Work(self._threads, job.operations, job.trial_seconds, seed)
        self._worker.ask("begin_external_load")
        self._command.begin(work, job.deadline_seconds)
        return with_server(self._command.answer(), self._worker.ask("end_external_load", seconds=SETTLE_SECONDS))

    def _acted(self, level: str, ready: Callable[[], None]) -> Measurement:
        return acting.alone(self._act(level), level, self.instance.server.usage, self._halt, ready)

    def _act(self, level: str) -> acting.Act:
        asked, instance = parse_action(level), self.instance
        site = Site(
            server=instance.server,
            recipe=instance.recipe,
            settings=self._settings,
            halt=self._halt,
            restarted=instance.restarted,
            beside=self._beside_it,
            asked=asked,
            engine=self.engine,
            rows=self._rows_planted,
        )
        return self.engine.actions[asked.name].make(site)

    @contextlib.contextmanager
    def _executed(self) -> Iterator[Callable[[], int] | None]:
        query = self.engine.work_sql
        if not query:
            yield None
            return
        with contextlib.closing(admin_session(self._options())) as asking:
            yield lambda: int(asking.rows(query)[1][0][-1] or 0)

    def _replicated(self, replica: Replica, job: TrialJob, ready: Callable[[], None]) -> Measurement:
        """A trial whose log a replica applies, beside it or after it: what the primary used until it was at rest."""
        course = replica.course(self._settings.replication, self._halt)
        with course.going_on():
            self._worker.ask("begin_external_load")
            ready()
            answer = self._watched(replica, job)
            course.load_ended()
            used = self._worker.ask("end_external_load", seconds=SETTLE_SECONDS)
        return course.added(with_server(self._measured(answer), used))

    def _watched(self, replica: Replica, job: TrialJob) -> dict[str, Any]:
        """A trial's answer, unless the replica is lost meanwhile: commits would wait for it without end."""
        self._worker.send("trial", trial=job.as_json(), checkpoint=False)
        give_up = time.monotonic() + job.deadline_seconds + GRACE_SECONDS
        while not ready([self._worker], LOOK_SECONDS) and time.monotonic() < give_up:
            self._worker.look()
            replica.look()
        return self._worker.answer(GRACE_SECONDS)

    def replica_checksums(self, tables: Tables) -> Checksums | None:
        """Rows and checksum of each table of the replica, once it has applied all; None where there is none."""
        replica = self.instance.replica
        if replica is None:
            return None
        with self._connected():
            return replica.checksums(tables, self._halt)

    def _empty(self, _step: str, before: list[str]) -> None:
        if before:
            self._worker.ask("run", seconds=STEP_SECONDS, statements=before)

    def _files_bytes(self) -> Mapping[str, int]:
        return {"data directory": allocated_bytes(kept(self.instance.recipe))}

    def processes(self) -> tuple[int, ...]:
        """The server's, an encrypted file system's under it, and their supervisor's, which starts both anew."""
        return (self.instance.server.supervisor_pid, *self.instance.server.pids())

    def stop(self) -> None:
        super().stop()
        if self._command is not None:
            self._command.stop()

    def end(self) -> None:
        """Close the connections; end the server where it is this twin's."""
        self._let_go()
        if self._owns_instance:
            self.instance.end()

    def _let_go(self) -> None:
        if self._command is not None:
            self._command.end()
        self._worker.kill()  # a connection to a frozen server would not close
        super().end()

    def _ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        with self._connected():
            return self._worker.ask(do, **arguments)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[None]:
        """Within the block the server runs and this twin is connected, also if another has had it started anew."""
        with self.instance.at_work():
            if self._connected_to != self.instance.starts:
                self._connect_all()
            yield

    def _connect_all(self) -> None:
        self._connected_to, server = self.instance.starts, self.instance.server
        self._worker.server, self._worker.file_systems = server.pid, server.file_system_pids()
        is_loop = self._command is None and self._agents is None
        shares_a_cpu = is_loop and self._threads == 1 and self._mix.steps is None
        with on_one_cpu(self._worker.pid, server.pid) if shares_a_cpu else contextlib.nullcontext():
            self._connect(self._threads if is_loop else 1)

    def _options(self) -> dict[str, Any]:
        return {**self.instance.recipe.connect, "database": DATABASE}

    def _observed(self) -> dict[str, object]:
        settling = self.engine.settling
        return {
            "watch": [self.instance.server.measured_pid],
            "file_systems": list(self._worker.file_systems),
            "counters": list(self.engine.counters),
            "flush": list(self.engine.flushing),
            "settle": [sql for sql in settling.statements if sql not in self.instance.kept_until_applied],
            "settle_query": settling.query,
            "settle_at_most": settling.at_most,
            "settle_seconds": settling.seconds,
            "device": device_statistics(kept(self.instance.recipe)),
        }


@contextlib.contextmanager
def on_one_cpu(client: int, server: int) -> Iterator[None]:
    """Within the block connect one client, whose process and the thread or process that serves it then share a CPU.

    Each of the two sleeps while the other works. Left to the scheduler they are now on one CPU and now on two, where
    each wake-up takes longer: that was most of the noise (benches/results/truth.md). A new connection inherits the
    CPUs of the server's first thread, which has its own back afterwards; the server's other threads go where they like.
    """
    allowed: set[int] = set()
    with contextlib.suppress(OSError):  # of a server that is gone, which connecting finds out
        allowed = os.sched_getaffinity(server)
        for process in (client, server):
            os.sched_setaffinity(process, {max(allowed)})
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(server, allowed)


def _cpu_seconds(used: Mapping[str, Any]) -> float:
    return float(used["usage"]["cpu_user_seconds"] + used["usage"]["cpu_system_seconds"])
