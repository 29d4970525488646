"""Runs on private MariaDB servers."""

from __future__ import annotations

from tdelta_runs import ALONE, ServerPlace, ServerRuns, check_instructions, failed_checks, states


class TestMariadbRuns(ServerRuns):
    engine = "mariadb"
    log = "redo log"
    sweep_options = ("--scope", "data", "--size", "20MB")
    load = ("--size", "2MB", "--load", "sysbench oltp_point_select --tables=1 --table-size=9000 run")

    def test_each_scope_of_a_run_with_cold_caches_covers_what_it_says(self, place: ServerPlace) -> None:
        options = ("--cold", "--workload", "scan", "--size", "2MB", "--vary", "scope=data,+log")
        document = place.measured(*ALONE, *options)
        assert failed_checks(document) == []
        found = {scope: states(document, scope=scope)["redo log"] for scope in ("none", "data", "+log")}
        assert found == {"none": "plain", "data": "uncovered", "+log": "encrypted"}
        assert {trial["operations"] for trial in place.trials()} == {1}, "the second would be warm"
        # A server that was started a moment ago has to read what it is asked for; on warm caches of this size nothing.
        assert all(trial["engine_counters"]["buffer_reads"] > 0 for trial in place.trials())
        decrypted = {trial["scope"]: trial["engine_counters"]["pages_decrypted"] > 0 for trial in place.trials()}
        assert decrypted == {"none": False, "data": True, "+log": True}

    def test_restarts_for_cold_caches_do_not_cut_off_another_condition_on_the_same_server(
        self, place: ServerPlace
    ) -> None:
        options = ("--cold", "--workload", "scan", "--size", "2MB", "--vary", "threads=1,2")
        document = place.measured(*ALONE, *options)
        assert failed_checks(document) == []
        assert document["errors"] == {}
        assert len({trial["instance"] for trial in place.trials()}) == 2, "else nothing is shared"
        assert all(trial["engine_counters"]["buffer_reads"] > 0 for trial in place.trials())

    def test_every_server_shows_whether_it_uses_the_instructions(self, place: ServerPlace) -> None:
        check_instructions(place.measured(*ALONE, "--size", "2MB", "--vary", "aes_instructions=on,off"))
