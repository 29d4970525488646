from __future__ import annotations

import pytest
from scipy import stats

from tdelta.inference.student import t_reach


@pytest.mark.parametrize("df", [1.0, 1.5, 2.0, 3.0, 7.3, 15.0, 79.0, 195.0, 196.0, 197.0, 1000.0, 10_000.0])
@pytest.mark.parametrize("mass", [0.5, 0.95, 0.99])
def test_the_reach_of_t_is_scipy_s(df: float, mass: float) -> None:
    assert t_reach(df, mass) == pytest.approx(stats.t.ppf(0.5 + mass / 2, df), rel=2e-5)
