"""Conditions that differ in the client only share a server, and what follows from that."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.fake_twins import FakeTwin, FakeTwins, equal_rows
from support.refused import Part, check_messages, coded, has, refused
from tdelta.errors import InvalidTwins, ServerFault, ServerLost
from tdelta.messages import Caution, Refusal, RunPart
from tdelta.processes.protocol import NOTHING
from tdelta.records import FileEvidence, Phase, Role
from tdelta.session.pace import MOST_LAPS
from tdelta.store import RunStatus

from .conducting import check
from .served import OPTIONS, dies, installed, is_block, is_search, is_sizing, is_warm_up, served

SWEEP = {**OPTIONS, "vary": {"cipher": ("aes-256",), "threads": (1, 4), "cache": (0.1, 1.2)}, "aa_control": False}


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)


def test_a_server_is_started_for_what_it_sees_and_joined_for_what_the_client_does(tmp_path: Path) -> None:
    sitting = served(tmp_path)
    sitting.conduct(**SWEEP)
    of_rounds = [twin for twin in sitting.twins.started if not twin.name.startswith("sizing")]
    assert len(of_rounds) == 2 * 4
    joined = [twin for twin in sitting.twins.joined if not twin.name.startswith("sizing")]
    assert len(joined) == 2 * 4
    assert {twin.settings.threads for twin in of_rounds} == {1}
    assert {twin.settings.threads for twin in joined} == {4}
    assert all(twin.ended for twin in (*sitting.twins.started, *sitting.twins.joined))


def test_the_server_has_room_for_the_connections_of_all_who_share_it(tmp_path: Path) -> None:
    sitting = served(tmp_path)
    sitting.conduct(**SWEEP)
    assert {twin.settings.connections for twin in sitting.twins.started} == {1 + 8 + 4 + 8}


def test_operations_of_those_who_share_a_server_never_overlap_and_number_keys_of_32_bits(tmp_path: Path) -> None:
    sitting = served(tmp_path)
    sitting.conduct(**SWEEP)
    by_server = defaultdict(list)
    for twin in (*sitting.twins.started, *sitting.twins.joined):
        by_server[twin.name] += [(job.first_op, job.first_op + job.operations) for job in (*twin.jobs, *twin.searched)]
    for spans in by_server.values():
        ordered = sorted(spans)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(ordered))
        assert ordered[-1][1] < 1 << 30


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


def falling(twin, job) -> dict[str, int]:
    """As a pool that is not full in time: every trial misses a fifth less than the one before."""
    return {"buffer_reads": round(1000 * job.operations * 0.8 ** len(twin.jobs))}


def test_a_cache_that_never_settles_is_told_and_does_not_hold_up_the_run(tmp_path: Path) -> None:
    sitting = served(tmp_path, counters=falling)
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
        return {"buffer_reads": job.operations} if twin.settings.cipher == "none" else falling(twin, job)

    sitting = served(tmp_path, counters=counters)
    sitting.twins = twins = Remembering(sitting.twins)
    twins.kept["none"] = 1.0
    result = sitting.conduct(**OPTIONS, aa_control=False, min_rounds=1, max_rounds=1)
    told = [caution for caution in result.cautions if caution.code == "cache-unsettled"]
    check_messages(told, "cache-unsettled", trials=MOST_LAPS)


def test_a_cache_that_has_not_settled_is_not_kept(tmp_path: Path) -> None:
    sitting = served(tmp_path, counters=falling)
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


class Kept(FakeTwins):
    """Twins whose data outlive the run, with what is remembered of them."""

    remembers = True

    def __init__(self, like: FakeTwins, facts: dict[str, Any]) -> None:
        super().__init__(like.script)
        self.recall = facts.get
        self.remember = facts.__setitem__
        self.damaged = False

    def discard(self) -> bool:
        was, self.damaged = self.damaged, False
        return was


def sizes(base: Path, facts: dict[str, Any], **options: Any) -> tuple[set[int], bool]:
    """The operations of the baseline's trials, and whether the run sized them itself."""
    sitting = served(base)
    sitting.twins = Kept(sitting.twins, facts)
    sitting.conduct(**{**OPTIONS, "seed": len(list(base.parent.iterdir())), **options})
    trials = [trial for trial in sitting.trials() if trial.condition.role is Role.BASELINE]
    is_sized = any(twin.name.startswith("sizing") for twin in sitting.twins.started)
    return {trial.measurement.total_operations for trial in trials}, is_sized


def test_the_next_run_takes_the_size_that_trials_had_and_corrects_it(tmp_path: Path) -> None:
    facts: dict[str, Any] = {}
    (first,), is_sized = sizes(tmp_path / "a", facts)
    assert is_sized
    (second,), is_sized = sizes(tmp_path / "b", facts)
    assert not is_sized
    assert second == pytest.approx(first, rel=0.1)


def test_trials_of_another_length_are_sized_anew(tmp_path: Path) -> None:
    facts: dict[str, Any] = {}
    sizes(tmp_path / "a", facts)
    assert sizes(tmp_path / "b", facts, trial_seconds=0.5)[1]
    assert sizes(tmp_path / "c", facts, workload="insert")[1]


@pytest.mark.parametrize("damage", ["rows", "start"])
@pytest.mark.parametrize("is_kept", [True, False])
def test_kept_data_that_do_not_do_are_discarded_and_loaded_anew_once(
    tmp_path: Path, damage: str, is_kept: bool
) -> None:
    def rows(settings: Any, tables: Any, trials: int) -> Any:
        sums = equal_rows(settings, tables, trials)
        is_other = damage == "rows" and twins.damaged and twins.started
        return dict.fromkeys(sums, (1, "0")) if is_other else sums

    def before_trial(_twin: Any, _job: Any) -> None:
        if damage == "start" and twins.damaged:
            raise ServerFault(Refusal.of("server-waits"))

    sitting = served(tmp_path, rows=rows, before_trial=before_trial)
    sitting.twins = twins = Kept(sitting.twins, {})
    twins.damaged = True
    if not is_kept:
        twins.discard = lambda: False  # type: ignore[method-assign]
        with pytest.raises((InvalidTwins, ServerFault)):
            sitting.conduct(**OPTIONS)
        return
    result = sitting.conduct(**OPTIONS)
    assert result.counts.rounds == 2
    assert not any(validity.failed for validity in result.validity)
    assert sum(event.detail.startswith("anew") for event in sitting.events if isinstance(event, Phase)) == 1


def lost(result) -> list[Caution]:
    return [caution for caution in result.cautions if caution.code == "server-lost"]


@pytest.mark.parametrize(
    ("when", "void", "rounds", "blocks"),
    [
        (is_warm_up, RunPart.of("before-trials"), {1: 2, 2: 2}, 4),
        (is_block, RunPart.of("block", block=1), {1: 2, 2: 2}, 4),
        (lambda job: job.stream == 1, RunPart.of("block", block=2), {0: 1, 1: 2, 2: 2}, 5),
        (is_search, RunPart.of("file-search"), {0: 2, 1: 2, 2: 2}, 6),
    ],
)
def test_the_stage_in_which_a_server_dies_is_void_and_another_round_makes_up_for_it(
    tmp_path: Path, when, void: RunPart, rounds: dict[int, int], blocks: int
) -> None:
    sitting = served(tmp_path, before_trial=dies(when))
    result = sitting.conduct(**OPTIONS)
    check_messages(lost(result), coded("server-lost", round=1, void=void))
    assert "its last word" not in "".join(map(str, result.cautions))
    in_round = Counter(trial.round for trial in sitting.trials())
    assert {number: count // 3 for number, count in in_round.items()} == rounds
    assert (result.counts.blocks, sitting.status()) == (blocks, RunStatus.DONE)
    assert all(check.ok for check in result.validity if "marker" in check.check or "search" in check.check)
    assert all(twin.ended for twin in sitting.twins.started)
    assert [event.name for event in sitting.events if isinstance(event, Phase)].count("lost") == 1


def test_no_trial_of_a_void_block_is_stored_and_its_number_is_given_again(tmp_path: Path) -> None:
    sitting = served(tmp_path, before_trial=dies(lambda job: job.stream == 1))
    sitting.conduct(**OPTIONS)
    stored = Counter((trial.round, trial.block) for trial in sitting.trials())
    assert stored == {(0, 0): 3, (1, 1): 3, (1, 2): 3, (2, 3): 3, (2, 4): 3}


def test_a_server_that_dies_in_the_sizing_is_sized_again(tmp_path: Path) -> None:
    sitting = served(tmp_path, before_trial=dies(is_sizing))
    result = sitting.conduct(**OPTIONS)
    check_messages(lost(result), coded("server-lost", round=1, void=RunPart.of("sizing")))
    assert result.counts.rounds == 2


def test_one_round_that_is_lost_at_its_first_block_still_has_an_answer(tmp_path: Path) -> None:
    result = served(tmp_path, before_trial=dies(is_block)).conduct(**OPTIONS, min_rounds=1, max_rounds=1)
    assert (result.counts.rounds, result.counts.blocks, result.stopped_by) == (1, 2, "rounds")


def test_a_fourth_death_ends_the_run_with_what_the_log_says(tmp_path: Path) -> None:
    sitting = served(tmp_path, before_trial=dies(is_block, times=4))
    with refused(ServerLost, "losses-too-many", losses=4, loss=Part("its last word")):
        sitting.conduct(**OPTIONS)
    assert sitting.status() is RunStatus.FAILED
    assert all(twin.ended for twin in sitting.twins.started)


def test_a_loss_that_there_is_no_time_to_make_up_for_is_told_where_nothing_else_is_known(tmp_path: Path) -> None:
    dying = dies(is_block)

    def before_trial(twin: FakeTwin, job) -> None:
        if is_block(job):
            twin._twins.clock.advance(50.0)
        dying(twin, job)

    sitting = served(tmp_path, before_trial=before_trial)
    with refused(ServerLost, "server-died"):
        sitting.conduct(**OPTIONS, trial_seconds=0.25, max_seconds=60.0)
    assert sitting.status() is RunStatus.FAILED


def test_losses_are_told_again_when_the_run_is_resumed(tmp_path: Path) -> None:
    sitting = served(tmp_path, before_trial=dies(is_block, times=4))
    with pytest.raises(ServerLost):
        sitting.conduct(**OPTIONS)
    sitting.twins = served(tmp_path).twins
    result = sitting.resume()
    assert len(lost(result)) >= 3
    assert result.counts.rounds == 2
