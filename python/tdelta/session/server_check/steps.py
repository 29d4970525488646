"""The abilities of an adapter, each tried by a function that says what it saw or raises.

None of them trusts what another saw: a schema is looked for by a session that did not make it, rows are read back, and
what is removed is looked for once more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from tdelta.engines.server.base import Conversion, ConvertsSchemas, LeftoverSchema, lock_name
from tdelta.engines.server.schemas import RunSchema
from tdelta.engines.server.sessions import asking, first, is_true
from tdelta.errors import ServerLost, WorkerFault
from tdelta.messages import Refusal
from tdelta.processes.jobs import TRACE
from tdelta.processes.workers import Refused
from tdelta.session.server_check.bench import AbilityFails, Bench, Found, NotOffered

WAIT_SECONDS = 120.0
_LOOK_AGAIN_SECONDS = 0.2
_WORDS = {True: "encrypted", False: "plain"}


def converted(bench: Bench) -> Found:
    """On the encrypted server: decrypted, encrypted, suspended and resumed meanwhile where the server has that."""
    schema, twin = bench.schemas[1], bench.running[1]
    server, name = schema.server, schema.server.option.removeprefix("--")
    kind = server.kind
    if not isinstance(kind, ConvertsSchemas) or not bench.expected(server):
        raise NotOffered(Refusal.of("server-check-unsupported", what="encrypting and decrypting a schema with rows"))
    if not kind.conversion(server.ask, schema.name).is_possible:
        raise NotOffered(Refusal.of("server-check-unsupported", what="encrypting and decrypting a schema with rows"))
    rows = twin.checksums(bench.job.tables)
    server.connection.run(kind.convert_sql(schema.name, is_encrypted=False))
    found: dict[str, str | int | float] = {"decrypted": _awaited(schema, kind, is_encrypted=False).said}
    server.connection.run(kind.convert_sql(schema.name, is_encrypted=True))
    if suspend := kind.suspend_sql(schema.name):
        found["suspended"] = _suspended(schema, kind, suspend)
    found["encrypted"] = _awaited(schema, kind, is_encrypted=True).said
    states = kind.tables(server.ask, schema.name)
    if wrong := [table for table, is_encrypted in states.items() if is_encrypted is not True]:
        given = {"wanted": _WORDS[True], "tables": ", ".join(sorted(wrong))}
        raise AbilityFails(Refusal.of("server-check-tables-otherwise", **given), name)
    if wrong := [table for table, sums in twin.checksums(bench.job.tables).items() if sums != rows.get(table)]:
        raise AbilityFails(
            Refusal.of(
                "server-check-differs", what="rows before and after encrypting the schema again", found=", ".join(wrong)
            ),
            name,
        )
    return found


def _suspended(schema: RunSchema, kind: ConvertsSchemas, suspend: str) -> str:
    """How it stood when it was suspended; that it is over already, in so small a schema, is no failure."""
    server = schema.server
    try:
        server.connection.run(suspend)
    except Refused as refusal:
        return f"refused: {refusal}"
    said = kind.conversion(server.ask, schema.name).said
    server.connection.run(kind.resume_sql(schema.name))
    return said


def _awaited(schema: RunSchema, kind: ConvertsSchemas, *, is_encrypted: bool) -> Conversion:
    give_up = time.monotonic() + WAIT_SECONDS
    while (found := kind.conversion(schema.server.ask, schema.name)).is_encrypted is not is_encrypted:
        if time.monotonic() >= give_up:
            given = {"wanted": _WORDS[is_encrypted], "seconds": WAIT_SECONDS, "said": found.said}
            raise AbilityFails(
                Refusal.of("server-check-conversion-stuck", **given), schema.server.option.removeprefix("--")
            )
        time.sleep(_LOOK_AGAIN_SECONDS)
    return found


_TWICE = "tdelta_twice"
_MISSING = "tdelta_no_such_table"
_ALIVE = "server check alive"


@dataclass(frozen=True, slots=True)
class AbilityCheck:
    """One ability, by name, and the steps without which it cannot be tried."""

    ability: str
    does: Callable[[Bench], Found]
    needs: tuple[str, ...] = ()
    is_last: bool = False
    """Tried even when the time is up."""


def servers_reached(bench: Bench) -> Found:
    return {"settings that differ": bench.reach()}


def state_read(bench: Bench) -> Found:
    """Settings, version and scopes, asked twice: what a server says is not to depend on when it is asked."""
    found: dict[str, str | int | float] = {}
    for server in bench.both:
        name = server.option.removeprefix("--")
        if not server.settings:
            raise AbilityFails(Refusal.of("server-check-missing", what="the settings (a missing privilege?)"), name)
        if not server.identity.version:
            raise AbilityFails(Refusal.of("server-check-missing", what="the server's version"), name)
        unsaid = [scope.name for scope in server.encryption.scopes if not scope.said]
        if unsaid or not server.encryption.scopes:
            raise AbilityFails(
                Refusal.of(
                    "server-check-missing", what=f"the settings about the encryption of {', '.join(unsaid) or 'all'}"
                ),
                name,
            )
        if server.kind.encryption(server.ask) != server.encryption:
            raise AbilityFails(
                Refusal.of("server-check-differs", what="two queries of the encryption settings", found="one server"),
                name,
            )
        found[f"{name}: settings"] = len(server.settings)
        found |= {f"{name}: {scope.name}": scope.said for scope in server.encryption.scopes}
    return found


def schemas_made(bench: Bench) -> Found:
    bench.make()
    for schema in bench.schemas:
        server = schema.server
        name = server.option.removeprefix("--")
        ask = asking(bench.session(schema))
        if not server.kind.has_schema(ask, schema.name):
            raise AbilityFails(Refusal.of("server-check-missing", what="the schema, from another session,"), name)
        if LeftoverSchema(schema.name, schema.run_id) not in server.kind.own_schemas(ask):
            raise AbilityFails(Refusal.of("server-check-missing", what="the run's mark in the schema"), name)
        if not is_true(ask(server.kind.probe(lock_name(schema.name)).seen)):
            raise AbilityFails(
                Refusal.of("server-check-missing", what="the schema's lock, from another session,"), name
            )
    return {"schemas": len(bench.schemas)}


def rows_loaded(bench: Bench) -> Found:
    expected = bench.twins.expected_checksums()
    for settings in bench.settings:
        _, sums = bench.twins.load(settings)
        if wrong := [table for table in expected if sums.get(table) != expected[table]]:
            raise AbilityFails(
                Refusal.of("server-check-differs", what="generated and loaded rows", found=", ".join(wrong)),
                settings.place,
            )
    return {"tables": len(expected), "rows": sum(rows for rows, _ in expected.values())}


def tables_seen(bench: Bench) -> Found:
    """That the catalog has every table, as encrypted as it is to be, and says how large they are."""
    wanted = {table.lower() for table, _ in bench.job.tables}
    found: dict[str, str | int | float] = {}
    for schema in bench.schemas:
        server, name = schema.server, schema.server.option.removeprefix("--")
        tables = server.kind.tables(server.ask, schema.name)
        if lacking := wanted - {table.lower() for table in tables}:
            raise AbilityFails(
                Refusal.of(
                    "server-check-missing", what=f"tables in the server's catalog ({', '.join(sorted(lacking))})"
                ),
                name,
            )
        expected = bench.expected(server)
        wrong = [table for table, state in tables.items() if expected is not None and state is not expected]
        if wrong:
            wants = "encrypted" if expected else "plain"
            raise AbilityFails(
                Refusal.of("server-check-tables-otherwise", wanted=wants, tables=", ".join(sorted(wrong))), name
            )
        size = float(first(server.ask(server.kind.data_bytes_sql(schema.name))) or 0)
        if size <= 0:
            raise AbilityFails(Refusal.of("server-check-missing", what="the size of the loaded tables"), name)
        found[f"{name}: bytes"] = round(size)
    return found


def worked(bench: Bench) -> Found:
    """One trial on each server, by the load loop, whole and without an error."""
    for settings in bench.settings:
        twin = bench.twins.start(settings, settings.place)
        bench.running.append(twin)
        bench.client = twin.client()
        measured = twin.trial(bench.trial)
        if measured.total_operations != bench.trial.operations or any(measured.errors.values()):
            wrong = ", ".join(f"{count} {kind}" for kind, count in measured.errors.items()) or "none"
            given = {"operations": bench.trial.operations, "found": measured.total_operations}
            raise AbilityFails(Refusal.of("server-check-work-cut", **given, errors=wrong), settings.place)
        if silent := [name for name, span in measured.statements.items() if span.total_ns <= 0]:
            raise AbilityFails(
                Refusal.of("server-check-missing", what=f"the times of {', '.join(silent)}"), settings.place
            )
        bench.measured.append(measured)
    return {"operations": bench.trial.operations, "statements": len(bench.measured[0].statements)}


def rows_alike(bench: Bench) -> Found:
    sums = [twin.checksums(bench.job.tables) for twin in bench.running]
    if wrong := [table for table in sums[0] if sums[0][table] != sums[1].get(table)]:
        raise AbilityFails(Refusal.of("server-check-differs", what="rows after the same work", found=", ".join(wrong)))
    return {"tables": len(sums[0])}


def planned(bench: Bench) -> Found:
    plans = [twin.plans(bench.scripts) for twin in bench.running]
    if not any(plans):
        raise NotOffered(Refusal.of("server-check-unsupported", what="plans as JSON"))
    if plans[0].keys() != plans[1].keys():
        alone = ", ".join(sorted(plans[0].keys() ^ plans[1].keys()))
        raise AbilityFails(Refusal.of("server-check-missing", what=f"a plan from one of the servers for {alone}"))
    return {"statements": len(plans[0]), "run otherwise": sum(plans[0][name] != plans[1][name] for name in plans[0])}


def traced(bench: Bench) -> Found:
    further = replace(bench.trial, stream=1, first_op=bench.trial.operations, step=TRACE)
    for server, settings, twin in zip(bench.both, bench.settings, bench.running, strict=True):
        if server.kind.tracing is None:
            raise NotOffered(
                Refusal.of("server-check-unsupported", what="statement costs with this client (?client=dbapi may)")
            )
        costs = twin.trial(further).traced
        if not costs or not all(cost.calls for cost in costs.values()):
            raise AbilityFails(Refusal.of("server-check-missing", what="a call of each statement"), settings.place)
    return {"statements": len(costs), "calls": sum(cost.calls for cost in costs.values())}


def costed(bench: Bench) -> Found:
    """That the server's own counters moved while it worked."""
    if not any(server.kind.counters for server in bench.both):
        raise NotOffered(Refusal.of("server-check-unsupported", what="counters of such servers"))
    grown: dict[str, str | int | float] = {}
    for server, measured in zip(bench.both, bench.measured, strict=True):
        name = server.option.removeprefix("--")
        moved = [counter for counter, count in measured.engine_counters.items() if count]
        if not moved:
            raise AbilityFails(
                Refusal.of(
                    "server-check-missing", what=f"a change of {len(measured.engine_counters)} counters under load"
                ),
                name,
            )
        grown[f"{name}: counters that moved"] = len(moved)
        cpu = measured.usage.cpu_user_seconds + measured.usage.cpu_system_seconds
        grown[f"{name}: CPU of the server"] = "seen" if cpu > 0 else "not seen"
    return grown


def cooled(bench: Bench) -> Found:
    """That caches are emptied by what the adapter says empties them."""
    for server in bench.both:
        if not server.kind.cooling_sql:
            raise NotOffered(Refusal.of("server-check-unsupported", what="emptying the server's caches with SQL"))
        for statement in server.kind.cooling_sql:
            server.connection.run(statement)
    return {}


def evidence_kept(bench: Bench) -> Found:
    words = []
    for server, twin in zip(bench.both, bench.running, strict=True):
        name = server.option.removeprefix("--")
        facts = twin.cipher_facts()
        for scope in server.kind.encryption(server.ask).scopes:
            if facts.get(scope.name) != scope.said:
                raise AbilityFails(
                    Refusal.of(
                        "server-check-differs", what="encryption states before and after the work", found=scope.name
                    ),
                    name,
                )
        words.append(facts["tables"])
    if words[0] == words[1] and bench.expected(bench.both[1]):
        raise AbilityFails(Refusal.of("server-check-missing", what=f"any difference in encryption ({words[0]})"))
    return {"baseline: tables": words[0], "encrypted: tables": words[1]}


def refused_rightly(bench: Bench) -> Found:
    for schema in bench.schemas:
        session = bench.session(schema)
        _refused(schema, session.run, f"SELECT * FROM {_MISSING}", "sql")
        session.run(f"CREATE TABLE {_TWICE} (id INTEGER PRIMARY KEY)")
        try:
            session.run(f"INSERT INTO {_TWICE} VALUES (1)")
            _refused(schema, session.run, f"INSERT INTO {_TWICE} VALUES (1)", "constraint")
        finally:
            session.run(f"DROP TABLE {_TWICE}")
    return {"refusals": 2}


def _refused(schema: RunSchema, run: Callable[[str], None], sql: str, kind: str) -> None:
    name = schema.server.option.removeprefix("--")
    try:
        run(sql)
    except Refused as refusal:
        if refusal.kind != kind:
            raise AbilityFails(
                Refusal.of("server-check-kind", expected=kind, found=refusal.kind, said=str(refusal)), name
            ) from refusal
    else:
        raise AbilityFails(Refusal.of("server-check-kind", expected=kind, found="no refusal", said=""), name)


def sessions_ended(bench: Bench) -> Found:
    """That sessions of the load are found by their mark, and end when they are ended."""
    bench.end_twins()
    for schema in bench.schemas:
        server, name = schema.server, schema.server.option.removeprefix("--")
        other = bench.session(schema)
        found = server.kind.marked_sessions(server.ask, schema.sessions)
        if not found:
            raise AbilityFails(Refusal.of("server-check-missing", what="the marked session of the workload"), name)
        for session in found:
            server.connection.run(server.kind.end_session_sql(session))
        try:
            other.text(server.kind.probe(_ALIVE).seen)
        except (ServerLost, WorkerFault):
            continue
        except Refused as lost:
            if lost.kind != "connection":
                said = {"expected": "connection", "found": lost.kind, "said": str(lost)}
                raise AbilityFails(Refusal.of("server-check-kind", **said), name) from lost
        else:
            raise AbilityFails(Refusal.of("server-check-left", what="a session after it was ended"), name)
    bench.end_sessions()
    return {"sessions": len(bench.schemas)}


def all_removed(bench: Bench) -> Found:
    bench.remove()
    for schema in bench.schemas:
        server, name = schema.server, schema.server.option.removeprefix("--")
        if server.kind.has_schema(server.ask, schema.name):
            raise AbilityFails(Refusal.of("server-check-left", what="the schema"), name)
        if any(mark.run_id == schema.run_id for mark in server.kind.own_schemas(server.ask)):
            raise AbilityFails(Refusal.of("server-check-left", what="a schema with the mark of this run"), name)
        if server.kind.marked_sessions(server.ask, schema.sessions):
            raise AbilityFails(Refusal.of("server-check-left", what="a session with the mark of this run"), name)
    return {"schemas": len(bench.schemas)}


REACHED, MADE, LOADED, WORKED = "servers reached", "schema made", "rows loaded", "work done"
"""Abilities that others need."""

STEPS = (
    AbilityCheck(REACHED, servers_reached),
    AbilityCheck("state read", state_read, (REACHED,)),
    AbilityCheck(MADE, schemas_made, (REACHED,)),
    AbilityCheck(LOADED, rows_loaded, (MADE,)),
    AbilityCheck("tables seen", tables_seen, (LOADED,)),
    AbilityCheck(WORKED, worked, (LOADED,)),
    AbilityCheck("rows alike", rows_alike, (WORKED,)),
    AbilityCheck("plans read", planned, (WORKED,)),
    AbilityCheck("statements traced", traced, (WORKED,)),
    AbilityCheck("counters read", costed, (WORKED,)),
    AbilityCheck("caches emptied", cooled, (WORKED,)),
    AbilityCheck("evidence kept", evidence_kept, (WORKED,)),
    AbilityCheck("encryption changed", converted, (WORKED,)),
    AbilityCheck("refusals recognized", refused_rightly, (MADE,)),
    AbilityCheck("sessions ended", sessions_ended, (MADE,)),
    AbilityCheck("everything removed", all_removed, (MADE,), is_last=True),
)
"""All of them, in their order."""


def lacking(step: AbilityCheck, passed: Iterable[str]) -> tuple[str, ...]:
    have = set(passed)
    return tuple(need for need in step.needs if need not in have)
