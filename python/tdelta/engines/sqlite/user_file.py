"""A user's SQLite file, staged: copied by plain reads, recovered, checked and rebuilt in the copy.

The original is read once and never opened as a database (`tdelta.engines.sqlite.staging`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdelta.engines.embedded.sql import literal
from tdelta.engines.embedded.twins import EmbeddedTwins
from tdelta.engines.sqlite.conversion import Layout
from tdelta.engines.sqlite.describing import bounded, describe, reads_clock_or_random, virtual_tables
from tdelta.engines.sqlite.messages import SqliteRefusal
from tdelta.engines.sqlite.staging import HEADER_BYTES, Original, copy_original, find_original
from tdelta.errors import DatabaseFault, InvalidTwins
from tdelta.messages import Caution, Refusal
from tdelta.processes.answers import checksums
from tdelta.processes.files import TwinFolder
from tdelta.processes.jobs import DatabaseJob
from tdelta.processes.own_data import Additions, Completed, Inventory, Observer, Trier
from tdelta.processes.protocol import Checksums, Tables
from tdelta.processes.workers import Refused, Worker, answered
from tdelta.records import DatabaseFacts, Phase
from tdelta.workloads.database import Database, quoted

if TYPE_CHECKING:
    from tdelta.engines.sqlite.engine import SqliteEngine

_COPIES = 3
"""Files as large as the original that staging takes at once: the copy, its rebuild, and the copy that is tried on."""

_TRY_CACHE_BYTES = 64_000_000
_LEAST_GROWTH_BYTES = 64_000_000
"""Growth allowed to the copy on trial; a larger copy may double."""

_MEGABYTE = 1_000_000
_PATIENCE_SECONDS = 24 * 3600.0
_LONGEST_LIST = 10


@dataclass(frozen=True, slots=True)
class FileCopy:
    """The source of twins; see `tdelta.processes.own_data.StagedCopy`.

    ``path`` is the copy, recovered, with tdelta's tables, rebuilt; ``original`` what it was made of.
    """

    original: Original
    path: Path
    layout: Layout
    load_seconds = 0.0

    @property
    def size_bytes(self) -> int:
        """The size of the copy, which a plain twin has, too; of the original once the copy is gone."""
        return self.path.stat().st_size if self.path.exists() else self.original.size_bytes

    def identity(self) -> tuple[object, ...]:
        return (self.original.as_json(),)

    def facts(self, database: Database, *, is_proposed: bool) -> DatabaseFacts:
        return DatabaseFacts(
            file=self.original.file_name,
            size_bytes=self.original.size_bytes,
            page_size=self.layout.page_size,
            tables=len(database.tables),
            rows=database.rows,
            proposed=is_proposed,
        )

    def job(self, tables: Tables, checksums: Checksums) -> DatabaseJob:
        return DatabaseJob(str(self.original.named), self.path, self.layout, tables, checksums)

    def let_go(self) -> None:
        self.path.unlink(missing_ok=True)


class UserFile:
    def __init__(self, engine: SqliteEngine, file: Path) -> None:
        self._engine = engine
        self._original = find_original(file)

    @property
    def named(self) -> Path:
        return self._original.named

    @property
    def title(self) -> str:
        return self._original.file_name

    @property
    def needed_bytes(self) -> int:
        return _COPIES * self._original.size_bytes

    @contextmanager
    def staged(self, folder: TwinFolder) -> Iterator[StagedFile]:
        with Worker(program=self._engine.program) as worker:
            yield StagedFile(self._engine, self._original, folder, worker)


class StagedFile:
    """The copy of a user's file in a worker, under way; see `tdelta.processes.own_data.Staged`.

    What the library refuses here is about the user's database, and is told so (`DatabaseFault`); or about the disk.
    """

    def __init__(self, engine: SqliteEngine, original: Original, folder: TwinFolder, worker: Worker) -> None:
        self._engine = engine
        self._original = original
        self._folder = folder
        self._worker = worker
        self._path = folder.file("original")
        self._layout = Layout(0, 0)

    def bring(self, observe: Observer) -> None:
        name = self._original.file_name

        def copied(done_bytes: int, total_bytes: int) -> None:
            done, total = done_bytes // _MEGABYTE, -(-total_bytes // _MEGABYTE)
            observe(Phase("copy", f"{name}, which is only read", done, total))

        self._original = copy_original(self._original, self._path, copied)
        observe(Phase("examine", "recovering the copy, and whether it is whole"))
        self._worker.ask("temporary", folder=str(self._folder.path))
        with self._as_reported():  # a log is folded in, a transaction that was cut short is undone
            self._ask("examine", **self._engine.converting(self._path))
            names = virtual_tables(self._query)
        self._check(names)

    def _check(self, names: Sequence[str]) -> None:
        """See that the library knows the modules of these virtual tables, and that the file is whole."""
        refused = [f"table {name!r}: {said}" for name in names if (said := self._refusal_of(name))]
        if refused:
            more = len(refused) - _LONGEST_LIST
            listed = [*refused[:_LONGEST_LIST], *([f"and {more} more"] if more > 0 else [])]
            raise self._fault(SqliteRefusal.of("extensions-missing", refused="; ".join(listed)))
        found = self._must("PRAGMA quick_check(1)", "cannot be checked")
        if found != "ok":
            raise self._fault(SqliteRefusal.of("quick-check-fails", found=found))

    def _refusal_of(self, table: str) -> str:
        try:
            self._query(f"SELECT 1 FROM {quoted(table)} LIMIT 0")
        except Refused as refusal:
            return str(refusal)
        return ""

    def describe(self) -> Inventory:
        with self._as_reported():
            database = describe(self._query)
        if not database.tables:
            what = "a table other than virtual ones" if database.virtual_tables else "a table"
            raise DatabaseFault(self._original.named, Refusal.of("missing", what=what))
        named, path = self._original.named, self._original.path
        cautions = []
        if named.is_symlink():
            cautions.append(Caution.of("symbolic-link", named=str(named), path=str(path)))
        if database.virtual_tables:
            cautions.append(Caution.of("virtual-tables", tables=", ".join(database.virtual_tables)))
        return Inventory(database, tuple(cautions))

    def complete(self, database: Database, tables: Tables, additions: Additions, observe: Observer) -> Completed:
        """Add what is tdelta's and rebuild the copy, compacted like all others: rows must be what they were."""
        observe(Phase("checksum", "the rows of the copy"))
        read = checksums(self._worker, tables)
        for statement in additions.statements:
            self._must(statement, "cannot take a table of sampled keys")
        observe(Phase("rebuild", "the copy, compacted like all others"))
        self._must("VACUUM", "cannot be rebuilt (VACUUM); PRAGMA integrity_check on your own copy may say more")
        with self._as_reported():
            database = replace(database, tables=tuple(bounded(self._query, table) for table in database.tables))
        observe(Phase("checksum", "the rows of the rebuilt copy"))
        rebuilt = checksums(self._worker, tables + additions.tables)
        if changed := [table for table, found in read.items() if rebuilt[table] != found]:
            raise InvalidTwins(SqliteRefusal.of("vacuum-changed-rows", tables=", ".join(changed)))
        with self._as_reported():
            may_vary = reads_clock_or_random(self._query)
        names = ("page_size", "auto_vacuum", "user_version", "application_id")
        found = {name: int(self._must(f"PRAGMA {name}", "cannot be read")) for name in names}
        self._worker.ask("close")
        with self._path.open("rb") as file:
            self._layout = Layout(reserved_bytes=file.read(HEADER_BYTES)[20], **found)
        self._worker.end()
        return Completed(FileCopy(self._original, self._path, self._layout), database, rebuilt, may_vary)

    @contextmanager
    def scratch(self, constants: Mapping[str, int]) -> Iterator[Trier]:
        """A copy of the copy, open in a worker; neither it nor a temporary file grows beyond a bound."""
        path = self._folder.copy(self._path, "scratch")
        try:
            size = path.stat().st_size
            most_bytes = size + max(size, _LEAST_GROWTH_BYTES)
            with Worker(program=self._engine.program) as worker:
                worker.ask("temporary", folder=str(path.parent), most_bytes=most_bytes)
                worker.ask("open", **self._engine.trying(path, self._layout, _TRY_CACHE_BYTES, most_bytes))
                yield Trier(worker, constants, most_bytes)
        finally:
            self._folder.remove(path)

    @contextmanager
    def _as_reported(self) -> Iterator[None]:
        """Within the block, a refusal is told as of a database that the library cannot read."""
        try:
            yield
        except Refused as refusal:
            said = SqliteRefusal.of("library-cannot-read", said=refusal, remedy=_remedy(refusal))
            raise self._fault(said) from refusal

    def _must(self, sql: str, otherwise: str) -> str:
        try:
            return self._query(sql)
        except Refused as refusal:
            remedy = self._holders(refusal) + _remedy(refusal)
            said = SqliteRefusal.of("copy-fails", otherwise=otherwise, said=refusal, remedy=remedy)
            raise self._fault(said) from refusal

    def _holders(self, refusal: Refused) -> str:
        """The objects that use the function which the library lacks, in brackets."""
        lacking = _FUNCTION.search(str(refusal))
        if lacking is None:
            return ""
        holders = (
            "SELECT CASE type WHEN 'index' THEN 'index ' ELSE 'a CHECK or a generated column of ' END || name AS holder"
            f" FROM sqlite_schema WHERE type IN ('index', 'table') AND sql LIKE {literal(f'%{lacking[1]}%')}"
            f" LIMIT {_LONGEST_LIST}"
        )
        with suppress(Refused):
            if found := self._query(f"SELECT coalesce(group_concat(holder, ', '), '') FROM ({holders})"):
                return f" ({found})"
        return ""

    def _fault(self, said: SqliteRefusal) -> DatabaseFault:
        return DatabaseFault(self._original.named, said)

    def _query(self, sql: str) -> str:
        return str(self._ask("query", sql=sql)["text"])

    def _ask(self, do: str, **order: object) -> dict[str, Any]:
        return answered(self._worker.ask(do, seconds=_PATIENCE_SECONDS, **order))


_FUNCTION = re.compile(r"(?:no such|unknown) function: (\w+)")
_OF_APPLICATIONS = ("no such collation", "no such function", "unknown function")
"""SQLite's errors if an index, a CHECK or a generated column needs an application's function."""


def _remedy(refusal: Refused) -> str:
    if refusal.kind == "corrupt":
        return "; repair it (sqlite3 FILE .recover) or use a backup"
    if any(missing in str(refusal) for missing in _OF_APPLICATIONS):
        return "; only its application has that function: use a copy without it"
    return ""


class CopiedTwins(EmbeddedTwins):
    """Twins whose rows are those of a user's file: each kind is a conversion of tdelta's plain copy."""

    _job: DatabaseJob

    def fill(self, engine: Any, path: Path, settings: Any) -> tuple[str, Checksums]:
        job, key = self._job, self.key(settings.cipher)
        wanted = engine.conversion(str(path), settings, job.layout)
        source = self.folder.copy(job.path, path.stem) if wanted.is_in_place else job.path
        with Worker(program=engine.program) as worker:
            worker.ask("temporary", folder=str(self.folder.path))
            library = worker.ask("open", **engine.converting(source))["library"]
            order = {"steps": wanted.as_json(), "key": engine.given_key(settings, key)}
            try:
                answered(worker.ask("convert", seconds=_PATIENCE_SECONDS, **order))
            except Refused as refusal:
                said = SqliteRefusal.of("cannot-convert-copy", cipher=settings.cipher, said=refusal)
                raise DatabaseFault(job.file, said) from refusal
            worker.ask("close")
            worker.ask("open", **engine.reading(path, settings, key))
            return str(library), checksums(worker, job.tables)

    def expected_checksums(self) -> Checksums:
        return self._job.checksums
