"""Whether a Ray head can be at an address, before Ray is asked, which tries for minutes."""

import socket
from collections.abc import Callable, Iterator

import pytest

from tdelta.driver.agents.asked import require_address, require_head
from tdelta.driver.agents.sites import Sites
from tdelta.errors import EnvironmentFault, TdeltaError, UsageError


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
