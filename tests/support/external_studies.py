"""Named studies on two private servers that stand for a user's: tables generated there, in a schema of tdelta's.

One class of tests an engine, one small run a study; the servers are shared. MySQL and PostgreSQL have `TracedStudy`
alone, which is the cheapest and asks most of an engine's SQL; the others were run on them by hand.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest

from support.external_runs import RunsOnTwoServers
from support.running import Place
from support.runs import failed_checks
from tdelta.messages.checks import AA_CHECK, SPILLED

SMALL = ("--trial-time", "0.2s", "--warmup", "0s", "--blocks", "2", "--rounds", "1..1", "--no-aa")


class TracedStudy(RunsOnTwoServers):
    """The trace of every statement, with the engine's counters around it."""

    @pytest.fixture(scope="class")
    @classmethod
    def shared_place(cls, tmp_path_factory: pytest.TempPathFactory) -> Place:
        return Place(tmp_path_factory.mktemp("studies"))

    def ran(self, place: Place, servers: tuple[Any, Any], *words: str, size: str = "2MB") -> Any:
        before = self.objects(servers)
        baseline, encrypted = (self.dsn(server.port) for server in servers)
        on = ("--baseline", baseline, "--encrypted", encrypted, *self.vouching)
        answer = place.tdelta("run", *words, *on, "--size", size, *SMALL, "--no-bb", "--json")
        assert self.objects(servers) == before
        assert answer.code in (0, 3), answer.err
        assert [check for check in failed_checks(answer.document) if check != AA_CHECK] == []
        assert answer.document["errors"] == {}
        return answer.document

    def test_the_trace_meters_every_statement(self, shared_place: Place, servers: tuple[Any, Any]) -> None:
        document = self.ran(shared_place, servers, "dml-trace")
        statements = document["traces"]["statements"]
        assert {one["condition"]["cipher"] for one in statements} == {"none", "encrypted"}
        assert all(one["calls"] > 0 and one["elapsed_us"] > 0 for one in statements)
        self.check_traces(document)

    def check_traces(self, document: Mapping[str, Any]) -> None:
        """Further checks of them on this engine."""


class ExternalStudies(TracedStudy):
    spill_counter: ClassVar[str]

    def test_the_warehouse_is_loaded_rebuilt_and_asked_with_the_rows_that_it_had(
        self, shared_place: Place, servers: tuple[Any, Any]
    ) -> None:
        document = self.ran(shared_place, servers, "warehouse")
        assert {verdict["condition"]["work"] for verdict in primary(document)} == {"load", "rebuild", "warm"}
        trials = shared_place.trials()
        for step in ("load", "rebuild"):
            of_step = [trial for trial in trials if trial["work"] == step]
            assert {trial["cipher"] for trial in of_step} == {"none", "encrypted"}
            assert all(trial["engine_counters"]["rows"] > 10_000 for trial in of_step)
        rows = {one["code"]: one["state"] for one in document["validity"]}
        assert rows["rows-before"] == rows["rows-after"] == "ok"

    def test_a_direct_load_makes_all_rows_each_time(self, shared_place: Place, servers: tuple[Any, Any]) -> None:
        document = self.ran(shared_place, servers, "direct-load")
        assert {step["condition"]["cipher"] for step in document["actions"]} == {"none", "encrypted"}
        assert all(step["trials"] == 2 for step in document["actions"])

    def test_a_spill_goes_to_files_since_the_sessions_have_so_little_memory(
        self, shared_place: Place, servers: tuple[Any, Any]
    ) -> None:
        document = self.ran(shared_place, servers, "spill", size="4MB")
        checks = {one["code"]: one["state"] for one in document["validity"]}
        assert checks[SPILLED] == "ok"
        assert all(trial["engine_counters"][self.spill_counter] > 0 for trial in shared_place.trials())


def primary(document: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The verdicts on response time over the whole mix."""
    found: Any = document["verdicts"]
    return [one for one in found if one["metric"] == "response_time" and one["transaction"] == "all"]
