"""Turns tdelta's plain copy of a user's database into the file that twins of one kind are copied from."""

from __future__ import annotations

from pathlib import Path

from tdelta.driver.answers import checksums
from tdelta.driver.files import TwinFolder
from tdelta.driver.jobs import DatabaseJob
from tdelta.driver.protocol import Checksums
from tdelta.driver.workers import Refused, Worker, answered
from tdelta.engines.sqlite.engine import WORKER, SqliteEngine, TwinSettings
from tdelta.engines.sqlite.messages import SqliteRefusal
from tdelta.errors import DatabaseFault

_PATIENCE_SECONDS = 24 * 3600.0


def convert(
    engine: SqliteEngine, folder: TwinFolder, job: DatabaseJob, settings: TwinSettings, name: str, key: str | None
) -> tuple[Path, str, Checksums]:
    """Make the file of one kind of twin.

    Args:
        job: the plain copy and what is to be compared of it.
        settings: the kind: cipher, page size, reserved bytes.
        key: the key of an encrypted kind; it goes through the worker's pipe.

    Returns:
        The file, the library, and the checksums of the file's tables.

    Raises:
        DatabaseFault: the library cannot convert it.
        StorageFault: the disk is full.
    """
    path = folder.file(name)
    wanted = engine.conversion(str(path), settings, job.layout)
    source = folder.copy(job.path, name) if wanted.is_in_place else job.path
    with Worker(program=WORKER) as worker:
        worker.ask("temporary", folder=str(folder.path))
        under_test = engine.library.name
        options = engine.conversion_options(str(source))
        library = worker.ask("open", library=under_test, options=options, connections=1)["library"]
        steps = [step.as_json() for step in wanted.steps]
        try:
            answered(worker.ask("convert", seconds=_PATIENCE_SECONDS, steps=steps, key=engine.given_key(settings, key)))
        except Refused as refusal:
            raise DatabaseFault(
                job.file, SqliteRefusal.of("cannot-convert-copy", cipher=settings.cipher, said=refusal)
            ) from refusal
        worker.ask("close")
        options = engine.reading_options(str(path), settings, key)
        worker.ask("open", library=under_test, options=options, connections=1)
        sums = checksums(worker, job.tables)
    return path, str(library), sums
