"""What ``tdelta engines``, ``tdelta studies`` and ``--dry-run`` print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from rich.table import Table
from rich.text import Text

from tdelta.document.labels import database_text
from tdelta.document.quantities import amounts, counted, duration, printable
from tdelta.engines.profile import EngineInfo
from tdelta.report.drawing import draw, paragraph, plain_table
from tdelta.report.values import record_values
from tdelta.session.external_servers import engines_of
from tdelta.session.outlook import DryRun
from tdelta.session.studies import Study

ENGINES_SCHEMA = "tdelta.engines/1"
STUDIES_SCHEMA = "tdelta.studies/2"
_INDENT = "    "
_DEEP = " " * 9
_MOST_TABLES = 10


NO_REASONS: Mapping[str, str | None] = MappingProxyType({})


def engines_text(
    engines: Sequence[EngineInfo], width: int, reasons: Mapping[str, str | None] = NO_REASONS, *, color: bool = False
) -> str:
    """The engines, those that can be tested here first, with ciphers or what to install below each.

    Args:
        reasons: by whose code encrypts, why its AES instructions cannot be switched off here; None where they can.
    """
    parts: list[Text | Table] = []
    for engine in sorted(engines, key=lambda e: not e.available):
        state = _availability(engine)
        state += f"  (--library {engine.option})" if engine.option else ""
        parts.append(Text(f"{engine.name:<12} {state}", style="bold" if engine.available else "dim"))
        for line in _engine_lines(engine, reasons):
            parts += paragraph(f"{_INDENT}{line}", width, indent=_INDENT * 2)
    return draw(parts, width, color=color)


def engines_document(
    engines: Sequence[EngineInfo], reasons: Mapping[str, str | None] = NO_REASONS
) -> dict[str, object]:
    """The engines as JSON values; ``reasons`` as for `engines_text`."""
    return {
        "schema": ENGINES_SCHEMA,
        "engines": [record_values(engine) | {"aes_instructions": _instructions(engine, reasons)} for engine in engines],
    }


def studies_text(studies: Sequence[Study], width: int, *, color: bool = False) -> str:
    """The studies, each with the published experiment it comes from."""
    parts: list[Text | Table] = []
    for study in studies:
        parts += paragraph(f"{study.name}: {study.title}", width, "bold", indent=_INDENT)
        read = " ".join(f"published:{name}" for name in study.tables)
        analyze = f"its tables: tdelta analyze {read}" if read and study.runs else ""
        command = "" if study.runs else f"its command: {study.command}"
        own = ", ".join(engines_of(study))
        servers = f"on your own servers: {own}" if own else ""
        for line in filter(None, (f"published: {study.published}", study.note, servers, analyze, command)):
            parts += paragraph(f"{_INDENT}{line}", width, indent=_INDENT * 2)
    return draw(parts, width, color=color)


def studies_document(studies: Sequence[Study]) -> dict[str, object]:
    return {
        "schema": STUDIES_SCHEMA,
        "studies": [
            {
                "name": study.name,
                "title": study.title,
                "published": study.published,
                "runs": study.runs,
                "command": study.command,
                "note": study.note,
                "tables": list(study.tables),
                "external_servers": list(engines_of(study)),
            }
            for study in studies
        ],
    }


def dry_run_text(plan: DryRun, width: int, *, color: bool = False) -> str:
    """What a run would take: minutes, gigabytes, memory, and whether there is enough."""
    table = plain_table((("", False), ("needs", True), ("free", True)))
    for name, needed, free in (
        ("disk", plan.disk_bytes, plan.disk_free_bytes),
        ("memory", plan.memory_bytes, plan.memory_free_bytes),
    ):
        table.add_row(name, amounts((needed,), "bytes")[0], amounts((free,), "bytes")[0])
    names = "; ".join(plan.conditions)
    lines = [
        f"{counted(len(plan.conditions), 'condition')}: {names}",
        f"{_span(plan)}, at least {counted(plan.trials_at_least, 'trial')}; files go to {plan.directory}",
    ]
    cautions = [text for caution in plan.cautions for text in paragraph(f"- {caution}", width, "yellow", indent="  ")]
    texts = [text for line in lines for text in paragraph(line, width, indent="  ")]
    own = _own_database(plan, width)
    faults = [text for fault in plan.faults for text in paragraph(f"- {fault}", width, "red", indent="  ")]
    no_room = [Text(), Text("no room: this run would be refused"), *faults] if faults else []
    shown = [Text(), *cautions] if cautions else []
    return draw([*texts, Text(), table, *own, *shown, *no_room], width, color=color)


def _own_database(plan: DryRun, width: int) -> list[Text | Table]:
    """The tables of a user's database and the transactions on it; nothing where the rows are generated."""
    if plan.database is None:
        return []
    kind = "proposed" if plan.database.proposed else "given"
    parts: list[Text | Table] = [Text(), *paragraph(database_text(plan.database) + _only_read(plan), width)]
    parts += [Text(), *_tables(plan), Text(), Text(f"transactions ({kind})", style="dim"), *_transactions(plan, width)]
    if plan.notes:
        notes = [text for note in plan.notes for text in paragraph(f"- {printable(note)}", width, "dim", indent="  ")]
        parts += [Text(), Text("not proposed", style="dim"), *notes]
    if plan.written is not None:
        origin = "--restore" if plan.database.restored else "--database"
        shown = f"written to {plan.written}: edit it, then give it with {origin} and --workload {plan.written}"
        parts += [Text(), *paragraph(shown, width, indent="  ")]
    return parts


def _only_read(plan: DryRun) -> str:
    return "; only read" if plan.database is not None and not plan.database.restored else ""


def _tables(plan: DryRun) -> list[Text | Table]:
    table = plain_table((("biggest tables", False), ("rows", True), ("size", True)))
    for line in plan.tables[:_MOST_TABLES]:
        table.add_row(printable(line.name), f"{line.rows:,}", amounts((line.size_bytes,), "bytes")[0])
    smaller = len(plan.tables) - _MOST_TABLES
    return [table, *([Text(f"and {counted(smaller, 'smaller table')}", style="dim")] if smaller > 0 else [])]


def _transactions(plan: DryRun, width: int) -> list[Text | Table]:
    parts: list[Text | Table] = []
    for transaction in plan.transactions:
        title = printable(transaction.title)
        parts += paragraph(f"{100 * transaction.share:5.1f}%  {transaction.name}: {title}", width)
        for line in transaction.script.splitlines():
            if line and not line.startswith("--"):
                parts += paragraph(f"{_DEEP}{line}", width, "dim", indent=_DEEP + _INDENT)
    return parts


def _span(plan: DryRun) -> str:
    """From the fewest rounds to the cap; what is short of that says so."""
    if plan.seconds_at_least <= plan.seconds_at_most:
        return f"{duration(plan.seconds_at_least)} to {duration(plan.seconds_at_most)}"
    least = f"the shortest run takes about {duration(plan.seconds_least)}"
    return f"{least}, one of all rounds {duration(plan.seconds_at_least)}; --max-time {duration(plan.seconds_at_most)}"


def _instructions(engine: EngineInfo, reasons: Mapping[str, str | None]) -> list[str]:
    """The levels of the factor ``aes_instructions`` that can be had here; none where that is not known."""
    if not engine.available or engine.crypto not in reasons:
        return []
    return ["on", "off"] if reasons[engine.crypto] is None else ["on"]


def _instructions_line(engine: EngineInfo, reasons: Mapping[str, str | None]) -> str:
    levels = _instructions(engine, reasons)
    why = f" (off cannot be had here: {reasons[engine.crypto]})" if levels == ["on"] else ""
    return f"AES instructions: {', '.join(levels)}{why}" if levels else ""


def _availability(engine: EngineInfo) -> str:
    if engine.available:
        return engine.version or "version unknown"
    return f"{engine.version}, found, but cannot be tested here" if engine.version else "not available here"


def _engine_lines(engine: EngineInfo, reasons: Mapping[str, str | None]) -> list[str]:
    ciphers = f"ciphers: {', '.join(engine.ciphers)}" if engine.ciphers else ""
    remedy = f"to install: {engine.install}" if engine.install and not engine.available else ""
    notes = "" if remedy and engine.install in engine.notes else engine.notes
    return [line for line in (engine.library, ciphers, _instructions_line(engine, reasons), remedy, notes) if line]
