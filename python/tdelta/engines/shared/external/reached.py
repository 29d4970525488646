"""Two servers of the user's, made ready for a run: reached, examined, compared, and given tdelta's schemas.

The sessions that examine stay open for the whole run, since they hold the locks by which a living run's schemas are
told from what a killed one left.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tdelta.design.actions import NOTHING
from tdelta.engines.shared.external.dsn import Dsn, address_of, parse_dsn
from tdelta.engines.shared.external.kind import ANSWER_SECONDS, AccountsCpu, MetersStatements
from tdelta.engines.shared.external.nearby import server_process
from tdelta.engines.shared.external.own_tables import reads_own_tables
from tdelta.engines.shared.external.pairs import Difference, Pair, own_schemas, pair
from tdelta.engines.shared.external.schemas import RunSchema, leftovers
from tdelta.engines.shared.external.secrets import Passwords
from tdelta.engines.shared.external.servers import (
    BASELINE,
    ENCRYPTED,
    OTHER,
    FoundServer,
    checked_name,
    connect,
    examine,
    schema_name,
)
from tdelta.engines.shared.external.twins import BASELINE_PLACE, ENCRYPTED_PLACE, Access
from tdelta.engines.shared.sessions import Connection, LastingSession, WorkerSession
from tdelta.errors import DsnFault, EnvironmentFault, ExternalServerFault, UsageError, WorkerFault, raise_together
from tdelta.measure.children import Child
from tdelta.messages import Caution, Refusal
from tdelta.records import ENCRYPTION, Condition, Metric, Role, ServerFacts, ServersFacts, SettingDifference

_PROGRAM = "tdelta.engines.shared.external.keeper"
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

    def begins(self, schema: RunSchema) -> None:
        self._tell("begin", server=schema.server.option, schema=schema.name, sessions=schema.sessions)

    def _tell(self, do: str, **arguments: object) -> None:
        with contextlib.suppress(EnvironmentFault, WorkerFault):
            self._child.send(do, **arguments)


_MOST_SAID = 10
"""So many differences are said in cautions; all are in the JSON document."""


def options_of(options: Mapping[str, Any]) -> tuple[str, str]:
    """What names the two servers: the other one is encrypted, or of another build."""
    return BASELINE, ENCRYPTED if options["contrast"] == ENCRYPTION else OTHER


def external_dsns(options: Mapping[str, Any]) -> tuple[Dsn, Dsn] | None:
    """The servers that the options of a run name; None where they name none.

    Raises:
        DsnFault: a DSN has faults.
        UsageError: only one is given, or both have faults, or they are of engines that are no twins.
    """
    given = (options["baseline"], options["encrypted"])
    if given == (None, None):
        return None
    if None in given:
        baseline, other = names = options_of(options)
        missing = names[given.index(None)]
        raise UsageError(Refusal.of("one-server-alone", missing=missing, baseline=baseline, encrypted=other))
    dsns, faults = [], []
    for option, text in zip(options_of(options), given, strict=True):
        try:
            dsns.append(parse_dsn(str(text), option))
        except DsnFault as fault:
            faults.append(fault)
    raise_together(faults)
    if len({_protocol(dsn) for dsn in dsns}) > 1:
        found = " and ".join(dsn.engine for dsn in dsns)
        raise UsageError(Refusal.of("servers-of-two-engines", options=", ".join(options_of(options)), found=found))
    return dsns[0], dsns[1]


def _protocol(dsn: Dsn) -> str:
    return str(dsn.options(None)["protocol"])


def place_of(condition: Condition, injected: Sequence[float]) -> str:
    during = str(dict(condition.levels).get("during", NOTHING))
    if during != NOTHING:
        return _changed_schema_role(during)
    if condition.role is Role.INJECTED:
        return _injected_schema_role(injected.index(condition.injected or 0.0))
    return {Role.TREATMENT: ENCRYPTED_PLACE, Role.BASELINE: BASELINE_PLACE}.get(condition.role, condition.role.value)


def _injected_schema_role(number: int) -> str:
    return f"injected{number + 1}"


def _changed_schema_role(during: str) -> str:
    """Where a schema is whose encryption is changed beside its load: one for each level, since loads change rows."""
    return re.sub("[^a-z0-9]", "_", during)


def _further_schema_roles(options: Mapping[str, Any]) -> list[str]:
    """The places on the baseline's server beside the first; `_encrypted_schema_roles` has those on the other."""
    aa = [Role.AA.value] if options["aa_control"] else []
    identical = [Role.IDENTICAL.value] if options["self_test"] else []
    return [*aa, *identical, *map(_injected_schema_role, range(len(options["inject"])))]


def _encrypted_schema_roles(options: Mapping[str, Any]) -> list[str]:
    """The places on the encrypted server beside the first."""
    return [Role.BB.value] if options["bb_control"] and not options["self_test"] else []


def _changed_schema_roles(options: Mapping[str, Any]) -> list[str]:
    """The places on the encrypted server that are plain before each trial."""
    levels = [] if options["self_test"] else options["vary"].get("during", ())
    return [_changed_schema_role(str(level)) for level in levels if level != NOTHING]


@dataclass(slots=True)
class ReachedServers:
    """Two servers that can be twins. ``schemas`` are there while `made` lasts, by place.

    ``places`` are the further ones on the baseline, ``encrypted_places`` those on the encrypted server, and
    ``changed_places`` those there which are plain at first, each with its schema's name. ``is_own``: the schema is the
    user's, and every place is it.
    """

    pair: Pair
    run_id: str
    schema: str
    places: Mapping[str, str]
    access: Access
    left: tuple[Caution, ...]
    encrypted_places: Mapping[str, str] = field(default_factory=dict)
    changed_places: Mapping[str, str] = field(default_factory=dict)
    schemas: Mapping[str, RunSchema] = field(default_factory=dict)
    is_own: bool = False

    @property
    def both(self) -> tuple[FoundServer, FoundServer]:
        """The baseline, the encrypted."""
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
        there = {**self.encrypted_places, **self.changed_places}
        more, encrypted, plain = tuple(self.places.values()), tuple(there.values()), self.changed_places.values()
        places = (BASELINE_PLACE, ENCRYPTED_PLACE, *self.places, *there)
        with (
            SchemaKeeper(self.both, self.run_id, self.access.password) as keeper,
            own_schemas(self.pair, self.schema, self.run_id, more, encrypted, plain, keeper.begins) as schemas,
        ):
            self.schemas = dict(zip(places, schemas, strict=True))
            yield

    def own(self) -> Mapping[str, RunSchema]:
        """The user's schema on each server, by place; nothing is made."""
        placed = dict.fromkeys((BASELINE_PLACE, *self.places), self.pair.baseline)
        placed |= dict.fromkeys((ENCRYPTED_PLACE, *self.encrypted_places), self.pair.encrypted)
        expected = {place: self.pair.expected(server) for place, server in placed.items()}
        return {
            place: RunSchema(server, self.schema, self.run_id, is_encrypted=expected[place], is_own=True)
            for place, server in placed.items()
        }

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What goes with the answer: what killed runs left, what the servers are like, in what they differ."""
        return (
            *self.left,
            *self.pair.cautions,
            *self._difference_cautions(),
            Caution.of("one-server-of-each-kind"),
            *((Caution.of("own-tables"),) if self.is_own else ()),
            *self._cpu_cautions(),
            *self._vendor_cautions(),
        )

    @property
    def meters_cpu(self) -> bool:
        """Whether the CPU time of single statements can be had: by both servers' account, or as processes here."""
        kinds = [server.kind for server in self.both]
        tracings = [kind.tracing for kind in kinds if isinstance(kind, MetersStatements)]
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

    def _difference_cautions(self) -> Iterator[Caution]:
        found = sorted(self.pair.differences, key=lambda difference: not self._is_important(difference))
        for difference in found[:_MOST_SAID]:
            yield Caution.of("settings-differ", difference=str(difference))
        if len(found) > _MOST_SAID:
            yield Caution.of("more-settings-differ", settings=len(found) - _MOST_SAID)

    def _is_important(self, difference: Difference) -> bool:
        return difference.rank < len(self.pair.baseline.kind.rule.important)

    def identity(self) -> str:
        """What must be the same when a run is resumed."""
        return "; ".join(f"{server.dsn}: {server.identity.described}" for server in self.both)

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
        ExternalServerFault: all that stands against them as twins.
        InvalidTwins: what is encrypted on them is not what a measurement needs.
        UsageError: the schema's name, or a metric that cannot be had.
    """
    is_own = reads_own_tables(options)
    schema = schema_name(run_id, options["schema"], is_own=is_own)
    places, encrypted_places, changed_places = (
        {place: schema if is_own else checked_name(f"{schema}_{place}") for place in found(options)}
        for found in (_further_schema_roles, _encrypted_schema_roles, _changed_schema_roles)
    )
    passwords = Passwords.of_this_process()
    with ExitStack() as stack:
        stack.callback(passwords.give_back)
        named = dict(zip(options_of(options), dsns, strict=True))
        passwords.read(named.items())
        baseline, encrypted = _examined(named, passwords, stack)
        found = pair(
            baseline,
            encrypted,
            schema,
            more=tuple(places.values()),
            more_encrypted=(*encrypted_places.values(), *changed_places.values()),
            assumed=options["assume_encrypted"],
            compares_builds=options["contrast"] != ENCRYPTION,
            is_own=is_own,
        )
        left = (*leftovers(baseline), *(() if found.is_one else leftovers(encrypted)))
        access = Access(lambda server: passwords.of(server.dsn), _processes(named))
        _require_metric(options["metric"], access, found)
        yield ReachedServers(
            found, run_id, schema, places, access, left, encrypted_places, changed_places, is_own=is_own
        )


def _examined(named: Mapping[str, Dsn], passwords: Passwords, stack: ExitStack) -> tuple[FoundServer, FoundServer]:
    """Both servers, asked who they are; what keeps either from answering is told at once."""
    found, faults = [], []
    for option, dsn in named.items():
        try:
            connection = connect(option, dsn, passwords, partial(_lasting, dsn.program))
            stack.callback(connection.close)
            found.append(examine(option, dsn, connection))
        except ExternalServerFault as fault:
            faults.append(fault)
    if len(faults) == 1:
        raise faults[0]
    if faults:
        raise ExternalServerFault("neither server can be used", *(one for fault in faults for one in fault.refusals))
    return found[0], found[1]


def _lasting(program: str, options: Mapping[str, object]) -> Connection:
    limited = {**options, "answer_seconds": ANSWER_SECONDS}
    return LastingSession(lambda: WorkerSession(limited, program, is_external=True))


def _processes(named: Mapping[str, Dsn]) -> dict[str, int]:
    """The servers' processes, or none: a CPU time that only one of two has would compare nothing."""
    seen = {option: server_process(dsn) for option, dsn in named.items()}
    found = {option: process for option, process in seen.items() if process is not None}
    return found if len(found) == len(seen) else {}


def _account(found: Pair) -> bool:
    return all(isinstance(server.kind, AccountsCpu) for server in (found.baseline, found.encrypted))


def _require_metric(metric: Metric, access: Access, found: Pair) -> None:
    is_seen = bool(access.processes) or (metric is Metric.CPU_PER_OPERATION and _account(found))
    if metric is not Metric.RESPONSE_TIME and not is_seen:
        raise UsageError(Refusal.of("metric-out-of-sight", metric=metric.value))
