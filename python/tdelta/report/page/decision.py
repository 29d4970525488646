"""The decision page: what a change board reads, in the order in which it asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from tdelta import __version__
from tdelta.design.topics import Topic
from tdelta.records import Decision, EvidenceState
from tdelta.report.decision import CPUS, DecisionBasis, DecisionLine
from tdelta.report.labels import decision_word
from tdelta.report.page.blocks import Block, Cell, Code, Column, Heading, Listing, Page, Paragraph, Section, Table
from tdelta.report.page.compare import UNPAIRED
from tdelta.report.page.compose import MARKER
from tdelta.report.page.figures.forest import Limits, Row, RowStyle, forest
from tdelta.report.page.wording import date_text, listed, mark, overhead
from tdelta.report.quantities import MISSING, amounts, counted, hdi_text, percent, rate

TITLES = {
    Topic.DAILY: "Afterwards, in daily work",
    Topic.CAPACITY: "At a given load",
    Topic.CHANGE: "The change itself: encrypting, rotating, decrypting",
    Topic.RECOVERY: "Starts and recovery after a crash",
    Topic.BACKUP: "Backups and restores",
    Topic.TEMPORARY: "Queries that write temporary files",
    Topic.REPLICATION: "Replicas",
    Topic.AGE: "With age",
}
"""What each topic is called."""

_NAMES = {
    Topic.DAILY: "daily work afterwards",
    Topic.CAPACITY: "response time at a given load",
    Topic.CHANGE: "the change itself",
    Topic.RECOVERY: "starts and recovery",
    Topic.BACKUP: "backups and restores",
    Topic.TEMPORARY: "temporary files",
    Topic.REPLICATION: "replicas",
    Topic.AGE: "change with age",
}
"""The same within a sentence."""

_STATES = {
    EvidenceState.LEAK: Cell("plain text found, though this class is to be encrypted", "bad"),
    EvidenceState.UNCOVERED: Cell("plain text found: this class is not encrypted", "bad"),
    EvidenceState.MOUNTED: Cell("in the clear as long as it is mounted", "quiet"),
    EvidenceState.MISSING: Cell("not shown: the plain twin does not show it either", "quiet"),
    EvidenceState.NOT_TESTED: Cell("not tested: no plain twin shows its rows there", "quiet"),
    EvidenceState.ENCRYPTED: Cell("none found", "good"),
}
_UNSOUND = "No figure of this run is to be relied on: one of its checks failed."
_NO_COMMAND = "nothing in this version measures it"
_ORDINARY = 0.02


def compose(basis: DecisionBasis) -> Page:
    """The page of a decision."""
    is_alarm = bool(basis.runs) and all(run.decision is Decision.UNSOUND for run in basis.runs)
    topics = (_topic(topic, basis) for topic in Topic)
    sections = (_answer(basis), *topics, _disk(basis), _clear(basis), _unmeasured(basis), _runs(basis))
    ids = " ".join(run.run_id for run in basis.runs)
    return Page(
        title=f"tdelta: encryption of {basis.engine}, decided on {len(basis.runs)} runs",
        eyebrow=f"tdelta, {basis.engine}: {_when(basis)}",
        headline=f"What encryption costs on {basis.engine}",
        is_alarm=is_alarm,
        sections=[section for section in sections if section is not None],
        marker=f"{MARKER}: decision {ids}",
        footer=f"Drawn by tdelta {__version__} from the stored runs alone. This file asks nothing of any network.",
    )


def _when(basis: DecisionBasis) -> str:
    dates = sorted({date_text(run.created_unix_seconds)[:10] for run in basis.runs})
    return f"measured {dates[0]}" if len(dates) == 1 else f"measured {dates[0]} to {dates[-1]}"


def sentences(basis: DecisionBasis) -> Iterator[str]:
    """One sentence for each topic that was measured, by its primary figures, and one for what was not.

    It has figures of what was decided only.
    """
    for topic in Topic:
        lines = [line for line in basis.about(topic) if line.decision is not Decision.UNSOUND]
        heads = [line for line in lines if line.metric == lines[0].metric]
        decided = [line for line in heads if line.decision is not Decision.UNDECIDED]
        if topic is not Topic.DAILY and heads:
            said = [_span(decided)] if decided else []
            open_ones = len(heads) - len(decided)
            said += [f"undecided for {open_ones} of {counted(len(heads), 'condition')}"] if open_ones else []
            yield f"{TITLES[topic]}: {'; '.join(said)}."
    if basis.unmeasured:
        yield f"Not measured: {listed([_NAMES[one.topic] for one in basis.unmeasured])}."


def _span(lines: Sequence[DecisionLine]) -> str:
    least, most = (pick(lines, key=lambda line: line.ratio.median) for pick in (min, max))
    if least is most:
        within = hdi_text(least.ratio, least.ratio.hdi95)
        return f"{overhead(least.ratio)} {least.metric} ({least.what}; 95 % HDI {within})"
    ends = " to ".join(f"{overhead(line.ratio)} ({line.what})" for line in (least, most))
    return f"{least.metric} {ends}"


def _answer(basis: DecisionBasis) -> Section:
    lead = (
        basis.answer or "The load after the change was not measured, so there is no answer to what it costs every day."
    )
    blocks: list[Block] = [Paragraph(lead, "lead"), *(Paragraph(text) for text in sentences(basis))]
    in_clear = [
        line.file_class for line in basis.in_clear if line.state in (EvidenceState.LEAK, EvidenceState.UNCOVERED)
    ]
    if in_clear:
        blocks.append(Paragraph(f"Stays in the clear: {listed(in_clear)}.", "caution"))
    if readable := list(dict.fromkeys(line.what for line in basis.backups if line.in_clear)):
        blocks.append(Paragraph(f"Backups of the encrypted database that can be read: {listed(readable)}.", "caution"))
    rows = [
        row
        for topic, lines in groupby(basis.lines, key=lambda line: line.topic)
        for row in (Row(TITLES[topic]), *_rows(list(lines)))
    ]
    if basis.lines:
        blocks.append(
            forest(
                "decision",
                "Overhead by question, in each run's primary figure",
                rows,
                Limits(rope=(1 - _ORDINARY, 1 + _ORDINARY)),
                axis="over plain",
                caption="Circle: median; thick bar: 95 % HDI; thin bar: 99 % HDI; the band is ±2 %. " + UNPAIRED,
            )
        )
    return Section("answer", "The decision", blocks)


def _rows(lines: Sequence[DecisionLine]) -> Iterator[Row]:
    """The primary figure of each condition: the first line of its run and name."""
    seen: set[tuple[str, str]] = set()
    for line in lines:
        if (line.run_id, line.what) not in seen:
            seen.add((line.run_id, line.what))
            style = RowStyle.ALARM if line.decision is Decision.UNSOUND else RowStyle.JUDGED
            yield Row(f"{line.what}, {line.metric}", line.ratio, f"{mark(line.decision)} {_word(line)}", style)


def _word(line: DecisionLine) -> str:
    return decision_word(line.decision, line.metric)


def _topic(topic: Topic, basis: DecisionBasis) -> Section | None:
    lines = basis.about(topic)
    if not lines:
        return None
    blocks: list[Block] = []
    for run_id, group in groupby(lines, key=lambda line: line.run_id):
        of_run = list(group)
        run = next(run for run in basis.runs if run.run_id == run_id)
        blocks.append(Heading(f"{run_id}: {run.subject}"))
        if run.decision is Decision.UNSOUND:
            blocks.append(Paragraph(_UNSOUND, "alarm"))
        blocks.append(_table(of_run, "Plain and encrypted"))
    if topic is Topic.BACKUP and basis.backups:
        blocks.append(_backups(basis))
    return Section(topic.value, TITLES[topic], blocks)


def _table(lines: Sequence[DecisionLine], caption: str) -> Table:
    columns = [
        Column(""),
        Column("plain", is_number=True),
        Column("encrypted", is_number=True),
        Column("change", is_number=True),
        Column("95 % HDI, %", is_number=True),
        Column("decision"),
    ]
    rows = []
    for line in lines:
        plain, encrypted = _amounts(line)
        due = "" if line.rate is None else f", {rate(line.rate)} operations/s due"
        rows.append(
            (
                f"{line.what}{due}: {line.metric}",
                plain,
                encrypted,
                overhead(line.ratio),
                hdi_text(line.ratio, line.ratio.hdi95),
                f"{mark(line.decision)}\u00a0{_word(line)}",
            )
        )
    return Table(caption, columns, rows)


def _backups(basis: DecisionBasis) -> Table:
    columns = [
        Column(""),
        Column("kind"),
        *(Column(name, is_number=True) for name in ("plain", "encrypted", "ratio, plain", "ratio, encrypted")),
        Column("in the clear, encrypted twin"),
        Column("run"),
    ]
    rows = [
        (
            line.what,
            "logical" if line.is_logical else "physical",
            *amounts((line.plain_bytes, line.encrypted_bytes), "bytes"),
            f"{line.plain_ratio:.2f}",
            f"{line.encrypted_ratio:.2f}",
            ", ".join(line.in_clear) or ("nothing" if line.is_searched else "not searched"),
            line.run_id,
        )
        for line in basis.backups
    ]
    return Table("How large backups are, and how many times smaller compression made them", columns, rows)


def _amounts(line: DecisionLine) -> tuple[str, ...]:
    if line.unit == CPUS:
        return tuple(f"{value:.3g}" for value in (line.plain, line.encrypted))
    return amounts((line.plain, line.encrypted), line.unit)


def _disk(basis: DecisionBasis) -> Section | None:
    if not basis.sizes:
        return None
    rows = []
    for line in basis.sizes:
        plain, encrypted = amounts((line.plain_bytes, line.encrypted_bytes), "bytes")
        more = percent(line.encrypted_bytes / line.plain_bytes) if line.plain_bytes else MISSING
        rows.append((line.what, plain, encrypted, more, line.run_id))
    columns = [Column(""), *(Column(name, is_number=True) for name in ("plain", "encrypted", "change")), Column("run")]
    return Section("disk", "Disk", [Table("The same rows when loaded, as the engine counts them", columns, rows)])


def _clear(basis: DecisionBasis) -> Section:
    title = "What stays in the clear"
    if not basis.in_clear:
        return Section("clear", title, [Paragraph("No run searched the files of its twins.", "caution")])
    rows = [(one.file_class, _STATES[one.state], ", ".join(one.files) or MISSING, one.run_id) for one in basis.in_clear]
    columns = [Column("class of file"), Column("planted plain text in encrypted twins"), Column("files"), Column("run")]
    return Section("clear", title, [Table("The worst that any of these runs found", columns, rows)])


def _unmeasured(basis: DecisionBasis) -> Section:
    if not basis.unmeasured:
        return Section("unmeasured", "What was not measured", [Paragraph("Every question above has a run.")])
    intro = Paragraph("These have no figure here; the command beside each measures it, where the engine can do it.")
    items = [(MISSING, f"{TITLES[one.topic]}: {one.command or _NO_COMMAND}") for one in basis.unmeasured]
    return Section("unmeasured", "What was not measured", [intro, Listing(items)])


def _runs(basis: DecisionBasis) -> Section:
    columns = [Column("run"), Column("planned"), Column("study"), Column("what"), Column("decision")]
    rows = [
        (run.run_id, date_text(run.created_unix_seconds), run.study or "none", run.subject, run.decision.value)
        for run in basis.runs
    ]
    differing = [f"{name}: {listed(found)}" for name, found in basis.versions.items() if len(found) > 1]
    blocks: list[Block] = [Table("The runs, and no others", columns, rows)]
    if differing:
        blocks.append(Paragraph(f"Versions differ between them: {'; '.join(differing)}.", "caution"))
    blocks.append(Code(f"tdelta report --decision {' '.join(run.run_id for run in basis.runs)}", "This page again"))
    return Section("runs", "What it rests on", blocks)
