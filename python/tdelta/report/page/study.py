"""What the study of a run is, and what was published for it."""

from __future__ import annotations

from collections.abc import Iterator

from tdelta.document.blocks import Block, Column, Heading, Paragraph, Table
from tdelta.document.quantities import MISSING, percent
from tdelta.records import RunResult
from tdelta.session.studies import studies


def study_blocks(result: RunResult) -> Iterator[Block]:
    study = next((study for study in studies() if study.name == result.settings.study), None)
    if study is None:
        return
    yield Heading("What the study is, and what was published")
    yield Paragraph(f"{study.name}: {study.title}. Published: {study.published}.")
    if study.figures:
        rows = [
            (figure.what, figure.quote, MISSING if figure.ratio is None else percent(figure.ratio), figure.source)
            for figure in study.figures
        ]
        columns = [Column("of what"), Column("finding"), Column("overhead", is_number=True), Column("source")]
        yield Table("Published figures", columns, rows)
        yield Paragraph(
            "Other products, machines and settings: published figures are here to be read beside this run's, and"
            " neither is a check of the other.",
            "note",
        )
