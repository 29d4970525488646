"""A private server as a run sees it: an instance is shared by the conditions that differ in the client only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from tdelta.design.actions import parse_action
from tdelta.engines.base import Build, Engine, Template
from tdelta.engines.estimates import of_servers
from tdelta.engines.layout import ResourceEstimate, RunLayout, instance_key
from tdelta.engines.profile import EngineInfo, Profile
from tdelta.engines.server.actions import ServerAction, knobs_of, storm_connections
from tdelta.engines.server.base import PLAIN_SCOPE, ServerBinary, ServerEngine, ServerSettings
from tdelta.engines.server.dbapi import Driver
from tdelta.engines.server.evidence import Parts
from tdelta.engines.server.installed import (
    build_of,
    find_servers,
    installed_servers,
    named_servers,
)
from tdelta.engines.server.private_twins import ServerTwins
from tdelta.engines.server.restore import UserDump
from tdelta.errors import TdeltaError, UsageError
from tdelta.evidence import FileClass
from tdelta.lazily import installed_version
from tdelta.messages import Caution, Detail, Refusal
from tdelta.processes import AnyJob, TwinFolder, WorkloadSpec
from tdelta.processes.backups import backup_checks
from tdelta.records import Condition, Level

SERVER = "server"
"""The factor whose levels are versions of the server."""

NO_VERSIONS: Mapping[str, ServerEngine] = MappingProxyType({})

_WIDEST = "all"
_BESIDE_A_LOAD = 8
"""Connections beside those of a load: the one that reads counters, and those that hold markers in files."""


class PrivateDriver(Engine):
    """One server engine as a run sees it."""

    def __init__(self, engine: ServerEngine, versions: Mapping[str, ServerEngine] = NO_VERSIONS) -> None:
        self.engine = engine
        self._versions = versions

    @property
    def profile(self) -> Profile:
        return self.engine.profile

    def versions_compared(self) -> Mapping[str, Mapping[str, Build]]:
        builds = {name: build_of(engine.binary) for name, engine in self._versions.items()}
        return {SERVER: builds} if builds else {}

    def _of(self, settings: ServerSettings) -> ServerEngine:
        return self._versions.get(settings.server, self.engine)

    @property
    def _engines(self) -> tuple[ServerEngine, ...]:
        return tuple(self._versions.values()) or (self.engine,)

    @property
    def crypto(self) -> str:
        return self.engine.crypto

    @property
    def ciphers(self) -> tuple[str, ...]:
        return tuple(name for name in self.engine.ciphers if all(name in one.ciphers for one in self._engines))

    @property
    def product(self) -> str:
        return self.engine.binary.product

    def versions(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for binary in (engine.binary for engine in self._engines):
            known = found.get(binary.product)
            found[binary.product] = binary.version if known is None else f"{known}, {binary.version}"
        return found

    def identity(self) -> str:
        return "; ".join(f"{engine.binary.path}: {engine.binary.text}" for engine in self._engines)

    def option_checks(
        self, options: Mapping[str, Any], levels: Mapping[str, Sequence[Level]]
    ) -> Iterator[Callable[[], object]]:
        """The scopes that it has, and the programs that backups need."""
        scopes = levels.get("scope", () if options["scope"] is None else (options["scope"],))
        yield from (partial(self._check_scope, str(scope)) for scope in scopes)
        yield partial(_check_versions, options)
        yield partial(self._check_compression, levels)
        if options.get("hosts") is None:
            yield partial(_check_cores, levels.get("cores", ()))
        tools = {name: tool for action in self._actions().values() for name, tool in action.tools.items()}
        yield from backup_checks(tools, (*levels.get("work", ()), *levels.get("during", ()))) if tools else ()

    def settings(self, layout: RunLayout, condition: Condition, data_bytes: int) -> ServerSettings:
        levels = dict(condition.levels)
        cipher = str(levels["cipher"])
        scope = PLAIN_SCOPE if cipher == "none" else self._scope(layout, condition)
        factors = self.profile.client_factors
        instance = instance_key(condition, factors)
        replication = layout.replication(condition)
        sharing = [c for c in layout.conditions if instance_key(c, factors) == instance]
        return ServerSettings(
            cipher=cipher,
            scope=scope,
            threads=int(levels["threads"]),
            connections=_storm(layout) + sum(int(c.level("threads")) + _BESIDE_A_LOAD for c in sharing),
            cache_bytes=layout.cache_bytes(condition, data_bytes),
            session_bytes=layout.options["session_memory"] or 0,
            aes_instructions=str(levels.get("aes_instructions", "on")),
            has_binlog=bool(replication) or any(scope in ("+binlog", "all") for scope in self._scopes(layout)),
            is_cold=layout.is_cold(condition),
            becomes=self._becomes(layout),
            replication=replication,
            is_buffered=bool(layout.storages),
            compression=str(levels.get("compression", "")),
            server=str(levels.get(SERVER, "")),
            cores=int(levels.get("cores", 0)),
        )

    def _becomes(self, layout: RunLayout) -> str:
        """What plain twins are encrypted with beside their load: the first of the run's ciphers, or the engine's."""
        if not layout.converts:
            return ""
        return next(cipher for cipher in (*layout.ciphers, *self.engine.ciphers) if cipher != "none")

    def actions(self, factor: str) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        return knobs_of(self._actions(), factor)

    def _actions(self) -> Mapping[str, ServerAction]:
        return self.engine.actions

    def template(self, settings: ServerSettings) -> Template:
        words = "plain" if settings.scope == PLAIN_SCOPE else f"{settings.cipher}, scope {settings.scope}"
        if settings.compression:
            words += f", page compression {settings.compression}"
        if settings.server:
            words += f", server {settings.server}"
        return Template(settings.template_key, words)

    def described(self, _settings: ServerSettings, facts: Mapping[str, str]) -> str:
        return ", ".join(f"{name} {value or 'nothing'}" for name, value in facts.items())

    def fault(self, settings: ServerSettings, facts: Mapping[str, str]) -> Detail | None:
        return self._of(settings).cipher_fault(settings, facts)

    def covered(self, settings: ServerSettings) -> frozenset[FileClass]:
        engine = self._of(settings)
        parts = engine.evidence.parts_of(engine.binary.product)
        return covered(parts, settings, is_folder_encrypted=engine.encrypts_folder(settings))

    def can_be_searched(self, settings: ServerSettings) -> bool:
        return self._of(settings).can_be_searched(settings)

    def cautions(self, settings: ServerSettings) -> tuple[Caution, ...]:
        return self._of(settings).cautions(settings)

    def differing(self, settings: ServerSettings) -> tuple[str, ...]:
        return self._of(settings).differing_settings(settings)

    def estimate(self, layout: RunLayout) -> ResourceEstimate:
        return of_servers(self, layout, self.engine.resources)

    def user_dump(self, command: str) -> UserDump:
        """A user's dump; twins restore it themselves."""
        return UserDump(self.engine, command)

    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> ServerTwins:
        return ServerTwins(self.engine, folder, job, mix, self._versions)

    def _widest(self) -> str:
        return _WIDEST if _WIDEST in self.engine.scopes else self.engine.scopes[-1]

    def _scope(self, layout: RunLayout, condition: Condition) -> str:
        return str(layout.level(condition, "scope") or self._widest())

    def _scopes(self, layout: RunLayout) -> set[str]:
        return {self._scope(layout, c) for c in layout.conditions if c.level("cipher") != "none"}

    def _check_scope(self, scope: str) -> None:
        for engine in self._engines:
            if scope not in engine.scopes:
                known = ", ".join(engine.scopes)
                raise UsageError(Refusal.of("unknown", kind="scope", found=scope, hint=f" Supported: {known}."))

    def _check_compression(self, levels: Mapping[str, Sequence[Level]]) -> None:
        """Refuse what the server does not have; an engine without any does not take the factor."""
        if not self.engine.compressions:
            return
        asked = [str(level) for level in levels.get("compression", ())]
        known = ", ".join(self.engine.compressions)
        wrong = [
            Refusal.of("unknown", kind="compression", found=level, hint=f" Supported: {known}.")
            for level in asked
            if level not in self.engine.compressions
        ]
        if asked and "load" in levels.get("work", ()) and not self.engine.compresses_new_tables:
            wrong.append(Refusal.of("conflict", one="--vary compression=…", other=f"work=load on {self.product}"))
        if wrong:
            raise UsageError(*wrong)


def _check_versions(options: Mapping[str, Any]) -> None:
    if options["server_binary"] is not None and SERVER in options["vary"]:
        raise UsageError(Refusal.of("option-and-factor", options=f"--server-binary and --vary {SERVER}=…"))


def _check_cores(levels: Sequence[Level]) -> None:
    usable = len(os.sched_getaffinity(0))
    too_many = [str(level) for level in levels if int(level) > usable]
    if too_many:
        raise UsageError(
            Refusal.of(
                "out-of-range",
                what="--vary cores",
                wanted=f"at most {usable}, the CPUs available to tdelta",
                found=", ".join(too_many),
            )
        )


def _storm(layout: RunLayout) -> int:
    asked = [parse_action(layout.step(condition)) for condition in layout.conditions]
    return max((storm_connections(one.knobs) + 1 for one in asked if one.name == "storm"), default=0)


def made(profile: Profile, options: Mapping[str, Any], make: Callable[[ServerBinary], ServerEngine]) -> PrivateDriver:
    """The newest server of an engine, ``--server-binary``, or those that ``--vary server`` sets beside each other.

    Args:
        make: makes a server's adapter; raises where this machine cannot.

    Raises:
        EngineUnavailable: there is none, or what is given is not that server.
    """
    paths = options["vary"].get(SERVER, ())
    if not paths:
        return PrivateDriver(make(newest(profile, options)))
    binaries = named_servers(profile.name, [Path(str(path)) for path in paths])
    versions = {label: make(binary) for label, binary in _labelled(binaries).items()}
    return PrivateDriver(next(iter(versions.values())), versions)


def _labelled(binaries: Mapping[Path, ServerBinary]) -> dict[str, ServerBinary]:
    """Programs by their versions; with the product where there are several, the path where that is not enough."""
    several = len({one.product for one in binaries.values()}) > 1
    names = [f"{one.product} {one.version}" if several else one.version for one in binaries.values()]
    return {
        name if names.count(name) == 1 else f"{name} ({path})": binary
        for name, (path, binary) in zip(names, binaries.items(), strict=True)
    }


def newest(profile: Profile, options: Mapping[str, Any]) -> ServerBinary:
    """The newest server of an engine that is found, or ``--server-binary``.

    Raises:
        EngineUnavailable: there is none, or what is given is not that server.
    """
    return find_servers(profile.name, options["server_binary"])[0]


def listed(profile: Profile, make: Callable[[ServerBinary], ServerEngine]) -> Iterator[EngineInfo]:
    """Every server of an engine that was found, or how to come by one.

    Args:
        make: makes a server's adapter; raises where this machine cannot.
    """
    remedy = "" if profile.program is None else profile.program.remedy
    found = installed_servers(profile.name)
    for binary in found:
        try:
            yield _listed(make(binary), remedy)
        except TdeltaError as fault:
            yield _unusable(binary, str(fault), profile)
    if not found:
        yield EngineInfo(profile.name, False, None, (), profile.product, remedy)


def _unusable(binary: ServerBinary, why: str, profile: Profile) -> EngineInfo:
    return EngineInfo(
        profile.name, False, binary.version, (), f"{profile.product}, {binary.path}", install="", notes=why
    )


def _listed(engine: ServerEngine, remedy: str) -> EngineInfo:
    binary = engine.binary
    scopes = ", ".join(scope for scope in engine.scopes if scope != "none")
    return EngineInfo(
        name=engine.profile.name,
        available=True,
        version=binary.version,
        ciphers=tuple(engine.ciphers),
        library=f"{binary.product}, {binary.path}",
        install=remedy,
        notes=f"server: started privately for each twin; scopes: {scopes}",
        crypto=engine.crypto,
    )


# Which classes of a server's files each scope of its encryption covers.
#
# A marker in a class that is covered is a leak, and the run is invalid. In any other class it is what the
# scope leaves in the clear: listed, and no fault of the twin. What is said here of MariaDB, MySQL and
# PostgreSQL on gocryptfs was found by searching such servers (docs/evidence.md); of Percona Server and pg_tde
# it was read.

_OUTSIDE = frozenset((FileClass.LOGS, FileClass.OTHER))
"""What may lie outside a data directory."""


def covered(parts: Parts, settings: ServerSettings, *, is_folder_encrypted: bool = False) -> frozenset[FileClass]:
    """The classes of files that a twin's encryption covers; none on a plain one.

    Args:
        is_folder_encrypted: what encrypts is the file system under the data directory.
    """
    if not settings.is_encrypted:
        return frozenset()
    if is_folder_encrypted:
        return frozenset(FileClass) - _OUTSIDE
    return frozenset().union(*(classes for part, classes in parts.items() if settings.covers(part)))


UNTRIED = "never run by us on a real server; report wanted: tdelta check-servers --baseline DSN --encrypted DSN"


def refuse(profile: Profile) -> NoReturn:
    """Say that two servers are wanted.

    Raises:
        UsageError: always.
    """
    raise UsageError(
        Refusal.of(
            "requires", what=profile.product, needs="--baseline and --encrypted: it is measured on your own two servers"
        )
    )


def listed_external(profile: Profile, driver: Driver) -> Iterator[EngineInfo]:
    """What it takes, in a few lines; available where the driver is installed."""
    address = profile.address
    if address is None:
        return
    found = installed_version(driver.distribution)
    needs = [*address.needs, address.publishing, *([UNTRIED] if address.is_untried else [])]
    yield EngineInfo(
        name=profile.name,
        available=found is not None,
        version=None if found is None else f"driver {driver.distribution} {found}",
        ciphers=(),
        library=f"{profile.product}, your two servers: {address.schemes[0]}://USER@HOST:{address.port}/…",
        install=f"pip install 'tdelta[{profile.name}]'",
        notes="; ".join(filter(None, needs)),
    )
