"""Several runs on one page, each by what it measured."""

from __future__ import annotations

from collections.abc import Sequence

from tdelta import __version__
from tdelta.document.blocks import MARKER, Block, Page, Paragraph, Section
from tdelta.document.quantities import counted
from tdelta.document.wording import is_invalid, run_words
from tdelta.records import Decision, RunResult
from tdelta.report.answer import run_answer
from tdelta.report.page.compose import primary_forest
from tdelta.report.subject import subject


def compose_runs(results: Sequence[RunResult]) -> Page:
    """A section for each run, in the order given."""
    sections = [_section(number, result) for number, result in enumerate(results, 1)]
    what = f"Encryption at rest: {counted(len(results), 'run')}"
    return Page(
        title=f"tdelta: {what}",
        eyebrow=f"tdelta {__version__}",
        headline=what,
        is_alarm=any(result.decision is Decision.INVALID for result in results),
        sections=sections,
        marker=f"{MARKER}: runs",
        footer="Each section is the first part of a run's own page: tdelta report RUN.",
    )


def _section(number: int, result: RunResult) -> Section:
    answer = run_answer(result, result.settings.run_id)
    kind = "alarm" if is_invalid(result) else "answer"
    blocks: list[Block] = [Paragraph(answer.sentence, kind), answer.lines_block()]
    if result.primary:
        blocks.append(primary_forest(result, f"answer-{number}"))
    blocks.append(Paragraph(run_words(result), "note"))
    return Section(f"run-{number}", subject(result), blocks)
