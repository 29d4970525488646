from pathlib import Path

import pytest

from support.backed_up import check_logical, check_physical, check_restored
from support.file_actions import acted
from tdelta.processes.actions import SECONDS

COPY, DUMP = "backup:compress=zstd", "backup:tool=dump:compress=zstd"
ROWS = "backup:tool=copy-rows:compress=zstd"
RESTORES = ("restore", "restore:tool=dump:compress=zstd", "restore:tool=copy-rows")
CIPHER = "aes-256-gcm"


def test_backups_show_and_compress_what_their_files_do_and_restores_have_all_rows(tmp_path: Path) -> None:
    found = acted(tmp_path, (COPY, ROWS, DUMP, *RESTORES), again="", engine="duckdb")
    for level in (COPY, ROWS):
        check_physical(found, level, {"database"}, cipher=CIPHER)
    check_logical(found, DUMP, cipher=CIPHER)
    check_restored(found, RESTORES, cipher=CIPHER)


@pytest.mark.parametrize("level", [DUMP, ROWS])
def test_rows_are_backed_up_beside_transactions_that_change_them(tmp_path: Path, level: str) -> None:
    found = acted(
        tmp_path, (), again="", beside=level, engine="duckdb", workload="order-entry", vary={"during": (level,)}
    )
    for cipher in ("none", CIPHER):
        measured = found[cipher, level]
        assert measured.operations == 5
        assert measured.engine_counters[SECONDS] > 0
        assert measured.cpu_seconds > 0
    if level == DUMP:
        check_logical(found, level, cipher=CIPHER)
    else:
        check_physical(found, level, {"database"}, cipher=CIPHER)
