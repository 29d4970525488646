from pathlib import Path

from support.file_actions import acted
from support.running import Place
from tdelta.processes.actions import SECONDS

REWRITES = ("encrypt", "rekey", "decrypt")


def test_every_action_is_done_to_plain_and_encrypted_twins_alike(tmp_path: Path) -> None:
    actions = ("restart", "storm:connections=3", *REWRITES)
    found = acted(tmp_path, actions, again="", engine="sqlite")
    clear = {key: measured.engine_counters.get("action_files_in_the_clear") for key, measured in found.items()}
    assert [clear["aes-256", name] for name in REWRITES] == [0, 0, 1]
    assert [clear["none", name] for name in REWRITES] == [1, 1, 1]
    assert found["aes-256", "storm:connections=3"].engine_counters["action_connections"] == 3
    assert found["none", ""].operations == found["aes-256", ""].operations == 5, "the twins are as they were"
    for (_, action), measured in found.items():
        if action in REWRITES:
            # Looked at every 10 ms, before a rewrite of so small a file may be over; its unit test knows how much.
            assert measured.engine_counters["action_peak_disk_bytes"] >= 0
            assert measured.usage.syscall_written_bytes > measured.engine_counters["action_file_bytes"], "and a journal"
        if action:
            assert measured.elapsed_ns == measured.engine_counters[SECONDS] > 0


def test_of_identical_twins_nothing_is_called_whatever_is_done_to_their_files(place: Place) -> None:
    options = ("--size", "1MB", "--blocks", "3", "--rounds", "1..1", "--trial-time", "0.02s")
    document = place.answer("--self-test", "--vary", "work=restart,encrypt", *options)
    assert {measure["action"] for measure in document["actions"]} == {"restart", "encrypt"}
    assert {verdict["decision"] for verdict in document["verdicts"]} <= {"undecided", "negligible"}
