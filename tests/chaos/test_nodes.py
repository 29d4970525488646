"""Load agents on two nodes in network namespaces, with a user's pair of servers: what dies or is cut off meanwhile.

Where the network is cut, and which processes are killed, is the test's doing; that nothing wrong is stored and nothing
left is asked of every run.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "live"))
from mariadb import own
from namespaces import Cluster, cannot, until

from support.own_engines import PASSWORD
from support.running import ANSWERED, Place, Ran, read_until, require, waited_for
from tdelta.messages import Refusal
from tdelta.ray.bridge import tdelta_version
from tdelta.ray.merging import LEAST_OVERLAP
from tdelta.records import Role, Trial
from tdelta.records.trials import overlap
from tdelta.store import Store

PATIENCE_SECONDS = 1000.0
CUT_SECONDS = 5.0
pytestmark = [pytest.mark.timeout(1200), pytest.mark.live, pytest.mark.long]
AGENTS = 2
VARIABLE = "OWN_SERVERS_PASSWORD"
OURS = ("tdelta.", "ray::Agent")
"""A part of the command lines of tdelta's processes on a node."""

RUN = (
    *("run", "--json", "--agents", str(AGENTS), "--threads", "2", "--rate", "50"),
    *("--workload", "point-select", "--size", "3MB", "--trial-time", "2s", "--warmup", "0s", "--blocks", "3"),
    *("--rounds", "1..1", "--no-aa", "--max-time", "900s"),
)

TARGET = """
engine = "sqlite"
size = "3MB"
trial-time = "0.03s"
blocks = 2
rounds = "1..1"
no-aa = true
no-bb = true
"""
"""The head of an inventory of small runs, above its targets."""

ON_HOSTS = (
    *("--engine", "mariadb", "--hosts", "2", "--workload", "point-select", "--size", "1MB"),
    *("--trial-time", "0.1s", "--warmup", "0s", "--blocks", "2", "--rounds", "2..2", "--no-aa", "--no-bb"),
    *("--max-time", "900s"),
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    require(find_spec("ray"), "scripts/need-ray")
    if lacking := cannot():
        require(None, lacking)
    found = Cluster(tmp_path_factory.mktemp("cluster"), nodes=2)
    try:
        yield found
    finally:
        found.end()
    names = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    assert not any(node.name in names for node in found.nodes)


@pytest.fixture(scope="module")
def servers(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    require(own.programs(), own.INSTALL)
    base = tmp_path_factory.mktemp("servers")
    with own.two(base, hosts=cluster.hosts, addresses=f"{own.LOCAL},{cluster.database_address}") as both:
        yield both


@pytest.fixture(scope="module")
def untouched(servers: tuple[Any, Any]) -> list[object]:
    return [objects(server) for server in servers]


@pytest.fixture
def up(cluster: Cluster) -> Cluster:
    cluster.start()
    return cluster


def folders(cluster: Cluster) -> set[Path]:
    """Those of tdelta among the nodes' temporary files; a node that lost its power in an earlier test left its own."""
    return {folder for node in cluster.nodes for folder in cluster.temporary(node).glob("tdelta*")}


@pytest.fixture
def asked(cluster: Cluster, servers: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    monkeypatch.setenv(VARIABLE, PASSWORD)
    at = cluster.database_address
    dsns = [f"mysql://bench@{at}:{server.port}/?password-env={VARIABLE}&tls=disable" for server in servers]
    return (*RUN, "--ray", cluster.address, "--baseline", dsns[0], "--encrypted", dsns[1])


@pytest.fixture
def place(cluster: Cluster, servers: tuple[Any, Any], untouched: list[object], tmp_path: Path) -> Iterator[Place]:
    """Where a run keeps its trials. After it: what it stored is right, and nothing is left anywhere."""
    place, before = Place(tmp_path), folders(cluster)
    yield place
    require_right(place)
    for node in cluster.nodes:
        until(lambda node=node: not node.named(*OURS), 30.0)
    assert folders(cluster) <= before
    until(lambda: not of_run(place), 30.0)
    assert [objects(server) for server in servers] == untouched


def of_run(place: Place) -> list[int]:
    """The processes on this machine that a run, or what it started, started: they have its folders' names."""
    named = f"XDG_DATA_HOME={place.base}".encode()
    return [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if named in contents(folder / "environ")]


def contents(file: Path) -> bytes:
    """Of a file of a process's, which may have gone."""
    with contextlib.suppress(OSError):
        return file.read_bytes()
    return b""


def objects(server: Any) -> list[object]:
    with contextlib.closing(own.root(server)) as session:
        return [session.rows(query) for query in own.OBJECTS]


def stored(place: Place) -> list[Trial]:
    with Store.open(place.store, must_exist=True) as store:
        return store.trials(store.resolve("last"))


def require_right(place: Place) -> None:
    """Each trial was done whole, by agents that worked together and did the same work as every other time."""
    trials = stored(place)
    for trial in trials:
        done = trial.measurement
        assert (done.stopped_by, dict(done.errors), done.standstill) == ("count", {}, "")
        assert len(done.agents) == AGENTS
        assert sum(one.operations for one in done.agents.values()) == done.operations
        assert done.histograms.keys() >= {f"agent:{name}/tx:{tx}" for name in done.agents for tx in done.transactions}
        assert overlap(done.agents) >= LEAST_OVERLAP
        assert all(one.response_total_ns < CUT_SECONDS * 1e9 for one in done.agents.values())
    blocks = Counter(trial.block for trial in trials)
    assert set(blocks.values()) <= {2}
    assert len({trial.measurement.operations for trial in trials}) <= 1


@pytest.fixture
def process(up: Cluster, place: Place, asked: tuple[str, ...]) -> subprocess.Popen[str]:
    """A run that has done its first round."""
    del up
    found = place.start(*asked)
    read_until(found, "round 1:")
    return found


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        (("database_address",), ("block-void", "server-lost")),
        ((), ("block-void", "server-lost")),
        (("head_address",), ()),  # its agent was at work meanwhile, and may not have noticed
    ],
    ids=["the database", "all", "the head"],
)
def test_a_run_goes_on_whose_node_is_cut_off_for_seconds(
    up: Cluster, process: subprocess.Popen[str], others: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    with up.cut(up.nodes[0], *(getattr(up, name) for name in others)):
        time.sleep(CUT_SECONDS)
    require_goes_on(waited_for(process, PATIENCE_SECONDS), *expected)


def test_an_agent_that_is_cut_off_from_the_head_for_good_is_placed_on_another_node_and_nothing_stays(
    up: Cluster, process: subprocess.Popen[str]
) -> None:
    cut, stays = up.nodes
    with up.cut(cut, up.head_address):
        document = require_goes_on(waited_for(process, PATIENCE_SECONDS), "server-lost")
        until(lambda: not cut.named(*OURS), 60.0)  # as long as Ray takes to give up its head
    cut.kill()  # the head takes it for dead
    assert all(stays.name in one["nodes"] for one in document["agents"]["agents"])


def test_an_agent_that_is_killed_on_its_node_is_placed_anew(up: Cluster, process: subprocess.Popen[str]) -> None:
    (agent,) = up.nodes[0].named("ray::Agent")
    os.kill(agent, signal.SIGKILL)
    read_until(process, "lost:")
    document = require_goes_on(waited_for(process, PATIENCE_SECONDS), "server-lost")
    placed = [set(one["nodes"]) for one in document["agents"]["agents"]]
    assert all({node.name} in placed for node in up.nodes)  # whichever of them Ray places first


def test_an_agent_whose_node_dies_is_placed_on_another(
    up: Cluster, place: Place, process: subprocess.Popen[str]
) -> None:
    dies, stays = up.nodes
    dies.kill()
    read_until(process, "lost:")
    document = require_goes_on(waited_for(process, PATIENCE_SECONDS), "server-lost")
    assert all(stays.name in one["nodes"] for one in document["agents"]["agents"])
    assert {part.node for trial in stored(place) if trial.round == 1 for part in trial.measurement.agents.values()} == {
        stays.name
    }


def test_a_run_without_a_node_ends_with_what_it_knows_and_goes_on_when_there_is_one(
    up: Cluster, place: Place, process: subprocess.Popen[str]
) -> None:
    until(lambda: place.query("SELECT COUNT(*) FROM trials") >= [(2,)])
    for node in up.nodes:
        node.kill()
    ran = waited_for(process, PATIENCE_SECONDS)
    known = stored(place)
    assert [one["code"] for one in ran.document["refusals"]] == ["no-node-left"]
    assert ran.code == ran.document["exit_code"] == 2
    up.start()
    resumed = place.tdelta("run", "--json", "--resume", "last")
    assert resumed.code in ANSWERED, resumed.err
    assert [trial.block for trial in stored(place)][: len(known)] == [trial.block for trial in known]
    assert len(stored(place)) > len(known)


def test_a_head_that_dies_early_ends_the_run_or_leaves_it_its_answer(
    up: Cluster, process: subprocess.Popen[str]
) -> None:
    up.kill_head()
    ran = waited_for(process, PATIENCE_SECONDS)
    if ran.code not in ANSWERED:
        assert [one["code"] for one in ran.document["refusals"]] == ["ray-head-lost"], ran.err
        assert ran.code == 2
    for node in up.nodes:
        until(lambda node=node: not node.processes(), 60.0)


@pytest.fixture
def fleet(cluster: Cluster, tmp_path: Path) -> Iterator[Place]:
    before = folders(cluster)
    yield Place(tmp_path)
    for node in cluster.nodes:
        until(lambda node=node: not node.named("tdelta."), 30.0)
    assert folders(cluster) <= before


def test_a_fleet_with_one_time_for_all_has_one_run_at_a_time_on_each_node(up: Cluster, fleet: Place) -> None:
    (fleet.base / "inventory.toml").write_text(f'time = "1500s"\n{TARGET}[target.a]\n[target.b]\n')
    ran = waited_for(fleet.start("fleet", "inventory.toml", "--json", "--ray", up.address), PATIENCE_SECONDS)
    rows = ran.document["rows"]
    assert [row["target"] for row in rows] == ["a", "b"], ran.err
    assert all(row["ratio"] > 0 for row in rows)
    at_work: dict[str, str] = {}
    begun = []
    for line in ran.err.splitlines():
        if found := re.match(r"(\w): (begun|ended) on (\w+)", line):
            target, what, node = found.groups()
            if what == "ended":
                assert at_work.pop(node) == target
            else:
                assert node not in at_work
                at_work[node] = target
                begun.append((target, node))
    assert {node for _, node in begun} == {node.name for node in up.nodes}
    times = Counter(target for target, _ in begun)
    assert set(times.values()) <= {1, 2}
    assert max(times.values()) == 2 or all(row["decision"] != "undecided" for row in rows)


def test_private_servers_change_hosts_between_rounds_and_leave_nothing_there(up: Cluster, tmp_path: Path) -> None:
    require(own.programs(), own.INSTALL)
    place = Place(tmp_path)
    twins = tmp_path / "twins"
    process = place.start("run", "--json", *ON_HOSTS, "--ray", up.address, "--dir", str(twins))
    document = waited_for(process, PATIENCE_SECONDS).answer
    hosts = {node.name for node in up.nodes}
    on = {(t.condition.key, t.round): t.measurement.host for t in stored(place)}
    assert {key: {on[key, 0], on[key, 1]} for key, _ in on} == {key: hosts for key, _ in on}
    (baseline,) = {t.condition.key for t in stored(place) if t.condition.role is Role.BASELINE}
    assert all(on[key, number] != on[baseline, number] for key, number in on if key != baseline)
    assert document["hosts"]["names"] == sorted(hosts)
    assert [one["host"] for one in document["hosts"]["effects"]] == sorted(hosts)[1:]
    assert document["hosts"]["confounded"] == []
    require_gone(up, place)
    assert not list(twins.glob("*"))


def test_a_host_that_dies_ends_the_run_which_goes_on_with_it_until_a_ctrl_c_and_nothing_stays(
    up: Cluster, tmp_path: Path
) -> None:
    require(own.programs(), own.INSTALL)
    place = Place(tmp_path)
    twins = tmp_path / "twins"
    endless = [word.replace("2..2", "99..99") for word in ON_HOSTS]
    process = place.start("run", "--json", *endless, "--ray", up.address, "--dir", str(twins))
    read_until(process, "round 1:")
    up.nodes[0].kill()
    ran = waited_for(process, PATIENCE_SECONDS)
    assert [one["code"] for one in ran.document["refusals"]] == ["host-lost"], ran.err
    assert ran.code == 2
    require_gone(up, place)
    left = {folder.name[-1] for folder in twins.glob("*")}
    assert left <= {"1"}  # of the node that lost its power, which its next run removes
    known = stored(place)
    up.start()
    process = place.start("run", "--json", "--resume", "last")
    read_until(process, "round ")
    process.send_signal(signal.SIGINT)
    ran = waited_for(process, PATIENCE_SECONDS)
    assert ran.code == 130, ran.err
    assert stored(place)[: len(known)] == known
    require_gone(up, place)
    assert not list(twins.glob("*"))


def test_a_fleet_leaves_out_a_node_with_another_tdelta_that_was_started_again(up: Cluster, fleet: Place) -> None:
    other, same = up.nodes  # in the order of their names, in which nodes are taken
    metadata = fleet.base / "other" / "tdelta-0.0.9.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: tdelta\nVersion: 0.0.9\n")
    other.kill()
    other.environment["PYTHONPATH"] = os.pathsep.join((str(fleet.base / "other"), os.environ.get("PYTHONPATH", "")))
    try:
        up.start()
        (fleet.base / "inventory.toml").write_text(f"{TARGET}[target.a]\n")
        ran = waited_for(fleet.start("fleet", "inventory.toml", "--json", "--ray", up.address), PATIENCE_SECONDS)
    finally:
        other.kill()
        other.environment.clear()
    left_out = Refusal.of(
        "version-mismatch", what=f"node {other.name}", expected=f"tdelta {tdelta_version()}", found="0.0.9"
    )
    assert ran.err.splitlines().count(left_out.text) == 1, ran.err
    (row,) = ran.document["rows"]
    assert row["ratio"] > 0
    assert re.findall(r"begun on (\w+)", ran.err) == [same.name]


def require_gone(cluster: Cluster, place: Place) -> None:
    for node in cluster.nodes:
        until(lambda node=node: not node.named("tdelta.", "ray::TwinNode", str(place.base)), 60.0)
    until(lambda: not of_run(place), 30.0)


def require_goes_on(ran: Ran, *expected: str) -> Any:
    """The document of a run that came to its answer, with a caution of one of these codes if there are any."""
    assert ran.code in ANSWERED, ran.err
    assert not expected or {one["code"] for one in ran.document["caution_codes"]} & set(expected), ran.err
    assert [one["agent"] for one in ran.document["agents"]["agents"]] == [str(n + 1) for n in range(AGENTS)]
    return ran.document
