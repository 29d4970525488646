from support import samples as s
from tdelta.document.blocks import Table
from tdelta.findings.storage import KIND
from tdelta.records import RunResult


def cells(result: RunResult) -> list[list[str]]:
    (table,) = (block for block in KIND.shown(result) if isinstance(block, Table))
    return [
        [cell if isinstance(cell, str) else cell.text for cell in column] for column in zip(*table.rows, strict=True)
    ]


def test_layers_of_one_condition_each_have_its_verdict() -> None:
    layers, _, _, verdicts, *_ = cells(s.stored())
    assert layers == ["AES-256", "fscrypt", "AES-256 on gocryptfs"]
    assert verdicts == ["slower"] * 3
