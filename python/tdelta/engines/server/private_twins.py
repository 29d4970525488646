"""Twins that are private servers: loaded once for each kind of data, copied for each instance."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tdelta.engines.server.actions import TwinRows, allocated_bytes
from tdelta.engines.server.base import DATABASE, ServerEngine, ServerSettings, recipe_of
from tdelta.engines.server.evidence import ServerFiles
from tdelta.engines.server.private_twin import Instance, PrivateTwin
from tdelta.engines.server.replicas import Link, Replica, held_port
from tdelta.engines.server.restore import loading, make_database, make_rows, settle_rows
from tdelta.errors import Defect
from tdelta.evidence import FileClass, search
from tdelta.measure.aes import environment_at
from tdelta.processes.answers import SequentialTwins, as_checksums, checksums
from tdelta.processes.files import TwinFolder, sweep
from tdelta.processes.jobs import AnyJob, DatabaseJob, OwnTablesJob, PopulateJob, RestoreJob, WorkloadSpec, needles_of
from tdelta.processes.openssl_calls import Watched, describe_calls, observe, together
from tdelta.processes.protocol import NOTHING, Checksums, Tables
from tdelta.processes.rows import POPULATE_SECONDS, generated_checksums
from tdelta.processes.servers.copies import copy_data
from tdelta.processes.servers.recipes import Recipe, ServerPaths, content, place_for
from tdelta.processes.servers.server import Server
from tdelta.processes.templates import NO_FOLDER, Template, Templates, digest_of
from tdelta.processes.workers import Worker

_START_SECONDS = 120.0


class ServerTwins(SequentialTwins):
    """Makes the twins of one run. Keys are those of the store of templates; without one they are drawn here."""

    observes_ciphers = remembers = True

    def __init__(
        self,
        engine: ServerEngine,
        folder: TwinFolder,
        job: AnyJob,
        mix: WorkloadSpec,
        versions: Mapping[str, ServerEngine],
    ) -> None:
        super().__init__(mix)
        self.why_not_timed = engine.profile.not_timed
        self._engine = engine
        self._versions = versions
        self._folder = folder
        is_kept = folder.templates is not None and (folder.templates.of_users or isinstance(job, PopulateJob))
        self._templates = folder.templates if is_kept else None
        self._job = job
        self._observed: list[ServerSettings] = []
        self._keys: dict[str, str] = {}
        self._expected: Checksums | None = None
        self._loads: dict[tuple[str, ...], _Load] = {}
        self._taken: list[Template] = []
        self._stack = contextlib.ExitStack()
        self._homes: dict[Path, TwinFolder] = {}
        self.library = f"{engine.binary.product} {' and '.join(versions) or engine.binary.version}"

    def load(self, settings: ServerSettings) -> tuple[Path, Checksums]:
        """The source of instances of these settings: a template, or a server that is loaded and stopped."""
        job = self._job
        if isinstance(job, DatabaseJob | OwnTablesJob):
            raise Defect("neither a file of SQLite nor another server's tables are loaded into a private server")
        load = self._loads[settings.template_key] = self._from_template(settings) or self._loaded_anew(settings, job)
        return load.recipe.place.folder, load.checksums

    def _loaded_anew(self, settings: ServerSettings, job: PopulateJob | RestoreJob) -> _Load:
        started = loading(settings)
        recipe = self._recipe(self._place(started, f"load-{len(self._loads)}"), started)
        server = Server(recipe)
        self._stack.callback(server.end)
        server.start(initialize=True, seconds=_START_SECONDS)
        with server.at_work(), Worker() as worker:
            sums, data_bytes = self._fill(worker, recipe, started, job)
        server.stop()
        load = _Load(settings, recipe, sums, data_bytes, self._is_encrypted(settings, recipe))
        kept = self._kept(load)
        if kept is not None:
            server.end()
        return kept or load

    def _from_template(self, settings: ServerSettings) -> _Load | None:
        store = self._store(settings)
        template = None if store is None else store.taken(self._digest(settings))
        if template is None:
            return None
        self._taken.append(template)
        return self._of_template(settings, template)

    def _kept(self, load: _Load) -> _Load | None:
        """The load's data kept as a template; None where they are not to be, or cannot be."""
        store = self._store(load.settings)
        if store is None or load.checksums != self.expected_checksums():
            return None
        facts = {"checksums": load.checksums, "data_bytes": load.data_bytes, "is_encrypted": load.is_encrypted}
        template = store.kept(
            self._digest(load.settings),
            allocated_bytes(load.recipe.place.folder),
            facts,
            lambda folder: copy_data(load.recipe, self._loading_recipe(load.settings, folder)),
        )
        return None if template is None else self._of_template(load.settings, template)

    def _of_template(self, settings: ServerSettings, template: Template) -> _Load:
        self._stack.callback(template.close)
        facts = template.facts
        recipe = self._loading_recipe(settings, template.folder)
        sums = as_checksums(facts["checksums"])
        return _Load(settings, recipe, sums, facts["data_bytes"], facts["is_encrypted"], template)

    def _store(self, settings: ServerSettings) -> Templates | None:
        """Where such data outlive the run: neither a user's rows do, nor what is to lie in an encrypted folder."""
        return self._templates if self._of(settings).home(settings) is None else None

    def _digest(self, settings: ServerSettings) -> str:
        started, engine = loading(settings), self._of(settings)
        return digest_of(
            (engine.binary.path,),
            engine.binary.text,
            content(self._loading_recipe(settings, NO_FOLDER)),
            engine.schema_sql(started),
            engine.before_load_sql(started),
            engine.after_load_sql(started, [name for name, _ in self._job.tables]),
            dataclasses.asdict(self._job),
        )

    def _loading_recipe(self, settings: ServerSettings, folder: Path) -> Recipe:
        place = ServerPaths(folder, folder / self._of(settings).socket_name)
        return self._recipe(place, loading(settings))

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
        size = worker.ask("facts", queries={"data_bytes": engine.data_bytes_sql(engine.schema)})
        return sums, int(float(size["data_bytes"]))

    def expected_checksums(self) -> Checksums:
        if self._expected is None:
            job = self._job
            self._expected = generated_checksums(job) if isinstance(job, PopulateJob) else job.checksums
        return self._expected

    def data_bytes(self, path: Path) -> int:
        return self._loaded(path).data_bytes

    def is_encrypted(self, path: Path) -> bool:
        return self._loaded(path).is_encrypted

    def _is_encrypted(self, settings: ServerSettings, recipe: Recipe) -> bool:
        engine = self._of(settings)
        if not engine.can_be_searched(settings):
            return settings.is_encrypted
        files = ServerFiles(engine.evidence.files, recipe.place, tuple, recipe.mount)
        tables = [file for file in files.stored() if file.file_class in (FileClass.TABLES, FileClass.OTHER)]
        inflate = engine.evidence.inflating(is_compressed=settings.is_compressed)
        return not any(found.markers_found for found in search(tables, self._needles(), inflate))

    def recall(self, name: str) -> Any:
        template = self._first_template()
        return None if template is None else template.facts.get(name)

    def remember(self, name: str, value: Any) -> None:
        if (template := self._first_template()) is not None:
            template.remember(**{name: value})

    def discard(self) -> bool:
        for template in self._taken:
            template.discard()
        return bool(self._taken)

    def _first_template(self) -> Template | None:
        return next((load.template for load in self._loads.values()), None)

    def start(self, settings: ServerSettings, name: str, environment: Mapping[str, str] = NOTHING) -> PrivateTwin:
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
        assert engine.replication is not None  # noqa: S101 - refused before
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
        hidden = environment_at(settings.aes_instructions, self._of(settings).crypto)
        server = Server(recipe, together(hidden, environment))
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

    def join(self, twin: PrivateTwin, settings: ServerSettings) -> PrivateTwin:
        return self._twin(twin.instance, settings, owns_instance=False)

    def _twin(self, instance: Instance, settings: ServerSettings, *, owns_instance: bool) -> PrivateTwin:
        rows = TwinRows(tuple(self._job.tables), self._needles())
        name = f"{instance.recipe.place.folder.name}-beside"

        def beside(other: ServerSettings) -> Recipe:
            return self._recipe(self._place(other, name), other)

        return PrivateTwin(
            instance, settings, self._mix, rows, beside, self._pages(settings), owns_instance=owns_instance
        )

    def _pages(self, settings: ServerSettings) -> Path:
        """Where it is kept which pages a cache of that size holds under this load; beside the data that they are of."""
        template = self._loads[settings.template_key].template
        of = repr((settings.cache_bytes, self._mix.transactions, self._mix.constants, self._mix.command)).encode()
        folder = self._folder.path if template is None else template.folder
        name = "" if template is not None else "-".join(settings.template_key)
        return folder / f"pages-{name}{hashlib.sha256(of).hexdigest()[:12]}"

    def _recipe(self, place: ServerPaths, settings: ServerSettings) -> Recipe:
        return recipe_of(self._of(settings), place, settings, self._key(settings.keyed_cipher or "none"))

    def _place(self, settings: ServerSettings, name: str) -> ServerPaths:
        engine = self._of(settings)
        home = engine.home(settings)
        folder = self._folder if home is None else self._folder_in(home)
        return place_for(folder.path / name, engine.socket_name)

    def _folder_in(self, home: Path) -> TwinFolder:
        if home not in self._homes:
            sweep(home)
            self._homes[home] = self._stack.enter_context(TwinFolder(home, self._folder.run_id))
        return self._homes[home]

    def _loaded(self, path: Path) -> _Load:
        return next(load for load in self._loads.values() if load.recipe.place.folder == path)

    def _needles(self) -> tuple[bytes, ...]:
        assert isinstance(self._job, PopulateJob | RestoreJob)  # noqa: S101 - nothing else was loaded
        return needles_of(self._job)

    def _key(self, cipher: str) -> str | None:
        if cipher == "none":
            return None
        if cipher not in self._keys:
            self._keys[cipher] = secrets.token_hex(32)
            if self._templates is not None:
                with contextlib.suppress(OSError):
                    self._keys[cipher] = self._templates.key(cipher)
        return self._keys[cipher]


@dataclasses.dataclass(frozen=True, slots=True)
class _Load:
    settings: ServerSettings
    recipe: Recipe
    checksums: Checksums
    data_bytes: int
    is_encrypted: bool
    template: Template | None = None


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
