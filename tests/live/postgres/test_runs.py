import signal
import statistics
from types import MappingProxyType
from typing import Any

import pytest

from support.data import DATA
from support.running import Ran, read_until
from support.runs import (
    ALONE,
    BRIEF,
    PATIENCE_SECONDS,
    ServerPlace,
    ServerRuns,
    check_instructions,
    check_load_of_others,
)

PGBENCH = DATA / "workloads" / "pgbench"


class TestPostgresRuns(ServerRuns):
    """The servers are started anew before each trial, with the CPU's AES instructions and without."""

    engine = "postgres"
    log = "wal"
    factors = MappingProxyType({"aes_instructions": ("on", "off")})
    options = ("--cold", "--size", "2MB", "--vary", "aes_instructions=on,off")

    def check_scope(self, encrypted: dict[str, str], clear: set[str]) -> None:
        assert {encrypted[name] for name in ("tables", "wal", "temp")} == {"encrypted"}
        assert not clear

    def test_bytes_that_pass_through_the_file_system_are_counted_once(self, place: ServerPlace) -> None:
        """gocryptfs repeats PostgreSQL's requests: counted twice, they were 2 to 4 times as much."""
        place.measured(*ALONE, "--workload", "order-entry", "--size", "5MB", "--trial-time", "0.3s")
        read: dict[str, list[float]] = {}
        for trial in place.trials():
            read.setdefault(trial["cipher"], []).append(trial["syscall_read_bytes"] / trial["total_operations"])
        plain, encrypted = (statistics.median(read[cipher]) for cipher in ("none", "aes-256"))
        assert plain > 0
        assert encrypted == pytest.approx(plain, rel=0.25)

    def test_every_file_system_shows_whether_it_uses_the_instructions_on_cold_caches(
        self, swept: tuple[ServerPlace, Any]
    ) -> None:
        place, document = swept
        check_instructions(document)
        assert any("gocryptfs" in caution for caution in document["cautions"])
        assert all(trial["engine_counters"]["buffer_reads"] > 0 for trial in place.trials())

    def test_a_tool_of_others_is_the_load(self, place: ServerPlace) -> None:
        load = ("--workload", str(PGBENCH), "--size", "15MB", "--load-generator", "pgbench -n -S -M prepared")
        check_load_of_others(place, place.measured(*ALONE, *load))

    def test_an_interrupted_run_of_identical_twins_is_completed(self, place: ServerPlace) -> None:
        options = [option if option != "1..1" else "2..2" for option in BRIEF]
        process = place.start("run", "--json", "--self-test", "--size", "2MB", *place.options(*options))
        read_until(process, "after round 1")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
        interrupted = Ran(process.returncode, out, err)
        assert (interrupted.code, interrupted.document["interrupted"]) == (130, True)
        assert place.left() == []
        before = place.query("SELECT * FROM trials ORDER BY trial")
        document = place.tdelta("run", "--resume", "last", "--json").answer
        assert {condition["levels"]["cipher"] for condition in document["settings"]["conditions"]} == {"none"}
        assert document["counts"]["trials"] >= 2 * len(before) // 2 > 0
        assert place.query("SELECT * FROM trials ORDER BY trial")[: len(before)] == before
