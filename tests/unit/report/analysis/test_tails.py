from dataclasses import replace

from support import analysis_samples as s
from tdelta.records import AnalysisResult, ObservedTail
from tdelta.report.analysis.details import analysis_blocks
from tdelta.report.analysis.tails import tail_groups, tail_notes
from tdelta.report.drawing import draw


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
