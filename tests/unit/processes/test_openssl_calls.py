import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.refused import refused
from tdelta.errors import EngineUnavailable
from tdelta.processes import openssl_calls
from tdelta.processes.openssl_calls import (
    COUNTS_VARIABLE,
    HEAD,
    SLOT,
    Counts,
    describe_calls,
    environment,
    observe,
    preload_path,
    read,
    started,
    together,
)

OWN_NS = 25


def tally(starts: int, volume: int, update: tuple[int, int, int]) -> list[int]:
    return [starts, volume, starts, 125 * starts, 0, *update, 0, 0, 0]


def write(path: Path, *slots: bytes) -> None:
    path.write_bytes(HEAD.pack(1000 * OWN_NS) + b"".join(slots))


def slot(number: int, kind: int, name: bytes, encrypts: list[int], decrypts: list[int]) -> bytes:
    return SLOT.pack(number, kind, *encrypts, *decrypts, name)


NONE = tally(0, 0, (0, 0, 0))


def test_calls_since_a_reading_take_their_time_less_the_clocks_own(tmp_path: Path) -> None:
    path = tmp_path / "calls"
    write(path, slot(419, 0, b"AES-128-CBC", NONE, tally(10, 163_840, (10, 30_000, 0))))
    before = read(path)
    write(
        path,
        slot(419, 0, b"AES-128-CBC", NONE, tally(110, 1_802_240, (110, 330_000, 0))),
        slot(-1, 1, b"HMAC", tally(0, 4096, (1, 5_025, 0)), NONE),
    )
    cbc, mac = read(path).since(before)
    assert (cbc.name, cbc.kind, cbc.direction) == ("AES-128-CBC", "cipher", "decrypt")
    assert (cbc.starts, cbc.calls, cbc.bytes) == (100, 200, 1_638_400)
    assert cbc.us == pytest.approx(100 * (100 + 3000 - OWN_NS) / 1e3)
    assert (mac.name, mac.kind, mac.calls, mac.us) == ("HMAC", "mac", 1, pytest.approx(5.0))
    assert read(path).since(read(path)) == []


def test_a_call_that_was_interrupted_took_what_others_did(tmp_path: Path) -> None:
    path = tmp_path / "calls"
    write(path, slot(419, 0, b"AES-128-CBC", NONE, tally(0, 0, (100, 98 * 3_025, 2))))
    (found,) = read(path).since(read(tmp_path / "none"))
    assert found.us == pytest.approx(100 * 3.0)


def test_both_preloads_of_a_process_stay() -> None:
    own, added = {"LD_PRELOAD": "/a.so", "A": "1"}, {"LD_PRELOAD": "/b.so", "B": "2"}
    assert together(own, added) == {"LD_PRELOAD": "/b.so:/a.so", "A": "1", "B": "2"}
    assert together({}, {}) == {}
    assert together(own, {}) == own


def test_a_preload_of_the_user_stays(tmp_path: Path) -> None:
    added = environment(tmp_path / "counts", {"LD_PRELOAD": "/opt/x.so"})
    assert added["LD_PRELOAD"].endswith("libevp_count.so:/opt/x.so")
    assert added[COUNTS_VARIABLE] == str(tmp_path / "counts")


@pytest.mark.parametrize("folder", ["with blank", "with:colon", "with$dollar"])
def test_an_installation_that_cannot_be_preloaded_is_said_with_a_remedy(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / folder / "libevp_count.so"
    monkeypatch.setattr(openssl_calls, "preload_path", lambda: path)
    with refused(EngineUnavailable, "preload-missing", library=path):
        environment(tmp_path)
    path.parent.mkdir()
    path.touch()
    with refused(EngineUnavailable, "preload-unnamable", library=path):
        environment(tmp_path)


def counted(number: int, name: bytes, encrypts: int, decrypts: int) -> bytes:
    tallies = ([starts, 0, starts, 100 * starts, 0, *[0] * 6] for starts in (encrypts, decrypts))
    return SLOT.pack(number, 0, *next(tallies), *next(tallies), name)


def file_of(*slots: bytes) -> bytes:
    return HEAD.pack(25_000) + b"".join(slots)


def test_counts_are_read_by_cipher_and_free_slots_left_out(tmp_path: Path) -> None:
    path = tmp_path / "counts"
    path.write_bytes(
        file_of(counted(419, b"AES-128-CBC", 7, 9), counted(0, b"", 0, 0), counted(427, b"AES-256-CBC", 0, 1), b"half")
    )
    assert started(path) == {"AES-128-CBC": 16, "AES-256-CBC": 1}
    assert not started(tmp_path / "none")


def test_what_was_started_before_the_work_is_left_out_and_the_most_comes_first(tmp_path: Path) -> None:
    class Server:
        def __init__(self, counts: Path) -> None:
            self.counts = counts

        def work(self) -> None:
            slots = (counted(1, b"opening", 5, 5), counted(2, b"few", 1, 0), counted(3, b"many", 20, 300))
            self.counts.write_bytes(file_of(*slots))

    @contextmanager
    def start(added: Mapping[str, str]) -> Iterator[Server]:
        counts = Path(added[COUNTS_VARIABLE])
        counts.write_bytes(file_of(counted(1, b"opening", 5, 5), counted(3, b"many", 10, 0)))
        yield Server(counts)
        counts.write_bytes(file_of(counted(4, b"at its end", 9, 9)))

    found = observe(start, tmp_path)
    assert list(found.items()) == [("many", 310), ("few", 1)]
    assert describe_calls(found) == "many 310 times, few 1 times"
    assert not list(tmp_path.iterdir())


MACS = """
import hashlib, hmac
hmac.digest(b"key", b"text", "sha256")
whole = hmac.new(b"key", digestmod="sha512")
for _ in range({updates}):
    whole.update(bytes({length}))
print(whole.hexdigest())
"""
UPDATES, LENGTH = 500, 1 << 16


def preloaded(path: Path, program: str) -> tuple[str, Counts]:
    """The output of a Python program with the preload, and the preload's counts."""
    if not preload_path().is_file():
        if os.environ.get("TDELTA_REQUIRE_ENGINES"):
            pytest.fail("the preload is not built: make setup builds it")
        pytest.skip("the preload is not built: make setup builds it")
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment(path)}, stdout=-1, text=True, check=True
    )
    return done.stdout, read(path)


def test_macs_of_a_module_are_what_they_are_without_it_and_are_counted(tmp_path: Path) -> None:
    program = MACS.format(updates=UPDATES, length=LENGTH)
    plain = subprocess.run([sys.executable, "-c", program], stdout=-1, text=True, check=True).stdout
    printed, counts = preloaded(tmp_path / "calls", program)
    assert printed == plain
    calls = [one for one in counts.since(Counts(0.0, {})) if one.kind == "mac"]
    if not calls:
        pytest.skip("this Python's OpenSSL is no shared library")
    (mac,) = calls
    assert mac.bytes == UPDATES * LENGTH + len(b"text")
    assert mac.calls >= UPDATES + 2  # Python copies a MAC's state to end it
    # Between 0.2 and 20 ns a byte: SHA-512 takes 1 to 3 on any machine of today.
    assert 0.2 < 1e3 * mac.us / mac.bytes < 20.0
    assert 0.0 < counts.own_ns < 2_000
