from dataclasses import replace
from pathlib import Path

import pytest

from support.refused import Coded, check_messages, coded, has
from tdelta.findings.temporary import WRITTEN
from tdelta.messages import Detail
from tdelta.messages.checks import IN_FORCE, ROWS_AFTER, ROWS_BEFORE, SAME_WORK, SPILLED
from tdelta.processes.load_generator.command import LoadGenerator, parse_load
from tdelta.processes.protocol import Tables
from tdelta.records import CheckState, Measurement, SpanTotals, Trial, Usage
from tdelta.session import RunRequest, plan
from tdelta.session.collectors.checks import Checks
from tdelta.session.run_plan import Plan
from tdelta.session.state import RunState, TwinNotes

from .sources import source

OBSERVED = "AES-{bits}-CBC 6,308 times, AES-{bits}-ECB 6,309 times"


def state(checks: Checks, name: str, trials: tuple[Trial, ...] = ()) -> tuple[CheckState, tuple[Detail, ...]]:
    (found,) = [one for one in checks.validity(trials) if one.code == name]
    return found.state, found.details


def planned() -> Plan:
    return plan(RunRequest(seed=1), run_id="20260802-kqmt")


def seen(asked: str, told: str) -> Checks:
    return Checks(planned(), RunState(ciphers={asked: told}))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("aes-256", OBSERVED.format(bits=256)),
        ("aes-128", OBSERVED.format(bits=128)),
        ("aes-256-ctr", "AES-256-CTR 5 times"),
        ("directory", "AES-256-XTS 5 times"),
    ],
)
def test_a_cipher_that_was_seen_to_be_the_one_asked_for_is_in_order(asked: str, told: str) -> None:
    checks = seen(asked, told)
    assert state(checks, IN_FORCE)[0] is CheckState.OK
    assert checks.ciphers_in_force == {}


@pytest.mark.parametrize(
    ("asked", "told", "found"),
    [
        ("aes-256", OBSERVED.format(bits=128), "AES-128-CBC"),
        ("aes-256-ctr", "AES-128-CTR 5 times", "AES-128-CTR"),
        ("aes-256-ctr", "AES-256-CBC 5 times", "AES-256-CBC"),
    ],
)
def test_another_cipher_than_the_one_asked_for_fails_its_check_and_leaves_the_figures_standing(
    asked: str, told: str, found: str
) -> None:
    checks = seen(asked, told)
    (one,) = [one for one in checks.validity(()) if one.code == IN_FORCE]
    assert (one.failed, one.is_invalid) == (True, False)
    check_messages(one.details, "other-cipher", cipher=asked, found=found)
    assert checks.ciphers_in_force == {asked: found}


def test_a_cipher_that_could_not_be_observed_is_not_shown() -> None:
    checks = seen("aes-256", "")
    found, details = state(checks, IN_FORCE)
    assert found is CheckState.NOT_SHOWN
    check_messages(details, "cipher-observed", cipher="aes-256")
    assert checks.ciphers_in_force == {}


@pytest.mark.parametrize(("tables", "found"), [((("work", ("id",)),), CheckState.OK), ((), CheckState.NOT_SHOWN)])
def test_rows_of_which_only_keys_were_compared_are_not_called_the_same(
    tables: Tables, found: CheckState, tmp_path: Path
) -> None:
    of = replace(planned(), source=source(tmp_path, tables=tables, has_keys_only=True))
    checks = Checks(of, RunState(twins=TwinNotes(rounds_compared=2)))
    for name in (ROWS_BEFORE, ROWS_AFTER):
        shown, details = state(checks, name)
        assert shown is found
        assert has(details, "rows-keys", tables=len(tables), total=1)
    assert has(checks.cautions, "only-keys-compared", tables=len(tables), total=1)
    assert not has(Checks(replace(of, source=source(tmp_path)), RunState()).cautions, "only-keys-compared")


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> Checks:
    command: LoadGenerator = parse_load("sh -c 'sleep {seconds}'", "mysql", operations="done ([0-9]+)")
    assert not command.does_equal_work
    monkeypatch.setattr(Plan, "command", property(lambda _: command))
    return Checks(planned(), RunState())


def trials(errors: int) -> tuple[Trial, ...]:
    measured = Measurement(1_000, 10**9, {"mix": SpanTotals(1_000, 10**9)}, {}, errors={"ignored": errors})
    return tuple(
        Trial(0, 0, at, c, c.key, 0.0, measured if c.level("cipher") != "none" else replace(measured, errors={}))
        for at, c in enumerate(planned().conditions)
    )


def test_work_that_nobody_can_compare_is_not_shown_and_its_errors_are_counted(timed: Checks) -> None:
    found, details = state(timed, SAME_WORK, trials(0))
    assert found is CheckState.NOT_SHOWN
    assert has(details, "not-checked", why="the load generator determines the amount of work")
    assert has(details, "work-done", operations=3000, trials=3)
    assert "3 errors" in "; ".join(map(str, state(timed, SAME_WORK, trials(3))[1]))


def test_a_load_generator_whose_operations_fail_on_one_twin_fails_its_check(timed: Checks) -> None:
    found, details = state(timed, SAME_WORK, trials(200))
    assert found is CheckState.FAILED
    assert has(details, "many-errors", condition="cipher=aes-256,threads=1", errors=200, operations=1000)


def test_equal_work_with_a_single_error_is_no_equal_work() -> None:
    assert state(Checks(planned(), RunState()), SAME_WORK, trials(1))[0] is CheckState.FAILED
    assert state(Checks(planned(), RunState()), SAME_WORK, trials(0))[0] is CheckState.OK


def trials_that_wrote(of: Plan, *written: int) -> tuple[Trial, ...]:
    usages = [Usage(syscall_written_bytes=count) for count in written]
    measured = [Measurement(2, 1, {}, {}, total_operations=2, usage=usage) for usage in usages]
    return tuple(Trial(0, n, 0, of.conditions[n % 2], "i", 0.0, one) for n, one in enumerate(measured))


@pytest.mark.parametrize(
    ("written", "expected", "said"),
    [
        ((10**6, 10**6, 10**6), CheckState.OK, coded("spilled", trials=3, counted=WRITTEN)),
        (
            (10**6, 10**6, 0),
            CheckState.FAILED,
            coded("not-spilled", condition="cipher=none,threads=1", kept=1, trials=2),
        ),
    ],
)
def test_trials_of_a_workload_that_is_to_spill_must_have(
    written: tuple[int, ...], expected: CheckState, said: Coded
) -> None:
    of = plan(RunRequest(seed=1, study="spill", engine="sqlite"), run_id="20260802-kqmt")
    checks = Checks(of, RunState())
    found, details = state(checks, SPILLED, trials_that_wrote(of, *written))
    assert found is expected
    assert has(details, said)
    assert not any(one.is_invalid for one in checks.validity(()) if one.code == SPILLED)


def test_other_workloads_are_not_asked_whether_they_spilled() -> None:
    of = planned()
    found = Checks(of, RunState()).validity(trials_that_wrote(of, 0, 0))
    assert SPILLED not in {one.code for one in found}
