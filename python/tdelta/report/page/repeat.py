"""The last part of the page: how to repeat the run, where the raw data are, how to cite it, and what it cannot show."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from tdelta.document.blocks import Block, Code, Column, Heading, Listing, Paragraph, Section, Table
from tdelta.document.quantities import MISSING, amounts, counted, duration
from tdelta.document.wording import date_text, label, run_words
from tdelta.records import Role, RunResult
from tdelta.report.command import next_command, repeat_command
from tdelta.report.details import ended, open_loop_words, trial_words
from tdelta.report.page.gather import RunData

_ROLES = {
    Role.BASELINE: "baseline",
    Role.AA: "A/A control: noise",
    Role.TREATMENT: "judged",
    Role.BB: "B/B control: noise of encrypted copies",
    Role.IDENTICAL: "judged, identical to the baseline",
    Role.INJECTED: "judged, slowed on purpose",
}


def repeat_section(data: RunData) -> Section:
    result = data.result
    settings = result.settings
    blocks: list[Block] = [
        Paragraph("The command and its seed draw the same rows, operations and orders again; times are the machine's."),
        Code(repeat_command(settings), "Repeat"),
        Code(next_command("export", settings, "--format", "csv"), "Raw data: one row per trial"),
        Code(citation(data), "Cite"),
        _run_table(data),
        _twins_table(result),
        _mapping_table("Options of the run", settings.options),
        _mapping_table("Machine", result.machine),
        _mapping_table("Versions", result.versions),
        Heading("What this run shows"),
        Listing([("", words) for words in _can_show()]),
        Heading("Limits"),
        Listing([("", words) for words in _cannot_show(result)]),
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


def _run_table(data: RunData) -> Table:
    result = data.result
    settings = result.settings
    each = f"{counted(result.counts.operations_per_trial, 'operation')}"
    rows = [
        ("run", run_words(result)),
        ("planned at", date_text(data.created_unix_seconds)),
        ("seed", str(settings.seed)),
        ("measured", f"{counted(result.counts.rounds, 'round')}, {counted(result.counts.blocks, 'block')}"),
        ("trials", f"{result.counts.trials:,} of {trial_words(result)}, at least {each} each"),
        ("took", f"{duration(result.counts.elapsed_seconds)}, {ended(result)}"),
        ("loop", _loop_words(result)),
        ("tried again", _kinds(result.loop.retries)),
        ("errors", _kinds(result.loop.errors)),
    ]
    return Table("The run", [Column(""), Column("")], rows)


def _loop_words(result: RunResult) -> str:
    return open_loop_words(result) or "closed loop: as fast as the clients can"


def _kinds(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} ({kind})" for kind, count in counts.items()) or "none"


def _twins_table(result: RunResult) -> Table:
    settings = result.settings
    factors = list(dict.fromkeys(name for c in settings.conditions for name, _ in c.levels))
    rows = [
        (label(c, settings), _ROLES[c.role], *(str(dict(c.levels).get(name, MISSING)) for name in factors))
        for c in settings.conditions
    ]
    columns = [Column("twin"), Column("part"), *(Column(name.replace("_", " ")) for name in factors)]
    return Table("Every twin and its levels", columns, rows)


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


def _can_show() -> Iterator[str]:
    yield (
        "What encryption cost this workload, at this size, on this machine and with these versions, against the same"
        " library without a key: twins hold identical rows and do identical work."
    )
    yield "How far identical plain twins lie apart here, and so which differences this run could not have seen."
    yield "Whether what it says of itself holds: rows, settings, work and files were checked, as listed above."


def _cannot_show(result: RunResult) -> Iterator[str]:
    yield "What another machine, version, workload or size would show; the cost is a property of all of them."
    yield "Tails: percentiles and shares beyond a threshold are described, not judged."
    yield "How safe a cipher, its key or their keeping is."
    yield "What months of use do: fragmentation, growth, backups, key rotation."
    if not result.settings.is_open_loop:
        yield (
            "What users feel below saturation: clients here ask again at once (closed loop), so the database is"
            " always busy."
        )
    if result.counts.rounds < 2:
        yield "The instance effect: a single round has only one instance of each twin."
