"""The first part of the page: the lines of the answer, and one picture of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tdelta.document.blocks import Block, Figure, Lines, Section
from tdelta.document.forest import Row, RowStyle, forest, limits_of, verdict_row
from tdelta.document.labels import condition_label, metric_name, surroundings
from tdelta.document.wording import UNRELIABLE, has_data, is_invalid, label, limit_words
from tdelta.findings import placed
from tdelta.findings.stalls import parting
from tdelta.records import NoiseFloor, RunResult, RunSettings, Verdict
from tdelta.report.answer import run_answer
from tdelta.report.details import notes
from tdelta.report.outcome import shown_ratio
from tdelta.report.page.study import study_blocks


def answer_section(result: RunResult) -> Section:
    """The lines of the answer, one picture of them, and what else they rest on."""
    lines = run_answer(result, result.settings.run_id).lines
    blocks: list[Block] = [Lines([line for line in lines if not line.text.startswith("tdelta report ")])]
    if result.primary:
        blocks.append(primary_forest(result))
    blocks += [] if is_invalid(result) else notes(result)
    return Section("answer", "Result", [*blocks, *placed("answer", result), *study_blocks(result)])


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
