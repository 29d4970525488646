from pathlib import Path

import pytest

from tdelta.errors import InventoryError
from tdelta.session.inventory import Inventory, read_inventory


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
