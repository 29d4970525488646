"""A second encrypted instance: in every round one, drawn, and only where there is room for it."""

from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from support.fake_twins import cost_by_cipher
from support.refused import Part, has
from tdelta.records import FileEvidence, Role
from tdelta.session import RunRequest, plan
from tdelta.session.preflight import dry_run, with_bb_twin

from .conducting import Sitting
from .served import OPTIONS, installed, served

CIPHERS = {"vary": {"cipher": ("aes-128", "aes-256", "ascon128")}, "bb_control": True}


COSTS = {"none": 100e3, "aes-128": 118e3, "aes-256": 125e3, "ascon128": 140e3}


@pytest.fixture
def sitting(tmp_path: Path) -> Sitting:
    return Sitting(tmp_path).scripted(cost_ns=cost_by_cipher(COSTS))


def twins_by_round(sitting: Sitting) -> dict[int, set[str]]:
    found = defaultdict(set)
    for trial in sitting.trials():
        if trial.condition.role is Role.BB:
            found[trial.round].add(trial.condition.key)
    return found


def test_one_encrypted_condition_has_its_twin_in_every_block(sitting: Sitting) -> None:
    result = sitting.conduct(bb_control=True)
    roles = Counter(trial.condition.role for trial in sitting.trials())
    assert roles == {Role.BASELINE: 4, Role.AA: 4, Role.TREATMENT: 4, Role.BB: 4}
    assert [v.condition.role for v in result.primary] == [Role.TREATMENT]


def test_a_bb_twin_is_an_instance_of_its_own_that_does_the_same_work(sitting: Sitting) -> None:
    sitting.conduct(bb_control=True)
    of_block = [trial for trial in sitting.trials() if trial.block == 0]
    assert len({trial.instance for trial in of_block}) == 4
    assert len({trial.measurement.operations for trial in of_block}) == 1


def test_of_several_encrypted_conditions_each_round_has_one_twin_and_each_comes_equally_often(
    sitting: Sitting,
) -> None:
    sitting.conduct(**CIPHERS, min_rounds=6, max_rounds=6)
    found = twins_by_round(sitting)
    assert [len(found[number]) for number in range(6)] == [1] * 6
    assert set.union(*(found[n] for n in range(3))) == set.union(*(found[n] for n in range(3, 6)))
    assert Counter(key for keys in found.values() for key in keys).most_common()[-1][1] == 2
    started = [twin for twin in sitting.twins.started if not twin.name.startswith("sizing")]
    assert len(started) == 6 * (1 + 1 + 3 + 1)


def test_the_draw_of_the_twins_hangs_on_the_seed(sitting: Sitting) -> None:
    def drawn(seed: int) -> list[str]:
        made = plan(sitting.request(**CIPHERS, seed=seed), "run")
        return [made.in_round(number)[-1].key for number in range(3)]

    assert drawn(1) == drawn(1)
    assert len({tuple(drawn(seed)) for seed in range(20)}) > 3


def test_orders_balance_for_those_that_take_part_in_every_round(sitting: Sitting) -> None:
    """Six conditions a block make six rows a pass: each stands everywhere once, and its neighbours differ."""
    sitting.conduct(**CIPHERS, min_rounds=3, max_rounds=3)  # two blocks per round
    blocks = defaultdict(dict)
    for trial in sitting.trials():
        slot = "twin" if trial.condition.role is Role.BB else trial.condition.key
        blocks[trial.block][trial.position] = slot
    orders = [[found[place] for place in range(6)] for found in blocks.values()]
    assert len(orders) == 6
    for place in range(6):
        assert len({order[place] for order in orders}) == 6
    assert max(Counter(step for order in orders for step in pairwise(order)).values()) == 1


def test_orders_balance_where_a_stratum_has_a_twin_in_some_rounds_only(sitting: Sitting) -> None:
    vary = {"cipher": ("aes-256",), "cache": (0.1, 1.0)}
    sitting.conduct(vary=vary, bb_control=True, min_rounds=8, max_rounds=8)
    firsts: dict[tuple[int, int], list[tuple[str, ...]]] = defaultdict(list)
    blocks = defaultdict(list)
    for trial in sorted(sitting.trials(), key=lambda t: (t.block, t.position)):
        blocks[trial.block, trial.condition.stratum].append(trial.condition.key)
    for (_, stratum), order in blocks.items():
        firsts[stratum, len(order)].append(tuple(order))
    for (_, size), orders in firsts.items():
        rows = size if size % 2 == 0 else 2 * size
        for place in range(size):
            counts = Counter(order[place] for order in orders[: len(orders) // rows * rows])
            assert len(set(counts.values())) <= 1
    assert {size for _, size in firsts} == {3, 4}


def test_conditions_that_share_a_server_are_drawn_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)
    sitting = served(tmp_path)
    vary = {"cipher": ("aes-256",), "threads": (1, 4), "cache": (0.1, 1.2)}
    sitting.conduct(**{**OPTIONS, "vary": vary, "aa_control": False, "bb_control": True})
    for keys in twins_by_round(sitting).values():
        assert len(keys) == 2
    servers = {(trial.round, trial.instance) for trial in sitting.trials() if trial.condition.role is Role.BB}
    assert len(servers) == 2
    others = {(trial.round, trial.instance) for trial in sitting.trials() if trial.condition.role is not Role.BB}
    assert not servers & others


def test_what_is_stored_of_a_request_draws_the_same_twins_again(sitting: Sitting) -> None:
    sitting.conduct(**CIPHERS, min_rounds=3, max_rounds=3)
    whole = twins_by_round(sitting)
    request = sitting.request(**CIPHERS, min_rounds=3, max_rounds=3)
    made = plan(RunRequest.from_json(request.to_json()), "run")
    assert {n: {made.in_round(n)[-1].key} for n in range(3)} == whole
    assert [made.trials_in(number) for number in range(3)] == [12, 12, 12]


def test_by_default_there_is_one_where_there_is_room(sitting: Sitting) -> None:
    made = with_bb_twin(plan(sitting.request(bb_control=None), "run"))
    assert [c.role for c in made.conditions][-1] is Role.BB
    assert made.settings.options["bb_control"] is True
    assert not made.cautions


def test_without_the_time_for_it_there_is_none_and_a_caution_says_so(sitting: Sitting) -> None:
    made = with_bb_twin(
        plan(sitting.request(bb_control=None, trial_seconds=1.0, max_seconds=18.0, min_rounds=2), "run")
    )
    assert Role.BB not in {c.role for c in made.conditions}
    assert made.settings.options["bb_control"] is False
    assert has(made.cautions, "no-bb-twin", lacking=Part("--max-time is 18 s"))


def test_without_memory_for_it_there_is_none(sitting: Sitting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdelta.session.preflight.free_memory_bytes", lambda: 1_000_000)
    made = with_bb_twin(plan(sitting.request(bb_control=None), "run"))
    assert Role.BB not in {c.role for c in made.conditions}
    assert has([made.cautions[-1]], "no-bb-twin", lacking=Part("memory"))


def test_identical_twins_have_none_and_no_caution(sitting: Sitting) -> None:
    made = with_bb_twin(plan(sitting.request(bb_control=None, self_test=True), "run"))
    assert Role.BB not in {c.role for c in made.conditions}
    assert not made.cautions


def test_a_dry_run_names_it_and_counts_its_trials(sitting: Sitting) -> None:
    with_twin = dry_run(sitting.request(bb_control=None))
    without = dry_run(sitting.request(bb_control=False))
    assert with_twin.conditions == (*without.conditions, "cipher=aes-256,threads=1#bb")
    assert (with_twin.trials_at_least, without.trials_at_least) == (2 * 2 * 4, 2 * 2 * 3)
    assert with_twin.memory_bytes > without.memory_bytes


def test_memory_is_asked_for_the_twins_of_one_round(sitting: Sitting) -> None:
    one = dry_run(sitting.request(bb_control=True, vary={"cipher": ("aes-128", "aes-256")}))
    none = dry_run(sitting.request(bb_control=False, vary={"cipher": ("aes-128", "aes-256")}))
    single = dry_run(sitting.request(bb_control=True))
    assert (
        one.memory_bytes - none.memory_bytes
        == single.memory_bytes - dry_run(sitting.request(bb_control=False)).memory_bytes
    )


def test_files_are_searched_once_those_of_the_bb_twin_of_that_round_with_them(sitting: Sitting) -> None:
    """Every operation on one twin of a round is done on all, or its rows would differ from theirs at the end."""
    result = sitting.conduct(**CIPHERS, min_rounds=3, max_rounds=3)
    assert len({found.condition for found in result.of(FileEvidence) if found.condition.role is Role.BB}) == 1
    assert sum(len(twin.searched) for twin in sitting.twins.started) == 6
    searched = [twin for twin in sitting.twins.started if twin.searched]
    done = {sum(job.operations for job in (*twin.jobs, *twin.searched)) for twin in searched}
    assert len(done) == 1
