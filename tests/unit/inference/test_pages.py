"""The cost of a page: extra CPU over pages moved, beside the cipher's own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tdelta.inference import analyze_run
from tdelta.inference.pages import PageFloor, page_costs
from tdelta.records import Metric, Trial

from .builders import AES, run, settings

FLOOR = PageFloor(decrypt_us=1.0, encrypt_us=4.0, words="aes-256-cbc, 4096 bytes, with AES instructions")


def counted(trials: list[Trial], misses: int, writes: int) -> list[Trial]:
    counters = {"cache_misses": misses, "cache_writes": writes}
    return [replace(t, measurement=replace(t.measurement, engine_counters=counters)) for t in trials]


def costly(of, _round, _block) -> float:
    return 0.2 if of is AES else 0.0


def test_extra_cpu_is_spread_over_the_pages_that_moved() -> None:
    trials = counted(run(costly), misses=3000, writes=1000)  # of 1000 operations each
    judged = analyze_run(trials, settings())
    (cost,) = page_costs(trials, judged.verdicts, {AES.key: FLOOR})
    verdict = next(v for v in judged.verdicts if v.metric is Metric.CPU_PER_OPERATION)
    assert cost.condition == AES
    assert cost.pages_per_operation == 4.0
    assert cost.cpu_us_per_page == pytest.approx((verdict.condition_value - verdict.baseline_value) / 4.0)
    assert cost.cpu_us_per_page == pytest.approx(80.0 * 0.2214 / 4.0, rel=0.02)
    assert cost.hdi95 is not None
    assert cost.hdi95[0] < cost.cpu_us_per_page < cost.hdi95[1]
    assert cost.cipher_us_per_page == pytest.approx(0.75 * 1.0 + 0.25 * 4.0)
    assert cost.cipher_measured == FLOOR.words


def test_hardly_a_page_moved_is_no_cost_a_page() -> None:
    trials = counted(run(costly), misses=3, writes=1)
    (cost,) = page_costs(trials, analyze_run(trials, settings()).verdicts, {AES.key: FLOOR})
    assert cost.pages_per_operation == 0.004
    assert (cost.cpu_us_per_page, cost.hdi95, cost.cipher_us_per_page) == (None, None, None)


def test_a_cipher_without_a_floor_still_has_a_cost() -> None:
    trials = counted(run(costly), misses=1000, writes=0)
    (cost,) = page_costs(trials, analyze_run(trials, settings()).verdicts, {})
    assert cost.cpu_us_per_page is not None
    assert (cost.cipher_us_per_page, cost.cipher_measured) == (None, "")
