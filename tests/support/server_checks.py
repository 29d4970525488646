"""``tdelta check-servers`` on two servers of one engine, by the driver of Python's that its DSNs ask for."""

from typing import Any, ClassVar

from support.external_runs import RunsOnTwoServers
from support.own_engines import PASSWORD
from support.running import Place
from tdelta.records.server_check import Outcome

ABSENT = {"caches emptied", "backup and restore", "encryption changed"}


class PassesServerCheck(RunsOnTwoServers):
    driver: ClassVar[str]

    def test_the_check_is_passed_by_the_db_api_client_and_leaves_nothing(
        self, servers: tuple[Any, Any], left_as_they_were: list[list[object]], place: Place
    ) -> None:
        dsns = [self.dsn(server.port) + "&client=dbapi" for server in servers]
        sent = place.base / "sent.json"
        on = ("--baseline", dsns[0], "--encrypted", dsns[1], *self.vouching, "--report", str(sent))
        ran = place.tdelta("check-servers", *on, "--json")
        assert ran.code == 0, ran.out + ran.err
        document = ran.document
        outcomes = {step["ability"]: step["outcome"] for step in document["steps"]}
        assert {ability for ability, outcome in outcomes.items() if outcome != "passed"} == ABSENT
        assert {outcomes[ability] for ability in ABSENT} == {Outcome.NOT_OFFERED}
        assert document["client"].startswith(self.driver)
        told = ran.out + sent.read_text()
        assert all(name not in told for name in (PASSWORD, "127.0.0.1", str(servers[0].port), str(place.base)))
        assert self.objects(servers) == left_as_they_were
