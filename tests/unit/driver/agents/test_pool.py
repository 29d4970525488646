import pytest

from tdelta.driver.agents.pool import of_lost_head, ray_refused
from tdelta.errors import EnvironmentFault, WorkerFault
from tdelta.messages import Refusal

SAID_BY_RAY = "Failed to connect to GCS within 60 seconds"
ENDED_BY_RAY = f"rpc_client.h:204: {SAID_BY_RAY}. GCS may have been killed."


def died(words: str) -> WorkerFault:
    return WorkerFault(Refusal.of("process-died", process="the coordinator", ending="ended with status 1", words=words))


def test_a_process_that_ray_ended_since_its_head_is_silent_has_lost_the_head() -> None:
    found = of_lost_head(died(ENDED_BY_RAY))
    assert isinstance(found, EnvironmentFault)
    (refusal,) = found.refusals
    assert (refusal.code, refusal.parameters["said"]) == ("ray-head-lost", SAID_BY_RAY)


def test_a_head_that_never_answered_was_not_reached() -> None:
    found = of_lost_head(died(ENDED_BY_RAY), has_joined=False)
    assert [one.code for one in found.refusals] == ["ray-not-reached"]


def test_a_process_that_ended_of_something_else_is_as_it_was() -> None:
    fault = died("killed")
    assert of_lost_head(fault) is fault


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("agent", "node-unusable"),
        ("head_lost", "ray-head-lost"),
        ("no_node", "no-node-left"),
        ("ray", "ray-not-reached"),
        ("ray_missing", "library-missing"),
    ],
)
def test_what_it_refuses_has_a_code(kind: str, code: str) -> None:
    assert [one.code for one in ray_refused(kind, "words").refusals] == [code]
