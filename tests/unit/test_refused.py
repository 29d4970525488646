from typing import Any

import pytest

from support.refused import Part, check_messages, coded, has, refused
from tdelta.errors import ImportFault, StoreError, UsageError
from tdelta.messages import Refusal

RAISED = UsageError(
    Refusal.of("level-twice", factor="cache", level="10").at("/x/tdelta.toml:3"),
    Refusal.of("marker-too-short", least=6, found=2),
)


def looked_at(*said: Any, **parameters: Any) -> None:
    with refused(UsageError, *said, **parameters):
        raise RAISED


def test_what_is_as_expected_passes() -> None:
    looked_at("level-twice", "marker-too-short")
    looked_at(
        coded("level-twice", factor="cache", level=10, where="tdelta.toml:3"), coded("marker-too-short", found=2.0)
    )
    looked_at("level-twice", "marker-too-short", factor=("cache", None), where=(Part("x/tdelta"), None))
    assert has(RAISED.refusals, "marker-too-short", found=pytest.approx(2.0))
    assert not has(RAISED.refusals, "marker-too-short", found=3)
    assert not has(RAISED.refusals, "level-twice", where="delta.toml:3")


@pytest.mark.parametrize(
    "said",
    [
        ("level-twice",),
        ("marker-too-short", "level-twice"),
        ("level-twice", "marker-too-short", "marker-too-short"),
        (coded("level-twice", factor="threads"), "marker-too-short"),
        (coded("level-twice", place="10"), "marker-too-short"),
        ("level-twice", coded("marker-too-short", found=3)),
        (coded("level-twice", where=Part("other.toml")), "marker-too-short"),
    ],
)
def test_another_code_number_or_parameter_fails(said: tuple[Any, ...]) -> None:
    with pytest.raises(AssertionError):
        looked_at(*said)


def test_words_that_are_not_shown_and_another_type_of_error_fail() -> None:
    with pytest.raises(AssertionError):
        looked_at("level-twice", "marker-too-short", shows="Access denied")
    with pytest.raises(StoreError), refused(ImportFault, "level-twice"):
        raise StoreError(Refusal.of("level-twice", factor="cache", level="10"))
    with pytest.raises(AssertionError):
        check_messages(RAISED.refusals[:1], "level-twice", factor=("cache", "cache"))
