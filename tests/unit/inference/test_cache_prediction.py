"""What if: a curve through measured cells, each of which the others predict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tdelta.inference.cache_prediction import cache_predictions
from tdelta.inference.prices import PagePrices, Price
from tdelta.records import CachePrediction, Condition, Role, Trial
from tdelta_flat import changed

from .builders import measurement, settings, trial

SHARES = (0.05, 0.1, 0.2, 0.4, 0.8)
PAGE, US_A_PAGE, CONSTANT = 4096, 2.0, 3.0


def conditions(shares: tuple[float, ...] = SHARES) -> list[Condition]:
    made = []
    for stratum, share in enumerate(shares):
        for cipher, role in (("none", Role.BASELINE), ("aes-256", Role.TREATMENT)):
            made.append(Condition((("cipher", cipher), ("cache", share), ("threads", 1)), role, stratum))
    return made


def pages(share: float) -> float:
    return 40.0 * (1.0 - share) ** 1.5


def trials(of: list[Condition], random: np.random.Generator, odd: float | None = None) -> list[Trial]:
    """Plain time falls with the pages missed; a page costs 2 µs more, though its price is said to be 1.8."""

    def one(condition: Condition, round_: int, block: int) -> Trial:
        share = float(condition.level("cache"))
        us = 60.0 + 1.5 * pages(share)
        if condition.role is Role.TREATMENT:
            us += CONSTANT + US_A_PAGE * pages(share) * (3.0 if share == odd else 1.0)
        us *= float(np.exp(0.01 * random.standard_normal()))
        base = measurement()
        total = round(us * base.operations * 1e3)
        found = changed(
            base,
            transactions={"all": replace(base.transactions["type0"], total_ns=total)},
            cpu_user_seconds=total / 1e9,
            cpu_system_seconds=0.0,
            syscall_read_bytes=round(pages(share) * PAGE * base.operations),
            syscall_written_bytes=0,
        )
        return trial(condition, round_, block, found)

    return [one(c, r, 6 * r + b) for r in range(3) for b in range(6) for c in of]


def found(
    seed: int, odd: float | None = None, shares: tuple[float, ...] = SHARES, counted: str = "bytes"
) -> tuple[CachePrediction, ...]:
    of, price = conditions(shares), Price(1.8, (1.75, 1.85))
    prices = {c.key: PagePrices(PAGE, counted, "a cipher", "", price, price) for c in of if c.role is Role.TREATMENT}
    return cache_predictions(trials(of, np.random.default_rng(seed), odd), settings(of), prices)


def test_nine_cells_in_ten_are_within_the_band_of_the_others() -> None:
    cells = [cell for seed in range(6) for one in found(seed) for cell in one.cells]
    assert len(cells) == 30
    assert sum(cell.cpu_held for cell in cells) >= 27
    assert sum(cell.response_held for cell in cells) >= 27


@pytest.mark.parametrize("counted", ["blocks", "pages"])
def test_no_curve_is_drawn_where_none_was_ever_checked(counted: str) -> None:
    assert found(1, counted=counted) == ()


def test_bands_are_no_wider_than_they_need_to_be() -> None:
    (one,) = found(1)
    inner = one.cells[1:-1]
    assert all(cell.predicted_cpu.band95[1] - cell.predicted_cpu.band95[0] < 0.6 for cell in inner)
    assert all(abs(cell.predicted_cpu.median - cell.cpu.median) < 0.1 for cell in inner)


def test_a_cell_that_does_otherwise_is_missed() -> None:
    (one,) = found(1, odd=0.2)
    assert [cell.cpu_held for cell in one.cells if cell.cache == 0.2] == [False]


def test_the_curve_falls_with_the_cache_and_holds_the_cells() -> None:
    (one,) = found(1)
    medians = [point.cpu.median for point in one.points]
    assert medians[0] > 1.5 > medians[-1]
    assert [one.points[0].cache, one.points[-1].cache] == [0.05, 0.8]
    assert all(point.pages_read >= after.pages_read for point, after in zip(one.points, one.points[1:], strict=False))


def test_three_shares_are_too_few() -> None:
    assert found(1, shares=SHARES[:3]) == ()
