"""What is done to a schema by SQL alone, as a trial: a backup, or a restore of one as another schema of tdelta's."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence

from tdelta.design.actions import parse_action
from tdelta.driver.acting import COUNTED, SECONDS
from tdelta.driver.answers import STEP_SECONDS, checksums, client_step
from tdelta.driver.load_generator.trial import with_server
from tdelta.driver.protocol import Tables
from tdelta.driver.workers import Refused, Worker
from tdelta.engines.shared.external.kind import ActsBySql, SqlRestore
from tdelta.engines.shared.external.schemas import RunSchema
from tdelta.errors import Defect, ExternalServerFault, ServerLost, WorkerFault
from tdelta.messages import Refusal
from tdelta.records import Measurement
from tdelta.records.trials import BACKUP


@dataclasses.dataclass(frozen=True, slots=True)
class ActionTarget:
    """Where something is done: in a schema, by a worker. ``elsewhere`` opens a worker in another schema there."""

    schema: RunSchema
    worker: Worker
    tables: Tables
    elsewhere: Callable[[str], Worker]


def acted(place: ActionTarget, level: str, ready: Callable[[], None] | None) -> Measurement:
    """A trial that is an action.

    Raises:
        ExternalServerFault: the server refuses, or what was restored has other rows.
    """
    schema, asked = place.schema, parse_action(level)
    kind = schema.server.kind
    if not isinstance(kind, ActsBySql):
        raise Defect(f"{level} was asked of a server to which nothing is done")
    action = kind.actions[asked.name]
    statements, restore = list(action.sql(schema.name, asked)), action.restore
    with contextlib.nullcontext() if restore is None else _room(place, restore):
        if restore is not None:
            _step(place.worker, restore.backup(schema.name, asked))
            statements.append(restore.answer(restore.name(schema.name), place.tables[0][0]))
        if ready is not None:
            ready()
        place.worker.ask("begin_external_load")
        answer = _step(place.worker, statements)
        used = place.worker.ask("end_external_load", seconds=STEP_SECONDS)
        if restore is not None:
            _require_rows(place, restore)
    measured = with_server(client_step(level, answer), used)
    with schema.server.translated_errors():
        (row,) = schema.server.ask(action.counted(schema.name))
    counted = {f"{COUNTED}{name}": round(float(value or 0)) for name, value in row.items()}
    data = {f"{COUNTED}{BACKUP}data_bytes": data_bytes(schema)} if counted else {}
    counters = {**measured.engine_counters, SECONDS: measured.elapsed_ns, **counted, **data}
    return dataclasses.replace(measured, engine_counters=counters)


def data_bytes(schema: RunSchema) -> int:
    with schema.server.translated_errors():
        (row,) = schema.server.ask(schema.server.kind.data_bytes_sql(schema.name))
    return int(float(next(iter(row.values())) or 0))


def _step(worker: Worker, statements: Sequence[str]) -> dict[str, object]:
    request = {"before": [], "load": None, "statements": list(statements)}
    return worker.ask("step", seconds=STEP_SECONDS, **request)


@contextlib.contextmanager
def _room(place: ActionTarget, restore: SqlRestore) -> Iterator[None]:
    """Within the block a schema may be restored, whose name is free before; after it, that and the backup are gone.

    Raises:
        ExternalServerFault: there is a schema of that name, whoever made it: it is not touched.
    """
    server, name = place.schema.server, restore.name(place.schema.name)
    with server.translated_errors():
        if server.kind.has_schema(server.ask, name):
            raise ExternalServerFault(server.name, Refusal.of("schema-taken", schema=name, said="it exists"))
    try:
        yield
    except BaseException:
        with contextlib.suppress(Refused, ServerLost, WorkerFault):
            _remove(place, restore)
        raise
    with server.translated_errors():
        _remove(place, restore)


def _remove(place: ActionTarget, restore: SqlRestore) -> None:
    for statement in restore.remove(place.schema.name):
        place.schema.server.connection.run(statement)


def _require_rows(place: ActionTarget, restore: SqlRestore) -> None:
    """See that what was restored has the rows of the original."""
    with place.elsewhere(restore.name(place.schema.name)) as there:
        found = checksums(there, place.tables)
    original = checksums(place.worker, place.tables)
    if differing := sorted(table for table, sums in original.items() if found.get(table) != sums):
        given = {"tables": ", ".join(differing)}
        raise ExternalServerFault(place.schema.server.name, Refusal.of("restored-differs", **given))
