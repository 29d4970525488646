"""ClickHouse twins: loaded once for each kind of data, copied for each instance, driven by a worker each."""

from __future__ import annotations

import dataclasses
import os
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tdelta.driver.answers import as_checksums, checksums, measurement, of_embedded, raise_failed, traced
from tdelta.driver.files import TwinFolder
from tdelta.driver.jobs import STEPS, TRACE, AnyJob, PopulateJob, TrialJob, WorkloadSpec
from tdelta.driver.protocol import Checksums, CipherProof, LoopCost, Tables
from tdelta.driver.servers.sequential import SequentialBlocks, work_of
from tdelta.driver.steps import STEP_SECONDS, embedded_step
from tdelta.driver.workers import Worker
from tdelta.engines.clickhouse.engine import FILES, ClickhouseEngine, ClickhouseSettings, header
from tdelta.engines.clickhouse.exposure import ClickhouseExposure
from tdelta.engines.clickhouse.files import files_below
from tdelta.engines.clickhouse.pricing import ask_block_prices
from tdelta.engines.shared.generated_rows import GeneratedRows
from tdelta.engines.shared.rewriting import markers_of
from tdelta.errors import Defect, StorageFault
from tdelta.evidence import FileClass, MarkerHit, search
from tdelta.measure.aes import CryptoKind, PreloadMode, hidden_environment
from tdelta.measure.private import FOLDER_MODE
from tdelta.messages import Refusal
from tdelta.records import Measurement

PROGRAM = "tdelta.engines.clickhouse.worker"
_LOAD_SECONDS = 24 * 3600.0
_OPEN_SECONDS = 120.0
_GRACE_SECONDS = 60.0
_COOL_SECONDS = 120.0
_PROVE_SECONDS = 120.0


class ClickhouseTwin:
    """One instance: a copy of loaded data, open in a worker of its own."""

    def __init__(
        self,
        engine: ClickhouseEngine,
        settings: ClickhouseSettings,
        home: Path,
        worker: Worker,
        environment: Mapping[str, str],
        request: Callable[[str, int], tuple[dict[str, Any], int]],
    ) -> None:
        self._engine = engine
        self._settings = settings
        self._home = home
        self._worker = worker
        self._environment = environment
        self._request = request
        self._is_stopped = False

    @property
    def path(self) -> Path:
        """Its folder."""
        return self._home

    def facts(self) -> dict[str, str]:
        """Settings in force that all twins share."""
        return self._worker.ask("facts", queries=dict(self._engine.facts))

    def cipher_facts(self) -> dict[str, str]:
        """What ClickHouse says of its disk, and under ``header`` what all files there say."""
        return {**self._worker.ask("cipher"), "header": header(self._home)}

    def checksums(self, tables: Tables) -> Checksums:
        """Rows and checksum of each table."""
        return checksums(self._worker, tables)

    def prove(self) -> CipherProof:
        """What a page of AES costs ClickHouse in this twin's own process."""
        answer = self._worker.ask("prove", seconds=_PROVE_SECONDS)
        return CipherProof(cipher=self._engine.proof_cipher, **answer | {"mode": PreloadMode(answer["mode"])})

    def prices(self, _observed: str) -> dict[str, object] | None:
        """What bytes cost, in a worker like this twin's; see `ask_block_prices`. None of a plain twin."""
        if not self._engine.needs_key(self._settings.cipher):
            return None
        home = self._home.with_name(f"{self._home.name}-prices")
        return ask_block_prices(self._engine, PROGRAM, home, self._environment, self._settings)

    def evidence(self, job: TrialJob, needles: Sequence[bytes]) -> tuple[MarkerHit, ...]:
        """Run one trial that nobody measures, marker rows on their way through all files, and search these meanwhile.

        Raises:
            EnvironmentFault: a file cannot be searched.
            StorageFault: the disk is full, or a file cannot be read or written.
            TdeltaError: a statement failed; the message is ClickHouse's.
        """
        exposure = ClickhouseExposure(self._worker, self._home, needles)
        exposure.scan_during_sort()
        with exposure.under_way():
            self._worker.send("trial", trial=job.as_json())
            exposure.scan_until_answered(job.deadline_seconds)
            raise_failed(self._worker.answer(job.deadline_seconds + _GRACE_SECONDS))
        exposure.scan()
        return exposure.found()

    def trial(self, job: TrialJob, ready: Callable[[], None] | None = None) -> Measurement:
        """Run one trial; in a cold one all caches are emptied before each operation, which is in no figure.

        Raises:
            StorageFault: the disk is full, or a file cannot be read or written.
            TdeltaError: a statement failed; the message is ClickHouse's.
        """
        if self._is_stopped:
            return Measurement(0, 0, {}, {}, stopped_by="signal")
        if ready is not None:
            ready()
        is_cold = self._settings.is_cold
        seconds = job.deadline_seconds + _GRACE_SECONDS + is_cold * job.operations * _COOL_SECONDS
        if job.step == TRACE:
            return traced(self._worker.ask("trace", seconds=seconds, trial=job.as_json()))
        if job.step in STEPS:
            request, rows = self._request(job.step, self._settings.threads)
            return embedded_step(job.step, self._worker.ask("step", seconds=STEP_SECONDS, **request), rows)
        answer = self._worker.ask("trial", seconds=seconds, trial=job.as_json(), is_cold=is_cold)
        settings = self._settings
        return of_embedded(answer, job, load_threads=settings.threads, database_threads=settings.engine_threads)

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
        shutil.rmtree(self._home, ignore_errors=True)


class ClickhouseTwins(SequentialBlocks):
    """Makes twins of one run. Keys are drawn here, kept in memory, and sent through the workers' pipes only."""

    def __init__(self, engine: ClickhouseEngine, folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> None:
        super().__init__(mix)
        if not isinstance(job, PopulateJob):
            raise Defect("ClickHouse's twins hold generated rows only")
        self._engine = engine
        self._folder = folder
        self._job = job
        self._rows = GeneratedRows(folder, job, engine.product)
        self._keys: dict[str, str] = {}
        self._loads: dict[str, Path] = {}
        self._expected: Checksums = {}
        self.library = ""

    def expected_checksums(self) -> Checksums:
        """The checksums of the rows as generated, before any table of ClickHouse had them."""
        if self._expected:
            return self._expected
        home = self._home("digest")
        with Worker(program=PROGRAM) as worker:
            self._rows.write(worker)
            self._open(worker, home, ClickhouseSettings("none", 1, _cores()))
            found = as_checksums(worker.ask("digest", seconds=_LOAD_SECONDS, **self._loading(_cores())))
        shutil.rmtree(home, ignore_errors=True)
        self._rows.check(found)
        self._expected = found
        return self._expected

    def load(self, settings: ClickhouseSettings) -> tuple[Path, Checksums]:
        """Load the data that instances of these settings are copied from. Returns its folder, with its checksums.

        There are no secondary indexes: an analytic engine's tables are scanned by the ranges of their granules.
        """
        self.expected_checksums()
        home = self._home(f"load-{len(self._loads)}")
        with Worker(program=PROGRAM) as worker:
            self.library = self._open(worker, home, dataclasses.replace(settings, engine_threads=_cores()))["library"]
            worker.ask("load", seconds=_LOAD_SECONDS, **self._loading(_cores()))
            sums = checksums(worker, self._job.tables)
            worker.ask("close", seconds=_LOAD_SECONDS)
        self._loads[settings.cipher] = home
        return home, sums

    def is_encrypted(self, path: Path) -> bool:
        """Whether the headers of all files on its disk say so, and none of the planted rows can be read in them."""
        files = [file for file in files_below(path) if file.file_class is FileClass.DATABASE]
        is_hidden = not any(one.markers_found for one in search(files, markers_of(self._job)))
        return header(path).startswith("cipher ") and is_hidden

    def start(self, settings: ClickhouseSettings, name: str) -> ClickhouseTwin:
        """Copy loaded data under an instance's name and open it in a new worker, its transactions compiled."""
        if self._mix.steps is None:
            self._rows.remove()  # every kind is loaded by now
        home = self._folder.path / name
        _copied(self._loads[settings.cipher], home)
        environment = self._environment(settings)
        worker = Worker(environment, PROGRAM)
        try:
            self._open(worker, home, settings, connections=settings.threads)
            worker.ask("prepare", **work_of(self._mix))
        except BaseException:
            worker.kill()
            shutil.rmtree(home, ignore_errors=True)
            raise
        return ClickhouseTwin(self._engine, settings, home, worker, environment, self._request)

    def loop_cost(self, job: TrialJob) -> LoopCost:
        """Run the transactions on a client that does nothing, in a worker like any other."""
        with Worker(program=PROGRAM) as worker:
            measured = measurement(worker.ask("loop_cost", **work_of(self._mix), trial=job.as_json()))
        statements = sum(span.count for span in measured.statements.values())
        return LoopCost(measured.elapsed_ns / max(1, statements), measured.response_ns)

    def data_bytes(self, path: Path) -> int:
        """The size of all files on its disk."""
        return sum(file.stat().st_size for file in (path / FILES).rglob("*") if file.is_file())

    def end(self) -> None:
        """Loaded data goes with the folder."""

    def _request(self, step: str, threads: int) -> tuple[dict[str, Any], int]:
        """One step as the worker is told it (rows come out of their files), and of how many rows it is."""
        if self._mix.steps is None:
            raise Defect(f"a {step} was asked of a run that has none")
        request = self._mix.steps.request(step, 1)
        if request["load"] is not None:
            request["load"] = self._loading(threads)
        return request, self._mix.steps.rows

    def _loading(self, threads: int) -> dict[str, Any]:
        job, planned = self._job, self._job.plan["tables"]
        tables: Any = planned
        return {
            "tables_sql": job.tables_sql,
            "tables": job.tables,
            "files": self._rows.files(),
            "threads": threads,
            "hexadecimal": {
                table["name"]: [column["name"] for column in table["columns"] if column["distribution"] == "bytes"]
                for table in tables
            },
        }

    def _open(
        self, worker: Worker, home: Path, settings: ClickhouseSettings, *, connections: int = 0
    ) -> Mapping[str, str]:
        options = self._engine.options(home, settings, self._key(settings.cipher))
        return worker.ask("open", seconds=_OPEN_SECONDS, options=options, connections=connections)

    def _home(self, name: str) -> Path:
        """A folder for one twin, or for loaded data."""
        home = self._folder.path / name
        try:
            home.mkdir(FOLDER_MODE, exist_ok=True)
        except OSError as error:
            raise StorageFault(Refusal.of("cannot-make-run-folder", folder=home, fault=error.strerror)) from error
        return home

    def _environment(self, settings: ClickhouseSettings) -> Mapping[str, str]:
        if settings.aes_instructions == "on":
            return {}
        return hidden_environment(CryptoKind(self._engine.crypto))

    def _key(self, cipher: str) -> str | None:
        if not self._engine.needs_key(cipher):
            return None
        if cipher not in self._keys:
            self._keys[cipher] = secrets.token_hex(self._engine.key_bytes(cipher))
        return self._keys[cipher]


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _copied(source: Path, target: Path) -> None:
    """Copy loaded data, as far as the disk.

    Raises:
        StorageFault: there is no room.
    """
    try:
        shutil.copytree(source, target, ignore=_links)
        target.chmod(FOLDER_MODE)
        for path in target.rglob("*"):
            if path.is_file():
                _sync(path)
    except (OSError, shutil.Error) as error:
        fault = getattr(error, "strerror", None) or str(error)
        raise StorageFault(Refusal.of("cannot-copy-twin", target=target, fault=fault)) from error


def _links(folder: str, names: Sequence[str]) -> list[str]:
    """Links lead to where the data were loaded; ClickHouse makes them anew."""
    return [name for name in names if Path(folder, name).is_symlink()]


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
