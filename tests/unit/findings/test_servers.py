from collections.abc import Mapping
from dataclasses import replace

import pytest
from inference.builders import AA, AES, BASELINE, TWINS, measurement, settings, trial

from support import samples as s
from support.finished import found as findings
from support.flat import changed
from support.refused import check_messages, coded
from tdelta.findings.base import FinishedRun
from tdelta.findings.servers import KIND, Bottleneck, ServerMeasures, TimeSpent, bottleneck
from tdelta.messages import Caution
from tdelta.records import Condition, Measurement, RunSettings, SettingDifference, Trial

COUNTERS = {"buffer_requests": 10_000, "buffer_reads": 500, "pages_read": 600, "log_bytes": 0}
PRESSURE = {"cpu_some": 0.4, "io_some": 0.1}


def served(
    cost: float = 1.0, *, client: float = 0.01, counters: Mapping[str, int] = COUNTERS, executed: int = 0
) -> Measurement:
    """1000 operations on a server: 80 µs of its CPU in 100 µs each, and so many seconds of the client's in all."""
    return changed(
        measurement(cost),
        client_cpu_user_seconds=client,
        engine_counters=dict(counters),
        pressure=PRESSURE,
        device_read_bytes=4_000_000,
        total_operations=executed,
    )


def trials(given: Mapping[Condition, list[Measurement]]) -> list[Trial]:
    return [trial(c, 0, block, m) for c, found in given.items() for block, m in enumerate(found)]


def measured(given: Mapping[Condition, list[Measurement]], cpus: int = 2) -> dict[str, ServerMeasures]:
    found = findings(KIND, trials(given), settings(tuple(given)), cpus=cpus)
    return {m.condition.key: m for m in found}


def same(m: Measurement) -> dict[Condition, list[Measurement]]:
    return {c: [m] for c in TWINS}


def spent(server: float, client: float, threads: int = 1, io: float | None = 0.0) -> TimeSpent:
    """So many cores busy, by ``threads`` threads, with that pressure of I/O."""
    waiting = max(0.0, 1 - (server + client) / threads)
    on_io = None if io is None else min(waiting, io)
    return TimeSpent(server / threads, client / threads, waiting, on_io, server, client, 2, 0.0, io)


def test_an_embedded_engine_has_no_servers_measures() -> None:
    assert findings(KIND, trials(same(measurement())), settings(), cpus=2) == ()


def test_times_are_of_one_operation_and_the_rest_of_the_threads_time_is_waiting() -> None:
    found = measured(same(served(client=0.01)))[BASELINE.key]
    assert found.throughput.median == pytest.approx(10_000)
    assert found.response_us.median == pytest.approx(100)
    assert found.server_cpu_us.median == pytest.approx(80)
    assert found.client_cpu_us.median == pytest.approx(10)
    time = found.time
    assert (time.server_share, time.client_share, time.waiting_share) == pytest.approx((0.8, 0.1, 0.1))
    assert (time.server_cores, time.client_cores) == pytest.approx((0.8, 0.1))
    assert (time.cpu_pressure, time.io_pressure) == (0.4, 0.1)


def test_shares_are_of_all_threads_and_cores_are_not() -> None:
    four = Condition((("cipher", "none"), ("threads", 4)), BASELINE.role)
    time = measured({four: [served()]})[four.key].time
    assert (time.server_share, time.server_cores) == pytest.approx((0.2, 0.8))
    assert time.waiting_share == pytest.approx(1 - 0.9 / 4)
    assert (time.cores_at_most, measured(same(served()))[AES.key].time.cores_at_most) == (2, 1)


def test_waiting_for_io_is_told_by_the_requests_in_flight_for_each_thread() -> None:
    four = Condition((("cipher", "none"), ("threads", 4)), BASELINE.role)

    def io_share(pressure: dict[str, float]) -> float | None:
        return measured({four: [replace(served(), pressure=pressure)]})[four.key].time.io_share

    assert io_share({"io_some": 0.7, "io_in_flight": 2.0}) == pytest.approx(0.5)
    assert io_share({"io_some": 0.7, "io_in_flight": 32.0}) == pytest.approx(1 - 0.9 / 4)
    assert io_share({"io_some": 0.7}) == pytest.approx(0.7)
    assert io_share({}) is None


def test_pages_that_no_request_asked_for_do_not_make_a_hit_ratio_below_none() -> None:
    found = measured(same(served(counters=COUNTERS | {"buffer_reads": 10_300})))[AES.key]
    assert found.cache is not None
    assert found.cache.hit_ratio.median == 0.0


def test_a_server_that_works_in_the_background_leaves_no_waiting_below_none() -> None:
    assert measured(same(served(client=0.5)))[AES.key].time.waiting_share == 0.0


def test_a_figure_is_the_median_of_the_trials_between_their_quartiles() -> None:
    costs = [1.0, 4.0, 2.0, 3.0, 5.0]
    found = measured({c: [served(cost) for cost in costs] for c in TWINS})[AES.key]
    assert found.trials == 5
    response = found.response_us
    assert (response.low, response.median, response.high) == pytest.approx((200, 300, 400))


def test_counts_are_of_the_operations_that_ran_and_not_of_those_recorded() -> None:
    found = measured(same(served(executed=1250)))[AES.key]
    assert found.counted["pages_read"] == pytest.approx(600 / 1250)
    assert found.counted["device_read_bytes"] == pytest.approx(3200)
    assert found.cache is not None
    assert found.cache.misses == pytest.approx(500 / 1250)
    assert found.cache.hit_ratio.median == pytest.approx(0.95)


def test_what_an_engine_does_not_count_is_not_0() -> None:
    found = measured(same(served(counters={"pages_read": 3})))[AES.key]
    assert found.cache is None
    assert "pages_encrypted" not in found.counted
    assert found.counted["pages_read"] == pytest.approx(0.003)


def test_a_block_that_lacks_a_condition_is_left_out() -> None:
    given = {BASELINE: [served(), served(9.0)], AA: [served(), served(9.0)], AES: [served()]}
    found = measured(given)
    assert {m.trials for m in found.values()} == {1}
    assert found[BASELINE.key].response_us.median == pytest.approx(100)


@pytest.mark.parametrize(
    ("time", "word"),
    [
        (spent(0.8, 0.1), Bottleneck.SERVER_CPU),
        (spent(0.2, 0.5), Bottleneck.CLIENT_CPU),
        (spent(0.3, 0.1, io=0.6), Bottleneck.IO),
        (spent(0.3, 0.1, io=0.2), Bottleneck.WAITING),
        (spent(0.3, 0.1, io=None), Bottleneck.WAITING),
        (spent(1.3, 0.5, threads=64), Bottleneck.SERVER_CPU),
        (spent(0.6, 1.2, threads=64), Bottleneck.CLIENT_CPU),
        (spent(0.9, 0.3, threads=64, io=0.9), Bottleneck.IO),
        (spent(0.9, 0.3, threads=64, io=0.1), Bottleneck.WAITING),
    ],
)
def test_what_holds_a_load_back_on_two_cpus(time: TimeSpent, word: Bottleneck) -> None:
    assert bottleneck(time, 2) is word


def test_the_same_load_is_not_held_back_by_the_cpu_where_there_are_more_of_them() -> None:
    assert bottleneck(spent(1.3, 0.5, threads=64), 16) is Bottleneck.WAITING


def test_a_server_that_is_kept_to_some_cpus_is_held_back_by_these() -> None:
    time = spent(0.93, 0.34, threads=4)
    assert bottleneck(time, 2) is Bottleneck.WAITING
    assert bottleneck(time, 2, server_cpus=1) is Bottleneck.SERVER_CPU
    assert bottleneck(time, 2, server_cpus=2) is Bottleneck.WAITING


def cautions(aes_misses: int, aa_misses: int = 500, of: RunSettings | None = None) -> tuple[Caution, ...]:
    misses = {BASELINE: 500, AA: aa_misses, AES: aes_misses}
    found = measured({c: [served(counters=COUNTERS | {"buffer_reads": n})] for c, n in misses.items()})
    return tuple(KIND.cautions(tuple(found.values()), FinishedRun(settings=of or settings(), trials=())))


def test_twins_whose_caches_fare_alike_need_no_caution() -> None:
    assert cautions(590) == ()


def test_twins_whose_hit_ratios_lie_more_than_a_point_apart_are_a_caution() -> None:
    worse = coded(
        "caches-differ",
        condition="cipher=aes-256,threads=1",
        met=pytest.approx(0.93),
        baseline_met=pytest.approx(0.95),
    )
    check_messages(cautions(700), worse)
    check_messages(cautions(410, aa_misses=100), "caches-differ", condition="cipher=none,threads=1#aa")


SMALLER = SettingDifference("innodb_buffer_pool_size", "64M", "32M", is_important=True)


@pytest.mark.parametrize(
    ("differences", "in_place", "unsettled", "cause"),
    [
        ((SMALLER,), False, False, "is 64M and 32M"),
        ((SMALLER,), True, True, "is 64M and 32M"),
        ((), False, False, "both have the same innodb_buffer_pool_size"),
        ((), True, False, "unknown cause"),
        ((), True, True, "still filling"),
    ],
)
def test_caches_of_two_servers_of_the_users_differ_for_a_reason_that_is_named(
    differences: tuple[SettingDifference, ...], in_place: bool, unsettled: bool, cause: str
) -> None:
    external, data = s.external_servers(), s.own_database().settings.database
    facts = external.settings.external_servers
    assert facts is not None
    assert data is not None
    of = replace(
        external.settings,
        engine="mariadb",
        external_servers=replace(facts, differences=differences),
        database=replace(data, in_place=True) if in_place else None,
    )
    cautions = (Caution.of("cache-unsettled", round=1, condition=AES.key, trials=5, misses="1"),) if unsettled else ()
    misses = {BASELINE: 500, AA: 500, AES: 700}
    found = measured({c: [served(counters=COUNTERS | {"buffer_reads": n})] for c, n in misses.items()})
    (line,) = KIND.lines(tuple(found.values()), replace(external, settings=of, cautions=cautions))
    assert cause in line.text
    assert ("data of tdelta" in line.text) == (not differences and not in_place)


def test_caches_of_two_builds_are_part_of_what_is_compared() -> None:
    assert cautions(700, of=replace(settings(), options={"contrast": "server"})) == ()
