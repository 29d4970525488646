"""The page of one run, part by part, in the order in which questions come up."""

from __future__ import annotations

from tdelta import __version__
from tdelta.document.blocks import MARKER, Page
from tdelta.document.wording import date_text, is_invalid, run_words
from tdelta.report.answer import run_answer
from tdelta.report.findings.registry import sections as finding_sections
from tdelta.report.page.answer import answer_section
from tdelta.report.page.gather import RunData
from tdelta.report.page.repeat import repeat_section
from tdelta.report.page.sections import (
    confidence_section,
    differences_section,
    latency_section,
    resource_section,
    sweep_section,
    transaction_section,
    trust_section,
)


def compose(data: RunData) -> Page:
    """The page of a run."""
    result = data.result
    answer = run_answer(result).sentence
    sections = (
        answer_section(result),
        sweep_section(result),
        confidence_section(data),
        differences_section(data),
        latency_section(data),
        *finding_sections(result),
        resource_section(data),
        transaction_section(data),
        trust_section(data),
        repeat_section(data),
    )
    return Page(
        title=f"tdelta: {answer}",
        eyebrow=f"tdelta {run_words(result)}, {date_text(data.created_unix_seconds)}",
        headline=answer,
        is_alarm=is_invalid(result),
        sections=[section for section in sections if section is not None],
        marker=f"{MARKER}: run {result.settings.run_id}",
        footer=(
            f"Drawn by tdelta {__version__} from the stored run alone. This file holds everything it shows and asks"
            " nothing of any network."
        ),
    )
