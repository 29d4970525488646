"""The state of a cache at rest is kept beside the data; after a failure the twin warms up as usual."""

from pathlib import Path

import pytest
from processes.servers.faking import recipe

from tdelta.engines.mariadb.driver import MariaDb
from tdelta.engines.mysql.driver import MySql
from tdelta.engines.server.base import ServerBinary
from tdelta.engines.server.private_twin import KeptCache

MARIADB = MariaDb(ServerBinary("mariadb", "MariaDB", Path("/usr/sbin/mariadbd"), "10.11.19", "a fake"))
MYSQL = MySql(ServerBinary("mysql", "MySQL", Path("/usr/sbin/mysqld"), "9.7.4", "a fake"))


def test_the_misses_of_the_cache_that_misses_least_are_kept(tmp_path: Path) -> None:
    cache = KeptCache(MARIADB, recipe(tmp_path / "twin"), tmp_path / "pages")
    assert cache.restore() is None
    for misses in (0.5, 0.25, 0.75):
        cache.keep(misses)
    assert cache.restore() == 0.25
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["pages"]


def test_a_server_that_does_not_answer_restores_nothing_and_raises_nothing(tmp_path: Path) -> None:
    of = recipe(tmp_path / "twin")
    of.place.data.mkdir(parents=True)
    cache = KeptCache(MYSQL, of, tmp_path / "pages")
    cache.keep(0.5)
    assert not (tmp_path / "pages").exists()
    (tmp_path / "pages").write_bytes(b"0.5\n1,2\n")
    assert cache.restore() is None
    assert list(of.place.data.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"many\n"])
def test_a_file_that_is_damaged_restores_nothing_and_is_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "pages").write_bytes(content)
    cache = KeptCache(MARIADB, recipe(tmp_path / "twin"), tmp_path / "pages")
    assert cache.restore() is None
    cache.keep(0.5)
    assert cache.restore() == 0.5
