import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.leaking import asking, running, settings_of
from support.running import server_of
from tdelta.engines.mariadb.driver import MariaDb
from tdelta.engines.server.sessions import Session
from tdelta.processes.openssl_calls import HEAD, SLOT, Watched, describe_calls, environment, observe, started
from tdelta.processes.servers.server import Server

ROWS = "SELECT REPEAT(MD5(seq), 6) FROM seq_1_to_20000"


@pytest.fixture(scope="module")
def engine() -> MariaDb:
    return MariaDb(server_of("mariadb"))


class Working:
    def __init__(self, server: Server) -> None:
        self.server = server
        self.pages = 0

    def work(self) -> None:
        with asking(self.server) as twin:
            before = pages_decrypted(twin)
            twin.rows("SELECT SUM(LENGTH(x)) FROM t")
            self.pages = pages_decrypted(twin) - before


def pages_decrypted(twin: Session) -> int:
    _, rows = twin.rows("SHOW GLOBAL STATUS LIKE 'Innodb_num_pages_decrypted'")
    return int(rows[0][1] or 0)


@contextmanager
def filled(engine: MariaDb, folder: Path, scope: str, added: Mapping[str, str]) -> Iterator[Working]:
    """A server that has to read its table from the disk."""
    with running(engine, folder, settings_of(scope), added) as server:
        with asking(server) as twin:
            twin.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, x VARCHAR(200) NOT NULL)")
            twin.run(f"INSERT INTO t (x) {ROWS}")
        server.stop()
        server.start()
        yield Working(server)


def test_pages_are_encrypted_with_128_bits_whatever_the_keys_length(engine: MariaDb, tmp_path: Path) -> None:
    working: list[Working] = []

    @contextmanager
    def start(added: Mapping[str, str]) -> Iterator[Watched]:
        with filled(engine, tmp_path / "server", "data", added) as server:
            working.append(server)
            yield server
            os.kill(server.server.pid, signal.SIGKILL)

    found = observe(start, tmp_path)
    assert working[0].pages > 100
    assert found["AES-128-CBC"] >= working[0].pages
    # OpenSSL's random numbers are AES-256's; what is not once per page is not of pages
    assert not [name for name, calls in found.items() if "256" in name and calls > working[0].pages / 10], found
    assert describe_calls(found).startswith("AES-128-")
    assert not list(tmp_path.glob("counts-*"))


def without_random(found: Mapping[str, int]) -> dict[str, int]:
    """Counts but for those of OpenSSL's random numbers, which are AES-256's; pages are AES-128's here."""
    return {name: calls for name, calls in found.items() if "256" not in name}


def test_a_plain_server_starts_no_cipher_for_its_pages_and_counts_outlive_a_kill(
    engine: MariaDb, tmp_path: Path
) -> None:
    counts = tmp_path / "counts"
    with filled(engine, tmp_path / "server", "none", environment(counts)) as working:
        assert counts.stat().st_size == HEAD.size + 64 * SLOT.size
        before = started(counts)
        working.work()
        assert without_random(started(counts)) == without_random(before)
        with asking(working.server) as twin:
            twin.rows("SELECT AES_ENCRYPT('text', 'a key'), @@version")
        os.kill(working.server.pid, signal.SIGKILL)
    after = without_random(started(counts))
    assert after == {**without_random(before), "AES-128-ECB": 1 + before["AES-128-ECB"]}
