"""What a page's cipher costs a server: the observed cipher's floor, starts, a copy. OpenSSL is the real one."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Any

import pytest

from tdelta.engines.servers import PriceSql
from tdelta.engines.shared.private.pricing import page_prices_of

OBSERVED = "AES-128-CBC 24,088 times, AES-128-ECB 24,076 times, AES-256-CBC 26 times"
CALLS_US = [0.5, 0.5, 0.5, 0.5]


PROBE = PriceSql(1, "", "", (), (), (), ())


def prices(observed: str = OBSERVED, calls_us: list[float] | None = None, probe: PriceSql = PROBE) -> Any:
    return page_prices_of(observed, calls_us or CALLS_US, "on", probe)


def test_the_observed_cipher_is_priced_with_a_start_for_what_is_left_over_of_a_page() -> None:
    found = prices()
    assert found["cipher"].startswith("aes-128-cbc of OpenSSL, and 2 ")
    assert found["counted"] == "engine"
    assert found["page_bytes"] == 16384
    assert all(statistics.median(found["passes"][way]) > 1.0 for way in ("read", "write"))


def test_without_a_tail_there_is_one_start() -> None:
    assert prices("AES-256-CTR 1,000 times")["cipher"].startswith("aes-256-ctr of OpenSSL, and 1 ")


def test_starts_are_in_both_directions() -> None:
    cheap, dear = prices(calls_us=[0.0] * 4), prices(calls_us=[100.0] * 4)
    for way in ("read", "write"):
        assert statistics.median(dear["passes"][way]) - statistics.median(cheap["passes"][way]) > 150.0


def test_scatter_of_starts_is_in_the_quartiles() -> None:
    low, _, high = statistics.quantiles(prices(calls_us=[0, 0, 50, 100, 100])["passes"]["write"], method="inclusive")
    assert high - low > 150.0


def test_a_copy_is_told_where_the_server_makes_one() -> None:
    usual = prices()["cipher"]
    assert prices(probe=replace(PROBE, is_copied=True))["cipher"].startswith(f"{usual}; ")


def test_what_is_known_of_a_server_is_not_taken_from_what_was_observed() -> None:
    found = prices("AES-256-CBC 44,828 times, AES-256-CTR 14 times", probe=replace(PROBE, starts=2, counted="pages"))
    assert found["cipher"].startswith("aes-256-cbc of OpenSSL, and 2 ")
    assert found["counted"] == "pages"


@pytest.mark.parametrize("observed", ["", "nothing", "CHACHA20 5 times"])
def test_nothing_is_priced_that_was_not_observed(observed: str) -> None:
    assert prices(observed) == {}
