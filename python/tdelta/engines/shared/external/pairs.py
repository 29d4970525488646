"""Two servers of the user's as twins: whether they can be, asked before anything is made, and the schemas on both."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tdelta.driver.signals import held
from tdelta.engines.shared.external.dsn import address_of
from tdelta.engines.shared.external.kind import (
    DATA,
    PREFIX,
    GrantsBySchema,
    HasPlaces,
    ReadsOnly,
)
from tdelta.engines.shared.external.schemas import RunSchema, is_held, left_by_name
from tdelta.engines.shared.external.servers import FoundServer, checked_name, refusals_of
from tdelta.engines.shared.sessions import first
from tdelta.errors import ExternalServerFault, InvalidTwins
from tdelta.messages import Caution, Refusal


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting, or another fact, that differs between two servers and is not encryption; None where one lacks it."""

    name: str
    baseline: str | None
    encrypted: str | None
    rank: int

    def __str__(self) -> str:
        def shown(value: str | None) -> str:
            return "(does not exist)" if value is None else value or "(empty)"

        return f"{self.name}: {shown(self.baseline)} / {shown(self.encrypted)}"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two servers that can be twins, what differs between them, and what to tell about them.

    ``is_encrypted`` is how tables on the encrypted server come out: None where it cannot tell. ``is_one``: both are
    places of one server, so that their schemas need two names.
    """

    baseline: FoundServer
    encrypted: FoundServer
    differences: tuple[Difference, ...]
    cautions: tuple[Caution, ...]
    is_encrypted: bool | None
    is_one: bool = False

    def expected(self, server: FoundServer) -> bool | None:
        """How the tables of a server are to be; None: the server cannot tell."""
        if self.is_encrypted is None:
            return None
        return self.is_encrypted if server is self.encrypted else False


def pair(
    baseline: FoundServer,
    encrypted: FoundServer,
    schema: str,
    *,
    more: Sequence[str] = (),
    more_encrypted: Sequence[str] = (),
    assumed: bool = False,
    compares_builds: bool = False,
    is_own: bool = False,
) -> Pair:
    """See that two servers can be twins; nothing is made.

    Args:
        schema: the name of the schema that will be made on both.
        more: the names of further ones, on the baseline only.
        more_encrypted: the names of further ones, on the encrypted one only.
        assumed: the user says that the disk under the encrypted one is encrypted, where the server cannot tell.
        compares_builds: the other one is of another build, and neither encrypts its tables.
        is_own: the schema is the user's, there already, and only read.

    Raises:
        ExternalServerFault: what stands against it: one server twice, missing rights, a name that is taken, a replica.
        InvalidTwins: what is encrypted on them is not what a measurement needs.
    """
    is_one = _are_places_of_one(baseline, encrypted)
    both = (baseline, encrypted)
    other = schema if is_own else _encrypted_name(schema, is_one=is_one)
    look = _own_faults if is_own else _faults
    wanted = ((baseline, (schema, *more)), (encrypted, (other, *more_encrypted)))
    faults = [fault.at(server.name) for server, names in wanted for fault in look(server, names)]
    if faults:
        raise ExternalServerFault("the servers cannot be used as they are", *faults)
    is_encrypted = _encrypts(baseline, encrypted, assumed=assumed, compares_builds=compares_builds)
    cautions = [found for server in both for found in server.kind.cautions(server.ask, server.option)]
    return Pair(
        baseline,
        encrypted,
        differences(baseline, encrypted),
        (
            *_shared_cautions(baseline, encrypted, is_one=is_one),
            *cautions,
            *(() if compares_builds else _encryption_cautions(baseline, encrypted, is_encrypted)),
        ),
        is_encrypted,
        is_one,
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


@contextmanager
def own_schemas(
    found: Pair,
    name: str,
    run_id: str,
    more: Sequence[str] = (),
    more_encrypted: Sequence[str] = (),
    plain: Collection[str] = (),
    begins: Callable[[RunSchema], None] = lambda _schema: None,
) -> Iterator[tuple[RunSchema, ...]]:
    """A schema on each of two servers while the block lasts: on the baseline, on the encrypted.

    Args:
        name: what both are called; the encrypted one has another where both are places of one server.
        run_id: what they are marked with.
        more: the names of further schemas on the baseline, which follow in this order.
        more_encrypted: the names of further ones on the encrypted server, which are last.
        plain: those of the further ones whose tables are to be plain, on whichever server.
        begins: called before each is made.

    Raises:
        ExternalServerFault: one cannot be made, or not be dropped.
    """
    made: list[RunSchema] = []
    try:
        wanted = [
            *((found.baseline, name), (found.encrypted, _encrypted_name(name, is_one=found.is_one))),
            *((found.baseline, other) for other in more),
            *((found.encrypted, other) for other in more_encrypted),
        ]
        for server, called in wanted:
            schema = RunSchema(
                server, called, run_id, is_encrypted=False if called in plain else found.expected(server)
            )
            schema.make(begins)
            made.append(schema)
        yield tuple(made)
    except BaseException as error:
        for kept in _dropped(made):  # what went wrong first is what is told
            error.add_note(str(kept))
        raise
    if left := _dropped(made):
        raise ExternalServerFault("not everything could be removed", *left)


def _encrypted_name(schema: str, *, is_one: bool) -> str:
    """What the schema of the encrypted twin is called.

    Raises:
        UsageError: it is too long.
    """
    return checked_name(f"{schema}_encrypted") if is_one else schema


def _are_places_of_one(baseline: FoundServer, encrypted: FoundServer) -> bool:
    """Whether both are one server, in two places of which tables can lie.

    Raises:
        ExternalServerFault: they are of two products, or one and the same.
    """
    if baseline.identity.product != encrypted.identity.product:
        raise ExternalServerFault(
            "the servers are no twins",
            Refusal.of(
                "two-products",
                baseline=baseline.name,
                baseline_product=baseline.identity.described,
                encrypted=encrypted.name,
                encrypted_product=encrypted.identity.described,
            ),
        )
    with refusals_of(baseline.name):
        is_one = _are_one(baseline, encrypted)
    if not is_one:
        return False
    names = f"{baseline.name} and {encrypted.name}"
    plain, other = baseline.kind, encrypted.kind
    if not (isinstance(plain, HasPlaces) and isinstance(other, HasPlaces)):
        raise ExternalServerFault(names, Refusal.of("one-server-twice"))
    if plain.place == other.place:
        parameter = address_of(baseline.dsn.engine).place
        raise ExternalServerFault(names, Refusal.of("one-place-twice", parameter=parameter, place=plain.place))
    return True


def _shared_cautions(baseline: FoundServer, encrypted: FoundServer, *, is_one: bool) -> Iterator[Caution]:
    plain, other = baseline.kind, encrypted.kind
    if is_one and isinstance(plain, HasPlaces) and isinstance(other, HasPlaces):
        yield Caution.of("one-server-two-places", baseline=plain.place, encrypted=other.place, shared=plain.shared)
    if not is_one and (hosts := hosts_of(baseline, encrypted)) is not None:
        yield Caution.of("hosts-differ", baseline=hosts[0], encrypted=hosts[1])


def hosts_of(baseline: FoundServer, encrypted: FoundServer) -> tuple[str, str] | None:
    """The names of the hosts of two servers, where these are not one.

    By what the servers say, and else by their addresses. One name counts as one host only where one of the addresses is
    this machine's own: copies of one machine, or of one container, may have the same name.
    """
    both = (baseline, encrypted)
    said = [server.identity.machine for server in both]
    if all(said) and said[0].casefold() != said[1].casefold():
        return said[0], said[1]
    here = [server.dsn.is_here for server in both]
    if all(here) or (all(said) and any(here)):
        return None
    found = ["this machine" if is_here else server.dsn.host for server, is_here in zip(both, here, strict=True)]
    return None if found[0].casefold() == found[1].casefold() else (found[0], found[1])


def _are_one(baseline: FoundServer, encrypted: FoundServer) -> bool:
    """Whether a lock that is taken on the one is held on the other.

    What servers say of themselves does not tell: a copied data directory has the same identity, and two containers may
    have the same name, port and path.
    """
    name = f"{PREFIX}{secrets.token_hex(8)}"
    probe = baseline.kind.probe(name)
    first(baseline.ask(probe.take))
    try:
        return is_held(encrypted, name)
    finally:
        first(baseline.ask(probe.release))


def _faults(server: FoundServer, schemas: Sequence[str]) -> Iterator[Refusal]:
    with refusals_of(server.name):
        yield from server.kind.standing_faults(server.ask)
        grants = [*server.kind.missing_grants(server.ask)]
        if isinstance(server.kind, GrantsBySchema):
            grants += [grant for name in schemas for grant in server.kind.missing_schema_grants(server.ask, name)]
        yield from (Refusal.of("right-missing", grant=grant) for grant in dict.fromkeys(grants))
        left = left_by_name(server)
        for schema in schemas:
            if server.kind.has_schema(server.ask, schema):
                yield (
                    Refusal.of("schema-left", **left[schema].parameters)
                    if schema in left
                    else Refusal.of("schema-taken", schema=schema, said="it exists")
                )


def _own_faults(server: FoundServer, schemas: Sequence[str]) -> Iterator[Refusal]:
    """What stands against reading a schema of the user's."""
    if not isinstance(server.kind, ReadsOnly):
        yield Refusal.of("unsupported", what="--schema of your own tables", by=server.identity.product)
        return
    with refusals_of(server.name):
        yield from (Refusal.of("right-missing", grant=grant) for grant in server.kind.missing_grants(server.ask))
        for schema in dict.fromkeys(schemas):
            if not server.kind.has_schema(server.ask, schema):
                yield Refusal.of("schema-missing", schema=schema)


def _encrypts(baseline: FoundServer, encrypted: FoundServer, *, assumed: bool, compares_builds: bool) -> bool | None:
    """How tables on the encrypted server come out.

    Raises:
        InvalidTwins: the baseline's would be encrypted, or nothing is on the other.
    """
    plain, data = baseline.encryption.scope(DATA), encrypted.encryption.scope(DATA)
    for server, scope in ((baseline, plain), *([(encrypted, data)] if compares_builds else [])):
        if scope is not None and scope.is_encrypted:
            raise InvalidTwins(Refusal.of("server-encrypted", said=scope.said).at(server.name))
    if compares_builds:
        return None if data is not None and data.is_encrypted is None else False
    if data is not None and data.is_encrypted is None:
        if not assumed:
            raise InvalidTwins(
                Refusal.of("encryption-not-seen", said=data.said, remedy=encrypted.encryption.remedy).at(encrypted.name)
            )
        return None
    if (data is not None and data.is_encrypted) or encrypted.encryption.can_be_asked:
        return True
    if not set(encrypted.encryption.encrypted) - set(baseline.encryption.encrypted):
        said = "; ".join(scope.said for scope in encrypted.encryption.scopes)
        raise InvalidTwins(
            Refusal.of("nothing-encrypted", said=said, remedy=encrypted.encryption.remedy).at(encrypted.name)
        )
    return False


def _encryption_cautions(baseline: FoundServer, encrypted: FoundServer, is_encrypted: bool | None) -> Iterator[Caution]:
    if is_encrypted is None:
        yield Caution.of("encryption-assumed")
    if is_encrypted is False:
        yield Caution.of("tables-plain-on-both", encrypted=", ".join(encrypted.encryption.encrypted))
    for name in baseline.encryption.encrypted:
        yield Caution.of("baseline-encrypted-too", scope=name)
    for scope in encrypted.encryption.scopes:
        if scope.is_encrypted is False and not (scope.name == DATA and is_encrypted):
            yield Caution.of("scope-not-encrypted", scope=scope.name, said=scope.said)


def _facts(server: FoundServer) -> dict[str, str]:
    return {
        "connection": server.dsn.transport,
        "client": server.dsn.client or "the usual one",
        "on this machine": "yes" if server.dsn.is_here else "no",
        "version": server.identity.version,
    }


def _dropped(made: Sequence[RunSchema]) -> list[Refusal]:
    left: list[Refusal] = []
    with held():
        for schema in reversed(made):
            try:
                schema.drop()
            except ExternalServerFault as fault:
                left += fault.refusals
    return left
