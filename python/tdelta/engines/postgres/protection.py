"""What encrypts a PostgreSQL server's files: the protocols between the adapter and the ways there are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from tdelta.driver.servers.recipes import Mount, ServerPaths
from tdelta.engines.servers import ServerCipher, ServerSettings
from tdelta.messages import Caution, Detail


class Protection(Protocol):
    @property
    def ciphers(self) -> Mapping[str, ServerCipher]:
        """The levels of the factor ``cipher``, ``none`` among them."""

    @property
    def scopes(self) -> tuple[str, ...]:
        """The levels of the factor ``scope``."""

    @property
    def crypto(self) -> str:
        """Whose code encrypts: a value of `tdelta.measure.CryptoKind`, or a name from which nothing can hide AES."""

    def facts(self, settings: ServerSettings) -> Mapping[str, str]:
        """Queries for what the server says of its encryption."""

    def fault(self, settings: ServerSettings, found: Mapping[str, str]) -> Detail | None:
        """What is wrong with the encryption in force, given the answers to `facts`; None if it is as asked."""

    def differing(self, settings: ServerSettings) -> tuple[str, ...]:
        """What this twin has otherwise than a plain one, for people."""

    def cautions(self, settings: ServerSettings) -> tuple[Caution, ...]:
        """What must be said beside every figure of such a twin."""


@runtime_checkable
class Mounts(Protocol):
    def mount(self, place: ServerPaths, settings: ServerSettings, key: str) -> Mount:
        """That file system."""


@runtime_checkable
class Lodges(Protocol):
    """A folder of the user's is encrypted. The bytes on its disk cannot be read: the kernel shows what it decrypts."""

    def home(self, settings: ServerSettings) -> Path | None:
        """The folder in which such a twin must be made; None: anywhere."""


@runtime_checkable
class Configures(Protocol):
    def options(self, settings: ServerSettings) -> Mapping[str, str]:
        """Lines of postgresql.conf beside those that all servers have."""

    def before_load_sql(self, settings: ServerSettings) -> tuple[str, ...]:
        """What is run on the new database before tables are made."""


@runtime_checkable
class Proves(Protocol):
    def proof_sql(self, settings: ServerSettings, pages: int) -> Mapping[str, str]:
        """Queries that have 16 KiB encrypted or decrypted so often (``encrypted``), and all but that (``plain``)."""
