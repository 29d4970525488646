from pathlib import Path

import pytest

from tdelta.processes.servers.supervisor import cpus_for


def machine(root: Path, *cores: str) -> Path:
    """A machine on which these CPUs share a core, each group as the system writes it: ``0,4``."""
    for core in cores:
        for cpu in core.split(","):
            path = root / f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
            path.parent.mkdir(parents=True)
            path.write_text(f"{core}\n")
    return root


@pytest.mark.parametrize(
    ("cores", "chosen"), [(1, {0}), (2, {0, 1}), (4, {0, 1, 4, 5}), (5, {0, 1, 2, 4, 5}), (6, {0, 1, 2, 3, 4, 5})]
)
def test_cores_come_before_their_second_threads(tmp_path: Path, cores: int, chosen: set[int]) -> None:
    root = machine(tmp_path, "0,2", "1,3", "4", "5")
    assert cpus_for(cores, range(6), root) == chosen


def test_only_cpus_that_are_allowed_are_taken(tmp_path: Path) -> None:
    assert cpus_for(2, {3, 5, 7}, machine(tmp_path, "3,5", "7,8")) == {3, 7}


def test_where_the_system_says_nothing_each_cpu_is_a_core(tmp_path: Path) -> None:
    assert cpus_for(2, {4, 2, 9}, tmp_path) == {2, 4}


def test_more_than_there_are_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="found 3"):
        cpus_for(3, {0, 1}, tmp_path)
