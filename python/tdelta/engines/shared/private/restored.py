"""A private plain server that a user's dump is restored into first: described, given what tdelta adds, tried on.

What is tried is tried on a copy of its stopped data, which is thrown away, so that no twin has a row that a trial made.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tdelta.driver.answers import checksums
from tdelta.driver.files import TwinFolder
from tdelta.driver.jobs import RestoreJob, TrialJob
from tdelta.driver.protocol import Checksums, Tables
from tdelta.driver.servers.copies import copy_data
from tdelta.driver.servers.directories import place_for
from tdelta.driver.servers.recipes import Recipe, ServerPaths, content
from tdelta.driver.servers.server import Server
from tdelta.driver.templates import NO_FOLDER, digest_of
from tdelta.driver.user_data import Additions, Completed, Inventory, Observer, Trier, Tries, too_much
from tdelta.driver.workers import Refused, Worker
from tdelta.engines.servers import DATABASE, RestorableEngine, ServerSettings
from tdelta.engines.shared.describing import describe
from tdelta.engines.shared.private.disk import allocated_bytes
from tdelta.engines.shared.private.filling import loading, make_database, restore_dump, settle_rows
from tdelta.engines.shared.private.restore import is_strict
from tdelta.engines.shared.sessions import WorkerSession, asking
from tdelta.errors import DatabaseFault, RestoreFault, ServerLost
from tdelta.messages import Caution, Refusal
from tdelta.records import DatabaseFacts, Phase
from tdelta.workloads.database import Database

_TITLE = "restored dump"

_START_SECONDS = 120.0
_LEAST_GROWTH_BYTES = 512_000_000
"""What the server that is tried on may grow by at least, its logs included; more only as far as it is large itself."""


@dataclass(frozen=True, slots=True)
class RestoredDump:
    """What twins are made of; see `tdelta.driver.user_data.StagedCopy`.

    Every kind of twin restores the dump itself, since only so are its rows encrypted as its server encrypts.
    ``statements`` then make what tdelta adds; ``remove`` ends the server that was restored into first.
    """

    command: str
    statements: tuple[str, ...]
    needles: tuple[bytes, ...]
    size_bytes: int
    page_size: int
    load_seconds: float
    remove: Callable[[], None] = field(compare=False)

    def identity(self) -> tuple[object, ...]:
        return ()

    def facts(self, database: Database, *, is_proposed: bool) -> DatabaseFacts:
        return DatabaseFacts(
            file=_TITLE,
            size_bytes=self.size_bytes,
            page_size=self.page_size,
            tables=len(database.tables),
            rows=database.rows,
            proposed=is_proposed,
            restored=True,
        )

    def job(self, tables: Tables, checksums: Checksums) -> RestoreJob:
        return RestoreJob(self.command, self.statements, tables, checksums, self.needles)

    def let_go(self) -> None:
        """End the first server; twins have theirs."""
        self.remove()


@dataclass(frozen=True, slots=True)
class UserDump:
    """A dump that a user's command restores; see `tdelta.driver.user_data.UserData`."""

    engine: RestorableEngine
    command: str
    named = "restored by --restore"
    title = f"the {_TITLE}"
    needed_bytes = 0

    def staged(self, folder: TwinFolder) -> RestoredServer:
        return RestoredServer(self, folder)


class RestoredServer:
    """See `tdelta.driver.user_data.Staged`. Use as a context manager; the server and its files end with it."""

    def __init__(self, dump: UserDump, folder: TwinFolder) -> None:
        self._dump = dump
        self._engine = dump.engine
        self._folder = folder
        self._settings = loading(ServerSettings("none"))
        self._recipe = self._recipe_for("original")
        self._stack = ExitStack()
        self._server = Server(self._recipe)
        self._load_seconds = 0.0

    def __enter__(self) -> RestoredServer:
        self._stack.callback(self._server.end)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def bring(self, observe: Observer) -> None:
        if self._is_brought():
            return
        observe(Phase("restore", "the dump, into a plain server of tdelta's"))
        began = time.monotonic()
        self._server.start(initialize=True, seconds=_START_SECONDS)
        with self._server.at_work(), Worker() as worker:
            make_database(worker, self._engine, self._recipe, self._settings)
            restore_dump(self._engine, self._recipe, self._dump.command)
            with self._session() as session:
                self._require_no_encryption(session)
                found = self._engine.catalog.facts(asking(session), self._engine.schema)
            if not found.tables:
                left = "".join(f"; {said}" for said in found.left_out)
                raise DatabaseFault(self._dump.named, Refusal.of("nothing-restored", left=left))
            settle_rows(worker, self._engine, self._settings, [table.name for table in found.tables])
        self._load_seconds = time.monotonic() - began
        self._keep()

    def _is_brought(self) -> bool:
        """Whether the rows come from a template of this dump's first restore."""
        templates = self._folder.templates
        template = None if templates is None or not templates.of_users else templates.taken(self._digest())
        if template is None:
            return False
        with contextlib.closing(template):
            copy_data(self._recipe_in(template.folder), self._recipe)
            self._load_seconds = template.facts["load_seconds"]
        self._server.start(seconds=_START_SECONDS)
        return True

    def _keep(self) -> None:
        templates = self._folder.templates
        if templates is None or not templates.of_users:
            return
        self._server.stop()
        size, facts = allocated_bytes(self._recipe.place.folder), {"load_seconds": self._load_seconds}
        kept = templates.kept(
            self._digest(), size, facts, lambda folder: copy_data(self._recipe, self._recipe_in(folder))
        )
        if kept is not None:
            kept.close()
        self._server.start(seconds=_START_SECONDS)

    def _digest(self) -> str:
        return digest_of((self._engine.binary.path,), content(self._recipe_in(NO_FOLDER)), self._dump.command)

    def _recipe_in(self, folder: Path) -> Recipe:
        return self._engine.recipe(ServerPaths(folder, folder / self._engine.socket_name), self._settings)

    def _require_no_encryption(self, session: WorkerSession) -> None:
        """See that no table says itself whether it is encrypted: twins would agree in it, or refuse it."""
        target = self._engine.restore_target(self._recipe, self._recipe.place.folder)
        if target.encryption is not None:
            tables = [str(row[0]) for row in session.rows(self._engine.encryption_options_sql)[1]]
            if tables:
                raise RestoreFault(target.encryption.fault(tables))

    def describe(self) -> Inventory:
        with self._session() as session:
            found = describe(self._engine.catalog, asking(session), self._engine.schema)
        cautions = found.left_out if is_strict() else (*found.left_out, Caution.of("restore-without-bash"))
        return Inventory(found.database, cautions, tuple(map(str, found.left_out)))

    def complete(self, database: Database, tables: Tables, additions: Additions, observe: Observer) -> Completed:
        self._add(additions.statements)
        observe(Phase("checksum", "the rows of the restored dump"))
        with self._connected() as worker:
            sums = checksums(worker, tables + additions.tables)
        sizes = self._sizes()
        self._server.stop()
        command, seconds = self._dump.command, self._load_seconds
        copy = RestoredDump(command, additions.statements, additions.needles, *sizes, seconds, self._stack.close)
        return Completed(copy, database, sums, may_vary=True)

    def _add(self, statements: Sequence[str]) -> None:
        with self._session() as session:
            for statement in statements:
                try:
                    session.run(statement)
                except Refused as refusal:
                    raise DatabaseFault(self._dump.named, Refusal.of("own-table-refused", said=refusal)) from refusal

    def _sizes(self) -> tuple[int, int]:
        with self._session() as session:
            data_bytes = float(session.text(self._engine.data_bytes_sql) or 0)
            return int(data_bytes), int(session.text(self._engine.page_size_sql))

    @contextmanager
    def scratch(self, constants: Mapping[str, int]) -> Iterator[Tries]:
        """A server on a copy of the data, to try on; gone at the end."""
        with ExitStack() as stack:
            yield Scratch(self._recipe, self._recipe_for("scratch"), constants, stack)

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


class Scratch:
    """See `tdelta.driver.user_data.Tries`. Its server does not grow beyond a bound; past it, the next is made anew.

    Args:
        source: the stopped server whose data is copied.
        constants: the variables of scripts.
    """

    def __init__(self, source: Recipe, recipe: Recipe, constants: Mapping[str, int], stack: ExitStack) -> None:
        self._source = source
        self._recipe = recipe
        self._constants = constants
        self._stack = stack
        self._most_bytes = 0
        self._trier: Trier | None = None

    def said(self, transaction: Mapping[str, object], trial: TrialJob | None) -> Refusal | None:
        trier = self._made()
        try:
            said = trier.said(transaction, trial)
        except ServerLost:
            if not self._is_over():
                raise
            said = None
        if not self._is_over():
            return said
        self._stack.close()
        self._trier = None
        return too_much(transaction["name"], self._most_bytes)

    def checksums(self, tables: Tables) -> Checksums:
        return self._made().checksums(tables)

    def _made(self) -> Trier:
        if self._trier is None:
            server = self._stack.enter_context(Server(self._recipe))
            copy_data(self._source, self._recipe)
            server.start(seconds=_START_SECONDS)
            self._most_bytes = self._size() + max(self._size(), _LEAST_GROWTH_BYTES)
            worker = self._stack.enter_context(_Bounded(self._is_over))
            worker.ask("connect", options={**self._recipe.connect, "database": DATABASE}, connections=1)
            self._trier = Trier(worker, self._constants)
        return self._trier

    def _is_over(self) -> bool:
        return self._size() > self._most_bytes

    def _size(self) -> int:
        return allocated_bytes(self._recipe.place.folder)


class _Bounded(Worker):
    """A worker that is ended when its server is over its bound."""

    def __init__(self, is_over: Callable[[], bool]) -> None:
        super().__init__()
        self._is_over = is_over

    def look(self) -> None:
        super().look()
        if self._is_over():
            self.lose(Refusal.of("database-says", said="its server has written more than it may"))
