from tdelta.design import block_order, fresh_seed, instances, lay_out


def test_fresh_seeds_fit_63_bits_and_differ():
    seeds = {fresh_seed() for _ in range(64)}
    assert len(seeds) == 64
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert any(seed >= 2**61 for seed in seeds)


def test_creation_order_and_names_are_drawn_afresh_each_round():
    conditions = lay_out({"cipher": ("aes-128", "aes-256")}, inject=(0.05,))
    rounds = [instances(7, number, conditions) for number in range(20)]
    assert len({tuple(c.key for c, _ in drawn) for drawn in rounds}) > 10
    assert len({name for drawn in rounds for _, name in drawn}) == 20 * len(conditions)


def test_no_condition_is_favoured_in_creation_or_in_the_order_of_names():
    conditions = lay_out({"cipher": ("aes-256",)})
    created_first, sorted_first = dict.fromkeys(conditions, 0), dict.fromkeys(conditions, 0)
    for number in range(600):
        drawn = instances(11, number, conditions)
        created_first[drawn[0][0]] += 1
        sorted_first[min(drawn, key=lambda pair: pair[1])[0]] += 1
    for count in (*created_first.values(), *sorted_first.values()):
        assert 150 < count < 250  # 200 expected, sd 11.5: more than four sd either way


def test_orders_are_drawn_afresh_from_pass_to_pass_and_seed_to_seed():
    passes = {tuple(block_order(3, 6 * number + row, 3) for row in range(6)) for number in range(20)}
    assert len(passes) > 15
    assert len({tuple(block_order(seed, row, 5) for row in range(10)) for seed in range(20)}) == 20


def test_every_order_of_three_conditions_comes_first_equally_often():
    first = [block_order(seed, 0, 3) for seed in range(1200)]
    assert len(set(first)) == 6
    for order in set(first):
        assert 140 < first.count(order) < 260  # 200 expected, sd 12.9
