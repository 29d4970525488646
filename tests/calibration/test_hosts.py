from itertools import islice

import numpy as np
import pytest

from calibration.hosts import PAIR, Slower, judged
from calibration.simulation import TWINS
from tdelta.records import Condition, Decision

EXPERIMENTS = 24
LEAST_COVERED = 19
"""Of 24 intervals that hold the truth in 95 %, fewer do so once in 1,000 times."""

FEW = 10

LOG_HOST = float(np.log(1.2))
LOG_COST = float(np.log(1.15))
"""Far enough from the limit for the 99 % interval, which four rounds need."""


@pytest.mark.parametrize("conditions", [TWINS, PAIR], ids=["with A/A and B/B twins", "a pair"])
@pytest.mark.parametrize("truth", [0.0, LOG_COST])
def test_a_host_that_is_slower_by_20_percent_cancels(conditions: tuple[Condition, ...], truth: float) -> None:
    found = list(islice(judged(truth, Slower(LOG_HOST), conditions), EXPERIMENTS))
    verdicts = [one.verdicts[0] for one in found]
    assert sum(v.ratio.hdi95[0] <= np.exp(truth) <= v.ratio.hdi95[1] for v in verdicts) >= LEAST_COVERED
    called = [v.decision for v in verdicts if v.decision in (Decision.SLOWER, Decision.FASTER)]
    assert called == ([Decision.SLOWER] * EXPERIMENTS if truth else [])
    effects = [one.hosts.effects[0].estimate.hdi95 for one in found if one.hosts is not None]
    assert sum(low <= np.exp(LOG_HOST) <= high for low, high in effects) >= LEAST_COVERED
    assert not any(one.hosts is None or one.hosts.confounded for one in found)


def test_a_difference_between_hosts_widens_no_interval() -> None:
    widths = [
        np.median([np.diff(one.verdicts[0].ratio.hdi95) for one in islice(judged(0.0, Slower(host)), FEW)])
        for host in (0.0, LOG_HOST)
    ]
    assert widths[1] < 1.15 * widths[0]


def test_an_overhead_that_differs_by_host_is_seen_and_one_that_does_not_seldom_is() -> None:
    apart, alike = (
        sum(
            any(c.code == "hosts-see-different-overheads" for c in one.cautions)
            for one in islice(judged(LOG_COST, Slower(LOG_HOST, encryption)), FEW)
        )
        for encryption in (0.4, 0.0)
    )
    assert alike <= 2  # 1 % is aimed at: more come once in 10,000 times
    assert apart >= FEW / 2
