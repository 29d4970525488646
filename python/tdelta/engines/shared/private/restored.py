"""A private plain server that a user's dump is restored into first: described, given what tdelta adds, tried on.

What is tried is tried on a copy of its stopped data, which is thrown away, so that no twin has a row that a trial made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType

from tdelta.driver.answers import checksums
from tdelta.driver.database_answers import Refused
from tdelta.driver.files import TwinFolder
from tdelta.driver.jobs import TrialJob
from tdelta.driver.protocol import Checksums, Tables
from tdelta.driver.servers.copies import copy_data
from tdelta.driver.servers.places import place_for
from tdelta.driver.servers.recipes import Recipe
from tdelta.driver.servers.server import Server
from tdelta.driver.workers import Worker
from tdelta.engines.servers import DATABASE, RestorableEngine, ServerSettings
from tdelta.engines.shared.describing import Described, describe
from tdelta.engines.shared.private.filling import loading, make_database, restore_dump, settle_rows
from tdelta.engines.shared.sessions import WorkerSession, asking
from tdelta.errors import DatabaseFault

NAMED = "restored by --restore"
"""What the database is called in messages."""

_START_SECONDS = 120.0
_GRACE_SECONDS = 60.0


class RestoredServer:
    """Use as a context manager; the server and its files end with it.

    Args:
        engine: the engine.
        folder: the staging's.
    """

    def __init__(self, engine: RestorableEngine, folder: TwinFolder) -> None:
        self._engine = engine
        self._folder = folder
        self._settings = loading(ServerSettings("none"))
        self._recipe = self._recipe_for("original")
        self._stack = ExitStack()
        self._server = Server(self._recipe)
        self._worker: Worker | None = None

    def __enter__(self) -> RestoredServer:
        self._stack.callback(self._server.end)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """End the server and remove its files."""
        self._stack.close()

    def restore(self, command: str) -> None:
        """Start it, restore, gather statistics.

        Raises:
            RestoreFault: the command failed.
            DatabaseFault: it brought no table into tdelta's database.
        """
        self._server.start(initialize=True, seconds=_START_SECONDS)
        with self._server.at_work(), Worker() as worker:
            make_database(worker, self._engine, self._recipe, self._settings)
            restore_dump(self._engine, self._recipe, command)
            with self._session() as session:
                found = self._engine.catalog.facts(asking(session), self._engine.schema)
            if not found.tables:
                left = "".join(f"; {said}" for said in found.left_out)
                raise DatabaseFault(
                    NAMED, f"expected tables in database {DATABASE}, found none{left}; restore into {{database}}"
                )
            settle_rows(worker, self._engine, [table.name for table in found.tables])

    def describe(self) -> Described:
        """What is in it."""
        with self._session() as session:
            return describe(self._engine.catalog, asking(session), self._engine.schema)

    def checksums(self, tables: Tables) -> Checksums:
        """Rows and checksum of each table."""
        with self._connected() as worker:
            return checksums(worker, tables)

    def add(self, statements: Sequence[str]) -> None:
        """Add what is tdelta's own.

        Raises:
            DatabaseFault: the server refuses.
        """
        with self._session() as session:
            for statement in statements:
                try:
                    session.run(statement)
                except Refused as refusal:
                    raise DatabaseFault(NAMED, f"it cannot take a table of tdelta's: {refusal}") from refusal

    def sizes(self) -> tuple[int, int]:
        """The bytes of all tables with their indexes, and of a page."""
        with self._session() as session:
            return int(float(session.text(self._engine.data_bytes_sql) or 0)), int(
                session.text(self._engine.page_size_sql)
            )

    def rest(self) -> None:
        """Stop it; from now on it is only copied."""
        self._server.stop()

    @contextmanager
    def scratch(self, constants: Mapping[str, int]) -> Iterator[ServerTrier]:
        """A server on a copy of the data, to try on; gone at the end."""
        recipe = self._recipe_for("scratch")
        with Server(recipe) as server:
            copy_data(self._recipe, recipe)
            server.start(seconds=_START_SECONDS)
            with Worker() as worker:
                worker.ask("connect", options={**recipe.connect, "database": DATABASE}, connections=1)
                yield ServerTrier(worker, constants)

    def _recipe_for(self, name: str) -> Recipe:
        place = place_for(self._folder.path / name, self._engine.socket_name)
        return self._engine.recipe(place, self._settings)

    @contextmanager
    def _session(self) -> Iterator[WorkerSession]:
        session = WorkerSession({**self._recipe.connect, "database": DATABASE})
        try:
            yield session
        finally:
            session.close()

    @contextmanager
    def _connected(self) -> Iterator[Worker]:
        with Worker() as worker:
            worker.ask("connect", options={**self._recipe.connect, "database": DATABASE}, connections=1)
            yield worker


class ServerTrier:
    """Tries transactions on a server whose rows may be spoilt."""

    def __init__(self, worker: Worker, constants: Mapping[str, int]) -> None:
        self._worker = worker
        self._constants = constants

    def said(self, transaction: Mapping[str, object], trial: TrialJob | None) -> str | None:
        """What the server says against a transaction, if anything; without a trial it is only prepared."""
        answer = self._worker.ask(
            "try",
            seconds=_GRACE_SECONDS + (trial.deadline_seconds if trial is not None else 0.0),
            transaction=transaction,
            constants=self._constants,
            trial=None if trial is None else trial.as_json(),
        )
        said: str | None = answer["said"]
        return said

    def checksums(self, tables: Tables) -> Checksums:
        """Rows and checksum of each table, as the transactions have left them."""
        return checksums(self._worker, tables)
