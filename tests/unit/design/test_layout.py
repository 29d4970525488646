"""Which conditions a run gets: the factorial, its baselines, its controls."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refused import refused
from tdelta.design import lay_out
from tdelta.design.layout import hosts_of
from tdelta.errors import UsageError
from tdelta.records import Condition, Role


def keys(*args, **options):
    return [condition.key for condition in lay_out(*args, **options)]


def test_one_cipher_gets_a_baseline_and_an_aa_twin():
    assert keys({"cipher": ("aes-256",)}) == [
        "cipher=none,threads=1",
        "cipher=none,threads=1#aa",
        "cipher=aes-256,threads=1",
    ]


def test_none_comes_first_wherever_the_user_put_it():
    assert keys({"cipher": ("aes-256", "none", "ascon128")}, aa_control=False) == [
        "cipher=none,threads=1",
        "cipher=aes-256,threads=1",
        "cipher=ascon128,threads=1",
    ]


def test_the_full_factorial_has_a_baseline_of_its_own_in_every_stratum():
    conditions = lay_out({"cache": (0.1, 1.2), "cipher": ("aes-128", "aes-256"), "threads": (1, 4)})
    assert len(conditions) == 2 * 2 * (1 + 1 + 2)
    for stratum in range(4):
        members = [c for c in conditions if c.stratum == stratum]
        assert [c.role for c in members] == [Role.BASELINE, Role.AA, Role.TREATMENT, Role.TREATMENT]
        assert len({(c.level("threads"), c.level("cache")) for c in members}) == 1
    assert len({(c.level("threads"), c.level("cache")) for c in conditions}) == 4


def test_levels_hold_cipher_and_threads_then_only_what_is_varied():
    for condition in lay_out({"page_size": (512, 4096), "cipher": ("aes-256",)}, threads=3):
        assert [name for name, _ in condition.levels] == ["cipher", "threads", "page_size"]
        assert condition.level("threads") == 3


def test_a_self_test_judges_an_identical_plain_twin_and_sets_ciphers_aside():
    conditions = lay_out({"cipher": ("aes-256",)}, self_test=True)
    assert [c.role for c in conditions] == [Role.BASELINE, Role.AA, Role.IDENTICAL]
    assert len({c.levels for c in conditions}) == 1
    assert [c.role.is_judged for c in conditions] == [False, False, True]


def test_a_self_test_injects_each_cost_in_a_twin_of_the_baseline():
    baseline, _, _, five, ten = lay_out({}, self_test=True, inject=(0.05, 0.1))
    assert (five.injected, ten.injected) == (0.05, 0.1)
    assert five.levels == ten.levels == baseline.levels
    assert five.role is ten.role is Role.INJECTED


def test_costs_can_be_injected_beside_a_cipher_in_every_stratum():
    conditions = lay_out({"cipher": ("aes-256",), "threads": (1, 2)}, inject=(0.05,), aa_control=False)
    assert [(c.stratum, c.role) for c in conditions if c.role.is_judged] == [
        (0, Role.TREATMENT),
        (0, Role.INJECTED),
        (1, Role.TREATMENT),
        (1, Role.INJECTED),
    ]


def test_keys_are_unique_in_the_largest_mix_of_controls():
    named = keys({"cipher": ("aes-256",), "threads": (1, 2), "cache": (0.1, 1.0)}, inject=(0.05, 0.1))
    assert len(set(named)) == len(named) == 4 * 5


def test_a_run_with_nothing_to_judge_is_refused():
    with refused(UsageError, "nothing-to-compare"):
        lay_out({"cipher": ("none",), "threads": (1, 2)})


@pytest.mark.parametrize("share", [0.0, -0.05, 5.01, float("nan"), float("inf")])
def test_an_injected_share_outside_zero_to_five_is_refused(share):
    with refused(UsageError, "out-of-range", found=share, what="an injected slowdown"):
        lay_out({}, self_test=True, inject=(share,))


def test_the_largest_injected_share_is_accepted():
    assert lay_out({}, self_test=True, inject=(5.0,))[-1].injected == 5.0


def test_all_faults_of_injected_shares_are_told_at_once():
    with refused(UsageError, "out-of-range", "out-of-range", "twice", found=(None, 6.0, None)):
        lay_out({}, self_test=True, inject=(0.05, -1.0, 6.0, 0.05))


def test_aes_instructions_are_compared_and_make_no_strata():
    conditions = lay_out({"aes_instructions": ("off", "on"), "cipher": ("aes-128", "aes-256")}, threads=4)
    assert {c.stratum for c in conditions} == {0}
    assert [(c.role, c.level("cipher"), c.level("aes_instructions")) for c in conditions] == [
        (Role.BASELINE, "none", "on"),
        (Role.AA, "none", "on"),
        (Role.TREATMENT, "aes-128", "on"),
        (Role.TREATMENT, "aes-256", "on"),
        (Role.TREATMENT, "none", "off"),
        (Role.TREATMENT, "aes-128", "off"),
        (Role.TREATMENT, "aes-256", "off"),
    ]


def test_with_the_instructions_off_throughout_the_baseline_is_without_them_too():
    assert keys({"aes_instructions": ("off",), "cipher": ("aes-256",)}, aa_control=False) == [
        "cipher=none,aes_instructions=off,threads=1",
        "cipher=aes-256,aes_instructions=off,threads=1",
    ]


def test_identical_twins_differ_in_no_instructions_either():
    conditions = lay_out({"aes_instructions": ("on", "off"), "cipher": ("aes-256",)}, self_test=True, inject=(0.05,))
    assert {(c.level("cipher"), c.level("aes_instructions")) for c in conditions} == {("none", "on")}
    assert [c.role for c in conditions] == [Role.BASELINE, Role.AA, Role.IDENTICAL, Role.INJECTED]


def test_the_instructions_alone_can_be_compared():
    assert keys({"aes_instructions": ("on", "off")}, aa_control=False) == [
        "cipher=none,aes_instructions=on,threads=1",
        "cipher=none,aes_instructions=off,threads=1",
    ]


def test_every_encrypted_condition_gets_a_bb_twin_behind_it():
    conditions = lay_out({"cipher": ("aes-128", "aes-256"), "threads": (1, 4)}, bb_control=True)
    assert [c.role for c in conditions[:6]] == [
        Role.BASELINE,
        Role.AA,
        Role.TREATMENT,
        Role.BB,
        Role.TREATMENT,
        Role.BB,
    ]
    for treatment, twin in pairwise(conditions):
        if twin.role is Role.BB:
            assert (treatment.levels, treatment.stratum) == (twin.levels, twin.stratum)
    assert sum(c.role is Role.BB for c in conditions) == 4


def test_a_bb_twin_is_named_apart_from_its_treatment_and_is_not_judged():
    (twin,) = [c for c in lay_out({"cipher": ("aes-256",)}, bb_control=True) if c.role is Role.BB]
    assert twin.key == "cipher=aes-256,threads=1#bb"
    assert twin.as_json() == {"cipher": "aes-256", "threads": 1, "twin": "bb"}
    assert not twin.role.is_judged


def test_plain_twins_identical_ones_and_injected_costs_get_no_bb_twin():
    aside = lay_out({"cipher": ("aes-256",)}, self_test=True, inject=(0.05,), bb_control=True)
    assert Role.BB not in {c.role for c in aside}
    instructions = lay_out({"cipher": ("aes-256",), "aes_instructions": ("on", "off")}, bb_control=True)
    assert {c.level("cipher") for c in instructions if c.role is Role.BB} == {"aes-256"}


BASELINE = Condition((("cipher", "none"),), Role.BASELINE)
AA = Condition((("cipher", "none"),), Role.AA)
AES = Condition((("cipher", "aes-256"),), Role.TREATMENT)
BB = Condition((("cipher", "aes-256"),), Role.BB)
TWINS = (BASELINE, AA, AES, BB)

seeds, counts = st.integers(0, 1 << 62), st.integers(2, 5)


@given(seeds, counts, st.integers(0, 9))
def test_in_a_cycle_every_twin_is_on_every_host_once(seed: int, count: int, cycle: int) -> None:
    rounds = [hosts_of(seed, cycle * count + place, TWINS, count) for place in range(count)]
    for condition in TWINS:
        assert Counter(on[condition] for on in rounds) == dict.fromkeys(range(count), 1)


@given(seeds, counts, st.integers(0, 40))
def test_what_is_compared_is_on_another_host_than_its_baseline_and_has_a_plain_twin_beside_it(
    seed: int, count: int, number: int
) -> None:
    on = hosts_of(seed, number, TWINS, count)
    assert on[AES] != on[BASELINE]
    assert on[AA] == on[AES]
    assert on[BB] == on[BASELINE]


def test_where_a_cycle_begins_is_drawn() -> None:
    first = [hosts_of(seed, 0, TWINS, 2)[BASELINE] for seed in range(40)]
    assert 5 < sum(first) < 35
