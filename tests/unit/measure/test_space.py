import resource
import shutil
from pathlib import Path

import pytest

from support.refused import Part, has, refused
from tdelta.errors import EnvironmentFault, StorageFault
from tdelta.measure.procfs import parse_meminfo
from tdelta.measure.space import (
    disk_refusal,
    free_disk_bytes,
    free_memory_bytes,
    require_memory,
    require_space,
    require_threads,
    require_writable,
)

from .machines import MEMINFO, machine

GIB = 2**30


def test_a_folder_that_is_not_there_yet_has_the_room_of_its_ancestor(tmp_path):
    free = free_disk_bytes(tmp_path / "not" / "yet")
    assert free == pytest.approx(shutil.disk_usage(tmp_path).free, rel=0.05)  # others write here, too
    assert not (tmp_path / "not").exists()


def test_room_enough_is_no_fault_and_too_little_says_how_much_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr("tdelta.measure.space.free_disk_bytes", lambda _: 400_000_000)
    require_space(tmp_path, 400_000_000)
    wanted = {"folder": tmp_path, "needed": "1.5 GB", "found": "400.0 MB", "missing": "1.1 GB"}
    with refused(StorageFault, "disk-too-small", **wanted, remedy=Part("--size")):
        require_space(tmp_path, 1_500_000_000)


def test_sizes_without_a_unit_are_counts_and_left_out():
    memory = parse_meminfo(MEMINFO)
    assert memory["Hugepagesize"] == 2 * 2**20
    assert "HugePages_Total" not in memory


def test_free_memory_is_what_the_kernel_calls_available(tmp_path):
    assert free_memory_bytes(machine(tmp_path, proc__meminfo=MEMINFO)) == 8 * GIB


def test_a_container_has_what_its_limit_leaves_pages_of_files_not_counted(tmp_path):
    root = machine(tmp_path, proc__meminfo=MEMINFO, proc__self__cgroup="1:cpu:/x\n0::/box/a\n")
    box = root / "sys/fs/cgroup/box/a"
    box.mkdir(parents=True)
    (box / "memory.max").write_text(f"{2 * GIB}\n")
    (box / "memory.current").write_text(f"{2 * GIB}\n")
    (box / "memory.stat").write_text(f"odd line here\nanon {GIB // 2}\nactive_file {GIB}\ninactive_file {GIB // 2}\n")
    assert free_memory_bytes(root) == 2 * GIB - GIB // 2
    (box / "memory.stat").unlink()
    assert free_memory_bytes(root) == 0
    (box / "memory.max").write_text("max\n")
    assert free_memory_bytes(root) == 8 * GIB


def test_memory_the_kernel_does_not_tell_is_not_refused(tmp_path):
    assert free_memory_bytes(tmp_path) is None
    require_memory(10**18, tmp_path)


def test_too_little_memory_says_what_to_do(tmp_path):
    root = machine(tmp_path, proc__meminfo=MEMINFO)
    require_memory(8 * GIB, root)
    with refused(EnvironmentFault, "memory-too-small", needed="20.0 GB", found="8.6 GB"):
        require_memory(20_000_000_000, root)


def test_a_writable_folder_is_left_as_it_was(tmp_path):
    require_writable(tmp_path / "not" / "yet")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_takes_no_files_is_told_even_to_root(tmp_path):
    (tmp_path / "file").touch()
    for folder in (Path("/proc/tdelta"), tmp_path / "file" / "below"):
        with refused(StorageFault, "folder-unusable", folder=folder):
            require_writable(folder)


def test_a_folder_that_cannot_be_reached_is_told(tmp_path, monkeypatch):
    def refuse(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tdelta.measure.space.os.statvfs", refuse)
    with refused(StorageFault, "folder-unusable", folder=tmp_path, fault="Permission denied"):
        free_disk_bytes(tmp_path)


def test_more_threads_than_the_system_gives_are_refused_with_the_limit(tmp_path: Path) -> None:
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/vm").mkdir()
    (tmp_path / "proc/sys/kernel/threads-max").write_text("60000\n")
    (tmp_path / "proc/sys/vm/max_map_count").write_text("3000\n")
    (tmp_path / "proc/sys/kernel/pid_max").write_text("32768\n")
    require_threads(1400, tmp_path)
    with refused(EnvironmentFault, "threads-too-few", needed=1401, found=1400, limit="vm.max_map_count"):
        require_threads(1401, tmp_path)
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/pids.max").write_text("150\n")
    with refused(EnvironmentFault, "threads-too-few", needed=51, limit=Part("pids.max")):
        require_threads(51, tmp_path)


def test_threads_whose_stacks_do_not_fit_into_the_address_space_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    limits = {resource.RLIMIT_AS: 1_200_000 << 10}
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limits.get(which, resource.RLIM_INFINITY),) * 2)
    require_threads(300, tmp_path)
    with refused(EnvironmentFault, "threads-too-few", needed=400, limit="ulimit -v"):
        require_threads(400, tmp_path)


def test_a_write_that_fails_where_files_may_not_grow_names_that_limit(monkeypatch):
    limits = {resource.RLIMIT_FSIZE: 5_000_000}
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limits[which], limits[which]))
    refusal = disk_refusal("disk I/O error")
    assert refusal.code == "file-size-limited"
    assert has([refusal], "file-size-limited", said="disk I/O error", most="5.0 MB")
    limits[resource.RLIMIT_FSIZE] = resource.RLIM_INFINITY
    assert disk_refusal("disk I/O error").code == "disk-refuses"
