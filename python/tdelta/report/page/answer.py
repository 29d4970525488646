"""The first part of the page: the lines of the answer, and one picture of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tdelta.document.blocks import Block, Column, Figure, Heading, Lines, Paragraph, Section, Table
from tdelta.document.forest import Row, RowStyle, forest, limits_of, verdict_row
from tdelta.document.labels import condition_label, metric_name, surroundings
from tdelta.document.quantities import MISSING, percent
from tdelta.document.wording import UNRELIABLE, has_data, is_invalid, label, limit_words
from tdelta.findings import placed
from tdelta.findings.stalls import parting
from tdelta.records import NoiseFloor, RunResult, RunSettings, Verdict
from tdelta.report.answer import run_answer
from tdelta.report.details import notes
from tdelta.report.outcome import shown_ratio
from tdelta.session.studies import studies


def answer_section(result: RunResult) -> Section:
    """The lines of the answer, one picture of them, and what else they rest on."""
    lines = run_answer(result, result.settings.run_id).lines
    blocks: list[Block] = [Lines([line for line in lines if not line.text.startswith("tdelta report ")])]
    if result.primary:
        blocks.append(primary_forest(result))
    blocks += [] if is_invalid(result) else notes(result)
    return Section("answer", "Result", [*blocks, *placed("answer", result), *_study_blocks(result)])


def _study_blocks(result: RunResult) -> Iterator[Block]:
    """What the study is, and what was published for it."""
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


def forest_rows(result: RunResult) -> list[Row]:
    """The primary verdicts and, in grey, the identical twins of the same metric."""
    judged = [row for v in result.primary for row in _judged_rows(v, result)]
    noise = [f for f in result.noise_floor if f.metric is result.settings.metric]
    return [*judged, *(Row(_noise_label(f, result.settings), f.ratio, "noise floor", RowStyle.PLAIN) for f in noise)]


def _judged_rows(verdict: Verdict, result: RunResult) -> Iterator[Row]:
    """A primary verdict, and below it the typical operation."""
    shown = replace(verdict, ratio=shown_ratio(verdict, result))
    yield verdict_row(shown, label(verdict.condition, result.settings))
    if verdict.typical is not None and has_data(verdict) and (len(result.primary) == 1 or parting(verdict, result)):
        yield Row("typical transaction", verdict.typical, "informational", RowStyle.PLAIN)


def _noise_label(noise: NoiseFloor, settings: RunSettings) -> str:
    home = next((c for c in settings.conditions if c.stratum == noise.stratum), None)
    if noise.condition is not None:
        return f"B/B control of {condition_label(noise.condition, settings)}"
    return ", ".join(("A/A control", *(surroundings(home, settings) if home else ())))


def primary_forest(result: RunResult, name: str = "answer") -> Figure:
    """Every verdict that decides, with the identical copies; ``name`` is the figure's anchor."""
    settings = result.settings
    return forest(
        name,
        f"Overhead in {metric_name(settings.metric, settings)}, by configuration",
        forest_rows(result),
        limits_of(settings),
        axis=f"{metric_name(settings.metric, settings)}, compared with the unencrypted copies",
        caption=(
            f"{UNRELIABLE if is_invalid(result) else ''}Circle: best estimate; thick bar: 95% interval; thin bar: 99%"
            f" interval; {limit_words(settings)}. Gray squares: identical copies, so their distance from 0% is noise."
        ),
    )
