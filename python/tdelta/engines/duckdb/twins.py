"""DuckDB twins: loaded once for each kind of file, copied for each instance, driven by a worker each."""

from __future__ import annotations

import dataclasses
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tdelta import own_folders
from tdelta.design.actions import NOTHING, AskedAction, parse_action
from tdelta.driver import acting
from tdelta.driver.answers import (
    STEP_SECONDS,
    as_checksums,
    checksums,
    embedded_step,
    measurement,
    of_embedded,
    raise_failed,
    traced,
)
from tdelta.driver.files import TwinFolder
from tdelta.driver.jobs import STEPS, TRACE, AnyJob, PopulateJob, TrialJob, WorkloadSpec
from tdelta.driver.protocol import Checksums, CipherProof, LoopCost, Tables
from tdelta.driver.servers.sequential import SequentialBlocks, work_of
from tdelta.driver.tree import usage
from tdelta.driver.workers import Worker
from tdelta.engines.duckdb.actions import ACTIONS
from tdelta.engines.duckdb.engine import DuckdbEngine, DuckdbSettings
from tdelta.engines.duckdb.exposure import DuckdbExposure, spilled
from tdelta.engines.duckdb.site import PROGRAM, DuckdbSite
from tdelta.engines.duckdb.statements import BLOCK_BYTES, CATALOG
from tdelta.engines.shared.generated_rows import GeneratedRows
from tdelta.engines.shared.rewriting import markers_of
from tdelta.errors import Defect, StorageFault
from tdelta.evidence import FileClass, MarkerHit, TwinFile, search
from tdelta.evidence.headers import Meaning, header_of
from tdelta.measure import effort
from tdelta.measure.aes import CryptoKind, PreloadMode, hidden_environment
from tdelta.messages import Refusal
from tdelta.records import Measurement

_SECONDS = 300.0
_MEMORY_MIB = 512
"""Room for all blocks that are priced, whatever the twin's queries have."""


def ask_block_prices(
    engine: DuckdbEngine, program: str, home: Path, environment: Mapping[str, str], settings: DuckdbSettings
) -> dict[str, object]:
    """What a block of an encrypted twin costs, pass by pass, with as many threads as its queries have.

    It takes some seconds, and two or three files of 8 MiB (twice that for a moment) in ``home``, which is removed.

    Raises:
        StorageFault: the disk is full, or a file cannot be read or written.
        TdeltaError: DuckDB cannot do it; the message is its own.
        WorkerFault: the worker died.
    """
    cipher = engine.ciphers[settings.cipher]
    levels = {"plain": "none", "encrypted": settings.cipher, "bare": cipher.without_mac}
    files = {name: _options(engine, home / name, settings, level) for name, level in levels.items() if level}
    # A scan in software is thirty times as long.
    request: dict[str, Any] = {"files": files, "repeats": 1 if cipher.is_mbedtls else effort.BLOCK_REPEATS}
    try:
        with Worker(environment, program) as worker:
            answer = worker.ask("price", seconds=_SECONDS, **request, least_seconds=effort.BLOCK_SECONDS)
    finally:
        own_folders.remove(home)
    return {
        "page_bytes": BLOCK_BYTES,
        "counted": "blocks",
        "cipher": f"{settings.cipher} of {'mbedtls' if cipher.is_mbedtls else 'OpenSSL'}",
        "mac": "" if cipher.mode != "GCM" else "GHASH" if cipher.without_mac is None else "what GCM takes beyond CTR",
        "passes": answer["passes"],
    }


def _options(engine: DuckdbEngine, path: Path, settings: DuckdbSettings, level: str) -> dict[str, object]:
    given = dataclasses.replace(settings, cipher=level, memory_mib=_MEMORY_MIB)
    return engine.options(path, given, secrets.token_hex(32) if engine.needs_key(level) else None)


_DATABASE = "twin"
_LOAD_SECONDS = 24 * 3600.0
_GRACE_SECONDS = 60.0
_OPEN_SECONDS = 120.0
_PROVE_SECONDS = 120.0
_COOL_SECONDS = 120.0
LOADING_MIB = 1024
"""DuckDB's limit of memory while a file is loaded, whatever the number of rows."""

_PRICED = "priced"
_HEAD_BYTES = 4096
_VERSION_PLACE = 12
"""Where the main header has the version of the storage: eight bytes behind its checksum and magic."""


class DuckdbTwin:
    """One instance: a copy of a loaded file, attached in a worker of its own."""

    def __init__(
        self,
        engine: DuckdbEngine,
        settings: DuckdbSettings,
        path: Path,
        worker: Worker,
        control: Callable[[Sequence[bytes]], tuple[MarkerHit, ...]],
        request: Callable[[str], tuple[dict[str, Any], int]],
        prices: Callable[[], dict[str, object]],
        act: Callable[[AskedAction, acting.Halt, bool], acting.Act],
    ) -> None:
        self._act = act
        self._halt = acting.Halt()
        self._engine = engine
        self._settings = settings
        self._path = path
        self._worker = worker
        self._control = control
        self._request = request
        self._prices = prices
        self._is_stopped = False

    @property
    def pid(self) -> int:
        return self._worker.pid

    @property
    def path(self) -> Path:
        return self._path

    def facts(self) -> dict[str, str]:
        found = self._worker.ask("facts", queries=dict(self._engine.facts))
        return {**found, "storage_version": str(_storage_version(self._path))}

    def cipher_facts(self) -> dict[str, str]:
        return {**self._worker.ask("cipher"), "header": "hidden" if says_encrypted(self._path) else "plain"}

    def checksums(self, tables: Tables) -> Checksums:
        return checksums(self._worker, tables)

    def prove(self) -> CipherProof | None:
        """What a page costs OpenSSL in this twin's own process; None where mbedtls is what encrypts."""
        if self._engine.ciphers[self._settings.cipher].is_mbedtls:
            return None
        home = self._path.parent / "proof"
        home.mkdir()
        plain, encrypted = (dataclasses.replace(self._settings, cipher=c) for c in ("none", self._engine.proof_cipher))
        files = {
            "plain": self._engine.options(home / "plain.db", plain, None),
            "encrypted": self._engine.options(home / "encrypted.db", encrypted, secrets.token_hex(32)),
        }
        try:
            answer = self._worker.ask("prove", seconds=_PROVE_SECONDS, files=files)
        finally:
            own_folders.remove(home)
        return CipherProof(cipher=self._engine.proof_cipher, **answer | {"mode": PreloadMode(answer["mode"])})

    def prices(self) -> dict[str, object] | None:
        """What blocks cost, in a worker like this twin's; see `ask_block_prices`.

        None of a plain twin, and where the bytes that are counted may be those of temporary files in the clear.
        """
        is_counted = self._engine.needs_key(self._settings.cipher) and self._settings.encrypts_temp
        return self._prices() if is_counted else None

    def evidence(self, job: TrialJob, needles: Sequence[bytes]) -> tuple[MarkerHit, ...]:
        """Run one trial that nobody measures, marker rows on their way through all files; search these meanwhile."""
        exposure = DuckdbExposure(self._worker, self._path, needles)
        exposure.scan_during_spill()
        with exposure.under_way():
            # The checkpoint behind a trial would wait for the exposure's snapshot to end.
            self._worker.send("trial", trial=job.as_json(), checkpoint=False)
            exposure.scan_until_answered(job.deadline_seconds)
            raise_failed(self._worker.answer(job.deadline_seconds + _GRACE_SECONDS))
        exposure.scan()
        hides_temp = not self._engine.needs_key(self._settings.cipher) and self._settings.encrypts_temp
        return (*exposure.found(), *(self._control(needles) if hides_temp else ()))

    def trial(self, job: TrialJob, ready: Callable[[], None] | None = None) -> Measurement:
        """Run one trial.

        Args:
            ready: called when the work begins; of a cold trial the file is opened anew behind that, for each operation.
        """
        if self._is_stopped:
            return Measurement(0, 0, {}, {}, stopped_by="signal")
        if ready is not None:
            ready()
        if job.step == TRACE:
            seconds = job.deadline_seconds + _GRACE_SECONDS
            return traced(self._worker.ask("trace", seconds=seconds, trial=job.as_json()))
        if job.step in STEPS:
            return self._step(job.step)
        if job.step:
            used = partial(usage, self.pid)
            act = self._act(parse_action(job.step), self._halt, False)
            return acting.alone(act, job.step, used, self._halt, None)
        if job.during:
            return self._beside(job)
        is_cold = self._settings.is_cold
        seconds = job.deadline_seconds + _GRACE_SECONDS + is_cold * job.operations * _COOL_SECONDS
        return self._measured(self._worker.ask("trial", seconds=seconds, trial=job.as_json(), is_cold=is_cold), job)

    def _measured(self, answer: Mapping[str, Any], job: TrialJob) -> Measurement:
        settings = self._settings
        return of_embedded(answer, job, load_threads=settings.threads, database_threads=settings.engine_threads)

    def _beside(self, job: TrialJob) -> Measurement:
        """A trial beside whose load something goes on, or nothing does. The checkpoint after it is in no figure.

        What both use is the worker's, so that it is taken until both have ended; of its CPU time the recorded
        operations have their share.
        """
        asked, halt = parse_action(job.during), self._halt
        act = acting.IDLE if asked.name == NOTHING else self._act(asked, halt, True)
        beside = acting.Beside(act, head_seconds=job.head_seconds)
        with acting.prepared(act, halt):
            before = usage(self.pid)
            with beside.going_on(halt):
                seconds = job.deadline_seconds + _GRACE_SECONDS
                answer = self._worker.ask("trial", seconds=seconds, trial=job.as_json(), checkpoint=False)
            used = acting.difference(usage(self.pid), before)
            measured = dataclasses.replace(self._measured(answer, job), usage=used)
            measured = acting.of_recorded(beside.added(measured))
            if not halt.is_asked:
                measured = acting.inspected(act, measured)
        self._worker.ask("run", seconds=STEP_SECONDS, statements=[f"CHECKPOINT {CATALOG}"])
        return measured

    def _step(self, step: str) -> Measurement:
        """One load out of the files of all rows, or one rebuild; the write into the file included."""
        request, rows = self._request(step)
        if request["load"] is not None:
            request["load"]["threads"] = self._settings.threads
        return embedded_step(step, self._worker.ask("step", seconds=STEP_SECONDS, **request), rows)

    def processes(self) -> tuple[int, ...]:
        return (self._worker.pid,)

    def stop(self) -> None:
        """Have a trial that is running end after the operation it is at; others are not begun."""
        self._is_stopped = True
        self._halt.ask()
        self._worker.send("stop")

    def end(self) -> None:
        self._worker.end()
        own_folders.remove(self._path.parent)


class DuckdbTwins(SequentialBlocks):
    """Makes twins of one run. Keys are drawn here, kept in memory, and sent through the workers' pipes only."""

    def __init__(self, engine: DuckdbEngine, folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> None:
        super().__init__(mix)
        if not isinstance(job, PopulateJob):
            raise Defect("DuckDB's twins hold generated rows only")
        self._engine = engine
        self._folder = folder
        self._job = job
        self._rows = GeneratedRows(folder, job, engine.product)
        self._keys: dict[str, str] = {}
        self._loads: dict[str, _Load] = {}
        self._expected: Checksums = {}
        self._shown: tuple[MarkerHit, ...] | None = None
        self.library = ""

    def expected_checksums(self) -> Checksums:
        """The checksums of the rows as generated, before any file of DuckDB had them."""
        if self._expected:
            return self._expected
        settings = DuckdbSettings("none", 1, _cores(), LOADING_MIB)
        options = {**self._engine.options(self._rows.path / "digest", settings, None), "path": None}
        tables = self._job.tables
        with Worker(program=PROGRAM) as worker:
            files = self._rows.write(worker)
            worker.ask("open", seconds=_OPEN_SECONDS, options=options)
            request = {"tables_sql": self._job.tables_sql, "tables": tables, "files": files}
            found = as_checksums(worker.ask("digest", seconds=_LOAD_SECONDS, **request))
        self._rows.check(found)
        self._expected = found
        return self._expected

    def load(self, settings: DuckdbSettings) -> tuple[Path, Checksums]:
        """Load the file that instances of these settings are copied from. Returns it with its checksums.

        There are no secondary indexes: an analytic engine's tables are scanned by the ranges of their blocks.
        """
        self.expected_checksums()
        path = self._home(f"load-{len(self._loads)}")
        loading = dataclasses.replace(settings, engine_threads=_cores(), memory_mib=LOADING_MIB)
        tables = self._job.tables
        with Worker(program=PROGRAM) as worker:
            options = self._engine.options(path, loading, self._key(settings.cipher))
            self.library = worker.ask("open", seconds=_OPEN_SECONDS, options=options)["library"]
            request = {"tables_sql": self._job.tables_sql, "tables": tables, "files": self._rows.files()}
            worker.ask("load", seconds=_LOAD_SECONDS, **request)
            is_encrypted = worker.ask("cipher")["encrypted"] == "true"
            sums = checksums(worker, tables)
            worker.ask("close", seconds=_LOAD_SECONDS)
        self._loads[settings.cipher] = _Load(path, is_encrypted, loading)
        return path, sums

    def is_encrypted(self, path: Path) -> bool:
        """Whether DuckDB says so, the file's header does, and none of the planted rows can be read in the file."""
        (load,) = (load for load in self._loads.values() if load.path == path)
        found = path.stat()
        file = TwinFile(path.name, str(path), FileClass.DATABASE, (found.st_dev, found.st_ino))
        is_hidden = not any(one.markers_found for one in search([file], markers_of(self._job)))
        return load.is_encrypted and says_encrypted(path) and is_hidden

    def start(self, settings: DuckdbSettings, name: str) -> DuckdbTwin:
        """Copy the loaded file under an instance's name and attach it in a new worker, its transactions compiled."""
        if self._mix.steps is None:
            self._rows.remove()  # every kind is loaded by now
        self._home(name)
        path = self._folder.copy(self._loads[settings.cipher].path, f"{name}/{_DATABASE}")
        worker = Worker(self._environment(settings), PROGRAM)
        try:
            options = self._engine.options(path, settings, self._key(settings.cipher))
            worker.ask("open", seconds=_OPEN_SECONDS, options=options, connections=settings.threads)
            worker.ask("prepare", **work_of(self._mix))
        except BaseException:
            worker.kill()
            own_folders.remove(path.parent)
            raise
        site = partial(
            DuckdbSite,
            self._engine,
            settings,
            self._key(settings.cipher),
            path,
            self._loads["none"].path,
            worker,
            self._job,
            self._environment(settings),
        )
        prices, act = partial(self._ask, settings), partial(_act, site)
        return DuckdbTwin(self._engine, settings, path, worker, self._control, self._request, prices, act)

    def loop_cost(self, job: TrialJob) -> LoopCost:
        with Worker(program=PROGRAM) as worker:
            measured = measurement(worker.ask("loop_cost", **work_of(self._mix), trial=job.as_json()))
        statements = sum(span.count for span in measured.statements.values())
        return LoopCost(measured.elapsed_ns / max(1, statements), measured.response_ns)

    def data_bytes(self, path: Path) -> int:
        return path.stat().st_size

    def end(self) -> None:
        """Loaded files go with the folder."""

    def _request(self, step: str) -> tuple[dict[str, Any], int]:
        if self._mix.steps is None:
            raise Defect(f"a {step} was asked of a run that has none")
        request, job = self._mix.steps.request(step, 1), self._job
        if request["load"] is not None:
            request["load"] = {"tables_sql": job.tables_sql, "tables": job.tables, "files": self._rows.files()}
        return request, self._mix.steps.rows

    def _control(self, needles: Sequence[bytes]) -> tuple[MarkerHit, ...]:
        """What temporary files show that are not encrypted: once in a run, with the rows of the plain load."""
        if self._shown is None:
            load = self._loads["none"]
            options = self._engine.options(load.path, load.settings, None, read_only=True, encrypts_temp=False)
            self._shown = spilled(PROGRAM, options, needles)
        return self._shown

    def _ask(self, settings: DuckdbSettings) -> dict[str, object]:
        home = self._home(_PRICED).parent
        return ask_block_prices(self._engine, PROGRAM, home, self._environment(settings), settings)

    def _home(self, name: str) -> Path:
        path = self._folder.file(f"{name}/{_DATABASE}")
        try:
            path.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise StorageFault(Refusal.of("folder-unusable", folder=path.parent, fault=error.strerror)) from error
        return path

    def _environment(self, settings: DuckdbSettings) -> Mapping[str, str]:
        if settings.aes_instructions == "on":
            return {}
        return hidden_environment(CryptoKind(self._engine.crypto))

    def _key(self, cipher: str) -> str | None:
        if not self._engine.needs_key(cipher):
            return None
        if cipher not in self._keys:
            self._keys[cipher] = secrets.token_hex(32)
        return self._keys[cipher]


def _act(
    made: Callable[[acting.Halt, bool], DuckdbSite],
    asked: AskedAction,
    halt: acting.Halt,
    is_beside: bool,
) -> acting.Act:
    return ACTIONS[asked.name](made(halt, is_beside), asked)


@dataclasses.dataclass(frozen=True, slots=True)
class _Load:
    path: Path
    is_encrypted: bool
    settings: DuckdbSettings


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def says_encrypted(path: Path) -> bool:
    """Whether the main header of a DuckDB file, which is never encrypted, says that the rest is."""
    head = _head(path)
    found = header_of(lambda offset, size: head[offset : offset + size], len(head))
    return found is not None and found.meaning is Meaning.ENCRYPTED


def _storage_version(path: Path) -> int:
    return int.from_bytes(_head(path)[_VERSION_PLACE : _VERSION_PLACE + 8], "little")


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES)
