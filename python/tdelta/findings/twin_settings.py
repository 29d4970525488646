"""In what the settings of the twins differ, beside their rows' ciphertext, and what they share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tdelta.document.blocks import Block, Column, Heading, Medium, Table
from tdelta.findings.base import Kind
from tdelta.records import Finding, RunResult


@dataclass(frozen=True, slots=True)
class SettingsCompared(Finding):
    """Settings read back from twins. ``shared`` are the same on all of them, by name.

    ``varied`` are those that differ between strata, as their factors say, with their values in order; ``differing``
    what each kind of encrypted twin is given and a plain one is not, by the kind's name.
    """

    FINDING = "twin_settings"
    IS_SINGLE = True

    shared: Mapping[str, str]
    varied: Mapping[str, tuple[str, ...]]
    differing: Mapping[str, tuple[str, ...]]


def blocks(found: Sequence[SettingsCompared], _result: RunResult) -> Iterator[Block]:
    (compared,) = found
    yield Heading("Settings of the copies")
    if compared.differing:
        caption = "Set on encrypted copies, not on unencrypted ones"
        yield _table(caption, ("copies", "settings"), _joined(compared.differing))
    if compared.varied:
        caption = "Settings that differ by a factor of the run"
        yield _table(caption, ("setting", "values"), _joined(compared.varied), folded=True)
    yield _table("Settings of all copies, as read back", ("setting", "value"), compared.shared, folded=True)


def _joined(lists: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {name: ", ".join(values) for name, values in lists.items()}


def _table(caption: str, titles: Sequence[str], values: Mapping[str, str], *, folded: bool = False) -> Table:
    return Table(caption, list(map(Column, titles)), list(values.items()), folded, medium=Medium.PAGE)


KIND = Kind(SettingsCompared, blocks=blocks, part="settings")
