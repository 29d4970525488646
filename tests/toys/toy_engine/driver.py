from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tdelta.driver import AnyJob, Checksums, PopulateJob, Tables, TrialJob, TwinFolder, Worker, WorkloadSpec
from tdelta.driver.answers import checksums, of_embedded
from tdelta.driver.rows import generated_checksums, populate
from tdelta.driver.servers.sequential import SequentialBlocks, work_of
from tdelta.engines.capabilities import Template
from tdelta.engines.layout import ResourceEstimate, RunLayout
from tdelta.engines.profile import EngineInfo
from tdelta.engines.shared.estimates import of_files
from tdelta.engines.shared.in_force import settings_fault
from tdelta.evidence import FileClass, MarkerHit, TwinFile, search
from tdelta.messages import Detail
from tdelta.records import Condition, Measurement

from .profile import PROFILE

PROGRAM = f"{__package__}.worker"
HEAD = b"SQLite format 3\x00"


@dataclass(frozen=True)
class ToySettings:
    cipher: str
    cache_bytes: int
    aes_instructions: str = "on"


class ToyDriver:
    profile = PROFILE
    product = PROFILE.product
    crypto = "none"
    ciphers = ("none", "xor")

    def versions(self) -> dict[str, str]:
        return {"toy": "1"}

    def identity(self) -> str:
        return "toy 1"

    def settings(self, layout: RunLayout, condition: Condition, data_bytes: int) -> ToySettings:
        return ToySettings(str(condition.level("cipher")), layout.cache_bytes(condition, data_bytes))

    def template(self, settings: ToySettings) -> Template:
        return Template((settings.cipher,), settings.cipher)

    def estimate(self, layout: RunLayout) -> ResourceEstimate:
        return of_files(self, layout, times_calls=False)

    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> ToyTwins:
        assert isinstance(job, PopulateJob)
        return ToyTwins(folder, job, mix)

    def described(self, settings: ToySettings, facts: Mapping[str, str]) -> str:
        return f"{settings.cipher}: a file that is {facts['header']}"

    def fault(self, settings: ToySettings, facts: Mapping[str, str]) -> Detail | None:
        wanted = "plain" if settings.cipher == "none" else "hidden"
        return settings_fault(facts, {"header": wanted})

    def differing(self, settings: ToySettings) -> tuple[str, ...]:
        return () if settings.cipher == "none" else ("key",)


def driver(_options: Mapping[str, Any]) -> ToyDriver:
    return ToyDriver()


def listed() -> Iterator[EngineInfo]:
    yield EngineInfo(PROFILE.name, True, "1", ToyDriver.ciphers, PROFILE.product, "")


class ToyTwin:
    def __init__(self, path: Path, worker: Worker) -> None:
        self._path, self._worker = path, worker

    def facts(self) -> dict[str, str]:
        return self._worker.ask("facts", queries={"page_size": "PRAGMA page_size"})

    def cipher_facts(self) -> dict[str, str]:
        return {"header": "plain" if shows_itself(self._path) else "hidden"}

    def checksums(self, tables: Tables) -> Checksums:
        return checksums(self._worker, tables)

    def evidence(self, job: TrialJob, needles: Sequence[bytes]) -> tuple[MarkerHit, ...]:
        self.trial(job)
        found = self._path.stat()
        file = TwinFile(self._path.name, str(self._path), FileClass.DATABASE, (found.st_dev, found.st_ino))
        return tuple(search([file], needles))

    def trial(self, job: TrialJob, ready: Callable[[], None] | None = None) -> Measurement:
        if ready is not None:
            ready()
        answer = self._worker.ask("trial", seconds=job.deadline_seconds + 60.0, trial=job.as_json())
        return of_embedded(answer, job, load_threads=1, database_threads=1)

    def processes(self) -> tuple[int, ...]:
        return (self._worker.pid,)

    def stop(self) -> None:
        self._worker.send("stop")

    def end(self) -> None:
        self._worker.end()
        self._path.unlink()


class ToyTwins(SequentialBlocks):
    def __init__(self, folder: TwinFolder, job: PopulateJob, mix: WorkloadSpec) -> None:
        super().__init__(mix)
        self._folder, self._job = folder, job
        self._key = secrets.token_hex(32)
        self._loaded: dict[str, Path] = {}
        self.library = ""

    def load(self, settings: ToySettings) -> tuple[Path, Checksums]:
        job = self._job
        path = self._loaded[settings.cipher] = self._folder.file(f"load-{settings.cipher}")
        with Worker(program=PROGRAM) as worker:
            self.library = self._open(worker, path, settings)["library"]
            populate(worker, job)
            return path, checksums(worker, job.tables)

    def expected_checksums(self) -> Checksums:
        return generated_checksums(self._job)

    def start(self, settings: ToySettings, name: str) -> ToyTwin:
        path = self._folder.copy(self._loaded[settings.cipher], name)
        worker = Worker(program=PROGRAM)
        self._open(worker, path, settings)
        worker.ask("prepare", **work_of(self._mix))
        return ToyTwin(path, worker)

    def data_bytes(self, path: Path) -> int:
        return path.stat().st_size

    def is_encrypted(self, path: Path) -> bool:
        return not shows_itself(path)

    def end(self) -> None:
        """Loaded files go with the folder."""

    def _open(self, worker: Worker, path: Path, settings: ToySettings) -> dict[str, Any]:
        return worker.ask("open", path=str(path), key="" if settings.cipher == "none" else self._key)


def shows_itself(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(HEAD)) == HEAD
