from __future__ import annotations

from support import samples as s
from tdelta.report.findings.stalls import has_odd_trials, missed_text, stall_rows
from tdelta.report.terminal import render


def test_each_condition_has_its_down_weighted_trials_their_time_and_its_stalls() -> None:
    assert list(stall_rows(s.stalling())) == [
        ("plain twins", "720", "3", "0.8 %", "0", "0.0 %"),
        ("aes-256", "720", "19", "5.3 %", "15", "+17.6 %"),
    ]


def test_a_run_without_odd_trials_has_no_table_and_says_what_it_could_have_missed() -> None:
    assert not has_odd_trials(s.costly())
    assert "down-weighted" not in render(s.costly(), details=True)
    assert missed_text(s.costly()) == (
        "No stall was met in at least 30 trials of each condition: stalls in fewer than 1 of 11 trials could have been"
        " missed (95 %)."
    )


def test_where_a_stall_was_met_nothing_is_said_of_none() -> None:
    assert missed_text(s.stalling()) is None


def test_a_result_that_knows_nothing_of_stalls_claims_nothing() -> None:
    assert missed_text(s.changed(s.costly(), stalls=())) is None
