import numpy as np
import pytest

from support.finished import found
from tdelta.findings.replication import KIND
from tdelta.inference.run_analysis import FEWEST_BLOCKS
from tdelta.records import Condition, Level, Measurement, Metric, Role, RunSettings, SpanTotals, Trial
from tdelta.records.trials import APPLY_NS, CPU_NS, LAG_BYTES, LAG_NS, LOG_BYTES, UNCONFIRMED

ROUNDS = 4
OPERATIONS = 10


def conditions(level: Level) -> tuple[Condition, ...]:
    return tuple(
        Condition((("cipher", cipher), ("threads", 1), ("replication", level)), role)
        for cipher, role in (("none", Role.BASELINE), ("none", Role.AA), ("aes-256", Role.TREATMENT))
    )


def settings(level: Level) -> RunSettings:
    return RunSettings("r", 1, "", "mariadb", "insert", conditions(level), 0.02, None, Metric.RESPONSE_TIME)


def trials(level: Level, blocks: int, slower: float = 1.0) -> list[Trial]:
    """Trials whose encrypted replicas take ``slower`` times as long to apply, or to catch up, and as much CPU."""
    rng = np.random.default_rng(4)
    found = []
    for block in range(blocks):
        for place, of in enumerate(conditions(level)):
            times = slower if of.is_encrypted else 1.0
            took = round(5e6 * rng.lognormal(0.0, 0.03) * times)
            counted = {LOG_BYTES: 6_400, CPU_NS: round(2e6 * rng.lognormal(0.0, 0.03) * times)}
            counted |= {APPLY_NS: took} if level == "none" else {LAG_NS: took, LAG_BYTES: 640, UNCONFIRMED: 1}
            spans = {"t": SpanTotals(OPERATIONS, 10_000_000)}
            measured = Measurement(
                OPERATIONS, 10_000_000, spans, {}, total_operations=OPERATIONS, engine_counters=counted
            )
            at = (block // (blocks // ROUNDS), block, place)
            found.append(Trial(*at, of, f"{of.key}/{at[0]}", 0.0, measured))
    return found


@pytest.mark.parametrize("level", ["none", "semisync"])
def test_a_replica_that_is_slower_by_so_much_is_found_to_be_inside_its_interval(level: Level) -> None:
    _, twin, aes = found(KIND, trials(level, 40, slower=1.3), settings(level))
    assert twin.time_ratio is None
    for ratio in (aes.time_ratio, aes.cpu_ratio):
        assert ratio is not None
        assert 1.1 < ratio.hdi95[0] < 1.3 < ratio.hdi95[1]


def test_replicas_that_are_alike_are_not_called_slower() -> None:
    (*_, aes) = found(KIND, trials("none", 40), settings("none"))
    assert aes.time_ratio is not None
    assert aes.time_ratio.hdi95[0] < 1.0 < aes.time_ratio.hdi95[1]


def test_few_blocks_have_no_ratio() -> None:
    assert FEWEST_BLOCKS > 8
    assert all(one.time_ratio is None for one in found(KIND, trials("none", 8), settings("none")))


def test_a_replica_that_was_stopped_has_a_rate_and_one_that_followed_a_lag() -> None:
    stopped = found(KIND, trials("none", 8), settings("none"))[0]
    assert stopped.lag_bytes is stopped.lag_seconds is None
    assert stopped.apply_rate is not None
    assert stopped.apply_rate.median == pytest.approx(OPERATIONS / 5e-3, rel=0.05)
    followed = found(KIND, trials("semisync", 8), settings("semisync"))[0]
    assert followed.apply_rate is None
    assert followed.lag_seconds is not None
    assert followed.lag_seconds.median == pytest.approx(5e-3, rel=0.05)
    assert (followed.mode, followed.unconfirmed, followed.log_bytes.median) == ("semisync", 8, 640)
    assert followed.load_rate.median == pytest.approx(1000)


def test_a_run_without_replicas_has_none() -> None:
    bare = [Trial(0, 0, 0, conditions("none")[0], "i", 0.0, Measurement(1, 1, {}, {}))]
    assert found(KIND, bare, settings("none")) == ()
