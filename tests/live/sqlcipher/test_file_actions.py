from pathlib import Path

from support.file_actions import acted

REWRITES = ("encrypt", "rekey", "decrypt")


def test_every_action_is_done_and_a_key_is_derived_for_every_connection(tmp_path: Path) -> None:
    actions = ("restart", "storm:connections=2", *REWRITES)
    found = acted(tmp_path, actions, again="", engine="sqlite", library="sqlcipher")
    clear = [found["aes-256", name].engine_counters["action_files_in_the_clear"] for name in REWRITES]
    assert clear == [0, 0, 1]
    one, two = (found["aes-256", name].cpu_seconds for name in actions[:2])
    plain = found["none", "restart"].cpu_seconds
    assert plain < one < two, "the key is derived: 256,000 rounds of PBKDF2 by default"
