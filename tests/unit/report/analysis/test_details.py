from dataclasses import replace

from support import analysis_samples as s
from tdelta.messages import Reason
from tdelta.records import Decision
from tdelta.report.analysis.details import prior_lines, support_lines


def test_each_reason_is_shown_once_and_of_how_many_comparisons_it_is_true() -> None:
    assert support_lines(s.sweep()) == (s.BARE,)
    mixed = s.result(*s.sweep().comparisons[:2], *s.one_run().comparisons)
    assert support_lines(mixed) == (f"{s.BARE} (2 of 3 comparisons)", f"{s.ONE_RUN} (1 of 3 comparisons)")


def test_reasons_that_quote_an_interval_are_left_to_the_table() -> None:
    quoting = replace(
        s.named().comparisons[0],
        notes=(),
        reasons=(Reason.of("interval-across", interval="−5.6% to +11.8%", tolerance=0.02), Reason.verbatim(s.ONE_RUN)),
    )
    assert support_lines(s.result(quoting)) == (s.ONE_RUN,)


def test_of_very_many_reasons_the_first_are_shown() -> None:
    many = replace(
        s.named().comparisons[0], notes=(), reasons=tuple(Reason.verbatim(f"reason {number}") for number in range(20))
    )
    lines = support_lines(s.result(many))
    assert (len(lines), lines[0], lines[-1]) == (13, "reason 0", "and 8 more, in --json")


def test_reasons_of_what_decides_come_first() -> None:
    secondary = [replace(c, primary=False) for c in s.sweep().comparisons]
    assert support_lines(s.result(*secondary, *s.one_run().comparisons))[0].startswith(s.ONE_RUN)


def test_a_prior_against_speed_ups_is_no_matter_of_anything_but_encryption() -> None:
    faster = s.result(s.comparison(10.0, 9.0, runs=3, decision=Decision.FASTER), is_encryption=False)
    assert "speed-up" not in "".join(prior_lines(faster))
