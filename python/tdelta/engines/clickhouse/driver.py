"""ClickHouse as a run sees it: every twin a folder and a process of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from tdelta.driver import AnyJob, TwinFolder, WorkloadSpec
from tdelta.engines.capabilities import Template
from tdelta.engines.clickhouse.engine import ClickhouseEngine, ClickhouseSettings
from tdelta.engines.clickhouse.messages import ClickhouseRefusal
from tdelta.engines.clickhouse.profile import PROFILE
from tdelta.engines.clickhouse.twins import ClickhouseTwins
from tdelta.engines.layout import ResourceEstimate, RunLayout
from tdelta.engines.profile import EngineInfo
from tdelta.engines.shared.estimates import of_analytic_files
from tdelta.errors import EngineUnavailable, UnknownName, UsageError
from tdelta.evidence import FileClass
from tdelta.messages import Caution, Detail
from tdelta.records import Condition


def driver(_options: Mapping[str, Any]) -> ClickhouseDriver:
    """ClickHouse.

    Raises:
        EngineUnavailable: it is not installed.
    """
    engine = ClickhouseEngine()
    engine.require()
    return ClickhouseDriver(engine)


class ClickhouseDriver:
    """ClickHouse as a run sees it; see `tdelta.engines.capabilities.Engine`."""

    profile = PROFILE

    def __init__(self, engine: ClickhouseEngine) -> None:
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
        return self.engine.product

    def versions(self) -> dict[str, str]:
        """The wheels'."""
        return self.engine.versions()

    def identity(self) -> str:
        """The wheels with their versions."""
        return ", ".join(f"{name} {version}" for name, version in self.versions().items())

    def check_cipher(self, cipher: str) -> None:
        """Raise ``UnknownName`` for a cipher that it does not have."""
        if cipher not in self.engine.ciphers:
            raise UnknownName("cipher", cipher, self.engine.ciphers)

    def check_layout(self, layout: RunLayout) -> None:
        """Raise ``UsageError`` for transactions that change rows, where there are none of such."""
        runs_transactions = not all(layout.step(condition) for condition in layout.conditions)
        if layout.writes and runs_transactions:
            raise UsageError(ClickhouseRefusal.of("writes", workload=layout.workload.name))

    def settings(self, layout: RunLayout, condition: Condition, _data_bytes: int) -> ClickhouseSettings:
        """What a condition's folder and sessions are made with."""
        levels = dict(condition.levels)
        return ClickhouseSettings(
            cipher=str(levels["cipher"]),
            threads=int(levels["threads"]),
            engine_threads=len(os.sched_getaffinity(0)),
            aes_instructions=str(levels.get("aes_instructions", "on")),
            is_cold=layout.is_cold(condition),
        )

    def template(self, settings: ClickhouseSettings) -> Template:
        """Folders are copied among twins of one cipher."""
        return Template((settings.cipher,), settings.cipher)

    def described(self, settings: ClickhouseSettings, facts: Mapping[str, str]) -> str:
        """What ClickHouse, and the headers of its files, say of the encryption in force."""
        cipher = self.engine.ciphers[settings.cipher]
        if facts["header"] == "plain":
            return "plain files" if cipher is None else "NOT encrypted"
        return f"an encrypted disk, {facts['header']} in the header of every file"

    def fault(self, settings: ClickhouseSettings, facts: Mapping[str, str]) -> Detail | None:
        """What is wrong with the encryption in force."""
        return self.engine.cipher_fault(settings, facts)

    def cautions(self, settings: ClickhouseSettings) -> tuple[Caution, ...]:
        """That nothing limits the cache."""
        return () if settings.is_cold else (Caution.of("cache-of-system", product=self.product),)

    def differing(self, settings: ClickhouseSettings) -> tuple[str, ...]:
        """What the disk is given beyond."""
        cipher = self.engine.ciphers[settings.cipher]
        return () if cipher is None else ("disk type encrypted", f"algorithm {cipher.algorithm}")

    def covered(self, _settings: ClickhouseSettings) -> frozenset[FileClass]:
        """All files but temporary ones."""
        return frozenset(FileClass) - {FileClass.TEMP}

    def can_be_searched(self, _settings: ClickhouseSettings) -> bool:
        """ClickHouse itself encrypts, so files are read as they lie on the disk."""
        return True

    def estimate(self, layout: RunLayout) -> ResourceEstimate:
        """Folders and workers."""
        return of_analytic_files(self, layout)

    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> ClickhouseTwins:
        """Folders and workers."""
        return ClickhouseTwins(self.engine, folder, job, mix)


def listed() -> Iterator[EngineInfo]:
    """It, with the wheel that has ClickHouse in it."""
    engine, available = ClickhouseEngine(), True
    notes = "embedded: needs no server; an encrypted disk, which leaves temporary files in the clear"
    try:
        engine.require()
    except EngineUnavailable as fault:
        available, notes = False, str(fault)
    versions = engine.versions()
    yield EngineInfo(
        name=engine.name,
        available=available,
        version=versions.get("chdb-core"),
        ciphers=tuple(engine.ciphers),
        library=", ".join((engine.product, *(f"{name} {found}" for name, found in versions.items()))),
        install=engine.install,
        notes=notes,
        crypto=engine.crypto if available else "",
    )
