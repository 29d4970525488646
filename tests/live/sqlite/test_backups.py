from pathlib import Path

import pytest

from support.backed_up import CIPHER, check_logical, check_physical, check_restored, in_the_clear
from support.file_actions import acted
from support.running import require
from tdelta.engines.sqlite.libraries import SQLCIPHER
from tdelta.processes.actions import COUNTED, SECONDS

COPY, DUMP = "backup:tool=copy:compress=zstd", "backup:tool=dump:compress=zstd"
ONLINE = "backup:tool=online"
RESTORES = ("restore:tool=online:compress=zstd", "restore:tool=dump:compress=zstd")
OF_LIBRARY = {"sqlite3mc": "restore:tool=vacuum-into", "sqlcipher": "restore:tool=copy"}


@pytest.mark.parametrize("library", ["sqlite3mc", "sqlcipher"])
def test_backups_show_and_compress_what_their_files_do_and_restores_have_all_rows(library: str, tmp_path: Path) -> None:
    if library == "sqlcipher":
        require(SQLCIPHER.installed_version(), SQLCIPHER.install)
    restores = (*RESTORES, OF_LIBRARY[library])
    found = acted(tmp_path, (COPY, DUMP, *restores), again="", beside=ONLINE, engine="sqlite", library=library)
    check_physical(found, COPY, plain={"database"})
    check_logical(found, DUMP)
    check_restored(found, restores)
    for cipher, shown in (("none", {"database"}), (CIPHER, set())):
        beside = found[cipher, ONLINE]
        assert beside.operations == 5
        assert beside.engine_counters[SECONDS] > 0 < beside.engine_counters[f"{COUNTED}backup_bytes"]
        assert in_the_clear(found, cipher, ONLINE) == shown
