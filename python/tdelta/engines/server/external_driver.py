"""The user's own servers as a run sees them: nothing is configured, the two are what they are, only the load varies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tdelta.design.actions import parse_action
from tdelta.design.takes import OWN_SERVERS_TAKE
from tdelta.engines.base import Build, Engine, Template
from tdelta.engines.estimates import of_connections
from tdelta.engines.layout import ResourceEstimate, RunLayout
from tdelta.engines.profile import Profile
from tdelta.engines.registry import profile, server
from tdelta.engines.server.base import SqlAction
from tdelta.engines.server.dsn import Dsn, address_of
from tdelta.engines.server.external_twins import (
    BASELINE_PLACE,
    ENCRYPTED_PLACE,
    ENCRYPTED_TABLES,
    PLAIN_TABLES,
    ExternalSettings,
    ExternalTwins,
    OwnTablesTwins,
)
from tdelta.engines.server.pairs import ReachedServers, place_of
from tdelta.errors import Defect, UnknownName, UsageError
from tdelta.messages import Detail, Refusal
from tdelta.processes import AnyJob, PopulateJob, TwinFolder, WorkloadSpec
from tdelta.processes.jobs import OwnTablesJob
from tdelta.records import Condition, Level

SERVER = "server"
"""The factor whose levels are the two servers where neither is encrypted."""

SHARING = ("work", "fetch_size", "load_by")
"""Further factors whose levels share the schema of their server: there is one server of each kind, whatever it does."""

PLAIN, OWN_CIPHER = "none", "encrypted"
"""The levels of ``cipher``: which of the two servers; which cipher that is, only its owner knows."""

_UNSEARCHED = "your servers are asked by SQL alone; what their catalogs say of the tables is in the check of ciphers"
_NOT_TIMED = "nothing can be preloaded into a server that runs already"


class ExternalDriver(Engine):
    """Two servers of the user's as a run sees them.

    Args:
        dsns: the baseline's, the encrypted one's.
        servers: both as they were found; None while a request is only checked.
        compares_builds: neither is encrypted, and the factor ``server`` names them.
    """

    def __init__(self, dsns: tuple[Dsn, Dsn], servers: ReachedServers | None, *, compares_builds: bool = False) -> None:
        self._dsns = dsns
        self._compares_builds = compares_builds
        self._servers = servers

    @property
    def engine(self) -> ReachedServers | None:
        return self._servers

    @property
    def profile(self) -> Profile:
        """The engine's, as the servers tell it: MariaDB answers to MySQL's protocol, too."""
        servers = self._servers
        engine = self._dsns[0].engine if servers is None else servers.pair.baseline.identity.engine
        found = profile(engine)
        return replace(
            found,
            takes=OWN_SERVERS_TAKE | address_of(engine).takes,
            client_factors=(*found.client_factors, *SHARING),
            protocol="",
            unsearched=_UNSEARCHED,
            not_timed=_NOT_TIMED,
        )

    @property
    def product(self) -> str:
        return self.profile.name if self._servers is None else self._servers.pair.baseline.identity.product

    @property
    def crypto(self) -> str:
        return "unknown"

    @property
    def ciphers(self) -> tuple[str, ...]:
        return PLAIN, OWN_CIPHER

    def versions_compared(self) -> Mapping[str, Mapping[str, Build]]:
        """SQL cannot read program files, so two servers with the same version are named first and second."""
        if not self._compares_builds:
            return {}
        said = ["first", "second"] if self._servers is None else [one.identity.described for one in self._servers.both]
        names = said if said[0] != said[1] else [f"{said[0]} ({dsn.where})" for dsn in self._dsns]
        return {SERVER: {name: Build(text) for name, text in zip(names, said, strict=True)}}

    def versions(self) -> dict[str, str]:
        return {server.option: server.identity.described for server in self._reached.both}

    def identity(self) -> str:
        return self._reached.identity()

    def check_cipher(self, cipher: str) -> None:
        """Raise ``UnknownName`` for anything but the two servers."""
        if cipher not in self.ciphers:
            raise UnknownName("cipher of your server", cipher, self.ciphers)

    def option_checks(
        self, options: Mapping[str, Any], levels: Mapping[str, Sequence[Level]]
    ) -> Iterator[Callable[[], object]]:
        """The engine that the DSNs name, whether their caches can be emptied, and the numbers that actions take."""
        yield partial(_check_engine, options["engine"], self._dsns)
        yield partial(_check_cold, options, levels, self.profile)
        yield partial(_check_numbers, levels.get("work", ()), self._actions)

    def actions(self, factor: str) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        if factor == "work":
            return {name: one.knobs for name, one in self._actions.items()}
        beside: Mapping[str, Mapping[str, tuple[str, ...]]] = server(self._dsns[0].engine).beside
        return beside

    @property
    def _actions(self) -> Mapping[str, SqlAction]:
        found: Mapping[str, SqlAction] = server(self._dsns[0].engine).sql_actions
        return found

    def settings(self, layout: RunLayout, condition: Condition, _data_bytes: int) -> ExternalSettings:
        cipher, levels = str(condition.level("cipher")), dict(condition.levels)
        is_other = cipher != PLAIN or levels.get(SERVER) in [*self.versions_compared().get(SERVER, ())][1:]
        return ExternalSettings(
            cipher=cipher,
            place=place_of(condition, layout.options["inject"]),
            threads=int(condition.level("threads")),
            loaded=ENCRYPTED_PLACE if is_other else BASELINE_PLACE,
            is_cold=layout.is_cold(condition),
            session_bytes=layout.options["session_memory"] or 0,
            fetch_size=int(levels.get("fetch_size", 0)),
            load_by=str(levels.get("load_by", "")),
        )

    def described(self, _settings: ExternalSettings, facts: Mapping[str, str]) -> str:
        return ", ".join(f"{name} {value or 'nothing'}" for name, value in facts.items())

    def template(self, settings: ExternalSettings) -> Template:
        words = "the baseline's server" if settings.loaded == BASELINE_PLACE else "the other server"
        return Template((settings.cipher, settings.loaded), words)

    def estimate(self, layout: RunLayout) -> ResourceEstimate:
        """Connections; the rows go to the user's own disks."""
        return of_connections(self, layout)

    def can_be_searched(self, _settings: ExternalSettings) -> bool:
        return False

    def settings_compared(self) -> str:
        differing = 0 if self._servers is None else len(self._servers.pair.differences)
        if not differing:
            return "in all that both servers tell, but for encryption, paths and names"
        return f"NOT the same: {differing} that are not encryption differ between the two servers, as the cautions say"

    def encryption_status(self, cipher: str, *, is_encrypted: bool) -> str:
        expected = self._expected(cipher)
        if expected is None:
            said = "the server cannot tell" if self._compares_builds else "as the user says"
            return f"{cipher}: {said if is_encrypted or self._compares_builds else f'plain, {said}'}"
        return f"{cipher}: {ENCRYPTED_TABLES if expected else PLAIN_TABLES} tables by the server's catalog"

    def fault(self, settings: ExternalSettings, facts: Mapping[str, str]) -> Detail | None:
        pair = self._reached.pair
        expected = pair.expected(pair.baseline if settings.loaded == BASELINE_PLACE else pair.encrypted)
        wanted = ENCRYPTED_TABLES if expected else PLAIN_TABLES
        if expected is None or facts["tables"] == wanted:
            return None
        return Detail.of("tables-unlike", wanted=wanted, found=facts["tables"])

    def differing(self, settings: ExternalSettings) -> tuple[str, ...]:
        if settings.cipher == PLAIN:
            return ()
        scopes = self._reached.pair.encrypted.encryption.scopes
        return tuple(f"{scope.name}: {scope.said}" for scope in scopes if scope.is_encrypted)

    def make_twins(self, _folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> ExternalTwins:
        if isinstance(job, OwnTablesJob):
            return OwnTablesTwins(self._reached.schemas, self._reached.access, job, mix)
        if not isinstance(job, PopulateJob):
            raise Defect("a database of the user's cannot be loaded into a server of the user's")
        return ExternalTwins(self._reached.schemas, self._reached.access, job, mix)

    @property
    def _reached(self) -> ReachedServers:
        if self._servers is None:
            raise Defect("the servers were not reached yet")
        return self._servers

    def _expected(self, cipher: str) -> bool | None:
        pair = self._reached.pair
        return pair.expected(pair.baseline if cipher == PLAIN else pair.encrypted)


def _check_cold(options: Mapping[str, Any], levels: Mapping[str, Sequence[Level]], found: Profile) -> None:
    """Refuse cold trials where SQL cannot empty the caches."""
    if found.address is not None and found.address.is_cooled:
        return
    asked = ["--cold"] if options["cold"] else []
    asked += ["--vary work=cold"] if "cold" in levels.get("work", ()) else []
    if asked:
        raise UsageError(Refusal.of("unsupported", what=", ".join(asked), by=f"your own {found.product} servers"))


def _check_numbers(works: Sequence[Level], actions: Mapping[str, SqlAction]) -> None:
    """Refuse numbers that an action's knob does not take."""
    for asked in map(parse_action, map(str, works)):
        for knob, takes in actions[asked.name].numbers.items() if asked.name in actions else ():
            value = asked.knobs.get(knob, takes[0])
            if value not in takes:
                known = f"{takes[0]}, {takes[1]}, … {takes[-1]}"
                fault = Refusal.of("out-of-range", what=knob, wanted=known, found=value)
                raise UsageError(fault.at(asked.name))


def _check_engine(engine: str, dsns: tuple[Dsn, Dsn]) -> None:
    if engine not in {dsn.engine for dsn in dsns}:
        raise UsageError(Refusal.of("conflict", one=f"--engine {engine}", other=f"a DSN of {dsns[0].engine}"))
