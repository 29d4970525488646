import math
import os
from pathlib import Path

import pytest

from tdelta.measure.procfs import read_cgroup_cpus
from tdelta.processes.answers import allowed_cpus, delay_is_others

ALONE = {"is_closed": True, "load_threads": 1, "database_threads": 1, "usable_cpus": 2.0}


def test_one_thread_that_is_load_and_database_with_a_cpu_to_spare_causes_no_delay_of_its_own() -> None:
    assert delay_is_others(**ALONE)


@pytest.mark.parametrize(
    "otherwise",
    [
        {"is_closed": False},
        {"load_threads": 2, "database_threads": 2, "usable_cpus": 64.0},
        {"database_threads": 4, "usable_cpus": 64.0},
        {"database_threads": None, "usable_cpus": 64.0},
        {"usable_cpus": 1.0},
        {"usable_cpus": 1.5},
    ],
)
def test_whatever_may_be_tdeltas_own_doing_is_left_in(otherwise: dict[str, object]) -> None:
    assert not delay_is_others(**{**ALONE, **otherwise})  # type: ignore[arg-type]


def container(root: Path, quotas: dict[str, str]) -> Path:
    """A machine on which this process is in /shop/db, with the quotas given by group."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text("0::/shop/db\n")
    for group, quota in quotas.items():
        folder = root / "sys/fs/cgroup" / group
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cpu.max").write_text(quota)
    return root


def test_the_tightest_quota_of_the_group_and_those_above_counts(tmp_path: Path) -> None:
    root = container(tmp_path, {"shop/db": "400000 100000\n", "shop": "150000 100000\n"})
    assert read_cgroup_cpus(root) == 1.5
    assert allowed_cpus(root) == min(1.5, len(os.sched_getaffinity(0)))


def test_without_any_quota_the_affinity_counts(tmp_path: Path) -> None:
    assert read_cgroup_cpus(container(tmp_path, {"shop/db": "max 100000\n"})) == math.inf
    assert allowed_cpus(tmp_path / "nothing here") == len(os.sched_getaffinity(0))
