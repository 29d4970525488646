from dataclasses import replace

from rich.table import Table

from support import samples as s
from tdelta.records import Condition, Decision, RunResult, StorageLayer
from tdelta.report.drawing import parts_of
from tdelta.report.findings.storage import blocks


def cells(result: RunResult) -> list[list[str]]:
    (table,) = (part for part in parts_of(blocks(result), 100) if isinstance(part, Table))
    return [[str(cell) for cell in column.cells] for column in table.columns]


def swept() -> RunResult:
    """Every layer a second time, with a smaller cache, where nothing is decided."""
    once = s.stored()

    def cold(condition: Condition) -> Condition:
        return replace(condition, levels=(*condition.levels, ("cache", 0.1)), stratum=1)

    layers = [replace(one, condition=cold(one.condition)) for one in once.of(StorageLayer)]
    verdicts = [
        replace(
            one,
            condition=cold(one.condition),
            ratio=s.estimate(one.ratio.median - 0.05, 0.3),
            decision=Decision.UNDECIDED,
        )
        for one in once.primary
    ]
    return replace(once, verdicts=(*once.verdicts, *verdicts), findings=(*once.findings, *layers))


def test_layers_of_one_condition_each_have_its_verdict() -> None:
    layers, _, _, verdicts, _ = cells(s.stored())
    assert layers == ["aes-256", "fscrypt", "aes-256 on gocryptfs"]
    assert verdicts == ["slower"] * 3


def test_layers_of_a_sweep_stand_once_with_the_range_of_their_overheads() -> None:
    layers, overheads, verdicts, in_force = cells(swept())
    assert layers == ["aes-256", "fscrypt", "aes-256 on gocryptfs"]
    assert overheads == ["+4.0 … +9.0", "+26.0 … +31.0", "+315 … +320"]
    assert verdicts == ["1 slower, 1 undecided"] * 3
    assert len(in_force) == 3
