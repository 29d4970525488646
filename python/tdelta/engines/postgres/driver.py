from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tdelta.engines.postgres.private import PostgresEngine
from tdelta.engines.postgres.profile import PROFILE
from tdelta.engines.postgres.protections import has_extension, protection_for
from tdelta.engines.postgres.storage import Unencrypted
from tdelta.engines.postgres.tde import EXTENSION
from tdelta.engines.profile import EngineInfo
from tdelta.engines.servers import ServerBinary
from tdelta.engines.shared.private import driver as private


def driver(options: Mapping[str, Any]) -> private.PrivateDriver:
    """The newest server that is found, or the one that is asked for, with what encrypts its files.

    Where a run varies storage, the storage encrypts; a server does beside it only if it has pg_tde.

    Raises:
        EngineUnavailable: there is none, ``--server-binary`` is not that server, or nothing is there to encrypt with.
        UsageError: nothing is seen to encrypt the folder that is given.
        EnvironmentFault: this machine cannot.
    """

    def make(binary: ServerBinary) -> PostgresEngine:
        if "storage" in options["vary"] and not has_extension(binary, EXTENSION):
            return PostgresEngine(binary, Unencrypted())
        return _protected(binary, options["encrypted_dir"])

    return private.made(PROFILE, options, make)


def listed() -> Iterator[EngineInfo]:
    return private.listed(PROFILE, _protected)


def _protected(binary: ServerBinary, encrypted_folder: Path | None = None) -> PostgresEngine:
    return PostgresEngine(binary, protection_for(binary, encrypted_folder))
