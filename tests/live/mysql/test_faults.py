from collections.abc import Iterator
from pathlib import Path

import pytest

from support.codes import check_refused
from support.refused import Part
from support.running import read_until, waited_for
from support.runs import ALONE, PATIENCE_SECONDS, ServerPlace, occupied


@pytest.fixture
def place(tmp_path: Path) -> Iterator[ServerPlace]:
    yield from occupied("mysql", tmp_path)


def test_a_keyring_that_goes_missing_ends_the_run_with_a_word_of_it(place: ServerPlace) -> None:
    small = ("--workload", "point-select", "--size", "2MB", "--scope", "data", "--trial-time", "0.2s", *ALONE)
    process = place.start("run", "--json", *place.options(*small))
    read_until(process, "size")
    (keyring,) = place.twins.glob("templates/*/keys/keyring")
    keyring.unlink()
    check_refused(
        waited_for(process, PATIENCE_SECONDS), "database-answer", said=Part("keyring"), fix=Part("its keys changed")
    )
    assert place.left() == []
