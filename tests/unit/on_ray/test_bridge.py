"""Whether a Ray head can be at an address, before Ray is asked, which tries for minutes; and what ends a bridge."""

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tdelta.errors import EnvironmentFault, TdeltaError, UsageError, WorkerFault
from tdelta.messages import Refusal
from tdelta.processes.workers import Worker
from tdelta.ray.bridge import Bridge, require_address, require_head
from tdelta.ray.fleet import Sites
from tdelta.ray.load_agents import AgentPool

SAID_BY_RAY = "Failed to connect to GCS within 60 seconds"
ENDED_BY_RAY = f"rpc_client.h:204: {SAID_BY_RAY}. GCS may have been killed."


def died(
    words: str, monkeypatch: pytest.MonkeyPatch, kind: type[Bridge] = AgentPool, *, has_joined: bool = True
) -> Any:
    """The fault of a bridge whose process has ended with these words, and the parameters of its refusal."""
    ended = Refusal.of("process-died", process="the coordinator", ending="ended with status 1", words=words)
    monkeypatch.setattr(Worker, "_died", lambda _self: WorkerFault(ended))
    made = kind.__new__(kind)
    made._has_joined = has_joined
    (refusal,) = made._died().refusals
    return refusal.code, refusal.parameters


@pytest.mark.parametrize("kind", [AgentPool, Sites])
def test_a_process_that_ray_ended_since_its_head_is_silent_has_lost_the_head(
    kind: type[Bridge], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = {"said": SAID_BY_RAY, "command": kind.resumed_by}
    assert died(ENDED_BY_RAY, monkeypatch, kind) == ("ray-head-lost", expected)


def test_a_head_that_never_answered_was_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    assert died(ENDED_BY_RAY, monkeypatch, has_joined=False)[0] == "ray-not-reached"


def test_a_process_that_ended_of_something_else_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    assert died("killed", monkeypatch)[0] == "process-died"


def code(raising: Callable[[], object], kind: type[TdeltaError]) -> str:
    with pytest.raises(kind) as refused:
        raising()
    (refusal,) = refused.value.refusals
    return refusal.code


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.fixture
def closed() -> Iterator[str]:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"


@pytest.mark.parametrize("address", ["", "head", "head:", ":6379", "head:0", "head:65536", "head:port", "a head:6379"])
def test_what_cannot_be_an_address_is_refused(address: str) -> None:
    assert code(lambda: require_address(address), UsageError) == "unexpected"
    assert code(lambda: require_head(address), UsageError) == "unexpected"


@pytest.mark.parametrize("address", ["auto", "head:6379", "10.0.0.1:6379", "[::1]:6379", "ray://head:10001"])
def test_what_can_be_an_address_is_taken(address: str) -> None:
    require_address(address)


def test_where_something_listens_ray_may_try(listening: socket.socket) -> None:
    require_head(f"127.0.0.1:{listening.getsockname()[1]}")
    require_head("auto")


def test_where_nothing_listens_no_process_is_started(closed: str) -> None:
    assert code(lambda: require_head(closed), EnvironmentFault) == "ray-head-not-there"
    assert code(lambda: Sites(closed), EnvironmentFault) == "ray-head-not-there"
