"""What was published for these conditions, beside what was measured here; a sweep as a grid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from tdelta.document.blocks import Block, Column, Heading, Medium, Paragraph, Table, columns, for_page
from tdelta.document.effect import limits
from tdelta.document.labels import decision_word, level_text, metric_name
from tdelta.document.quantities import MISSING, decimals, interval, interval_of, percent
from tdelta.document.wording import decided, has_data, is_invalid, label, median_text
from tdelta.records import ALL, Decision, Metric, PublishedCell, RunResult, RunSettings
from tdelta.report.sweep import SweepCell, panels, sweep_cells
from tdelta.session.studies import Study, studies


def blocks(result: RunResult) -> Iterator[Block]:
    """In a terminal a sweep's overheads as a grid, with what was published; on the page what the study published."""
    yield from _grid(result)
    yield from for_page(_of_page(result))


def _grid(result: RunResult) -> Iterator[Block]:
    """Threads by all else that varies; nothing for a run that is no sweep."""
    cells = sweep_cells(result)
    if not cells:
        return
    has_published = {panel: any(c.published for c in cells if c.panel == panel) for panel in panels(cells)}
    titles: list[str] = []
    for panel, has in has_published.items():
        titles += [panel or "overhead", *(["published"] if has else [])]
    rows = [
        (
            name,
            *chain.from_iterable(
                _cell(row.get(panel), result, has_published=has) for panel, has in has_published.items()
            ),
        )
        for name, row in _rows(cells).items()
    ]
    yield Table("", columns(*titles), rows, medium=Medium.TERMINAL)
    note = f"Overhead in {metric_name(result.settings.metric, result.settings)} against threads, with its 95% interval."
    yield Paragraph(note + _sources(cells), "note", Medium.TERMINAL)


def _rows(cells: Sequence[SweepCell]) -> dict[str, dict[str, SweepCell]]:
    """The cells of each row by their columns; with several ciphers, one's rows before the next one's."""
    compared = list(dict.fromkeys(cell.compared for cell in cells))
    rows: dict[str, dict[str, SweepCell]] = {}
    for cell in sorted(cells, key=lambda c: compared.index(c.compared)):
        threads = level_text("threads", cell.threads)
        rows.setdefault(threads if len(compared) == 1 else f"{cell.compared}, {threads}", {})[cell.panel] = cell
    return rows


def _sources(cells: Sequence[SweepCell]) -> str:
    sources = dict.fromkeys(c.published.source for c in cells if c.published is not None)
    return f" Published: {'; '.join(sources)}; another product and machine, no check of this one." if sources else ""


def _cell(cell: SweepCell | None, result: RunResult, *, has_published: bool) -> list[str]:
    if cell is None:
        return ["", *([""] if has_published else [])]
    ratio = cell.verdict.ratio
    places = decimals((ratio.median, *ratio.hdi95), limits(result.settings))
    shown = (
        f"{percent(ratio.median, places)} ({interval(ratio.hdi95, places)})" if cell.verdict.baseline_value else MISSING
    )
    return [shown, *([_published_text(cell)] if has_published else [])]


def _published_text(cell: SweepCell) -> str:
    return MISSING if cell.published is None else percent(cell.published.ratio)


def _of_page(result: RunResult) -> Iterator[Block]:
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
