"""What runs in a worker process of DuckDB: one twin, behind the load loop in Python.

Started as ``python -m tdelta.driver.duckdb.worker PARENT_PID``; how it is spoken to, `tdelta.driver.orders` says.
"""

from __future__ import annotations

import base64
import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tdelta.driver.duckdb.block_prices import block_prices
from tdelta.driver.duckdb.client import DuckdbClient, mark
from tdelta.driver.duckdb.database import Connection, Database, reading_sql
from tdelta.driver.duckdb.proof import page_costs
from tdelta.driver.duckdb.rows import write_files
from tdelta.driver.orders import Order, serve
from tdelta.driver.scripted.clients import ClientError, Noop
from tdelta.driver.scripted.loop import Report, Trial, run_trial
from tdelta.driver.scripted.programs import Mix, mix_of
from tdelta.driver.scripted.usage import cpu_seconds, since, spent, usage
from tdelta.engines.duckdb.engine import quoted
from tdelta.measure.caches import empty_page_cache

PROGRAM = "tdelta.driver.duckdb.worker"
_SQUEEZED_MIB = 48
_ROOM_MIB = 48
_MIB = 1 << 20


class Host:
    """The state of one worker: its twin, once it is open."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._database: Database | None = None
        self._clients: list[DuckdbClient] = []
        self._mix: Mix | None = None
        self._exposed: list[Connection] = []
        self._afterwards: list[str] = []

    def answer(self, order: Order) -> Order:
        """Carry out one order. What DuckDB answers becomes ``{"error": [kind, message]}``."""
        try:
            handler: Callable[[Order], Order] = getattr(self, f"do_{order['do']}")
            return {"ok": handler(order)}
        except ClientError as error:
            return {"error": [error.kind, error.message]}
        except OSError as error:
            return {"error": ["io", f"{error.filename or 'a file'}: {error.strerror}"]}
        except ValueError as error:
            return {"error": ["value", str(error)]}

    def request_stop(self) -> None:
        """Have a trial end after the operations it is at."""
        self._stop.set()

    def clear_stop(self) -> None:
        """Let trials run again."""
        self._stop.clear()

    def end(self) -> None:
        """Close what is open."""
        self.do_close({})

    def do_hello(self, _order: Order) -> Order:
        """Say who is there."""
        return {"pid": os.getpid()}

    def do_write_rows(self, order: Order) -> Order:
        """Make the rows of every table and write them into a file that DuckDB reads. Says how large the files are."""
        return dict(write_files(order["plan"], order["seed"], order["files"]))

    def do_open(self, order: Order) -> Order:
        """Attach (or make) the twin's file, with so many connections for the load."""
        self.do_close({})
        self._database = Database(order["options"])
        self._clients = [DuckdbClient(self._database.connect()) for _ in range(order.get("connections", 0))]
        return {"library": f"DuckDB {self._database.text('SELECT version()')}"}

    def do_digest(self, order: Order) -> Order:
        """Rows and checksum of the files of rows, before any database has them; tables are made in memory for that."""
        database = self._open()
        database.run(*order["tables_sql"])
        sums = {}
        for table, columns in order["tables"]:
            source = reading_sql(order["files"][table], columns, database.types(table))
            sums[table] = database.digest(f"({source})", columns)
        return sums

    def do_load(self, order: Order) -> Order:
        """Make the tables and fill them out of their files."""
        self._open().run(*order["tables_sql"])
        self._open().fill(order["tables"], order["files"])
        return {}

    def do_facts(self, order: Order) -> Order:
        """The first value of each query, by name."""
        return {name: self._open().text(sql) for name, sql in order["queries"].items()}

    def do_cipher(self, _order: Order) -> Order:
        """What DuckDB says of the file's encryption."""
        return dict(self._open().cipher())

    def do_checksums(self, order: Order) -> Order:
        """Row counts and order-independent checksums of tables."""
        return {table: self._open().digest(quoted(table), columns) for table, columns in order["tables"]}

    def do_prepare(self, order: Order) -> Order:
        """Compile the transactions."""
        self._mix = mix_of(order["transactions"], order["constants"], mark)
        return {}

    def do_trial(self, order: Order) -> Order:
        """Run one trial, and write what it left in the log into the file.

        In a cold one the file is attached anew before each operation, with nothing of it in any cache.
        """
        if self._mix is None or not self._clients:
            raise ValueError("a trial before its transactions are prepared")
        if order.get("turns") is not None or order["trial"].get("slices", 1) != 1:
            raise ValueError("trials on DuckDB are whole; found slices or turns")
        if order.get("is_cold") and len(self._clients) > 1:
            raise ValueError("one operation at a time can be cold; found more than one connection")
        before, apart = usage(), Counter[str]()
        cool = partial(self._cool, apart) if order.get("is_cold") else None
        report = run_trial(self._mix, Trial(**order["trial"]), self._clients, self._stop, cool)
        files = self._file_sizes()
        checkpoint_ns = self._checkpoint(report) if order.get("checkpoint", True) else 0
        used = {name: count - apart[name] for name, count in since(before).items()}
        extra = {"usage": used, "files": files, "checkpoint_ns": checkpoint_ns}
        return _told(report, extra)

    def do_step(self, order: Order) -> Order:
        """Make all rows anew out of their files, or rebuild what there is by some statements; says what that took."""
        database = self._open()

        def step() -> None:
            if order["load"] is not None:
                self.do_load(order["load"])
            database.run(*order["statements"])
            database.checkpoint()

        database.run(*order["before"])
        database.checkpoint()
        # A serial load is what one thread does; a second one would find nothing to do but spin, in some trials.
        with contextlib.nullcontext() if order["load"] is None else database.threads(order["load"]["threads"]):
            return {**spent(step), "files": self._file_sizes()}

    def do_loop_cost(self, order: Order) -> Order:
        """Run the transactions on a client that does nothing; scripts may fail on the rows it makes up."""
        mix = mix_of(order["transactions"], order["constants"], mark)
        trial = Trial(**order["trial"], stop_on_error=False)
        return _told(run_trial(mix, trial, [Noop()], self._stop), {})

    def do_expose(self, order: Order) -> Order:
        """Run statements on a connection of its own, and hold others on a second one, until concealed.

        With ``squeezes``, DuckDB gets so little memory meanwhile that what they make goes to temporary files.
        """
        database = self._open()
        self._afterwards = list(order["afterwards"])
        if order["squeezes"]:
            self._squeeze(database)
        for statements in (order["statements"], order["held"]):
            if statements:
                self._exposed.append(database.connect())
            for sql in statements:
                self._exposed[-1].run(sql)
        return {}

    def do_conceal(self, _order: Order) -> Order:
        """Let go of what is held, put the rows back, write the log into the file."""
        database = self._open()
        while self._exposed:
            connection = self._exposed.pop()
            with contextlib.suppress(ClientError):  # only what is held has a transaction open
                connection.run("ROLLBACK")
            database.drop(connection)
        database.run(*self._afterwards)
        self._afterwards = []
        if not database.is_read_only:
            database.checkpoint()
        return {}

    def do_prove(self, order: Order) -> Order:
        """Time a page cipher on two files of its own."""
        return page_costs(order["files"]["plain"], order["files"]["encrypted"])

    def do_price(self, order: Order) -> Order:
        """Time blocks of files of its own."""
        return {"passes": block_prices(order["files"], order["turns"])}

    def do_close(self, _order: Order) -> Order:
        """Close the twin's file."""
        self._exposed, self._clients = [], []
        if self._database is not None:
            self._database.close()
            self._database = None
        return {}

    def _cool(self, apart: Counter[str]) -> None:
        """Attach the file anew; what that used is added to ``apart``, since it is no part of any operation."""
        before = usage()
        self._open().cool(empty_page_cache)
        apart.update(since(before))

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

    def _checkpoint(self, report: Report) -> int:
        """Move what the trial left in the log: its own cost, by the recorded operations' share. Returns ns."""
        wal = self._log()
        if not (wal.exists() and wal.stat().st_size):
            return 0
        outcome = report.outcome
        began_ns, before = time.monotonic_ns(), cpu_seconds()
        self._open().checkpoint()
        after = cpu_seconds()
        share = outcome.operations / max(1, outcome.executed_operations)
        outcome.cpu_user_seconds += share * (after[0] - before[0])
        outcome.cpu_system_seconds += share * (after[1] - before[1])
        return time.monotonic_ns() - began_ns

    def _log(self) -> Path:
        return Path(f"{self._open().path}.wal")

    def _file_sizes(self) -> dict[str, int]:
        sizes = {"database": self._open().path, "wal": self._log()}
        return {name: path.stat().st_size if path.exists() else 0 for name, path in sizes.items()}

    def _open(self) -> Database:
        if self._database is None:
            raise ValueError("no twin is open")
        return self._database


def _told(report: Report, extra: Order) -> Order:
    coded = {name: base64.b64encode(payload).decode() for name, payload in report.histograms.items()}
    spans = {name: list(totals) for name, totals in report.spans.items()}
    return {"report": {"outcome": report.outcome.as_json(), "spans": spans, "extra": extra}, "histograms": coded}


if __name__ == "__main__":
    serve(Host())
