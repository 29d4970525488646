"""Counts of a preload are read, subtracted and told; what is missing is said and not taken for an absence."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tdelta.driver.evp_calls import COUNTS_VARIABLE, HEAD, SLOT, describe_calls, observe, started


def slot(number: int, name: bytes, encrypts: int, decrypts: int) -> bytes:
    tallies = ([starts, 0, starts, 100 * starts, 0, *[0] * 6] for starts in (encrypts, decrypts))
    return SLOT.pack(number, 0, *next(tallies), *next(tallies), name)


def file_of(*slots: bytes) -> bytes:
    return HEAD.pack(25_000) + b"".join(slots)


def test_counts_are_read_by_cipher_and_free_slots_left_out(tmp_path: Path) -> None:
    path = tmp_path / "counts"
    path.write_bytes(
        file_of(slot(419, b"AES-128-CBC", 7, 9), slot(0, b"", 0, 0), slot(427, b"AES-256-CBC", 0, 1), b"half")
    )
    assert started(path) == {"AES-128-CBC": 16, "AES-256-CBC": 1}
    assert not started(tmp_path / "none")


def test_what_was_started_before_the_work_is_left_out_and_the_most_comes_first(tmp_path: Path) -> None:
    class Server:
        def __init__(self, counts: Path) -> None:
            self.counts = counts

        def work(self) -> None:
            slots = (slot(1, b"opening", 5, 5), slot(2, b"few", 1, 0), slot(3, b"many", 20, 300))
            self.counts.write_bytes(file_of(*slots))

    @contextmanager
    def start(added: Mapping[str, str]) -> Iterator[Server]:
        counts = Path(added[COUNTS_VARIABLE])
        counts.write_bytes(file_of(slot(1, b"opening", 5, 5), slot(3, b"many", 10, 0)))
        yield Server(counts)
        counts.write_bytes(file_of(slot(4, b"at its end", 9, 9)))

    found = observe(start, tmp_path)
    assert list(found.items()) == [("many", 310), ("few", 1)]
    assert describe_calls(found) == "many 310 times, few 1 times"
    assert not list(tmp_path.iterdir())
