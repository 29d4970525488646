from dataclasses import replace

import numpy as np

from calibration.hosts import MACHINE, PAIR, Slower, on_hosts
from calibration.simulation import AA, BASELINE, TREATMENT, TWINS, settings, simulate
from support.flat import changed
from tdelta.inference.run_analysis import Judgement, analyze_run
from tdelta.records import Condition, Trial

SLOWER = Slower(float(np.log(1.2)))


def trials(rounds: int, conditions: tuple[Condition, ...]) -> list[Trial]:
    simulated = simulate(np.random.default_rng(1), MACHINE, [0.1], rounds=rounds, conditions=conditions)
    return list(on_hosts(simulated, 1, SLOWER, conditions))


def answer(rounds: int, conditions: tuple[Condition, ...]) -> Judgement:
    return analyze_run(trials(rounds, conditions), settings(conditions))


def codes(found: Judgement) -> set[str]:
    return {caution.code for caution in found.cautions}


def test_a_pair_in_one_round_cannot_be_told_from_its_hosts_and_the_interval_says_so() -> None:
    found = answer(1, PAIR)
    assert found.hosts.confounded == (TREATMENT,)
    assert "host-confounded" in codes(found)
    low, high = found.verdicts[0].ratio.hdi95
    assert high - low > 0.5


def test_a_second_round_or_a_plain_twin_beside_the_encrypted_one_tells_them_apart() -> None:
    for found in (answer(2, PAIR), answer(1, (BASELINE, AA, TREATMENT))):
        assert found.hosts.confounded == ()
        assert "host-confounded" not in codes(found)


def test_overheads_by_host_are_of_the_rounds_that_have_both_twins_on_each() -> None:
    found, of_a_pair = answer(3, TWINS), answer(3, PAIR)
    assert [(one.condition, one.repeats, one.is_apart is None) for one in found.hosts.overheads] == [
        (TREATMENT, 3, False)
    ]
    assert of_a_pair.hosts.overheads == ()


def test_the_names_of_hosts_matter_for_nothing_but_names() -> None:
    given = trials(3, TWINS)
    swapped = {"h0": "z", "h1": "a"}
    renamed = [replace(t, measurement=changed(t.measurement, host=swapped[t.measurement.host])) for t in given]
    one, other = (analyze_run(of, settings()) for of in (given, renamed))
    assert (one.hosts.names, other.hosts.names) == (("h0", "h1"), ("a", "z"))
    first, turned = one.hosts.effects[0].estimate.median, other.hosts.effects[0].estimate.median
    assert np.isclose(first * turned, 1.0, atol=1e-3)
    assert np.isclose(one.verdicts[0].ratio.median, other.verdicts[0].ratio.median, atol=2e-3)


def test_a_run_on_one_host_has_no_hosts() -> None:
    simulated = simulate(np.random.default_rng(1), MACHINE, [0.1], rounds=2)
    assert analyze_run(simulated, settings()).hosts is None
