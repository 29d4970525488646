"""The worker process that reaches a server by a Python driver.

It takes the orders of `tdelta.processes.worker`. One connection more than the load's is for what is asked beside it, as
in tdelta's own client. Where the server's processes are on this machine, their CPU time and bytes are read around a
whole trial; what this process itself used is the client's, and so is the memory that it took at the most.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tdelta import _native
from tdelta.engines.server.dbapi import CursorProxy, Driver
from tdelta.engines.server.redacting import Recorder, RecordingCursor, recorder
from tdelta.measure.pressure import PressureMeter, spent
from tdelta.processes.dbapi import ClientError, differing, loop_cost
from tdelta.processes.rpc import Reply, Request
from tdelta.processes.worker import Host
from tdelta.processes.worker_host import TwinHost

_SECOND_NS = 1_000_000_000
_ALL_ROWS = 1 << 62


@dataclass(frozen=True, slots=True)
class _Begun:
    """The values read when a trial, a load or a rebuild began."""

    counters: Mapping[str, int]
    accounted: float
    used: Mapping[str, float]


class DrivenHost(Host):
    def __init__(self, driver: Driver) -> None:
        super().__init__()
        self.driver = driver
        self._options: Mapping[str, Any] = {}
        self._asking: Any = None
        self._recorder: Recorder | None = None
        self._observed: Mapping[str, Any] = {}
        self._tracing: Mapping[str, Any] = {}
        self._traced_session = ""
        self._traced_statements = ""
        self._loads_directly = False
        self._external: tuple[_Begun, PressureMeter, _native.Watch] | None = None

    def refused(self, error: Exception) -> list[str] | None:
        if (said := super().refused(error)) is not None:
            return said
        kind, message, _ = self.driver.explained(error)
        return None if kind == "defect" else [kind, message]

    def do_client(self, _request: Request) -> Reply:
        return {"client": f"{self.driver.described}, by the DB-API client"}

    def do_connect(self, request: Request) -> Reply:
        """Connect to a server, on so many connections for the load and one beside them; what was open is closed."""
        self.do_close({})
        self._options = request["options"]
        self._recorder = recorder(self._options)
        self._asking = self._cursor(None)
        self.twin = self._load_twin(request["connections"])
        return {}

    def do_observe(self, request: Request) -> Reply:
        self._observed = request["observed"]
        return {}

    def do_run(self, request: Request) -> Reply:
        """Run statements one after another, which may take as long as they take; what they answer is dropped."""
        with self._unlimited():
            for statement in request["statements"]:
                self._run(statement)
        return {}

    def do_rows(self, request: Request) -> Reply:
        """The names of the columns of what one statement answers, and rows of texts."""
        columns, rows = self._answer(request["sql"])
        if self._recorder is not None:
            self._recorder.asked(request["sql"], columns, rows)
        return {"columns": columns, "rows": rows}

    def do_load(self, request: Request) -> Reply:
        """Make the tables, fill them, build the indexes; with names as this server has them."""
        with self._renamed():
            return super().do_load(request)

    def do_checksums(self, request: Request) -> Reply:
        """Row counts and checksums of tables; with names as this server has them."""
        with self._renamed():
            return super().do_checksums(request)

    def do_prepare(self, request: Request) -> Reply:
        return super().do_prepare(self._written(request))

    def do_trial(self, request: Request) -> Reply:
        begun = self._begun()
        answer = super().do_trial(request)
        grown, counters = self._since(begun)
        outcome = answer["outcome"]
        client = {f"client_{name}": outcome[name] for name in ("cpu_user_seconds", "cpu_system_seconds")}
        share = outcome["operations"] / max(1, outcome["total_operations"])
        outcome |= {name: grown.pop(name) * share for name in ("cpu_user_seconds", "cpu_system_seconds")}
        usage = {name: round(amount) for name, amount in grown.items()}
        answer["extra"] = {**client, "usage": usage, "counters": counters}
        return answer

    def do_trace(self, request: Request) -> Reply:
        from tdelta.engines.server.sessions import literal  # not earlier: most workers trace nothing

        self._tracing, self._traced_session = request["tracing"], ""
        ids = (
            self.do_rows({"sql": request["tracing"]["statements"]})["rows"]
            if "statements" in request["tracing"]
            else []
        )
        self._traced_statements = ", ".join(literal(str(row[0])) for row in ids) or "NULL"
        return TwinHost.do_trace(self, request)

    def do_step(self, request: Request) -> Reply:
        """Make all rows anew, or run some statements; they may take as long as they take.

        Rows are loaded past the server's SQL where the driver can and nothing else is asked.
        """
        self._loads_directly = self.driver.direct is not None and request.get("load_by", "direct") == "direct"
        try:
            with self._unlimited():
                if "folder" in request:
                    return self._load_by_program(request["load"], Path(request["folder"]))
                return super().do_step(request)
        finally:
            self._loads_directly = False

    def do_write_rows(self, request: Request) -> Reply:
        """Write the rows of a load into files, once a run."""
        load, plan = request["load"], json.dumps(request["load"]["plan"])
        for name in _in_files(load["plan"]):
            if not (rows := Path(request["folder"]) / f"{name}.csv").exists():
                part = rows.with_suffix(".part")  # one that was cut is not taken for whole
                _native.write_csv(plan, name, load["seed"], load["threads"], part)
                part.replace(rows)
        return {}

    def _load_by_program(self, load: Mapping[str, Any], folder: Path) -> Reply:
        """Make the tables, and have the vendor's program fill those that a file can have: the time is its own account.

        Bytes come by the driver: in a file they would be text.
        """
        if self.driver.program is None:
            raise ValueError("a driver without a program that loads")
        tables, program = _in_files(load["plan"]), partial(self.driver.program, self._open(), self._options)
        others = [table for table in load["plan"]["tables"] if table["name"] not in tables]
        self.do_load({**load, "plan": {**load["plan"], "tables": others}, "indexes": []})
        loads = [program(name, columns, folder / f"{name}.csv") for name, columns in tables.items()]
        answer = spent(lambda: self.do_run({"statements": load["indexes"]}))
        answer["elapsed_ns"] += round(sum(one.elapsed_seconds for one in loads) * _SECOND_NS)
        answer["usage"]["cpu_user_seconds"] += sum(one.cpu_seconds for one in loads)
        return answer

    def do_begin_external_load(self, _request: Request) -> Reply:
        """Take note of what the server used so far; a load or rebuild begins."""
        watch = _native.Watch(self._observed.get("watch", []))
        self._external = self._begun(), PressureMeter(), watch
        return {}

    def do_end_external_load(self, _request: Request) -> Reply:
        """Resources that the server used since; nothing brings a user's server to rest."""
        if self._external is None:
            raise ValueError("the end of a step that was not begun")
        (begun, pressure, watch), self._external = self._external, None
        grown, counters = self._since(begun)
        return {
            "usage": {name: amount if name.startswith("cpu_") else round(amount) for name, amount in grown.items()},
            "counters": counters,
            "pressure": pressure.stop(),
            "run_delay_ns": None,
            "standstill": watch.end(),
        }

    def do_loop_cost(self, request: Request) -> Reply:
        """Run the transactions on a client that does nothing; scripts may fail on the rows it makes up."""
        return loop_cost(self.driver.style, self.driver.dialect, self._written(request))

    def do_close(self, request: Request) -> Reply:
        super().do_close(request)
        if self._asking is not None:
            with contextlib.suppress(Exception):  # a driver may say that the server has gone already
                self._asking.connection.close()
            self._asking = None
        return {}

    def _load_twin(
        self, connections: int, wrapped: Callable[[Any], Any] = lambda cursor: cursor, **style: object
    ) -> Any:
        return _native.DbApiTwin(
            json.dumps({**self.driver.style, **style}),
            lambda old: wrapped(self._loading(old)),
            max(1, connections),
            self.driver.explained,
            meter=self._meters,
        )

    def _meters(self, traced: Any) -> dict[str, int]:
        tracing = self._tracing
        if not self._traced_session and (query := tracing.get("session") or tracing.get("thread")):
            traced.execute(query)
            self._traced_session = str(traced.fetchall()[0][0])
        stands = {"{session}": self._traced_session, "{statements}": self._traced_statements}
        found = self._counted(_filled(query, stands) for query in tracing.get("counters", ()))
        if "thread" in tracing:
            found["cpu_ns"] = int(Path(f"/proc/{self._traced_session}/schedstat").read_text().split()[0])
        return found

    @contextlib.contextmanager
    def _renamed(self) -> Any:
        """Meanwhile the twin is one whose statements are written as the server takes names, and that loads as asked."""
        direct = self.driver.direct if self._loads_directly else None
        if self.driver.named is None and direct is None:
            yield
            return
        named, kept = self.driver.named or str, self.twin
        style = {"commit_rows": _ALL_ROWS} if direct else {}  # they commit themselves
        self.twin = self._load_twin(
            1, lambda cursor: RenamingCursor(direct(cursor) if direct else cursor, named), **style
        )
        try:
            yield
        finally:
            self.twin.close()
            self.twin = kept

    def _cursor(self, old: Any, *, is_limited: bool = True) -> Any:
        """A cursor of a new connection that is ready for use; ``old`` is one whose connection is to end.

        Its statements may take so long as is asked of answers, or, where it is not limited, as they take.
        """
        if old is not None:
            old.connection.close()
        if self.driver.needs_password and not self._options.get("password"):
            raise ClientError("auth", "no password is given")
        limits = () if is_limited else ("answer_seconds",)
        options = {name: value for name, value in self._options.items() if name not in limits}
        cursor = self.driver.connect(self.driver.load(), options).cursor()
        for statement in self._options.get("setup", ()):
            cursor.execute(statement)
        wanted = self._options.get("in_force")
        if wanted and old is None:  # one that a load opens anew is measured
            cursor.execute(wanted["sql"])
            if said := differing(wanted["expected"], [as_text(cell) for cell in cursor.fetchall()[0]]):
                raise ClientError("settings", said)
        if self.driver.fetch is not None and self._options.get("fetch_size"):
            self.driver.fetch(cursor, self._options["fetch_size"])
        return cursor

    def _loading(self, old: Any) -> Any:
        cursor = self._cursor(old, is_limited=False)
        if self.driver.style.get("ends_by_methods"):
            cursor.connection.autocommit = False
        if self.driver.loading is not None:
            cursor = self.driver.loading(cursor)
        return cursor if self._recorder is None else RecordingCursor(cursor, self._recorder, self.driver.explained)

    def _open(self) -> Any:
        if self._asking is None:
            raise ValueError("no server is connected")
        return self._asking

    def _run(self, sql: str) -> None:
        self.do_rows({"sql": sql})

    @contextlib.contextmanager
    def _unlimited(self) -> Iterator[None]:
        """Lift the time limit meanwhile: work beside the load, such as statistics of large tables, may take long."""
        limit = self._options.get("answer_seconds", 0.0)
        if self.driver.limited is None or not limit:
            yield
            return
        self._asking = self.driver.limited(self._open(), 0.0)
        try:
            yield
        finally:
            with contextlib.suppress(Exception):  # if the session died, the server's own error is raised
                self._asking = self.driver.limited(self._asking, limit)

    def _answer(self, sql: str) -> tuple[list[str], list[list[str | None]]]:
        """The rows of a statement, in the first of its parts that has any.

        The others are taken, too: a server may go on with a statement, and refuse the rest of it, only as they are.
        """
        columns: list[str] = []
        rows: list[list[str | None]] = []
        cursor = self._open()
        next_part = getattr(cursor, "nextset", lambda: None)
        try:
            cursor.execute(sql)
            while True:
                if cursor.description is not None and not columns:
                    columns = [str(column[0]) for column in cursor.description]
                    rows = [[as_text(cell) for cell in row] for row in cursor.fetchall()]
                if not next_part():
                    break
        except Exception as error:
            if self._recorder is not None:
                self._recorder.refused(sql, *self.driver.explained(error)[:2])
            raise
        return columns, rows

    def _written(self, request: Request) -> Reply:
        if self.driver.script is None:
            return request
        scripts = [{**one, "text": self.driver.script(one["text"])} for one in request["transactions"]]
        return {**request, "transactions": scripts}

    def _begun(self) -> _Begun:
        return _Begun(self._counters(), self._accounted(), _used(self._observed.get("watch", [])))

    def _since(self, begun: _Begun) -> tuple[dict[str, float], dict[str, int]]:
        """The server's use of resources since then, and by how much its counters grew."""
        grown = {name: now - begun.used[name] for name, now in _used(self._observed.get("watch", [])).items()}
        grown["cpu_user_seconds"] += self._accounted() - begun.accounted
        now = self._counters()
        return grown, {name: now[name] - before for name, before in begun.counters.items() if name in now}

    def _accounted(self) -> float:
        """CPU seconds by the server's own account; 0 where that is not asked for."""
        query = self._observed.get("cpu")
        return 0.0 if query is None else float(self.do_rows({"sql": query})["rows"][0][0] or 0.0)

    def _counters(self) -> dict[str, int]:
        return self._counted(self._observed.get("counters", []))

    def _counted(self, queries: Iterable[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for query in queries:
            for name, value in self.do_rows({"sql": query})["rows"]:
                with contextlib.suppress(TypeError, ValueError):  # one that is not there, or no number
                    found[name] = int(float(value))
        return found


def _in_files(plan: Mapping[str, Any]) -> dict[str, list[str]]:
    """The tables of a plan whose rows are texts and numbers, with their columns."""
    tables = {table["name"]: table["columns"] for table in plan["tables"]}
    return {
        name: [column["name"] for column in columns]
        for name, columns in tables.items()
        if all(column["distribution"] != "bytes" for column in columns)
    }


def _filled(query: str, stands: Mapping[str, str]) -> str:
    for mark, text in stands.items():
        query = query.replace(mark, text)
    return query


def _used(roots: Iterable[int]) -> dict[str, float]:
    """Resources that the trees under these processes used so far, by the names of `tdelta.records.Usage`."""
    from tdelta.processes.process_tree import usage  # most workers run no trial, and records take long to import
    from tdelta.records import Usage

    return dataclasses.asdict(sum(map(usage, roots), Usage()))


class RenamingCursor(CursorProxy):
    """A cursor whose statements are written anew before the driver has them."""

    def __init__(self, cursor: Any, named: Callable[[str], str]) -> None:
        super().__init__(cursor)
        self._named = named

    def execute(self, sql: str, *parameters: object) -> Any:
        return self._cursor.execute(self._named(sql), *parameters)

    def executemany(self, sql: str, rows: object) -> Any:
        return self._cursor.executemany(self._named(sql), rows)


def as_text(cell: object) -> str | None:
    match cell:
        case None | str():
            return cell
        case bool():
            return "t" if cell else "f"
        case bytes() | bytearray():
            return bytes(cell).decode(errors="replace")
        case datetime.datetime():
            return cell.isoformat(" ")
        case dict() | list():  # a driver that reads JSON
            return json.dumps(cell)
    return str(cell)
