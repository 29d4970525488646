"""What the study of a run is, and what was published for it, beside what was measured here."""

from __future__ import annotations

from collections.abc import Iterator

from tdelta.document.blocks import Block, Column, Heading, Paragraph, Table
from tdelta.document.effect import limits
from tdelta.document.labels import decision_word, metric_name
from tdelta.document.quantities import MISSING, interval_of, percent
from tdelta.document.wording import decided, has_data, is_invalid, label, median_text
from tdelta.findings.published import PublishedCell
from tdelta.records import ALL, Decision, Metric, RunResult, RunSettings
from tdelta.session.studies import Study, studies


def study_blocks(result: RunResult) -> Iterator[Block]:
    study = _study(result.settings)
    if study is None:
        return
    yield Heading("What the study is, and what was published")
    yield Paragraph(f"{study.name}: {study.title}. Published: {study.published}.")
    if not study.figures:
        return
    published = [
        (figure.what, figure.quote, MISSING if figure.ratio is None else percent(figure.ratio), figure.source)
        for figure in study.figures
    ]
    columns = [Column("of what"), Column("finding"), Column("overhead", is_number=True), Column("source")]
    if result.of(PublishedCell) and not is_invalid(result):
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
    published = {cell.condition.key: cell for cell in result.of(PublishedCell)}
    bounds = limits(result.settings)
    rows = [
        (
            label(v.condition, result.settings),
            percent(published[v.condition.key].ratio),
            median_text(v.ratio, bounds),
            interval_of(v.ratio, v.ratio.hdi95, bounds),
            decided(v),
        )
        for v in result.primary
        if v.condition.key in published and has_data(v)
    ]
    titles = ("published", "measured here", "95% interval")
    columns = [Column(""), *(Column(title, is_number=True) for title in titles), Column("verdict")]
    return Table(f"Overhead in {metric_name(result.settings.metric, result.settings)}", columns, rows)


def _here(result: RunResult, *, has_cpu: bool) -> Iterator[tuple[str, str, str, str]]:
    """This run's primary verdicts as rows of the same table, and those on CPU where CPU was published."""
    source = "this run"
    if is_invalid(result):
        yield metric_name(result.settings.metric, result.settings), "invalid: no answer", MISSING, source
        return
    bounds = limits(result.settings)
    of_mix = [v for v in result.verdicts if v.transaction == ALL and not v.primary]
    cpu = [v for v in of_mix if v.metric is Metric.CPU_PER_OPERATION]
    for verdict in (
        v for v in (*result.primary, *(cpu if has_cpu else ())) if v.condition.role.is_judged and has_data(v)
    ):
        what = f"{metric_name(verdict.metric, result.settings)}, {label(verdict.condition, result.settings)}"
        if verdict.decision is Decision.INVALID:
            yield what, "invalid: no answer", MISSING, source
            continue
        word = decision_word(verdict.decision, verdict.metric)
        finding = f"{word}, 95% interval {interval_of(verdict.ratio, verdict.ratio.hdi95, bounds)}"
        yield what, finding, median_text(verdict.ratio, bounds), source


def _study(settings: RunSettings) -> Study | None:
    return next((study for study in studies() if study.name == settings.study), None)
