"""Layers of encryption side by side: what each costs, what lies in the clear under it, what it protects from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tdelta.design.storages import storage_of
from tdelta.document.blocks import Block, Listing, Medium, Paragraph, Table, columns
from tdelta.document.effect import limits
from tdelta.document.labels import decision_word, storage_words
from tdelta.document.quantities import MISSING
from tdelta.document.wording import label, verdict_cells
from tdelta.findings.base import FinishedRun, Kind
from tdelta.records import Condition, Finding, RunResult

_BY_KERNEL = ("fscrypt", "dm-crypt")
"""Storage layers that encrypt with the kernel's AES-XTS, as named in `tdelta.measure.encrypted_folders`."""

_NOTE = (
    "Overheads are of the primary metric, compared with unencrypted copies on storage of the same kind. In force: the"
    " encryption that the kernel reports for the folders of the copies."
)


@dataclass(frozen=True, slots=True)
class StorageLayer(Finding):
    """The encrypting layer of the twins of one judged condition: its storage, the engine's cipher, or both.

    ``driver`` is the kernel's of AES-XTS, empty where the kernel does not encrypt. ``in_clear`` says what the storage
    leaves in the clear, ``protects`` what it protects from; both are declared for its kind (`tdelta.design.storages`).
    """

    FINDING = "storage"

    condition: Condition
    storage: str
    encryption: str
    is_image: bool
    is_direct: bool
    driver: str
    in_clear: str
    protects: str


def of_run(run: FinishedRun) -> Iterator[StorageLayer]:
    """A layer for every condition that is judged for its encryption, where the run varies storage."""
    for condition in run.settings.conditions:
        level = str(condition.get("storage"))
        if level in run.storages and condition.is_protected:
            kind, found = storage_of(level), run.storages[level]
            yield StorageLayer(
                condition=condition,
                storage=level,
                encryption=found.encryption,
                is_image=found.is_image,
                is_direct=found.is_direct,
                driver=found.driver if any(name in found.encryption for name in _BY_KERNEL) else "",
                in_clear=kind.in_clear,
                protects=kind.protects,
            )


def blocks(found: Sequence[StorageLayer], result: RunResult) -> Iterator[Block]:
    """The cost of each layer; in a terminal, what it leaves in the clear and protects from stands below the table."""
    more = ("kernel's driver", "in the clear", "protects from")
    texts = ("verdict", "in force", *more)
    titles = columns("overhead", "95% interval", *texts, texts=texts, more=more)
    rows = [(label(one.condition, result.settings), *_cells(one, result)) for one in found]
    yield Table("Layers of encryption", titles, rows, name="layers")
    said = [
        f"{_layer(storage)}: in the clear: {one.in_clear}. It protects from: {one.protects}."
        for storage, one in {one.storage: one for one in found}.items()
    ]
    yield Listing([("", text) for text in said], medium=Medium.TERMINAL)
    yield Paragraph(_NOTE, "note")


def _cells(one: StorageLayer, result: RunResult) -> tuple[str, ...]:
    verdict = next((v for v in result.primary if v.condition == one.condition), None)
    judged: tuple[str, ...] = (MISSING, MISSING, MISSING)
    if verdict is not None:
        word = decision_word(verdict.decision, verdict.metric)
        judged = (*verdict_cells(verdict, limits(result.settings))[1], word)
    by = f", {one.driver}" if one.driver else ""
    in_force = f"{one.encryption}{by}" if one.encryption else "no encryption below the engine"
    return *judged, in_force, one.driver or MISSING, one.in_clear, one.protects


def _layer(storage: str) -> str:
    """The layer that the words of a storage describe: of plain storage the engine's own cipher."""
    words = storage_words(storage)
    return f"the engine's cipher on {words}" if words != storage else words


KIND = Kind(StorageLayer, of_run, blocks, "storage", "Layers of encryption")
