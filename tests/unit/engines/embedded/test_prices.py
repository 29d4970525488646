import itertools
import math
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tdelta.engines.embedded import prices as module
from tdelta.engines.embedded.prices import PricedFile, opened, prices, proof
from tdelta.measure.aes import Preload, PreloadMode


class Timed(PricedFile):
    proof_scans = 3
    units_in_a_page = 0.5
    units, count, unit_bytes = "pages", 32, 4096
    clock_ns = staticmethod(time.thread_time_ns)
    least, most = 0.75, 1.25

    def __init__(self, name: str, times_us: Mapping[str, float], found: str = "rows") -> None:
        self._of_cipher, self._found, self.closed = times_us[name], found, False

    def found(self) -> str:
        return self._found

    def read_us(self) -> float:
        return 2.0 + self._of_cipher

    def cached_us(self) -> float:
        return 0.5

    def write_us(self) -> float:
        return 4.0 + 2 * self._of_cipher

    def in_memory_us(self) -> float:
        return 1.0

    def close(self) -> None:
        self.closed = True


TIMES = {"plain": 0.0, "encrypted": 3.0, "bare": 1.0}


def pages(**changed: object) -> Timed:
    made = Timed("plain", TIMES)
    for name, value in changed.items():
        setattr(made, name, value)
    return made


needs_counts = pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="the kernel does not count what is read")


def test_in_memory_the_time_is_shared_out_over_all_units() -> None:
    ticks = iter((1_000_000, 1_320_000))
    assert pages(clock_ns=lambda: next(ticks)).us_each(lambda: None, None) == pytest.approx(10.0)


@needs_counts
def test_the_time_is_shared_out_over_those_that_were_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(40 * 4096))
    ticks = iter((0, 400_000))
    metered = pages(clock_ns=lambda: next(ticks), most=math.inf)
    assert metered.us_each(lambda: _read(tmp_path / "file"), "syscall_read_bytes") == pytest.approx(10.0, rel=0.2)


@needs_counts
@pytest.mark.parametrize("moved", [0, 400])
def test_work_that_did_not_move_its_units_or_more_has_no_price(moved: int, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(moved * 4096))
    with pytest.raises(ValueError, match="32 pages"):
        pages().us_each(lambda: _read(tmp_path / "file"), "syscall_read_bytes")


def test_prices_are_what_is_beyond_memory_and_beyond_a_plain_unit() -> None:
    with opened({name: name for name in TIMES}, lambda name: Timed(str(name), TIMES)) as files:
        found = prices(files, 2, repeats=3)
    assert found == {
        "plain_read": [1.5] * 2,
        "plain_write": [3.0] * 2,
        "read": [3.0] * 2,
        "write": [6.0] * 2,
        "bare_read": [1.0] * 2,
        "bare_write": [2.0] * 2,
    }


def test_a_proof_is_of_the_least_read_for_a_page() -> None:
    found = proof({name: Timed(name, TIMES) for name in ("plain", "encrypted")})
    assert (found["plain_us_per_page"], found["cipher_us_per_page"]) == (1.0, 1.5)


def test_a_library_that_asks_cpuid_in_every_scan_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = itertools.count(0, Timed.proof_scans)
    monkeypatch.setattr(module, "preload", lambda: Preload(PreloadMode.PATCHING, answered=next(asked)))
    with pytest.raises(ValueError, match="CPUID"):
        proof({name: Timed(name, TIMES) for name in ("plain", "encrypted")})


def test_files_with_other_rows_have_no_price_and_are_closed() -> None:
    made = []

    def make(name: object) -> Timed:
        made.append(Timed(str(name), TIMES, found=str(name)))
        return made[-1]

    with pytest.raises(ValueError, match="different"), opened({"plain": "plain", "encrypted": "encrypted"}, make):
        pass
    assert [file.closed for file in made] == [True, True]


def _read(path: Path) -> None:
    path.read_bytes()
