"""The helpers for refusals do not accept any error."""

from typing import Any

import pytest

from support.refused import Part, coded, refused
from tdelta.errors import ImportFault, StoreError, UsageError
from tdelta.messages import Refusal

FIRST, SECOND = "level-out-of-reach", "no-time-for-a-round"
RAISED = UsageError(
    Refusal.of(FIRST, factor="cache", level="10", why="no").at("/x/tdelta.toml:3"),
    Refusal.of(SECOND, least=6, found=2),
)


@pytest.mark.parametrize(
    "said",
    [
        (FIRST,),
        (SECOND, FIRST),
        (coded(FIRST, factor="threads"), SECOND),
        (FIRST, coded(SECOND, found=3)),
        (coded(FIRST, where=Part("other.toml")), SECOND),
    ],
)
def test_another_code_number_or_parameter_fails(said: tuple[Any, ...]) -> None:
    with refused(UsageError, coded(FIRST, where="tdelta.toml:3"), coded(SECOND, found=2.0)):
        raise RAISED
    with pytest.raises(AssertionError), refused(UsageError, *said):
        raise RAISED


def test_words_that_are_not_shown_and_another_type_of_error_fail() -> None:
    with pytest.raises(AssertionError), refused(UsageError, FIRST, SECOND, shows="Access denied"):
        raise RAISED
    with pytest.raises(StoreError), refused(ImportFault, FIRST):
        raise StoreError(RAISED.refusals[0])
