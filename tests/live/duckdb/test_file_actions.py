from pathlib import Path

from support.file_actions import acted

REWRITES = ("encrypt", "rekey", "decrypt")
CIPHER = "aes-256-gcm"


def test_every_action_is_done_to_plain_and_encrypted_twins_alike(tmp_path: Path) -> None:
    found = acted(tmp_path, ("restart", *REWRITES), again="", engine="duckdb")
    counters = {key: measured.engine_counters for key, measured in found.items()}
    assert [counters[CIPHER, name]["action_files_in_the_clear"] for name in REWRITES] == [0, 0, 1]
    assert [counters["none", name]["action_files_in_the_clear"] for name in REWRITES] == [1, 1, 1]
    for cipher in ("none", CIPHER):
        assert found[cipher, ""].operations == 5, "the twin is as it was"
        assert counters[cipher, "rekey"]["action_peak_disk_bytes"] > 0
        assert found[cipher, "restart"].elapsed_ns > 0
