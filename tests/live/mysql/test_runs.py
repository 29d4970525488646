from types import MappingProxyType
from typing import Any

from support.runs import ServerPlace, ServerRuns, check_cipher_lines, check_instructions


class TestMysqlRuns(ServerRuns):
    """The servers are started anew before each trial, with the CPU's AES instructions and without."""

    engine = "mysql"
    log = "redo log"
    factors = MappingProxyType({"aes_instructions": ("on", "off")})
    options = ("--cold", "--scope", "data", "--size", "2MB", "--vary", "aes_instructions=on,off")

    def test_every_server_shows_whether_it_uses_the_instructions(self, swept: tuple[ServerPlace, Any]) -> None:
        check_instructions(swept[1])

    def test_a_server_that_was_just_started_has_to_read_what_it_is_asked_for(
        self, swept: tuple[ServerPlace, Any]
    ) -> None:
        assert all(trial["engine_counters"]["buffer_reads"] > 0 for trial in swept[0].trials())

    def test_the_cost_breakdown_has_the_calls_that_were_timed(self, swept: tuple[ServerPlace, Any]) -> None:
        assert all(us > 0 for us in check_cipher_lines(swept[1]))
