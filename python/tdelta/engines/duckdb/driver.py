"""DuckDB as a run sees it: every twin a file and a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from tdelta.driver import AnyJob, TwinFolder, WorkloadSpec
from tdelta.driver.backups import backup_checks
from tdelta.engines.capabilities import Template
from tdelta.engines.duckdb.actions import ACTIONS, CHOICES, DURING
from tdelta.engines.duckdb.backups import TOOLS
from tdelta.engines.duckdb.engine import PLAIN_SCOPE, SCOPES, WITH_TEMP, DuckdbEngine, DuckdbSettings
from tdelta.engines.duckdb.profile import PROFILE
from tdelta.engines.duckdb.twins import DuckdbTwins
from tdelta.engines.layout import ResourceEstimate, RunLayout
from tdelta.engines.profile import EngineInfo
from tdelta.engines.shared.estimates import of_analytic_files
from tdelta.errors import EngineUnavailable, UsageError
from tdelta.evidence import FileClass
from tdelta.messages import Caution, Detail, Refusal
from tdelta.records import Condition, Level


def driver(_options: Mapping[str, Any]) -> DuckdbDriver:
    """DuckDB.

    Raises:
        EngineUnavailable: it or its module is not installed.
    """
    engine = DuckdbEngine()
    engine.require()
    return DuckdbDriver(engine)


class DuckdbDriver:
    """DuckDB as a run sees it; see `tdelta.engines.capabilities.Engine`."""

    profile = PROFILE

    def __init__(self, engine: DuckdbEngine) -> None:
        self.engine = engine

    @property
    def crypto(self) -> str:
        return self.engine.crypto

    @property
    def ciphers(self) -> tuple[str, ...]:
        return tuple(self.engine.ciphers)

    @property
    def product(self) -> str:
        return self.engine.product

    def versions(self) -> dict[str, str]:
        return self.engine.versions()

    def identity(self) -> str:
        return self.engine.identity()

    def settings(self, layout: RunLayout, condition: Condition, data_bytes: int) -> DuckdbSettings:
        levels = dict(condition.levels)
        threads, session_bytes = int(levels["threads"]), layout.options["session_memory"] or 0
        spread = self.engine.engine_threads(len(os.sched_getaffinity(0)), session_bytes)
        cache_bytes = layout.cache_bytes(condition, data_bytes)
        return DuckdbSettings(
            cipher=str(levels["cipher"]),
            threads=threads,
            engine_threads=spread,
            memory_mib=self.engine.memory_mib(cache_bytes, threads, spread, session_bytes),
            aes_instructions=str(levels.get("aes_instructions", "on")),
            is_cold=layout.is_cold(condition),
            scope=_scope(layout, condition),
        )

    def template(self, settings: DuckdbSettings) -> Template:
        return Template((settings.cipher,), settings.cipher)

    def described(self, settings: DuckdbSettings, facts: Mapping[str, str]) -> str:
        if facts.get("encrypted") != "true":
            return "a plain file" if settings.cipher == "none" else "NOT encrypted"
        return f"{facts['cipher']} by {facts['crypto']}"

    def fault(self, settings: DuckdbSettings, facts: Mapping[str, str]) -> Detail | None:
        return self.engine.cipher_fault(settings, facts)

    def cautions(self, settings: DuckdbSettings) -> tuple[Caution, ...]:
        noted = (
            ()
            if settings.is_cold
            else (Caution.of("one-memory-limit", product="DuckDB", memory_mib=settings.memory_mib),)
        )
        return (
            (*noted, Caution.of("software-aes", library="mbedtls", product="DuckDB"))
            if self.engine.ciphers[settings.cipher].is_mbedtls
            else noted
        )

    def differing(self, settings: DuckdbSettings) -> tuple[str, ...]:
        """What ``ATTACH`` is given beyond, and whose code encrypts."""
        cipher = self.engine.ciphers[settings.cipher]
        if cipher.mode is None:
            return ()
        given = ("ENCRYPTION_KEY", f"ENCRYPTION_CIPHER {cipher.mode}")
        temp = ("temp_file_encryption",) if settings.scope == WITH_TEMP else ()
        return (*given, *temp, "force_mbedtls_unsafe") if cipher.is_mbedtls else (*given, *temp)

    def option_checks(
        self, options: Mapping[str, Any], levels: Mapping[str, Sequence[Level]]
    ) -> Iterator[Callable[[], object]]:
        scopes = levels.get("scope", () if options["scope"] is None else (options["scope"],))
        yield from (partial(self._check_scope, str(scope)) for scope in scopes)
        yield from backup_checks(TOOLS, levels)

    def actions(self, factor: str) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """What can be done to a file; beside a load its rows can be backed up."""
        return {name: CHOICES.get(name, {}) for name in ACTIONS} if factor == "work" else DURING

    def _check_scope(self, scope: str) -> None:
        if scope not in SCOPES:
            known = ", ".join(SCOPES)
            raise UsageError(Refusal.of("unknown", kind="scope", found=scope, hint=f" Supported: {known}."))

    def covered(self, settings: DuckdbSettings) -> frozenset[FileClass]:
        return frozenset(FileClass) if settings.encrypts_temp else frozenset(FileClass) - {FileClass.TEMP}

    def can_be_searched(self, _settings: DuckdbSettings) -> bool:
        return True

    def estimate(self, layout: RunLayout) -> ResourceEstimate:
        return of_analytic_files(self, layout)

    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> DuckdbTwins:
        return DuckdbTwins(self.engine, folder, job, mix)


def _scope(layout: RunLayout, condition: Condition) -> str:
    """The scope of a twin; empty where the run has none."""
    scope = layout.level(condition, "scope")
    if scope is None:
        return ""
    return PLAIN_SCOPE if condition.level("cipher") == "none" else str(scope)


def listed() -> Iterator[EngineInfo]:
    """It, with the module that it cannot encrypt without."""
    engine, available = DuckdbEngine(), True
    notes = "embedded: needs no server; OpenSSL encrypts, out of the module httpfs, or mbedtls"
    try:
        engine.require()
    except EngineUnavailable as fault:
        available, notes = False, str(fault)
    yield EngineInfo(
        name=engine.name,
        available=available,
        version=engine.version(),
        ciphers=tuple(engine.ciphers) if available else (),
        library=", ".join((engine.product, *(f"{name} {found}" for name, found in engine.versions().items()))),
        install=engine.install,
        notes=notes,
        crypto=engine.crypto if available else "",
    )
