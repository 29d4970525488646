from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import pytest

from support import samples as s
from tdelta.cli.main import cli
from tdelta.errors import EnvironmentFault, InventoryError, StorageFault, UsageError
from tdelta.messages import Refusal
from tdelta.ray.fleet import Ended
from tdelta.records import Measurement, RunResult, Trial
from tdelta.report.drawing import draw
from tdelta.report.fleet import compose_fleet, fleet_blocks, fleet_headline, on_one_line
from tdelta.session.fleet import TargetRun, conduct_fleet
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

    with pytest.raises(UsageError) as caught:
        made(tmp_path, THREE, Again(tmp_path))
    assert [refusal.code for refusal in caught.value.refusals] == ["fleet-at-work"]


def test_without_ray_the_message_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    inventory = inventory_of(tmp_path, THREE)
    with Store.open(tmp_path / "own" / "runs.sqlite") as store, pytest.raises(UsageError) as caught:
        conduct_fleet(inventory, store, lambda _line: None)
    assert [refusal.code for refusal in caught.value.refusals] == ["library-missing"]


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
