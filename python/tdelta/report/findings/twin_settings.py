from __future__ import annotations

from collections.abc import Iterator

from tdelta.records import RunResult, SettingsCompared
from tdelta.report.page.blocks import Block, Column, Heading, Table


def blocks(result: RunResult) -> Iterator[Block]:
    """In what the twins differ beside their rows' ciphertext, and what they share."""
    compared = result.one(SettingsCompared)
    if compared is None:
        return
    yield Heading("Settings of the twins")
    if compared.differing:
        rows = [(kind, ", ".join(names)) for kind, names in compared.differing.items()]
        yield Table(
            "What encrypted twins are given and plain ones are not", [Column("twins"), Column("settings")], rows
        )
    if compared.varied:
        varied = [(name, ", ".join(values)) for name, values in compared.varied.items()]
        columns = [Column("setting"), Column("values")]
        yield Table("What differs between strata, as their factors say", columns, varied, folded=True)
    shared = list(compared.shared.items())
    yield Table("What all twins share, read back from each", [Column("setting"), Column("value")], shared, folded=True)
