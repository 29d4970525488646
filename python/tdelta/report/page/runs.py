"""Several runs on one page: what decides about encryption, each run by what it measured, and what nobody measured."""

from __future__ import annotations

from collections.abc import Sequence

from tdelta import __version__
from tdelta.design.actions import NOTHING, parse_action
from tdelta.document.blocks import MARKER, Block, Listing, Page, Paragraph, Section
from tdelta.document.quantities import counted
from tdelta.document.wording import is_invalid, run_words
from tdelta.records import Decision, Role, RunResult
from tdelta.report.answer import run_answer
from tdelta.report.page.compose import primary_forest
from tdelta.report.subject import subject
from tdelta.session.questions import QUESTIONS

_SAME = {"alter": "encrypt", "recovery": "restart", "storm": "restart", "restore": "backup"}
"""Operations that answer the question of another one."""


def compose_runs(results: Sequence[RunResult]) -> Page:
    """A section for each run, in the order given, and one for the questions that none of them answers."""
    sections = [_section(number, result) for number, result in enumerate(results, 1)]
    missing = [question for question in QUESTIONS if question.name not in _topics(results)]
    if missing:
        items = [("", f"{question.title}: {question.command}") for question in missing]
        sections.append(Section("missing", "Not measured", [Listing(items)]))
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


def _topics(results: Sequence[RunResult]) -> set[str]:
    """The questions that these runs answer."""
    found: set[str] = set()
    for result in results:
        if result.settings.workload == "spill":
            found.add("spill")
        if result.settings.options.get("rate") is not None:
            found.add("rate")
        judged = [
            v for v in result.primary if v.decision is not Decision.INVALID and v.condition.role is Role.TREATMENT
        ]
        for condition in (verdict.condition for verdict in judged):
            levels = {name: str(level) for name, level in condition.levels}
            operations = {parse_action(levels[name]).name for name in ("work", "during") if _is_operation(levels, name)}
            found |= {_SAME.get(name, name) for name in operations}
            found |= {name for name in ("rate", "replication", "cache", "storage") if name in levels}
            if not operations:
                found.add("workload")
    return found


def _is_operation(levels: dict[str, str], name: str) -> bool:
    return levels.get(name, NOTHING) not in (NOTHING, "warm", "cold", "load", "rebuild")
