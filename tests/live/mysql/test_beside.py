from pathlib import Path

from support.beside import beside
from support.serving import found
from tdelta.evidence.search import FileClass
from tdelta.processes.actions import DELETED, SECONDS, THERE, WHILE_WORK


def test_tables_are_encrypted_beside_a_load_and_what_is_left_in_the_clear_is_named(tmp_path: Path) -> None:
    found("mysql")
    trial = beside(tmp_path, "mysql", "encrypt")
    assert trial.measured.operations == 400
    assert trial.measured.engine_counters[SECONDS] > 0
    assert trial.measured.engine_counters[WHILE_WORK] >= 0
    assert trial.counted["tables"] >= 2
    assert "tables" in trial.searched()
    assert "tables" not in trial.in_the_clear(THERE) | trial.in_the_clear(DELETED)
    assert FileClass.REDO in trial.in_the_clear(DELETED)
    assert trial.after == trial.before, "the rows are as before, and plain again"
