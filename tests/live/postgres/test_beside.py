from pathlib import Path

from support.beside import beside
from tdelta.processes.actions import DELETED, SECONDS, THERE

from .servers import stock_engine


def test_a_copy_into_encrypted_storage_beside_a_load_has_nothing_in_the_clear_and_its_source_all(
    tmp_path: Path,
) -> None:
    stock_engine()
    trial = beside(tmp_path, "postgres", "encrypt:rate=1000")
    assert trial.measured.operations == 400
    assert trial.measured.engine_counters[SECONDS] > 0
    assert trial.counted["backup_ns"] > 0 < trial.counted["start_ns"]
    assert "storage" in trial.searched()
    for rows in (THERE, DELETED):
        assert "storage" not in trial.in_the_clear(rows)
        assert "tables" in trial.in_the_clear(rows)
    assert trial.after == trial.before
