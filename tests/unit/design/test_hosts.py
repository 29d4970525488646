from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tdelta.design.layout import hosts_of
from tdelta.records import Condition, Role

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
