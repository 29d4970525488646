"""Runs on private MySQL servers."""

from __future__ import annotations

from tdelta_runs import ALONE, ServerPlace, ServerRuns, check_instructions, failed_checks


class TestMysqlRuns(ServerRuns):
    engine = "mysql"
    log = "redo log"
    sweep_options = ("--scope", "data", "--size", "20MB")
    load = ("--size", "2MB", "--load", "sysbench oltp_point_select --tables=1 --table-size=9000 run")

    def test_every_server_shows_whether_it_uses_the_instructions(self, place: ServerPlace) -> None:
        check_instructions(place.measured(*ALONE, "--size", "2MB", "--vary", "aes_instructions=on,off"))

    def test_a_server_that_was_just_started_has_to_read_what_it_is_asked_for(self, place: ServerPlace) -> None:
        document = place.measured(*ALONE, "--cold", "--size", "2MB", "--scope", "data", "--blocks", "1")
        assert failed_checks(document) == []
        assert all(trial["engine_counters"]["buffer_reads"] > 0 for trial in place.trials())
