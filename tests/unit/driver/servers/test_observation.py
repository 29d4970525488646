"""Counts of a preload are read, subtracted and told; what is missing is said and not taken for an absence."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tdelta.driver.servers import observation
from tdelta.driver.servers.observation import CipherCalls, environment, observe, read_counts, told
from tdelta.errors import EngineUnavailable


def slot(number: int, name: bytes, encrypts: int, decrypts: int) -> bytes:
    return struct.pack("=i4xQQ40s", number, encrypts, decrypts, name)


def test_counts_are_read_by_cipher_and_free_slots_left_out(tmp_path: Path) -> None:
    path = tmp_path / "counts"
    path.write_bytes(slot(419, b"AES-128-CBC", 7, 9) + slot(0, b"", 0, 0) + slot(427, b"AES-256-CBC", 0, 1) + b"half")
    assert read_counts(path) == {"AES-128-CBC": CipherCalls(7, 9), "AES-256-CBC": CipherCalls(0, 1)}
    assert read_counts(tmp_path / "none") == {}


def test_what_was_started_before_the_work_is_left_out_and_the_most_comes_first(tmp_path: Path) -> None:
    class Server:
        def __init__(self, counts: Path) -> None:
            self.counts = counts

        def work(self) -> None:
            slots = (slot(1, b"opening", 5, 5), slot(2, b"few", 1, 0), slot(3, b"many", 20, 300))
            self.counts.write_bytes(b"".join(slots))

    @contextmanager
    def start(added: Mapping[str, str]) -> Iterator[Server]:
        counts = Path(added[observation.COUNTS_VARIABLE])
        counts.write_bytes(slot(1, b"opening", 5, 5) + slot(3, b"many", 10, 0))
        yield Server(counts)
        counts.write_bytes(slot(4, b"at its end", 9, 9))

    found = observe(start, tmp_path)
    assert list(found.items()) == [("many", CipherCalls(10, 300)), ("few", CipherCalls(1, 0))]
    assert told(found) == "many 310 times, few 1 times"
    assert not list(tmp_path.iterdir())


def test_a_preload_of_the_user_stays(tmp_path: Path) -> None:
    added = environment(tmp_path / "counts", {"LD_PRELOAD": "/opt/x.so"})
    assert added["LD_PRELOAD"].endswith("libevp_count.so:/opt/x.so")
    assert added[observation.COUNTS_VARIABLE] == str(tmp_path / "counts")


@pytest.mark.parametrize("folder", ["with blank", "with:colon", "with$dollar"])
def test_an_installation_that_cannot_be_preloaded_is_said_with_a_remedy(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / folder / "libevp_count.so"
    monkeypatch.setattr(observation, "preload_path", lambda: path)
    with pytest.raises(EngineUnavailable, match="make setup builds it"):
        environment(tmp_path)
    path.parent.mkdir()
    path.touch()
    with pytest.raises(EngineUnavailable, match="install tdelta in a folder without"):
        environment(tmp_path)
