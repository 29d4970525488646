"""How rows come into a private server that was just made: its database, then a generated plan or a user's dump."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from tdelta.driver.jobs import PopulateJob, RestoreJob
from tdelta.driver.rows import POPULATE_SECONDS, populate
from tdelta.driver.servers.recipes import Recipe
from tdelta.driver.workers import Worker
from tdelta.engines.servers import DATABASE, Prepared, Restorable, ServerEngine, ServerSettings
from tdelta.engines.shared.private.restore import RestoreTarget, restore
from tdelta.errors import Defect, RestoreFault

_LOAD_CACHE_BYTES = 256 << 20
_LOAD_CONNECTIONS = 64
_FILES = "restore"


def loading(settings: ServerSettings) -> ServerSettings:
    """Settings to load with: those that do not decide how rows lie in the files are the same for all."""
    return dataclasses.replace(
        settings,
        is_loading=True,
        aes_instructions="on",
        cache_bytes=_LOAD_CACHE_BYTES,
        session_bytes=0,
        threads=1,
        connections=_LOAD_CONNECTIONS,
        cores=0,
        is_cold=False,
    )


def make_database(worker: Worker, engine: ServerEngine, recipe: Recipe, settings: ServerSettings) -> None:
    worker.ask("connect", options={**recipe.connect, "database": engine.admin_database}, connections=1)
    worker.ask("run", seconds=POPULATE_SECONDS, statements=engine.schema_sql(settings))
    worker.ask("connect", options={**recipe.connect, "database": DATABASE}, connections=1)
    if isinstance(engine, Prepared):
        worker.ask("run", seconds=POPULATE_SECONDS, statements=engine.before_load_sql(settings))


def make_rows(worker: Worker, engine: ServerEngine, recipe: Recipe, job: PopulateJob | RestoreJob) -> None:
    """Make the tables and fill them.

    Raises:
        RestoreFault: a dump could not be restored.
        TdeltaError: what else the server answers.
    """
    if isinstance(job, RestoreJob):
        if not isinstance(engine, Restorable):
            raise Defect(f"a dump cannot be restored into {engine.profile.product}")
        said = restore_dump(engine, recipe, job.command).encryption
        found = worker.ask("rows", sql=said.plain_sql)["rows"] if said is not None and said.plain_sql else []
        if said is not None and found:
            raise RestoreFault(said.fault([str(row[0]) for row in found]))
        worker.ask("run", seconds=POPULATE_SECONDS, statements=job.statements)
        return
    populate(worker, job)


def settle_rows(worker: Worker, engine: ServerEngine, settings: ServerSettings, tables: Iterable[str]) -> None:
    """Gather statistics, and have all that was loaded come to rest."""
    worker.ask("run", seconds=POPULATE_SECONDS, statements=engine.after_load_sql(settings, list(tables)))


def restore_dump(engine: Restorable, recipe: Recipe, command: str) -> RestoreTarget:
    """Have a command of the user's load a dump.

    Raises:
        RestoreFault: it failed; with its last lines.
    """
    folder = recipe.place.folder / _FILES
    folder.mkdir(exist_ok=True)
    target = engine.restore_target(recipe, folder)
    restore(command, target, POPULATE_SECONDS)
    return target
