"""Turso as a run sees it: every twin a file and a process of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tdelta.driver import AnyJob, TwinFolder, WorkloadSpec
from tdelta.engines.capabilities import Template
from tdelta.engines.layout import ResourceEstimate, RunLayout
from tdelta.engines.profile import EngineInfo
from tdelta.engines.shared.estimates import of_files
from tdelta.engines.turso.engine import DISTRIBUTION, TursoEngine, TursoSettings
from tdelta.engines.turso.profile import PROFILE
from tdelta.engines.turso.twins import TursoTwins
from tdelta.errors import UnknownName
from tdelta.evidence import FileClass
from tdelta.messages import Caution, Detail
from tdelta.records import Condition


def driver(_options: Mapping[str, Any]) -> TursoDriver:
    """Turso.

    Raises:
        EngineUnavailable: it is not installed.
    """
    engine = TursoEngine()
    engine.require()
    return TursoDriver(engine)


class TursoDriver:
    """Turso as a run sees it; see `tdelta.engines.capabilities.Engine`."""

    profile = PROFILE

    def __init__(self, engine: TursoEngine) -> None:
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
        """The wheel's."""
        return {DISTRIBUTION: self.engine.version() or ""}

    def identity(self) -> str:
        """The wheel with its version."""
        return f"{DISTRIBUTION} {self.engine.version()}"

    def check_cipher(self, cipher: str) -> None:
        """Raise ``UnknownName`` for a cipher that it does not have."""
        if cipher not in self.engine.ciphers:
            raise UnknownName("cipher", cipher, self.engine.ciphers)

    def settings(self, layout: RunLayout, condition: Condition, data_bytes: int) -> TursoSettings:
        """What a condition's files and connections are made with."""
        levels = dict(condition.levels)
        return TursoSettings(
            cipher=str(levels["cipher"]),
            threads=int(levels["threads"]),
            cache_bytes=layout.cache_bytes(condition, data_bytes),
            aes_instructions=str(levels.get("aes_instructions", "on")),
            is_cold=layout.is_cold(condition),
        )

    def template(self, settings: TursoSettings) -> Template:
        """Files are copied among twins of one cipher."""
        return Template((settings.cipher,), settings.cipher)

    def described(self, settings: TursoSettings, facts: Mapping[str, str]) -> str:
        """What Turso, and the file's header, say of the encryption in force."""
        if facts["header"] == "plain":
            return "a plain file" if settings.cipher == "none" else "NOT encrypted"
        return f"{facts['cipher']}, {facts['header']} in the file's header"

    def fault(self, settings: TursoSettings, facts: Mapping[str, str]) -> Detail | None:
        """What is wrong with the encryption in force."""
        return self.engine.cipher_fault(settings, facts)

    def cautions(self, settings: TursoSettings) -> tuple[Caution, ...]:
        """That its encryption is not finished."""
        if not self.engine.needs_key(settings.cipher):
            return ()
        return (Caution.of("experimental-encryption", product=self.product),)

    def differing(self, settings: TursoSettings) -> tuple[str, ...]:
        """What a connection is given beyond."""
        cipher = self.engine.ciphers[settings.cipher]
        return () if cipher is None else ("experimental_features encryption", f"encryption {cipher.library_name}")

    def covered(self, _settings: TursoSettings) -> frozenset[FileClass]:
        """All files but temporary ones."""
        return frozenset(FileClass) - {FileClass.TEMP}

    def can_be_searched(self, _settings: TursoSettings) -> bool:
        """Turso itself encrypts, so files are read as they lie on the disk."""
        return True

    def estimate(self, layout: RunLayout) -> ResourceEstimate:
        """Files and workers."""
        return of_files(self, layout, times_calls=False)

    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> TursoTwins:
        """Files and workers."""
        return TursoTwins(self.engine, folder, job, mix)


def listed() -> Iterator[EngineInfo]:
    """It, as it is installed."""
    engine = TursoEngine()
    version = engine.version()
    yield EngineInfo(
        name=engine.name,
        available=version is not None,
        version=version,
        ciphers=tuple(engine.ciphers),
        library=f"{engine.product}, in the wheel {DISTRIBUTION}",
        install=engine.install,
        notes="embedded: needs no server; its encryption is experimental, and leaves temporary files in the clear",
        crypto=engine.crypto,
    )
