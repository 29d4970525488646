"""Prices of DuckDB's blocks, as far as they go without DuckDB."""

from __future__ import annotations

import pytest

from tdelta.driver.duckdb.block_prices import FEWEST_PASSES, TURNS, passes, us_a_block


@pytest.mark.parametrize("turns", [FEWEST_PASSES, FEWEST_PASSES * TURNS - 1])
def test_few_turns_are_passes_as_they_are(turns: int) -> None:
    assert passes([float(at) for at in range(turns)]) == list(range(turns))


def test_many_turns_are_averaged_and_what_makes_no_whole_pass_is_left_out() -> None:
    turns = [float(at // TURNS) for at in range(FEWEST_PASSES * TURNS)]
    assert passes([*turns, 100.0]) == [0.0, 1.0, 2.0]


def test_work_that_did_not_move_its_blocks_has_no_price() -> None:
    assert us_a_block(lambda: None, None) >= 0.0
    with pytest.raises(ValueError, match=r"expected some 64 blocks of asked read bytes, found 0\.0"):
        us_a_block(lambda: None, "asked_read_bytes")
