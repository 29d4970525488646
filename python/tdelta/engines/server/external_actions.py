"""What is done to a schema by SQL alone, as a trial: a backup, or a restore of one as another schema of tdelta's."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence

from tdelta.design.actions import AskedAction, parse_action
from tdelta.engines.server.base import (
    Conversion,
    ConvertsSchemas,
    SqlRestore,
)
from tdelta.engines.server.schemas import RunSchema
from tdelta.engines.server.sessions import Session, first
from tdelta.errors import ExternalServerFault, ServerLost, WorkerFault
from tdelta.messages import Refusal
from tdelta.processes.actions import COUNTED, SECONDS, Act, Halt, Outcome
from tdelta.processes.answers import STEP_SECONDS, checksums, client_step
from tdelta.processes.load_generator.trial import with_server
from tdelta.processes.protocol import Tables
from tdelta.processes.workers import Refused, Worker
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
    action = kind.sql_actions[asked.name]
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


ENCRYPT, REKEY, DECRYPT = "encrypt", "rekey", "decrypt"
PAUSE = "pause"
"""A knob of ``encrypt``: for how many seconds the conversion is suspended, once it has begun."""

MODE, ONLINE, OFFLINE = "mode", "online", "offline"
"""A choice of ``encrypt`` and ``decrypt``: whether rows can be used meanwhile."""

_LOOK_AGAIN_SECONDS = 0.1
_WORDS = {True: "encrypted", False: "plain"}


class Change(Act):
    """A change of a schema's encryption that goes on while a load runs there.

    The schema is tdelta's own, made plain on the encrypted server, where the means of encryption are. It is plain
    again, and without a key, before its next trial.

    Args:
        schema: where; it is plain and has no key.
        asked: ``encrypt``, ``rekey`` or ``decrypt``.
        opens: opens a session whose statements may take as long as they take.
    """

    def __init__(self, schema: RunSchema, asked: AskedAction, halt: Halt, opens: Callable[[], Session]) -> None:
        self._schema = schema
        kind = schema.server.kind
        assert isinstance(kind, ConvertsSchemas)  # noqa: S101 - refused before
        self._kind = kind
        self._asked = asked
        self._halt = halt
        self._opens = opens
        self._session: Session | None = None

    def prepare(self) -> None:
        """Give the schema its key; encrypt it where that is not what is measured.

        The session of a statement that ends with the conversion is opened here: that it takes seconds is in no figure.
        """
        with self._schema.server.translated_errors():
            if self._kind.converts_in_statement:
                self._session = self._opens()
            if self._asked.knobs.get(PAUSE) and not self._kind.suspend_sql(self._schema.name):
                version = self._schema.server.identity.described
                raise ExternalServerFault(
                    self._schema.server.name, Refusal.of("unsupported", what="the parameter pause", by=version)
                )
            if key := self._kind.key_sql(self._schema.name):
                self._run(key)
            if self._asked.name != ENCRYPT:
                self._convert(is_encrypted=True)

    def perform(self) -> Outcome:
        """Do it, and wait until it is over: the size of the schema, and how the pause went where there is one."""
        with self._schema.server.translated_errors():
            counted = {"file_bytes": self._bytes()}
            if is_offline(self._asked):
                self._convert_offline(is_encrypted=self._asked.name == ENCRYPT)
            elif self._asked.name == REKEY:
                self._change(self._kind.rekey_sql(self._schema.name))
                self._await(is_encrypted=True)
            else:
                pause_seconds = self._asked.knobs.get(PAUSE, 0)
                counted |= self._convert(is_encrypted=self._asked.name == ENCRYPT, pause_seconds=pause_seconds)
        return Outcome(counted)

    def undo(self) -> None:
        with self._schema.server.translated_errors(), contextlib.ExitStack() as opened:
            if self._session is not None:
                opened.callback(self._session.close)
            if self._stands().is_encrypted is not False:
                self._convert(is_encrypted=False)
            for statement in self._kind.unkey_sql(self._schema.name):
                self._run(statement)

    def _convert(self, *, is_encrypted: bool, pause_seconds: int = 0) -> Mapping[str, int]:
        self._change(self._kind.convert_sql(self._schema.name, is_encrypted=is_encrypted))
        counted = self._paused(pause_seconds) if pause_seconds else {}
        self._await(is_encrypted=is_encrypted)
        return counted

    def _convert_offline(self, *, is_encrypted: bool) -> None:
        """Convert the schema while its rows cannot be used; whatever comes of it, they can be used again afterwards."""
        kind, name = self._kind, self._schema.name
        self._change(kind.offline_sql(name))
        try:
            self._change(kind.convert_offline_sql(name, is_encrypted=is_encrypted))
        finally:
            self._change(kind.online_sql(name))
        self._await(is_encrypted=is_encrypted)

    def _paused(self, seconds: int) -> Mapping[str, int]:
        """Suspend what has begun; what is over before it can be suspended was not."""
        try:
            self._run(self._kind.suspend_sql(self._schema.name))
        except Refused:
            if self._stands().is_encrypted:
                return {"suspended_ns": 0}
            raise
        try:
            self._halt.pause(seconds)
            percent = round(self._stands().percent_done)
        finally:
            self._run(self._kind.resume_sql(self._schema.name))
        return {"suspended_ns": seconds * 1_000_000_000, "suspended_at_percent": percent}

    def _await(self, *, is_encrypted: bool) -> None:
        self._halt.wait_until(
            lambda: self._stands().is_encrypted is is_encrypted,
            f"the schema {self._schema.name} is {_WORDS[is_encrypted]}",
            look_again_seconds=_LOOK_AGAIN_SECONDS,
        )

    def _stands(self) -> Conversion:
        return self._kind.conversion(self._schema.server.ask, self._schema.name)

    def _bytes(self) -> int:
        return int(float(first(self._schema.server.ask(self._kind.data_bytes_sql(self._schema.name))) or 0))

    def _change(self, statement: str) -> None:
        (self._session or self._schema.server.connection).run(statement)

    def _run(self, statement: str) -> None:
        self._schema.server.connection.run(statement)


def is_offline(asked: AskedAction) -> bool:
    """Whether rows cannot be used while it goes on."""
    return asked.choices.get(MODE) == OFFLINE
