"""Runs on servers that are not there: the adapter is real, its program and its twins are not."""

from pathlib import Path
from typing import Any

import pytest

from support.fake_twins import FakeTwin, FakeTwins, Script
from tdelta.engines.mariadb.driver import MariaDb
from tdelta.engines.mysql.driver import MySql
from tdelta.engines.server.base import ServerBinary, ServerEngine, ServerSettings
from tdelta.errors import ServerLost
from tdelta.evidence import FileClass, MarkerHit
from tdelta.messages import Refusal

from .conducting import Sitting

BINARIES = {
    "mariadb": ServerBinary("mariadb", "MariaDB", Path("/nowhere/sbin/mariadbd"), "10.11.19", "mariadbd  Ver 10.11.19"),
    "mysql": ServerBinary("mysql", "MySQL", Path("/nowhere/sbin/mysqld"), "9.7.4", "mysqld  Ver 9.7.4"),
}
ENGINES = {"mariadb": MariaDb, "mysql": MySql}
OPTIONS = {"engine": "mariadb", "scope": "data"}


def engine(name: str = "mariadb") -> ServerEngine:
    return ENGINES[name](BINARIES[name])


def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every request for a server get these."""
    monkeypatch.setattr("tdelta.engines.server.driver.find_servers", lambda name, _: (BINARIES[name],))


def facts(settings: ServerSettings) -> dict[str, str]:
    on = settings.is_encrypted
    return {
        **dict.fromkeys(("aria_encrypt_tables", "innodb_encryption_threads"), "0"),
        **dict.fromkeys(("encrypt_binlog", "encrypt_tmp_disk_tables", "encrypt_tmp_files"), "0"),
        **dict.fromkeys(("innodb_encrypt_log", "innodb_encrypt_temporary_tables"), "0"),
        "innodb_encrypt_tables": "FORCE" if on else "OFF",
        **({"aria_encrypt_tables": "1", "innodb_encryption_threads": "4"} if on else {}),
        "plain_tablespaces": "0",
        "encrypted_tablespaces": "7" if on else "0",
        **({"file_key_management_encryption_algorithm": "AES_CBC"} if on else {}),
    }


def found(settings: ServerSettings) -> tuple[MarkerHit, ...]:
    return (
        MarkerHit("tdelta/sbtest1.ibd", FileClass.TABLES, 3_000_000, 0 if settings.is_encrypted else 32),
        MarkerHit("ib_logfile0", FileClass.REDO, 128_000_000, 64),
    )


def served(base: Path, **script: Any) -> Sitting:
    spoken = {"facts": lambda _: {"version": "10.11.19"}, "cipher_facts": facts, "found": found}
    return Sitting(base, FakeTwins(Script(**{**spoken, **script})))


def is_block(job: Any) -> bool:
    return bool(job.stream < 1 << 40)


def is_warm_up(job: Any) -> bool:
    return bool(1 << 41 <= job.stream < 1 << 42)


def is_search(job: Any) -> bool:
    return bool(job.stream >= 1 << 42)


def is_sizing(job: Any) -> bool:
    return bool(1 << 40 <= job.stream < 1 << 41)


def dies(when: Any, times: int = 1) -> Any:
    """A script's ``before_trial`` under which a server dies so often, at the first trials of that kind."""
    died: list[FakeTwin] = []

    def before_trial(twin: FakeTwin, job: Any) -> None:
        if when(job) and len(died) < times:
            died.append(twin)
            raise ServerLost(Refusal.of("server-died", server=twin.name), "its last word")

    return before_trial
