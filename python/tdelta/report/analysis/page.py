"""The HTML page of ``tdelta analyze``: the answer, its figures, model fit, and the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from markupsafe import Markup

from tdelta import __version__
from tdelta.document import plot
from tdelta.document.blocks import (
    MARKER,
    WIDTH,
    Block,
    Code,
    Column,
    Figure,
    Heading,
    Listing,
    Page,
    Paragraph,
    Section,
    Table,
    columns,
)
from tdelta.document.forest import Limits, Row, RowStyle, forest
from tdelta.document.quantities import counted, printable, share
from tdelta.document.wording import mark
from tdelta.inference.observed.pictures import ComparisonPicture, PredictiveCheck, QuantileCheck
from tdelta.inference.posterior import FloatArray
from tdelta.records import AnalysisResult, Comparison, Decision, Model
from tdelta.report.analysis.details import (
    caution_blocks,
    comparison_of,
    comparison_table,
    picture_title,
    support_blocks,
)
from tdelta.report.analysis.tails import tail_blocks
from tdelta.report.analysis.words import (
    UnitScale,
    bounds_of,
    decided_word,
    display_unit,
    label,
    limit_words,
    metric_words,
    quotient_text,
    side_titles,
    single_run_estimate,
    spread_text,
    tolerance_of,
    unit_amounts,
    value_words,
)
from tdelta.report.answer import files_answer

_CHECKS = 12

_MODELS = {
    Model.GAMMA: "A gamma distribution of the single response times, independent within a run.",
    Model.BINNED_GAMMA: "The same gamma distribution, of which only counts between edges are known.",
    Model.STRETCHES: "Response times that depend on the ones before: means of stretches of the run are the unit.",
    Model.SUMMARY: "The mean and the standard deviation that the tool printed, with their sampling errors.",
    Model.BESIDE: "The mean that the tool printed, as far known as the run's throughput over time shows.",
    Model.SERIES: "The mean of a series, worth as many independent figures as its autocorrelation leaves.",
    Model.RUNS: "Several runs of a condition are the unit; their scatter is in the interval.",
    Model.NONE: "One figure per condition: a quotient, and no statement of how sure it is.",
}


def compose_analysis(result: AnalysisResult, pictures: Sequence[ComparisonPicture], command: str) -> Page:
    sections = (
        _answer(result, command),
        _means(result),
        _checks(result, pictures),
        _all(result),
        Section("tails", "Tails", tails) if (tails := tail_blocks(result)) else None,
        _basis(result),
        _repeat(result, command),
    )
    files = counted(sum(result.formats.values()), "file")
    answer = files_answer(result, command)
    return Page(
        title=f"tdelta: {answer.sentence}",
        eyebrow=f"tdelta analyze: {files}, baseline {printable(result.baseline)}",
        headline=answer.sentence,
        is_alarm=result.decision is Decision.INVALID,
        sections=[section for section in sections if section is not None],
        marker=f"{MARKER}: analysis",
        footer=(
            f"Drawn by tdelta {__version__} from the files named above. This file holds everything it shows and asks"
            " nothing of any network."
        ),
    )


def _answer(result: AnalysisResult, command: str) -> Section:
    blocks: list[Block] = [files_answer(result, command).lines_block()]
    if result.primary:
        blocks.append(_forest(result, "answer", "Result", list(result.primary), is_primary=True))
    return Section("answer", "Result", [*blocks, *support_blocks(result)])


def _forest(
    result: AnalysisResult, name: str, title: str, comparisons: Sequence[Comparison], *, is_primary: bool
) -> Figure:
    metrics = list(dict.fromkeys(c.metric for c in comparisons))
    rows: list[Row] = []
    for metric in metrics:
        rows += [Row(metric_words(metric))] if len(metrics) > 1 else []
        rows += [row for c in comparisons if c.metric == metric for row in _rows(c, result)]
    axis = f"{metric_words(metrics[0]) if len(metrics) == 1 else 'cost'} over {printable(result.baseline)}'s"
    return forest(
        name,
        title,
        rows,
        _limits(result, is_primary=is_primary),
        axis=axis,
        caption=_forest_caption(result, comparisons),
        noted="verdict",
        known_as="quotient",
    )


def _rows(comparison: Comparison, result: AnalysisResult) -> list[Row]:
    """A row; of single runs two, their own above the one with room for variation between runs, which decides."""
    style = RowStyle.ALARM if comparison.decision is Decision.INVALID else RowStyle.JUDGED
    name = label(comparison, result)
    if comparison.ratio is None:
        note = f"{quotient_text(comparison, bounds_of(result))}, no replication"
        return [Row(name, None, note, style, comparison.quotient)]
    verdict = f"{mark(comparison.decision)}\u00a0{decided_word(comparison)}"
    single_run = single_run_estimate(comparison)
    if single_run is None:
        return [Row(name, comparison.ratio, verdict, style)]
    return [
        Row(f"{name}: these two runs", comparison.ratio, "", RowStyle.PLAIN),
        Row(f"{name}: if {single_run[0]}", single_run[1], verdict, style),
    ]


def _limits(result: AnalysisResult, *, is_primary: bool) -> Limits:
    if is_primary and result.budget is not None:
        return Limits(budget=1 + result.budget)
    return Limits(tolerance=tolerance_of(result))


def _forest_caption(result: AnalysisResult, comparisons: Sequence[Comparison]) -> str:
    has_hdi = any(c.ratio is not None for c in comparisons)
    has_bare = any(c.ratio is None for c in comparisons)
    bars = ["Median; thick bar: 95% interval; thin bar: 99% interval."] if has_hdi else []
    if any(single_run_estimate(c) for c in comparisons):
        bars.append(
            "Gray squares: these two runs alone; circles: with the stated variation between runs, which decides."
        )
    bare = ["Diamond: one figure per condition, with unknown error."] if has_bare else []
    budget = result.budget
    limit = (
        f"Dashed line: the budget of {share(budget)}."
        if budget is not None
        else f"Shaded band: the tolerance, {limit_words(result, both_ways=True)}."
    )
    return " ".join([*bars, *bare, limit])


def _means(result: AnalysisResult) -> Section | None:
    """Both means and their difference, in the unit of the files."""
    rows = []
    for c in result.comparisons:
        if c.baseline.mean and c.condition.mean and c.difference:
            means = (spread_text(mean, c.unit) for mean in (c.baseline.mean, c.condition.mean))
            difference = spread_text(c.difference, c.unit, is_signed=True)
            rows.append((f"{value_words(c.metric)}, {label(c, result)}", *means, difference))
    if not rows:
        return None
    titles = columns(*side_titles(result), "difference")
    return Section("means", "Means", [Table("Means and their difference, with 95% intervals", titles, rows)])


def _first(result: AnalysisResult, pictures: Sequence[ComparisonPicture]) -> list[ComparisonPicture]:
    """Pictures of what decides before all others."""

    def is_secondary(picture: ComparisonPicture) -> bool:
        found = comparison_of(picture, result)
        return found is None or not found.primary

    return sorted(pictures, key=is_secondary)


def _checks(result: AnalysisResult, pictures: Sequence[ComparisonPicture]) -> Section | None:
    """Could the fitted curve have made the data? One figure a run, or a line where only quantiles are known."""
    blocks: list[Block] = []
    number = 0
    for picture in _first(result, pictures):
        title = picture_title(picture, result)
        for check in picture.checks:
            if check.observed.size and number < _CHECKS:
                number += 1
                blocks.append(check_figure(check, picture.unit, f"check-{number}", title))
            elif check.quantiles and not check.observed.size:
                words = f"{title}, {printable(check.condition)}: {quantile_words(check.quantiles, picture.unit)}"
                blocks.append(Paragraph(words, "text"))
    if not blocks:
        return None
    intro = (
        "Posterior predictive check: values that the fitted distribution would produce, next to the observed ones. If"
        " they differ, the model has the wrong shape; this affects means least and tails most."
    )
    return Section("checks", "Model fit", [Paragraph(intro), *blocks])


def _all(result: AnalysisResult) -> Section | None:
    if not result.comparisons:
        return None
    blocks: list[Block] = []
    rest = [c for c in result.comparisons if not c.primary]
    if rest:
        blocks.append(_forest(result, "rest", "For orientation only", rest, is_primary=False))
    return Section("comparisons", "All comparisons", [*blocks, *comparison_table(result)])


def _basis(result: AnalysisResult) -> Section:
    models = Listing([("", words) for words in _models(result)])
    return Section("basis", "Cautions and models", [*caution_blocks(result), Heading("Models"), models])


def _models(result: AnalysisResult) -> Iterator[str]:
    for model in dict.fromkeys(c.model for c in result.comparisons):
        yield f"{model}: {_MODELS[model]}"


def _repeat(result: AnalysisResult, command: str) -> Section:
    blocks: list[Block] = [
        Paragraph("Nothing is random: the same files and options give the same figures."),
        Code(command, "Repeat"),
    ]
    rows = [
        (printable(o.file), o.format) for o in dict.fromkeys(o for c in result.comparisons for o in c.source.origins)
    ]
    unique = list(dict.fromkeys(rows))
    if unique:
        blocks.append(Table("The files", [Column("file"), Column("format")], unique, folded=len(unique) > 12))
    if result.source:
        blocks.append(Paragraph(f"Published figures: {printable(result.source)}."))
    blocks += [Heading("Limits"), Listing([("", words) for words in _cannot_show(result)])]
    return Section("repeat", "Repeat this analysis", blocks)


def _cannot_show(result: AnalysisResult) -> Iterator[str]:
    what = "encryption" if result.is_encryption else "what their conditions are named for"
    yield f"Whether anything but {what} differed between the runs: order, time of day, caches, layout of the data."
    if result.is_encryption:
        yield "Whether the data were encrypted at all: tdelta saw results, not files. `tdelta verify` searches them."
    yield "Only `tdelta run` measures copies in a random, interleaved order, with an A/A control as the noise floor."


_FOOT = 48.0
_BARS = 190.0
_MOST_BARS = 90


def check_figure(check: PredictiveCheck, unit: str, name: str, title: str) -> Figure:
    """Observed shares as bars, the predicted ones as a line in their band."""
    binned = _together(check, _MOST_BARS)
    scale_of = display_unit(check.edges, unit)
    where = f"{printable(check.condition)}, run {printable(check.run)}"
    outside = int(np.sum((binned.observed < binned.low) | (binned.observed > binned.high)))
    description = f"{where}: {outside} of {binned.observed.size} bins lie outside the band of what the model predicts."
    heading = f"Observed and predicted: {title}, {where}"
    drawn = _bars(binned, scale_of, heading, description, name)
    caption = (
        "Bars: observed share of the values in each bin. Line and band: prediction of the model, with 95% of other"
        " samples of this size."
    )
    return Figure(name, heading, drawn, caption, _check_table(binned, scale_of))


def quantile_words(quantiles: Sequence[QuantileCheck], unit: str) -> str:
    """Printed quantiles next to their predictions: ``p95 observed 4.10 ms, predicted 3.9 to 4.3 ms``."""
    return "; ".join(_quantile(q, unit) for q in quantiles)


def _quantile(check: QuantileCheck, unit: str) -> str:
    observed, low, high = unit_amounts((check.observed, check.low, check.high), unit)
    place = "" if check.low <= check.observed <= check.high else " (outside)"
    return f"p{100 * check.probability:g} observed {observed}, predicted {low} to {high}{place}"


def _together(check: PredictiveCheck, most: int) -> PredictiveCheck:
    """Neighbouring bins together until there are no more than ``most``; their bands are added up, which is too wide."""
    step = -(-check.observed.size // most)
    if step == 1:
        return check
    starts = np.arange(0, check.observed.size, step)

    def summed(values: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(values, starts))

    return replace(
        check,
        edges=np.append(check.edges[starts], check.edges[-1]),
        observed=summed(check.observed),
        expected=summed(check.expected),
        low=summed(check.low),
        high=summed(check.high),
    )


def _bars(check: PredictiveCheck, scale_of: UnitScale, title: str, description: str, name: str) -> Markup:
    frame = plot.Frame(6.0, 8.0, WIDTH - 6.0, 8.0 + _BARS)
    edges = scale_of.array(check.edges)
    is_log = bool(edges[0] > 0 and edges[-1] / edges[0] > 8)  # response times' bins are logarithmic
    across = plot.Scale(float(edges[0]), float(edges[-1]), frame.left, frame.right, is_log=is_log)
    most = float(max(check.observed.max(), check.high.max()))
    up = plot.Scale(0.0, most, frame.bottom, frame.top)
    pixels = [across(float(edge)) for edge in edges]
    middles = [(a + b) / 2 for a, b in pairwise(pixels)]
    upper = [(x, up(float(v))) for x, v in zip(middles, check.high, strict=True)]
    lower = [(x, up(float(v))) for x, v in zip(middles, check.low, strict=True)]
    expected = [(x, up(float(v))) for x, v in zip(middles, check.expected, strict=True)]
    bars = [
        plot.rect(a, up(float(v)), max(0.5, b - a - 0.6), frame.bottom - up(float(v)), "plain-bar-second")
        for a, b, v in zip(pixels, pixels[1:], check.observed, strict=False)
    ]
    marks = [
        plot.path(plot.polyline([*upper, *reversed(lower)], closed=True), "band"),
        *bars,
        plot.path(plot.polyline(expected), "curve"),
    ]
    ticks = plot.roomy(lambda about: _value_ticks(across, about), across, 8, high=WIDTH)
    marks += plot.bottom_axis(frame, across, ticks, scale_of.name, width=WIDTH, has_grid=False)
    return plot.drawing(WIDTH, frame.bottom + _FOOT, title, description, marks, name=name)


def _value_ticks(scale: plot.Scale, about: int) -> Sequence[plot.Tick]:
    if not scale.is_log:
        return plot.plain_ticks(scale.low, scale.high, about)
    return [plot.Tick(value, f"{value:,.6g}") for value in plot.log_steps(scale.low, scale.high, about)]


def _check_table(check: PredictiveCheck, scale_of: UnitScale) -> Table:
    edges = scale_of.array(check.edges)
    rows = [
        (
            f"{edges[i]:,.4g} … {edges[i + 1]:,.4g} {scale_of.name}".rstrip(),
            _share(check.observed[i]),
            _share(check.expected[i]),
            f"{_share(check.low[i])} … {_share(check.high[i])}",
        )
        for i in range(check.observed.size)
    ]
    columns = [Column("bin"), *(Column(head, is_number=True) for head in ("observed", "predicted", "95% band"))]
    return Table("Numbers: shares of the values by bin", columns, rows, folded=True)


def _share(value: float) -> str:
    return f"{100 * float(value):.2f}%"
