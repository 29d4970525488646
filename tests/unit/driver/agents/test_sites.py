from typing import Any

import pytest

from support.refused import Part, coded, refused
from tdelta.driver.agents.host import tdelta_version
from tdelta.driver.agents.sites import Sites
from tdelta.driver.workers import Worker
from tdelta.errors import EnvironmentFault, WorkerFault
from tdelta.messages import Refusal

OTHER = {"left_out": {"node": "n1", "version": "0"}}
BROKEN = {"left_out": {"node": "n2", "said": "no module"}}


def sites(monkeypatch: pytest.MonkeyPatch, *answers: dict[str, Any]) -> Sites:
    said = iter([{}, *answers])

    def ask(_self: Sites, do: str, *, seconds: float, **order: object) -> dict[str, Any]:
        assert seconds > 0.0
        assert do == "start" or order["version"] == tdelta_version()
        return next(said)

    monkeypatch.setattr(Sites, "ask", ask)
    return Sites("auto")


def test_a_node_that_is_left_out_is_said_once_and_the_next_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with sites(monkeypatch, OTHER, BROKEN, {"node": "n3"}, {"node": None}) as made:
        assert made.place("a", []) == "n3"
        assert [why.code for why in made.left_out()] == ["version-mismatch", "node-unusable"]
        assert made.place("b", []) is None
        assert made.left_out() == ()


def test_where_all_are_left_out_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    none_left = {"is_none_left": True, "gone": []}
    with sites(monkeypatch, OTHER, BROKEN, none_left) as made, pytest.raises(EnvironmentFault) as caught:
        made.place("a", [])
    assert [one.code for one in caught.value.refusals] == ["version-mismatch", "node-unusable"]


def test_where_the_only_node_that_made_runs_has_died_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    none_left = {"is_none_left": True, "gone": ["n3"]}
    with (
        sites(monkeypatch, OTHER, none_left) as made,
        refused(
            EnvironmentFault, "version-mismatch", coded("no-node-left", said=Part("n3"), command="the same command")
        ),
    ):
        made.place("a", [])


@pytest.mark.parametrize(
    ("kind", "code"), [("no_node", "no-node-left"), ("head_lost", "ray-head-lost"), ("ray", "ray-not-reached")]
)
def test_what_ends_a_fleet_says_how_to_go_on_with_it(kind: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with sites(monkeypatch) as made:
        assert [one.code for one in made._failed(kind, "words").refusals] == [code]


def test_a_fleet_whose_process_ray_ended_has_lost_the_head(monkeypatch: pytest.MonkeyPatch) -> None:
    died = Refusal.of("process-died", process="x", ending="ended", words="Failed to connect to GCS within 60 seconds")
    monkeypatch.setattr(Worker, "_died", lambda _self: WorkerFault(died))
    with sites(monkeypatch) as made:
        assert [one.code for one in made._died().refusals] == ["ray-head-lost"]
