import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.codes import cautions
from support.disturbed_runs import DisturbedRuns, SilencedRuns
from support.external_runs import ExternalRuns
from support.refused import has
from support.running import Answered, Place, end, read_until, schema_keepers_of, workers_left
from support.server_checks import PassesServerCheck

from . import own


class TestMariadbExternalRuns(ExternalRuns, DisturbedRuns, SilencedRuns, PassesServerCheck):
    driver = "PyMySQL"
    own = own
    sessions_sql = "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'bench'"
    kill_sql = "KILL {}"
    read_only_sql = ("SET GLOBAL read_only = 1",)
    writable_sql = ("SET GLOBAL read_only = 0",)
    engine = "mariadb"
    product = "MariaDB"
    scheme = "mysql"
    important = "innodb_buffer_pool_size: 67108864 / 33554432"
    refusal = "Access denied"
    lacking = "GRANT PROCESS ON *.* TO"

    def test_what_is_encrypted_and_all_that_differs_is_in_the_document(self, answered: Answered) -> None:
        facts = answered.document["settings"]["external_servers"]
        assert [scope["name"] for scope in facts["servers"][1]["scopes"] if scope["is_encrypted"]] == ["data"]
        assert [one["name"] for one in facts["differences"]] == ["innodb_buffer_pool_size", "sort_buffer_size"]

    def test_the_cpu_time_of_servers_on_this_machine_is_theirs(self, answered: Answered) -> None:
        facts = answered.document["settings"]["external_servers"]
        if os.geteuid() != 0:
            pytest.skip("only root sees whose socket it is")
        assert facts["servers"][0]["has_cpu_time"]
        assert facts["servers"][1]["has_cpu_time"]
        cpu = [one for one in answered.document["verdicts"] if one["metric"] == "cpu_per_operation"]
        assert cpu
        assert all(one["baseline_value"] > 0 for one in cpu if one["transaction"] == "all")

    def check_interrupted(self, place: Place) -> None:
        resumed = place.tdelta("run", "--resume", "last", "--json")
        assert resumed.code in (0, 3), resumed.err
        assert resumed.document["counts"]["rounds"] >= 1

    def test_ctrl_c_while_tables_are_loaded_leaves_nothing(
        self, servers: tuple[Any, Any], left_as_they_were: list[list[object]], place: Place
    ) -> None:
        process = place.start("run", *self.on(servers), "--size", "200MB", "--max-time", "10m")
        read_until(process, "load: the baseline")
        ran = end(process, signal.SIGINT)
        assert ran.code == 130
        assert ran.err.splitlines()[-1] == "error: interrupted"
        assert self.objects(servers) == left_as_they_were

    def test_what_a_kill_of_the_keeper_too_leaves_is_told_by_the_next_run_with_what_removes_it(
        self, servers: tuple[Any, Any], left_as_they_were: list[list[object]], place: Place
    ) -> None:
        process = place.start("run", "--no-aa", *self.on(servers))
        read_until(process, "round 1:")
        for keeper in schema_keepers_of(process.pid):
            os.kill(keeper, signal.SIGKILL)
        end(process, signal.SIGKILL)
        assert workers_left(process.pid) == []
        left = self.told_left(place, servers)
        assert len(left) == 2
        for server in servers:
            with contextlib.closing(own.root(server)) as asked:
                asked.run(left[0])
        assert self.objects(servers) == left_as_they_were

    def told_left(self, place: Place, servers: tuple[Any, Any]) -> list[str]:
        """The remedy for each schema that a dry run finds left, once both servers have seen the sessions go."""
        give_up = time.monotonic() + 30.0
        left: list[str] = []
        while len(left) < len(servers) and time.monotonic() < give_up:
            ran = place.tdelta("run", "--dry-run", "--json", *self.on(servers))
            assert ran.code == 0, ran.err
            left = [str(one.parameters["drop"]) for one in cautions(ran.document, "schema-left")]
        return left

    def test_tables_of_the_users_own_are_read_in_place_and_nothing_is_made(
        self, own_tables: tuple[Any, Any], place: Place
    ) -> None:
        scripts = folder(
            place.base, "\\set id random(:min_orders, :max_orders)\nSELECT word FROM orders WHERE id = :id;\n"
        )
        before = self.objects(own_tables)
        ran = place.tdelta("run", *self.reading(own_tables, scripts), "--json")
        assert ran.code in (0, 3), ran.err
        assert self.objects(own_tables) == before
        facts = ran.document["settings"]["database"]
        assert (facts["file"], facts["tables"], facts["rows"], facts["in_place"]) == ("schema app", 1, 2, True)
        assert has(cautions(ran.document), "own-tables")

    @pytest.mark.parametrize("script", ["UPDATE orders SET word = 'x';\n", "SELECT NEXTVAL(numbers);\n"])
    def test_no_script_writes_to_tables_of_the_users_own(
        self, own_tables: tuple[Any, Any], place: Place, script: str
    ) -> None:
        before = self.objects(own_tables)
        ran = place.tdelta("run", *self.reading(own_tables, folder(place.base, script)))
        assert ran.code == 2, ran.err
        assert "one.sql:1" in ran.err
        assert self.objects(own_tables) == before

    def test_tables_whose_rows_differ_are_no_pair(self, own_tables: tuple[Any, Any], place: Place) -> None:
        scripts = folder(place.base, "SELECT word FROM orders;\n")
        with contextlib.closing(own.root(own_tables[1])) as asked:
            asked.run("INSERT INTO app.orders VALUES (3, 'more')")
            try:
                ran = place.tdelta("run", *self.reading(own_tables, scripts), "--json")
            finally:
                asked.run("DELETE FROM app.orders WHERE id = 3")
        assert ran.code != 0
        assert "own-tables-differ" in ran.out

    def reading(self, servers: tuple[Any, Any], scripts: Path) -> tuple[str, ...]:
        baseline, encrypted = (self.dsn(server.port) for server in servers)
        brief = ("--trial-time", "0.2s", "--blocks", "2", "--rounds", "1..1", "--max-time", "60s")
        return (*brief, "--baseline", baseline, "--encrypted", encrypted, "--schema", "app", "--workload", str(scripts))

    @pytest.fixture
    def own_tables(self, servers: tuple[Any, Any]) -> Iterator[tuple[Any, Any]]:
        """The servers, with a table of others that the user may read, and a sequence that a SELECT would move."""
        for server in servers:
            with contextlib.closing(own.root(server)) as asked:
                asked.run("CREATE SEQUENCE app.numbers")
                asked.run("GRANT SELECT, INSERT ON app.* TO bench@'127.0.0.1'")
        yield servers
        for server in servers:
            with contextlib.closing(own.root(server)) as asked:
                asked.run("DROP SEQUENCE app.numbers")


def folder(base: Path, script: str) -> Path:
    made = base / "load"
    made.mkdir()
    (made / "one.sql").write_text(script)
    (made / "workload.toml").write_text(
        'name = "own"\nversion = 1\ntitle = "own"\ndescription = "own"\n[transactions.one]\ntitle = "one"\nweight = 1\n'
    )
    return made
