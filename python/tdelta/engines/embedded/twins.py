"""Embedded twins: loaded once for each kind of file, copied for each instance, driven by a worker each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdelta import own_folders
from tdelta.design.actions import NOTHING as NOTHING_BESIDE
from tdelta.design.actions import AskedAction, parse_action
from tdelta.engines.embedded.pricing import ask_prices, ask_proof, new_key
from tdelta.engines.embedded.sql import quoted
from tdelta.errors import Defect, InvalidTwins, StorageFault
from tdelta.evidence import MarkerHit
from tdelta.measure.aes import environment_at
from tdelta.messages import Refusal
from tdelta.processes import actions as acting
from tdelta.processes.answers import (
    STEP_SECONDS,
    SequentialTwins,
    checksums,
    embedded_step,
    of_embedded,
    raise_failed,
    traced,
)
from tdelta.processes.files import TwinFolder
from tdelta.processes.jobs import STEPS, TRACE, AnyJob, PopulateJob, TrialJob, WorkloadSpec
from tdelta.processes.openssl_calls import together
from tdelta.processes.process_tree import usage
from tdelta.processes.protocol import NOTHING, Checksums, CipherProof, Tables, Twin, nobody_waits
from tdelta.processes.rows import generated_checksums, populate
from tdelta.processes.workers import GRACE_SECONDS, Worker
from tdelta.records import Measurement

if TYPE_CHECKING:
    from tdelta.engines.embedded.engine import Embedded

_OPEN_SECONDS = 120.0
_COOL_SECONDS = 120.0
_IN_FOLDER = "twin"
"""The name of a twin's file where the twin has its own folder."""


class EmbeddedTwin(Twin):
    """One instance: a copy of a loaded file, open in a worker of its own."""

    def __init__(
        self, twins: EmbeddedTwins, settings: Any, path: Path, worker: Worker, environment: Mapping[str, str]
    ) -> None:
        self._twins = twins
        self.engine = twins.engine.of(settings)
        self.settings = settings
        self.key = twins.key(settings.cipher)
        self.folder = twins.folder
        self.environment = environment
        """Variables that are added to a worker's environment."""

        self.halt = acting.Halt()
        self.is_beside = False
        """Whether an action goes on beside a trial, which keeps the worker busy."""

        self._is_stopped = False
        self.path = path
        self.worker = worker

    @property
    def job(self) -> PopulateJob:
        return self._twins.rows_job

    @property
    def plain(self) -> Path:
        return self._twins.plain(self.settings)

    @property
    def table(self) -> str:
        return quoted(self.job.tables[0][0])

    def opening(self, path: Path, key: str | None, **changed: object) -> dict[str, Any]:
        """The request to open another file, plain or with a key; ``changed`` are settings."""
        settings = self.settings if key is not None else dataclasses.replace(self.settings, cipher="none")
        return self.engine.opening(path, dataclasses.replace(settings, **changed), key)

    def facts(self) -> dict[str, str]:
        """What it has in common with other twins.

        Raises:
            InvalidTwins: one of its settings is not in force.
        """
        found = self.worker.ask("facts", queries=self.engine.fact_queries())
        if fault := self.engine.unapplied(self.settings, found):
            raise InvalidTwins(Refusal.of("settings-not-applied", product=self.engine.product, fault=fault))
        return found | self.engine.file_facts(self.path)

    def cipher_facts(self) -> dict[str, str]:
        """Facts that the connection reports about its cipher, and under ``header`` how the file begins."""
        header = "plain" if self.engine.shows_itself(self.path) else "hidden"
        return {**self.worker.ask("facts", queries=dict(self.engine.cipher_queries)), "header": header}

    def checksums(self, tables: Tables) -> Checksums:
        return checksums(self.worker, tables)

    def prove(self) -> CipherProof | None:
        cipher = self.engine.proved_by(self.settings)
        return ask_proof(self.worker, self.engine, self._twins.folder, cipher, self.settings) if cipher else None

    def prices(self) -> dict[str, object] | None:
        if not self.engine.needs_key(self.settings.cipher):
            return None
        return ask_prices(self.engine, self._twins.folder, self.environment, self.settings)

    def evidence(self, job: TrialJob, needles: Sequence[bytes]) -> tuple[MarkerHit, ...]:
        exposure = self.engine.exposure(self.worker, self.path, needles)
        exposure.begin()
        with exposure.under_way():
            # The checkpoint behind a trial would wait for the exposure's snapshot to end.
            self.worker.send("trial", trial=job.as_json(), checkpoint=False)
            exposure.scan_until_answered(job.deadline_seconds)
            raise_failed(self.worker.answer(job.deadline_seconds + GRACE_SECONDS))
        exposure.scan_afterwards()
        return (*exposure.found(), *self._twins.control(self.settings, needles))

    def trial(self, job: TrialJob, ready: Callable[[], None] = nobody_waits) -> Measurement:
        """Run one trial; in a cold one nothing of the file is in any cache at its beginning, or at each operation's."""
        if self._is_stopped:
            return Measurement(0, 0, {}, {}, stopped_by="signal")
        is_cooled_on_the_way = self.settings.is_cold and self.engine.cools_each_operation
        if self.settings.is_cold and not job.step and not is_cooled_on_the_way:
            self.worker.ask("cool", seconds=_OPEN_SECONDS + self.settings.threads, path=str(self.path))
        ready()
        seconds = job.deadline_seconds + GRACE_SECONDS
        if job.step == TRACE:
            return traced(self.worker.ask("trace", seconds=seconds, trial=job.as_json()))
        if job.step in STEPS:
            return self._step(job.step)
        if job.step:
            act = self._act(parse_action(job.step), is_beside=False)
            return acting.alone(act, job.step, partial(usage, self.worker.pid), self.halt, nobody_waits)
        if job.during:
            return self._beside(job)
        more = {"is_cold": True} if is_cooled_on_the_way else {}
        seconds += len(more) * job.operations * _COOL_SECONDS
        return self._measured(self.worker.ask("trial", seconds=seconds, trial=job.as_json(), **more), job)

    def _act(self, asked: AskedAction, *, is_beside: bool) -> acting.Act:
        self.is_beside = is_beside
        return self.engine.file_actions[asked.name].make(self, asked)

    def _beside(self, job: TrialJob) -> Measurement:
        """A trial beside whose load something goes on, or nothing does. The checkpoint after it is in no figure.

        Where the worker does both, what both use is taken until both have ended; of its CPU time the recorded
        operations have their share.
        """
        asked, halt, engine = parse_action(job.during), self.halt, self.engine
        act = acting.IDLE if asked.name == NOTHING_BESIDE else self._act(asked, is_beside=True)
        beside = acting.Beside(act, head_seconds=job.head_seconds)
        with acting.prepared(act, halt):
            before = usage(self.worker.pid)
            with beside.going_on(halt):
                seconds = job.deadline_seconds + GRACE_SECONDS
                answer = self.worker.ask("trial", seconds=seconds, trial=job.as_json(), checkpoint=False)
            measured = self._measured(answer, job)
            if engine.acts_in_worker:
                measured = dataclasses.replace(measured, usage=acting.difference(usage(self.worker.pid), before))
            measured = beside.added(measured)
            measured = acting.of_recorded(measured) if engine.acts_in_worker else measured
            if not halt.is_asked:
                measured = acting.inspected(act, measured)
        self.worker.ask("facts", seconds=STEP_SECONDS, queries={"checkpoint": engine.checkpoint})
        return measured

    def _measured(self, answer: Mapping[str, Any], job: TrialJob) -> Measurement:
        """The measurement of a trial of this twin: the load is one thread for each connection."""
        threads, of_database = self.settings.threads, self.engine.database_threads(self.settings)
        return of_embedded(answer, job, load_threads=threads, database_threads=of_database)

    def _step(self, step: str) -> Measurement:
        """One load or rebuild, the write into the file included; the sizes of the files are those after it."""
        request, rows = self._twins.step_request(step, self.settings)
        answer = self.worker.ask("step", seconds=STEP_SECONDS, **request)
        return embedded_step(step, {"files": {"database": self.path.stat().st_size}, **answer}, rows)

    def processes(self) -> tuple[int, ...]:
        return (self.worker.pid,)

    def stop(self) -> None:
        """Have a trial that is running end after the operation it is at; others are not begun.

        The twins of a block that has loads or rebuilds run one after another, so most of them have not begun theirs.
        """
        self._is_stopped = True
        self.halt.ask()
        self.worker.send("stop")

    def end(self) -> None:
        self.worker.end()
        self._twins.remove(self.path)


class EmbeddedTwins(SequentialTwins):
    """Makes twins of one run. Keys are drawn here, kept in memory, and sent through the workers' pipes only."""

    def __init__(self, engine: Embedded, folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> None:
        super().__init__(mix)
        self.loop_program = engine.program
        self.why_not_timed = "" if engine.times_calls else engine.profile.not_timed
        self.engine = engine
        self.folder = folder
        self._job = job
        self._keys: dict[str, str] = {}
        self._loads: dict[tuple[str | int, ...], Path] = {}
        self._libraries: dict[Embedded, str] = {}
        self.library = ""

    @property
    def rows_job(self) -> PopulateJob:
        if not isinstance(self._job, PopulateJob):
            raise Defect(f"{self.engine.product}'s twins of a user's rows were taken for such of generated ones")
        return self._job

    def load(self, settings: Any) -> tuple[Path, Checksums]:
        """Load the file that instances of these settings are copied from. Returns it with its checksums."""
        engine = self.engine.of(settings)
        path = self.place(f"load-{len(self._loads)}")
        self._libraries[engine], sums = self.fill(engine, path, settings)
        self.library = " and ".join(self._libraries.values())
        self._loads[engine.template(settings).key] = path
        return path, sums

    def fill(self, engine: Embedded, path: Path, settings: Any) -> tuple[str, Checksums]:
        with Worker(program=engine.program) as worker:
            request = engine.making(path, settings, self.key(settings.cipher))
            library: str = worker.ask("open", seconds=_OPEN_SECONDS, **request)["library"]
            populate(worker, self.rows_job)
            return library, checksums(worker, self.rows_job.tables)

    def expected_checksums(self) -> Checksums:
        return generated_checksums(self.rows_job)

    def start(self, settings: Any, name: str, environment: Mapping[str, str] = NOTHING) -> EmbeddedTwin:
        """Copy the loaded file under an instance's name and open it in a new worker, its transactions prepared."""
        engine, key = self.engine.of(settings), self.key(settings.cipher)
        self.place(name)
        path = self.folder.copy(self._loads[engine.template(settings).key], self._named(name))
        environment = together(environment_at(settings.aes_instructions, engine.crypto), environment)
        worker = Worker(environment, engine.program)
        try:
            # A key is derived for each connection, which takes at most about a tenth of a second.
            worker.ask("open", seconds=_OPEN_SECONDS + settings.threads, **engine.opening(path, settings, key))
            worker.ask("prepare", **self._mix.work)
        except BaseException:
            worker.kill()
            self.remove(path)
            raise
        return EmbeddedTwin(self, settings, path, worker, environment)

    def plain(self, settings: Any) -> Path:
        return self._loads[self.engine.template(dataclasses.replace(settings, cipher="none")).key]

    def step_request(self, step: str, settings: Any) -> tuple[dict[str, Any], int]:
        """The request for a load or a rebuild, and how many rows it is of."""
        steps = self._mix.steps
        if steps is None:
            raise Defect(f"a {step} was asked of a run that has none")
        after = [self.engine.checkpoint] if self.engine.checkpoint else []
        return steps.step_request(step, settings.threads) | {"after": after}, steps.rows

    def control(self, _settings: Any, _needles: Sequence[bytes]) -> tuple[MarkerHit, ...]:
        """A search of files known to be readable, which shows that the search would find plain rows."""
        return ()

    def data_bytes(self, path: Path) -> int:
        return path.stat().st_size

    def end(self) -> None:
        """Loaded files go with the folder."""

    def is_encrypted(self, path: Path) -> bool:
        return not self.engine.shows_itself(path)

    def key(self, cipher: str) -> str | None:
        if not self.engine.needs_key(cipher):
            return None
        if cipher not in self._keys:
            self._keys[cipher] = new_key()
        return self._keys[cipher]

    def place(self, name: str) -> Path:
        path = self.folder.file(self._named(name))
        if self.engine.has_folders:
            try:
                path.parent.mkdir(exist_ok=True)
            except OSError as error:
                raise StorageFault(Refusal.of("folder-unusable", folder=path.parent, fault=error.strerror)) from error
        return path

    def remove(self, path: Path) -> None:
        if self.engine.has_folders:
            own_folders.remove(path.parent)
        else:
            self.folder.remove(path)

    def _named(self, name: str) -> str:
        return f"{name}/{_IN_FOLDER}" if self.engine.has_folders else name
