"""The HTML page of ``tdelta analyze``: the answer, how sure it is, whether the models fit, and how it was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tdelta import __version__
from tdelta.document.blocks import (
    MARKER,
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
from tdelta.inference.observed import ComparisonPicture
from tdelta.records import AnalysisResult, Comparison, Decision, Model
from tdelta.report.analysis.details import caution_blocks, comparison_table, support_blocks
from tdelta.report.analysis.figures import check_figure, quantile_words
from tdelta.report.analysis.tails import tail_blocks
from tdelta.report.analysis.terminal import comparison_of, picture_title
from tdelta.report.analysis.units import spread_text
from tdelta.report.analysis.words import (
    bounds_of,
    decided_word,
    label,
    limit_words,
    metric_words,
    quotient_text,
    side_titles,
    single_run_estimate,
    tolerance_of,
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
    """The page."""
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
    """The lines of the answer, and one picture of them."""
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
    yield "What `tdelta run` shows: twins in a drawn, interleaved order, with an A/A twin as the noise floor."
