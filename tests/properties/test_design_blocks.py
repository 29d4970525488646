"""Balance and randomness of the design, for any number of conditions, seed and round size."""

from collections import Counter
from itertools import groupby, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tdelta.design import block_order, drawn_twin, instances, lay_out, stratified_order, stream, williams_design
from tdelta.records import Role

counts = st.integers(1, 13)
seeds = st.integers(0, 2**63 - 1)
SHARES = tuple(k / 100 for k in range(1, 12))


def conditions_of(count: int):
    return lay_out({}, self_test=True, aa_control=False, inject=SHARES)[:count]


def blocks_of_round(seed, number, blocks_per_round, conditions):
    """The blocks of one round: every condition once, in the order in which they run."""
    first = number * blocks_per_round
    orders = (block_order(seed, block, len(conditions)) for block in range(first, first + blocks_per_round))
    return tuple(tuple(conditions[index] for index in order) for order in orders)


@settings(deadline=None)
@given(counts)
def test_a_williams_design_has_each_condition_in_each_position_equally_often(count):
    design = williams_design(count)
    for column in design.T:
        assert Counter(column.tolist()) == dict.fromkeys(range(count), len(design) // count)


@settings(deadline=None)
@given(counts)
def test_a_williams_design_has_each_ordered_pair_adjacent_equally_often(count):
    design = williams_design(count)
    steps = Counter(step for row in design.tolist() for step in pairwise(row))
    every_pair = [(a, b) for a in range(count) for b in range(count) if a != b]
    assert steps == dict.fromkeys(every_pair, len(design) // count)


@settings(deadline=None)
@given(counts)
def test_an_even_count_needs_one_square_and_an_odd_count_two(count):
    assert williams_design(count).shape == (count if count % 2 == 0 else 2 * count, count)


@settings(deadline=None)
@given(seeds, counts, st.integers(0, 500))
def test_every_block_is_a_permutation_of_the_conditions(seed, count, block):
    assert sorted(block_order(seed, block, count)) == list(range(count))


@settings(deadline=None)
@given(seeds, st.integers(2, 9), st.integers(0, 5))
def test_every_drawn_pass_keeps_the_balance_of_the_design(seed, count, design_pass):
    rows = len(williams_design(count))
    orders = [block_order(seed, design_pass * rows + row, count) for row in range(rows)]
    for position in range(count):
        assert set(Counter(order[position] for order in orders).values()) == {rows // count}
    steps = Counter(step for order in orders for step in pairwise(order))
    assert len(steps) == count * (count - 1)
    assert set(steps.values()) == {rows // count}


@settings(deadline=None)
@given(seeds, st.integers(2, 7), st.integers(1, 5))
def test_rounds_shorter_than_the_design_accrue_its_balance(seed, count, blocks_per_round):
    conditions = conditions_of(count)
    rows = len(williams_design(count))
    rounds = [blocks_of_round(seed, number, blocks_per_round, conditions) for number in range(rows)]
    blocks = [block for one_round in rounds for block in one_round]  # blocks_per_round whole passes
    for position in range(count):
        places = Counter(block[position] for block in blocks)
        assert places == dict.fromkeys(conditions, blocks_per_round * rows // count)


@settings(deadline=None)
@given(seeds, st.integers(1, 9), st.integers(0, 20))
def test_instances_hold_each_condition_once_under_unique_opaque_names(seed, count, round_number):
    conditions = conditions_of(count)
    drawn = instances(seed, round_number, conditions)
    assert sorted(c.key for c, _ in drawn) == sorted(c.key for c in conditions)
    names = [name for _, name in drawn]
    assert len(set(names)) == count
    assert all(len(name) == 8 and set(name) <= set("0123456789abcdef") for name in names)


@settings(deadline=None)
@given(seeds, st.sampled_from(["blocks", "creation-order", "data"]), st.integers(0, 2**40))
def test_a_stream_can_be_drawn_again_from_its_seed_name_and_index(seed, name, index):
    again = stream(seed, name, index).integers(2**62, size=4).tolist()
    assert stream(seed, name, index).integers(2**62, size=4).tolist() == again
    assert stream(seed, name, index + 1).integers(2**62, size=4).tolist() != again
    assert stream(seed, name + "x", index).integers(2**62, size=4).tolist() != again
    assert stream(seed, name, index, 0).integers(2**62, size=4).tolist() != again


@given(seeds, st.integers(0, 10_000), st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_a_block_of_strata_has_each_condition_once_and_no_stratum_in_two_pieces(seed, block, strata):
    order = stratified_order(seed, block, strata, {})
    assert sorted(order) == list(range(len(strata)))
    assert len([stratum for stratum, _ in groupby(strata[i] for i in order)]) == len(set(strata))


def test_one_stratum_is_drawn_as_a_block():
    assert stratified_order(7, 3, [0] * 5, {}) == block_order(7, 3, 5)


@given(seeds, st.integers(1, 9), st.integers(0, 4))
def test_orders_balance_of_a_stratum_that_some_blocks_have(seed, apart, passes):
    rows = len(williams_design(3))
    own = [
        [i for i in stratified_order(seed, apart * nth, [0, 0, 1, 1, 1], {1: nth}) if i >= 2]
        for nth in range(passes * rows, (passes + 1) * rows)
    ]
    assert all(sorted(place) == sorted([2, 3, 4] * (rows // 3)) for place in zip(*own, strict=True))


@settings(deadline=None)
@given(seeds, st.integers(1, 9), st.integers(0, 5))
def test_every_bb_twin_is_drawn_once_before_any_is_drawn_again(seed, count, draws):
    drawn = [drawn_twin(seed, draws * count + place, count) for place in range(count)]
    assert sorted(drawn) == list(range(count))


def test_which_bb_twin_comes_first_is_drawn_from_seed_to_seed():
    first = Counter(drawn_twin(seed, 0, 3) for seed in range(600))
    assert all(140 < first[twin] < 260 for twin in range(3))  # 200 expected, sd 11.5


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["aes-128", "aes-256", "ascon128"]), min_size=1, unique=True),
    st.lists(st.integers(1, 64), min_size=1, max_size=3, unique=True),
    st.lists(st.sampled_from([0.1, 0.5, 1.2]), min_size=1, unique=True),
)
def test_bb_twins_are_as_many_as_encrypted_conditions_and_change_nothing_else(ciphers, threads, caches):
    vary = {"cipher": tuple(ciphers), "threads": tuple(threads), "cache": tuple(caches)}
    with_twins = lay_out(vary, bb_control=True)
    twins = [c for c in with_twins if c.role is Role.BB]
    treatments = [c for c in with_twins if c.role is Role.TREATMENT]
    assert [(c.levels, c.stratum) for c in twins] == [(c.levels, c.stratum) for c in treatments]
    assert tuple(c for c in with_twins if c.role is not Role.BB) == lay_out(vary)
    assert len({c.key for c in with_twins}) == len(with_twins)
