"""A private plain server that a user's dump is restored into first: described, given what tdelta adds, tried on.

Commands are tried on a copy of its stopped data, which is thrown away, so that no twin has a row that a trial made.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import shlex
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tdelta import own_folders
from tdelta.engines.server.actions import allocated_bytes
from tdelta.engines.server.base import DATABASE, RestoreTarget, ServerEngine, ServerSettings
from tdelta.engines.server.catalog import describe
from tdelta.engines.server.sessions import Session, asking
from tdelta.errors import DatabaseFault, RestoreFault, ServerLost, TdeltaError
from tdelta.measure.children import Declined
from tdelta.messages import Caution, Refusal
from tdelta.processes.answers import checksums
from tdelta.processes.files import TwinFolder
from tdelta.processes.jobs import PopulateJob, RestoreJob, TrialJob
from tdelta.processes.load_generator.connections import from_users_home, inherited_environment, make_home
from tdelta.processes.own_data import Additions, Completed, Inventory, Observer, Trier, Tries, too_much
from tdelta.processes.protocol import Checksums, Tables
from tdelta.processes.rows import POPULATE_SECONDS, populate
from tdelta.processes.servers.copies import copy_data
from tdelta.processes.servers.recipes import Recipe, ServerPaths, content, place_for
from tdelta.processes.servers.server import Server
from tdelta.processes.signals import held
from tdelta.processes.templates import NO_FOLDER, digest_of
from tdelta.processes.workers import GRACE_SECONDS, Refused, Supervisor, Worker
from tdelta.records import DatabaseFacts, Phase
from tdelta.workloads.database import Database

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
        keys="",
    )


def make_database(worker: Worker, engine: ServerEngine, recipe: Recipe, settings: ServerSettings) -> None:
    worker.ask("connect", options={**recipe.connect, "database": engine.admin_database}, connections=1)
    worker.ask("run", seconds=POPULATE_SECONDS, statements=engine.schema_sql(settings))
    worker.ask("connect", options={**recipe.connect, "database": DATABASE}, connections=1)
    worker.ask("run", seconds=POPULATE_SECONDS, statements=engine.before_load_sql(settings))


def make_rows(worker: Worker, engine: ServerEngine, recipe: Recipe, job: PopulateJob | RestoreJob) -> None:
    """Make the tables and fill them.

    Raises:
        RestoreFault: a dump could not be restored.
        TdeltaError: what else the server answers.
    """
    if isinstance(job, RestoreJob):
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


def restore_dump(engine: ServerEngine, recipe: Recipe, command: str) -> RestoreTarget:
    """Have a command of the user's load a dump.

    Raises:
        RestoreFault: it failed; with its last lines.
    """
    folder = recipe.place.folder / _FILES
    folder.mkdir(exist_ok=True)
    target = engine.restore_target(recipe, folder)
    restore(command, target, POPULATE_SECONDS)
    return target


_PLACEHOLDER = re.compile(r"\{(socket|port|user|database|folder)\}")
_LAST_LINES = 15
_LONGEST_LINE = 300
_END_SECONDS = 20.0
_LEAST_FILE_BYTES = 1 << 30


def restore_command(command: str, target: RestoreTarget) -> str:
    """The user's command with the placeholders filled in, each as one word of the shell's; other braces stay."""
    found = target.placeholders
    return _PLACEHOLDER.sub(lambda match: shlex.quote(found[match[1]]), from_users_home(command))


def restore(command: str, target: RestoreTarget, seconds: float) -> None:
    """Run a user's command that loads a dump (``--restore 'CMD'``).

    A shell runs it, and in a pipe every part of it must succeed: a dump that ends early must not pass for a whole one
    (bash's ``pipefail``; without bash only the last part counts, which is told). It finds the server by placeholders,
    by the variables that the engines' own clients read, or by a home folder made for it, and no other server: it has no
    network (where the kernel lets a process leave it). A supervisor ends it at its deadline, and leaves nothing of it.

    Raises:
        RestoreFault: it failed or took too long; with its last lines.
    """
    folder = Path(target.placeholders["folder"])
    home = folder.with_name(f"{folder.name}-home")
    environment = {**inherited_environment(), **make_home(home, target.option_file), **target.variables}
    status = os.statvfs(folder)
    with contextlib.ExitStack() as ending:
        ending.callback(own_folders.remove, home)
        supervisor = Supervisor("the supervisor of --restore")
        ending.callback(_end, supervisor)
        supervisor.send(
            "run",
            stages=[[*_shell(), restore_command(command, target)]],
            environment=environment,
            deadline_seconds=seconds,
            most_bytes=max(_LEAST_FILE_BYTES, status.f_bavail * status.f_frsize // 2),
        )
        answer = _answer(supervisor, seconds + GRACE_SECONDS)
    tail = _last_lines(answer["said"])
    if answer["ended_by"] == "deadline":
        raise RestoreFault(Refusal.of("restore-too-slow", seconds=seconds, command=command, tail=tail))
    (code,) = answer["statuses"]
    if code != 0:
        asks = target.encryption
        if asks is not None and (refused := re.search(asks.refusal, tail)) is not None:
            raise RestoreFault(asks.fault([refused[0]]))
        raise RestoreFault(Refusal.of("restore-failed", found=_code(code), command=command, tail=tail))


def _shell() -> list[str]:
    bash = shutil.which("bash")
    return [bash, "--noprofile", "--norc", "-o", "pipefail", "-c"] if bash is not None else ["/bin/sh", "-c"]


def is_strict() -> bool:
    """Whether a failure within a pipe is seen here."""
    return shutil.which("bash") is not None


def _answer(supervisor: Supervisor, seconds: float) -> dict[str, Any]:
    """The supervisor's answer. At a Ctrl-C the command is asked to end first: it may have files to remove."""
    try:
        found: dict[str, Any] = supervisor.answer(seconds)
    except Declined as error:
        raise RestoreFault(Refusal.of("program-missing", program="--restore", remedy=error)) from error
    except BaseException:
        with held(), contextlib.suppress(TdeltaError, Declined):
            supervisor.send("stop")
            supervisor.answer(_END_SECONDS)
        raise
    return found


def _end(supervisor: Supervisor) -> None:
    with held():  # bounded, and a second Ctrl-C is not to cut it short
        supervisor.close(_END_SECONDS)


def _code(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else str(code)


def _last_lines(said: str) -> str:
    lines = said.splitlines()[-_LAST_LINES:]
    shown = [line.rstrip()[:_LONGEST_LINE] for line in lines if line.rstrip()]
    return "; it wrote nothing" if not shown else "\n  " + "\n  ".join(shown)


_TITLE = "restored dump"

_START_SECONDS = 120.0
_LEAST_GROWTH_BYTES = 512_000_000
"""Growth allowed to a server on trial, logs included; a larger server may double."""


@dataclass(frozen=True, slots=True)
class RestoredDump:
    """The source of twins; see `tdelta.processes.own_data.StagedCopy`.

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
    """A dump that a user's command restores; see `tdelta.processes.own_data.UserData`."""

    engine: ServerEngine
    command: str
    named = "restored by --restore"
    title = f"the {_TITLE}"
    needed_bytes = 0

    def staged(self, folder: TwinFolder) -> RestoredServer:
        return RestoredServer(self, folder)


class RestoredServer:
    """See `tdelta.processes.own_data.Staged`. Use as a context manager; the server and its files end with it."""

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

    def _require_no_encryption(self, session: Session) -> None:
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
            data_bytes = float(session.text(self._engine.data_bytes_sql(self._engine.schema)) or 0)
            return int(data_bytes), int(session.text(self._engine.page_size_sql))

    @contextmanager
    def scratch(self, constants: Mapping[str, int]) -> Iterator[Tries]:
        """A server on a copy of the data, to try on; gone at the end."""
        with ExitStack() as stack:
            yield Scratch(self._recipe, self._recipe_for("scratch"), constants, stack)

    def _recipe_for(self, name: str) -> Recipe:
        place = place_for(self._folder.path / name, self._engine.socket_name)
        return self._engine.recipe(place, self._settings)

    def _session(self) -> contextlib.closing[Session]:
        return contextlib.closing(Session({**self._recipe.connect, "database": DATABASE}))

    @contextmanager
    def _connected(self) -> Iterator[Worker]:
        with Worker() as worker:
            worker.ask("connect", options={**self._recipe.connect, "database": DATABASE}, connections=1)
            yield worker


class Scratch:
    """See `tdelta.processes.own_data.Tries`. Its server does not grow beyond a bound; past it, the next is made anew.

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
    def __init__(self, is_over: Callable[[], bool]) -> None:
        super().__init__()
        self._is_over = is_over

    def look(self) -> None:
        super().look()
        if self._is_over():
            self.lose(Refusal.of("database-says", said="its server has written more than it may"))
