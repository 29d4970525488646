"""A schema on a user's server that is tdelta's and nothing else.

A schema that exists is never touched, whoever made it: tdelta makes its own under a name that is free, with a mark that
names the run, holds a lock on it for as long as the run lives, and drops it only while the mark is there. After a
``kill -9`` the run's keeper drops it (`tdelta.engines.server.schema_keeper`). Where that could not, `leftovers` finds
it by mark and free lock, and says what removes it.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Callable, Sequence

from tdelta.engines.server.base import MARK, InForce, LeftoverSchema, NewSchema, lock_name
from tdelta.engines.server.discovery import FoundServer
from tdelta.engines.server.sessions import first, is_true
from tdelta.errors import Defect, ExternalServerFault, InvalidTwins, ServerLost, WorkerFault
from tdelta.messages import Caution, Refusal
from tdelta.processes.signals import held
from tdelta.processes.workers import Refused

_TOKEN_BYTES = 4
_MAKES_INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX (\w+)", re.IGNORECASE)


class RunSchema:
    """A schema of tdelta's on one server: made, locked while this run lives, dropped if its mark is there.

    ``sessions`` is the mark of its sessions: drawn anew in each sitting, so that what ends those of a killed one lets
    those of its resumption be.

    Args:
        is_encrypted: how its tables are to be; None: as the server has it.
        is_own: it is the user's and only read: it is never made or dropped, and its sessions cannot write.
    """

    def __init__(
        self, server: FoundServer, name: str, run_id: str, *, is_encrypted: bool | None, is_own: bool = False
    ) -> None:
        self.server = server
        self.is_own = is_own
        self.name = name
        self.run_id = run_id
        self.is_encrypted = is_encrypted
        self.sessions = f"{MARK}{run_id} {secrets.token_hex(_TOKEN_BYTES)}"
        self._new = NewSchema(name, run_id, is_encrypted)

    def options(self, password: str | None, further: Sequence[str] = ()) -> dict[str, object]:
        """How the connections of a load are opened (`tdelta._native.ServerTwin`): they work in this schema.

        ``further`` is what they run after all else that sessions of tdelta's do.
        """
        kind = self.server.kind
        sessions = kind.sessions(self._new)
        marking = filter(None, (kind.mark_session_sql(self.sessions),))
        setup = (*kind.session_sql, *kind.waiting_sql, *marking, *sessions.setup, *further)
        in_force = kind.in_force
        if self.is_own:
            if kind.read_only is None or in_force is None:
                raise Defect("sessions on a user's tables are read-only, which this server's cannot be")
            setup = (*setup, kind.read_only.sql)
            expected = {**in_force.expected, "read_only": kind.read_only.expected}
            in_force = InForce(f"{in_force.sql}, {kind.read_only.asked} AS read_only", expected)
        said = None if in_force is None else in_force.as_json()
        return self.server.dsn.options(password, database=sessions.database, setup=setup, in_force=said)

    def make(self, begins: Callable[[RunSchema], None] = lambda _schema: None) -> None:
        """Make it, with its mark.

        Args:
            begins: called when its name was found free, and nothing was made yet.

        Raises:
            ExternalServerFault: there is one of that name, or the server refuses; nothing of this run is left then.
        """
        server = self.server
        if self.is_own:
            raise Defect("a schema of the user's is neither made nor dropped")
        with server.translated_errors():
            is_taken = server.kind.has_schema(server.ask, self.name)
        if is_taken:
            raise ExternalServerFault(server.name, Refusal.of("schema-taken", schema=self.name, said="it exists"))
        with server.translated_errors():
            server.connection.keep(server.kind.probe(lock_name(self.name)).take)
        begins(self)
        statements = server.kind.make_sql(self._new)
        with held():  # a Ctrl-C between schema and mark would leave what nobody dares to drop
            for done, statement in enumerate(statements):
                self._run(statement, has_schema=done > 0)

    def require_tables(self) -> None:
        """See in the engine's own catalog that every table is as this twin's tables have to be.

        Raises:
            InvalidTwins: one is not; names all of them.
        """
        if self.is_encrypted is None:
            return
        with self.server.translated_errors():
            found = self.server.kind.tables(self.server.ask, self.name)
        wrong = sorted(table for table, is_encrypted in found.items() if is_encrypted is not self.is_encrypted)
        if wrong:
            wanted = "encrypted" if self.is_encrypted else "plain"
            raise InvalidTwins(
                Refusal.of(
                    "tables-otherwise",
                    schema=self.name,
                    wanted=wanted,
                    tables=", ".join(wrong),
                    remedy=self.server.encryption.remedy,
                ).at(self.server.name)
            )

    def require_indexes(self, statements: Sequence[str]) -> None:
        """See in the engine's own catalog that every index that these statements make is there.

        Raises:
            InvalidTwins: one is not: it would change what statements cost, and no answer.
        """
        if not (query := self.server.kind.indexes_sql(self.name)):
            return
        with self.server.translated_errors():
            found = {(row["name"] or "").lower() for row in self.server.ask(query)}
        wanted = {made[1].lower() for statement in statements if (made := _MAKES_INDEX.match(statement))}
        if missing := sorted(wanted - found):
            refusal = Refusal.of("indexes-missing", schema=self.name, indexes=", ".join(missing))
            raise InvalidTwins(refusal.at(self.server.name))

    def drop(self) -> None:
        """Remove it with all that is in it, if the mark of this run is there.

        Raises:
            ExternalServerFault: it is not, or the server refuses; the message says what is left and how it is removed.
        """
        server = self.server
        if self.is_own:
            raise Defect("a schema of the user's is neither made nor dropped")
        drop = server.kind.drop_sql(self.name)
        try:
            marked = LeftoverSchema(self.name, self.run_id) in server.kind.own_schemas(server.ask, self.name)
            if not marked and not server.kind.has_schema(server.ask, self.name):
                return
            if not marked:
                raise ExternalServerFault(
                    server.name, Refusal.of("schema-unmarked", run=self.run_id, schema=self.name, drop=drop)
                )
            server.connection.run(drop)
            if server.kind.has_schema(server.ask, self.name):
                raise ExternalServerFault(
                    server.name,
                    Refusal.of("schema-not-dropped", said="it is still there", schema=self.name, drop=drop),
                )
            first(server.ask(server.kind.probe(lock_name(self.name)).release))
        except (Refused, ServerLost, WorkerFault) as refusal:
            raise ExternalServerFault(
                server.name, Refusal.of("schema-not-dropped", said=refusal, schema=self.name, drop=drop)
            ) from refusal

    def _run(self, statement: str, *, has_schema: bool) -> None:
        try:
            self.server.connection.run(statement)
        except Refused as refusal:
            if has_schema:  # made a moment ago by this very call, and empty
                with contextlib.suppress(Refused):
                    self.server.connection.run(self.server.kind.drop_sql(self.name))
                raise ExternalServerFault(self.server.name, Refusal.of("server-refuses", said=refusal)) from refusal
            raise ExternalServerFault(
                self.server.name, Refusal.of("schema-taken", schema=self.name, said=refusal)
            ) from refusal


def leftovers(server: FoundServer) -> tuple[Caution, ...]:
    """The schemas that killed runs left on a server, each with what removes it; those of living runs are none."""
    with server.translated_errors():
        return tuple(caution.at(server.name) for caution in left_by_name(server).values())


def left_by_name(server: FoundServer, *named: str) -> dict[str, Caution]:
    left = {}
    for found in server.kind.own_schemas(server.ask, *named):
        if not is_held(server, lock_name(found.schema)):
            killed = "a run that was killed as it made it (it is empty)"
            whose = killed if found.run_id is None else f"run {found.run_id}"
            drop = (server.kind.drop_unmarked_sql if found.run_id is None else server.kind.drop_sql)(found.schema)
            left[found.schema] = Caution.of("schema-left", schema=found.schema, whose=whose, drop=drop)
    return left


def is_held(server: FoundServer, lock: str) -> bool:
    return is_true(server.ask(server.kind.probe(lock).seen))
