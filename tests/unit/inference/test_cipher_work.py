"""Whether the cipher had anything to do, from counters that are given."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from support.flat import changed
from support.refused import Part, has
from tdelta.inference.cipher_work import (
    TOO_LITTLE,
    barely_encrypted,
    idle_cipher_caution,
    unexplained_cautions,
    with_cached,
)
from tdelta.inference.run_analysis import analyze_run
from tdelta.messages import Reason
from tdelta.messages.catalogue import CACHED, DIRECTION, DIRECTION_ALONE, REASONS
from tdelta.messages.catalogue import TOO_LITTLE as TOO_LITTLE_MEASURED
from tdelta.messages.message import fields_of
from tdelta.records import Decision, Measurement, SpanTotals, Trial, Verdict

from .builders import AES, BASELINE, OPERATIONS, TWINS, measurement, noisy, run, settings, trial

SERVER = {"client_cpu_user_seconds": 0.01}


def found(counters: Mapping[str, int], *, response_us: float = 5_000.0, scope: str = "all", **changes: float) -> dict:
    """Findings on trials of 1000 operations with these counters, alike on all twins."""
    spans = {"mix": SpanTotals(OPERATIONS, round(OPERATIONS * response_us * 1e3))}
    measured: Measurement = changed(
        measurement(), transactions=spans, engine_counters=dict(counters), syscall_written_bytes=0, **changes
    )
    trials: list[Trial] = [trial(c, 0, block, measured) for block in range(3) for c in TWINS]
    return barely_encrypted(trials, replace(settings(), options={"scope": scope}))


@pytest.mark.parametrize(
    "counters",
    [
        {"cache_misses": 2, "cache_writes": 0},
        {"pages_read": 2, "pages_written": 0},
        {"pages_read": 2, "log_bytes": 500},
    ],
)
def test_twins_that_meet_their_requests_from_the_cache_are_named_with_their_pages(counters: Mapping[str, int]) -> None:
    by_key = found(counters)
    assert list(by_key) == [AES.key]
    assert by_key[AES.key] == pytest.approx(0.002, rel=0.1)


@pytest.mark.parametrize("counters", [{"cache_misses": 500, "cache_writes": 0}, {"pages_read": 0, "pages_written": 90}])
def test_twins_that_read_or_write_pages_are_not(counters: Mapping[str, int]) -> None:
    assert found(counters) == {}


def test_few_pages_may_matter_to_an_operation_that_takes_next_to_no_time() -> None:
    counters = {"cache_misses": 10, "cache_writes": 0}
    assert found(counters, response_us=2_000.0)
    assert not found(counters, response_us=2.0)


def test_a_log_counts_where_it_is_encrypted() -> None:
    counters = {"pages_read": 0, "pages_written": 0, "log_bytes": 8_000 * OPERATIONS}
    assert not found(counters, scope="+log")
    assert found(counters, scope="data")


def test_temporary_files_that_may_be_encrypted_are_counted_by_nobody() -> None:
    counters = {"pages_read": 0, "pages_written": 0, "temporary_files": 10}
    assert found(counters, scope="data")
    assert found(counters, scope="+binlog")
    assert not found(counters, scope="+temp")
    assert not found(counters, scope="all")
    assert found({**counters, "temporary_files": 0}, scope="all")


def test_an_embedded_engine_without_counters_is_known_by_its_bytes() -> None:
    assert found({}, syscall_read_bytes=0)
    assert not found({}, syscall_read_bytes=262_144 * OPERATIONS)


def test_of_a_server_without_counters_nothing_is_said() -> None:
    assert found({}, **SERVER) == {}


def test_the_caution_names_the_figure_and_what_to_do() -> None:
    caution = idle_cipher_caution({AES.key: 0.00253}, settings())
    assert has([caution], "barely-encrypted", pages=0.00253, remedy=Part("--cache"))


def cached(
    *, effect: float = 0.0, sd: float = 0.2, budget: float | None = None, own: bool = True, tolerance: float = 0.02
) -> Verdict:
    given = settings(budget=budget, tolerance=tolerance)
    verdicts = analyze_run(run(noisy(effect, sd=sd)), given).verdicts
    idle = {AES.key: 0.045}
    (found,) = (v for v in with_cached(verdicts, idle, given, {AES.key} if own else ()) if v.primary)
    return found


@pytest.mark.parametrize(("budget", "decision"), [(None, Decision.NEGLIGIBLE), (0.05, Decision.WITHIN)])
def test_next_to_nothing_to_encrypt_in_the_users_own_cache_is_an_answer(
    budget: float | None, decision: Decision
) -> None:
    found = cached(budget=budget)
    assert found.decision is decision
    assert has([found.reasons[-1]], CACHED, pages=0.045, page_us=100.0, most=TOO_LITTLE)


def test_in_the_default_cache_it_is_none() -> None:
    assert cached(own=False).decision is Decision.UNDECIDED


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize(
    ("effect", "budget", "decision"),
    [(0.12, None, Decision.SLOWER), (-0.12, None, Decision.FASTER), (0.12, 0.05, Decision.OVER)],
)
def test_a_measured_difference_that_pages_cannot_explain_remains_with_a_caution(
    own: bool, effect: float, budget: float | None, decision: Decision
) -> None:
    found = cached(effect=effect, sd=0.01, budget=budget, own=own)
    assert found.decision is decision
    cautions = list(unexplained_cautions([found], {AES.key: 0.045}))
    assert has(cautions, "not-by-pages", condition=AES.key, pages=0.045)
    assert not list(unexplained_cautions([cached(own=own)], {AES.key: 0.045}))


def test_a_direction_that_pages_cannot_explain_is_not_hidden_in_a_default_cache() -> None:
    assert bounded(1.03, 1.11, DIRECTION, own=False).reasons[-1].code == DIRECTION
    assert bounded(0.98, 1.04, own=False).reasons[-1].code == "nothing-encrypted"


def bounded(low: float, high: float, code: str = "", budget: float | None = None, *, own: bool = True) -> Verdict:
    """A verdict left open, with this 95% interval and a 99% interval that reaches into the bound."""
    given = settings(budget=budget)
    (verdict,) = (v for v in analyze_run(run(noisy(0.0)), given).verdicts if v.primary)
    middle = (low + high) / 2
    ratio = replace(verdict.ratio, median=middle, hdi95=(low, high), hdi99=(min(1.004, low), max(0.996, high)))
    fields = {"direction": "slower", "rounds": 3, "blocks": 1, "points": 150.0}
    reasons = (Reason.of(code, **{name: fields[name] for name in fields_of(REASONS[code])}),) if code else ()
    left_open = replace(verdict, decision=Decision.UNDECIDED, ratio=ratio, reasons=reasons)
    (found,) = with_cached([left_open], {AES.key: 0.045}, given, {AES.key} if own else ())
    return found


@pytest.mark.parametrize(
    ("low", "high", "code"),
    [
        (1.03, 1.11, ""),
        (0.89, 0.97, ""),
        (1.03, 1.11, DIRECTION),
        (0.9, 1.6, DIRECTION_ALONE),
        (0.5, 2.0, TOO_LITTLE_MEASURED),
    ],
)
@pytest.mark.parametrize("budget", [None, 0.05])
def test_few_pages_bound_no_difference_beyond_them_and_none_of_too_little_measured(
    low: float, high: float, code: str, budget: float | None
) -> None:
    found = bounded(low, high, code, budget)
    assert found.decision is Decision.UNDECIDED
    assert CACHED not in [reason.code for reason in found.reasons]
    assert bounded(0.98, 1.04, budget=budget).reasons[-1].code == CACHED


def test_a_tolerance_below_that_bound_is_not_answered_by_it() -> None:
    assert cached(tolerance=0.001).decision is Decision.UNDECIDED


def test_a_backup_is_not_measured_by_the_pages_that_it_decrypts() -> None:
    conditions = [replace(c, levels=(*c.levels, ("work", "backup:compress=zstd"))) for c in (BASELINE, AES)]
    measured = changed(measurement(), engine_counters={"pages_read": 0, "pages_written": 0})
    trials = [trial(c, 0, block, measured) for block in range(3) for c in conditions]
    assert barely_encrypted(trials, settings(conditions)) == {}
