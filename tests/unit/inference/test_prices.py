import numpy as np
import pytest

from tdelta.inference.unit_costs import TRANSFER, price_of, prices_from_json

from .builders import AES

PAGE = {"page_bytes": 4096, "counted": "bytes", "cipher": "a cipher", "mac": ""}


def test_a_price_is_the_median_of_all_passes_between_their_quartiles() -> None:
    price = price_of([[1.0, 2.0, 3.0, 4.0, 100.0]])
    assert (price.us, price.quartiles) == (3.0, (2.0, 4.0))
    assert price.sd == pytest.approx(2.0 / 1.349)


def test_what_differs_under_load_is_one_error_of_all_prices() -> None:
    read, bare, z = price_of([[7.0, 7.0]]), price_of([[5.0, 5.0]]), np.array([-2.0, 0.0, 1.0])
    mac = read.less(bare).draws(np.zeros(3), z)
    assert mac == pytest.approx(read.draws(np.zeros(3), z) - bare.draws(np.zeros(3), z))
    assert mac == pytest.approx(2.0 * (1.0 + TRANSFER * z))


def test_a_machine_that_is_slow_at_one_moment_of_three_has_a_price_between() -> None:
    fast, slow = [6.0, 6.1, 6.2], [9.0, 9.1, 9.2]
    assert price_of([fast, slow, fast]).us == pytest.approx((6.1 + 9.1 + 6.1) / 3)


def test_a_difference_of_prices_is_as_unsure_as_both() -> None:
    price = price_of([[4.0, 7.0, 10.0]]).less(price_of([[1.0, 3.0, 5.0]]))
    assert price.us == 4.0
    assert price.quartiles[1] - price.quartiles[0] == pytest.approx((3.0**2 + 2.0**2) ** 0.5)


def test_passes_of_several_measurements_are_one_price() -> None:
    measured = [{**PAGE, "passes": {"read": [one], "write": [2.0]}} for one in (1.0, 1.2, 1.4)]
    prices = prices_from_json({AES.key: measured})[AES.key]
    assert (prices.read.us, prices.write.us, prices.bare_read) == (1.2, 2.0, None)


def test_a_run_without_prices_has_none() -> None:
    assert prices_from_json(None) == {}
    assert prices_from_json({AES.key: [{"fault": "no"}]}) == {}
