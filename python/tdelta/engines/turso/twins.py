"""Turso twins: loaded once for each kind of file, copied for each instance, driven by a worker each."""

from __future__ import annotations

import dataclasses
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tdelta.driver.answers import checksums, measurement, of_embedded, raise_failed, traced
from tdelta.driver.files import TwinFolder
from tdelta.driver.jobs import STEPS, TRACE, AnyJob, LoadAndRebuild, PopulateJob, TrialJob, WorkloadSpec
from tdelta.driver.protocol import Checksums, CipherProof, LoopCost, Tables
from tdelta.driver.rows import generated_checksums, populate
from tdelta.driver.servers.sequential import SequentialBlocks, work_of
from tdelta.driver.steps import STEP_SECONDS, embedded_step
from tdelta.driver.workers import Worker
from tdelta.engines.shared.rewriting import markers_of
from tdelta.engines.turso.engine import TEMPORARY, TursoEngine, TursoSettings, header
from tdelta.engines.turso.exposure import TursoExposure
from tdelta.engines.turso.pricing import ask_page_prices
from tdelta.errors import Defect, StorageFault
from tdelta.evidence import FileClass, MarkerHit, TwinFile, search
from tdelta.measure.aes import CryptoKind, PreloadMode, hidden_environment
from tdelta.measure.private import FOLDER_MODE
from tdelta.messages import Refusal
from tdelta.records import Measurement

PROGRAM = "tdelta.engines.turso.worker"
_DATABASE = "twin"
_OPEN_SECONDS = 60.0
_GRACE_SECONDS = 60.0
_PROVE_SECONDS = 120.0
_TEMPORARY_VARIABLE = "TMPDIR"
"""Turso asks it whenever it makes such a file."""

_CHECKPOINT = "PRAGMA wal_checkpoint(TRUNCATE)"
_LOADING_BYTES = 64 << 20
"""The cache of a file that is being loaded."""


class TursoTwin:
    """One instance: a copy of a loaded file, open in a worker of its own."""

    def __init__(
        self,
        engine: TursoEngine,
        settings: TursoSettings,
        path: Path,
        worker: Worker,
        environment: Mapping[str, str],
        steps: LoadAndRebuild | None,
    ) -> None:
        self._engine = engine
        self._settings = settings
        self._path = path
        self._worker = worker
        self._environment = environment
        self._steps = steps
        self._is_stopped = False

    @property
    def path(self) -> Path:
        """The database file."""
        return self._path

    def facts(self) -> dict[str, str]:
        """Settings in force that all twins share."""
        return self._worker.ask("facts", queries=dict(self._engine.facts))

    def cipher_facts(self) -> dict[str, str]:
        """What Turso says of the cipher, and under ``header`` what the file's own says."""
        return {**self._worker.ask("facts", queries={"cipher": "PRAGMA cipher"}), "header": header(self._path)}

    def checksums(self, tables: Tables) -> Checksums:
        """Rows and checksum of each table."""
        return checksums(self._worker, tables)

    def prove(self) -> CipherProof:
        """What a page of AES-GCM costs Turso in this twin's own process."""
        cipher, home = self._engine.proof_cipher, self._path.parent / "proof"
        home.mkdir()
        settings = dataclasses.replace(self._settings, cipher="none", threads=1, cache_bytes=0)
        files = {
            "plain": self._engine.options(home / "plain.db", settings, None),
            "encrypted": self._engine.options(
                home / "encrypted.db",
                dataclasses.replace(settings, cipher=cipher),
                secrets.token_hex(self._engine.key_bytes(cipher)),
            ),
        }
        try:
            answer = self._worker.ask("prove", seconds=_PROVE_SECONDS, files=files)
        finally:
            shutil.rmtree(home, ignore_errors=True)
        return CipherProof(cipher=cipher, **answer | {"mode": PreloadMode(answer["mode"])})

    def prices(self, _observed: str) -> dict[str, object] | None:
        """What pages cost, in a worker like this twin's; see `ask_page_prices`. None of a plain twin."""
        if not self._engine.needs_key(self._settings.cipher):
            return None
        home = self._path.parent / "prices"
        return ask_page_prices(self._engine, PROGRAM, home, self._environment, self._settings)

    def evidence(self, job: TrialJob, needles: Sequence[bytes]) -> tuple[MarkerHit, ...]:
        """Run one trial that nobody measures, marker rows on their way through all files, and search these meanwhile.

        Raises:
            EnvironmentFault: a file cannot be searched.
            StorageFault: the disk is full, or a file cannot be read or written.
            TdeltaError: a statement failed; the message is Turso's.
        """
        exposure = TursoExposure(self._worker, self._path, needles)
        with exposure.under_way():
            # The checkpoint behind a trial would wait for the exposure's snapshot to end.
            self._worker.send("trial", trial=job.as_json(), checkpoint=False)
            exposure.scan_until_answered(job.deadline_seconds)
            raise_failed(self._worker.answer(job.deadline_seconds + _GRACE_SECONDS))
        exposure.scan()
        return exposure.found()

    def trial(self, job: TrialJob, ready: Callable[[], None] | None = None) -> Measurement:
        """Run one trial; in a cold one nothing of the file is in any cache at its beginning.

        Raises:
            StorageFault: the disk is full, or a file cannot be read or written.
            TdeltaError: a statement failed; the message is Turso's.
        """
        if self._is_stopped:
            return Measurement(0, 0, {}, {}, stopped_by="signal")
        if self._settings.is_cold and not job.step:
            self._worker.ask("cool", seconds=_OPEN_SECONDS)
        if ready is not None:
            ready()
        seconds = job.deadline_seconds + _GRACE_SECONDS
        if job.step == TRACE:
            return traced(self._worker.ask("trace", seconds=seconds, trial=job.as_json()))
        if job.step in STEPS:
            return self._step(job.step)
        answer = self._worker.ask("trial", seconds=seconds, trial=job.as_json())
        threads = self._settings.threads
        return of_embedded(answer, job, load_threads=threads, database_threads=threads)

    def _step(self, step: str) -> Measurement:
        """One load or rebuild, the write into the file included."""
        if self._steps is None:
            raise Defect(f"a {step} was asked of a run that has none")
        request = self._steps.request(step, self._settings.threads)
        answer = self._worker.ask("step", seconds=STEP_SECONDS, **request, after=[_CHECKPOINT])
        return embedded_step(step, {**answer, "files": {"database": self._path.stat().st_size}}, self._steps.rows)

    def processes(self) -> tuple[int, ...]:
        """The worker's: the database is in it."""
        return (self._worker.pid,)

    def stop(self) -> None:
        """Have a trial that is running end after the operation it is at; others are not begun."""
        self._is_stopped = True
        self._worker.send("stop")

    def end(self) -> None:
        """Close it and remove its folder."""
        self._worker.end()
        shutil.rmtree(self._path.parent, ignore_errors=True)


class TursoTwins(SequentialBlocks):
    """Makes twins of one run. Keys are drawn here, kept in memory, and sent through the workers' pipes only."""

    def __init__(self, engine: TursoEngine, folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> None:
        super().__init__(mix)
        if not isinstance(job, PopulateJob):
            raise Defect("Turso's twins hold generated rows only")
        self._engine = engine
        self._folder = folder
        self._job = job
        self._keys: dict[str, str] = {}
        self._loads: dict[str, Path] = {}
        self.library = ""

    def expected_checksums(self) -> Checksums:
        """The checksums of the rows as generated, before any database had them."""
        return generated_checksums(self._job)

    def load(self, settings: TursoSettings) -> tuple[Path, Checksums]:
        """Load the file that instances of these settings are copied from. Returns it with its checksums."""
        path = self._home(f"load-{len(self._loads)}")
        loading = dataclasses.replace(settings, threads=1, cache_bytes=_LOADING_BYTES)
        with Worker(_temporary(path), PROGRAM) as worker:
            self.library = self._open(worker, path, loading)["library"]
            populate(worker, self._job)
            worker.ask("facts", seconds=STEP_SECONDS, queries={"checkpoint": _CHECKPOINT})
            sums = checksums(worker, self._job.tables)
        self._loads[settings.cipher] = path
        return path, sums

    def is_encrypted(self, path: Path) -> bool:
        """Whether the file's header says so, and none of the planted rows can be read in it."""
        found = path.stat()
        file = TwinFile(path.name, str(path), FileClass.DATABASE, (found.st_dev, found.st_ino))
        is_hidden = not any(one.markers_found for one in search([file], markers_of(self._job)))
        return header(path) != "plain" and is_hidden

    def start(self, settings: TursoSettings, name: str) -> TursoTwin:
        """Copy the loaded file under an instance's name and open it in a new worker, its transactions compiled."""
        self._home(name)
        path = self._folder.copy(self._loads[settings.cipher], f"{name}/{_DATABASE}")
        environment = self._environment(settings) | _temporary(path)
        worker = Worker(environment, PROGRAM)
        try:
            self._open(worker, path, settings, connections=settings.threads)
            worker.ask("prepare", **work_of(self._mix))
        except BaseException:
            worker.kill()
            shutil.rmtree(path.parent, ignore_errors=True)
            raise
        return TursoTwin(self._engine, settings, path, worker, environment, self._mix.steps)

    def loop_cost(self, job: TrialJob) -> LoopCost:
        """Run the transactions on a client that does nothing, in a worker like any other."""
        with Worker(program=PROGRAM) as worker:
            measured = measurement(worker.ask("loop_cost", **work_of(self._mix), trial=job.as_json()))
        statements = sum(span.count for span in measured.statements.values())
        return LoopCost(measured.elapsed_ns / max(1, statements), measured.response_ns)

    def data_bytes(self, path: Path) -> int:
        """The size of the file."""
        return path.stat().st_size

    def end(self) -> None:
        """Loaded files go with the folder."""

    def _open(self, worker: Worker, path: Path, settings: TursoSettings, *, connections: int = 1) -> Mapping[str, str]:
        options = self._engine.options(path, settings, self._key(settings.cipher))
        return worker.ask("open", seconds=_OPEN_SECONDS, options=options, connections=connections)

    def _home(self, name: str) -> Path:
        """A folder for one file and what Turso puts beside it. Returns the file's path."""
        path = self._folder.file(f"{name}/{_DATABASE}")
        try:
            path.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise StorageFault(
                Refusal.of("cannot-make-run-folder", folder=path.parent, fault=error.strerror)
            ) from error
        return path

    def _environment(self, settings: TursoSettings) -> dict[str, str]:
        if settings.aes_instructions == "on":
            return {}
        return hidden_environment(CryptoKind(self._engine.crypto))

    def _key(self, cipher: str) -> str | None:
        if not self._engine.needs_key(cipher):
            return None
        if cipher not in self._keys:
            self._keys[cipher] = secrets.token_hex(self._engine.key_bytes(cipher))
        return self._keys[cipher]


def _temporary(path: Path) -> dict[str, str]:
    """Where a worker that has this file open makes temporary files: in a folder beside it."""
    folder = path.parent / TEMPORARY
    folder.mkdir(FOLDER_MODE, exist_ok=True)
    return {_TEMPORARY_VARIABLE: str(folder)}
