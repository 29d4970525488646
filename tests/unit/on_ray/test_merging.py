"""Sums of agents' measurements, and trials that do not count."""

from dataclasses import astuple
from typing import Any

import pytest

from tdelta._native import histogram_summary
from tdelta.processes.answers import measurement
from tdelta.ray.merging import LEAST_OVERLAP, added, fault, own_histograms, parts
from tdelta.records.trials import overlap

from .answers import answer

NODES = {"1": "here", "2": "there"}


def of(*answers: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {str(number): one for number, one in enumerate(answers, 1)}


def test_totals_counts_and_histograms_add_up_and_the_longest_time_is_the_trials() -> None:
    slow = answer([40_000] * 3, began_ns=5, ended_ns=2_000, errors={"busy": 2}, backlog_max=7)
    merged = measurement(added([answer([10_000] * 5, ended_ns=1_000, errors={"busy": 1}), slow]))
    assert merged.operations == 8
    assert merged.total_operations == 10
    assert merged.elapsed_ns == 1995
    assert merged.transactions["buy"].count == 8
    assert merged.transactions["buy"].total_ns == 170_000
    assert merged.errors == {"busy": 3}
    assert astuple(merged.queue) == (2, 7)
    assert merged.client_cpu_seconds == pytest.approx(0.1 * (1000 + 1995) * 1e-9)
    count, mean_ns, _, _ = histogram_summary([merged.histograms["tx:buy"]], ())
    assert (count, mean_ns) == (8, pytest.approx(21_250, rel=0.01))


def test_time_in_which_an_agent_waited_for_operations_is_no_time_at_work() -> None:
    waited = answer([1000] * 4, ended_ns=1_000_000, waited_ns=100_000)
    assert added([waited, answer([1000], ended_ns=800_000)])["outcome"]["elapsed_ns"] == 900_000
    one, other = parts(of(waited, answer([1000], ended_ns=1_000_000)), NODES).values()
    assert (one.elapsed_ns, one.waited_ns, other.waited_ns) == (900_000, 100_000, 0)
    assert overlap({"1": one, "2": other}) == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("endings", "expected"),
    [(("count", "count"), "count"), (("count", "signal"), "signal"), (("signal", "deadline"), "deadline")],
)
def test_a_trial_has_ended_as_the_worst_of_its_agents_has(endings: tuple[str, str], expected: str) -> None:
    merged = added([answer([1], stopped_by=ending) for ending in endings])
    assert merged["outcome"]["stopped_by"] == expected


def test_an_agent_that_stood_still_makes_the_trial_one_that_did() -> None:
    stood = answer([1], standstill={"suspended_ns": 0, "stopped": False, "paused_ns": 3_000_000_000})
    assert "3 s" in measurement(added([answer([1]), stood])).standstill


def test_each_agent_keeps_its_own_histograms_of_transactions() -> None:
    kept = own_histograms(of(answer([1_000]), answer([2_000, 2_000])))
    assert {name: histogram_summary([payload], ())[0] for name, payload in kept.items()} == {
        "agent:1/tx:buy": 1,
        "agent:2/tx:buy": 2,
    }


def voided(*answers: dict[str, Any]) -> str:
    return fault(parts(of(*answers), NODES))


def test_a_trial_counts_whose_agents_worked_together_and_had_cpu_to_spare() -> None:
    assert voided(answer([1], began_ns=0, ended_ns=1000), answer([1], began_ns=20, ended_ns=980)) == ""


def test_a_trial_does_not_count_whose_agents_overlap_too_little() -> None:
    said = voided(answer([1], began_ns=0, ended_ns=1000), answer([1], began_ns=80, ended_ns=1000))
    assert "92%" in said
    assert f"{LEAST_OVERLAP:.0%}" in said


def test_agents_that_were_never_at_work_together_overlap_by_nothing() -> None:
    assert "for 0%" in voided(answer([1], began_ns=0, ended_ns=10), answer([1], began_ns=20, ended_ns=30))


def test_a_trial_does_not_count_one_of_whose_agents_was_short_of_cpu() -> None:
    said = voided(answer([1]), answer([1], cpu_share=0.71))
    assert said.startswith("agent 2 ")
    assert " 71% " in said
