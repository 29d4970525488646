import importlib.util
import subprocess
import sys
from typing import Any

import pytest

from tdelta.errors import UsageError
from tdelta.ray.bridge import NodesRequest
from tdelta.session import RunRequest
from tdelta.session.planning import plan

from .served import installed


@pytest.fixture(autouse=True)
def servers(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)


def with_ray(monkeypatch: pytest.MonkeyPatch, *, is_there: bool) -> None:
    found = importlib.util.find_spec("json") if is_there else None
    monkeypatch.setattr("tdelta.ray.bridge.importlib.util.find_spec", lambda _name: found)


def codes(**options: Any) -> list[str]:
    with pytest.raises(UsageError) as refused:
        plan(RunRequest(**{"engine": "mariadb", "seed": 1, **options}), "r1")
    return [refusal.code for refusal in refused.value.refusals]


def test_agents_and_the_address_of_their_cluster_are_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    with_ray(monkeypatch, is_there=True)
    made = plan(RunRequest(engine="mariadb", seed=1, agents=2, ray="head:6379", threads=2), "r1")
    assert made.agents == NodesRequest(2, "head:6379")
    assert plan(RunRequest(engine="mariadb", seed=1), "r1").agents is None


def test_without_ray_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with_ray(monkeypatch, is_there=False)
    assert codes(agents=2, threads=2) == ["library-missing"]
    assert codes(agents=2, threads=2, hosts=2, ray="head:6379").count("library-missing") == 1


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"agents": 4, "threads": 3}, "requires"),
        ({"agents": 2, "vary": {"threads": (1, 4)}}, "requires"),
        ({"agents": 1, "cold": True}, "conflict"),
        ({"agents": 1, "load_generator": "pgbench"}, "conflict"),
        ({"agents": 1, "vary": {"work": ("warm", "load")}}, "conflict"),
        ({"ray": "head:6379"}, "requires"),
        ({"agents": 2, "threads": 2, "ray": "head"}, "unexpected"),
        ({"engine": "sqlite", "agents": 2, "threads": 2}, "not-supported"),
    ],
)
def test_what_agents_do_not_do_is_refused(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], code: str) -> None:
    with_ray(monkeypatch, is_there=True)
    assert code in codes(**options)


def test_nothing_imports_ray_that_was_not_asked_for_agents() -> None:
    modules = "tdelta.api, tdelta.cli.run, tdelta.session.run, tdelta.ray.load_agents"
    program = f"import sys, {modules}; print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"
