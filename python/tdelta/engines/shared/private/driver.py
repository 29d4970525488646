"""A private server as a run sees it: an instance is shared by the conditions that differ in the client only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from tdelta.design.actions import parse_action
from tdelta.driver import AnyJob, Mix, TwinFolder
from tdelta.driver.backups import backup_checks
from tdelta.engines.capabilities import Cautioned, Template
from tdelta.engines.layout import ResourceEstimate, RunLayout, instance_key
from tdelta.engines.profile import EngineInfo, Profile
from tdelta.engines.servers import (
    PLAIN_SCOPE,
    CallsPriced,
    Compresses,
    FolderEncrypted,
    RestorableEngine,
    ServerBinary,
    ServerEngine,
    ServerSettings,
)
from tdelta.engines.shared.estimates import of_servers
from tdelta.engines.shared.private.actions import Acts, ServerAction, knobs_of
from tdelta.engines.shared.private.binaries import find_servers, installed_servers
from tdelta.engines.shared.private.restarts import storm_connections
from tdelta.engines.shared.private.restored import UserDump
from tdelta.engines.shared.private.twins import ServerTwins
from tdelta.engines.shared.promises import covered
from tdelta.errors import Defect, TdeltaError, UsageError
from tdelta.evidence import FileClass
from tdelta.messages import Caution, Refusal
from tdelta.records import Condition, Level

_WIDEST = "all"
_BESIDE_A_LOAD = 8
"""Connections beside those of a load: the one that reads counters, and those that hold markers in files."""


class PrivateDriver:
    """One server engine as a run sees it; see `tdelta.engines.capabilities.Engine`."""

    def __init__(self, engine: ServerEngine) -> None:
        self.profile = engine.profile
        self.engine = engine

    @property
    def crypto(self) -> str:
        """Whose code encrypts."""
        return self.engine.crypto

    @property
    def ciphers(self) -> tuple[str, ...]:
        """The levels of the factor ``cipher``."""
        return tuple(self.engine.ciphers)

    @property
    def product(self) -> str:
        """The product, for people."""
        return self.engine.binary.product

    def versions(self) -> dict[str, str]:
        """The server's own."""
        return {self.engine.binary.product: self.engine.binary.version}

    def identity(self) -> str:
        """The program's path, and what it says of itself."""
        return f"{self.engine.binary.path}: {self.engine.binary.text}"

    def option_checks(
        self, options: Mapping[str, Any], levels: Mapping[str, Sequence[Level]]
    ) -> Iterator[Callable[[], object]]:
        """The scopes that it has, and the programs that backups need."""
        scopes = levels.get("scope", () if options["scope"] is None else (options["scope"],))
        yield from (partial(self._check_scope, str(scope)) for scope in scopes)
        yield partial(self._check_compression, levels)
        tools = {name: tool for action in self._actions().values() for name, tool in action.tools.items()}
        yield from backup_checks(tools, levels) if tools else ()

    def settings(self, layout: RunLayout, condition: Condition, data_bytes: int) -> ServerSettings:
        """What a condition's servers and connections are made with."""
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
            has_steps=bool(layout.step(condition)),
            becomes=self._becomes(layout),
            replication=replication,
            is_buffered=bool(layout.storages),
            compression=str(levels.get("compression", "")),
        )

    def _becomes(self, layout: RunLayout) -> str:
        """What plain twins are encrypted with beside their load: the first of the run's ciphers, or the engine's."""
        if not layout.converts:
            return ""
        return next(cipher for cipher in (*layout.ciphers, *self.engine.ciphers) if cipher != "none")

    def actions(self, factor: str) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """As the engine says."""
        return knobs_of(self._actions(), factor)

    def _actions(self) -> Mapping[str, ServerAction]:
        return self.engine.actions if isinstance(self.engine, Acts) else {}

    def template(self, settings: ServerSettings) -> Template:
        """Data is copied among twins of one cipher, scope and compression."""
        words = "plain" if settings.scope == PLAIN_SCOPE else f"{settings.cipher}, scope {settings.scope}"
        if settings.compression:
            words += f", page compression {settings.compression}"
        return Template(settings.load_kind, words)

    def described(self, _settings: ServerSettings, facts: Mapping[str, str]) -> str:
        """What the server's catalog says of its encryption."""
        return ", ".join(f"{name} {value or 'nothing'}" for name, value in facts.items())

    def fault(self, settings: ServerSettings, facts: Mapping[str, str]) -> str | None:
        """What is wrong with the encryption in force."""
        return self.engine.cipher_fault(settings, facts)

    def covered(self, settings: ServerSettings) -> frozenset[FileClass]:
        """What the scope covers."""
        parts = self.engine.evidence.parts_of(self.engine.binary.product)
        engine = self.engine
        is_folder_encrypted = isinstance(engine, FolderEncrypted) and engine.encrypts_folder(settings)
        return covered(parts, settings, is_folder_encrypted=is_folder_encrypted)

    def can_be_searched(self, settings: ServerSettings) -> bool:
        """Whether what encrypts is the server, or a file system whose own files can be read."""
        return not isinstance(self.engine, FolderEncrypted) or self.engine.can_be_searched(settings)

    def cautions(self, settings: ServerSettings) -> tuple[Caution, ...]:
        """As the engine says."""
        return self.engine.cautions(settings) if isinstance(self.engine, Cautioned) else ()

    def differing(self, settings: ServerSettings) -> tuple[str, ...]:
        """As the engine says."""
        return self.engine.differing_settings(settings)

    def estimate(self, layout: RunLayout) -> ResourceEstimate:
        """Servers, whose instances are shared, and workers."""
        return of_servers(self, layout, self.engine.footprint, prices=isinstance(self.engine, CallsPriced))

    def user_dump(self, command: str) -> UserDump:
        """A user's dump; twins restore it themselves."""
        if not isinstance(self.engine, RestorableEngine):  # refused before
            raise Defect(f"a dump cannot be restored into {self.product}")
        return UserDump(self.engine, command)

    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: Mix) -> ServerTwins:
        """Private servers and workers."""
        return ServerTwins(self.engine, folder, job, mix)

    def _widest(self) -> str:
        return _WIDEST if _WIDEST in self.engine.scopes else self.engine.scopes[-1]

    def _scope(self, layout: RunLayout, condition: Condition) -> str:
        return str(layout.level(condition, "scope") or self._widest())

    def _scopes(self, layout: RunLayout) -> set[str]:
        return {self._scope(layout, c) for c in layout.conditions if c.level("cipher") != "none"}

    def _check_scope(self, scope: str) -> None:
        if scope not in self.engine.scopes:
            known = ", ".join(self.engine.scopes)
            raise UsageError(Refusal.of("unknown-scope", scope=scope, product=self.product, known=known))

    def _check_compression(self, levels: Mapping[str, Sequence[Level]]) -> None:
        """Refuse what the server does not have; an engine without any does not take the factor."""
        if not isinstance(self.engine, Compresses):
            return
        asked = [str(level) for level in levels.get("compression", ())]
        known = ", ".join(self.engine.compressions)
        wrong = [
            Refusal.of("unknown-compression", compression=level, product=self.product, known=known)
            for level in asked
            if level not in self.engine.compressions
        ]
        if asked and "load" in levels.get("work", ()) and not self.engine.compresses_new_tables:
            wrong.append(Refusal.of("compression-and-load", product=self.product))
        if wrong:
            raise UsageError(*wrong)


def _storm(layout: RunLayout) -> int:
    """The connections that storms of a run open."""
    asked = [parse_action(layout.step(condition)) for condition in layout.conditions]
    return max((storm_connections(one.knobs) + 1 for one in asked if one.name == "storm"), default=0)


def newest(profile: Profile, options: Mapping[str, Any]) -> ServerBinary:
    """The newest server of an engine that is found, or ``--server-binary``.

    Raises:
        EngineUnavailable: there is none, or what is given is not that server.
    """
    return find_servers(profile.name, options["server_binary"])[0]


def listed(profile: Profile, make: Callable[[ServerBinary], ServerEngine]) -> Iterator[EngineInfo]:
    """Every server of an engine that was found, or how to come by one.

    Args:
        profile: the engine's.
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
    return EngineInfo(profile.name, False, binary.version, (), f"{profile.product}, {binary.path}", why)


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
