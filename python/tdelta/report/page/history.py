"""The page of a history: a sentence, a figure and its numbers per condition, what was left out, how it is judged."""

from __future__ import annotations

from tdelta import __version__
from tdelta.document.blocks import Block, Column, Heading, Listing, Page, Paragraph, Section, Table
from tdelta.document.labels import condition_label
from tdelta.document.quantities import MISSING, counted, ratio_cells, share, small_share
from tdelta.document.wording import chance, points_text
from tdelta.records import RunResult
from tdelta.records.history import Against, History
from tdelta.report.changes import (
    against_sentences,
    left_out_words,
    metric_words,
    series_name,
    series_sentence,
)
from tdelta.report.page.compose import MARKER
from tdelta.report.page.figures.history import history_figure

_HOW = (
    "Places where the overhead may have changed are proposed by Apache Otava (E-divisive means) and judged by the runs'"
    " own intervals and by what runs differ by beyond them. With two or three runs hardly anything is known of the"
    " latter; then a change is shown only where it is far larger than the intervals."
)


def compose_history(history: History) -> Page:
    changes = sum(len(series.changes) for series in history.series)
    runs = max((len(series.points) for series in history.series), default=0)
    found = "no change" if not changes else counted(changes, "change")
    sections = [
        Section("history", "Run by run", _series_blocks(history)),
        Section("how", "How it is judged", _how(history)),
    ]
    return Page(
        title=f"tdelta: history of {history.name}",
        eyebrow=f"tdelta history: {history.name}, {metric_words(history)}",
        headline=f"{counted(runs, 'run')}: {found}",
        is_alarm=False,
        sections=sections,
        marker=f"{MARKER}: history",
        footer=f"Drawn by tdelta {__version__} from the stored runs alone. This file asks nothing of any network.",
    )


def against_section(against: Against, later: RunResult) -> Section:
    columns = [Column("")]
    columns += [Column(name, is_number=True) for name in ("then", "now", "difference", "larger at all")]
    columns += [Column("so")]
    rows = [
        (
            condition_label(one.condition, later.settings),
            " ".join(ratio_cells(one.earlier, ())),
            " ".join(ratio_cells(one.later, ())),
            points_text(one.difference),
            chance(one.difference.mass_above_zero),
            one.difference.change.value,
        )
        for one in against.conditions
    ]
    blocks: list[Block] = [Paragraph(text) for text in against_sentences(against, later)]
    blocks.append(Table(f"Overheads of run {against.earlier_id} and of this run", columns, rows))
    if against.differing:
        differing = [(name, before or MISSING, now or MISSING) for name, before, now in against.differing]
        columns = [Column("name"), Column(f"run {against.earlier_id}"), Column(f"run {against.run_id}")]
        blocks.append(Table("What the runs differ in", columns, differing))
    return Section("against", f"Against run {against.earlier_id}", blocks)


def _series_blocks(history: History) -> list[Block]:
    blocks: list[Block] = []
    for number, series in enumerate(history.series):
        blocks.append(Heading(series_name(series, history)))
        blocks.append(Paragraph(series_sentence(series, history), "lead" if series.changes else "text"))
        blocks.append(history_figure(series, history, number))
        if (sd := series.between_runs_sd) is not None:
            note = f"Beyond their own intervals runs of one stretch differ by {small_share(sd)} (posterior median)."
            blocks.append(Paragraph(note, "note"))
    return blocks


def _how(history: History) -> list[Block]:
    blocks: list[Block] = [Paragraph(_HOW)]
    limit = f"A change of at most {share(history.tolerance).removesuffix('%')} points is within the tolerance."
    blocks.append(Paragraph(limit))
    if history.left_out:
        blocks += [Heading("Left out"), Listing([("", left_out_words(one)) for one in history.left_out])]
    return blocks
