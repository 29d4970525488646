"""A user's SQLite file, staged: copied by plain reads, recovered, checked and rebuilt in the copy.

The original is read once and never opened as a database (`tdelta.engines.sqlite.staging`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tdelta.driver.files import TwinFolder
from tdelta.driver.jobs import DatabaseJob
from tdelta.driver.protocol import Checksums, Tables
from tdelta.driver.user_data import Additions, Completed, Inventory, Observer, Trier
from tdelta.driver.workers import Worker
from tdelta.engines.sqlite.conversion import Layout
from tdelta.engines.sqlite.engine import WORKER, SqliteEngine, TwinSettings
from tdelta.engines.sqlite.examining import CopyExaminer
from tdelta.engines.sqlite.messages import SqliteRefusal
from tdelta.engines.sqlite.staging import Original, copy_original, find_original
from tdelta.errors import InvalidTwins
from tdelta.messages import Caution
from tdelta.records import DatabaseFacts, Phase
from tdelta.workloads.database import Database

_COPIES = 3
"""Files as large as the original that staging takes at once: the copy, its rebuild, and the copy that is tried on."""

_TRY_CACHE_BYTES = 64_000_000
_LEAST_GROWTH_BYTES = 64_000_000
"""What the copy that is tried on may grow by at least; more only as far as it is large itself."""

_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class FileCopy:
    """What twins are made of; see `tdelta.driver.user_data.StagedCopy`.

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
        """How twins get their rows: by a conversion of the copy."""
        return DatabaseJob(str(self.original.named), self.path, self.layout, tables, checksums)

    def let_go(self) -> None:
        self.path.unlink(missing_ok=True)


class UserFile:
    """A user's file, found; see `tdelta.driver.user_data.UserData`.

    Raises:
        DatabaseFault: there is no file, or it is no plain SQLite database.
    """

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
        """Room for all copies that are there at once."""
        return _COPIES * self._original.size_bytes

    @contextmanager
    def staged(self, folder: TwinFolder) -> Iterator[StagedFile]:
        with CopyExaminer(self._engine, folder.file("original"), folder.path, self.named) as examiner:
            yield StagedFile(self._engine, self._original, folder, examiner)


class StagedFile:
    """The copy of a user's file, under way; see `tdelta.driver.user_data.Staged`."""

    def __init__(self, engine: SqliteEngine, original: Original, folder: TwinFolder, examiner: CopyExaminer) -> None:
        self._engine = engine
        self._original = original
        self._folder = folder
        self._examiner = examiner
        self._path = examiner.path
        self._layout = Layout(0, 0)

    def bring(self, observe: Observer) -> None:
        name = self._original.file_name

        def copied(done_bytes: int, total_bytes: int) -> None:
            done, total = done_bytes // _MEGABYTE, -(-total_bytes // _MEGABYTE)
            observe(Phase("copy", f"{name}, which is only read", done, total))

        self._original = copy_original(self._original, self._path, copied)
        observe(Phase("examine", "recovering the copy, and whether it is whole"))
        self._examiner.recover()
        self._examiner.check()

    def describe(self) -> Inventory:
        database = self._examiner.describe()
        return Inventory(database, tuple(self._cautions(database)))

    def complete(self, database: Database, tables: Tables, additions: Additions, observe: Observer) -> Completed:
        """Add what is tdelta's and rebuild the copy, compacted like all others: rows must be what they were."""
        examiner = self._examiner
        observe(Phase("checksum", "the rows of the copy"))
        read = examiner.checksums(tables)
        examiner.add(additions.statements)
        observe(Phase("rebuild", "the copy, compacted like all others"))
        examiner.rebuild()
        database = replace(database, tables=examiner.bounded(database.tables))
        observe(Phase("checksum", "the rows of the rebuilt copy"))
        rebuilt = examiner.checksums(tables + additions.tables)
        changed = [table for table, found in read.items() if rebuilt[table] != found]
        if changed:
            raise InvalidTwins(SqliteRefusal.of("vacuum-changed-rows", tables=", ".join(changed)))
        may_vary = examiner.reads_clock_or_random()
        self._layout = examiner.layout()
        examiner.end()
        return Completed(FileCopy(self._original, self._path, self._layout), database, rebuilt, may_vary)

    @contextmanager
    def scratch(self, constants: Mapping[str, int]) -> Iterator[Trier]:
        """A copy of the copy, open in a worker; neither it nor a temporary file grows beyond a bound."""
        path = self._folder.copy(self._path, "scratch")
        try:
            layout = self._layout
            plain = TwinSettings("none", layout.page_size, "off", "off", layout.reserved_bytes, 1, _TRY_CACHE_BYTES)
            size = path.stat().st_size
            most_bytes = size + max(size, _LEAST_GROWTH_BYTES)
            options = self._engine.trying_options(str(path), plain, most_bytes)
            with Worker(program=WORKER) as worker:
                worker.ask("temporary", folder=str(path.parent), most_bytes=most_bytes)
                worker.ask("open", library=self._engine.library.name, options=options, connections=1)
                yield Trier(worker, constants, most_bytes)
        finally:
            self._folder.remove(path)

    def _cautions(self, database: Database) -> Iterator[Caution]:
        named, path = self._original.named, self._original.path
        if named.is_symlink():
            yield Caution.of("symbolic-link", named=str(named), path=str(path))
        if database.virtual_tables:
            yield Caution.of("virtual-tables", tables=", ".join(database.virtual_tables))
