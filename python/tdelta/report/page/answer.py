"""The first part of the page: the answer in words and figures, the noise floor, and what was published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tdelta.inference.cipher_work import is_whole_run
from tdelta.records import (
    Decision,
    NoiseFloor,
    RunResult,
    RunSettings,
    Verdict,
)
from tdelta.report.brief import against_trust, sentence
from tdelta.report.calibrated import held_text, used_text
from tdelta.report.estimand import parting
from tdelta.report.findings.registry import placed
from tdelta.report.labels import (
    capitalized,
    condition_label,
    decision_word,
    metric_name,
    surroundings,
)
from tdelta.report.page.blocks import Block, Figure, Paragraph, Section, Tile, Tiles
from tdelta.report.page.figures.forest import Row, RowStyle, forest, limits_of, verdict_row
from tdelta.report.page.wording import (
    UNRELIABLE,
    has_data,
    is_invalid,
    label,
    limit_words,
    mark,
    overhead,
)
from tdelta.report.quantities import counted, hdi_text
from tdelta.report.sentence import answer, floor, limits
from tdelta.report.terminal import prior_lines

_SPELLED_OUT = 3
"""Verdicts that have a sentence each."""

_TILES = range(2, 7)
"""With one condition the headline has its figure already; more than six are a figure's work."""


def headline(result: RunResult) -> str:
    """The answer in a few words: ``Slower: +66.6 % response time``, ``5 conditions: 3 slower, 2 undecided``."""
    return ", ".join((_decisions(result), *_reservations(result)))


def _reservations(result: RunResult) -> Iterator[str]:
    """What a figure is of, where it is not of what was asked for."""
    if is_invalid(result):
        return
    yield from (f"in force {found} instead of {asked}" for asked, found in result.ciphers_in_force.items())
    if is_whole_run(result.barely_encrypted, result.settings):
        yield "next to nothing was encrypted"


def _decisions(result: RunResult) -> str:
    if is_invalid(result):
        return "Invalid: no answer"
    if not result.primary:
        return "No answer"
    what = metric_name(result.settings.metric, result.settings)
    if len(result.primary) == 1:
        return _one(result.primary[0], result.settings, what)
    counts = Counter(v.decision for v in result.primary)
    if len(counts) == 1:
        every = "Both" if len(result.primary) == 2 else f"All {len(result.primary)}"
        return f"{every} {decision_word(result.primary[0].decision, result.settings.metric)}: {_span(result, what)}"
    words = ", ".join(
        f"{number}\u00a0{decision_word(one, result.settings.metric)}" for one, number in counts.most_common()
    )
    return f"{counted(len(result.primary), 'condition')}: {words}"


def _span(result: RunResult, what: str) -> str:
    """The least and the most: ``+42.1 % to +77.3 % response time``."""
    known = [v.ratio for v in result.primary if has_data(v)]
    if not known:
        return "nothing to compare"
    least, most = (pick(known, key=lambda ratio: ratio.median) for pick in (min, max))
    bounds = limits(result.settings)
    return f"{overhead(least, bounds)} to {overhead(most, bounds)} {what}"


def answer_section(result: RunResult) -> Section:
    """What the run answers, with the primary verdicts and the identical twins in one forest plot."""
    blocks: list[Block] = []
    tiles = _tiles(result)
    if tiles:
        blocks.append(Tiles(tiles))
    blocks.append(Paragraph(sentence(result), "lead"))
    against = against_trust(result)
    blocks += [Paragraph(f"Caution: {'; '.join(against)}.", "caution")] if against else []
    if len(result.primary) <= _SPELLED_OUT:  # of more, the figure has every verdict, and a paragraph would be a wall
        blocks.append(Paragraph(answer(result)))
    noise = floor(result)
    blocks += [Paragraph(noise)] if noise else []
    calibrated = used_text(result)
    blocks += [Paragraph(calibrated)] if calibrated else []
    blocks += _overridden(result)
    if result.primary:
        blocks.append(_primary_forest(result))
    blocks += [] if is_invalid(result) else [Paragraph(line, "note") for line in prior_lines(result)]
    simulated = None if is_invalid(result) else held_text(result)
    blocks += [Paragraph(simulated, "note")] if simulated else []
    return Section("answer", "The answer", [*blocks, *placed("answer", result)])


def forest_rows(result: RunResult) -> list[Row]:
    """The primary verdicts and, in grey, the identical twins of the same metric."""
    judged = [row for v in result.primary for row in _judged_rows(v, result)]
    noise = [f for f in result.noise_floor if f.metric is result.settings.metric]
    return [*judged, *(Row(_noise_label(f, result.settings), f.ratio, "noise floor", RowStyle.PLAIN) for f in noise)]


def _judged_rows(verdict: Verdict, result: RunResult) -> Iterator[Row]:
    """A primary verdict, and below it the typical operation."""
    yield verdict_row(verdict, label(verdict.condition, result.settings))
    if verdict.typical is not None and has_data(verdict) and (len(result.primary) == 1 or parting(verdict, result)):
        yield Row("typical operation", verdict.typical, "for orientation", RowStyle.PLAIN)


def _one(verdict: Verdict, settings: RunSettings, what: str) -> str:
    word = capitalized(decision_word(verdict.decision, verdict.metric))
    if not has_data(verdict):
        return f"{word}: nothing to compare"
    return f"{word}: {overhead(verdict.ratio, limits(settings))} {what}"


def _tiles(result: RunResult) -> list[Tile]:
    """The answers to be seen from afar; none where a figure would be taken for one though the run is invalid."""
    if is_invalid(result) or len(result.primary) not in _TILES:
        return []
    return [_tile(verdict, result.settings) for verdict in result.primary if has_data(verdict)]


def _tile(verdict: Verdict, settings: RunSettings) -> Tile:
    bounds = limits(settings)
    level, ends = ("99 %", verdict.ratio.hdi99) if settings.budget is not None else ("95 %", verdict.ratio.hdi95)
    return Tile(
        label=label(verdict.condition, settings),
        figure=overhead(verdict.ratio, bounds),
        interval=f"{metric_name(verdict.metric, settings)}, {level} HDI {hdi_text(verdict.ratio, ends, bounds)} %",
        decision=decision_word(verdict.decision, verdict.metric),
        mark=mark(verdict.decision),
        is_alarm=verdict.decision is Decision.INVALID,
    )


def _noise_label(noise: NoiseFloor, settings: RunSettings) -> str:
    home = next((c for c in settings.conditions if c.stratum == noise.stratum), None)
    if noise.condition is not None:
        return f"B/B twin of {condition_label(noise.condition, settings)}"
    return ", ".join(("A/A twin", *(surroundings(home, settings) if home else ())))


def _overridden(result: RunResult) -> Iterator[Block]:
    if result.overridden:
        yield Paragraph(
            f"Settings of the study that were changed for this run: {'; '.join(result.overridden)}.", "caution"
        )


def _primary_forest(result: RunResult) -> Figure:
    settings = result.settings
    has_truth = any(v.realised is not None for v in result.primary)
    typical = "; and the typical operation, which discounts stalls" if any(v.typical for v in result.primary) else ""
    truth = " Diamonds: what injected twins really spun." if has_truth else ""
    return forest(
        "answer",
        f"Overhead in {metric_name(settings.metric, settings)}, by condition",
        forest_rows(result),
        limits_of(settings),
        axis=f"{metric_name(settings.metric, settings)} over the plain twins'",
        caption=(
            f"{UNRELIABLE if is_invalid(result) else ''}Circle: median; thick bar: 95 % HDI; thin bar: 99 % HDI;"
            f" {limit_words(settings)}. Squares in grey: identical twins, one over the other, so their distance"
            f" from 0 % is this instrument's noise{typical}.{truth}"
        ),
    )
