"""``tdelta run --baseline DSN --encrypted DSN`` on two private servers of one engine that stand for a user's.

One class of tests an engine. ``own`` is the engine's module of that name.
"""

import contextlib
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from support.codes import cautions, details, messages
from support.own_engines import PASSWORD, OnTwoServers
from support.processes import until
from support.refused import Part, check_messages, has
from support.running import Answered, Place, end, read_until, schema_keepers_of, workers_left
from tdelta.engines import registry
from tdelta.engines.server.base import NewSchema
from tdelta.engines.server.sessions import asking
from tdelta.messages.checks import BB_CHECK, FILES, IN_FORCE, NO_MARKER, ROWS_AFTER
from tdelta.records import Event, Role, RoundStarted
from tdelta.session import conduct
from tdelta.session.request import RunRequest

VARIABLE = "OWN_SERVERS_PASSWORD"
SHORT = (
    *("--size", "5MB", "--trial-time", "0.2s", "--blocks", "2", "--max-time", "120s", "--workload", "point-select"),
    *("--rounds", "1..1"),
)


class RunsOnTwoServers(OnTwoServers):
    scheme: ClassVar[str]
    vouching: ClassVar[tuple[str, ...]] = ()
    """The option by which the user vouches for what the server does not know."""

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def passwords(cls) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(VARIABLE, PASSWORD)
            patch.setenv("WRONG", "wr0ng")
            patch.setenv("NOBODYS", "x")
            yield

    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        return Place(tmp_path)

    @classmethod
    def dsn(cls, port: int, user: str = "bench", variable: str = VARIABLE) -> str:
        return cls.own.address(port, user, scheme=cls.scheme, query=f"?password-env={variable}")

    @classmethod
    def on(cls, servers: tuple[Any, Any], **which: str) -> tuple[str, ...]:
        baseline, encrypted = (cls.dsn(server.port, **which) for server in servers)
        return (*SHORT, *cls.vouching, "--baseline", baseline, "--encrypted", encrypted)

    @pytest.fixture(scope="class")
    @classmethod
    def left_as_they_were(cls, servers: tuple[Any, Any]) -> list[list[object]]:
        return cls.objects(servers)


class KilledRuns(RunsOnTwoServers):
    engine: ClassVar[str]

    def test_a_killed_tdelta_leaves_no_schema_and_those_of_others(
        self, servers: tuple[Any, Any], left_as_they_were: list[list[object]], place: Place
    ) -> None:
        with contextlib.closing(self.own.root(servers[0])) as asked:
            kind = registry.server(self.engine).answering(asking(asked))
            for statement in kind.make_sql(NewSchema("tdelta_theirs", "another")):
                asked.run(statement)
        before = self.objects(servers)
        process = place.start("run", "--no-aa", *self.on(servers), "--size", "200MB", "--max-time", "10m")
        read_until(process, "load: the baseline")
        (keeper,) = schema_keepers_of(process.pid)
        for file in ("cmdline", "environ"):
            assert PASSWORD.encode() not in Path(f"/proc/{keeper}/{file}").read_bytes()
        assert os.getsid(keeper) == keeper  # a terminal's Ctrl-C is not for it
        until(lambda: self.has_rows(servers[0]))
        end(process, signal.SIGKILL)
        until(lambda: schema_keepers_of(process.pid) == [])
        assert self.objects(servers) == before
        with contextlib.closing(self.own.root(servers[0])) as asked:
            asked.run(kind.drop_sql("tdelta_theirs"))
        assert self.objects(servers) == left_as_they_were

    def has_rows(self, server: Any) -> bool:
        with contextlib.closing(self.own.root(server)) as asked:
            return "sbtest" in str(asked.rows(self.own.OBJECTS[0]))


class ExternalRuns(KilledRuns):
    product: ClassVar[str]
    important: ClassVar[str]
    refusal: ClassVar[str]
    lacking: ClassVar[str]
    """The beginning of the statement that gives the first right which ``nobody`` lacks."""

    @pytest.fixture(scope="class")
    @classmethod
    def answered(
        cls, servers: tuple[Any, Any], left_as_they_were: list[list[object]], tmp_path_factory: pytest.TempPathFactory
    ) -> Answered:
        place = Place(tmp_path_factory.mktemp("answered"))
        found = place.answered(*cls.on(servers), "--workload", "order-entry")
        assert cls.objects(servers) == left_as_they_were
        return found

    def test_a_run_on_two_servers_is_answered_and_leaves_them_as_they_were(self, answered: Answered) -> None:
        (verdict,) = [verdict for verdict in answered.document["verdicts"] if verdict["primary"]]
        assert verdict["condition"] == {"cipher": "encrypted", "threads": 1}
        check_messages(details(answered.document, FILES), "cipher-seen")
        check_messages(details(answered.document, IN_FORCE), "cipher-seen")
        assert has(details(answered.document, ROWS_AFTER), "rows-after-rounds", rounds=1)
        assert has(details(answered.document, NO_MARKER), "not-checked", why=Part("2 copies"))

    def test_each_server_has_a_second_schema_for_its_control(
        self, servers: tuple[Any, Any], left_as_they_were: list[list[object]], place: Place
    ) -> None:
        baseline, encrypted = (self.dsn(server.port) for server in servers)
        seen: list[list[str]] = []

        def observe(event: Event) -> None:
            if isinstance(event, RoundStarted):
                seen.extend(sorted(set(re.findall(r"tdelta_\w+", str(of)))) for of in self.objects(servers))

        asked = {"baseline": baseline, "encrypted": encrypted, "assume_encrypted": bool(self.vouching)}
        brief = {"size_bytes": 5_000_000, "trial_seconds": 0.2, "blocks_per_round": 2, "workload": "order-entry"}
        once = {"min_rounds": 1, "max_rounds": 1, "store": place.base / "runs.sqlite"}
        result = conduct(RunRequest(**{**asked, **brief, **once}), observe)
        assert [c.role for c in result.settings.conditions] == [Role.BASELINE, Role.AA, Role.TREATMENT, Role.BB]
        assert result.counts.trials == 4 * result.counts.blocks
        schema = f"tdelta_{result.settings.run_id.replace('-', '_')}"
        assert [f"{schema}_aa" in names for names in seen] == [True, False]
        assert [f"{schema}_bb" in names for names in seen] == [False, True]
        assert all(schema in names for names in seen)
        assert any(c.code == BB_CHECK for c in result.validity)
        assert self.objects(servers) == left_as_they_were

    def test_which_servers_they_are_and_that_they_differ_is_told(
        self, answered: Answered, servers: tuple[Any, Any]
    ) -> None:
        facts = answered.document["settings"]["external_servers"]
        assert facts["servers"][0]["where"] == f"bench@127.0.0.1:{servers[0].port}"
        assert has(cautions(answered.document), "settings-differ", difference=Part(self.important))
        assert has(cautions(answered.document), "one-server-of-each-kind")
        assert not has(cautions(answered.document), "other-plan")
        assert answered.document["settings"]["engine"] == self.engine  # whatever the DSN begins with

    def test_no_password_is_kept_and_a_repeat_names_where_it_is(self, answered: Answered) -> None:
        repeat = answered.document["settings"]["repeat"]
        assert f"password-env={VARIABLE}" in repeat
        assert "--engine" not in repeat
        assert "--baseline" in repeat
        for file in answered.place.base.rglob("*"):
            assert not file.is_file() or PASSWORD.encode() not in file.read_bytes()
        shown = " ".join(answered.place.tdelta("show", "--details").out.split())
        assert answered.document["settings"]["external_servers"]["servers"][0]["where"] in shown
        assert self.product in shown

    @pytest.mark.parametrize(("user", "variable"), [("bench", "WRONG"), ("nobody", "NOBODYS"), ("bench", "NOT_THERE")])
    def test_who_may_not_is_told_so_and_nothing_is_made(
        self, servers: tuple[Any, Any], left_as_they_were: list[list[object]], place: Place, user: str, variable: str
    ) -> None:
        ran = place.tdelta("run", "--json", *self.on(servers, user=user, variable=variable))
        assert ran.code == 2, ran.err
        code, shows = {
            "WRONG": ("server-wants-password", self.refusal),
            "NOBODYS": ("right-missing", self.lacking),
            "NOT_THERE": ("no-such-variable", variable),
        }[variable]
        said = [one for one in messages(ran.document["refusals"]) if one.code == code and shows in one.text]
        assert len(said) == 2, ran.err  # of both servers at once
        assert "--baseline" in ran.err
        assert "--encrypted" in ran.err
        assert "Traceback" not in ran.err
        assert "wr0ng" not in ran.err
        assert self.objects(servers) == left_as_they_were

    def test_ctrl_c_leaves_nothing(
        self, servers: tuple[Any, Any], left_as_they_were: list[list[object]], place: Place
    ) -> None:
        process = place.start("run", "--no-aa", *self.on(servers), "--blocks", "20")  # what is asked takes a while
        read_until(process, "round 1:")
        assert all("tdelta_" in str(seen) for seen in self.objects(servers))
        ran = end(process, signal.SIGINT)
        assert ran.code == 130
        assert "Traceback" not in ran.err
        assert workers_left(process.pid) == []
        assert self.objects(servers) == left_as_they_were
        self.check_interrupted(place)
        assert self.objects(servers) == left_as_they_were

    def check_interrupted(self, place: Place) -> None:
        """Further checks of the run that was interrupted."""
