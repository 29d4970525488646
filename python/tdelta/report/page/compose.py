"""The page of one run, part by part, in the order in which questions come up."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tdelta import __version__
from tdelta.document.blocks import (
    MARKER,
    Block,
    Code,
    Column,
    Figure,
    Heading,
    Line,
    Lines,
    Listing,
    Page,
    Paragraph,
    Section,
    Table,
    headed,
)
from tdelta.document.forest import Row, RowStyle, forest, limits_of, verdict_row
from tdelta.document.labels import condition_label, metric_name, sides_of, surroundings
from tdelta.document.quantities import MISSING, amounts, counted, percent
from tdelta.document.wording import UNRELIABLE, date_text, has_amount, is_invalid, label, limit_words, run_words
from tdelta.findings import placed
from tdelta.findings import sections as finding_sections
from tdelta.findings.base import FOUND
from tdelta.findings.stalls import parting
from tdelta.records import Decision, NoiseFloor, Role, RunResult, RunSettings, Verdict
from tdelta.report.answer import found, run_answer
from tdelta.report.command import next_command, repeat_command
from tdelta.report.details import facts, notes
from tdelta.report.outcome import shown_ratio
from tdelta.report.page.gather import RunData
from tdelta.report.page.sections import (
    confidence_section,
    differences_section,
    latency_section,
    resource_section,
    sweep_section,
    transaction_section,
    trust_section,
)
from tdelta.report.subject import subject
from tdelta.session.studies import studies


def compose(data: RunData) -> Page:
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


def answer_section(result: RunResult) -> Section:
    """The lines of the answer, one picture of them, and what else they rest on."""
    lines = [line for line in run_answer(result, result.settings.run_id).lines if line.title != FOUND]
    found_lines = [Line(FOUND, text) for text in found(result)]
    blocks: list[Block] = [Lines([*found_lines, *(one for one in lines if not one.text.startswith("tdelta report "))])]
    if result.primary:
        blocks.append(primary_forest(result))
    blocks += [] if is_invalid(result) else notes(result)
    return Section("answer", "Result", [*blocks, *placed("answer", result), *_study_blocks(result)])


def _study_blocks(result: RunResult) -> Iterator[Block]:
    """The study, and the figures that were published for it."""
    study = next((study for study in studies() if study.name == result.settings.study), None)
    if study is None:
        return
    yield Heading("The study and its published figures")
    yield Paragraph(f"{study.name}: {study.title}. Published: {study.published}.")
    if study.figures:
        rows = [
            (figure.what, figure.quote, MISSING if figure.ratio is None else percent(figure.ratio), figure.source)
            for figure in study.figures
        ]
        columns = [Column("cost"), Column("finding"), Column("overhead", is_number=True), Column("source")]
        yield Table("Published figures", columns, rows)
        note = "Published figures are of other products, machines and settings: no check of this run."
        yield Paragraph(note, "note")


def forest_rows(result: RunResult) -> list[Row]:
    """The primary verdicts and, in grey, the identical twins of the same metric."""
    judged = [row for v in result.primary for row in _judged_rows(v, result)]
    noise = [f for f in result.noise_floor if f.metric is result.settings.metric]
    return [*judged, *(Row(_noise_label(f, result.settings), f.ratio, "noise floor", RowStyle.PLAIN) for f in noise)]


def _judged_rows(verdict: Verdict, result: RunResult) -> Iterator[Row]:
    """A primary verdict, and below it the typical operation."""
    shown = replace(verdict, ratio=shown_ratio(verdict, result))
    yield verdict_row(shown, label(verdict.condition, result.settings))
    if verdict.typical is not None and has_amount(verdict) and (len(result.primary) == 1 or parting(verdict, result)):
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
        axis=f"{metric_name(settings.metric, settings)}, compared with {sides_of(settings).copies}",
        caption=(
            f"{UNRELIABLE if is_invalid(result) else ''}Circle: best estimate; thick bar: 95% interval; thin bar: 99%"
            f" interval; {limit_words(settings)}. Gray squares: identical copies, so their distance from 0% is noise."
        ),
    )


_ROLES = {
    Role.BASELINE: "baseline",
    Role.AA: "A/A control: noise",
    Role.TREATMENT: "judged",
    Role.BB: "B/B control: noise of the judged copies",
    Role.IDENTICAL: "judged, identical to the baseline",
    Role.INJECTED: "judged, slowed on purpose",
}


def repeat_section(data: RunData) -> Section:
    result = data.result
    settings = result.settings
    blocks: list[Block] = [
        Paragraph("The command and its seed reproduce rows, operations and their order; times depend on the machine."),
        Code(repeat_command(settings), "Repeat"),
        Code(next_command("export", settings, "--format", "csv"), "Raw data: one row per trial"),
        Code(citation(data), "Cite"),
        Listing([("", text) for text in facts(result)], "facts"),
        _twins_table(result),
        _mapping_table("Options of the run", settings.options),
        _mapping_table("Machine", result.machine),
        _mapping_table("Versions", result.versions),
        *headed("Limits", (("", words) for words in _cannot_show(result))),
    ]
    return Section("repeat", "Repeat this run", blocks)


def citation(data: RunData) -> str:
    settings = data.result.settings
    version = data.result.versions.get("tdelta", "of unknown version")
    library = data.result.versions.get("library under test")
    under_test = f" ({library})" if library else ""
    return (
        f"tdelta {version}, run {settings.run_id} of {date_text(data.created_unix_seconds)}, seed {settings.seed}:"
        f" {settings.engine}{under_test}, workload {settings.workload}."
    )


def _twins_table(result: RunResult) -> Table:
    settings = result.settings
    factors = list(dict.fromkeys(name for c in settings.conditions for name, _ in c.levels))
    rows = [
        (label(c, settings), _ROLES[c.role], *(str(c.get(name, MISSING)) for name in factors))
        for c in settings.conditions
    ]
    columns = [Column("configuration"), Column("role"), *(Column(name.replace("_", " ")) for name in factors)]
    return Table("All configurations", columns, rows)


def _mapping_table(caption: str, values: Mapping[str, object]) -> Table:
    rows = [(name.replace("_", " "), value_text(name, value)) for name, value in values.items()]
    return Table(caption, [Column("name"), Column("value")], rows, folded=True)


def value_text(name: str, value: object) -> str:
    """A setting or fact for people: sizes in their unit, yes and no, lists and mappings as JSON, nothing as a dash."""
    if value is None:
        return MISSING
    if name.endswith("_bytes") and isinstance(value, int):
        return amounts((value,), "bytes")[0]
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _cannot_show(result: RunResult) -> Iterator[str]:
    yield "Differences smaller than those of identical copies (Noise)."
    yield "Other machines, versions, workloads and sizes: the cost depends on all of them."
    yield "Tails: percentiles and shares beyond a threshold are informational."
    yield "The security of a cipher or of the key management."
    yield "Effects of months of use: fragmentation, growth, backups, key rotation."
    if not result.settings.is_open_loop:
        yield (
            "Response times below saturation: clients send the next request at once (closed loop), so the database is"
            " always busy."
        )
    if result.counts.rounds < 2:
        yield "Variation between copies: a single round has one database of each configuration."


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
