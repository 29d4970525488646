from typing import Any

import pytest

from support.refused import Part, check_messages, coded, has, refused
from tdelta.errors import ImportFault, StoreError, UsageError
from tdelta.messages import Refusal

RAISED = UsageError(
    Refusal.of("level-out-of-reach", factor="cache", level="10", why="no").at("/x/tdelta.toml:3"),
    Refusal.of("no-time-for-a-round", least=6, found=2),
)


def looked_at(*said: Any, **parameters: Any) -> None:
    with refused(UsageError, *said, **parameters):
        raise RAISED


def test_what_is_as_expected_passes() -> None:
    looked_at("level-out-of-reach", "no-time-for-a-round")
    looked_at(
        coded("level-out-of-reach", factor="cache", level=10, where="tdelta.toml:3"),
        coded("no-time-for-a-round", found=2.0),
    )
    looked_at("level-out-of-reach", "no-time-for-a-round", factor=("cache", None), where=(Part("x/tdelta"), None))
    assert has(RAISED.refusals, "no-time-for-a-round", found=pytest.approx(2.0))
    assert not has(RAISED.refusals, "no-time-for-a-round", found=3)
    assert not has(RAISED.refusals, "level-out-of-reach", where="delta.toml:3")


@pytest.mark.parametrize(
    "said",
    [
        ("level-out-of-reach",),
        ("no-time-for-a-round", "level-out-of-reach"),
        ("level-out-of-reach", "no-time-for-a-round", "no-time-for-a-round"),
        (coded("level-out-of-reach", factor="threads"), "no-time-for-a-round"),
        (coded("level-out-of-reach", place="10"), "no-time-for-a-round"),
        ("level-out-of-reach", coded("no-time-for-a-round", found=3)),
        (coded("level-out-of-reach", where=Part("other.toml")), "no-time-for-a-round"),
    ],
)
def test_another_code_number_or_parameter_fails(said: tuple[Any, ...]) -> None:
    with pytest.raises(AssertionError):
        looked_at(*said)


def test_words_that_are_not_shown_and_another_type_of_error_fail() -> None:
    with pytest.raises(AssertionError):
        looked_at("level-out-of-reach", "no-time-for-a-round", shows="Access denied")
    with pytest.raises(StoreError), refused(ImportFault, "level-out-of-reach"):
        raise StoreError(Refusal.of("level-out-of-reach", factor="cache", level="10", why="no"))
    with pytest.raises(AssertionError):
        check_messages(RAISED.refusals[:1], "level-out-of-reach", factor=("cache", "cache"))
