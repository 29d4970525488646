import math
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tdelta.engines.duckdb.block_prices import MovedUnits

PAGES = MovedUnits("pages", 32, 4096, time.thread_time_ns, least=0.75, most=1.25)
needs_counts = pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="the kernel does not count what is read")


def test_in_memory_the_time_is_shared_out_over_all_units() -> None:
    ticks = iter((1_000_000, 1_320_000))
    assert replace(PAGES, clock_ns=lambda: next(ticks)).us_each(lambda: None, None) == pytest.approx(10.0)


@needs_counts
def test_the_time_is_shared_out_over_those_that_were_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(40 * 4096))
    ticks = iter((0, 400_000))
    metered = replace(PAGES, clock_ns=lambda: next(ticks), most=math.inf)
    assert metered.us_each(lambda: _read(tmp_path / "file"), "syscall_read_bytes") == pytest.approx(10.0, rel=0.2)


@needs_counts
@pytest.mark.parametrize("pages", [0, 400])
def test_work_that_did_not_move_its_units_or_more_has_no_price(pages: int, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(pages * 4096))
    with pytest.raises(ValueError, match="32 pages"):
        PAGES.us_each(lambda: _read(tmp_path / "file"), "syscall_read_bytes")


def _read(path: Path) -> None:
    path.read_bytes()
