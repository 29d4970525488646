"""The answer as Markdown (GitHub's, which GitLab reads, too): for a comment on a pull request or a job's summary.

Everything that is not this module's own is escaped, so that a label is shown as it is and cannot end a cell, begin a
link or mention anybody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tdelta.document.effect import limits
from tdelta.document.labels import decision_word, metric_name, sides_of
from tdelta.document.quantities import counted, duration, printable
from tdelta.document.wording import verdict_cells
from tdelta.records import CheckState, Decision, RunResult, Verdict
from tdelta.report.answer import run_answer
from tdelta.report.formats.rows import Answered
from tdelta.report.history import against_sentences

_MARKS = {
    Decision.WITHIN: "✅",
    Decision.NEGLIGIBLE: "✅",
    Decision.FASTER: "✅",
    Decision.SLOWER: "⚠️",
    Decision.OVER: "❌",
    Decision.INVALID: "❌",
    Decision.UNDECIDED: "❔",
}
_SPECIAL = str.maketrans(
    {character: f"\\{character}" for character in r"\`*_[]#~|!$"}
    | {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "@\u2060"}  # a word joiner: what follows is no mention
)
_BEGINS_BLOCK = re.compile(r"^(\d*)([-+=.)])")
"""Characters that begin a list or underline a heading at the beginning of a line."""
_HEADER = ("change", "95% interval", "verdict")


def markdown(answered: Answered) -> str:
    """A heading with the decision, the sentence, the primary verdicts, failed checks, cautions; the rest is folded."""
    return "\n".join(_blocks(answered)).rstrip("\n") + "\n"


def escaped(text: str) -> str:
    """A text of others' as it is shown in one line of Markdown, whatever it holds."""
    return _BEGINS_BLOCK.sub(r"\1\\\2", printable(" ".join(text.split())).translate(_SPECIAL))


def _blocks(answered: Answered) -> Iterator[str]:
    result = answered.result
    word = decision_word(result.decision, result.settings.metric)
    yield f"### {_MARKS[result.decision]} tdelta: {escaped(answered.name)}: {word}\n"
    answer = run_answer(result, result.settings.run_id)
    yield f"{escaped(answer.sentence)}\n"
    if result.primary:
        yield from _table(answered, result.primary)
    yield from (f"- {escaped(line.title)}: {escaped(line.text)}" for line in answer.lines)
    yield ""
    if answered.against is not None:
        yield from (f"{escaped(text)}\n" for text in against_sentences(answered.against, result))
    yield from _listed("Failed checks", _failed(result))
    yield from _listed("Cautions", (caution.text for caution in result.cautions))
    others = [verdict for verdict in result.verdicts if not verdict.primary]
    if others:
        yield f"<details><summary>{counted(len(others), 'other figure')}</summary>\n"
        yield from _table(answered, others)
        yield "</details>\n"
    yield _footer(answered)


def _table(answered: Answered, verdicts: Sequence[Verdict]) -> Iterator[str]:
    yield _line(("", *sides_of(answered.result.settings).titles, *_HEADER))
    yield "|---|--:|--:|--:|--:|---|"
    for verdict in verdicts:
        yield _line(_cells(verdict, answered))
    yield ""


def _cells(verdict: Verdict, answered: Answered) -> tuple[str, ...]:
    result = answered.result
    label = answered.label(verdict).removesuffix(f": {verdict.transaction}")
    what = metric_name(verdict.metric, result.settings)
    if verdict.transaction != "all":
        what = f"{verdict.transaction}, {what}"
    values, figures = verdict_cells(verdict, limits(result.settings))
    return (f"{label}: {what}", *values, *figures, decision_word(verdict.decision, verdict.metric))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(escaped(cell) for cell in cells)} |"


def _failed(result: RunResult) -> Iterator[str]:
    return (f"{check.check}: {check.detail}" for check in result.validity if check.state is CheckState.FAILED)


def _listed(title: str, texts: Iterable[str]) -> Iterator[str]:
    lines = [f"- {escaped(text)}" for text in texts]
    if lines:
        yield "\n".join((f"**{title}**\n", *lines, ""))


def _footer(answered: Answered) -> str:
    result = answered.result
    made = result.counts
    counts = f"{counted(made.rounds, 'round')}, {counted(made.blocks, 'block')}, {counted(made.trials, 'trial')}"
    run = f"run {result.settings.run_id}, {answered.created}: {counts}, {duration(made.elapsed_seconds)}"
    return f"<sub>{escaped(f'{run}; overheads are ratios of means; exit code {answered.exit_code}')}</sub>\n"
