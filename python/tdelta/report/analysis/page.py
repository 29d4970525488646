"""The HTML page of ``tdelta analyze``: the answer, how sure it is, whether the models fit, and how it was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tdelta import __version__
from tdelta.inference.observed import ComparisonPicture
from tdelta.records import AnalysisResult, Comparison, Decision, Model
from tdelta.report.analysis.brief import against_trust, sentence
from tdelta.report.analysis.figures import check_figure, difference_figure, means_figure
from tdelta.report.analysis.plots import quantile_words
from tdelta.report.analysis.sentence import answer, design_lines, hdi_words, headline, prior_lines
from tdelta.report.analysis.tails import tail_blocks
from tdelta.report.analysis.terminal import comparison_of, decision_words, picture_title
from tdelta.report.analysis.units import unit_amounts
from tdelta.report.analysis.words import (
    bounds_of,
    decided_word,
    label,
    limit_words,
    metric_words,
    overhead_text,
    quotient_text,
    single_run_estimate,
    times,
    tolerance_of,
    value_words,
)
from tdelta.report.page.blocks import (
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
    Tile,
    Tiles,
)
from tdelta.report.page.compose import MARKER
from tdelta.report.page.figures.forest import Limits, Row, RowStyle, forest
from tdelta.report.page.wording import mark
from tdelta.report.quantities import MISSING, counted, hdi_text, printable, share

_TILES = range(2, 7)
"""With one comparison the headline has its figure already; more than six are a figure's work."""

_PICTURES = 8
"""Comparisons whose posteriors are drawn; the forest plot and the table have all of them."""

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
        _answer(result),
        _posteriors(result, pictures),
        _checks(result, pictures),
        _all(result),
        Section("tails", "Tails", tails) if (tails := tail_blocks(result)) else None,
        _basis(result),
        _repeat(result, command),
    )
    files = counted(sum(result.formats.values()), "file")
    return Page(
        title=f"tdelta analyze: {headline(result)}",
        eyebrow=f"tdelta analyze: {files}, baseline {printable(result.baseline)}",
        headline=headline(result),
        is_alarm=result.decision is Decision.INVALID,
        sections=[section for section in sections if section is not None],
        marker=f"{MARKER}: analysis",
        footer=(
            f"Drawn by tdelta {__version__} from the files named above. This file holds everything it shows and asks"
            " nothing of any network."
        ),
    )


def _answer(result: AnalysisResult) -> Section:
    judged = [c for c in result.primary if c.ratio is not None]
    blocks: list[Block] = []
    if len(result.primary) in _TILES:
        blocks.append(Tiles([_tile(c, result) for c in result.primary]))
    blocks.append(Paragraph(sentence(result), "lead"))
    against = against_trust(result)
    blocks += [Paragraph(f"Caution: {'; '.join(against)}.", "caution")] if against else []
    blocks += [Paragraph(answer(result))] if answer(result) != sentence(result) else []
    reasons = design_lines(result)
    if reasons:
        blocks += [Heading("What this design can bear"), Listing([("", reason) for reason in reasons], "cautions")]
    if result.primary:
        blocks.append(_forest(result, "answer", "What decides", list(result.primary), is_primary=True))
    blocks += [Paragraph(line, "note") for line in prior_lines(result)] if judged else []
    return Section("answer", "The answer", blocks)


def _tile(comparison: Comparison, result: AnalysisResult) -> Tile:
    if comparison.ratio is None:
        interval = f"{metric_words(comparison.metric)}, one figure per condition"
    else:
        percent = "" if single_run_estimate(comparison) else " %"
        interval = f"{metric_words(comparison.metric)}, {hdi_words(comparison, result)}{percent}"
    return Tile(
        label=label(comparison, result),
        figure=_overhead(comparison, result),
        interval=interval,
        decision=decision_words(comparison),
        mark=mark(comparison.decision),
        is_alarm=comparison.decision is Decision.INVALID,
    )


def _overhead(comparison: Comparison, result: AnalysisResult) -> str:
    value = comparison.quotient if comparison.ratio is None else comparison.ratio.median
    return times(value) or quotient_text(comparison, bounds_of(result))


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
    bars = ["Median; thick bar: 95 % HDI; thin bar: 99 % HDI."] if has_hdi else []
    if any(single_run_estimate(c) for c in comparisons):
        bars.append(
            "Grey squares: of these two runs alone; circles: with what you state runs to differ by, which decides."
        )
    bare = (
        ["Diamond: the quotient of one figure per condition; how far it may be off is not known."] if has_bare else []
    )
    budget = result.budget
    limit = (
        f"The dashed line is the budget of {share(budget)}."
        if budget is not None
        else f"The shaded band is the tolerance, {limit_words(result, both_ways=True)}."
    )
    return " ".join([*bars, *bare, limit])


def _posteriors(result: AnalysisResult, pictures: Sequence[ComparisonPicture]) -> Section | None:
    shown = _first(result, pictures)[:_PICTURES]
    if not shown:
        return None
    blocks: list[Block] = []
    for number, picture in enumerate(shown, 1):
        title = picture_title(picture, result)
        blocks += [
            means_figure(picture, f"means-{number}", title),
            difference_figure(picture, f"difference-{number}", title),
        ]
    if len(pictures) > len(shown):
        left = counted(len(pictures) - len(shown), "further comparison")
        blocks.append(Paragraph(f"{left}: in the table of all comparisons, not drawn here.", "note"))
    return Section("posteriors", "How sure is it", blocks)


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
    for picture in _first(result, pictures)[:_PICTURES]:
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
        "The posterior predictive check: what the fitted distribution would produce, beside what was observed. Where"
        " they part, the figures above rest on a shape that the data do not have; means suffer least from that, tails"
        " most."
    )
    return Section("checks", "Does the model fit", [Paragraph(intro), *blocks])


def _all(result: AnalysisResult) -> Section | None:
    if not result.comparisons:
        return None
    blocks: list[Block] = []
    rest = [c for c in result.comparisons if not c.primary]
    if rest:
        blocks.append(_forest(result, "rest", "For orientation: decides nothing", rest, is_primary=False))
    return Section("comparisons", "All comparisons", [*blocks, _table(result)])


def _table(result: AnalysisResult) -> Table:
    """Every comparison. Columns that would say the same in every row, or nothing, are left out."""
    metrics = list(dict.fromkeys(value_words(c.metric) for c in result.comparisons))
    has_posterior = any(c.ratio is not None for c in result.comparisons)
    has_published = any(c.source.published for c in result.comparisons)
    has_models = len({c.model for c in result.comparisons}) > 1
    rows = []
    for c in result.comparisons:
        name = label(c, result)
        rows.append(
            (
                name if len(metrics) == 1 else f"{value_words(c.metric)}, {name}",
                *unit_amounts((c.baseline.value, c.condition.value), c.unit),
                overhead_text(c, bounds_of(result)),
                *((_hdi_cell(c, result),) if has_posterior else ()),
                *((printable(c.source.published or ""),) if has_published else ()),
                *((_counts(c),) if has_posterior else ()),
                *((str(c.model),) if has_models else ()),
                decision_words(c),
            )
        )
    numbers = ["baseline", "condition", "overhead", *(["95 % HDI"] if has_posterior else [])]
    numbers += [*(["published"] if has_published else []), *(["values"] if has_posterior else [])]
    columns = [Column(""), *(Column(name, is_number=True) for name in numbers)]
    columns += [*([Column("model")] if has_models else []), Column("verdict")]
    what = f" of {metrics[0]}" if len(metrics) == 1 else ""
    return Table(
        f"Means{what} (of several runs, geometric) and the overhead: posterior median or, without one, the quotient",
        columns,
        rows,
    )


def _hdi_cell(comparison: Comparison, result: AnalysisResult) -> str:
    ratio = comparison.ratio
    return MISSING if ratio is None else hdi_text(ratio, ratio.hdi95, bounds_of(result))


def _counts(comparison: Comparison) -> str:
    """Values of both sides, and their runs where there are several: ``1,200 + 1,180 in 3 + 3 runs``."""
    sides = (comparison.baseline, comparison.condition)
    values = " + ".join(f"{side.count:,}" for side in sides)
    runs = " + ".join(str(side.runs) for side in sides)
    return f"{values} in {runs} runs" if any(side.runs > 1 for side in sides) else values


def _basis(result: AnalysisResult) -> Section:
    blocks: list[Block] = [Heading("Cautions")]
    if result.cautions:
        blocks.append(Listing([("", printable(str(caution))) for caution in result.cautions], "cautions"))
    else:
        blocks.append(Paragraph("No caution was raised beyond what the design can bear.", "note"))
    if result.left_out:
        blocks += [Heading("Left out"), Listing([("", printable(str(words))) for words in result.left_out])]
    blocks += [Heading("Models"), Listing([("", words) for words in _models(result)])]
    if result.prior_words and any(c.ratio is not None for c in result.comparisons):
        blocks.append(Paragraph(f"Default prior: {result.prior_words}."))
    return Section("basis", "What it rests on", blocks)


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
    blocks += [Heading("What this cannot show"), Listing([("", words) for words in _cannot_show(result)])]
    return Section("repeat", "How to repeat it", blocks)


def _cannot_show(result: AnalysisResult) -> Iterator[str]:
    what = "encryption" if result.is_encryption else "what their conditions are named for"
    yield f"Whether anything but {what} differed between the runs: order, time of day, caches, layout of the data."
    if result.is_encryption:
        yield "Whether the data were encrypted at all: tdelta saw results, not files. `tdelta verify` searches them."
    yield "What `tdelta run` shows: twins in a drawn, interleaved order, with an A/A twin as the noise floor."
