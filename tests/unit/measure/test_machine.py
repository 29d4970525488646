import json
import platform
from pathlib import Path

import pytest

from tdelta.measure.machine import RELEVANT_FLAGS, machine_facts, mount_of, parse_cpuinfo, parse_mountinfo

from .machines import ARM_CPUINFO, MEMINFO, MOUNTINFO, X86_CPUINFO, machine


def test_an_x86_tells_model_physical_cores_and_flags():
    cpu = parse_cpuinfo(X86_CPUINFO)
    assert cpu.model == "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz"
    assert cpu.cores == 2  # three threads on core 0 of two packages
    assert set(RELEVANT_FLAGS) <= cpu.flags


def test_an_arm_tells_features_and_neither_model_nor_cores():
    cpu = parse_cpuinfo(ARM_CPUINFO)
    assert (cpu.model, cpu.cores) == (None, None)
    assert {"aes", "pmull"} <= cpu.flags


@pytest.mark.parametrize("text", ["", "garbage without colons\n\n", "processor : 0\n"])
def test_a_cpuinfo_that_tells_nothing_is_no_fault(text):
    cpu = parse_cpuinfo(text)
    assert (cpu.model, cpu.cores, cpu.flags) == (None, None, frozenset())


@pytest.mark.parametrize(
    ("directory", "file_system", "source"),
    [
        ("/home/x", "ext4", "/dev/vda1"),
        ("/data", "xfs", "/dev/sdb1"),
        ("/data/runs/1", "xfs", "/dev/sdb1"),
        ("/database", "ext4", "/dev/vda1"),
        ("/data/alice b/runs", "nfs4", "files.example.org:/export/alice"),
        ("/data/stacked/x", "tmpfs", "tmpfs"),
    ],
)
def test_a_directory_lies_on_its_deepest_and_latest_mount(directory, file_system, source):
    mount = mount_of(Path(directory), parse_mountinfo(MOUNTINFO))
    assert mount is not None
    assert (mount.file_system, mount.source) == (file_system, source)


def test_without_mounts_there_is_no_file_system_to_tell(tmp_path):
    facts = machine_facts(Path("/data"), machine(tmp_path, proc__self__mountinfo=""))
    assert (facts["file_system"], facts["storage_device"]) == (None, None)


def test_all_facts_come_from_the_root_that_is_given(tmp_path):
    root = machine(
        tmp_path,
        proc__cpuinfo=X86_CPUINFO,
        proc__meminfo=MEMINFO,
        proc__self__mountinfo=MOUNTINFO,
        sys__devices__system__clocksource__clocksource0__current_clocksource="tsc\n",
        sys__devices__system__cpu__cpu0__cpufreq__scaling_governor="performance\n",
        sys__devices__system__cpu__cpu1__cpufreq__scaling_governor="performance\n",
        sys__devices__system__cpu__cpu10__cpufreq__scaling_governor="powersave\n",
    )
    facts = machine_facts(Path("/data/runs"), root)
    assert facts["cpu_model"] == "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz"
    assert facts["cpu_flags"] == dict.fromkeys(RELEVANT_FLAGS, True)
    assert facts["memory_total_bytes"] == 16303104 * 1024
    assert facts["memory_available_bytes"] == 8 * 2**30
    assert facts["memory_limit_bytes"] is None
    assert len(facts["load_average"]) == 3
    assert facts["cpu_governor"] == "performance,powersave"
    assert facts["clocksource"] == "tsc"
    assert (facts["file_system"], facts["storage_device"]) == ("xfs", "/dev/sdb1")
    assert facts["virtualized"] is False


def test_a_root_without_files_gives_the_same_facts_with_none(tmp_path):
    empty, real = machine_facts(tmp_path, tmp_path), machine_facts(tmp_path)
    assert list(empty) == list(real)
    unknown = {name for name, fact in empty.items() if fact is None}
    assert {"cpu_model", "memory_total_bytes", "cpu_governor", "clocksource", "virtualized"} <= unknown


@pytest.mark.parametrize(
    ("flags", "virtualized"), [("fpu hypervisor", True), ("fpu vme", False), ("asimd", None), ("", None)]
)
def test_a_guest_is_told_by_its_flag_and_not_guessed_without_flags(tmp_path, flags, virtualized):
    root = machine(tmp_path, proc__cpuinfo=f"flags : {flags}\n")
    assert machine_facts(Path("/"), root)["virtualized"] is virtualized
    machine(root, sys__hypervisor__type="xen\n")
    assert machine_facts(Path("/"), root)["virtualized"] is True


@pytest.mark.parametrize("source", ["files.example.org:/export", "/dev/mapper/alices--laptop--vg-root", "overlay"])
def test_a_source_that_may_name_a_host_is_not_told(tmp_path, source):
    root = machine(tmp_path, proc__self__mountinfo=f"27 1 254:0 / / rw - ext4 {source} rw\n")
    facts = machine_facts(Path("/"), root)
    assert facts["file_system"] == "ext4"
    assert facts["storage_device"] is None


def test_no_fact_names_the_folder_of_a_person_or_the_host_of_a_share(tmp_path):
    root = machine(tmp_path, proc__self__mountinfo=MOUNTINFO, proc__sys__kernel__hostname="alices-laptop\n")
    facts = machine_facts(Path("/data/alice b/runs"), root)
    assert facts["file_system"] == "nfs4"
    assert not any(name in json.dumps(facts) for name in ("alice", "example.org", "runs"))


def test_the_facts_of_this_machine_are_json_values_with_a_kernel_and_cpus(tmp_path):
    facts = machine_facts(tmp_path)
    assert json.loads(json.dumps(facts)) == facts
    assert facts["kernel"] == platform.release()
    assert 1 <= facts["usable_cpus"] <= facts["logical_cpus"]
    assert facts["file_system"]
