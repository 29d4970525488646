"""Twins on hosts, with the hosts' side in this process: what is called there, and what comes back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from support.refused import Part, refused
from tdelta.engines.server import hosted
from tdelta.engines.server.hosted import HostedTwin, HostedTwins, OnHosts
from tdelta.errors import Defect, EngineUnavailable, EnvironmentFault, ServerLost, TdeltaError, UnknownName
from tdelta.messages import Refusal
from tdelta.processes import TrialJob, workers
from tdelta.ray.bridge import NodesRequest, packed, unpacked
from tdelta.ray.hosts import Lost, Nodes
from tdelta.records import Measurement, SpanTotals

VERSIONS = {"Product": "1.0"}
SUMS = {"t": (1, "digest")}
NAMES = ("a", "b")


class Twin:
    def __init__(self, said: list[tuple[Any, ...]], settings: str, name: str) -> None:
        self.said, self.settings, self.name = said, settings, name

    def trial(self, job: TrialJob) -> Measurement:
        if self.settings == "lost":
            raise ServerLost(Refusal.of("database-says", said="gone"), "its last words")
        self.said.append(("trial", self.name, job))
        return Measurement(1, 1, {"tx": SpanTotals(1, 5)}, {}, histograms={"tx:tx": b"\x00\xff"})

    def stop(self) -> None:
        self.said.append(("stop", self.name))

    def end(self) -> None:
        self.said.append(("end", self.name))


class There:
    library = "Product 1.0"

    def __init__(self, folder: Path, sums: Mapping[str, tuple[int, str]]) -> None:
        self.folder, self.sums = folder, sums
        self.said: list[tuple[Any, ...]] = []

    def load(self, settings: str) -> tuple[Path, Mapping[str, tuple[int, str]]]:
        return self.folder / settings, self.sums

    def is_encrypted(self, path: Path) -> bool:
        assert path.parent == self.folder  # each host is asked of its own data
        return path.name == "aes"

    def start(self, settings: str, name: str) -> Twin:
        return Twin(self.said, settings, name)

    def join(self, twin: Twin, settings: str) -> Twin:
        return Twin(self.said, settings, f"{twin.name}+")

    def end(self) -> None:
        self.said.append(("all ended",))


class InProcess(Nodes):
    """Nodes whose actors are objects here; what goes there and back is packed all the same."""

    made: list[InProcess]

    def __init__(self, address: str | None, count: int, _actor: str) -> None:
        assert (address, count) == ("head:6379", 2)
        self.names = NAMES
        before = os.umask(0o022)
        self.actors: list[Any] = [hosted.TwinNode() for _ in NAMES]
        os.umask(before)  # theirs is of processes of their own
        self.made.append(self)

    def invoke(self, method: str, *arguments: Any, seconds: float) -> dict[int, Any]:
        assert method == "carry"
        return {
            number: Lost("the node died") if self.actors[number] is None else self.actors[number].call(sent)
            for number, sent in arguments[0].items()
        }

    def end(self) -> None:
        for actor in filter(None, self.actors):
            actor.end()


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[There]]:
    found: list[There] = []

    def make_twins(folder: Any, _job: object, _mix: object) -> There:
        found.append(There(folder.path, SUMS))
        return found[-1]

    engine = SimpleNamespace(versions=lambda: dict(VERSIONS), make_twins=make_twins)
    monkeypatch.setattr(hosted, "driver", lambda _name, _options: engine)
    monkeypatch.setattr(InProcess, "made", [], raising=False)
    monkeypatch.setattr(hosted, "Nodes", InProcess)
    yield found
    for one in InProcess.made:
        one.end()


def begun(base: Path, versions: Mapping[str, str] = VERSIONS) -> HostedTwins:
    told = OnHosts("mariadb", {"directory": base}, "r1", (1000, 1000), versions)
    return HostedTwins(NodesRequest(2, "head:6379"), told, cast(Any, "job"), cast(Any, "mix"))


def job() -> TrialJob:
    return cast(TrialJob, "a job")


def test_every_host_has_its_folder_and_its_data_and_a_twin_is_started_where_it_is_asked_for(
    tmp_path: Path, there: list[There]
) -> None:
    found = begun(tmp_path)
    assert {one.folder.name for one in there} == {"twins-r1-1", "twins-r1-2"}
    path, sums = found.load("aes")
    assert sums == SUMS
    assert found.is_encrypted(path)
    twin = found.on(1).start("aes", "i1")
    joined = found.join(twin, "aes")
    measured = [one.trial(job()) for one in (twin, joined, found.on(0).start("plain", "i2"))]
    assert [m.host for m in measured] == ["b", "b", "a"]
    assert measured[0].histograms == {"tx:tx": b"\x00\xff"}
    assert [one[:2] for one in there[1].said] == [("trial", "i1"), ("trial", "i1+")]
    joined.end()
    twin.end()
    assert there[1].said[-2:] == [("end", "i1+"), ("end", "i1")]
    found.end()
    assert there[0].said[-2:] == [("end", "i2"), ("all ended",)]
    assert not list(tmp_path.glob("twins-*"))


def test_what_fails_on_a_host_is_the_error_that_it_was_there_and_names_the_host(
    tmp_path: Path, there: list[There]
) -> None:
    twin = begun(tmp_path).on(1).start("lost", "i1")
    with refused(ServerLost, "database-says") as raised:
        twin.trial(job())
    assert str(raised.value).startswith("node b: ")
    assert "its last words" in str(raised.value)


def test_a_host_that_is_lost_ends_the_run_and_its_twins_end_without_it(tmp_path: Path, there: list[There]) -> None:
    found = begun(tmp_path)
    twin = found.on(0).start("plain", "i1")
    actor, InProcess.made[0].actors[0] = InProcess.made[0].actors[0], None
    with refused(EnvironmentFault, "host-lost", node="a"):
        twin.trial(job())
    twin.end()
    actor.end()


def test_hosts_that_load_other_rows_or_have_another_server_are_refused(tmp_path: Path, there: list[There]) -> None:
    found = begun(tmp_path / "rows")
    there[1].sums = {"t": (2, "other")}
    with refused(EnvironmentFault, "hosts-load-differs", node="b", first="a"):
        found.load("plain")
    with refused(EnvironmentFault, *["version-mismatch"] * 2, what=("host a", "host b"), found=(Part("1.0"),) * 2):
        begun(tmp_path / "versions", {"Product": "2.0"})
    assert not list((tmp_path / "versions").glob("twins-*"))


def test_hosts_that_lack_something_are_all_named_at_once(
    tmp_path: Path, there: list[There], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = hosted.driver("mariadb", {})
    found = iter([EngineUnavailable(Refusal.of("unexpected", expected="a server's program", found="none")), known])

    def made(_name: str, _options: object) -> Any:
        one = next(found)
        if isinstance(one, EngineUnavailable):
            raise one
        return one

    monkeypatch.setattr(hosted, "driver", made)
    with pytest.raises(EnvironmentFault) as raised:
        begun(tmp_path, {"Product": "2.0"})
    lacking, other = raised.value.refusals
    assert (lacking.code, lacking.parameters["where"]) == ("unexpected", "node a")
    assert (other.code, other.parameters["what"]) == ("version-mismatch", "host b")
    assert not list(tmp_path.glob("twins-*"))


def test_a_defect_on_a_host_is_one_and_no_lost_host(tmp_path: Path, there: list[There]) -> None:
    twin = begun(tmp_path).on(1).start("plain", "i1")
    InProcess.made[0].actors[1]._made.clear()
    with refused(Defect, "defect", said=Part("KeyError")):
        twin.trial(job())


def test_a_host_that_is_to_stop_waits_for_no_worker_any_more(tmp_path: Path, there: list[There]) -> None:
    begun(tmp_path).on(1).start("plain", "i1")
    try:
        InProcess.made[0].actors[1].stop()
        assert workers.is_hurried()
    finally:
        workers.hurry(hurried=False)
    assert there[1].said[-1] == ("stop", "i1")


def test_after_a_ctrl_c_what_is_under_way_on_the_nodes_is_asked_to_stop_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    made = InProcess.__new__(InProcess)
    made._are_hurried = False
    monkeypatch.setattr(workers.Worker, "look", lambda _self: None)
    monkeypatch.setattr(InProcess, "send", lambda _self, do: asked.append(do))
    made.look()
    assert asked == []
    try:
        workers.hurry()
        made.look()
        made.look()
    finally:
        workers.hurry(hurried=False)
    assert asked == ["stop"]


def test_twins_on_hosts_offer_what_is_the_same_there_as_here() -> None:
    twin, all_of_them = HostedTwin(cast(Any, None), 0, 1), HostedTwins.__new__(HostedTwins)
    assert twin.prices() is None
    offered = bool(all_of_them.why_not_timed), all_of_them.remembers, all_of_them.observes_ciphers
    assert offered == (True, False, True)


@pytest.mark.parametrize(
    "error",
    [
        UnknownName("cipher", "aes", ["aes-128"]),
        ServerLost(Refusal.of("database-says", said="x"), "words"),
        EnvironmentFault(Refusal.of("no-memory").at("here")),
    ],
)
def test_errors_come_back_as_they_went(error: TdeltaError) -> None:
    again = unpacked(packed(error))
    assert type(again) is type(error)
    assert (str(again), again.refusals, vars(again)) == (str(error), error.refusals, vars(error))
