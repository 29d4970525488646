"""Layers of encryption side by side: what each costs, what lies in the clear under it, what it protects from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text

from tdelta.records import RunResult, StorageLayer, Verdict
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.labels import compared_label, condition_label, decision_word, metric_name, storage_words
from tdelta.report.page.blocks import Block, Column, Paragraph
from tdelta.report.page.blocks import Table as PageTable
from tdelta.report.page.wording import label
from tdelta.report.quantities import MISSING, decimals, interval, ratio_cells
from tdelta.report.sentence import limits

_NOTE = (
    "Overheads are of the primary metric, over twins without any encryption on storage of the same kind. In force:"
    " what the kernel's tables say of the folders of the twins."
)


def text(result: RunResult, width: int) -> list[Text | Table]:
    """The table, then for each storage what it leaves in the clear and what it protects from."""
    found = result.of(StorageLayer)
    if not found:
        return []
    layers: dict[str, list[StorageLayer]] = {}
    for one in found:
        layers.setdefault(compared_label(one.condition), []).append(one)
    table = _by_layer(layers, result) if len(layers) < len(found) else _by_condition(found, result)
    table.padding = (0, 1, 0, 0)
    lines: list[Text] = []
    for storage, one in {one.storage: one for one in found}.items():
        said = f"{_layer(storage)}: in the clear: {one.in_clear}. It protects from: {one.protects}."
        lines += paragraph(said, width, indent="  ")
    return [table, Text(), *lines, *paragraph(_NOTE, width, "dim")]


def _by_condition(found: Sequence[StorageLayer], result: RunResult) -> Table:
    table = plain_table(
        (("layers", False), ("overhead", True), ("95 % HDI", True), ("verdict", False), ("in force", False))
    )
    for one in found:
        table.add_row(condition_label(one.condition, result.settings), *_judged(one, result), _in_force(one))
    return table


def _by_layer(layers: Mapping[str, Sequence[StorageLayer]], result: RunResult) -> Table:
    """Each layer once, over all conditions that have it: those are in the table of verdicts one by one."""
    verdicts = {verdict.condition: verdict for verdict in result.primary}
    table = plain_table((("layers", False), ("overheads, %", True), ("verdicts", False), ("in force", False)))
    for layer, ones in layers.items():
        judged = [verdicts[one.condition] for one in ones if one.condition in verdicts]
        medians = [verdict.ratio.median for verdict in judged]
        places = decimals(medians, limits(result.settings))
        words = Counter(decision_word(verdict.decision, verdict.metric) for verdict in judged)
        table.add_row(
            layer,
            interval((min(medians), max(medians)), places) if medians else MISSING,
            ", ".join(f"{count} {word}" for word, count in words.items()) or MISSING,
            _in_force(ones[0]),
        )
    return table


def blocks(result: RunResult) -> list[Block]:
    found = result.of(StorageLayer)
    if not found:
        return []
    named = f"overhead, {metric_name(result.settings.metric, result.settings)}"
    titles = ("verdict", "in force", "kernel's driver", "in the clear", "protects from")
    columns = [Column(""), Column(named, is_number=True), Column("95 % HDI", is_number=True), *map(Column, titles)]
    rows = [
        (
            label(one.condition, result.settings),
            *_judged(one, result),
            _in_force(one),
            one.driver or MISSING,
            one.in_clear,
            one.protects,
        )
        for one in found
    ]
    return [PageTable("Layers of encryption", columns, rows), Paragraph(_NOTE, "note")]


def _layer(storage: str) -> str:
    """What the words of a storage are about: of plain storage the engine's own cipher."""
    words = storage_words(storage)
    return f"the engine's cipher on {words}" if words != storage else words


def _judged(one: StorageLayer, result: RunResult) -> tuple[str, str, str]:
    verdict: Verdict | None = next((v for v in result.primary if v.condition == one.condition), None)
    if verdict is None:
        return MISSING, MISSING, MISSING
    return *ratio_cells(verdict.ratio, limits(result.settings)), decision_word(verdict.decision, verdict.metric)


def _in_force(one: StorageLayer) -> str:
    by = f", {one.driver}" if one.driver else ""
    return f"{one.encryption}{by}" if one.encryption else "no encryption below the engine"
