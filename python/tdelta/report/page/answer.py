"""The first part of the page: the answer in words and figures, the noise floor, and what was published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tdelta.inference.cipher_work import is_whole_run
from tdelta.inference.verdicts import ALL_TRANSACTIONS
from tdelta.records import (
    Contrast,
    Decision,
    Estimate,
    Metric,
    NoiseFloor,
    PublishedCell,
    RunResult,
    RunSettings,
    Verdict,
)
from tdelta.report.calibrated import used_text
from tdelta.report.estimand import parting
from tdelta.report.labels import (
    condition_label,
    contrast_label,
    contrast_title,
    decision_word,
    metric_name,
    surroundings,
)
from tdelta.report.page.blocks import Block, Column, Figure, Heading, Paragraph, Section, Table, Tile, Tiles
from tdelta.report.page.figures.forest import Limits, Look, Row, forest
from tdelta.report.page.wording import (
    bounds_of,
    decided,
    has_data,
    hdi_text,
    label,
    limit_words,
    mark,
    median_text,
    overhead,
)
from tdelta.report.quantities import MISSING, counted, percent
from tdelta.report.sentence import answer, floor
from tdelta.report.simulated import held_text
from tdelta.report.stalls import NOTE, TITLES, footnotes, has_odd_trials, stall_rows
from tdelta.report.terminal import prior_lines
from tdelta.session.studies import Study, studies

UNRELIABLE = "The run is unsound: look here for what went wrong, not for what encryption costs. "
"""What stands before figures that are shown although there is no answer."""

_TILES = range(2, 7)
"""With one condition the headline has its figure already; more than six are a figure's work."""


def headline(result: RunResult) -> str:
    """The answer in a few words: ``Costly: +66.6 % response time``, ``5 conditions: 3 costly, 2 undecided``."""
    return ", ".join((_decisions(result), *_reservations(result)))


def _reservations(result: RunResult) -> Iterator[str]:
    """What a figure is of, where it is not of what was asked for."""
    if is_unsound(result):
        return
    yield from (f"in force {found} instead of {asked}" for asked, found in result.ciphers_in_force.items())
    if is_whole_run(result.barely_encrypted, result.settings):
        yield "next to nothing was encrypted"


def _decisions(result: RunResult) -> str:
    if is_unsound(result):
        return "Unsound: no answer"
    if not result.primary:
        return "No answer"
    what = metric_name(result.settings.metric, result.settings)
    if len(result.primary) == 1:
        return _one(result.primary[0], result.settings, what)
    counts = Counter(v.decision for v in result.primary)
    if len(counts) == 1:
        every = "Both" if len(result.primary) == 2 else f"All {len(result.primary)}"
        return f"{every} {result.primary[0].decision.value}: {_span(result, what)}"
    words = ", ".join(f"{number}\u00a0{decision.value}" for decision, number in counts.most_common())
    return f"{counted(len(result.primary), 'condition')}: {words}"


def _span(result: RunResult, what: str) -> str:
    """The least and the most: ``+42.1 % to +77.3 % response time``."""
    known = [v.ratio for v in result.primary if has_data(v)]
    if not known:
        return "nothing to compare"
    least, most = (pick(known, key=lambda ratio: ratio.median) for pick in (min, max))
    bounds = bounds_of(result.settings)
    return f"{overhead(least, bounds)} to {overhead(most, bounds)} {what}"


def is_unsound(result: RunResult) -> bool:
    """Whether the run as a whole gives no answer; where only some strata lost theirs, the others keep it."""
    has_failed = result.decision is Decision.UNSOUND or any(check.is_unsound for check in result.validity)
    lost = {v.decision is Decision.UNSOUND for v in result.primary}
    return has_failed and len(lost) <= 1


def answer_section(result: RunResult) -> Section:
    """What the run answers, with the primary verdicts and the identical twins in one forest plot."""
    blocks: list[Block] = []
    tiles = _tiles(result)
    if tiles:
        blocks.append(Tiles(tiles))
    blocks.append(Paragraph(answer(result), "lead"))
    noise = floor(result)
    blocks += [Paragraph(noise)] if noise else []
    calibrated = used_text(result)
    blocks += [Paragraph(calibrated)] if calibrated else []
    blocks += _overridden(result)
    if result.primary:
        blocks.append(_primary_forest(result))
    blocks += [] if is_unsound(result) else [Paragraph(line, "note") for line in prior_lines(result)]
    simulated = None if is_unsound(result) else held_text(result)
    blocks += [Paragraph(simulated, "note")] if simulated else []
    return Section("answer", "The answer", [*blocks, *_odd_trials(result), *_published(result)])


def _odd_trials(result: RunResult) -> Iterator[Block]:
    """Odd trials by condition, and what the order within a block does."""
    if has_odd_trials(result):
        columns = [Column(""), *(Column(title, is_number=True) for title in TITLES)]
        yield Table("Odd trials, by condition", columns, list(stall_rows(result)))
        yield Paragraph(NOTE, "note")
    yield from (Paragraph(line, "note") for line in footnotes(result))


def forest_rows(result: RunResult) -> list[Row]:
    """The primary verdicts and, in grey, the identical twins of the same metric."""
    judged = [row for v in result.primary for row in _judged_rows(v, result)]
    noise = [f for f in result.noise_floor if f.metric is result.settings.metric]
    return [*judged, *(Row(_noise_label(f, result.settings), f.ratio, "noise floor", Look.PLAIN) for f in noise)]


def _judged_rows(verdict: Verdict, result: RunResult) -> Iterator[Row]:
    """A primary verdict, and below it the typical operation."""
    yield verdict_row(verdict, label(verdict.condition, result.settings))
    if verdict.typical is not None and has_data(verdict) and (len(result.primary) == 1 or parting(verdict, result)):
        yield Row("typical operation", verdict.typical, "for orientation", Look.PLAIN)


def verdict_row(verdict: Verdict, name: str) -> Row:
    """A verdict as a row of a forest plot."""
    look = Look.ALARM if verdict.decision is Decision.UNSOUND else Look.JUDGED
    if not has_data(verdict):
        return Row(name, None, "no data", look)
    return Row(name, verdict.ratio, decided(verdict), look, verdict.realised)


def limits_of(settings: RunSettings, *, is_primary: bool = True) -> Limits:
    """What verdicts are held against: the budget decides primary ones only."""
    if is_primary and settings.budget is not None:
        return Limits(budget=1 + settings.budget)
    return Limits(rope=(1 - settings.rope, 1 + settings.rope))


def _one(verdict: Verdict, settings: RunSettings, what: str) -> str:
    word = decision_word(verdict.decision, verdict.metric).capitalize()
    if not has_data(verdict):
        return f"{word}: nothing to compare"
    return f"{word}: {overhead(verdict.ratio, bounds_of(settings))} {what}"


def _tiles(result: RunResult) -> list[Tile]:
    """The answers to be seen from afar; none where a figure would be taken for one though the run is unsound."""
    if is_unsound(result) or len(result.primary) not in _TILES:
        return []
    return [_tile(verdict, result.settings) for verdict in result.primary if has_data(verdict)]


def _tile(verdict: Verdict, settings: RunSettings) -> Tile:
    bounds = bounds_of(settings)
    level, ends = ("99 %", verdict.ratio.hdi99) if settings.budget is not None else ("95 %", verdict.ratio.hdi95)
    return Tile(
        label=label(verdict.condition, settings),
        figure=overhead(verdict.ratio, bounds),
        interval=f"{metric_name(verdict.metric, settings)}, {level} HDI {hdi_text(verdict.ratio, ends, bounds)} %",
        decision=decision_word(verdict.decision, verdict.metric),
        mark=mark(verdict.decision),
        is_alarm=verdict.decision is Decision.UNSOUND,
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
    truth = " Diamonds: what planted twins really spun." if has_truth else ""
    return forest(
        "answer",
        f"Overhead in {metric_name(settings.metric, settings)}, by condition",
        forest_rows(result),
        limits_of(settings),
        axis=f"{metric_name(settings.metric, settings)} over the plain twins'",
        caption=(
            f"{UNRELIABLE if is_unsound(result) else ''}Circle: median; thick bar: 95 % HDI; thin bar: 99 % HDI;"
            f" {limit_words(settings)}. Squares in grey: identical twins, one over the other, so their distance"
            f" from 0 % is this instrument's noise{typical}.{truth}"
        ),
    )


def _published(result: RunResult) -> Iterator[Block]:
    study = _study(result.settings)
    if study is None:
        return
    yield Heading("What the study is, and what was published")
    yield Paragraph(f"{study.name}: {study.title}. Published: {study.published}.")
    if not study.figures:
        return
    published = [
        (figure.what, figure.said, MISSING if figure.ratio is None else percent(figure.ratio), figure.source)
        for figure in study.figures
    ]
    columns = [Column("of what"), Column("finding"), Column("overhead", is_number=True), Column("source")]
    if result.of(PublishedCell) and not is_unsound(result):
        yield _beside(result)
        yield Table("All published figures", columns, published, folded=True)
    else:
        has_cpu = any(figure.what.startswith("CPU") for figure in study.figures)
        measured = _here(result, has_cpu=has_cpu)
        yield Table("Published figures, and below them what was measured here", columns, [*published, *measured])
    yield Paragraph(
        "Other products, machines and settings: published figures are here to be read beside this run's, and"
        " neither is a check of the other.",
        "note",
    )


def _beside(result: RunResult) -> Table:
    """What was published for a condition's own levels, beside what was measured under them."""
    published = {cell.condition.key: cell for cell in result.of(PublishedCell)}
    bounds = bounds_of(result.settings)
    rows = [
        (
            label(v.condition, result.settings),
            percent(published[v.condition.key].ratio),
            median_text(v.ratio, bounds),
            hdi_text(v.ratio, v.ratio.hdi95, bounds),
            decided(v),
        )
        for v in result.primary
        if v.condition.key in published and has_data(v)
    ]
    titles = ("published", "measured here", "95 % HDI")
    columns = [Column(""), *(Column(title, is_number=True) for title in titles), Column("verdict")]
    return Table(f"Overhead in {metric_name(result.settings.metric, result.settings)}", columns, rows)


def _here(result: RunResult, *, has_cpu: bool) -> Iterator[tuple[str, str, str, str]]:
    """This run's primary verdicts as rows of the same table, and those on CPU where CPU was published."""
    source = "this run"
    if is_unsound(result):
        yield metric_name(result.settings.metric, result.settings), "unsound: no answer", MISSING, source
        return
    bounds = bounds_of(result.settings)
    of_mix = [v for v in result.verdicts if v.transaction == ALL_TRANSACTIONS and not v.primary]
    cpu = [v for v in of_mix if v.metric is Metric.CPU_PER_OPERATION]
    for verdict in (
        v for v in (*result.primary, *(cpu if has_cpu else ())) if v.condition.role.is_judged and has_data(v)
    ):
        what = f"{metric_name(verdict.metric, result.settings)}, {label(verdict.condition, result.settings)}"
        if verdict.decision is Decision.UNSOUND:
            yield what, "unsound: no answer", MISSING, source
            continue
        finding = f"{verdict.decision.value}, 95 % HDI {hdi_text(verdict.ratio, verdict.ratio.hdi95, bounds)} %"
        yield what, finding, median_text(verdict.ratio, bounds), source


def _study(settings: RunSettings) -> Study | None:
    return next((study for study in studies() if study.name == settings.study), None)


def contrast_blocks(result: RunResult) -> list[Block]:
    """What one factor does by itself: one condition over another that is not its baseline, in the same blocks."""
    if not result.of(Contrast):
        return []
    settings = result.settings
    rows: list[Row] = []
    for factor in dict.fromkeys(c.factor for c in result.of(Contrast)):
        rows.append(Row(contrast_title(factor)))
        for contrast in (c for c in result.of(Contrast) if c.factor == factor):
            name = f"{contrast_label(contrast, settings)}, {metric_name(contrast.metric, settings)}"
            rows.append(Row(name, contrast.ratio, _side(contrast.ratio)))
    figure = forest(
        "contrasts",
        "What one factor does by itself",
        rows,
        limits_of(settings, is_primary=False),
        axis="one condition over the other",
        caption=(
            "Conditions of the same blocks that differ in one factor, one over the other: circle, median; thick bar,"
            " 95 % HDI; thin bar, 99 %. Shown, never decided on."
        ),
        noted="the 95 % HDI",
    )
    return [figure]


def _side(estimate: Estimate) -> str:
    """Where the 95 % HDI lies, in two words; no decision."""
    low, high = estimate.hdi95
    return "above 0 %" if low > 1 else "below 0 %" if high < 1 else "holds 0 %"
