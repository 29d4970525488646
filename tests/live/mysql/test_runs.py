"""Runs on private MySQL servers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tdelta_runs import ALONE, ServerPlace, ServerRuns, check_cipher_lines, check_instructions, failed_checks, occupied


class TestMysqlRuns(ServerRuns):
    engine = "mysql"
    log = "redo log"
    sweep_options = ("--scope", "data", "--size", "20MB")
    load = ("--size", "2MB", "--load", "sysbench oltp_point_select --tables=1 --table-size=9000 run")

    @pytest.fixture(scope="class")
    @classmethod
    def cold(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerPlace, Any]]:
        """A run whose servers are started anew before each trial, with the CPU's AES instructions and without."""
        for place in occupied(cls.engine, tmp_path_factory.mktemp("cold")):
            options = ("--cold", "--size", "2MB", "--blocks", "1", "--vary", "aes_instructions=on,off")
            yield place, place.measured(*ALONE, *options)

    def test_every_server_shows_whether_it_uses_the_instructions(self, cold: tuple[ServerPlace, Any]) -> None:
        check_instructions(cold[1])

    def test_a_server_that_was_just_started_has_to_read_what_it_is_asked_for(
        self, cold: tuple[ServerPlace, Any]
    ) -> None:
        place, document = cold
        assert failed_checks(document) == []
        assert all(trial["engine_counters"]["buffer_reads"] > 0 for trial in place.trials())

    def test_the_ledger_has_pages_at_the_price_of_their_instructions(self, cold: tuple[ServerPlace, Any]) -> None:
        document = cold[1]
        by_level = {ledger["condition"]["aes_instructions"]: ledger for ledger in document["ledger"]}
        assert by_level.keys() == {"on", "off"}
        on, off = (check_cipher_lines({"ledger": [by_level[level]]})[0] for level in ("on", "off"))
        assert off > 2 * on > 0
