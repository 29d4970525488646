from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest

from support.calibration_samples import KEY, calibration
from support.refused import Part, refused
from tdelta.errors import StoreError
from tdelta.records import CalibrationKey
from tdelta.store import Store
from tdelta.store.calibrations import add_calibration, fresh_calibration_id, key_digest, newest_calibration


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "runs.sqlite") as opened:
        yield opened


def test_a_calibration_comes_back_as_it_was_added(store: Store) -> None:
    add_calibration(store, calibration())
    assert newest_calibration(store, KEY, since_unix_seconds=0.0) == calibration()


def test_of_several_that_fit_the_newest_is_found_and_none_that_is_too_old(store: Store) -> None:
    made = calibration().created_unix_seconds
    add_calibration(store, calibration())
    add_calibration(store, calibration("cal-2", created_unix_seconds=made + 10.0))
    found = newest_calibration(store, KEY, since_unix_seconds=made)
    assert found is not None
    assert found.calibration_id == "cal-2"
    assert newest_calibration(store, KEY, since_unix_seconds=made + 11.0) is None


@pytest.mark.parametrize("name", [field.name for field in fields(CalibrationKey)])
def test_whatever_differs_there_is_none_that_fits(store: Store, name: str) -> None:
    add_calibration(store, calibration())
    value = getattr(KEY, name)
    other = replace(KEY, **{name: {**value, "threads": 2} if isinstance(value, dict) else f"{value} other"})
    assert newest_calibration(store, other, since_unix_seconds=0.0) is None


def test_the_order_of_options_does_not_matter_but_their_values_do() -> None:
    turned = replace(KEY, options=dict(reversed(KEY.options.items())))
    assert key_digest(turned) == key_digest(KEY)
    assert key_digest(replace(KEY, options={**KEY.options, "threads": 2})) != key_digest(KEY)


def test_a_second_calibration_of_the_same_name_is_refused(store: Store) -> None:
    add_calibration(store, calibration())
    with refused(StoreError, "store-unusable", fault=Part("UNIQUE")):
        add_calibration(store, calibration())


def test_a_fresh_name_is_a_date_and_four_letters(store: Store) -> None:
    assert fresh_calibration_id(store).startswith("cal-20")
