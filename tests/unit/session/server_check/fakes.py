"""An adapter, two servers and their twins that are nothing but values; ``broken`` is what each does wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tdelta.engines.server.base import (
    DATA,
    ConvertsSchemas,
    Encryption,
    Identity,
    LeftoverSchema,
    Probe,
    Scope,
    ServerEngine,
    SettingsRule,
    Tracing,
    lock_name,
)
from tdelta.engines.server.discovery import FoundServer
from tdelta.engines.server.dsn import parse_dsn
from tdelta.errors import ExternalServerFault
from tdelta.messages import Refusal
from tdelta.processes.backups import EngineAction
from tdelta.processes.jobs import TRACE, TrialJob
from tdelta.processes.workers import Refused
from tdelta.records import Measurement, SpanTotals, StatementCost
from tdelta.session.request import RunRequest
from tdelta.session.server_check import steps
from tdelta.session.server_check.steps import Bench

BASELINE, ENCRYPTED = "mysql://bench@db1/", "mysql://bench@db2/"
SUMS = {"orders": (3, "aa"), "customers": (2, "bb")}
RUN = "check-1"


class Server(ServerEngine):
    """A server and its adapter in one: schemas, sessions, and answers by statement."""

    def __init__(self, *, is_encrypted: bool, broken: frozenset[str]) -> None:
        self.is_encrypted = is_encrypted
        self.broken = broken
        self.origin = Identity("mysql", "Fake", "" if "version" in broken else "1.0", "bench@db")
        self.rule = SettingsRule("nothing")
        self.counters = () if "counters not offered" in broken else ("SHOW STATUS",)
        self.schema = ""
        self.sessions: list[str] = []
        self.asked = 0
        self.ran: list[str] = []

    tracing = Tracing("", (), {})

    def encryption(self, _ask: Any) -> Encryption:
        self.asked += 1
        is_other = ("state" in self.broken and self.asked > 1) or ("evidence" in self.broken and self.asked > 3)
        said = "" if "scope" in self.broken else f"encrypted={self.is_encrypted}{' now' if is_other else ''}"
        return Encryption((Scope(DATA, self.is_encrypted, said),), can_be_asked=False, remedy="")

    def has_schema(self, _ask: Any, schema: str) -> bool:
        return schema == self.schema and "schema unseen" not in self.broken

    def own_schemas(self, _ask: Any, *_named: str) -> tuple[LeftoverSchema, ...]:
        return (LeftoverSchema(self.schema, None if "mark" in self.broken else RUN),) if self.schema else ()

    def probe(self, name: str) -> Probe:
        return Probe(f"take {name}", f"seen {name}", f"release {name}")

    def tables(self, _ask: Any, _schema: str) -> Mapping[str, bool | None]:
        state = not self.is_encrypted if "otherwise" in self.broken else self.is_encrypted
        return {table.upper(): state for table in SUMS if not ("tables unseen" in self.broken and table == "orders")}

    def data_bytes_sql(self, _schema: str) -> str:
        return "size"

    def marked_sessions(self, _ask: Any, _mark: str) -> tuple[str, ...]:
        return () if "session unseen" in self.broken else tuple(self.sessions)

    def end_session_sql(self, session: str) -> str:
        return f"end {session}"

    def settings(self, _ask: Any) -> Mapping[str, str]:
        return {"cache": "2" if "census" in self.broken and self.ran else "1"}

    def rows(self, sql: str, session: str = "") -> tuple[list[str], list[list[str | None]]]:
        self.ran.append(sql)
        if session and session not in self.sessions:
            raise Refused("sql" if "lost as sql" in self.broken else "connection", "gone away")
        if sql == "size":
            return ["bytes"], [["0" if "size" in self.broken else "4096"]]
        if sql.startswith("seen"):
            is_held = sql == f"seen {lock_name(self.schema)}" and "lock" not in self.broken
            return ["seen"], [["1" if is_held else "0"]]
        if sql.startswith("end ") and "immortal" not in self.broken:
            self.sessions.remove(sql.removeprefix("end "))
        if "no_such_table" in sql and "no refusal" not in self.broken:
            raise Refused("denied" if "kind" in self.broken else "sql", "no such table")
        if "INSERT" in sql and self.ran.count(sql) > 1:
            raise Refused("constraint", "twice")
        return [], []

    def run(self, sql: str) -> None:
        self.rows(sql)


_MAKES: Any = None
_BACKUPS = {"backup": EngineAction(_MAKES, is_work=True)}
_CHANGES = {
    "encrypt": EngineAction(_MAKES, ("pause",), is_during=True, choices={"mode": ("online", "offline")}),
    "decrypt": EngineAction(_MAKES, is_during=True),
}


class ConvertingServer(Server, ConvertsSchemas):
    """One that also encrypts and decrypts a schema."""

    schema_actions = _CHANGES

    def suspend_sql(self, _schema: str) -> str:
        return "" if "conversion unsuspended" in self.broken else "SUSPEND"


class Session:
    """A session that works in a schema."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.name = f"s{len(server.sessions)}"
        server.sessions.append(self.name)

    def run(self, sql: str) -> None:
        self.rows(sql)

    def rows(self, sql: str) -> tuple[list[str], list[list[str | None]]]:
        return self.server.rows(sql, self.name)

    def text(self, sql: str) -> str:
        return str(self.rows(sql)[1])

    def close(self) -> None:
        if "session left" not in self.server.broken and self.name in self.server.sessions:
            self.server.sessions.remove(self.name)


class Twin:
    def __init__(self, bench: FakeBench, server: Server) -> None:
        self.bench, self.server = bench, server
        self.steps: list[str] = []

    def __enter__(self) -> Twin:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.end()

    def trial(self, job: TrialJob) -> Measurement:
        self.steps += [job.step] if job.step else []
        self.server.ran += [job.during] if job.during else []
        if job.step == "backup" and "restored otherwise" in self.server.broken:
            raise ExternalServerFault("--encrypted", Refusal.of("restored-differs", tables="orders"))
        if job.step == TRACE:
            calls = 0 if "trace" in self.server.broken else 2
            cost = StatementCost(calls=calls, elapsed_ns=1, cpu_ns=1, rows=1, counters={})
            return cast(Any, SimpleNamespace(traced={"buy": cost}))
        is_cut = "work" in self.server.broken or ("conversion cut" in self.server.broken and bool(job.during))
        return Measurement(
            operations=job.operations,
            total_operations=job.operations - is_cut,
            elapsed_ns=1,
            transactions={},
            statements={"buy": SpanTotals(1, 0 if "times" in self.server.broken else 5)},
            errors={"conflict": 1} if is_cut else {},
            engine_counters={"reads": 0 if "counters" in self.server.broken else 7},
            stopped_by="operations",
        )

    def plans(self, _scripts: Mapping[str, str]) -> Mapping[str, Any]:
        if "plans not offered" in self.server.broken:
            return {}
        return {"buy 1": "scan"} | ({"buy 2": "scan"} if "plans" in self.server.broken else {})

    def checksums(self, _tables: Any) -> Any:
        is_lost = "conversion loses" in self.server.broken and "decrypt" in self.server.ran
        is_lost |= "rebuild loses" in self.server.broken and "rebuild" in self.steps
        return SUMS | ({"orders": (3, "zz")} if "rows apart" in self.server.broken or is_lost else {})

    def cipher_facts(self) -> dict[str, str]:
        is_plain = not self.server.is_encrypted or "alike" in self.server.broken
        return {DATA: f"encrypted={self.server.is_encrypted}", "tables": "plain" if is_plain else "encrypted"}

    def client(self) -> str:
        return "a fake"

    def end(self) -> None:
        pass


@dataclass
class Twins:
    bench: FakeBench

    def expected_checksums(self) -> Any:
        return SUMS

    def load(self, settings: Any) -> Any:
        broken, is_padded = self.bench.kinds[settings.number].broken, self.bench.workload == "read-only"
        wrong = {"orders": (3, "zz")} if "rows" in broken or ("padded" in broken and is_padded) else {}
        return Path("x"), SUMS | wrong

    def start(self, settings: Any, _name: str) -> Twin:
        return Twin(self.bench, self.bench.kinds[settings.number])


@dataclass
class Schema:
    server: FoundServer
    name: str = "tdelta_x"
    run_id: str = RUN
    sessions: str = "tdelta run x"


class FakeBench(Bench):
    """A bench of two fake servers, of which the encrypted one is ``broken``."""

    trial = TrialJob(seed=1, stream=0, operations=10, first_op=0, deadline_seconds=1.0)

    def __init__(self, *broken: str, baseline: Sequence[str] = ()) -> None:
        dsns = parse_dsn(BASELINE), parse_dsn(ENCRYPTED)
        super().__init__(RunRequest(baseline=BASELINE, encrypted=ENCRYPTED), dsns, RUN)
        self.workload = "order-entry"
        of_encrypted = ConvertingServer if any("conversion" in one for one in broken) else Server
        self.kinds = (
            Server(is_encrypted=False, broken=frozenset(baseline)),
            of_encrypted(is_encrypted=True, broken=frozenset(broken)),
        )
        self.found = tuple(
            FoundServer(
                option,
                dsn,
                cast(Any, kind),
                cast(Any, kind),
                kind.encryption(None),
                {} if "settings" in kind.broken else {"cache": "1"},
            )
            for option, dsn, kind in zip(("--baseline", "--encrypted"), dsns, self.kinds, strict=True)
        )
        for kind in self.kinds:
            if {"backup", "restored otherwise"}.intersection(broken):
                kind.schema_actions = _BACKUPS  # type: ignore[misc]
        self.made = tuple(Schema(server) for server in self.found)
        self.twins = cast(Any, Twins(self))
        self.settings = cast(Any, [SimpleNamespace(number=n, place=p) for n, p in enumerate(("baseline", "encrypted"))])
        self.job = cast(Any, SimpleNamespace(tables=tuple((table, ()) for table in SUMS)))
        self.before = [steps.census(server) for server in self.found]
        self.scripts = {"buy": "SELECT 1"}
        self.opened: dict[str, Session] = {}

    @property
    def both(self) -> Any:
        return self.found

    @property
    def schemas(self) -> Any:
        return self.made

    def reach(self) -> int:
        if "reach" in self.kinds[1].broken:
            raise ExternalServerFault(
                "--encrypted (bench@db2:3306)", Refusal.of("right-missing", grant="GRANT PROCESS")
            )
        return 0

    @property
    def changed(self) -> Any:
        return self.made[1:] if isinstance(self.kinds[1], ConvertsSchemas) else ()

    def lay_out(self, workload: str, works: tuple[str, ...] = ()) -> None:
        self.workload = workload

    def started(self, settings: Any, **_changed: Any) -> Any:
        return Twin(self, self.kinds[settings.number])

    connected = started

    def wait(self) -> Sequence[float]:
        broken = self.kinds[1].broken
        return () if "unwaiting" in broken else (70.0, 60.0 if "limited" in broken else 70.1)

    def is_cleaned(self, server: FoundServer) -> bool:
        return "killed left" not in cast(Server, server.kind).broken

    def make(self) -> None:
        for kind in self.kinds:
            kind.schema = "tdelta_x"

    def remove(self) -> None:
        self.end_sessions()
        for kind in self.kinds:
            if "left" not in kind.broken:
                kind.schema = "other" if "mark left" in kind.broken else ""

    def session(self, schema: Any) -> Any:
        kind = cast(Server, schema.server.kind)
        return self.opened.setdefault(schema.server.option, Session(kind))

    def end_sessions(self) -> None:
        for session in self.opened.values():
            session.close()
        self.opened.clear()

    def expected(self, server: FoundServer) -> bool | None:
        return server.option == "--encrypted"
