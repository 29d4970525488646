"""Conditions that differ in the client only share a server, and what follows from that."""

from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.fake_twins import FakeTwin, FakeTwins
from support.refused import Part, check_messages, has
from tdelta.driver.protocol import NOTHING
from tdelta.records import FileEvidence, Role
from tdelta.session.pace import MOST_LAPS

from .conducting import check
from .served import OPTIONS, installed, is_block, is_search, is_warm_up, served

SWEEP = {**OPTIONS, "vary": {"cipher": ("aes-256",), "threads": (1, 4), "cache": (0.1, 1.2)}, "aa_control": False}


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)


def test_a_server_is_started_for_what_it_sees_and_joined_for_what_the_client_does(tmp_path: Path) -> None:
    sitting = served(tmp_path)
    sitting.conduct(**SWEEP)
    of_rounds = [twin for twin in sitting.twins.started if not twin.name.startswith("calibration")]
    assert len(of_rounds) == 2 * 4
    joined = [twin for twin in sitting.twins.joined if not twin.name.startswith("calibration")]
    assert len(joined) == 2 * 4
    assert {twin.settings.threads for twin in of_rounds} == {1}
    assert {twin.settings.threads for twin in joined} == {4}
    assert all(twin.ended for twin in (*sitting.twins.started, *sitting.twins.joined))


def test_the_server_has_room_for_the_connections_of_all_who_share_it(tmp_path: Path) -> None:
    sitting = served(tmp_path)
    sitting.conduct(**SWEEP)
    assert {twin.settings.connections for twin in sitting.twins.started} == {1 + 8 + 4 + 8}


def test_operations_of_those_who_share_a_server_never_overlap(tmp_path: Path) -> None:
    sitting = served(tmp_path)
    sitting.conduct(**SWEEP)
    by_server = defaultdict(list)
    for twin in (*sitting.twins.started, *sitting.twins.joined):
        by_server[twin.name] += [(job.first_op, job.first_op + job.operations) for job in (*twin.jobs, *twin.searched)]
    for spans in by_server.values():
        ordered = sorted(spans)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(ordered))


def test_files_of_a_server_are_searched_once_whoever_shares_it(tmp_path: Path) -> None:
    sitting = served(tmp_path)
    result = sitting.conduct(**SWEEP)
    assert sum(len(twin.searched) for twin in sitting.twins.started) == 4
    assert not any(twin.searched for twin in sitting.twins.joined)
    assert all(is_search(job) for twin in sitting.twins.started for job in twin.searched)
    assert {found.condition.level("threads") for found in result.of(FileEvidence)} == {1}


def test_rows_are_compared_only_of_servers_all_of_whose_trials_have_one_thread(tmp_path: Path) -> None:
    sitting = served(tmp_path)
    assert has(check(sitting.conduct(**SWEEP), "rows-after").details, "not-checked", why=Part("several threads, or"))
    alone = {**SWEEP, "vary": {"cipher": ("aes-256",), "cache": (0.1, 1.2)}}
    assert has(check(sitting.conduct(**alone), "rows-after").details, "rows-after-rounds")


def test_an_aa_twin_and_an_injected_one_have_servers_of_their_own(tmp_path: Path) -> None:
    sitting = served(tmp_path)
    result = sitting.conduct(**OPTIONS, self_test=True, inject=(0.2,))
    instances = {trial.condition.role: trial.instance for trial in sitting.trials() if trial.round == 0}
    assert len(set(instances.values())) == len(result.settings.conditions) == 4
    assert instances.keys() == {Role.BASELINE, Role.AA, Role.IDENTICAL, Role.INJECTED}


def test_caches_are_warmed_by_the_busiest_of_a_server_once_all_have_met_their_connections(tmp_path: Path) -> None:
    sitting = served(tmp_path)
    sitting.conduct(**SWEEP)
    laps = {
        threads: [sum(is_warm_up(job) for job in twin.jobs) for twin in twins]
        for threads, twins in ((1, sitting.twins.started), (4, sitting.twins.joined))
    }
    # Nothing is counted here that could fall, so one lap is enough, and every one has it.
    assert {count for count in laps[1] + laps[4] if count} == {1}


def missing(twin, job) -> dict[str, int]:
    """As a pool that fills: fewer misses with each trial of warm-up, none from the sixth on."""
    laps = sum(is_warm_up(earlier) for earlier in twin.jobs)
    return {"buffer_reads": job.operations * max(0, 6 - laps)}


def test_warm_up_goes_on_until_misses_settle_and_is_the_same_for_all_servers(tmp_path: Path) -> None:
    sitting = served(tmp_path, counters=missing)
    result = sitting.conduct(**SWEEP)
    laps = {
        threads: {count for twin in twins if (count := sum(is_warm_up(job) for job in twin.jobs))}
        for threads, twins in ((1, sitting.twins.started), (4, sitting.twins.joined))
    }
    assert laps == {1: {1}, 4: {7}}  # the sixth and the seventh miss nothing
    assert not has(result.cautions, "cache-unsettled")


def test_a_cache_that_never_settles_is_told_and_does_not_hold_up_the_run(tmp_path: Path) -> None:
    sitting = served(tmp_path, counters=lambda twin, job: {"buffer_reads": job.operations * len(twin.jobs)})
    result = sitting.conduct(**OPTIONS, aa_control=False)
    assert {sum(is_warm_up(job) for job in twin.jobs) for twin in sitting.twins.started} == {0, MOST_LAPS}
    told = [caution for caution in result.cautions if caution.code == "cache-unsettled"]
    check_messages(told, *["cache-unsettled"] * 2 * 2, trials=MOST_LAPS)


def test_a_cold_run_warms_nothing_up_and_tells_its_servers(tmp_path: Path) -> None:
    sitting = served(tmp_path)
    sitting.conduct(**OPTIONS, cold=True)
    assert all(twin.settings.is_cold for twin in sitting.twins.started)
    assert not any(is_warm_up(job) for twin in sitting.twins.started for job in twin.jobs)


@pytest.mark.parametrize(("discard", "share"), [(None, 0.1), (0.05, 0.2), (0.2, 0.8), (0.249, 0.9)])
def test_the_head_of_a_trial_that_is_discarded_is_the_share_asked_for(
    tmp_path: Path, discard: float | None, share: float
) -> None:
    sitting = served(tmp_path)
    sitting.conduct(**OPTIONS, trial_seconds=0.25, warmup_seconds=discard)
    jobs = [job for twin in sitting.twins.started for job in twin.jobs if is_block(job)]
    assert jobs
    assert all(job.discard == pytest.approx(share * job.operations, abs=1) for job in jobs)


class Remembering(FakeTwins):
    """Twins whose caches can be filled as that of an earlier one was."""

    def __init__(self, like: FakeTwins) -> None:
        super().__init__(like.script)
        self.kept: dict[str, float] = {}
        self.restored: set[str] = set()

    def start(self, settings: Any, name: str, environment: Mapping[str, str] = NOTHING) -> FakeTwin:
        def restore() -> float | None:
            if settings.cipher in self.kept:
                self.restored.add(name)
            return self.kept.get(settings.cipher)

        twin: Any = super().start(settings, name, environment)
        twin.keep_cache = lambda misses: self.kept.setdefault(settings.cipher, misses) is not None
        twin.restore_cache = restore
        return twin


def test_rounds_after_the_first_restore_caches_and_warm_up_once(tmp_path: Path) -> None:
    def counters(twin: FakeTwin, job: Any) -> dict[str, int]:
        return {"buffer_reads": 0} if twin.name in twins.restored else missing(twin, job)

    sitting = served(tmp_path, counters=counters)
    sitting.twins = twins = Remembering(sitting.twins)
    sitting.conduct(**OPTIONS, min_rounds=2, max_rounds=2)
    laps = [count for twin in twins.started if (count := sum(is_warm_up(job) for job in twin.jobs))]
    assert laps == [7, 7, 7, 1, 1, 1]


def test_a_cache_that_misses_no_more_than_at_rest_is_not_told_when_another_has_not_settled(tmp_path: Path) -> None:
    def counters(twin: FakeTwin, job: Any) -> dict[str, int]:
        laps = len(twin.jobs)
        return {"buffer_reads": job.operations * (laps % 2 if twin.settings.cipher == "none" else laps)}

    sitting = served(tmp_path, counters=counters)
    sitting.twins = twins = Remembering(sitting.twins)
    twins.kept["none"] = 1.0
    result = sitting.conduct(**OPTIONS, aa_control=False, min_rounds=1, max_rounds=1)
    told = [caution for caution in result.cautions if caution.code == "cache-unsettled"]
    check_messages(told, "cache-unsettled", trials=MOST_LAPS)


def test_a_cache_that_has_not_settled_is_not_kept(tmp_path: Path) -> None:
    sitting = served(tmp_path, counters=lambda twin, job: {"buffer_reads": job.operations * len(twin.jobs)})
    sitting.twins = twins = Remembering(sitting.twins)
    assert has(sitting.conduct(**OPTIONS).cautions, "cache-unsettled")
    assert twins.kept == {}


@pytest.mark.parametrize(("seconds", "is_kept"), [(0.0, True), (30.0, False)])
def test_a_cache_is_kept_at_the_end_of_a_whole_round_alone(tmp_path: Path, seconds: float, is_kept: bool) -> None:
    def slow_blocks(twin: FakeTwin, job: Any) -> None:
        if is_block(job):
            twin._twins.clock.advance(seconds)

    sitting = served(tmp_path, counters=missing, before_trial=slow_blocks)
    sitting.twins = twins = Remembering(sitting.twins)
    result = sitting.conduct(**{**OPTIONS, "blocks_per_round": 8}, min_rounds=1, max_rounds=1, max_seconds=300.0)
    assert (result.counts.blocks == 8) == is_kept
    assert bool(twins.kept) == is_kept
