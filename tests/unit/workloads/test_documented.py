"""``docs/workloads.md`` names everything a workload folder may hold."""

from pathlib import Path

import pytest

from tdelta.engines.registry import dialects
from tdelta.workloads import BUILT_IN, load
from tdelta.workloads.distributions import DISTRIBUTIONS
from tdelta.workloads.expressions import FUNCTIONS

PAGE = (Path(__file__).parents[3] / "docs/workloads.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("|")]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_every_distribution_is_documented_with_its_parameters(distribution):
    (row,) = (row for row in ROWS if row.startswith(f"| `{distribution}` |"))
    assert all(f"`{parameter}`" in row for parameter in DISTRIBUTIONS[distribution].parameters)


@pytest.mark.parametrize("function", sorted(set(FUNCTIONS) - {"least", "greatest"}))
def test_every_function_is_documented(function):
    assert any(f"`{function}(" in row for row in ROWS)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_workload_is_documented(name):
    assert f"**`{name}`**" in PAGE


def test_the_weights_on_the_page_are_those_of_the_workload():
    transactions = load("order-entry", dialects()).transactions
    total = sum(transaction.weight for transaction in transactions)
    for transaction in transactions:
        (row,) = (row for row in ROWS if row.startswith(f"| {transaction.title.lower()} |"))
        share, writes = f"{transaction.weight / total:.0%}", "yes" if transaction.writes else "no"
        assert row.startswith(f"| {transaction.title.lower()} | {transaction.weight:.0f} | {share} | {writes} |")
