"""Stages a user's database for a run: copied by plain reads, recovered and checked in the copy, given its workload.

The original is read once and never opened as a database (`tdelta.driver.staging`). Everything here takes place in a
folder of the run's own, which is gone at its end.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tdelta.design import fresh_seed
from tdelta.driver import Checksums, TrialJob, TwinFolder, find_library, sweep
from tdelta.driver.examining import CopyExaminer, Trier
from tdelta.driver.exposure import require_no_markers
from tdelta.driver.protocol import Tables
from tdelta.driver.staging import Original, copy_original, find_original
from tdelta.engines import Layout, TwinSettings, engine
from tdelta.errors import DatabaseFault, UnsoundTwins, UsageError, WorkloadError
from tdelta.evidence import COLUMNS, TABLE, Markers
from tdelta.measure import require_space, require_writable
from tdelta.records import Event, Phase
from tdelta.session.planning import check, default_base
from tdelta.session.request import RunRequest
from tdelta.session.source import DatabaseSource
from tdelta.store import default_path
from tdelta.workloads import Workload
from tdelta.workloads.database import Database, DatabaseTable
from tdelta.workloads.keys import key_columns, key_sql, key_table_name, key_variables
from tdelta.workloads.own_folder import read_own_folder
from tdelta.workloads.proposal import Choice, Kind, Proposal, propose, settle

Observer = Callable[[Event], None]

_COPIES = 3
"""Files as large as the original that staging takes at once: the copy, its rebuild, and the copy that is tried on."""

_TRIES = {Kind.READ: 100, Kind.RANGE: 50, Kind.UPDATE: 1000, Kind.INSERT: 1000}
"""How often a proposed transaction is tried, with other rows each time: a trigger may refuse few rows only."""

_REPEATED = 100
_MOMENT_SECONDS = 1.1
"""Longer than the second in which most clocks of SQL count."""

_TRY_SECONDS = 60.0
_TRY_SEED = 20261122
_TRY_STREAM = 1 << 42
_TRY_CACHE_BYTES = 64_000_000
_MEGABYTE = 1_000_000
_PLACE = re.compile(r"^(\w+), line (\d+): ")


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
    if request.database is None:
        yield None
        return
    check(request)
    _require_other_than_store(request.database, request)
    original = find_original(request.database)
    base = request.directory or default_base()
    _require_room(base, original)
    with TwinFolder(base, f"{run_id}-original") as folder:
        yield _Staging(request, original, folder, observe).run()


def _require_other_than_store(database: Path, request: RunRequest) -> None:
    """To read and close the store's file, even once, would drop the locks that this process holds on it."""
    store = request.store or default_path()
    if store.exists() and database.exists() and store.samefile(database):
        raise UsageError(f"--database {database}: this run keeps its results in it; give a copy, or use --store")


def _require_room(base: Path, original: Original) -> None:
    sweep(base)
    require_writable(base)
    needed = _COPIES * original.size_bytes
    require_space(base, needed, remedy="or name another folder (--dir)")


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A workload, and what was left out of it."""

    workload: Workload
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()


class _Staging:
    """One staging; `run` is its stages."""

    def __init__(self, request: RunRequest, original: Original, folder: TwinFolder, observe: Observer) -> None:
        self._request = request
        self._original = original
        self._folder = folder
        self._observe = observe
        self._engine = engine(request.engine, find_library(request.library))
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
            tables = _tables(database)
            self._observe(Phase("checksum", "the rows of the copy"))
            checksums = examiner.checksums(tables)
            wanted = self._wanted(database)
            require_no_markers(database.names)
            examiner.add(
                [*(sql for key in wanted.keys for sql in key_sql(key, database)), *self._markers().table_sql()]
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
            tables=tables + _own_tables(wanted, database),
            checksums=checksums,
            is_proposed=isinstance(wanted, Proposal),
            notes=chosen.notes,
            cautions=(*self._cautions(database), *chosen.cautions, *_moment_cautions(unrepeatable)),
            unrepeatable=unrepeatable,
        )

    def _markers(self) -> Markers:
        """The run's, which has drawn its seed by now; without one (a staging alone) any will do."""
        return Markers.drawn(fresh_seed() if self._request.seed is None else self._request.seed)

    def _told_copied(self, done_bytes: int, total_bytes: int) -> None:
        detail = f"{self._original.file_name}, which is only read"
        self._observe(Phase("copy", detail, done_bytes // _MEGABYTE, -(-total_bytes // _MEGABYTE)))

    def _wanted(self, database: Database) -> Workload | Proposal:
        if self._request.workload is not None:
            return read_own_folder(Path(self._request.workload), database)
        if not database.rows:
            raise DatabaseFault(
                self._original.named, "its tables hold no rows, so there is nothing to read; or give a --workload"
            )
        return propose(database)

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
        rebuilt = examiner.checksums(tables + _own_tables(wanted, database))
        changed = [table for table, found in checksums.items() if rebuilt[table] != found]
        if changed:
            raise UnsoundTwins(f"VACUUM changed rows of the copy: tables {', '.join(changed)}")
        return rebuilt

    def _settled(self, wanted: Workload | Proposal, layout: Layout, constants: Mapping[str, int]) -> _Chosen:
        """Try every transaction on a scratch copy.

        Raises:
            WorkloadError: statements of the user's that the database does not take, all of them.
            DatabaseFault: nothing that was proposed works.
        """
        with self._scratch(layout, constants) as trier:
            return self._proposed(wanted, trier) if isinstance(wanted, Proposal) else self._given(wanted, trier)

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
        writing = [transaction for transaction in workload.transactions if transaction.writes]
        if not writing:
            return ()
        self._observe(Phase("compare", "whether the same writes leave the same rows a moment later"))
        found = []
        for wait_seconds in (_MOMENT_SECONDS, 0.0):
            with self._scratch(layout, constants) as trier:
                for t in writing:
                    trier.said({"name": t.name, "weight": 1.0, "text": t.text}, _trial(_REPEATED))
                found.append(trier.checksums(tables))
            time.sleep(wait_seconds)
        return tuple(table for table, _ in tables if found[0][table] != found[1][table])

    def _given(self, workload: Workload, trier: Trier) -> _Chosen:
        faults = []
        for done, (name, script) in enumerate(workload.scripts().items()):
            self._observe(Phase("prepare", "each transaction on a scratch copy", done, len(workload.transactions)))
            if said := trier.said({"name": name, "weight": 1.0, "text": script["text"]}, None):
                faults.append(_PLACE.sub(r"\1.sql:\2: ", said, count=1))
        if faults:
            raise WorkloadError(str(self._request.workload), faults)
        return _Chosen(workload)

    def _proposed(self, proposal: Proposal, trier: Trier) -> _Chosen:
        works: dict[str, str] = {}
        cautions = []
        for done, choice in enumerate(proposal.choices):
            self._observe(Phase("propose", "trying each transaction on a scratch copy", done, len(proposal.choices)))
            script, said = _first_that_works(choice, trier)
            if script is not None:
                works[choice.name] = script
            else:
                cautions.append(f"{choice.name} was proposed and left out, because it failed when it was tried: {said}")
        if not works:
            raise DatabaseFault(
                self._original.named,
                "no workload can be proposed: "
                + "; ".join((*cautions, *proposal.notes) or ("no table has rows and a key",))
                + "; give one of your own with --workload",
            )
        workload = settle(proposal, works, self._original.file_name)
        return _Chosen(workload, (*proposal.notes, *cautions), tuple(cautions))

    def _cautions(self, database: Database) -> Iterator[str]:
        named, path = self._original.named, self._original.path
        if named.is_symlink():
            yield f"{named} is a symbolic link: what was read is {path}"
        if database.virtual_tables:
            yield (
                f"virtual tables are left as they are, and their rows are not compared:"
                f" {', '.join(database.virtual_tables)}"
            )
        if self._request.workload is None:
            yield (
                "the workload is tdelta's proposal from the schema alone; your application's own mix would say more"
                " (--write-workload, --workload)"
            )


def _moment_cautions(unrepeatable: tuple[str, ...]) -> Iterator[str]:
    if unrepeatable:
        yield (
            "a trigger or a default writes what depends on the clock or on chance, so these tables are not compared"
            f" after the trials: {', '.join(unrepeatable)}"
        )


def _first_that_works(choice: Choice, trier: Trier) -> tuple[str | None, str | None]:
    """The first script of a choice that works; else None and what was said against the first."""
    said: list[str] = []
    for text in choice.scripts:
        found = trier.said({"name": choice.name, "weight": 1.0, "text": text}, _trial(_TRIES[choice.kind]))
        if found is None:
            return text, None
        said.append(found)
    return None, said[0]


def _trial(operations: int) -> TrialJob:
    return TrialJob(_TRY_SEED, _TRY_STREAM, operations, first_op=1, deadline_seconds=_TRY_SECONDS)


def _tables(database: Database) -> Tables:
    return tuple((table.name, table.stored_columns) for table in database.tables)


def _own_tables(wanted: Workload | Proposal, database: Database) -> Tables:
    """What tdelta adds to the copy: tables of sampled keys, and the markers that a search for plaintext looks for."""
    return (*_key_tables(wanted, database), (TABLE, COLUMNS))


def _key_tables(wanted: Workload | Proposal, database: Database) -> Tables:
    return tuple((key_table_name(key.name), _sampled_columns(database.table(key.table))) for key in wanted.keys)


def _sampled_columns(table: DatabaseTable | None) -> tuple[str, ...]:
    key = None if table is None else table.key
    return ("n",) if key is None else ("n", *key_columns(key))


def _plain(layout: Layout) -> TwinSettings:
    return TwinSettings("none", layout.page_size, "off", "off", layout.reserved_bytes, 1, _TRY_CACHE_BYTES)
