import json
from dataclasses import replace

import pytest

from support import analysis_samples as s
from tdelta.messages import Reason
from tdelta.records import AnalysisResult, Decision, ObservedTail, Spread
from tdelta.report.analysis.details import analysis_blocks, analysis_document, prior_lines, support_lines
from tdelta.report.analysis.tails import tail_groups, tail_notes
from tdelta.report.analysis.words import display_unit, signed, spread_text, unit_amounts
from tdelta.report.document import to_json
from tdelta.report.drawing import draw


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


def with_tail(change: dict[str, object]) -> AnalysisResult:
    found = s.one_tail()
    (only,) = found.comparisons
    assert only.tail is not None
    tail: ObservedTail = replace(only.tail, **change)  # type: ignore[arg-type]
    return replace(found, comparisons=(replace(only, tail=tail),))


def test_a_percentile_without_a_threshold_says_nothing_of_shares() -> None:
    found = s.one_tail()
    (only,) = found.comparisons
    assert only.tail is not None
    sides = {
        name: replace(side, longer_at_least=None, longer_at_most=None)
        for name, side in (("baseline", only.tail.baseline), ("condition", only.tail.condition))
    }
    result = with_tail({**sides, "threshold_ms": None, "counted_from_ms": None, "longer_quotient": None})
    assert [group.title for group in tail_groups(result)] == ["p99"]
    assert "Shares" not in tail_notes(result)


def test_the_terminal_shows_so_many_rows_and_tells_of_the_others() -> None:
    found = s.one_tail()
    (only,) = found.comparisons
    many = replace(found, comparisons=tuple(replace(only, transaction=f"step {n}") for n in range(10)))
    text = draw(analysis_blocks(many, details=True), 100)
    part = text[text.index("\ntails") :]
    assert "step 7" in part
    assert "step 8" not in part
    assert "2 more tails: --output page.html and --json have them." in text


def test_what_has_no_posterior_is_null_and_the_quotient_is_there() -> None:
    (first, *_) = json.loads(to_json(analysis_document(s.sweep(), 3)))["comparisons"]
    assert first["ratio"] is None
    assert first["difference"] is None
    assert first["baseline"]["mean"] is None
    assert f"{first['quotient']:.2f}" == first["published"] == "1.09"
    assert first["levels"] == {"buffer_pool": "5 GB", "threads": 1}


def test_priors_stand_under_their_names() -> None:
    (only,) = json.loads(to_json(analysis_document(s.one_run(), 0)))["comparisons"]
    assert set(only["priors"]) == {"no speed-up", "runs differ by 3%", "normal:0,0.01"}
    assert only["priors"]["normal:0,0.01"]["median"] == pytest.approx(1.274)


def test_numbers_that_do_not_exist_are_null() -> None:
    odd = replace(s.one_run().comparisons[0], quotient=float("inf"))
    values = json.loads(to_json(analysis_document(s.result(odd), 0)), parse_constant=pytest.fail)
    assert values["comparisons"][0]["quotient"] is None


def test_the_page_that_was_written_is_named() -> None:
    assert "HTML page: out.html" in draw(analysis_blocks(s.one_run(), page="out.html"))
    assert "HTML page" not in draw(analysis_blocks(s.one_run(), details=True))


def test_a_posterior_in_milliseconds_has_the_figures_that_its_width_bears() -> None:
    found = Spread(12.41234, (12.30111, 12.52333), (12.27, 12.55))
    assert spread_text(found, "ms") == "12.41 ms (12.30 to 12.52)"


def test_a_difference_is_signed_and_in_its_own_unit() -> None:
    found = Spread(0.384, (-0.12, 0.9), (-0.3, 0.99))
    assert spread_text(found, "ms", is_signed=True) == "+384 µs (−120 to +900)"


@pytest.mark.parametrize(
    ("values", "unit", "shown"),
    [
        ((2805.0, 4206.0), "ms", ("2.805 s", "4.206 s")),
        ((423.47, 389.11), "/s", ("423.5 /s", "389.1 /s")),
        ((117_577.0, 119_206.0), "", ("117,577", "119,206")),
        ((1.5, 2.0), "GB\x1b", ("1.500 GB?", "2.000 GB?")),
        ((float("nan"), 2.0), "/s", ("–", "2.000 /s")),
    ],
)
def test_amounts_side_by_side_share_a_unit(values: tuple[float, float], unit: str, shown: tuple[str, str]) -> None:
    assert unit_amounts(values, unit) == shown


def test_a_unit_that_is_no_time_is_left_as_it_is() -> None:
    scale = display_unit([0.001], "/s")
    assert (scale.name, scale(5.0)) == ("/s", 5.0)


def test_a_zero_has_no_sign() -> None:
    assert [signed("0.00", 0.001), signed("-0.00", -0.001), signed("-1.2", -1.2), signed("1.2", 1.2)] == [
        *("0.00", "0.00", "−1.2", "+1.2"),
    ]
