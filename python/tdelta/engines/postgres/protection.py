"""What encrypts a PostgreSQL server's files: the protocol between the adapter and the ways there are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

from tdelta.driver.servers.recipes import Mount, Place
from tdelta.engines.servers import ServerCipher, ServerSettings


class Protection(ABC):
    """One way to encrypt, and what it wants of the server for that: as it stands here, nothing."""

    __slots__ = ()

    @property
    @abstractmethod
    def ciphers(self) -> Mapping[str, ServerCipher]:
        """The levels of the factor ``cipher``, ``none`` among them."""

    @property
    @abstractmethod
    def scopes(self) -> tuple[str, ...]:
        """The levels of the factor ``scope``."""

    @property
    @abstractmethod
    def crypto(self) -> str:
        """Whose code encrypts: a value of `tdelta.measure.CryptoKind`, or a name from which nothing can hide AES."""

    @abstractmethod
    def proof_sql(self, settings: ServerSettings, pages: int) -> Mapping[str, str]:
        """Queries that have 16 KiB encrypted or decrypted so often (``encrypted``), and all but that (``plain``)."""

    @abstractmethod
    def facts(self, settings: ServerSettings) -> Mapping[str, str]:
        """Queries for what the server says of its encryption."""

    @abstractmethod
    def fault(self, settings: ServerSettings, found: Mapping[str, str]) -> str | None:
        """What is wrong with the encryption in force, given the answers to `facts`; None if it is as asked."""

    @abstractmethod
    def differing(self, settings: ServerSettings) -> tuple[str, ...]:
        """What this twin has otherwise than a plain one, for people."""

    @abstractmethod
    def cautions(self, settings: ServerSettings) -> tuple[str, ...]:
        """What must be said beside every figure of such a twin."""

    @property
    def encrypts_folder(self) -> bool:
        """Whether what encrypts is a file system under the whole data directory."""
        return False

    @property
    def can_be_searched(self) -> bool:
        """Whether the bytes that lie on the disk can be read."""
        return True

    def home(self, _settings: ServerSettings) -> Path | None:
        """The folder in which such a twin must be made; None: anywhere."""
        return None

    def mount(self, _place: Place, _settings: ServerSettings, _key: str | None) -> Mount | None:
        """The file system under the data directory; None where there is none of tdelta's own."""
        return None

    def options(self, _settings: ServerSettings) -> Mapping[str, str]:
        """Lines of postgresql.conf beside those that all servers have."""
        return {}

    def before_load_sql(self, _settings: ServerSettings) -> tuple[str, ...]:
        """What is run on the new database before tables are made."""
        return ()
