from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support import samples as s
from support.refused import refused
from tdelta.cli.main import cli
from tdelta.errors import EnvironmentFault, InventoryError, StorageFault, UsageError
from tdelta.messages import Refusal
from tdelta.ray.fleet import Ended
from tdelta.records import Measurement, RunResult, Trial
from tdelta.report.drawing import draw
from tdelta.report.fleet import compose_fleet, fleet_blocks, fleet_headline, on_one_line
from tdelta.session.fleet import PILOT_SHARE, TargetRun, conduct_fleet, shares
from tdelta.session.inventory import Inventory, read_inventory
from tdelta.session.keeping import remove
from tdelta.store import Store
from tdelta.store.pack import write_pack

THREE = "threads = 2\n[target.a]\n[target.b]\n[target.c]\n"


def pack_of(folder: Path, name: str, result: Callable[[], RunResult] = s.slower) -> tuple[str, bytes]:
    run, run_id = result(), f"20261125-{name}"
    if (folder / f"{name}.tdelta").exists():
        return run_id, (folder / f"{name}.tdelta").read_bytes()
    settings, counts = replace(run.settings, run_id=run_id), replace(run.counts, trials=1)
    named = replace(run, settings=settings, counts=counts)
    measured = Measurement(operations=10, elapsed_ns=10**6, transactions={}, statements={})
    with Store.open(folder / f"{name}.sqlite") as store:
        store.create_run(named.settings, named.machine, named.versions)
        store.add_trial(run_id, Trial(0, 0, 0, settings.conditions[0], "t0", 1e9, measured))
        store.finish(run_id, named)
        write_pack(store, run_id, folder / f"{name}.tdelta", force=True)
    return run_id, (folder / f"{name}.tdelta").read_bytes()


class FakeNodes:
    """So many nodes, on which runs end in the order in which they began, each with an answer unless it is named."""

    def __init__(self, folder: Path, count: int = 1, ends: Mapping[str, list[Ended]] | None = None) -> None:
        self.folder, self.count = folder, count
        self.ends = dict(ends or {})
        self.running: list[str] = []
        self.begun: list[str] = []
        self.together: set[frozenset[str]] = set()
        self.is_ended = False
        self.words: list[list[str]] = []
        self.result = s.slower
        self.outs: list[Refusal] = []
        self.seconds = 0.0

    def __call__(self, _address: str | None) -> FakeNodes:
        return self

    def place(self, name: str, words: list[str]) -> str | None:
        assert "--label" in words
        if len(self.running) == self.count:
            return None
        self.running.append(name)
        self.begun.append(name)
        self.words.append(words)
        self.together.add(frozenset(self.running))
        return "n1"

    def left_out(self) -> list[Refusal]:
        found, self.outs = self.outs, []
        return found

    def next(self, seconds: float) -> Ended | None:
        self.seconds += seconds
        if not self.running:
            return None
        name = self.running.pop(0)
        if self.ends.get(name):
            return self.ends[name].pop(0)
        run_id, pack = pack_of(self.folder, f"{name}{self.begun.count(name)}", self.result)
        return Ended(name, "n1", 0, run_id, pack)

    def end(self) -> None:
        self.is_ended = True


def inventory_of(folder: Path, text: str) -> Inventory:
    (folder / "inventory.toml").write_text(text, encoding="utf-8")
    return read_inventory(folder / "inventory.toml")


def made(folder: Path, text: str, nodes: FakeNodes, *, rerun: bool = False) -> tuple[TargetRun, ...]:
    with Store.open(folder / "own" / "runs.sqlite") as store:
        return conduct_fleet(
            inventory_of(folder, text), store, lambda _line: None, rerun=rerun, nodes=nodes, clock=lambda: nodes.seconds
        )


def test_every_target_has_its_run_in_the_store(tmp_path: Path) -> None:
    nodes = FakeNodes(tmp_path)
    found = made(tmp_path, THREE, nodes)
    assert [(one.target, one.exit_code, one.is_answered) for one in found] == [(name, 0, True) for name in "abc"]
    with Store.open(tmp_path / "own" / "runs.sqlite") as store:
        assert set(store.run_ids()) == {one.run_id for one in found}
    assert nodes.is_ended


def test_as_many_are_at_work_as_there_are_nodes_but_no_more_than_are_wanted(tmp_path: Path) -> None:
    nodes = FakeNodes(tmp_path, 2)
    made(tmp_path, THREE, nodes)
    assert max(map(len, nodes.together)) == 2
    fewer = FakeNodes(tmp_path, 3)
    made(tmp_path, f"at-once = 1\n{THREE}", fewer, rerun=True)
    assert max(map(len, fewer.together)) == 1


def test_no_two_runs_use_one_server_and_others_go_ahead_meanwhile(tmp_path: Path) -> None:
    nodes = FakeNodes(tmp_path, 3)
    made(tmp_path, '[target.a]\nserver = "x"\n[target.b]\nserver = ["x", "y"]\n[target.c]\n', nodes)
    assert nodes.begun == ["a", "c", "b"]
    assert not any({"a", "b"} <= together for together in nodes.together)


def test_it_says_which_nodes_make_no_runs_and_goes_on_with_the_others(tmp_path: Path) -> None:
    nodes = FakeNodes(tmp_path)
    nodes.outs = [Refusal.of("version-mismatch", what="node n9", expected="tdelta 2", found="1")]
    lines: list[str] = []
    (expected,) = (why.text for why in nodes.outs)
    with Store.open(tmp_path / "own" / "runs.sqlite") as store:
        found = conduct_fleet(inventory_of(tmp_path, THREE), store, lines.append, nodes=nodes)
    assert all(one.is_answered for one in found)
    assert lines.count(expected) == 1


def test_a_run_whose_node_dies_is_begun_again_but_not_for_ever(tmp_path: Path) -> None:
    lost = Ended("a", "n1", lost="the node died")
    nodes = FakeNodes(tmp_path, ends={"a": [lost], "b": [replace(lost, name="b")] * 3})
    a, b, c = made(tmp_path, THREE, nodes)
    assert [nodes.begun.count(name) for name in "abc"] == [2, 3, 1]
    assert (a.is_answered, b.is_answered, c.is_answered) == (True, False, True)
    assert (b.exit_code, b.fault) == (1, "the node died")


def test_the_servers_of_a_run_that_was_lost_are_in_use_until_it_must_have_ended(tmp_path: Path) -> None:
    nodes = FakeNodes(tmp_path, ends={"a": [Ended("a", "n1", lost="the node was cut off")]})
    text = '[target.a]\nserver = "x"\n[target.b]\nserver = ["x", "y"]\n[target.c]\nserver = "y"\n'
    found = made(tmp_path, text, nodes)
    assert nodes.begun == ["a", "c", "b", "a"]
    assert all(one.is_answered for one in found)
    assert nodes.seconds >= 120.0


def test_after_a_crash_runs_with_an_answer_are_kept_and_others_begin_again(tmp_path: Path) -> None:
    class Crashing(FakeNodes):
        def next(self, seconds: float) -> Ended | None:
            if "b" in self.running:
                raise EnvironmentFault(Refusal.of("defect", said="gone"))
            return super().next(seconds)

    first = Crashing(tmp_path)
    with pytest.raises(EnvironmentFault):
        made(tmp_path, THREE, first)
    assert first.is_ended
    (journal,) = (tmp_path / "own").glob("fleet-*.jsonl")
    with journal.open("a") as file:
        file.write('{"target": "c", "dig')  # the line of a process that was killed
    second = FakeNodes(tmp_path, ends={"c": [Ended("c", "n1", 2, said="refused")]})
    assert [one.exit_code for one in made(tmp_path, THREE, second)] == [0, 0, 2]
    assert second.begun == ["b", "c"]
    third = FakeNodes(tmp_path)
    assert all(one.is_answered for one in made(tmp_path, THREE, third))
    assert third.begun == ["c"]


def test_a_run_is_made_again_where_it_is_asked_for_otherwise_or_gone_from_the_store(tmp_path: Path) -> None:
    a, *_ = made(tmp_path, THREE, FakeNodes(tmp_path))
    with Store.open(tmp_path / "own" / "runs.sqlite") as store:
        remove(store, (a.run_id,))
    nodes = FakeNodes(tmp_path)
    made(tmp_path, f"{THREE}threads = 4\n", nodes)
    assert nodes.begun == ["a", "c"]


def test_time_of_the_fleet_goes_to_second_runs_of_what_is_undecided(tmp_path: Path) -> None:
    text = 'time = "100m"\n[target.a]\n[target.b]\n'
    decided = FakeNodes(tmp_path)
    made(tmp_path, text, decided)
    assert [words[-2:] for words in decided.words] == [["--max-time", "10m"]] * 2
    nodes = FakeNodes(tmp_path / "more")
    nodes.folder.mkdir()
    nodes.result = s.undecided
    found = made(tmp_path / "more", text, nodes)
    times = [(name, words[-1]) for name, words in zip(nodes.begun, nodes.words, strict=True)]
    assert times == [("a", "10m"), ("b", "10m"), ("a", "40m"), ("b", "40m")]
    assert [run.run_id for run in found] == ["20261125-a2", "20261125-b2"]
    again = FakeNodes(tmp_path / "more")
    assert made(tmp_path / "more", text, again) == found
    assert again.begun == []


def test_one_fleet_is_at_work_at_a_time(tmp_path: Path) -> None:
    class Again(FakeNodes):
        def next(self, _seconds: float) -> Ended | None:
            made(self.folder, THREE, FakeNodes(self.folder))
            raise AssertionError

    with refused(UsageError, "fleet-at-work"):
        made(tmp_path, THREE, Again(tmp_path))


def test_without_ray_the_message_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    inventory = inventory_of(tmp_path, THREE)
    with Store.open(tmp_path / "own" / "runs.sqlite") as store, refused(UsageError, "library-missing"):
        conduct_fleet(inventory, store, lambda _line: None)


def test_the_table_of_a_fleet_that_is_complete_needs_no_ray(tmp_path: Path) -> None:
    nodes = FakeNodes(tmp_path, ends={"c": [Ended("c", "n1", 2, said="refused")]})
    made(tmp_path, THREE, nodes)
    inventory, store = str(tmp_path / "inventory.toml"), str(tmp_path / "own" / "runs.sqlite")
    (tmp_path / "inventory.toml").write_text(THREE.replace("[target.c]\n", ""), encoding="utf-8")
    out = io.StringIO()
    page = tmp_path / "fleet.html"
    words = ["fleet", inventory, "--store", store, "--format", "csv", "--output", str(page)]
    with redirect_stdout(out):
        code = cli.main(words, "tdelta", standalone_mode=False)
    rows = list(csv.DictReader(io.StringIO(out.getvalue())))
    verdicts = s.slower().primary
    assert code == 0
    assert [row["target"] for row in rows] == ["a"] * len(verdicts) + ["b"] * len(verdicts)
    assert [float(row["ratio"]) for row in rows] == [verdict.ratio.median for verdict in verdicts] * 2
    drawn = page.read_text(encoding="utf-8")
    assert "data-sortable" in drawn
    assert all(row["run_id"] in drawn for row in rows)


def test_the_text_begins_with_how_many_targets_came_to_which_answer(tmp_path: Path) -> None:
    nodes = FakeNodes(tmp_path, ends={"c": [Ended("c", "n1", 2, said="load: plain\nerror: 2 faults\n  one\n  two\n")]})
    runs = made(tmp_path, THREE, nodes)
    said = [(run, s.slower() if run.is_answered else None) for run in runs]
    headline = draw(fleet_blocks(said), 100).splitlines()[0]
    assert headline == fleet_headline(said) == compose_fleet(said, "inventory.toml").headline
    assert [int(number) for number in re.findall(r"\d+", headline)] == [3, 2, 1]
    assert runs[2].fault.splitlines() == ["2 faults", "  one", "  two"]
    assert on_one_line(runs[2].fault) == "2 faults; one; two"


def test_where_the_page_cannot_go_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    inventory = inventory_of(tmp_path, THREE).path
    words = ["fleet", str(inventory), "--store", str(tmp_path / "own" / "runs.sqlite"), "--output"]
    for page, fault in ((inventory, UsageError), (tmp_path / "missing" / "fleet.html", StorageFault)):
        with pytest.raises(fault) as caught:
            cli.main([*words, str(page)], "tdelta", standalone_mode=False)
        assert [one.code for one in caught.value.refusals] in (["file-exists"], ["path-unusable"])
    with pytest.raises(UsageError) as caught:
        cli.main([*words, str(inventory), "--force"], "tdelta", standalone_mode=False)
    assert [one.code for one in caught.value.refusals] == ["library-missing"]


def test_options_of_the_fleet_itself_are_no_keys_of_an_inventory(tmp_path: Path) -> None:
    text = 'store = "x"\nagents = 2\n[target.a]\nengine = "sqlite"\nray = "head:6379"\nhosts = 2\n'
    with pytest.raises(InventoryError) as caught:
        inventory_of(tmp_path, text)
    found = {(one.code, one.parameters["key"]) for one in caught.value.refusals}
    assert found == {
        ("fleet-option", "store"),
        ("not-in-a-fleet", "agents"),
        ("fleet-option", "target.a.ray"),
        ("not-in-a-fleet", "target.a.hosts"),
    }


TARGETS, FLEETS = 12, 400
SECONDS = 36_000.0


def widest(log_sd: float, rng: np.random.Generator) -> tuple[float, float]:
    """The widest interval of a fleet with the rule, and with an equal split of the same time."""
    scales = np.exp(rng.normal(0.0, log_sd, TARGETS))
    pilot = PILOT_SHARE * SECONDS / TARGETS
    seen = scales / math.sqrt(pilot) * np.exp(rng.normal(0.0, 0.15, TARGETS))
    found = shares({str(i): width for i, width in enumerate(seen)}, pilot, (1.0 - PILOT_SHARE) * SECONDS)
    times = [found.get(str(i), pilot) for i in range(TARGETS)]
    return float(np.max(scales / np.sqrt(times))), float(np.max(scales) / math.sqrt(SECONDS / TARGETS))


def test_the_widest_interval_is_narrower_than_after_an_equal_split() -> None:
    rng = np.random.default_rng(20261126)
    narrower = [shared < even for shared, even in (widest(math.log(2.0), rng) for _ in range(FLEETS))]
    assert np.mean(narrower) >= 0.9


def test_no_more_than_the_time_that_is_left_is_dealt_out_and_nobody_gets_less_than_a_pilot_had() -> None:
    rng = np.random.default_rng(1)
    for _ in range(FLEETS):
        widths = {str(i): float(width) for i, width in enumerate(np.exp(rng.normal(0.0, 1.5, TARGETS)))}
        found = shares(widths, 600.0, 28_800.0)
        assert sum(found.values()) == pytest.approx(28_800.0)
        assert min(found.values()) > 600.0
        ratios = [seconds / widths[name] ** 2 for name, seconds in found.items()]
        assert ratios == pytest.approx([ratios[0]] * len(ratios))


def test_what_is_decided_gets_no_more_time() -> None:
    assert shares({"a": 0.0, "b": 3.0}, 10.0, 100.0) == {"b": 100.0}
    assert shares({"a": 0.0}, 10.0, 100.0) == {}
    assert shares({}, 10.0, 100.0) == {}
    assert shares({"a": 1.0, "b": 1.0}, 60.0, 100.0) == {"b": 100.0}


def read(folder: Path, text: str) -> Inventory:
    path = folder / "inventory.toml"
    path.write_text(text, encoding="utf-8")
    return read_inventory(path)


def test_options_for_all_give_way_to_those_of_a_target(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        'threads = 2\nmax-time = "5m"\nlabels = ["all"]\nat-once = 3\n'
        '[target.a]\n[target.b]\nthreads = 4\nengine = "duckdb"',
    )
    assert found.at_once == 3
    assert [target.name for target in found.targets] == ["a", "b"]
    assert [target.request.threads for target in found.targets] == [2, 4]
    assert [target.request.engine for target in found.targets] == ["sqlite", "duckdb"]
    assert found.targets[0].words == ("--threads", "2", "--max-time", "5m", "--label", "a", "--label", "all")


def test_no_two_runs_share_what_is_named_or_where_their_dsns_lead(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        '[target.a]\nbaseline = "mysql://u@db1/"\nencrypted = "mysql://u@db2/"\nserver = ["nas"]\n'
        '[target.b]\nserver = "db1"',
    )
    assert [target.servers for target in found.targets] == [{"db1", "db2", "nas"}, {"db1"}]


def test_paths_are_meant_from_the_files_folder(tmp_path: Path) -> None:
    (target,) = read(tmp_path, '[target.a]\ndatabase = "app.db"').targets
    assert str(tmp_path / "app.db") in target.words


def test_all_faults_come_at_once_each_with_its_line(tmp_path: Path) -> None:
    text = "\n".join(
        (
            "at-once = 0",
            'store = "x"',
            "[target.a]",
            'engine = "sqlit"',
            "[target.b]",
            "thread = 2",
            "[target.c]",
            'max-time = "5"',
            "[target.d]",
            "server = 3",
            "[target.e]",
            "agents = 2",
            "[target.f]",
            'baseline = "mysql://u@db1/"',
        )
    )
    with pytest.raises(InventoryError) as caught:
        read(tmp_path, text)
    lines = [int(str(refusal).split(":")[1]) for refusal in caught.value.refusals]
    assert set(lines) == {1, 2, 4, 6, 8, 10, 12, 13}


@pytest.mark.parametrize("text", ["", "target = 3", "[target]", "[target", "[target.last]"])
def test_an_inventory_without_targets_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InventoryError):
        read(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    ['time = "1h"\nmax-time = "5m"\n[target.a]', 'time = "1h"\n[target.a]\nmax-time = "5m"', "time = 3\n[target.a]"],
)
def test_a_time_for_all_is_a_duration_and_leaves_no_target_its_own(tmp_path: Path, text: str) -> None:
    with pytest.raises(InventoryError) as caught:
        read(tmp_path, text)
    assert len(caught.value.refusals) == 1


def test_a_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InventoryError):
        read_inventory(tmp_path / "none.toml")
