"""Stages a user's dump for a run: restored into a private plain server, described, given its workload.

What `tdelta.session.database` does with a SQLite file, on a server. Every kind of twin then restores the dump itself,
since only so are its rows encrypted as its server encrypts; its rows must be those that the first restore gave.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tdelta.design import fresh_seed
from tdelta.driver import Checksums, RestoreJob, TwinFolder, default_base, sweep
from tdelta.driver.markers import require_no_markers
from tdelta.driver.protocol import Tables
from tdelta.engines.registry import profile
from tdelta.engines.servers import RestorableEngine
from tdelta.engines.shared.describing import Described
from tdelta.engines.shared.private.driver import PrivateDriver
from tdelta.engines.shared.private.restore import is_strict
from tdelta.engines.shared.private.restored import NAMED, RestoredServer
from tdelta.errors import DatabaseFault, TdeltaError
from tdelta.evidence import Markers
from tdelta.measure import require_writable
from tdelta.records import DatabaseFacts, Phase
from tdelta.session.planning import check, engine_of
from tdelta.session.request import RunRequest
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
from tdelta.workloads import Workload
from tdelta.workloads.database import Database
from tdelta.workloads.keys import key_sql, key_variables
from tdelta.workloads.own_folder import read_own_folder
from tdelta.workloads.proposal import Proposal, propose

_FILE = "restored dump"
_NOT_STRICT = (
    "--restore: without bash only the last part of a pipe is seen to fail, so a dump that ended early may pass for a"
    " whole one"
)


@dataclass(frozen=True, slots=True)
class RestoredSource:
    """What a run on a restored dump starts from; see `tdelta.session.source.Source`.

    ``statements`` make what tdelta adds on every kind of twin; ``remove`` ends the server that was restored into first.
    """

    command: str
    database: Database
    workload: Workload
    constants: Mapping[str, int]
    tables: Tables
    checksums: Checksums
    statements: tuple[str, ...]
    needles: tuple[bytes, ...]
    size_bytes: int
    page_size: int
    is_proposed: bool
    notes: tuple[str, ...]
    cautions: tuple[str, ...]
    unrepeatable: tuple[str, ...]
    load_seconds: float
    remove: Callable[[], None] = field(compare=False)

    def facts(self) -> DatabaseFacts:
        """What a report may tell of it."""
        return DatabaseFacts(
            file=_FILE,
            size_bytes=self.size_bytes,
            page_size=self.page_size,
            tables=len(self.database.tables),
            rows=self.database.rows,
            proposed=self.is_proposed,
            restored=True,
        )

    def job(self) -> RestoreJob:
        """How twins get their rows."""
        return RestoreJob(self.command, self.statements, self.tables, self.checksums, self.needles)

    def let_go(self) -> None:
        """End the first server; twins have theirs."""
        self.remove()

    def fingerprint(self) -> str:
        """A digest of the work: of the rows, and the scripts with their variables."""
        rows = {table: list(found) for table, found in self.checksums.items()}
        values = [rows, self.workload.scripts(), dict(self.constants)]
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()

    def as_json(self) -> dict[str, object]:
        """The workload on it, as JSON values to be kept with the run."""
        return {
            "workload": self.workload.scripts(),
            "keys": {key.name: key.table for key in self.workload.keys},
            "variables": dict(self.constants),
            "notes": list(self.notes),
        }


@contextmanager
def restored(request: RunRequest, run_id: str, observe: Observer) -> Iterator[RestoredSource]:
    """A user's dump made ready for a run, while the block lasts.

    Args:
        request: what was asked.
        run_id: names the folder.
        observe: told how far it is.

    Raises:
        UsageError: what was asked cannot be done; every fault that can be seen is named before anything is restored.
        RestoreFault: the command failed.
        DatabaseFault: what it restored cannot be used as it is.
        WorkloadError: the workload does not fit it.
    """
    check(request)
    base = request.where.directory or default_base()
    sweep(base)
    require_writable(base)
    with (
        TwinFolder(base, f"{run_id}-original") as folder,
        RestoredServer(_server_engine(request), folder) as server,
    ):
        yield _Staging(request, server, observe).run()


def _server_engine(request: RunRequest) -> RestorableEngine:
    engine = engine_of(request)
    if not isinstance(engine, PrivateDriver) or not isinstance(engine.engine, RestorableEngine):  # refused of others
        raise TdeltaError(f"a dump cannot be restored into {engine.product}")
    return engine.engine


class _Staging:
    """One staging; `run` is its stages."""

    def __init__(self, request: RunRequest, server: RestoredServer, observe: Observer) -> None:
        self._request = request
        self._server = server
        self._observe = observe
        self._dialect = profile(request.tested.engine).dialect

    def run(self) -> RestoredSource:
        """Restore, describe, choose what to run, add what that needs, and try it."""
        request, server = self._request, self._server
        self._observe(Phase("restore", "the dump, into a plain server of tdelta's"))
        began = time.monotonic()
        server.restore(str(request.tested.restore))
        load_seconds = time.monotonic() - began
        self._observe(Phase("examine", "tables, keys, columns and sizes"))
        described = server.describe()
        database = described.database
        wanted = self._wanted(database)
        require_no_markers(database.names)
        markers = Markers.drawn(fresh_seed() if request.design.seed is None else request.design.seed)
        keys = (sql for key in wanted.keys for sql in key_sql(key, database, self._dialect))
        statements = (*keys, *markers.table_sql(self._dialect))
        server.add(statements)
        tables = (*tables_of(database), *own_tables(wanted, database))
        self._observe(Phase("checksum", "the rows of the restored dump"))
        checksums = server.checksums(tables)
        size_bytes, page_size = server.sizes()
        server.rest()
        constants = {**database.variables(), **key_variables(wanted.keys, database)}
        with server.scratch(constants) as trier:
            title = "the restored dump"
            chosen = choose(wanted, request.work.workload, NAMED, title, trier, self._observe)
        unrepeatable = self._unrepeatable(chosen.workload, constants, tables)
        return RestoredSource(
            command=str(request.tested.restore),
            database=database,
            workload=chosen.workload,
            constants=constants,
            tables=tables,
            checksums=checksums,
            statements=statements,
            needles=markers.rows,
            size_bytes=size_bytes,
            page_size=page_size,
            is_proposed=isinstance(wanted, Proposal),
            notes=(*described.left_out, *chosen.notes),
            cautions=tuple(self._cautions(described, chosen, unrepeatable)),
            unrepeatable=unrepeatable,
            load_seconds=load_seconds,
            remove=server.end,
        )

    def _wanted(self, database: Database) -> Workload | Proposal:
        if self._request.work.workload is not None:
            return read_own_folder(Path(self._request.work.workload), database, self._dialect)
        if not database.rows:
            raise DatabaseFault(NAMED, "its tables hold no rows, so there is nothing to read; or give a --workload")
        return propose(database, self._dialect)

    def _unrepeatable(self, workload: Workload, constants: Mapping[str, int], tables: Tables) -> tuple[str, ...]:
        """The tables that hold other rows when the same work is done a moment later, as by a trigger that stamps."""
        if not writing(workload):
            return ()
        self._observe(Phase("compare", "whether the same writes leave the same rows a moment later"))
        found = []
        for wait_seconds in (MOMENT_SECONDS, 0.0):
            with self._server.scratch(constants) as trier:
                found.append(left_by_writes(workload, tables, trier))
            time.sleep(wait_seconds)
        return tuple(table for table, _ in tables if found[0][table] != found[1][table])

    def _cautions(self, described: Described, chosen: Chosen, unrepeatable: tuple[str, ...]) -> Iterator[str]:
        yield from described.left_out
        yield from chosen.cautions
        yield from moment_cautions(unrepeatable)
        if self._request.work.workload is None:
            yield PROPOSED_CAUTION
        if not is_strict():
            yield _NOT_STRICT
