"""Twins that are private servers: loaded once for each kind of data, copied for each instance."""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tdelta.driver.answers import checksums
from tdelta.driver.evp_calls import together
from tdelta.driver.files import TwinFolder, sweep
from tdelta.driver.jobs import AnyJob, DatabaseJob, OwnTablesJob, PopulateJob, RestoreJob, WorkloadSpec
from tdelta.driver.protocol import NOTHING, Checksums, Tables
from tdelta.driver.rows import POPULATE_SECONDS, generated_checksums
from tdelta.driver.servers.copies import copy_data
from tdelta.driver.servers.directories import place_for
from tdelta.driver.servers.observation import Watched, describe_calls, observe
from tdelta.driver.servers.recipes import Recipe, ServerPaths
from tdelta.driver.servers.sequential import SequentialBlocks
from tdelta.driver.servers.server import Server
from tdelta.driver.workers import Worker
from tdelta.engines.servers import DATABASE, FolderEncrypted, ServerEngine, ServerSettings, recipe_of
from tdelta.engines.shared.private.actions import TwinRows
from tdelta.engines.shared.private.filling import loading, make_database, make_rows, settle_rows
from tdelta.engines.shared.private.instances import Instance, ServerTwin
from tdelta.engines.shared.private.replicas import Link, Replica, Replicated, held_port
from tdelta.engines.shared.server_files import ServerFiles
from tdelta.errors import Defect
from tdelta.evidence import TABLE, FileClass, search
from tdelta.measure.aes import CryptoKind, hidden_environment

NOTHING_ELSE: Mapping[str, ServerEngine] = MappingProxyType({})
"""Of a run with one server."""

_START_SECONDS = 120.0
_NEEDLE_BYTES = 16
_NEEDLES_APART = 16


class ServerTwins(SequentialBlocks):
    """Makes the twins of one run. Keys are drawn here, and kept in memory and in files of the twins' own folders."""

    def __init__(
        self,
        engine: ServerEngine,
        folder: TwinFolder,
        job: AnyJob,
        mix: WorkloadSpec,
        versions: Mapping[str, ServerEngine] = NOTHING_ELSE,
    ) -> None:
        super().__init__(mix)
        self._engine = engine
        self._versions = versions
        self._folder = folder
        self._job = job
        self._observed: list[ServerSettings] = []
        self._keys: dict[str, str] = {}
        self._loads: dict[tuple[str, ...], _Load] = {}
        self._stack = contextlib.ExitStack()
        self._homes: dict[Path, TwinFolder] = {}
        self.library = f"{engine.binary.product} {' and '.join(versions) or engine.binary.version}"

    def load(self, settings: ServerSettings) -> tuple[Path, Checksums]:
        """Initialize a server, load it, and stop it: what instances of these settings are copied from."""
        if isinstance(self._job, DatabaseJob | OwnTablesJob):
            raise Defect("neither a file of SQLite nor another server's tables are loaded into a private server")
        started = loading(settings)
        place = self._place(started, f"load-{len(self._loads)}")
        recipe = self._recipe(place, started)
        server = Server(recipe)
        self._stack.callback(server.end)
        server.start(initialize=True, seconds=_START_SECONDS)
        with server.at_work(), Worker() as worker:
            sums, data_bytes = self._fill(worker, recipe, started, self._job)
        server.stop()
        self._loads[settings.template_key] = _Load(settings, recipe, data_bytes)
        return place.folder, sums

    def end(self) -> None:
        self._stack.close()

    def _of(self, settings: ServerSettings) -> ServerEngine:
        """Whose server: of several versions the one that is asked for."""
        return self._versions.get(settings.server, self._engine)

    def _fill(
        self, worker: Worker, recipe: Recipe, settings: ServerSettings, job: PopulateJob | RestoreJob
    ) -> tuple[Checksums, int]:
        engine = self._of(settings)
        make_database(worker, engine, recipe, settings)
        make_rows(worker, engine, recipe, job)
        settle_rows(worker, engine, settings, [name for name, _ in job.tables])
        sums = checksums(worker, job.tables)
        size = worker.ask("facts", queries={"data_bytes": engine.data_bytes_sql})
        return sums, int(float(size["data_bytes"]))

    def expected_checksums(self) -> Checksums:
        return generated_checksums(self._job) if isinstance(self._job, PopulateJob) else self._job.checksums

    def data_bytes(self, path: Path) -> int:
        return self._loaded(path).data_bytes

    def is_encrypted(self, path: Path) -> bool:
        load = self._loaded(path)
        engine = self._of(load.settings)
        if isinstance(engine, FolderEncrypted) and not engine.can_be_searched(load.settings):
            return load.settings.is_encrypted
        recipe = load.recipe
        files = ServerFiles(engine.evidence.files, recipe.place, tuple, recipe.mount)
        tables = [file for file in files.stored() if file.file_class in (FileClass.TABLES, FileClass.OTHER)]
        inflate = engine.evidence.inflating(is_compressed=load.settings.is_compressed)
        return not any(found.markers_found for found in search(tables, self._needles(), inflate))

    @property
    def why_not_timed(self) -> str:
        return self._engine.profile.not_timed

    def start(self, settings: ServerSettings, name: str, environment: Mapping[str, str] = NOTHING) -> ServerTwin:
        """Copy the loaded data under an instance's name, start a server on it, connect."""
        with contextlib.ExitStack() as unless_done:
            make = self._alone if not settings.replication else self._replicated
            instance = make(settings, name, environment, unless_done)
            instance.freeze()
            twin = self._twin(instance, settings, owns_instance=True)
            unless_done.pop_all()
        return twin

    def _alone(
        self, settings: ServerSettings, name: str, environment: Mapping[str, str], stack: contextlib.ExitStack
    ) -> Instance:
        recipe = self._recipe(self._place(settings, name), settings)
        return Instance(self._of(settings), settings, recipe, self._started(recipe, settings, environment, stack))

    def _replicated(
        self, settings: ServerSettings, name: str, environment: Mapping[str, str], stack: contextlib.ExitStack
    ) -> Instance:
        engine = self._of(settings)
        if not isinstance(engine, Replicated):  # refused before
            raise Defect(f"{engine.profile.product} has no replicas")
        followed = self._recipe(self._place(settings, name), settings)
        follower = dataclasses.replace(settings, has_binlog=False)
        following = self._recipe(self._place(settings, f"{name}-replica"), follower)
        with held_port() as port:
            link = Link(followed.place, port)
            recipe, replica_recipe = engine.replication.recipes(followed, following, link)
            server = self._started(recipe, settings, environment, stack)
        replica_server = self._started(replica_recipe, settings, NOTHING, stack)
        replica = Replica(engine, follower, recipe, replica_server, link)
        stack.callback(replica.end)
        return Instance(engine, settings, recipe, server, replica)

    def _started(
        self, recipe: Recipe, settings: ServerSettings, environment: Mapping[str, str], stack: contextlib.ExitStack
    ) -> Server:
        server = Server(recipe, together(self._environment(settings), environment))
        stack.callback(server.end)
        copy_data(self._loads[settings.template_key].recipe, recipe)
        server.start(seconds=_START_SECONDS)
        return server

    def observe(self, settings: ServerSettings) -> str:
        """Which ciphers a server of these settings starts for pages that it reads and writes, in a run of its own.

        Nothing is measured meanwhile. Empty where nothing can be observed.
        """
        load = self._loads[settings.template_key]
        tables = self._job.tables

        @contextlib.contextmanager
        def started(environment: Mapping[str, str]) -> Iterator[Watched]:
            place = self._place(settings, f"observed-{len(self._observed)}")
            self._observed.append(settings)
            recipe = self._recipe(place, settings)
            with Server(recipe, environment) as server:
                copy_data(load.recipe, recipe)
                server.start(seconds=_START_SECONDS)
                with server.at_work():
                    yield _Working(self._of(settings), recipe, tables)

        found = observe(started, self._folder.path)
        return describe_calls(found) if found else ""

    def join(self, twin: ServerTwin, settings: ServerSettings) -> ServerTwin:
        return self._twin(twin.instance, settings, owns_instance=False)

    def _twin(self, instance: Instance, settings: ServerSettings, *, owns_instance: bool) -> ServerTwin:
        rows = TwinRows(tuple(self._job.tables), tuple(self._needles()))
        name = f"{instance.recipe.place.folder.name}-beside"

        def beside(other: ServerSettings) -> Recipe:
            return self._recipe(self._place(other, name), other)

        return ServerTwin(instance, settings, self._mix, rows, beside, owns_instance=owns_instance)

    def _recipe(self, place: ServerPaths, settings: ServerSettings) -> Recipe:
        return recipe_of(self._of(settings), place, settings, self._key(settings.keyed_cipher or "none"))

    def _place(self, settings: ServerSettings, name: str) -> ServerPaths:
        engine = self._of(settings)
        home = engine.home(settings) if isinstance(engine, FolderEncrypted) else None
        folder = self._folder if home is None else self._folder_in(home)
        return place_for(folder.path / name, engine.socket_name)

    def _folder_in(self, home: Path) -> TwinFolder:
        if home not in self._homes:
            sweep(home)
            self._homes[home] = self._stack.enter_context(TwinFolder(home, self._folder.run_id))
        return self._homes[home]

    def _loaded(self, path: Path) -> _Load:
        return next(load for load in self._loads.values() if load.recipe.place.folder == path)

    def _needles(self) -> list[bytes]:
        """How the planted rows begin, out of the plan that the rows were made by."""
        if isinstance(self._job, RestoreJob):
            return [row[:_NEEDLE_BYTES] for row in self._job.needles[::_NEEDLES_APART]]
        assert isinstance(self._job, PopulateJob)  # noqa: S101 - nothing else was loaded
        tables: Any = self._job.plan["tables"]
        marker = next(table for table in tables if table["name"] == TABLE)
        return [bytes.fromhex(row)[:_NEEDLE_BYTES] for row in marker["columns"][1]["hex"][::_NEEDLES_APART]]

    def _environment(self, settings: ServerSettings) -> Mapping[str, str]:
        if settings.aes_instructions == "on":
            return {}
        return hidden_environment(CryptoKind(self._of(settings).crypto))

    def _key(self, cipher: str) -> str | None:
        if cipher == "none":
            return None
        return self._keys.setdefault(cipher, secrets.token_hex(32))


@dataclasses.dataclass(frozen=True, slots=True)
class _Load:
    settings: ServerSettings
    recipe: Recipe
    data_bytes: int


class _Working:
    def __init__(self, engine: ServerEngine, recipe: Recipe, tables: Tables) -> None:
        self._engine = engine
        self._options = {**recipe.connect, "database": DATABASE}
        self._tables = tables

    def work(self) -> None:
        """Read every table, change the marker rows twice, have that written."""
        with Worker() as worker:
            worker.ask("connect", options=self._options, connections=1)
            checksums(worker, self._tables)
            worker.ask("run", seconds=POPULATE_SECONDS, statements=[self._engine.evidence.change_sql] * 2)
