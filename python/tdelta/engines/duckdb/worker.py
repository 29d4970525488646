"""The worker process of DuckDB: one twin, with its driver under the load loop.

Started as ``python -m tdelta.engines.duckdb.worker PARENT_PID`` (see `tdelta.processes.rpc`).
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tdelta import _native
from tdelta.engines.duckdb.database import BLOCK_BYTES, OF_DATABASE, Database, reading_sql, taken, write_files
from tdelta.engines.embedded.prices import PricedFile, PricingHost
from tdelta.engines.embedded.sql import quoted
from tdelta.measure.caches import empty_page_cache
from tdelta.measure.pressure import spent
from tdelta.processes.dbapi import ClientError, explained, loop_cost
from tdelta.processes.rpc import Reply, Request, serve
from tdelta.processes.worker_host import NoTwin, TwinHost

_ROWS = 1 << 20
_PAGE_BYTES = 4096

_NUMBERS = f"CREATE TABLE memory.main.numbers AS SELECT hash(i) AS body FROM range({_ROWS}) AS numbers(i)"
_MAKE = "CREATE OR REPLACE TABLE page AS SELECT body FROM memory.main.numbers"
_MAKE_IN_MEMORY = "CREATE OR REPLACE TABLE memory.main.page AS SELECT body FROM memory.main.numbers"


class PricedBlocks(PricedFile):
    """Blocks of one file.

    Before each scan the file is detached and attached again, so that every block is read and decrypted. The numbers in
    it are random and cannot be compressed. For writing, a table is created from numbers in memory, with compression
    disabled, and a checkpoint writes it to the file.
    """

    proof_scans = 11
    units_in_a_page = _PAGE_BYTES / BLOCK_BYTES
    units, count, unit_bytes = "blocks", _ROWS * 8 / BLOCK_BYTES, BLOCK_BYTES
    clock_ns = staticmethod(time.process_time_ns)
    least, most = 0.75, 1.25

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._database = Database(options)
        try:
            self._database.run("SET force_compression = 'uncompressed'", _NUMBERS)
            self._write()
        except BaseException:
            self.close()
            raise

    def found(self) -> str:
        return self._database.text("SELECT bit_xor(body) FROM page")

    def write_us(self) -> float:
        return self.us_each(self._write, "syscall_written_bytes")

    def read_us(self) -> float:
        self._database.cool(lambda _folder: None)
        return self.us_each(self.found, "syscall_read_bytes")

    def cached_us(self) -> float:
        return self.us_each(self.found, None)

    def in_memory_us(self) -> float:
        return self.us_each(lambda: self._database.run(_MAKE_IN_MEMORY), None)

    def close(self) -> None:
        self._database.close()

    def _write(self) -> None:
        self._database.run(_MAKE)
        self._database.checkpoint()


STYLE = {"parameters": "dollar", "is_spread": True}
"""``$1``, which may come more than once; transactions are statements; queries run in threads of DuckDB's.

The driver has no prepared statement: each execution is parsed and planned, as it is for whoever uses DuckDB so.
"""


def _connect(database: Database, old: object) -> Any:
    if old is not None:
        raise ClientError("script", r"\connect: DuckDB runs within the process, which connects to nothing")
    return database.connect()


_SQUEEZED_MIB = 48
_ROOM_MIB = 48
_MIB = 1 << 20


class Host(PricingHost, TwinHost):
    def __init__(self) -> None:
        super().__init__()
        self._database: Database | None = None
        self._exposed: list[Any] = []
        self._afterwards: list[str] = []
        self._beside: Any = None

    def now_aside(self, request: Request) -> None:
        """Run statements on a connection of their own, in a thread; what came of them is written to a file."""
        threading.Thread(target=self._run_aside, args=(request,), daemon=True).start()

    def _run_aside(self, request: Request) -> None:
        said: Reply = {}
        try:
            database = self._open()
            self._beside = database.connect()
            try:
                database.run(*request["statements"], cursor=self._beside)
            finally:
                cursor, self._beside = self._beside, None
                database.drop(cursor)
        except Exception as error:  # whatever it is, whoever waits for the file has to know
            said = {"error": self.refused(error) or ["sql", repr(error)]}
        target = Path(request["said"])
        part = target.with_suffix(".part")
        part.write_text(json.dumps(said), encoding="utf-8")
        part.rename(target)

    def request_stop(self) -> None:
        super().request_stop()
        if (cursor := self._beside) is not None:
            cursor.interrupt()

    def refused(self, error: Exception) -> list[str] | None:
        return list(explained(error)[:2]) if isinstance(error, (ClientError, OSError)) else super().refused(error)

    def do_write_rows(self, request: Request) -> Reply:
        """Make the rows of every table and write them into a file that DuckDB reads. Says how large the files are."""
        return dict(write_files(request["plan"], request["seed"], request["files"]))

    def do_open(self, request: Request) -> Reply:
        self.do_close({})
        self._database = database = Database(request["options"])
        if connections := request.get("connections", 0):
            self.twin = _native.DbApiTwin(
                json.dumps(STYLE),
                partial(_connect, database),
                connections,
                database.explained,
                cool=partial(database.cool, empty_page_cache),
                files=database.file_sizes,
                settle=database.settle,
            )
        return {"library": self.library()}

    def library(self) -> str:
        return f"DuckDB {self._open().text('SELECT version()')}"

    def do_digest(self, request: Request) -> Reply:
        """Rows and checksum of the files of rows, before any database has them; tables are made in memory for that."""
        database = self._open()
        database.run(*request["tables_sql"])
        sums = {}
        for table, columns in request["tables"]:
            source = reading_sql(request["files"][table], columns, database.types(table))
            sums[table] = database.digest(f"({source})", columns)
        return sums

    def do_load(self, request: Request) -> Reply:
        self._open().run(*request["tables_sql"])
        self._open().fill(request["tables"], request["files"])
        return {}

    def do_facts(self, request: Request) -> Reply:
        return {name: self._open().text(sql) for name, sql in request["queries"].items()}

    def do_checksums(self, request: Request) -> Reply:
        return {table: self._open().digest(quoted(table), columns) for table, columns in request["tables"]}

    def do_trial(self, request: Request) -> Reply:
        """Run one trial, and write what it left in the log into the file.

        In a cold one the file is attached anew before each operation, with nothing of it in any cache.
        """
        return super().do_trial({**request, "trial": request["trial"] | {"cold": request.get("is_cold", False)}})

    def do_step(self, request: Request) -> Reply:
        """Make all rows anew out of their files, or rebuild what there is by some statements; says what that took."""
        database = self._open()

        def step() -> None:
            if request["load"] is not None:
                self.do_load(request["load"])
            database.run(*request["statements"])
            database.checkpoint()

        database.run(*request["before"])
        database.checkpoint()
        # A serial load is what one thread does; a second one would find nothing to do but spin, in some trials.
        with contextlib.nullcontext() if request["load"] is None else database.threads(request["load"]["threads"]):
            return {**spent(step), "files": database.file_sizes()}

    def do_shut(self, _request: Request) -> Reply:
        self._open().detach()
        return {}

    def do_reopen(self, request: Request) -> Reply:
        database = self._open()
        answers: list[str] = []

        def attached() -> None:
            database.attach()
            answers.append(database.text(request["sql"]))

        return {**spent(attached), "text": answers[0]}

    def do_resume(self, _request: Request) -> Reply:
        """Let go of other files, attach the twin's where it is not, and have its connections use it."""
        database = self._open()
        database.let_go()
        if not database.rows(f"SELECT 1 {OF_DATABASE}"):
            database.attach()
        database.rejoin()
        return {}

    def do_run(self, request: Request) -> Reply:
        self._open().run(*request["statements"])
        return {}

    def do_take(self, request: Request) -> Reply:
        database = self._open()
        database.take(request["options"])
        return {"text": database.text(f"SELECT count(*) FROM {taken(request['table'])}")}

    def do_copy(self, request: Request) -> Reply:
        database = self._open()
        return spent(lambda: database.copy(request["options"]))

    def do_loop_cost(self, request: Request) -> Reply:
        return loop_cost(STYLE, "duckdb", request)

    def do_expose(self, request: Request) -> Reply:
        """Run statements on a connection of its own, and hold others on a second one, until concealed.

        With ``squeezes``, DuckDB gets so little memory meanwhile that what they make goes to temporary files.
        """
        database = self._open()
        self._afterwards = list(request["afterwards"])
        if request["squeezes"]:
            self._squeeze(database)
        for statements in (request["statements"], request["held"]):
            if statements:
                self._exposed.append(database.connect())
                database.run(*statements, cursor=self._exposed[-1])
        return {}

    def do_conceal(self, _request: Request) -> Reply:
        database = self._open()
        while self._exposed:
            cursor = self._exposed.pop()
            with contextlib.suppress(ClientError):  # only what is held has a transaction open
                database.run("ROLLBACK", cursor=cursor)
            database.drop(cursor)
        database.run(*self._afterwards)
        self._afterwards = []
        if not database.is_read_only:
            database.checkpoint()
        return {}

    def priced(self, options: Request) -> PricedBlocks:
        return PricedBlocks(options)

    def do_close(self, request: Request) -> Reply:
        self._exposed = []
        super().do_close(request)
        if self._database is not None:
            self._database.close()
            self._database = None
        return {}

    def _squeeze(self, database: Database) -> None:
        """One thread and as little memory as DuckDB agrees to, and what was in force again afterwards."""
        before = {name: database.text(f"SELECT current_setting('{name}')") for name in ("threads", "memory_limit")}
        self._afterwards += [f"SET {name} = '{value}'" for name, value in before.items()]
        database.run("SET threads = 1")
        used = database.text("SELECT coalesce(sum(memory_usage_bytes), 0) FROM duckdb_memory()")
        try:
            database.run(f"SET memory_limit = '{_SQUEEZED_MIB}MiB'")
        except ClientError:  # there is more than that which cannot be put away
            database.run(f"SET memory_limit = '{int(used) // _MIB + _ROOM_MIB}MiB'")

    def _open(self) -> Database:
        if self._database is None:
            raise NoTwin
        return self._database


if __name__ == "__main__":
    serve(Host())
