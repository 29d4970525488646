import math

import numpy as np
import pytest

from tdelta.session.fleet import PILOT_SHARE, shares

TARGETS, FLEETS = 12, 400
SECONDS = 36_000.0


def widest(log_sd: float, rng: np.random.Generator) -> tuple[float, float]:
    """The widest interval of a fleet with the rule, and with an equal split of the same time."""
    scales = np.exp(rng.normal(0.0, log_sd, TARGETS))
    pilot = PILOT_SHARE * SECONDS / TARGETS
    seen = scales / math.sqrt(pilot) * np.exp(rng.normal(0.0, 0.15, TARGETS))
    found = shares({str(i): width for i, width in enumerate(seen)}, pilot, (1.0 - PILOT_SHARE) * SECONDS)
    times = [found.get(str(i), pilot) for i in range(TARGETS)]
    return float(np.max(scales / np.sqrt(times))), float(np.max(scales) / math.sqrt(SECONDS / TARGETS))


def test_the_widest_interval_is_narrower_than_after_an_equal_split() -> None:
    rng = np.random.default_rng(20261126)
    narrower = [shared < even for shared, even in (widest(math.log(2.0), rng) for _ in range(FLEETS))]
    assert np.mean(narrower) >= 0.9


def test_no_more_than_the_time_that_is_left_is_dealt_out_and_nobody_gets_less_than_a_pilot_had() -> None:
    rng = np.random.default_rng(1)
    for _ in range(FLEETS):
        widths = {str(i): float(width) for i, width in enumerate(np.exp(rng.normal(0.0, 1.5, TARGETS)))}
        found = shares(widths, 600.0, 28_800.0)
        assert sum(found.values()) == pytest.approx(28_800.0)
        assert min(found.values()) > 600.0
        ratios = [seconds / widths[name] ** 2 for name, seconds in found.items()]
        assert ratios == pytest.approx([ratios[0]] * len(ratios))


def test_what_is_decided_gets_no_more_time() -> None:
    assert shares({"a": 0.0, "b": 3.0}, 10.0, 100.0) == {"b": 100.0}
    assert shares({"a": 0.0}, 10.0, 100.0) == {}
    assert shares({}, 10.0, 100.0) == {}
    assert shares({"a": 1.0, "b": 1.0}, 60.0, 100.0) == {"b": 100.0}
