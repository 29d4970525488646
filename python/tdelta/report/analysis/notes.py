"""What single runs' figures show, in words: one line for each kind of note, however many runs have it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from tdelta.document.quantities import percent, printable, rate
from tdelta.records import Comparison, Level, NoteCode, RunNote

_Figures: TypeAlias = Sequence[tuple[float, ...]]
_Run: TypeAlias = tuple[frozenset[tuple[str, Level]], str, str]
_FEW_NAMED = 2
_WITHOUT_ORDER = (
    "has no order, so its values are taken for independent; where stalls or drift make them depend on each other, the"
    " interval is too narrow (simulated, with a coverage of 19% at worst)"
)


def note_lines(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Every kind of note once, with how many of the runs have it and the range of its numbers."""
    total = _runs_in_all(comparisons)
    found: dict[NoteCode, dict[_Run, RunNote]] = {}
    for comparison in comparisons:
        for note in comparison.notes:
            run = (frozenset(comparison.levels), note.condition, note.run)
            found.setdefault(note.code, {}).setdefault(run, note)
    for code, runs in found.items():
        words = _WORDS[code]([note.figures for note in runs.values()])
        yield f"{_who(list(runs.values()), total)}: {words}"


def _runs_in_all(comparisons: Iterable[Comparison]) -> int:
    most: dict[tuple[frozenset[tuple[str, Level]], str], int] = {}
    for comparison in comparisons:
        for side in (comparison.baseline, comparison.condition):
            place = (frozenset(comparison.levels), side.condition)
            most[place] = max(most.get(place, 0), side.runs)
    return sum(most.values())


def _who(notes: Sequence[RunNote], total: int) -> str:
    if total <= _FEW_NAMED or (len(notes) == 1 and total > _FEW_NAMED):
        named = (f"{note.condition}, run {note.run}" if total > _FEW_NAMED else note.condition for note in notes)
        return "; ".join(printable(name) for name in named)
    return f"{len(notes)} of {total} runs"


def _span(figures: _Figures, at: int, text: Callable[[float], str] = lambda value: f"{value:,.0f}") -> str:
    """``28``, or ``28 to 42`` where runs differ."""
    values = [one[at] for one in figures]
    low, high = text(min(values)), text(max(values))
    return low if low == high else f"{low} to {high}"


def _zeros(figures: _Figures) -> str:
    return (
        f"{_span(figures, 0)} of {_span(figures, 1)} response times are 0, shorter than a step of the clock: the mean"
        " counts them as 0"
    )


def _dependent(figures: _Figures) -> str:
    return (
        f"response times within the run depend on each other: {_span(figures, 0)} of them are worth about"
        f" {_span(figures, 1)}; the interval is taken from the means of its stretches"
    )


def _few_independent(figures: _Figures) -> str:
    return (
        f"worth about {_span(figures, 0)} independent values, fewer than 30: simulated, such an interval of a mean"
        " covered the true value in 87 of 100 cases, and that of a ratio in 95 to 99"
    )


def _heavy(figures: _Figures) -> str:
    return (
        f"the values scatter {_span(figures, 0, lambda value: f'{value:.2f}')} times as much as a gamma of their shape"
        " would: the run's interval is widened by as much"
    )


def _few(figures: _Figures) -> str:
    return (
        f"only {_span(figures, 0)} values: the interval of a summary needs 30 or more (simulated with 20, that of a"
        " mean covered the true value in 92 of 100 cases)"
    )


def _too_short(figures: _Figures) -> str:
    return f"{_span(figures, 0)} figures over time: at least 16 are needed to tell how far their mean is known"


def _short(figures: _Figures) -> str:
    return (
        f"{_span(figures, 0)} figures over time are few: slow waves cannot be seen in a short series; simulated, with"
        " waves of 20 figures, the coverage was 67 to 78% (60 figures) and 91 to 96% (300)"
    )


def _series_dependent(figures: _Figures) -> str:
    return (
        f"neighbouring figures depend on each other: {_span(figures, 0)} are worth about {_span(figures, 1)};"
        " simulated, the coverage for such series was 94 to 98%"
    )


def _warm_up(figures: _Figures) -> str:
    return (
        f"the first {_span(figures, 0, lambda value: f'{value:g}')} s run at"
        f" {_span(figures, 1, lambda value: f'{100 * value:.0f}')}% of the rest: warm-up, or a cold cache; nothing was"
        " cut, so start the figures later if it should not count"
    )


def _unsteady(figures: _Figures) -> str:
    shown = [f"from {rate(earlier)} to {rate(later)} /s" for earlier, later in figures[:_FEW_NAMED]]
    if len(figures) > _FEW_NAMED:
        shown = [f"by {percent(low, 0)} to {percent(high, 0)}" for low, high in (_changes(figures),)]
    return (
        f"throughput is not steady: it goes {'; '.join(shown)} within the run (means of its fifths), so a longer or"
        " shorter run would have another mean"
    )


def _changes(figures: _Figures) -> tuple[float, float]:
    changes = [later / earlier for earlier, later in figures if earlier]
    return min(changes, default=1.0), max(changes, default=1.0)


def _cycle(figures: _Figures) -> str:
    return (
        f"the figures repeat themselves every {_span(figures, 0, lambda value: f'{value:g}')} s (checkpoints, or a"
        " job?): a regular dip is taken for chance, which makes the interval too wide, not too narrow"
    )


def _width_from_series(figures: _Figures) -> str:
    return (
        "the interval has the width of the run's throughput over time,"
        f" {_span(figures, 0, lambda value: f'{value:.1f}')} times that of its values taken for independent"
    )


_WORDS: Mapping[NoteCode, Callable[[_Figures], str]] = {
    NoteCode.ZEROS: _zeros,
    NoteCode.DEPENDENT_VALUES: _dependent,
    NoteCode.FEW_INDEPENDENT: _few_independent,
    NoteCode.HEAVY_TAIL: _heavy,
    NoteCode.HISTOGRAM_WITHOUT_ORDER: lambda _: f"a histogram {_WITHOUT_ORDER}",
    NoteCode.SUMMARY_WITHOUT_ORDER: lambda _: f"a summary {_WITHOUT_ORDER}",
    NoteCode.FEW_VALUES: _few,
    NoteCode.NO_SPREAD: lambda _: "the values are all equal, or too few, to tell how far the mean is known",
    NoteCode.SERIES_TOO_SHORT: _too_short,
    NoteCode.SERIES_SHORT: _short,
    NoteCode.SERIES_DEPENDENT: _series_dependent,
    NoteCode.WARM_UP: _warm_up,
    NoteCode.UNSTEADY: _unsteady,
    NoteCode.CYCLE: _cycle,
    NoteCode.WIDTH_FROM_SERIES: _width_from_series,
}
