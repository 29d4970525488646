import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.refused import has, refused
from tdelta.errors import UsageError
from tdelta.ray.bridge import NodesRequest
from tdelta.session import RunRequest, dry_run
from tdelta.session.calibration_lookup import key_of
from tdelta.session.instrument.calibrate import calibrate_machine
from tdelta.session.run_plan import Plan, plan

from .served import installed


@pytest.fixture(autouse=True)
def servers(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)
    found = importlib.util.find_spec("json")
    monkeypatch.setattr("tdelta.ray.bridge.importlib.util.find_spec", lambda _name: found)


ASKED = {"engine": "mariadb", "seed": 1, "hosts": 2, "ray": "head:6379"}


def planned(**options: Any) -> Plan:
    return plan(RunRequest(**{**ASKED, **options}), "r1")


def test_hosts_and_the_address_of_their_cluster_are_planned() -> None:
    made = planned()
    assert made.hosts == NodesRequest(2, "head:6379")
    assert planned(hosts=None, ray=None).hosts is None
    assert planned(hosts=None, ray=None).hosts_in(0) == {}


def test_twins_are_placed_by_their_instances_and_move_on_from_round_to_round() -> None:
    made = planned(vary={"cipher": ("aes-256",), "threads": (1, 4)})
    first, second = made.hosts_in(0), made.hosts_in(1)
    assert first.keys() == made.instances(0).keys()
    assert all(first[condition] != second[condition] for condition in first)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"ray": None}, "requires"),
        ({"hosts": 1}, "out-of-range"),
        ({"hosts": 0}, "out-of-range"),
        ({"hosts": -1}, "out-of-range"),
        ({"agents": 1}, "conflict"),
        ({"load_generator": "pgbench"}, "conflict"),
        ({"profile": True}, "conflict"),
        ({"vary": {"work": ("warm", "load")}}, "conflict"),
        ({"vary": {"replication": ("async",)}}, "conflict"),
        ({"engine": "sqlite"}, "not-supported"),
    ],
)
def test_what_hosts_do_not_do_is_refused(options: dict[str, Any], code: str) -> None:
    with pytest.raises(UsageError) as refused:
        planned(**options)
    assert code in [refusal.code for refusal in refused.value.refusals]


def test_a_dry_run_on_hosts_does_not_judge_by_the_room_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("tdelta.measure.space", "tdelta.session.preflight"):
        monkeypatch.setattr(f"{module}.free_disk_bytes", lambda _: 0)
    found = dry_run(RunRequest(**ASKED, directory=tmp_path, max_seconds=86_400.0))
    assert found.faults == ()
    assert has(found.cautions, "hosts-not-asked")
    assert not has(found.cautions, "no-bb-twin")
    here = dry_run(RunRequest(engine="mariadb", seed=1, directory=tmp_path))
    assert here.faults
    assert not has(here.cautions, "hosts-not-asked")


def test_a_calibration_is_of_this_machine_and_serves_no_run_on_hosts(tmp_path: Path) -> None:
    assert key_of(planned(), {}) is None
    assert key_of(planned(hosts=None, ray=None), {}) is not None
    with refused(UsageError, "conflict", one="--hosts", other="a calibration"):
        calibrate_machine(RunRequest(**ASKED, store=tmp_path / "runs.sqlite"), lambda _: None)


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
