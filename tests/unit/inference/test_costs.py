from dataclasses import replace

import pytest

from support.flat import changed
from tdelta.errors import TdeltaError
from tdelta.inference.costs import actual_ratio, cost, metric_costs, panels, transaction_cost, transactions
from tdelta.records import Metric, Role

from .builders import AES, BASELINE, TWINS, condition, measurement, noisy, run, settings, trial


def test_costs_are_an_operation_in_the_unit_of_the_metric() -> None:
    measured = measurement(1.5, read=3_000_000, types=(1.0, 3.0))
    assert cost(measured, Metric.RESPONSE_TIME) == pytest.approx(300.0)
    assert cost(measured, Metric.CPU_PER_OPERATION) == pytest.approx(120.0)
    assert cost(measured, Metric.READ_BYTES_PER_OPERATION) == pytest.approx(3000.0)
    assert cost(measured, Metric.WRITTEN_BYTES_PER_OPERATION) == pytest.approx(4096.0)
    assert transaction_cost(measured, "type1") == pytest.approx(450.0)
    assert transaction_cost(measured, "absent") == 0.0


def test_blocks_that_lack_a_condition_are_left_out_and_counted() -> None:
    trials = [t for t in run(noisy(0.0), rounds=2) if not (t.block == 7 and t.condition == AES)]
    (panel,) = panels(trials, settings())
    assert len(panel.trials) == 11
    assert panel.incomplete == 1
    assert panel.rounds.tolist() == [0] * 6 + [1] * 5


def test_a_trial_that_finished_no_operation_makes_its_block_incomplete() -> None:
    trials = run(noisy(0.0), rounds=1)
    trials[4] = replace(trials[4], measurement=replace(trials[4].measurement, operations=0))
    (panel,) = panels(trials, settings())
    assert panel.incomplete == 1


def test_trials_may_come_in_any_order() -> None:
    trials = run(noisy(0.1), rounds=3)
    (straight,), (backwards,) = panels(trials, settings()), panels(trials[::-1], settings())
    assert straight.trials == backwards.trials
    assert straight.conditions == TWINS


def test_a_block_incomplete_in_one_stratum_still_counts_in_the_other() -> None:
    other = (condition("none", Role.BASELINE, 1), condition("aes-256", Role.TREATMENT, 1))
    both = (BASELINE, AES, *other)
    trials = [t for t in run(noisy(0.0), both, rounds=1) if not (t.block == 2 and t.condition == other[1])]
    first, second = panels(trials, settings(both))
    assert (first.incomplete, second.incomplete) == (0, 1)
    assert second.baseline == other[0]


def test_a_stratum_without_a_baseline_is_a_defect_that_is_named() -> None:
    with pytest.raises(TdeltaError, match="stratum 0"):
        panels([], settings([AES]))


def test_no_trial_gives_empty_tables_of_the_right_shape() -> None:
    (panel,) = panels([], settings())
    assert metric_costs(panel, Metric.RESPONSE_TIME).shape == (0, 3)


def test_a_single_transaction_type_is_the_mix_itself() -> None:
    assert transactions(panels(run(noisy(0.0), rounds=1), settings())) == ()
    assert transactions(panels(run(noisy(0.0), rounds=1, types=(1.0, 2.0)), settings())) == ("type0", "type1")


def test_the_actual_cost_of_an_injected_twin_comes_from_what_it_spun() -> None:
    injected = condition("none", Role.INJECTED, injected=0.05)
    trials = [trial(injected, 0, b, measurement(1.0 + b, injected=0.05)) for b in range(3)]
    assert actual_ratio(trials, Metric.CPU_PER_OPERATION) == pytest.approx(1.05)
    assert actual_ratio(trials, Metric.RESPONSE_TIME) == pytest.approx(1.05)
    assert actual_ratio(trials, Metric.READ_BYTES_PER_OPERATION) is None
    assert actual_ratio([], Metric.RESPONSE_TIME) is None


def test_what_a_servers_client_spins_is_no_cpu_of_the_servers() -> None:
    injected = condition("none", Role.INJECTED, injected=0.05)
    measured = changed(measurement(1.0, injected=0.05), client_cpu_user_seconds=0.1)
    trials = [trial(injected, 0, block, measured) for block in range(3)]
    assert actual_ratio(trials, Metric.CPU_PER_OPERATION) is None
    assert actual_ratio(trials, Metric.RESPONSE_TIME) == pytest.approx(1.05)
