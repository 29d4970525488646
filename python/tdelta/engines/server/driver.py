"""Servers as a run sees them: private ones, started for it, or two of the user's, which are what they are.

An instance of a private server is shared by the conditions that differ in the client only. Nothing of a user's servers
is configured: only the load varies.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from tdelta.design.actions import parse_action
from tdelta.design.factors import LOADED_BY, PROGRAM
from tdelta.design.takes import OWN_SERVERS_TAKE
from tdelta.engines.base import Build, Engine, Template
from tdelta.engines.estimates import of_connections, of_servers
from tdelta.engines.layout import ResourceEstimate, RunLayout, instance_key
from tdelta.engines.profile import EngineInfo, Profile
from tdelta.engines.registry import profile, server
from tdelta.engines.server.actions import storm_connections
from tdelta.engines.server.base import PLAIN_SCOPE, ServerBinary, ServerEngine, ServerSettings
from tdelta.engines.server.dbapi import Driver
from tdelta.engines.server.dsn import Dsn, address_of
from tdelta.engines.server.evidence import Parts
from tdelta.engines.server.external_twins import (
    BASELINE_PLACE,
    ENCRYPTED_PLACE,
    ENCRYPTED_TABLES,
    PLAIN_TABLES,
    ExternalSettings,
    ExternalTwins,
    OwnTablesTwins,
)
from tdelta.engines.server.installed import build_of, find_servers, installed_servers, named_servers
from tdelta.engines.server.pairs import ReachedServers, cipher_of, further_ciphers, place_of, schema_role
from tdelta.engines.server.private_twins import ServerTwins
from tdelta.engines.server.restore import UserDump
from tdelta.errors import Defect, TdeltaError, UsageError, require_known
from tdelta.evidence import FileClass
from tdelta.lazily import installed_version
from tdelta.messages import Caution, Detail, Refusal
from tdelta.processes import AnyJob, PopulateJob, TwinFolder, WorkloadSpec
from tdelta.processes.backups import EngineAction, backup_checks, knobs_of
from tdelta.processes.jobs import LOAD, OwnTablesJob
from tdelta.records import Condition, Level

SERVER = "server"
"""The factor whose levels are versions of the server, or the user's two where neither is encrypted."""

_WIDEST = "all"
_BESIDE_A_LOAD = 8
"""Connections beside those of a load: the one that reads counters, and those that hold markers in files."""


class ServerDriver(Engine):
    def described(self, _settings: Any, facts: Mapping[str, str]) -> str:
        return ", ".join(f"{name} {value or 'nothing'}" for name, value in facts.items())


class PrivateDriver(ServerDriver):
    """One server engine as a run sees it that starts its servers."""

    def __init__(self, engine: ServerEngine, versions: Mapping[str, ServerEngine] | None = None) -> None:
        self.engine = engine
        self._versions = versions or {}

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
        """The scopes that all its versions have, and the programs that backups need."""
        scopes = levels.get("scope", () if options["scope"] is None else (options["scope"],))
        shared = [scope for scope in self.engine.scopes if all(scope in one.scopes for one in self._engines)]
        yield from (partial(require_known, "scope", str(scope), shared) for scope in scopes)
        yield partial(_check_versions, options)
        if self.engine.compressions:  # an engine without any does not take the factor
            asked, known = levels.get("compression", ()), self.engine.compressions
            yield from (partial(require_known, "compression", str(level), known) for level in asked)
            yield partial(self._check_compressed_loads, levels)
        yield partial(self._check_keys, levels)
        if options.get("hosts") is None:
            yield partial(_check_cores, levels.get("cores", ()))
        yield from backup_checks(self.engine.actions, levels.get("work", ()), levels.get("during", ()))

    def settings(self, layout: RunLayout, condition: Condition, data_bytes: int) -> ServerSettings:
        levels = dict(condition.levels)
        cipher = str(levels["cipher"])
        scope = PLAIN_SCOPE if cipher == "none" else self._scope(layout, condition)
        factors = self.profile.client_factors
        instance = instance_key(condition, factors)
        replication = layout.replication(condition)
        scopes = {self._scope(layout, c) for c in layout.conditions if c.level("cipher") != "none"}
        sharing = [c for c in layout.conditions if instance_key(c, factors) == instance]
        return ServerSettings(
            cipher=cipher,
            scope=scope,
            threads=int(levels["threads"]),
            connections=_storm(layout) + sum(int(c.level("threads")) + _BESIDE_A_LOAD for c in sharing),
            cache_bytes=layout.cache_bytes(condition, data_bytes),
            session_bytes=layout.options["session_memory"] or 0,
            aes_instructions=str(levels.get("aes_instructions", "on")),
            has_binlog=bool(replication) or any(scope in ("+binlog", "all") for scope in scopes),
            is_cold=layout.is_cold(condition),
            becomes=self._becomes(layout),
            replication=replication,
            is_buffered=bool(layout.storages),
            compression=str(levels.get("compression", "")),
            keys="" if cipher == "none" else str(levels.get("keys", "")),
            server=str(levels.get(SERVER, "")),
            cores=int(levels.get("cores", 0)),
        )

    def _becomes(self, layout: RunLayout) -> str:
        """The cipher of plain twins that are encrypted beside their load: the first of the run's, or the engine's."""
        if not layout.converts:
            return ""
        return next(cipher for cipher in (*layout.ciphers, *self.engine.ciphers) if cipher != "none")

    def actions(self, factor: str) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        return knobs_of(self.engine.actions, factor)

    def template(self, settings: ServerSettings) -> Template:
        words = "plain" if settings.scope == PLAIN_SCOPE else f"{settings.cipher}, scope {settings.scope}"
        if settings.compression:
            words += f", page compression {settings.compression}"
        if settings.server:
            words += f", server {settings.server}"
        return Template(settings.template_key, words)

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
        return UserDump(self.engine, command)

    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> ServerTwins:
        return ServerTwins(self.engine, folder, job, mix, self._versions)

    def _widest(self) -> str:
        return _WIDEST if _WIDEST in self.engine.scopes else self.engine.scopes[-1]

    def _scope(self, layout: RunLayout, condition: Condition) -> str:
        return str(layout.level(condition, "scope") or self._widest())

    def _check_compressed_loads(self, levels: Mapping[str, Sequence[Level]]) -> None:
        is_asked = levels.get("compression") and "load" in levels.get("work", ())
        if is_asked and not self.engine.compresses_new_tables:
            raise UsageError(Refusal.of("conflict", one="--vary compression=…", other=f"work=load on {self.product}"))

    def _check_keys(self, levels: Mapping[str, Sequence[Level]]) -> None:
        ciphers = [str(level) for level in levels.get("cipher", ()) if level != "none"]
        stores = [str(keys) for keys in levels.get("keys", ())]
        faults = [self.engine.key_store_fault(keys, ciphers) for keys in stores]
        needed = self.engine.rotation_needs
        rotates = any(parse_action(str(level)).name == "rotate" for level in levels.get("during", ()))
        if needed and rotates and {keys.partition(":")[0] for keys in stores} != {needed}:
            faults.append(Refusal.of("requires", what="--vary during=rotate", needs=f"--vary keys={needed}"))
        if wrong := [fault for fault in faults if fault is not None]:
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


Make: TypeAlias = Callable[[ServerBinary, Mapping[str, Any]], ServerEngine]
"""Makes a server's adapter, given a run's options (none where it is only listed); raises where this machine cannot."""

Entry: TypeAlias = tuple[Callable[[Mapping[str, Any]], Engine], Callable[[], Iterator[EngineInfo]]]
"""The functions ``driver`` and ``listed`` of an engine's module (`tdelta.engines.registry`)."""


def started(profile: Profile, make: Make) -> Entry:
    """The entry of an engine whose servers tdelta starts."""
    return partial(_made, profile, make), partial(_listed, profile, make)


def reached_only(profile: Profile, client: Driver) -> Entry:
    """The entry of an engine whose servers are users' alone."""
    return partial(_refuse, profile), partial(_listed_external, profile, client)


def _made(profile: Profile, make: Make, options: Mapping[str, Any]) -> PrivateDriver:
    """The newest server of an engine, ``--server-binary``, or those that ``--vary server`` sets beside each other.

    Raises:
        EngineUnavailable: there is none, or what is given is not that server.
    """
    paths = options["vary"].get(SERVER, ())
    if not paths:
        return PrivateDriver(make(find_servers(profile.name, options["server_binary"])[0], options))
    binaries = named_servers(profile.name, [Path(str(path)) for path in paths])
    versions = {label: make(binary, options) for label, binary in _labelled(binaries).items()}
    return PrivateDriver(next(iter(versions.values())), versions)


def _labelled(binaries: Mapping[Path, ServerBinary]) -> dict[str, ServerBinary]:
    """Programs by their versions; with the product where there are several, the path where that is not enough."""
    several = len({one.product for one in binaries.values()}) > 1
    names = [f"{one.product} {one.version}" if several else one.version for one in binaries.values()]
    return {
        name if names.count(name) == 1 else f"{name} ({path})": binary
        for name, (path, binary) in zip(names, binaries.items(), strict=True)
    }


def _listed(profile: Profile, make: Make) -> Iterator[EngineInfo]:
    found = installed_servers(profile.name)
    for binary in found:
        library = f"{profile.product}, {binary.path}"
        try:
            engine = make(binary, {})
        except TdeltaError as fault:
            yield EngineInfo(profile.name, False, binary.version, (), library, install="", notes=str(fault))
            continue
        scopes = ", ".join(scope for scope in engine.scopes if scope != "none")
        yield EngineInfo(
            name=profile.name,
            available=True,
            version=binary.version,
            ciphers=engine.ciphers,
            library=f"{binary.product}, {binary.path}",
            install=_remedy(profile),
            notes=f"server: started privately for each twin; scopes: {scopes}",
            crypto=engine.crypto,
        )
    if not found:
        yield EngineInfo(profile.name, False, None, (), profile.product, _remedy(profile))


def _remedy(profile: Profile) -> str:
    return "" if profile.program is None else profile.program.remedy


UNTRIED = "never run by us on a real server; report wanted: tdelta check-servers --baseline DSN --encrypted DSN"


def _refuse(profile: Profile, _options: Mapping[str, Any]) -> NoReturn:
    needs = "--baseline and --encrypted: it is measured on your own two servers"
    raise UsageError(Refusal.of("requires", what=profile.product, needs=needs))


def _listed_external(profile: Profile, client: Driver) -> Iterator[EngineInfo]:
    """Its needs, in a few lines; available where the driver is installed."""
    address = address_of(profile.name)
    found = installed_version(client.distribution)
    needs = [*address.needs, address.publishing, *([UNTRIED] if address.is_untried else [])]
    yield EngineInfo(
        name=profile.name,
        available=found is not None,
        version=None if found is None else f"driver {client.distribution} {found}",
        ciphers=(),
        library=f"{profile.product}, your two servers: {address.schemes[0]}://USER@HOST:{address.port}/…",
        install=f"pip install 'tdelta[{profile.name}]'",
        notes="; ".join(filter(None, needs)),
    )


# Which classes of a server's files each scope of its encryption covers.
#
# A marker in a class that is covered is a leak, and the run is invalid. In any other class it is what the
# scope leaves in the clear: listed, and no fault of the twin. The entries of MariaDB, MySQL and
# PostgreSQL on gocryptfs was found by searching such servers (docs/evidence.md); of Percona Server and pg_tde
# it was read.

_OUTSIDE = frozenset((FileClass.LOGS, FileClass.OTHER))
"""Classes of files that may be outside a data directory."""


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


SHARING = ("work", "fetch_size", "load_by", "maxdop")
"""Further factors whose levels share the schema of their server: there is one server of each kind, whatever it does."""

PLAIN, OWN_CIPHER = "none", "encrypted"
"""The levels of ``cipher``: which of the two servers; which cipher that is, only its owner knows."""

_UNSEARCHED = "your servers are asked by SQL alone; what their catalogs say of the tables is in the check of ciphers"


class ExternalDriver(ServerDriver):
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
        )

    @property
    def product(self) -> str:
        return self.profile.name if self._servers is None else self._servers.pair.baseline.identity.product

    @property
    def crypto(self) -> str:
        return "unknown"

    @property
    def ciphers(self) -> tuple[str, ...]:
        return PLAIN, *self.default_ciphers

    @property
    def default_ciphers(self) -> tuple[str, ...]:
        """Several encrypted places of one server are called by their names."""
        places = self._dsns[1].each
        return tuple(map(cipher_of, places)) if len(places) > 1 else (OWN_CIPHER,)

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
        require_known("cipher of your server", cipher, self.ciphers)

    def option_checks(
        self, options: Mapping[str, Any], levels: Mapping[str, Sequence[Level]]
    ) -> Iterator[Callable[[], object]]:
        """The engine that the DSNs name, whether their caches can be emptied, and the numbers that actions take."""
        yield partial(_check_engine, options["engine"], self._dsns)
        yield partial(_check_cold, options, levels, self.profile)
        yield partial(_check_loads, levels, self._dsns)
        yield partial(_check_numbers, levels.get("work", ()), self._actions)

    def actions(self, factor: str) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        return knobs_of(self._actions, factor)

    @property
    def _actions(self) -> Mapping[str, EngineAction]:
        found: Mapping[str, EngineAction] = server(self._dsns[0].engine).schema_actions
        return found

    def settings(self, layout: RunLayout, condition: Condition, _data_bytes: int) -> ExternalSettings:
        cipher, levels = str(condition.level("cipher")), dict(condition.levels)
        further = further_ciphers(self._dsns)
        is_other = cipher != PLAIN or levels.get(SERVER) in [*self.versions_compared().get(SERVER, ())][1:]
        return ExternalSettings(
            cipher=cipher,
            place=place_of(condition, layout.options["inject"], further),
            threads=int(condition.level("threads")),
            loaded=schema_role(ENCRYPTED_PLACE, cipher, further) if is_other else BASELINE_PLACE,
            is_cold=layout.is_cold(condition),
            session_bytes=layout.options["session_memory"] or 0,
            fetch_size=int(levels.get("fetch_size", 0)),
            load_by=str(levels.get("load_by", "")),
            maxdop=int(levels.get("maxdop", 0)),
        )

    def template(self, settings: ExternalSettings) -> Template:
        words = "the baseline's server" if settings.loaded == BASELINE_PLACE else "the other server"
        return Template((settings.cipher, settings.loaded), words)

    def estimate(self, layout: RunLayout) -> ResourceEstimate:
        """Connections; the rows go to the user's own disks, but for a file that a program loads."""
        has_file = any(condition.get("load_by") == PROGRAM for condition in layout.conditions)
        return replace(of_connections(self, layout), disk_bytes=layout.size_bytes if has_file else 0)

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
        scopes = self._reached.pair.encrypted_at(settings.cipher).encryption.scopes
        return tuple(f"{scope.name}: {scope.said}" for scope in scopes if scope.is_encrypted)

    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> ExternalTwins:
        if isinstance(job, OwnTablesJob):
            return OwnTablesTwins(self._reached.schemas, self._reached.access, job, mix)
        if not isinstance(job, PopulateJob):
            raise Defect("a database of the user's cannot be loaded into a server of the user's")
        return ExternalTwins(self._reached.schemas, self._reached.access, job, mix, folder.path)

    @property
    def _reached(self) -> ReachedServers:
        if self._servers is None:
            raise Defect("the servers were not reached yet")
        return self._servers

    def _expected(self, cipher: str) -> bool | None:
        pair = self._reached.pair
        return pair.expected(pair.baseline if cipher == PLAIN else pair.encrypted)


def _check_cold(options: Mapping[str, Any], levels: Mapping[str, Sequence[Level]], found: Profile) -> None:
    if found.address is not None and found.address.is_cooled:
        return
    asked = ["--cold"] if options["cold"] else []
    asked += ["--vary work=cold"] if "cold" in levels.get("work", ()) else []
    if asked:
        raise UsageError(Refusal.of("unsupported", what=", ".join(asked), by=f"your own {found.product} servers"))


def _check_loads(levels: Mapping[str, Sequence[Level]], dsns: tuple[Dsn, Dsn]) -> None:
    """The vendor's program is there; and no client loads past SQL that is not the engine's usual one."""
    asked, address = levels.get("load_by", LOADED_BY[:1]), address_of(dsns[0].engine)
    if PROGRAM in asked and address.loader != PROGRAM:
        raise UsageError(
            Refusal.of("unsupported", what=f"--vary load_by={PROGRAM}", by=profile(dsns[0].engine).product)
        )
    if PROGRAM in asked and shutil.which(PROGRAM) is None:
        remedy = "install the vendor's tools, or name load_by=direct, the driver's own direct path load"
        raise UsageError(Refusal.of("program-missing", program=PROGRAM, remedy=remedy))
    further = next((dsn.client for dsn in dsns if dsn.client is not None), None)
    if address.loader and further is not None and LOAD in levels.get("work", ()) and LOADED_BY[0] in asked:
        other = f"loads by the driver's direct path; name --vary load_by={LOADED_BY[1]}"
        raise UsageError(Refusal.of("conflict", one=f"?client={further}", other=other))


def _check_numbers(works: Sequence[Level], actions: Mapping[str, EngineAction]) -> None:
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
