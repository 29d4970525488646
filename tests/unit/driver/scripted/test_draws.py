"""Draws keep to their ranges; that they are the native loop's, number for number, test_same_work shows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdelta.driver.scripted.draws import Rng, mix64, permute, signed

SEEDS = st.integers(0, 2**63 - 1)


def test_the_same_item_draws_the_same_and_another_item_does_not() -> None:
    first, again, other = Rng(1, 2, 3), Rng(1, 2, 3), Rng(1, 2, 4)
    drawn = [first.bits() for _ in range(8)]
    assert drawn == [again.bits() for _ in range(8)]
    assert drawn != [other.bits() for _ in range(8)]
    assert all(0 <= bits < 2**64 for bits in drawn)


@pytest.mark.parametrize("size", [1, 2, 3, 10, 100, 1000])
def test_a_permutation_is_one(size: int) -> None:
    assert sorted(permute(index, size) for index in range(size)) == list(range(size))
    assert permute(size + 1, size) == permute(1 % size, size)


@given(SEEDS, st.integers(-(2**62), 2**62), st.integers(0, 2**61))
def test_a_uniform_integer_is_within_its_range(seed: int, low: int, width: int) -> None:
    assert low <= Rng(seed, 0, 0).between(low, low + width) <= low + width


@given(SEEDS, st.integers(1, 10_000))
def test_shaped_integers_are_within_their_range(seed: int, high: int) -> None:
    rng = Rng(seed, 1, 2)
    drawn = [rng.gaussian(1, high, 2.5), rng.exponential(1, high, 3.0), rng.zipfian(1, high, 1.1)]
    assert all(1 <= value <= high for value in drawn)


def test_an_exponent_near_one_does_not_overflow() -> None:
    assert all(1 <= Rng(seed, 0, 0).zipfian(1, 50, 1.001) <= 50 for seed in range(300))


def test_the_first_rank_is_the_most_frequent() -> None:
    rng = Rng(5, 0, 0)
    drawn = [rng.zipfian(1, 100, 1.2) for _ in range(2000)]
    assert drawn.count(1) > drawn.count(2) > drawn.count(50)


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 40])
def test_a_text_is_as_long_as_asked_and_of_letters_and_digits(length: int) -> None:
    text = Rng(3, 0, 0).text(length)
    assert len(text) == length
    assert set(text) <= set("abcdefghijklmnopqrstuvwxyz0123456789")


@given(st.integers(-(2**70), 2**70))
def test_integers_wrap_to_64_bits(value: int) -> None:
    assert -(2**63) <= signed(value) < 2**63
    assert (signed(value) - value) % 2**64 == 0
    assert 0 <= mix64(value) < 2**64
