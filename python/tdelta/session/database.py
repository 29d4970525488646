"""Stages a user's database for a run: copied by plain reads, recovered and checked in the copy, given its workload.

The original is read once and never opened as a database (`tdelta.engines.sqlite.staging`). Everything here takes place
in a folder of the run's own, which is gone at its end.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tdelta.design import fresh_seed
from tdelta.driver import Checksums, TwinFolder, default_base, sweep
from tdelta.driver.markers import require_no_markers
from tdelta.driver.protocol import Tables
from tdelta.engines.sqlite.conversion import Layout
from tdelta.engines.sqlite.engine import SqliteEngine, TwinSettings
from tdelta.engines.sqlite.examining import CopyExaminer, Trier
from tdelta.engines.sqlite.finding import find_library
from tdelta.engines.sqlite.profile import DIALECT
from tdelta.engines.sqlite.staging import Original, copy_original, find_original
from tdelta.errors import DatabaseFault, UnsoundTwins, UsageError
from tdelta.evidence import Markers
from tdelta.measure import require_space, require_writable
from tdelta.records import Phase
from tdelta.session.planning import check
from tdelta.session.request import RunRequest
from tdelta.session.source import DatabaseSource
from tdelta.session.trying import (
    MOMENT_SECONDS,
    PROPOSED_CAUTION,
    Chosen,
    Observer,
    choose,
    left_by_writes,
    moment_cautions,
    own_tables,
    tables_of,
    writing,
)
from tdelta.store import default_path
from tdelta.workloads import Workload
from tdelta.workloads.database import Database
from tdelta.workloads.keys import key_sql, key_variables
from tdelta.workloads.own_folder import read_own_folder
from tdelta.workloads.proposal import Proposal, propose

_COPIES = 3
"""Files as large as the original that staging takes at once: the copy, its rebuild, and the copy that is tried on."""

_TRY_CACHE_BYTES = 64_000_000
_MEGABYTE = 1_000_000


@contextmanager
def staged(request: RunRequest, run_id: str, observe: Observer) -> Iterator[DatabaseSource | None]:
    """A user's database made ready for a run, while the block lasts; None where the rows are generated.

    Args:
        request: what was asked.
        run_id: names the folder of the copy.
        observe: told how far it is.

    Raises:
        UsageError: what was asked cannot be done; every fault that can be seen is named before a byte is copied.
        DatabaseFault: the database cannot be used as it is.
        WorkloadError: the workload does not fit it.
        StorageFault: there is no room for copies.
    """
    if request.tested.database is None:
        yield None
        return
    check(request)
    _require_other_than_store(request.tested.database, request)
    original = find_original(request.tested.database)
    base = request.where.directory or default_base()
    _require_room(base, original)
    with TwinFolder(base, f"{run_id}-original") as folder:
        yield _Staging(request, original, folder, observe).run()


def _require_other_than_store(database: Path, request: RunRequest) -> None:
    """To read and close the store's file, even once, would drop the locks that this process holds on it."""
    store = request.where.store or default_path()
    if store.exists() and database.exists() and store.samefile(database):
        raise UsageError(f"--database {database}: this run keeps its results in it; give a copy, or use --store")


def _require_room(base: Path, original: Original) -> None:
    sweep(base)
    require_writable(base)
    needed = _COPIES * original.size_bytes
    require_space(base, needed, remedy="or name another folder (--dir)")


class _Staging:
    """One staging; `run` is its stages."""

    def __init__(self, request: RunRequest, original: Original, folder: TwinFolder, observe: Observer) -> None:
        self._request = request
        self._original = original
        self._folder = folder
        self._observe = observe
        self._engine = SqliteEngine(find_library(request.tested.library))
        self._path = folder.file("original")

    def run(self) -> DatabaseSource:
        """Copy, recover, check, describe, choose what to run, add what that needs, rebuild, and try it."""
        self._original = copy_original(self._original, self._path, self._told_copied)
        with CopyExaminer(self._engine, self._path, self._folder.path, self._original.named) as examiner:
            self._observe(Phase("examine", "recovering the copy, and whether it is whole"))
            examiner.recover()
            examiner.check()
            self._observe(Phase("examine", "tables, keys, columns and sizes"))
            database = examiner.describe()
            tables = tables_of(database)
            self._observe(Phase("checksum", "the rows of the copy"))
            checksums = examiner.checksums(tables)
            wanted = self._wanted(database)
            require_no_markers(database.names)
            examiner.add(
                [
                    *(sql for key in wanted.keys for sql in key_sql(key, database, DIALECT)),
                    *self._markers().table_sql(DIALECT),
                ]
            )
            self._observe(Phase("rebuild", "the copy, as compact as every twin"))
            examiner.rebuild()
            database = replace(database, tables=examiner.bounded(database.tables))
            checksums = self._with_keys(examiner, wanted, database, tables, checksums)
            may_vary = examiner.depends_on_the_moment()
            layout = examiner.layout()
        constants = {**database.variables(), **key_variables(wanted.keys, database)}
        chosen = self._settled(wanted, layout, constants)
        unrepeatable = self._unrepeatable(chosen.workload, layout, constants, tables) if may_vary else ()
        return DatabaseSource(
            original=self._original,
            path=self._path,
            layout=layout,
            database=database,
            workload=chosen.workload,
            constants=constants,
            tables=tables + own_tables(wanted, database),
            checksums=checksums,
            is_proposed=isinstance(wanted, Proposal),
            notes=chosen.notes,
            cautions=(*self._cautions(database), *chosen.cautions, *moment_cautions(unrepeatable)),
            unrepeatable=unrepeatable,
        )

    def _markers(self) -> Markers:
        """The run's, which has drawn its seed by now; without one (a staging alone) any will do."""
        return Markers.drawn(fresh_seed() if self._request.design.seed is None else self._request.design.seed)

    def _told_copied(self, done_bytes: int, total_bytes: int) -> None:
        detail = f"{self._original.file_name}, which is only read"
        self._observe(Phase("copy", detail, done_bytes // _MEGABYTE, -(-total_bytes // _MEGABYTE)))

    def _wanted(self, database: Database) -> Workload | Proposal:
        if self._request.work.workload is not None:
            return read_own_folder(Path(self._request.work.workload), database, DIALECT)
        if not database.rows:
            raise DatabaseFault(
                self._original.named, "its tables hold no rows, so there is nothing to read; or give a --workload"
            )
        return propose(database, DIALECT)

    def _with_keys(
        self,
        examiner: CopyExaminer,
        wanted: Workload | Proposal,
        database: Database,
        tables: Tables,
        checksums: Checksums,
    ) -> Checksums:
        """The checksums of the rows as they were read, and of the key tables, whose rows the rebuild must have left.

        Raises:
            UnsoundTwins: the rebuild changed rows.
        """
        self._observe(Phase("checksum", "the rows of the rebuilt copy"))
        rebuilt = examiner.checksums(tables + own_tables(wanted, database))
        changed = [table for table, found in checksums.items() if rebuilt[table] != found]
        if changed:
            raise UnsoundTwins(f"VACUUM changed rows of the copy: tables {', '.join(changed)}")
        return rebuilt

    def _settled(self, wanted: Workload | Proposal, layout: Layout, constants: Mapping[str, int]) -> Chosen:
        """Try every transaction on a scratch copy."""
        with self._scratch(layout, constants) as trier:
            named, title = self._original.named, self._original.file_name
            return choose(wanted, self._request.work.workload, named, title, trier, self._observe)

    @contextmanager
    def _scratch(self, layout: Layout, constants: Mapping[str, int]) -> Iterator[Trier]:
        """A scratch copy to try on, gone at the end."""
        scratch = self._folder.copy(self._path, "scratch")
        try:
            options = self._engine.open_options(str(scratch), _plain(layout), None)
            with Trier(self._engine, scratch, options, constants) as trier:
                yield trier
        finally:
            self._folder.remove(scratch)

    def _unrepeatable(
        self, workload: Workload, layout: Layout, constants: Mapping[str, int], tables: Tables
    ) -> tuple[str, ...]:
        """The tables that hold other rows when the same work is done a moment later.

        A trigger that stamps rows with the time is common; twins under it do the same work and differ all the same.
        """
        if not writing(workload):
            return ()
        self._observe(Phase("compare", "whether the same writes leave the same rows a moment later"))
        found = []
        for wait_seconds in (MOMENT_SECONDS, 0.0):
            with self._scratch(layout, constants) as trier:
                found.append(left_by_writes(workload, tables, trier))
            time.sleep(wait_seconds)
        return tuple(table for table, _ in tables if found[0][table] != found[1][table])

    def _cautions(self, database: Database) -> Iterator[str]:
        named, path = self._original.named, self._original.path
        if named.is_symlink():
            yield f"{named} is a symbolic link: what was read is {path}"
        if database.virtual_tables:
            yield (
                f"virtual tables are left as they are, and their rows are not compared:"
                f" {', '.join(database.virtual_tables)}"
            )
        if self._request.work.workload is None:
            yield PROPOSED_CAUTION


def _plain(layout: Layout) -> TwinSettings:
    return TwinSettings("none", layout.page_size, "off", "off", layout.reserved_bytes, 1, _TRY_CACHE_BYTES)
