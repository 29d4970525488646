"""Runs side by side: their answers, all conditions in one picture, and in what the runs themselves differ.

Within a run conditions are compared in pairs, block by block; between runs nothing is paired. The page says so before
it shows anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tdelta import __version__
from tdelta.errors import UsageError
from tdelta.messages import Refusal
from tdelta.records import Metric, RunResult
from tdelta.report.command import repeat_command
from tdelta.report.labels import metric_name
from tdelta.report.page.answer import forest_rows, headline
from tdelta.report.page.blocks import Block, Code, Column, Heading, Page, Paragraph, Section, Table
from tdelta.report.page.compose import MARKER
from tdelta.report.page.figures.forest import Limits, Row, RowStyle, forest
from tdelta.report.page.gather import RunData
from tdelta.report.page.repeat import value_text
from tdelta.report.page.rows import is_unsound
from tdelta.report.page.wording import date_text, listed, run_words
from tdelta.report.quantities import MISSING, share
from tdelta.report.sentence import answer, floor

UNPAIRED = (
    "Nothing is paired between runs: they ran at other times and on databases of their own, so what drifted in between"
    " is in the difference of two runs and in no interval shown here. To compare two conditions, put them into one run."
)


def compare(runs: Sequence[RunData]) -> Page:
    """The page of several runs.

    Args:
        runs: at least two, each another run.

    Raises:
        UsageError: fewer than two runs, or one twice.
    """
    ids = [run.result.settings.run_id for run in runs]
    if len(ids) < 2:
        raise UsageError(Refusal.of("fewer-than-two-runs", found=", ".join(ids) or "none"))
    repeated = sorted({run_id for run_id in ids if ids.count(run_id) > 1})
    if repeated:
        raise UsageError(Refusal.of("run-twice", runs=", ".join(repeated)))
    sections = (_answers(runs), _differing(runs), _repeats(runs))
    return Page(
        title=f"tdelta: {len(runs)} runs side by side",
        eyebrow=f"tdelta runs {listed(ids)}",
        headline=f"{len(runs)} runs side by side",
        is_alarm=False,
        sections=sections,
        marker=f"{MARKER}: runs {' '.join(ids)}",
        footer=f"Drawn by tdelta {__version__} from the stored runs alone. This file asks nothing of any network.",
    )


def _answers(runs: Sequence[RunData]) -> Section:
    blocks: list[Block] = [Paragraph(UNPAIRED, "caution")]
    metrics = list(dict.fromkeys(run.result.settings.metric for run in runs))
    blocks += [_forest(metric, [r.result for r in runs if r.result.settings.metric is metric]) for metric in metrics]
    for run in runs:
        noise = floor(run.result)
        blocks.append(Heading(f"{run.result.settings.run_id}: {headline(run.result)}"))
        blocks.append(Paragraph(answer(run.result), "alarm" if is_unsound(run.result) else "text"))
        blocks += [Paragraph(noise, "note")] if noise else []
    return Section("answers", "The answers", blocks)


def _forest(metric: Metric, results: Sequence[RunResult]) -> Block:
    what = metric_name(metric, results[0].settings)
    rows: list[Row] = []
    for result in results:
        rows.append(Row(f"{result.settings.run_id}, {result.settings.workload}"))
        rows += [Row(r.label, r.estimate, r.note, _look(r, result), r.truth) for r in forest_rows(result)]
    ropes = {result.settings.rope for result in results}
    limits = Limits(rope=(1 - min(ropes), 1 + min(ropes)))
    truth = " Diamonds: what planted twins really spun." if any(row.truth is not None for row in rows) else ""
    words = "The shaded band is " if len(ropes) == 1 else "The ROPEs differ; the shaded band is the narrowest, "
    return forest(
        f"answers-{metric.value.replace('_', '-')}",
        f"Overhead in {what}, run by run",
        rows,
        limits,
        axis=f"{what} over the plain twins'",
        caption=(
            f"Each row is compared within its own run only. {words}±{share(min(ropes))}. Squares in grey: A/A twins,"
            f" each run's own noise floor.{truth}"
        ),
    )


def _look(row: Row, result: RunResult) -> RowStyle:
    return RowStyle.ALARM if is_unsound(result) and row.style is RowStyle.JUDGED else row.style


def _differing(runs: Sequence[RunData]) -> Section:
    tables = (
        ("Settings that differ", [_settings(run) for run in runs]),
        ("Facts of the machine that differ", [run.result.machine for run in runs]),
        ("Versions that differ", [run.result.versions for run in runs]),
    )
    blocks: list[Block] = []
    for caption, values in tables:
        table = _difference_table(caption, values, [run.result.settings.run_id for run in runs])
        blocks.append(table if table.rows else Paragraph(f"{caption}: none.", "note"))
    return Section("settings", "In what the runs differ", blocks)


def _settings(run: RunData) -> Mapping[str, object]:
    settings, result = run.result.settings, run.result
    own = {
        "study": settings.study,
        "engine": settings.engine,
        "workload": settings.workload,
        "rope": settings.rope,
        "budget": settings.budget,
        "metric": settings.metric.value,
        "planned at": date_text(run.created_unix_seconds),
        "rounds": result.counts.rounds,
        "blocks": result.counts.blocks,
        "operations a trial": result.counts.operations_per_trial,
    }
    return {**settings.options, **own}


def _difference_table(caption: str, values: Sequence[Mapping[str, object]], ids: Sequence[str]) -> Table:
    names = dict.fromkeys(name for of in values for name in of)
    rows = []
    for name in names:
        cells = [value_text(name, of[name]) if name in of else MISSING for of in values]
        if len(set(cells)) > 1:
            rows.append((name.replace("_", " "), *cells))
    return Table(caption, [Column("name"), *(Column(run_id) for run_id in ids)], rows)


def _repeats(runs: Sequence[RunData]) -> Section:
    blocks = [Code(repeat_command(run.result.settings), run_words(run.result)) for run in runs]
    return Section("repeat", "How to repeat them", blocks)
