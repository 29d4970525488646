from dataclasses import replace

import pytest

from support import samples as s
from tdelta.findings.tails import TailRow, note, tail_groups, time_text
from tdelta.records import BadTrials, RunResult, TailMeasure
from tdelta.report.details import run_blocks
from tdelta.report.drawing import draw


def note_of(result: RunResult) -> str:
    found = result.of(TailMeasure)
    return note(found, found, result)


def test_a_closed_loop_says_what_it_hides_and_an_open_one_does_not() -> None:
    result = s.with_tails()
    assert "Closed loop" in note_of(result)
    opened = replace(result.settings, options={**result.settings.options, "rate": 100.0})
    assert "Closed loop" not in note_of(replace(result, settings=opened))


def bad_row(found: BadTrials) -> TailRow:
    result = s.with_tails()
    measure = result.of(TailMeasure)[1]
    assert measure.exceedance is not None
    changed = replace(measure, exceedance=replace(measure.exceedance, bad_trials=found))
    (group,) = (g for g in tail_groups((changed,), result) if "trials with any" in g.title)
    return group.rows[0]


@pytest.mark.parametrize(
    ("found", "interval", "missed"),
    [
        (BadTrials(16, 60, 8, 120, 5, 1.6, 13.0), "1.60 to 13", ""),
        (BadTrials(0, 60, 12, 120, 5, 0.0, 0.9), "at most 0.90", ""),
        (BadTrials(9, 60, 0, 120, 5, 2.1, None), "from 2.10 on", ""),
        (BadTrials(2, 60, 1, 120, 5, 0.2, 64.0), "0.20 to 64", "64 times as often would have been missed"),
        (BadTrials(1, 60, 0, 120, 5, 0.1, None), "from 0.10 on", "nothing bounds the ratio from above"),
    ],
)
def test_bad_trials_have_a_row_that_says_what_could_have_been_missed(
    found: BadTrials, interval: str, missed: str
) -> None:
    row = bad_row(found)
    assert row.interval == interval
    assert missed in row.reason
    assert bool(missed) == bool(row.reason)


def test_bad_trials_of_one_round_say_that_instance_effects_is_assumed() -> None:
    result = s.with_tails()
    measure = result.of(TailMeasure)[3]
    assert measure.exceedance is not None
    found = measure.exceedance.bad_trials
    assert found is not None
    of_one = replace(measure, exceedance=replace(measure.exceedance, bad_trials=replace(found, rounds=1)))
    assert "With a single round" not in note_of(result)
    assert "With a single round" in note_of(s.changed(result, tails=(of_one,)))


def test_types_are_left_to_the_page_where_several_conditions_are_judged() -> None:
    result = s.with_tails()
    assert "browse_products: longer" in draw(run_blocks(result, with_details=True), 100)
    second = replace(result.primary[0], condition=s.condition("aes-128"))
    several = replace(result, verdicts=(*result.verdicts, second))
    assert "browse_products: longer" not in draw(run_blocks(several, with_details=True), 100)
    assert "longer than 20 ms" in draw(run_blocks(several, with_details=True), 100)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [(20_000_000, "20 ms"), (20_004_864, "20.0049 ms"), (250_000, "250 µs"), (1_500_000_000, "1.5 s"), (0, "0 ns")],
)
def test_a_threshold_reads_as_it_was_typed(nanoseconds: int, text: str) -> None:
    assert time_text(nanoseconds) == text
