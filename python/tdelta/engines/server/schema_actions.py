"""Actions on a schema on a user's server: a backup or a restore by SQL alone, or a change of its encryption.

A backup is a trial by itself, and so is a restore of one as another schema of tdelta's; a change goes on beside a load.
"""

from __future__ import annotations

import contextlib
import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tdelta.design.actions import AskedAction
from tdelta.engines.server.base import Conversion, ConvertsSchemas
from tdelta.engines.server.schemas import RunSchema
from tdelta.engines.server.sessions import Session, first
from tdelta.errors import ExternalServerFault
from tdelta.messages import Refusal
from tdelta.processes.actions import Act, Halt, Outcome
from tdelta.processes.answers import STEP_SECONDS, checksums
from tdelta.processes.protocol import Tables
from tdelta.processes.workers import Refused, Worker
from tdelta.records.trials import BACKUP


@dataclasses.dataclass(frozen=True, slots=True)
class SchemaSite:
    """Where something is done: in a schema, by a worker.

    ``elsewhere`` opens a worker in another schema there, ``unlimited`` a session whose statements may take as long as
    they take.
    """

    schema: RunSchema
    worker: Worker
    tables: Tables
    asked: AskedAction
    halt: Halt
    elsewhere: Callable[[str], Worker]
    unlimited: Callable[[], Session]

    def step(self, statements: Sequence[str]) -> dict[str, Any]:
        request = {"before": [], "load": None, "statements": list(statements)}
        return self.worker.ask("step", seconds=STEP_SECONDS, **request)


class SchemaStep(Act):
    """An action by SQL alone; ``answer`` is what the worker said of it."""

    answer: Mapping[str, Any]

    def __init__(self, site: SchemaSite) -> None:
        self.site = site

    @abstractmethod
    def statements(self) -> tuple[str, ...]:
        """The statements that carry it out."""

    @abstractmethod
    def counted_sql(self) -> str:
        """A query of one row, whose columns are what it came to; asked when it is over."""

    def perform(self) -> Outcome:
        self.answer = self.site.step(self.statements())
        return Outcome()

    def inspect(self) -> Mapping[str, int]:
        schema = self.site.schema
        with schema.server.translated_errors():
            (row,) = schema.server.ask(self.counted_sql())
        counted = {name: round(float(value or 0)) for name, value in row.items()}
        return {**counted, f"{BACKUP}data_bytes": data_bytes(schema)} if counted else {}


class SchemaRestore(SchemaStep):
    """A backup restored as another schema, until that answers. Its name is free before, and again afterwards."""

    _is_begun = False

    @property
    @abstractmethod
    def restored(self) -> str:
        """The name of the schema that is restored to."""

    @abstractmethod
    def backup(self) -> tuple[str, ...]:
        """The statements that make the backup; not measured."""

    @abstractmethod
    def remove(self) -> tuple[str, ...]:
        """The statements that remove the restored schema and the backup, as far as they are there."""

    def prepare(self) -> None:
        """Make the backup.

        Raises:
            ExternalServerFault: there is a schema of that name, whoever made it: it is not touched.
        """
        server = self.site.schema.server
        with server.translated_errors():
            is_taken = server.kind.has_schema(server.ask, self.restored)
        if is_taken:
            raise ExternalServerFault(server.name, Refusal.of("schema-taken", schema=self.restored, said="it exists"))
        self._is_begun = True
        self.site.step(self.backup())

    def inspect(self) -> Mapping[str, int]:
        """See that what was restored has the rows of the original."""
        site = self.site
        with site.elsewhere(self.restored) as there:
            found = checksums(there, site.tables)
        original = checksums(site.worker, site.tables)
        if differing := sorted(table for table, sums in original.items() if found.get(table) != sums):
            differs = Refusal.of("restored-differs", tables=", ".join(differing))
            raise ExternalServerFault(site.schema.server.name, differs)
        return super().inspect()

    def undo(self) -> None:
        server = self.site.schema.server
        with server.translated_errors():
            for statement in self.remove() if self._is_begun else ():
                server.connection.run(statement)


def data_bytes(schema: RunSchema) -> int:
    with schema.server.translated_errors():
        return int(float(first(schema.server.ask(schema.server.kind.data_bytes_sql(schema.name))) or 0))


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
        site: where: ``encrypt``, ``rekey`` or ``decrypt`` is asked of a schema that is plain and has no key.
    """

    def __init__(self, site: SchemaSite) -> None:
        self._site = site
        self._schema = site.schema
        kind = site.schema.server.kind
        assert isinstance(kind, ConvertsSchemas)  # noqa: S101 - refused before
        self._kind = kind
        self._session: Session | None = None

    def prepare(self) -> None:
        """Give the schema its key; encrypt it where that is not what is measured.

        The session of a statement that ends with the conversion is opened here: that it takes seconds is in no figure.
        """
        with self._schema.server.translated_errors():
            if self._kind.converts_in_statement:
                self._session = self._site.unlimited()
            if self._site.asked.knobs.get(PAUSE) and not self._kind.suspend_sql(self._schema.name):
                version = self._schema.server.identity.described
                raise ExternalServerFault(
                    self._schema.server.name, Refusal.of("unsupported", what="the parameter pause", by=version)
                )
            if key := self._kind.key_sql(self._schema.name):
                self._run(key)
            if self._site.asked.name != ENCRYPT:
                self._convert(is_encrypted=True)

    def perform(self) -> Outcome:
        """Do it, and wait until it is over: the size of the schema, and how the pause went where there is one."""
        with self._schema.server.translated_errors():
            counted = {"file_bytes": data_bytes(self._schema)}
            if is_offline(self._site.asked):
                self._convert_offline(is_encrypted=self._site.asked.name == ENCRYPT)
            elif self._site.asked.name == REKEY:
                before = self._stands().key
                self._change(self._kind.rekey_sql(self._schema.name))
                self._await(is_encrypted=True, unlike=before)
            else:
                pause_seconds = self._site.asked.knobs.get(PAUSE, 0)
                counted |= self._convert(is_encrypted=self._site.asked.name == ENCRYPT, pause_seconds=pause_seconds)
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
            self._site.halt.pause(seconds)
            percent = round(self._stands().percent_done)
        finally:
            self._run(self._kind.resume_sql(self._schema.name))
        return {"suspended_ns": seconds * 1_000_000_000, "suspended_at_percent": percent}

    def _await(self, *, is_encrypted: bool, unlike: str = "") -> None:
        """Wait for that state; after a change of keys with another key, as the state may be the same at first."""

        def is_over() -> bool:
            now = self._stands()
            return now.is_encrypted is is_encrypted and not (unlike and now.key == unlike)

        self._site.halt.wait_until(
            is_over,
            f"the schema {self._schema.name} is {_WORDS[is_encrypted]}",
            look_again_seconds=_LOOK_AGAIN_SECONDS,
        )

    def _stands(self) -> Conversion:
        return self._kind.conversion(self._schema.server.ask, self._schema.name)

    def _change(self, statement: str) -> None:
        (self._session or self._schema.server.connection).run(statement)

    def _run(self, statement: str) -> None:
        self._schema.server.connection.run(statement)


def is_offline(asked: AskedAction) -> bool:
    """Whether rows cannot be used while it goes on."""
    return asked.choices.get(MODE) == OFFLINE
