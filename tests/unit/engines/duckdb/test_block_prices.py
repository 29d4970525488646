"""Prices of DuckDB's blocks, as far as they go without DuckDB."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdelta.engines.duckdb.block_prices import us_a_block


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="the kernel does not tell what is read")
def test_work_that_did_not_move_its_blocks_has_no_price() -> None:
    assert us_a_block(lambda: None, None) >= 0.0
    with pytest.raises(ValueError, match=r"expected some 32 blocks of asked read bytes, found 0\.0"):
        us_a_block(lambda: None, "asked_read_bytes")
