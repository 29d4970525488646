import pytest

from support import samples as s
from tdelta.document.labels import MARKS, listed
from tdelta.messages.checks import CHECKS
from tdelta.records import CheckState, Validity
from tdelta.report.values import record_values


def check(state: CheckState, **changes: bool) -> Validity:
    return Validity(f"{state} check", state, (), **changes)


def test_checks_are_listed_with_the_worst_first_and_else_in_their_order() -> None:
    given = [check(state) for state in (CheckState.OK, CheckState.NOT_SHOWN, CheckState.FAILED, CheckState.OK)]
    assert [state for state, _ in listed(given)] == ["FAILED", "not shown", "ok", "ok"]
    assert set(MARKS) == set(CheckState)


@pytest.mark.parametrize(
    ("state", "makes_invalid", "found"),
    [
        (CheckState.OK, True, (True, False, False)),
        (CheckState.NOT_SHOWN, True, (False, False, False)),
        (CheckState.FAILED, True, (False, True, True)),
        (CheckState.FAILED, False, (False, True, False)),
    ],
)
def test_only_a_failed_check_can_make_a_run_invalid_and_not_every_one_does(
    state: CheckState, makes_invalid: bool, found: tuple[bool, bool, bool]
) -> None:
    one = check(state, makes_invalid=makes_invalid)
    assert (one.ok, one.failed, one.is_invalid) == found
    assert (record_values(one)["state"], record_values(one)["ok"]) == (state.value, one.ok)


@pytest.mark.parametrize("name", s.SAMPLES)
def test_samples_name_only_checks_that_runs_really_make(name: str) -> None:
    assert {one.code for one in s.SAMPLES[name]().validity} <= CHECKS.keys()
