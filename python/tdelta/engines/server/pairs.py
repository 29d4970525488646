"""Two servers of the user's as twins: whether they can be, asked before anything is made, and the schemas on both."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

from tdelta.design.actions import NOTHING, parse_action
from tdelta.engines.registry import profile
from tdelta.engines.server.base import ANSWER_SECONDS, DATA, PREFIX
from tdelta.engines.server.discovery import (
    BASELINE,
    ENCRYPTED,
    OTHER,
    FoundServer,
    checked_name,
    connect,
    examine,
    refusals_of,
    schema_name,
    server_process,
)
from tdelta.engines.server.dsn import Dsn, address_of, parse_dsn
from tdelta.engines.server.external_twins import BASELINE_PLACE, ENCRYPTED_PLACE, Access, reads_own_tables
from tdelta.engines.server.passwords import Passwords, shared_passwords
from tdelta.engines.server.schema_keeper import DROP_SECONDS
from tdelta.engines.server.schemas import RunSchema, is_held, left_by_name, leftovers
from tdelta.engines.server.sessions import LastingSession, Session, first
from tdelta.errors import (
    DsnFault,
    EnvironmentFault,
    ExternalServerFault,
    InvalidTwins,
    UsageError,
    WorkerFault,
    raise_together,
)
from tdelta.measure.children import Child
from tdelta.messages import Caution, Refusal
from tdelta.processes.signals import held
from tdelta.processes.workers import Refused
from tdelta.records import ENCRYPTION, Condition, Metric, Role, ServerFacts, ServersFacts, SettingDifference


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
    places of one server, so that their schemas need two names. ``others`` are further places of the encrypted server,
    by the level of ``cipher`` that each is.
    """

    baseline: FoundServer
    encrypted: FoundServer
    differences: tuple[Difference, ...]
    cautions: tuple[Caution, ...]
    is_encrypted: bool | None
    is_one: bool = False
    others: Mapping[str, FoundServer] = field(default_factory=dict)

    @property
    def servers(self) -> tuple[FoundServer, ...]:
        return self.baseline, self.encrypted, *self.others.values()

    def encrypted_at(self, cipher: str) -> FoundServer:
        return self.others.get(cipher, self.encrypted)

    def server_of(self, schema: FurtherSchema) -> FoundServer:
        return self.encrypted_at(schema.cipher) if schema.is_there else self.baseline

    def expected(self, server: FoundServer) -> bool | None:
        """How the tables of a server are to be; None: the server cannot tell."""
        return False if server is self.baseline and self.is_encrypted is not None else self.is_encrypted


@dataclass(frozen=True, slots=True)
class FurtherSchema:
    """A schema beside the two that twins are loaded into: ``place`` says what it is for (`place_of`).

    ``is_there``: it is on the encrypted server. ``is_plain``: its tables are to be plain, whichever server it is on.
    ``cipher``: the level that its place is; the first one where it is empty.
    """

    place: str
    name: str
    is_there: bool = False
    is_plain: bool = False
    cipher: str = ""


def pair(
    baseline: FoundServer,
    encrypted: FoundServer,
    schema: str,
    *,
    others: Mapping[str, FoundServer] = MappingProxyType({}),
    further: Sequence[FurtherSchema] = (),
    data_bytes: int = 0,
    assumed: bool = False,
    compares_builds: bool = False,
    is_own: bool = False,
    works: Collection[str] = (),
) -> Pair:
    """See that two servers can be twins; nothing is made.

    Args:
        schema: the name of the schema that will be made on both.
        others: see `Pair`.
        further: those that will be made on one only.
        data_bytes: about how large the rows of each are.
        assumed: the user says that the disk under the encrypted one is encrypted, where the server cannot tell.
        compares_builds: the other one is of another build, and neither encrypts its tables.
        is_own: the schema is the user's, there already, and only read.
        works: what trials do beside a load: names of actions, and ``cold``.

    Raises:
        ExternalServerFault: they cannot: one server twice, missing rights, a name that is taken, a replica.
        InvalidTwins: what is encrypted on them is not what a measurement needs.
    """
    is_one = _are_places_of_one(baseline, encrypted)
    for server, place in itertools.product((baseline, encrypted), others.values()):
        _are_places_of_one(server, place)
    other = schema if is_own else _encrypted_name(schema, is_one=is_one)
    look: _Look = _own_faults if is_own else partial(_faults, data_bytes=data_bytes, works=works)
    found = Pair(baseline, encrypted, (), (), None, is_one, others)
    wanted = {server.name: [schema] if server is baseline else [] for server in found.servers}
    wanted[encrypted.name].append(other)
    for one in further:
        wanted[found.server_of(one).name].append(one.name)
    faults = [fault.at(server.name) for server in found.servers for fault in look(server, wanted[server.name])]
    if faults:
        raise ExternalServerFault("the servers cannot be used as they are", *faults)
    encrypts = partial(_encrypts, baseline, assumed=assumed, compares_builds=compares_builds)
    is_encrypted, *_ = [encrypts(server) for server in found.servers[1:]]
    both = (baseline, encrypted)
    disturbed = [said for server in both for said in server.kind.disturbances(server.ask, server.option)]
    cautions = (
        *_shared_cautions(found),
        *disturbed,
        *(() if compares_builds else _encryption_cautions(baseline, encrypted, is_encrypted)),
    )
    compared = dict.fromkeys(one for server in found.servers[1:] for one in differences(baseline, server))
    return replace(found, differences=tuple(compared), cautions=cautions, is_encrypted=is_encrypted)


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
    further: Sequence[FurtherSchema] = (),
    begins: Callable[[RunSchema], None] = lambda _schema: None,
) -> Iterator[Mapping[str, RunSchema]]:
    """A schema on each of two servers while the block lasts, and further ones, by their places.

    Args:
        name: what both are called; the encrypted one has another where both are places of one server.
        run_id: what they are marked with.
        begins: called before each is made.

    Raises:
        ExternalServerFault: one cannot be made, or not be dropped.
    """
    made: dict[str, RunSchema] = {}
    try:
        wanted = [
            FurtherSchema(BASELINE_PLACE, name),
            FurtherSchema(ENCRYPTED_PLACE, _encrypted_name(name, is_one=found.is_one), is_there=True),
            *further,
        ]
        for one in wanted:
            server = found.server_of(one)
            schema = RunSchema(server, one.name, run_id, is_encrypted=False if one.is_plain else found.expected(server))
            schema.make(begins)
            made[one.place] = schema
        yield made
    except BaseException as error:
        for kept in _dropped([*made.values()]):  # the first fault is reported
            error.add_note(str(kept))
        raise
    if left := _dropped([*made.values()]):
        raise ExternalServerFault("not everything could be removed", *left)


def _encrypted_name(schema: str, *, is_one: bool) -> str:
    """The name of the encrypted twin's schema.

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
    if not (plain.place and other.place):
        raise ExternalServerFault(names, Refusal.of("one-server-twice"))
    if plain.place == other.place:
        parameter = address_of(baseline.dsn.engine).place
        raise ExternalServerFault(names, Refusal.of("one-place-twice", parameter=parameter, place=plain.place))
    return True


def _shared_cautions(found: Pair) -> Iterator[Caution]:
    plain, *others = (server.kind for server in found.servers)
    if found.is_one:
        encrypted = ", ".join(kind.place for kind in others)
        yield Caution.of("one-server-two-places", baseline=plain.place, encrypted=encrypted, shared=plain.shared)
    elif (hosts := hosts_of(found.baseline, found.encrypted)) is not None:
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

    Their identities do not show it: a copied data directory has the same one, and two containers may
    have the same name, port and path.
    """
    name = f"{PREFIX}{secrets.token_hex(8)}"
    probe = baseline.kind.probe(name)
    first(baseline.ask(probe.take))
    try:
        return is_held(encrypted, name)
    finally:
        first(baseline.ask(probe.release))


_Look: TypeAlias = Callable[[FoundServer, Sequence[str]], Iterator[Refusal]]


def _faults(server: FoundServer, schemas: Sequence[str], data_bytes: int, works: Collection[str]) -> Iterator[Refusal]:
    with refusals_of(server.name):
        yield from server.kind.standing_faults(server.ask)
        yield from server.kind.schema_faults(server.ask, schemas, data_bytes)
        grants = [*server.kind.missing_grants(server.ask), *server.kind.missing_work_grants(server.ask, works)]
        grants += [grant for name in schemas for grant in server.kind.missing_schema_grants(server.ask, name)]
        yield from (Refusal.of("right-missing", grant=grant) for grant in dict.fromkeys(grants))
        left = left_by_name(server, *schemas)
        for schema in schemas:
            if server.kind.has_schema(server.ask, schema):
                yield (
                    Refusal.of("schema-left", **left[schema].parameters)
                    if schema in left
                    else Refusal.of("schema-taken", schema=schema, said="it exists")
                )


def _own_faults(server: FoundServer, schemas: Sequence[str]) -> Iterator[Refusal]:
    """Objections to reading a schema of the user's."""
    if server.kind.read_only is None:
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


_PROGRAM = "tdelta.engines.server.schema_keeper"
_END_SECONDS = 5.0


class SchemaKeeper:
    """A keeper while a block lasts, by whose end the schemas are dropped, or were named as what is left.

    How the servers are reached goes through a pipe into its memory, and nowhere else. A run whose keeper is killed goes
    on without one.
    """

    def __init__(
        self, servers: Sequence[FoundServer], run_id: str, password: Callable[[FoundServer], str | None]
    ) -> None:
        self._child = Child(_PROGRAM, os.environ)
        for server in servers:
            self._tell(
                "keep",
                server=server.option,
                run_id=run_id,
                engine=server.identity.engine,
                program=server.dsn.program,
                options=server.dsn.options(password(server), setup=server.kind.session_sql),
            )

    def __enter__(self) -> SchemaKeeper:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self._child.close(_END_SECONDS)

    def outlive(self) -> None:
        """Leave it alone, as the death of this process would: it drops what it has charge of, and ends."""
        self._child.close(DROP_SECONDS + _END_SECONDS)

    def begins(self, schema: RunSchema) -> None:
        self._tell("begin", server=schema.server.option, schema=schema.name, sessions=schema.sessions)

    def _tell(self, do: str, **arguments: object) -> None:
        with contextlib.suppress(EnvironmentFault, WorkerFault):
            self._child.send(do, **arguments)


_MOST_SAID = 10
"""So many differences are said in cautions; all are in the JSON document."""


def options_of(contrast: str) -> tuple[str, str]:
    """The options that name the two servers: the other one is encrypted, or of another build."""
    return BASELINE, ENCRYPTED if contrast == ENCRYPTION else OTHER


def external_dsns(baseline: str | None, encrypted: str | None, contrast: str) -> tuple[Dsn, Dsn] | None:
    """The servers that the options of a run name; None where they name none.

    Raises:
        DsnFault: a DSN has faults.
        UsageError: only one is given, or both have faults, or they are of engines that are no twins.
    """
    given, names = (baseline, encrypted), options_of(contrast)
    if given == (None, None):
        return None
    if None in given:
        missing = names[given.index(None)]
        raise UsageError(Refusal.of("one-server-alone", missing=missing, baseline=names[0], encrypted=names[1]))
    dsns, faults = [], []
    for option, text in zip(names, given, strict=True):
        try:
            dsns.append(parse_dsn(str(text), option))
        except DsnFault as fault:
            faults.append(fault)
    raise_together(faults)
    if len(dsns[0].each) > 1 or (len(dsns[1].each) > 1 and contrast != ENCRYPTION):
        one = f"one {address_of(dsns[0].engine).place}; several can be encrypted conditions only"
        raise UsageError(Refusal.of("dsn-malformed", expected=one).at(names[0]))
    if len({profile(dsn.engine).protocol for dsn in dsns}) > 1:
        found = " and ".join(dsn.engine for dsn in dsns)
        raise UsageError(Refusal.of("servers-of-two-engines", options=", ".join(names), found=found))
    return dsns[0], dsns[1]


def place_of(condition: Condition, injected: Sequence[float], further: Sequence[str] = ()) -> str:
    """Which schema a condition's is.

    Args:
        further: the levels of ``cipher`` at which the encrypted server has further places.
    """
    during = str(condition.get("during", NOTHING))
    if during != NOTHING:
        return _changed_schema_role(during)
    if condition.role is Role.INJECTED:
        return _injected_schema_role(injected.index(condition.injected or 0.0))
    role = {Role.TREATMENT: ENCRYPTED_PLACE, Role.BASELINE: BASELINE_PLACE}.get(condition.role, condition.role.value)
    return schema_role(role, str(condition.level("cipher")), further)


def schema_role(role: str, cipher: str, further: Sequence[str]) -> str:
    return re.sub("[^a-z0-9]", "_", f"{role}_{cipher}".lower()) if cipher in further else role


def _injected_schema_role(number: int) -> str:
    return f"injected{number + 1}"


def _changed_schema_role(during: str) -> str:
    """Where a schema is whose encryption is changed beside its load: one for each level, since loads change rows."""
    return re.sub("[^a-z0-9]", "_", during)


def _further_schemas(
    options: Mapping[str, Any], schema: str, ciphers: Sequence[str] = (), *, is_own: bool
) -> tuple[FurtherSchema, ...]:
    """Those that a run needs. One whose encryption is changed beside its load is plain before each trial.

    Args:
        ciphers: the levels at which the encrypted server has further places.

    Raises:
        UsageError: the name of one is too long.
    """
    is_test = options["self_test"]
    here = [Role.AA.value] if options["aa_control"] else []
    here += [Role.IDENTICAL.value] if is_test else []
    here += [_injected_schema_role(number) for number in range(len(options["inject"]))]
    there = [Role.BB.value] if options["bb_control"] and not is_test else []
    levels = [] if is_test else options["vary"].get("during", ())
    changed = [_changed_schema_role(str(level)) for level in levels if level != NOTHING]

    def named(place: str) -> str:
        return schema if is_own else checked_name(f"{schema}_{place}")

    roles = [(schema_role(role, cipher, ciphers), cipher) for cipher in ciphers for role in (ENCRYPTED_PLACE, *there)]
    return (
        *(FurtherSchema(role, named(role), is_there=True, cipher=cipher) for role, cipher in roles),
        *(FurtherSchema(place, named(place)) for place in here),
        *(FurtherSchema(place, named(place), is_there=True) for place in there),
        *(FurtherSchema(place, named(place), is_there=True, is_plain=True) for place in changed),
    )


@dataclass(slots=True)
class ReachedServers:
    """Two servers that can be twins. ``schemas`` are there while `made` lasts, by place.

    The sessions that examine stay open for the whole run, since they hold the locks by which a living run's schemas are
    told from what a killed one left.

    ``is_own``: the schema is the user's, and every place is it.
    """

    pair: Pair
    run_id: str
    schema: str
    further: tuple[FurtherSchema, ...]
    access: Access
    left: tuple[Caution, ...]
    schemas: Mapping[str, RunSchema] = field(default_factory=dict)
    is_own: bool = False

    @property
    def both(self) -> tuple[FoundServer, FoundServer]:
        return self.pair.baseline, self.pair.encrypted

    @contextmanager
    def made(self) -> Iterator[None]:
        """The schemas of the run, while the block lasts.

        Raises:
            ExternalServerFault: one cannot be made, or not be dropped.
        """
        if self.is_own:
            self.schemas = self.own()
            yield
            return
        with (
            SchemaKeeper(self.both, self.run_id, self.access.password) as keeper,
            own_schemas(self.pair, self.schema, self.run_id, self.further, keeper.begins) as schemas,
        ):
            self.schemas = schemas
            yield

    def own(self) -> Mapping[str, RunSchema]:
        """The user's schema on each server, by place; nothing is made."""
        placed = {BASELINE_PLACE: self.pair.baseline, ENCRYPTED_PLACE: self.pair.encrypted}
        placed |= {one.place: self.pair.server_of(one) for one in self.further}
        return {
            place: RunSchema(server, self.schema, self.run_id, is_encrypted=self.pair.expected(server), is_own=True)
            for place, server in placed.items()
        }

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """Cautions with the answer: remains of killed runs, the state of the servers, their differences."""
        return (
            *self.left,
            *self.pair.cautions,
            *self._difference_cautions(),
            Caution.of("one-server-of-each-kind"),
            *((Caution.of("own-tables"),) if self.is_own else ()),
            *self._cpu_cautions(),
            *self._vendor_cautions(),
        )

    def require_alone(self) -> None:
        """Check that tdelta is alone there: emptying caches slows down every other session.

        Raises:
            ExternalServerFault: another session is active.
        """
        active = [caution for caution in self.pair.cautions if caution.code == "other-sessions"]
        if active:
            others = Refusal.of("cold-among-others", sessions=sum(int(one.parameters["sessions"]) for one in active))
            raise ExternalServerFault("the servers are in use", others)

    @property
    def meters_cpu(self) -> bool:
        """Whether the CPU time of single statements can be had: by both servers' account, or as processes here."""
        tracings = [server.kind.tracing for server in self.both if server.kind.tracing is not None]
        accounted = all(any("cpu_ns" in query for query in tracing.counters) for tracing in tracings)
        return accounted or (bool(self.access.processes) and all(tracing.thread for tracing in tracings))

    def _cpu_cautions(self) -> Iterator[Caution]:
        if not self.access.processes:
            is_accounted = _account(self.pair)
            yield Caution.of("servers-cpu-accounted") if is_accounted else Caution.of("servers-cpu-unknown")

    def _vendor_cautions(self) -> Iterator[Caution]:
        address = address_of(self.pair.baseline.identity.engine)
        if address.is_untried:
            yield Caution.of("engine-untried", product=self.pair.baseline.identity.product)
        if address.publishing:
            yield Caution.of("results-licensed", said=address.publishing)
        for server in self.both if address.tls_port else ():
            if server.dsn.tls == "disable" and not server.dsn.is_here:
                yield Caution.of("network-open", server=server.name, port=address.tls_port)

    def _difference_cautions(self) -> Iterator[Caution]:
        found = sorted(self.pair.differences, key=lambda difference: not self._is_important(difference))
        for difference in found[:_MOST_SAID]:
            yield Caution.of("settings-differ", difference=str(difference))
        if len(found) > _MOST_SAID:
            yield Caution.of("more-settings-differ", settings=len(found) - _MOST_SAID)

    def _is_important(self, difference: Difference) -> bool:
        return difference.rank < len(self.pair.baseline.kind.rule.important)

    def identity(self) -> str:
        """Facts that must be the same when a run is resumed."""
        return "; ".join(f"{server.dsn}: {server.identity.described}" for server in self.pair.servers)

    def facts(self) -> ServersFacts:
        baseline, encrypted = (self._facts_of(server) for server in self.both)
        return ServersFacts(
            baseline,
            encrypted,
            self.schema,
            assumed=self.pair.is_encrypted is None,
            differences=tuple(
                SettingDifference(one.name, one.baseline, one.encrypted, self._is_important(one))
                for one in self.pair.differences
            ),
        )

    def _facts_of(self, server: FoundServer) -> ServerFacts:
        return ServerFacts(
            option=server.option,
            where=server.dsn.where,
            product=server.identity.product,
            version=server.identity.version,
            connection=server.dsn.transport,
            scopes={scope.name: scope.said for scope in server.encryption.scopes},
            encrypted=server.encryption.encrypted,
            has_cpu_time=server.option in self.access.processes,
        )


@contextmanager
def reached(options: Mapping[str, Any], dsns: tuple[Dsn, Dsn], run_id: str) -> Iterator[ReachedServers]:
    """Two servers, connected to and compared; nothing is made on them.

    Raises:
        DsnFault: a password cannot be read.
        ExternalServerFault: they cannot be twins; has every reason.
        InvalidTwins: what is encrypted on them is not what a measurement needs.
        UsageError: the schema's name, or a metric that cannot be had.
    """
    is_own = reads_own_tables(options["baseline"], options["schema"], options["workload"])
    schema = schema_name(run_id, options["schema"], is_own=is_own)
    ciphers = further_ciphers(dsns)
    further = _further_schemas(options, schema, ciphers, is_own=is_own)
    with shared_passwords() as passwords, ExitStack() as stack:
        named = dict(zip(options_of(options["contrast"]), dsns, strict=True))
        passwords.read(named.items())
        baseline, encrypted, *others = _examined(named, passwords, stack)
        found = pair(
            baseline,
            encrypted,
            schema,
            others=dict(zip(ciphers, others, strict=True)),
            further=further,
            data_bytes=options["size_bytes"],
            assumed=options["assume_encrypted"],
            compares_builds=options["contrast"] != ENCRYPTION,
            is_own=is_own,
            works=_works(options),
        )
        left = (*leftovers(baseline), *(() if found.is_one else leftovers(encrypted)))
        access = Access(lambda server: passwords.of(server.dsn), _processes(named))
        _require_metric(options["metric"], access, found)
        yield ReachedServers(found, run_id, schema, further, access, left, is_own=is_own)


def _works(options: Mapping[str, Any]) -> frozenset[str]:
    """The works of trials beside a load: names of actions, and ``cold`` where caches are emptied."""
    varied = {parse_action(str(level)).name for level in options["vary"].get("work", ())}
    return frozenset({*varied, "cold"} if options["cold"] else varied)


def further_ciphers(dsns: tuple[Dsn, Dsn]) -> tuple[str, ...]:
    """The levels of ``cipher`` that are further places of the encrypted server."""
    return tuple(map(cipher_of, dsns[1].each[1:]))


def cipher_of(dsn: Dsn) -> str:
    """The level of ``cipher`` that a place is, where there are several."""
    return (dsn.place or "").lower()


def _examined(named: Mapping[str, Dsn], passwords: Passwords, stack: ExitStack) -> list[FoundServer]:
    """Both servers at all their places, identified; the faults of both are reported together."""
    found, faults = [], []
    for option, dsn in named.items():
        try:
            connection = connect(option, dsn, passwords, partial(_lasting, dsn.program))
            stack.callback(connection.close)
            found += [examine(option, one, connection) for one in dsn.each]
        except ExternalServerFault as fault:
            faults.append(fault)
    passwords.forget_rejected()  # not earlier: both DSNs may name the same user, who is asked once
    if len(faults) == 1:
        raise faults[0]
    if faults:
        raise ExternalServerFault("neither server can be used", *(one for fault in faults for one in fault.refusals))
    return found


def _lasting(program: str, options: Mapping[str, object]) -> Session:
    limited = {**options, "answer_seconds": ANSWER_SECONDS}
    return LastingSession(lambda: Session(limited, program, Refused))


def _processes(named: Mapping[str, Dsn]) -> dict[str, int]:
    """The servers' processes, or none: a CPU time that only one of two has would compare nothing."""
    seen = {option: server_process(dsn) for option, dsn in named.items()}
    found = {option: process for option, process in seen.items() if process is not None}
    return found if len(found) == len(seen) else {}


def _account(found: Pair) -> bool:
    return all(bool(server.kind.cpu_sql) for server in (found.baseline, found.encrypted))


def _require_metric(metric: Metric, access: Access, found: Pair) -> None:
    is_seen = bool(access.processes) or (metric is Metric.CPU_PER_OPERATION and _account(found))
    if metric is not Metric.RESPONSE_TIME and not is_seen:
        raise UsageError(Refusal.of("metric-out-of-sight", metric=metric.value))
