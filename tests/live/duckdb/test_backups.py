"""Backups of DuckDB files: copied while they are detached, and exported."""

from __future__ import annotations

from pathlib import Path

from tdelta_backed_up import check_logical, check_physical, check_restored
from tdelta_file_actions import acted

COPY, DUMP = "backup:compress=zstd", "backup:tool=dump:compress=zstd"
RESTORES = ("restore", "restore:tool=dump:compress=zstd")
CIPHER = "aes-256-gcm"


def test_backups_show_and_compress_what_their_files_do_and_restores_have_all_rows(tmp_path: Path) -> None:
    found = acted(tmp_path, (COPY, DUMP, *RESTORES), again="", engine="duckdb")
    check_physical(found, COPY, {"database"}, cipher=CIPHER)
    check_logical(found, DUMP, cipher=CIPHER)
    check_restored(found, RESTORES, cipher=CIPHER)
