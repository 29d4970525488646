"""SQLite twins: loaded once for each kind of file, copied for each instance, driven by a worker each."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from tdelta.design.actions import NOTHING as NOTHING_BESIDE
from tdelta.design.actions import AskedAction, parse_action
from tdelta.driver import acting
from tdelta.driver.answers import STEP_SECONDS, checksums, embedded_step, measurement, of_embedded, raise_failed, traced
from tdelta.driver.evp_calls import together
from tdelta.driver.files import TwinFolder
from tdelta.driver.jobs import (
    STEPS,
    TRACE,
    AnyJob,
    DatabaseJob,
    LoadAndRebuild,
    OwnTablesJob,
    PopulateJob,
    RestoreJob,
    TrialJob,
    WorkloadSpec,
)
from tdelta.driver.protocol import NOTHING, Checksums, CipherProof, LoopCost, Tables
from tdelta.driver.rows import generated_checksums, populate
from tdelta.driver.tree import usage
from tdelta.driver.workers import Worker
from tdelta.engines.sqlite.actions import actions_of
from tdelta.engines.sqlite.convert import convert
from tdelta.engines.sqlite.engine import WORKER, SqliteEngine, TwinSettings
from tdelta.engines.sqlite.exposure import Exposure
from tdelta.engines.sqlite.pricing import ask_prices, ask_proof
from tdelta.engines.sqlite.site import FileSite
from tdelta.errors import Defect
from tdelta.evidence import MarkerHit
from tdelta.measure.aes import CryptoKind, hidden_environment
from tdelta.records import Measurement

ONE_LIBRARY: Mapping[str, SqliteEngine] = MappingProxyType({})
"""Of a run with one library."""

_GRACE_SECONDS = 60.0
_OPEN_SECONDS = 60.0
_HEAD_BYTES = 16
_CHECKPOINT = "PRAGMA wal_checkpoint(TRUNCATE)"
_FACTS = {
    "page_size": "PRAGMA page_size",
    "page_count": "PRAGMA page_count",
    "journal_mode": "PRAGMA journal_mode",
    "synchronous": "PRAGMA synchronous",
    "cache_size": "PRAGMA cache_size",
    "encoding": "PRAGMA encoding",
    "auto_vacuum": "PRAGMA auto_vacuum",
    "secure_delete": "PRAGMA secure_delete",
    "temp_store": "PRAGMA temp_store",
}


class SqliteTwin:
    """One instance: a copy of a loaded file, open in a worker of its own."""

    def __init__(
        self,
        engine: SqliteEngine,
        folder: TwinFolder,
        path: Path,
        worker: Worker,
        settings: TwinSettings,
        steps: LoadAndRebuild | None = None,
        act: Callable[[AskedAction, acting.Halt], acting.Act] | None = None,
    ) -> None:
        self._act = act
        self._halt = acting.Halt()
        self._engine = engine
        self._settings = settings
        self._steps = steps
        self._folder = folder
        self._path = path
        self.worker = worker
        """What drives it; a block gives it requests."""

        self._is_stopped = False

    @property
    def pid(self) -> int:
        return self.worker.pid

    @property
    def path(self) -> Path:
        return self._path

    def facts(self) -> dict[str, str]:
        return self.worker.ask("facts", queries=_FACTS)

    def cipher_facts(self) -> dict[str, str]:
        """What the connection says of its cipher, and under ``header`` how the file begins."""
        header = "plain" if _looks_plain(self._engine, self._path) else "hidden"
        return {**self.worker.ask("facts", queries=self._engine.cipher_queries), "header": header}

    def checksums(self, tables: Tables) -> Checksums:
        return checksums(self.worker, tables)

    def prove(self) -> CipherProof:
        return ask_proof(self.worker, self._engine, self._folder)

    def prices(self) -> dict[str, object] | None:
        """Time the library's own pages, in a worker like this twin's; see `ask_prices`."""
        if not self._engine.needs_key(self._settings.cipher):
            return None
        return ask_prices(self._engine, self._folder, environment_of(self._engine, self._settings), self._settings)

    def evidence(self, job: TrialJob, needles: Sequence[bytes]) -> tuple[MarkerHit, ...]:
        """Run one trial that nobody measures, marker rows on their way through all files; search these meanwhile."""
        exposure = Exposure(self.worker, self._path, needles)
        with exposure.under_way():
            # The checkpoint behind a trial would wait for the exposure's snapshot to end.
            self.worker.send("trial", trial=job.as_json(), checkpoint=False)
            exposure.scan_until_answered(job.deadline_seconds)
            raise_failed(self.worker.answer(job.deadline_seconds + _GRACE_SECONDS))
        exposure.scan_afterwards()
        return exposure.found()

    def trial(self, job: TrialJob, ready: Callable[[], None] | None = None) -> Measurement:
        """Run one trial; in a cold one nothing of the file is in any cache at its beginning."""
        if self._is_stopped:
            return Measurement(0, 0, {}, {}, stopped_by="signal")
        if not job.step:
            self.cool()
        if ready is not None:
            ready()
        if job.step == TRACE:
            seconds = job.deadline_seconds + _GRACE_SECONDS
            return traced(self.worker.ask("trace", seconds=seconds, trial=job.as_json()))
        if job.step in STEPS:
            return self._step(job.step)
        if job.step and self._act is not None:
            used = partial(usage, self.pid)
            act = self._act(parse_action(job.step), self._halt)
            return acting.alone(act, job.step, used, self._halt, None)
        if job.during and self._act is not None:
            return self._beside(job, self._act)
        answer = self.worker.ask("trial", seconds=job.deadline_seconds + _GRACE_SECONDS, trial=job.as_json())
        return self.measurement(answer, job)

    def _beside(self, job: TrialJob, make: Callable[[AskedAction, acting.Halt], acting.Act]) -> Measurement:
        """A trial beside whose load something goes on, or nothing does. The checkpoint after it is in no figure."""
        asked, halt = parse_action(job.during), self._halt
        act = acting.IDLE if asked.name == NOTHING_BESIDE else make(asked, halt)
        beside = acting.Beside(act, head_seconds=job.head_seconds)
        with acting.prepared(act, halt):
            with beside.going_on(halt):
                seconds = job.deadline_seconds + _GRACE_SECONDS
                answer = self.worker.ask("trial", seconds=seconds, trial=job.as_json(), checkpoint=False)
            measured = beside.added(self.measurement(answer, job))
            if not halt.is_asked:
                measured = acting.inspected(act, measured)
        self.worker.ask("facts", seconds=STEP_SECONDS, queries={"checkpoint": _CHECKPOINT})
        return measured

    def measurement(self, answer: Mapping[str, Any], job: TrialJob) -> Measurement:
        """What a trial of this twin measured: load and database are one thread for each connection."""
        threads = self._settings.threads
        return of_embedded(answer, job, load_threads=threads, database_threads=threads)

    def _step(self, step: str) -> Measurement:
        """One load or rebuild, the write into the file included; the sizes of the files are those after it."""
        if self._steps is None:
            raise Defect(f"a {step} was asked of a run that has none")
        request = self._steps.request(step, self._settings.threads)
        answer = self.worker.ask("step", seconds=STEP_SECONDS, **request, after=[_CHECKPOINT])
        return embedded_step(step, {**answer, "files": {"database": self._path.stat().st_size}}, self._steps.rows)

    def cool(self) -> None:
        """Open a cold twin's file anew, with nothing of it in any cache; others are left as they are.

        What writes had left in the log goes into the file meanwhile.

        Raises:
            StorageFault: the disk is full, or a file cannot be read or written.
            TdeltaError: the file cannot be opened; the message is the engine's.
        """
        if self._settings.is_cold:
            seconds = _OPEN_SECONDS + self._settings.threads
            self.worker.ask("cool", seconds=seconds, path=str(self._path))

    def processes(self) -> tuple[int, ...]:
        return (self.worker.pid,)

    def stop(self) -> None:
        """Have a trial that is running end after the operation it is at; others are not begun.

        The twins of a block that has loads or rebuilds run one after another, so most of them have not begun theirs.
        """
        self._is_stopped = True
        self._halt.ask()
        self.worker.send("stop")

    def end(self) -> None:
        self.worker.end()
        self._folder.remove(self._path)


Kind: TypeAlias = tuple[str, int, int, str]
"""What decides how rows lie in a file: cipher, page size, reserved bytes, library."""


def _kind(settings: TwinSettings) -> Kind:
    return settings.cipher, settings.page_size, settings.reserved_bytes, settings.library


class SqliteTwins:
    """Makes twins of one run. Keys are drawn here, kept in memory, and sent through the workers' pipes only."""

    def __init__(
        self,
        engine: SqliteEngine,
        folder: TwinFolder,
        job: AnyJob,
        mix: WorkloadSpec,
        versions: Mapping[str, SqliteEngine] = ONE_LIBRARY,
    ) -> None:
        self._engine = engine
        self._versions = versions
        self._folder = folder
        self._job = job
        self._mix = mix
        self._keys: dict[str, str] = {}
        self._loads: dict[Kind, Path] = {}
        self._said: dict[str, str] = {}
        self.library = ""

    def _of(self, settings: TwinSettings) -> SqliteEngine:
        return self._versions.get(settings.library, self._engine)

    def load(self, settings: TwinSettings) -> tuple[Path, Checksums]:
        """Load the file that instances of these settings are copied from. Returns it with its checksums."""
        name, key = f"load-{len(self._loads)}", self._key(settings.cipher)
        if isinstance(self._job, RestoreJob | OwnTablesJob):
            raise Defect("neither a dump nor a server's tables become a file of SQLite")
        if isinstance(self._job, DatabaseJob):
            engine = self._of(settings)
            path, self._said[settings.library], sums = convert(engine, self._folder, self._job, settings, name, key)
        else:
            path, sums = self._generate(self._job, settings, name, key)
        self._loads[_kind(settings)] = path
        self.library = " and ".join(self._said.values())
        return path, sums

    def _generate(self, job: PopulateJob, settings: TwinSettings, name: str, key: str | None) -> tuple[Path, Checksums]:
        path = self._folder.file(name)
        with Worker(program=WORKER) as worker:
            engine = self._of(settings)
            options = engine.create_options(str(path), settings, key)
            self._said[settings.library] = self._open(engine, worker, options)["library"]
            populate(worker, job)
            return path, checksums(worker, job.tables)

    def expected_checksums(self) -> Checksums:
        """The checksums of the rows as generated, before any database had them, or as read from a user's database."""
        if not isinstance(self._job, PopulateJob):
            return self._job.checksums
        return generated_checksums(self._job)

    @property
    def why_not_timed(self) -> str:
        refusal = "the cipher is part of the library, where its calls cannot be timed"
        return "" if self._engine.calls_openssl else refusal

    def start(self, settings: TwinSettings, name: str, environment: Mapping[str, str] = NOTHING) -> SqliteTwin:
        """Copy the loaded file under an instance's name and open it in a new worker, its transactions prepared."""
        engine = self._of(settings)
        path = self._folder.copy(self._loads[_kind(settings)], name)
        environment = together(environment_of(engine, settings), environment)
        worker = Worker(environment, WORKER)
        try:
            options = engine.open_options(str(path), settings, self._key(settings.cipher))
            seconds = _OPEN_SECONDS + settings.threads  # a key derivation each, at most about a tenth of that
            self._open(engine, worker, options, connections=settings.threads, seconds=seconds)
            worker.ask("prepare", transactions=self._mix.transactions, constants=self._mix.constants)
        except BaseException:
            worker.kill()
            self._folder.remove(path)
            raise
        act = partial(self._act, settings, path, worker, environment)
        return SqliteTwin(engine, self._folder, path, worker, settings, self._mix.steps, act)

    def _act(
        self,
        settings: TwinSettings,
        path: Path,
        worker: Worker,
        environment: Mapping[str, str],
        asked: AskedAction,
        halt: acting.Halt,
    ) -> acting.Act:
        job = self._job
        if not isinstance(job, PopulateJob):
            raise Defect(f"{asked.name} was asked of twins of a user's rows")
        engine = self._of(settings)
        site = FileSite(
            engine=engine,
            settings=settings,
            key=self._key(settings.cipher),
            path=path,
            plain=next(
                loaded
                for (cipher, page_size, _, library), loaded in self._loads.items()
                if (cipher, page_size, library) == ("none", settings.page_size, settings.library)
            ),
            folder=self._folder,
            worker=worker,
            job=job,
            environment=environment,
            halt=halt,
        )
        return actions_of(engine.library)[asked.name].make(site, asked)

    @staticmethod
    def _open(
        engine: SqliteEngine,
        worker: Worker,
        options: Mapping[str, object],
        *,
        connections: int = 1,
        seconds: float = _OPEN_SECONDS,
    ) -> dict[str, Any]:
        library = engine.library.name
        return worker.ask("open", seconds=seconds, library=library, options=options, connections=connections)

    def block(self, entries: Sequence[tuple[SqliteTwin, TrialJob]], slots: Sequence[int]) -> tuple[Measurement, ...]:
        measured = {index: entries[index][0].trial(entries[index][1]) for index in slots}
        return tuple(measured[index] for index in range(len(entries)))

    def loop_cost(self, job: TrialJob) -> LoopCost:
        with Worker() as worker:
            answer = worker.ask(
                "loop_cost",
                transactions=self._mix.transactions,
                constants=self._mix.constants,
                trial=job.as_json(),
            )
        measured = measurement(answer)
        statements = sum(span.count for span in measured.statements.values())
        return LoopCost(measured.elapsed_ns / max(1, statements), measured.response_ns)

    def data_bytes(self, path: Path) -> int:
        return path.stat().st_size

    def end(self) -> None:
        """Loaded files go with the folder."""

    def is_encrypted(self, path: Path) -> bool:
        """Whether the file does not begin as a plain database does."""
        return not _looks_plain(self._engine, path)

    def _key(self, cipher: str) -> str | None:
        if not self._engine.needs_key(cipher):
            return None
        if cipher not in self._keys:
            self._keys[cipher] = secrets.token_hex(32)
        return self._keys[cipher]


def environment_of(engine: SqliteEngine, settings: TwinSettings) -> dict[str, str]:
    """What is added to the environment of a worker whose twin has these settings."""
    return {} if settings.aes_instructions == "on" else hidden_environment(CryptoKind(engine.crypto))


def _looks_plain(engine: SqliteEngine, path: Path) -> bool:
    with path.open("rb") as file:
        return engine.looks_plain(file.read(_HEAD_BYTES))
