from rich.table import Table

from support import samples as s
from tdelta.findings.storage import KIND
from tdelta.records import RunResult
from tdelta.report.drawing import parts_of


def cells(result: RunResult) -> list[list[str]]:
    (table,) = (part for part in parts_of(KIND.shown(result), 100) if isinstance(part, Table))
    return [[str(cell) for cell in column.cells] for column in table.columns]


def test_layers_of_one_condition_each_have_its_verdict() -> None:
    layers, _, _, verdicts, _ = cells(s.stored())
    assert layers == ["AES-256", "fscrypt", "AES-256 on gocryptfs"]
    assert verdicts == ["slower"] * 3
