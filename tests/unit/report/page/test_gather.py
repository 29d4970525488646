from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import stored as t
from support.refused import refused
from tdelta._native import histogram_merge, histogram_summary
from tdelta.errors import StoreError, UnknownName
from tdelta.records import Event, Phase
from tdelta.report.page.gather import FEWEST_BEYOND, MARKS, RunData, gather, latency
from tdelta.store import Store

from .conftest import data_of

times = st.lists(st.integers(min_value=1, max_value=10**10), min_size=1, max_size=60)


@given(st.lists(times, min_size=1, max_size=5))
def test_merged_payloads_hold_what_all_of_them_hold(parts: list[list[int]]) -> None:
    together = t.payload(time for part in parts for time in part)
    merged = histogram_merge([histogram_merge([t.payload(part)]) for part in parts])
    quantiles = (0.1, 0.5, 0.9, 0.99, 1.0)
    assert histogram_summary([merged], quantiles) == histogram_summary([together], quantiles)


def test_a_curve_rises_and_ends_where_too_few_transactions_lie_beyond() -> None:
    found = latency([t.payload(range(1000, 6000))])
    assert found is not None
    values = [ns for _, ns in found.curve]
    assert values == sorted(values)
    furthest = found.curve[-1][0]
    assert 5000 * (1 - furthest) >= FEWEST_BEYOND > 5000 * (1 - furthest) / 10 ** (1 / 20)
    assert list(found.marks) == [0.5, 0.9, 0.95, 0.99]
    assert set(found.marks) < set(MARKS)


def test_histograms_that_hold_nothing_make_no_curve() -> None:
    assert latency([t.payload([])]) is None
    assert latency([]) is None


def test_every_condition_has_the_transactions_of_all_its_trials(valid: RunData) -> None:
    expected = t.ROUNDS * t.BLOCKS * (t.OPERATIONS // len(t.TYPES)) * len(t.TYPES)
    assert {key: found.count for key, found in valid.latencies.items()} == dict.fromkeys(
        (c.key for c in valid.result.settings.conditions), expected
    )


def test_trials_come_without_their_histograms(valid: RunData) -> None:
    assert len(valid.trials) == t.ROUNDS * t.BLOCKS * 7
    assert all(not trial.measurement.histograms for trial in valid.trials)


def test_a_block_that_lacks_a_condition_counts_for_no_percentile(tmp_path: Path) -> None:
    given_ = t.settings()
    found = t.trials(given_.conditions, rounds=1, blocks=3)
    stored = t.store_run(tmp_path / "runs.sqlite", t.sound_result(given_, found), found[:-1])
    data = data_of(stored)
    least = 2 * (t.OPERATIONS // len(t.TYPES)) * len(t.TYPES)
    assert {found.count for found in data.latencies.values()} == {least}


def test_reading_says_how_far_it_is(tmp_path: Path) -> None:
    heard: list[Event] = []
    path = t.store_factorial(tmp_path / "runs.sqlite", rounds=1, blocks=2)
    with Store.open(path) as store:
        gather(store, t.RUN_ID, heard.append)
    steps = [e for e in heard if isinstance(e, Phase) and e.total]
    assert [e.done for e in steps] == list(range(1, len(steps) + 1))
    assert steps[-1].done == steps[-1].total


def test_a_run_without_a_result_and_an_unknown_one_are_told_apart(tmp_path: Path) -> None:
    with Store.open(tmp_path / "runs.sqlite") as store:
        store.create_run(replace(t.settings(), run_id="20261121-half"), {}, {})
        with refused(StoreError, "run-without-result", run="20261121-half", store="runs.sqlite"):
            gather(store, "20261121-half")
        with pytest.raises(UnknownName):
            gather(store, "20261121-none")
