"""Layers of encryption side by side: what each costs, what lies in the clear under it, what it protects from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tdelta.document.blocks import Block, Listing, Medium, Paragraph, Table, columns
from tdelta.document.effect import limits
from tdelta.document.labels import decision_word, storage_words
from tdelta.document.quantities import MISSING, amounts, ratio_cells
from tdelta.document.wording import label
from tdelta.records import DataSize, RunResult, StorageLayer, Verdict

_NOTE = (
    "Overheads are of the primary metric, over twins without any encryption on storage of the same kind. In force:"
    " what the kernel's tables say of the folders of the twins."
)


def blocks(result: RunResult) -> Iterator[Block]:
    """What each layer costs; in a terminal, what it leaves in the clear and protects from stands below the table."""
    found = result.of(StorageLayer)
    if not found:
        return
    yield _by_condition(found, result)
    said = [
        f"{_layer(storage)}: in the clear: {one.in_clear}. It protects from: {one.protects}."
        for storage, one in {one.storage: one for one in found}.items()
    ]
    yield Listing([("", text) for text in said], medium=Medium.TERMINAL)
    yield Paragraph(_NOTE, "note")


def _by_condition(found: Sequence[StorageLayer], result: RunResult) -> Table:
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
    more = ("kernel's driver", "in the clear", "protects from")
    texts = ("verdict", "in force", *more)
    titles = columns("overhead", "95% interval", *texts, texts=texts, more=more)
    return Table("Layers of encryption", titles, rows, name="layers")


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


def size_blocks(result: RunResult) -> list[Block]:
    """A row for each kind of twin; nothing where there is one kind, or none is known."""
    found = result.of(DataSize)
    if len(found) < 2:
        return []
    sizes = amounts([one.size_bytes for one in found], "bytes")
    rows = [(label(one.condition, result.settings), size) for one, size in zip(found, sizes, strict=True)]
    caption = "Data when it had been loaded, as the engine counts it"
    return [Table(caption, columns("size"), rows, medium=Medium.PAGE)]
