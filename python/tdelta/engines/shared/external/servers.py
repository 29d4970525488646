"""Two servers of the user's as twins: whether they can be, and a schema on each that is tdelta's and nothing else.

Everything is asked before anything is made. A schema that exists is never touched, whoever made it: tdelta makes its
own under a name that is free, with a mark that names the run, holds a lock on it for as long as the run lives, and
drops it only while the mark is there. After a ``kill -9`` the schema is left; `leftovers` finds it by mark and free
lock, and says what removes it.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tdelta.driver.database_answers import Refused
from tdelta.driver.signals import held
from tdelta.engines.registry import external, profile, profiles
from tdelta.engines.shared.external.connection import server_name
from tdelta.engines.shared.external.dsn import Dsn
from tdelta.engines.shared.external.kind import (
    DATA,
    PREFIX,
    SCHEMA_NAME,
    Encryption,
    ExternalServer,
    Found,
    GrantsBySchema,
    Identity,
    NewSchema,
)
from tdelta.engines.shared.sessions import Ask, Connection, Row, asking, first
from tdelta.errors import OwnServerFault, UnsoundTwins, UsageError

BASELINE, ENCRYPTED = "--baseline", "--encrypted"
"""The options that the two servers are given by, and what they are called in messages."""

_ANSWERS_WITHOUT_TYPES = frozenset({"1", "t", "true"})


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A user's server as it was found, with the session by which it was asked."""

    option: str
    dsn: Dsn
    connection: Connection
    kind: ExternalServer
    encryption: Encryption
    settings: Mapping[str, str]

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return server_name(self.option, self.dsn)

    @property
    def identity(self) -> Identity:
        """Who answers there."""
        return self.kind.identity

    def ask(self, sql: str) -> Sequence[Row]:
        """Run one query."""
        return asking(self.connection)(sql)


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting, or another fact, that differs between two servers and is not encryption; None where one lacks it."""

    name: str
    baseline: str | None
    encrypted: str | None
    rank: int

    def __str__(self) -> str:
        def told(value: str | None) -> str:
            return "(does not exist)" if value is None else value or "(empty)"

        return f"{self.name}: {told(self.baseline)} / {told(self.encrypted)}"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two servers that can be twins, what differs between them, and what to tell about them.

    ``is_encrypted`` is how tables on the encrypted server come out: None where it cannot tell.
    """

    baseline: FoundServer
    encrypted: FoundServer
    differences: tuple[Difference, ...]
    cautions: tuple[str, ...]
    is_encrypted: bool | None

    def expected(self, server: FoundServer) -> bool | None:
        """How the tables of a server are to be; None: the server cannot tell."""
        if self.is_encrypted is None:
            return None
        return self.is_encrypted if server is self.encrypted else False


def examine(option: str, dsn: Dsn, connection: Connection) -> FoundServer:
    """Ask a server who it is, what it encrypts, and for its settings.

    With MySQL's protocol the server says whether it is MySQL or MariaDB; the DSN need not know.

    Raises:
        OwnServerFault: it does not answer what every server of its engine answers.
    """
    ask = asking(connection)
    with _told(server_name(option, dsn)):
        kind = _kind(dsn, ask)
        for statement in kind.session_sql:
            connection.run(statement)
        return FoundServer(option, dsn, connection, kind, kind.encryption(ask), dict(kind.settings(ask)))


def schema_name(run_id: str, given: str | None) -> str:
    """The schema's name: the user's, or one that names the run.

    Raises:
        UsageError: the user's is none that every engine takes as it is.
    """
    if given is None:
        return PREFIX + "".join(c if c.isascii() and c.isalnum() else "_" for c in run_id.lower())
    if not SCHEMA_NAME.match(given):
        raise UsageError(
            f"--schema {given!r}: expected up to 63 of a-z, 0-9 and _, a letter first, of a schema that does not exist"
        )
    return given


def pair(
    baseline: FoundServer,
    encrypted: FoundServer,
    schema: str,
    *,
    more: Sequence[str] = (),
    more_encrypted: Sequence[str] = (),
    assumed: bool = False,
) -> Pair:
    """See that two servers can be twins; nothing is made.

    Args:
        baseline: the plain one.
        encrypted: the encrypted one.
        schema: the name of the schema that will be made on both.
        more: the names of further ones, on the baseline only.
        more_encrypted: the names of further ones, on the encrypted one only.
        assumed: the user says that the disk under the encrypted one is encrypted, where the server cannot tell.

    Raises:
        OwnServerFault: all that stands against it: one server twice, missing rights, a name that is taken, a replica.
        UnsoundTwins: what is encrypted on them is not what a measurement needs.
    """
    _require_two(baseline, encrypted)
    both = (baseline, encrypted)
    wanted = ((baseline, (schema, *more)), (encrypted, (schema, *more_encrypted)))
    faults = [f"{server.name}: {fault}" for server, names in wanted for fault in _faults(server, names)]
    if faults:
        raise OwnServerFault("the servers cannot be used as they are", faults)
    is_encrypted = _encrypts(baseline, encrypted, assumed=assumed)
    cautions = [f"{server.option}: {said}" for server in both for said in server.kind.cautions(server.ask)]
    return Pair(
        baseline,
        encrypted,
        differences(baseline, encrypted),
        (*cautions, *_encryption_cautions(baseline, encrypted, is_encrypted)),
        is_encrypted,
    )


def differences(baseline: FoundServer, encrypted: FoundServer) -> tuple[Difference, ...]:
    """Settings in which two servers differ and that are not encryption, the important ones first."""
    rule = baseline.kind.rule
    facts = (_facts(baseline), _facts(encrypted))
    found = [
        Difference(name, facts[0][name], facts[1][name], -1) for name in facts[0] if facts[0][name] != facts[1][name]
    ]
    for name in baseline.settings.keys() | encrypted.settings.keys():
        values = baseline.settings.get(name), encrypted.settings.get(name)
        if values[0] != values[1] and not rule.left_out.match(name):
            found.append(Difference(name, *values, rule.rank(name)))
    return tuple(sorted(found, key=lambda difference: (difference.rank, difference.name)))


# -------------------------------------------------------------------------------------------------- tdelta's schema


class RunSchema:
    """A schema of tdelta's on one server: made, locked while this run lives, dropped if its mark is there.

    Args:
        server: where.
        name: its name.
        run_id: what it is marked with.
        is_encrypted: how its tables are to be; None: as the server has it.
    """

    def __init__(self, server: FoundServer, name: str, run_id: str, *, is_encrypted: bool | None) -> None:
        self.server = server
        self.name = name
        self.run_id = run_id
        self.is_encrypted = is_encrypted
        self._new = NewSchema(name, run_id, is_encrypted)

    def options(self, password: str | None) -> dict[str, object]:
        """How the connections of a load are opened (`tdelta._native.ServerTwin`): they work in this schema."""
        kind = self.server.kind
        sessions = kind.sessions(self._new)
        return self.server.dsn.options(password, database=sessions.database, setup=(*kind.session_sql, *sessions.setup))

    def make(self) -> None:
        """Make it, with its mark.

        Raises:
            OwnServerFault: there is one of that name, or the server refuses; nothing of this run is left then.
        """
        server = self.server
        if server.kind.has_schema(server.ask, self.name):
            raise OwnServerFault(server.name, _taken(self.name))
        first(server.ask(server.kind.probe(_lock_name(self.name)).take))
        statements = server.kind.make_sql(self._new)
        with held():  # a Ctrl-C between schema and mark would leave what nobody dares to drop
            for done, statement in enumerate(statements):
                self._run(statement, has_schema=done > 0)

    def require_tables(self) -> None:
        """See in the engine's own catalog that every table is as this twin's tables have to be.

        Raises:
            UnsoundTwins: one is not; names all of them.
        """
        if self.is_encrypted is None:
            return
        found = self.server.kind.tables(self.server.ask, self.name)
        wrong = sorted(table for table, is_encrypted in found.items() if is_encrypted is not self.is_encrypted)
        if wrong:
            wanted = "encrypted" if self.is_encrypted else "plain"
            raise UnsoundTwins(
                f"{self.server.name}: expected every table of {self.name} to be {wanted}, found otherwise by the"
                f" server's catalog: {', '.join(wrong)}; {self.server.encryption.remedy}"
            )

    def drop(self) -> None:
        """Remove it with all that is in it, if the mark of this run is there.

        Raises:
            OwnServerFault: it is not, or the server refuses; the message says what is left and how it is removed.
        """
        server = self.server
        remedy = f"schema {self.name} is left there; remove it: {server.kind.drop_sql(self.name)}"
        try:
            marked = Found(self.name, self.run_id) in server.kind.own_schemas(server.ask)
            if not marked and not server.kind.has_schema(server.ask, self.name):
                return
            if not marked:
                raise OwnServerFault(
                    server.name,
                    f"the mark of run {self.run_id} is gone, so it is not touched: {remedy} if it is tdelta's",
                )
            server.connection.run(server.kind.drop_sql(self.name))
            first(server.ask(server.kind.probe(_lock_name(self.name)).release))
        except Refused as refusal:
            raise OwnServerFault(server.name, f"{refusal}; {remedy}") from refusal

    def _run(self, statement: str, *, has_schema: bool) -> None:
        try:
            self.server.connection.run(statement)
        except Refused as refusal:
            if has_schema:  # made a moment ago by this very call, and empty
                with contextlib.suppress(Refused):
                    self.server.connection.run(self.server.kind.drop_sql(self.name))
                raise OwnServerFault(self.server.name, f"it refuses what tdelta needs: {refusal}") from refusal
            raise OwnServerFault(self.server.name, _taken_or(refusal, self.name)) from refusal


@contextmanager
def own_schemas(
    found: Pair, name: str, run_id: str, more: Sequence[str] = (), more_encrypted: Sequence[str] = ()
) -> Iterator[tuple[RunSchema, ...]]:
    """A schema on each of two servers while the block lasts: on the baseline, on the encrypted.

    Args:
        found: the servers.
        name: what both are called.
        run_id: what they are marked with.
        more: the names of further schemas on the baseline, which follow in this order.
        more_encrypted: the names of further ones on the encrypted server, which are last.

    Raises:
        OwnServerFault: one cannot be made, or not be dropped.
    """
    made: list[RunSchema] = []
    try:
        wanted = [
            *((found.baseline, name), (found.encrypted, name)),
            *((found.baseline, other) for other in more),
            *((found.encrypted, other) for other in more_encrypted),
        ]
        for server, called in wanted:
            schema = RunSchema(server, called, run_id, is_encrypted=found.expected(server))
            schema.make()
            made.append(schema)
        yield tuple(made)
    except BaseException as error:
        for kept in _dropped(made):  # what went wrong first is what is told
            error.add_note(kept)
        raise
    if left := _dropped(made):
        raise OwnServerFault("not everything could be removed", left)


def leftovers(server: FoundServer) -> tuple[str, ...]:
    """The schemas that killed runs left on a server, each with what removes it; those of living runs are none."""
    return tuple(f"{server.name}: {said}" for said in _left_by_name(server).values())


def _left_by_name(server: FoundServer) -> dict[str, str]:
    left = {}
    for found in server.kind.own_schemas(server.ask):
        if not _is_held(server, _lock_name(found.schema)):
            killed = "a run that was killed as it made it (it is empty)"
            whose = killed if found.run_id is None else f"run {found.run_id}"
            remedy = server.kind.drop_sql(found.schema)
            left[found.schema] = f"schema {found.schema} is left of {whose}; remove it: {remedy}"
    return left


# ------------------------------------------------------------------------------------------------------------ parts


def _kind(dsn: Dsn, ask: Ask) -> ExternalServer:
    """Which engine answers, of those that speak the protocol of the DSN's."""
    protocol = profile(dsn.engine).protocol
    speaking = (one.name for one in profiles() if one.address is not None and one.protocol == protocol)
    kinds = (external(name).kind(ask) for name in speaking)
    found: ExternalServer = next(kind for kind in kinds if kind is not None)
    return found


@contextmanager
def _told(name: str) -> Iterator[None]:
    """What a server refuses, as a fault of that server."""
    try:
        yield
    except Refused as refusal:
        raise OwnServerFault(name, str(refusal)) from refusal


def _require_two(baseline: FoundServer, encrypted: FoundServer) -> None:
    if baseline.identity.product != encrypted.identity.product:
        raise OwnServerFault(
            "the servers are no twins",
            f"{baseline.name} is {baseline.identity.described}, {encrypted.name} is {encrypted.identity.described}:"
            " expected the same product twice",
        )
    with _told(baseline.name):
        is_one = _are_one(baseline, encrypted)
    if is_one:
        raise OwnServerFault(
            f"{baseline.name} and {encrypted.name}",
            "both are one and the same server: expected two, one plain and one encrypted",
        )


def _are_one(baseline: FoundServer, encrypted: FoundServer) -> bool:
    """Whether a lock that is taken on the one is held on the other.

    What servers say of themselves does not tell: a copied data directory has the same identity, and two containers may
    have the same name, port and path.
    """
    name = f"{PREFIX}{secrets.token_hex(8)}"
    probe = baseline.kind.probe(name)
    first(baseline.ask(probe.take))
    try:
        return _is_held(encrypted, name)
    finally:
        first(baseline.ask(probe.release))


def _is_held(server: FoundServer, lock: str) -> bool:
    return first(server.ask(server.kind.probe(lock).seen)) in _ANSWERS_WITHOUT_TYPES


def _lock_name(schema: str) -> str:
    """Within the 64 characters that MySQL allows."""
    return f"schema {schema}"[:64]


def _faults(server: FoundServer, schemas: Sequence[str]) -> Iterator[str]:
    with _told(server.name):
        yield from server.kind.standing_faults(server.ask)
        grants = [*server.kind.missing_grants(server.ask)]
        if isinstance(server.kind, GrantsBySchema):
            grants += [grant for name in schemas for grant in server.kind.missing_schema_grants(server.ask, name)]
        yield from (f"a right is missing: {grant}" for grant in dict.fromkeys(grants))
        left = _left_by_name(server)
        for schema in schemas:
            if server.kind.has_schema(server.ask, schema):
                yield left.get(schema, _taken(schema))


def _taken(schema: str) -> str:
    return f"expected no schema {schema}, found one, which is left as it is: name another with --schema"


def _taken_or(refusal: Refused, schema: str) -> str:
    return f"schema {schema} cannot be made: {refusal}; if it exists, it is left as it is: name another with --schema"


def _encrypts(baseline: FoundServer, encrypted: FoundServer, *, assumed: bool) -> bool | None:
    """How tables on the encrypted server come out.

    Raises:
        UnsoundTwins: the baseline's would be encrypted, or nothing is on the other.
    """
    plain, data = baseline.encryption.scope(DATA), encrypted.encryption.scope(DATA)
    if plain is not None and plain.is_encrypted:
        raise UnsoundTwins(f"{baseline.name}: expected plain tables, found them encrypted: {plain.said}")
    if data is not None and data.is_encrypted is None:
        if not assumed:
            raise UnsoundTwins(f"{encrypted.name}: {data.said}: {encrypted.encryption.remedy}")
        return None
    if (data is not None and data.is_encrypted) or encrypted.encryption.can_be_asked:
        return True
    if not set(encrypted.encryption.encrypted) - set(baseline.encryption.encrypted):
        said = "; ".join(scope.said for scope in encrypted.encryption.scopes)
        raise UnsoundTwins(
            f"{encrypted.name}: expected encryption that the baseline lacks, found none: {said};"
            f" {encrypted.encryption.remedy}"
        )
    return False


def _encryption_cautions(baseline: FoundServer, encrypted: FoundServer, is_encrypted: bool | None) -> Iterator[str]:
    if is_encrypted is None:
        yield "that the encrypted server's disk is encrypted, and the baseline's is not, is what the user says"
    if is_encrypted is False:
        yield f"tables are plain on both servers; encrypted is only: {', '.join(encrypted.encryption.encrypted)}"
    for name in baseline.encryption.encrypted:
        yield f"{name} is encrypted on the baseline, too: what that costs is not in the answer"
    for scope in encrypted.encryption.scopes:
        if scope.is_encrypted is False and not (scope.name == DATA and is_encrypted):
            yield f"not encrypted on the encrypted server: {scope.name} ({scope.said})"


def _facts(server: FoundServer) -> dict[str, str]:
    """What lies between the load and the server, beside settings."""
    return {
        "connection": server.dsn.transport,
        "on this machine": "yes" if server.dsn.is_here else "no",
        "version": server.identity.version,
    }


def _dropped(made: Sequence[RunSchema]) -> list[str]:
    """Drop every schema, whatever becomes of the others. Returns what is left, and why."""
    left = []
    with held():
        for schema in reversed(made):
            try:
                schema.drop()
            except OwnServerFault as fault:
                left.append(str(fault))
    return left
