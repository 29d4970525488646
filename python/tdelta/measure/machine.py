"""The machine a run was made on: what a reader needs to judge a figure, and nothing that names a person or a host.

The parsers take text, so that kernels we do not have here can be tested. Host names hide in unexpected places (the
source of a network mount, the volume group of a Debian root), so a device is told by its kernel name only.
"""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import NamedTuple

from tdelta.measure.procfs import parse_meminfo, read_cgroup_memory, read_text

# The version of everything that could change a figure, from the metadata of what is installed.
#
# Nothing is imported to be asked: loading a database library into the parent process is not for this layer to
# do.

NOT_INSTALLED = "not installed"
DISTRIBUTIONS = ("apsw-sqlite3mc", "click", "jinja2", "markupsafe", "numpy", "psutil", "rich", "sqlglot")
"""Distributions that tdelta needs at run time, as ``pyproject.toml`` lists it (a test holds them together)."""


def library_versions() -> dict[str, str]:
    # Not earlier: a worker, which imports this package, is to hold no SQLite but the one under test, and to start fast.
    import sqlite3
    from importlib.metadata import PackageNotFoundError, version

    from tdelta import __version__

    libc, libc_version = platform.libc_ver()
    versions = {
        "python": platform.python_version(),
        libc or "libc": libc_version or "unknown",
        "tdelta": __version__,
        "sqlite (store)": sqlite3.sqlite_version,
    }
    for name in DISTRIBUTIONS:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = NOT_INSTALLED
    return versions


RELEVANT_FLAGS = ("aes", "pclmulqdq", "vaes", "vpclmulqdq", "avx2", "avx512f", "sha_ni")
"""The x86 flags of ``/proc/cpuinfo`` that decide what encryption costs, and whether AES can be switched off."""


class Cpu(NamedTuple):
    """The CPU by ``/proc/cpuinfo``. ``model`` and ``cores`` (physical ones) are None where it lacks them."""

    model: str | None
    cores: int | None
    flags: frozenset[str]


class Mount(NamedTuple):
    point: str
    file_system: str
    source: str


def machine_facts(directory: Path, root: Path = Path("/")) -> dict[str, object]:
    """The facts of this machine, and of the file system of a directory, by name as JSON values.

    A fact that the kernel does not tell is None.
    """
    cpu = parse_cpuinfo(read_text(root / "proc/cpuinfo") or "")
    memory = parse_meminfo(read_text(root / "proc/meminfo") or "")
    cgroup = read_cgroup_memory(root)
    mount = mount_of(directory.resolve(), parse_mountinfo(read_text(root / "proc/self/mountinfo") or ""))
    governors = map(read_text, root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))
    return {
        "cpu_model": cpu.model,
        "cpu_architecture": platform.machine(),
        "cpu_flags": {flag: flag in cpu.flags for flag in RELEVANT_FLAGS},
        "cores": cpu.cores,
        "logical_cpus": os.cpu_count(),
        "usable_cpus": len(os.sched_getaffinity(0)),
        "cpu_governor": ",".join(sorted(set(filter(None, governors)))) or None,  # most guests have none
        "virtualized": _is_virtualized(cpu, root),
        "kernel": platform.release(),
        "os_release": _os_release(),
        "python": platform.python_version(),
        "clocksource": read_text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "load_average": list(os.getloadavg()),
        "memory_total_bytes": memory.get("MemTotal"),
        "memory_available_bytes": memory.get("MemAvailable"),
        "memory_limit_bytes": cgroup.limit_bytes if cgroup else None,
        "file_system": mount.file_system if mount else None,
        "storage_device": _device_name(mount.source) if mount else None,
    }


def parse_cpuinfo(text: str) -> Cpu:
    """Parse ``/proc/cpuinfo`` of x86, ARM (flags are ``Features``, no model as a rule) or others."""
    model: str | None = None
    flags: frozenset[str] = frozenset()
    cores = set()
    for processor in re.split(r"\n\s*\n", text):
        fields = {
            name.strip(): value.strip() for name, _, value in (line.partition(":") for line in processor.splitlines())
        }
        model = model or fields.get("model name") or fields.get("cpu model")
        flags = flags or frozenset((fields.get("flags") or fields.get("Features") or "").split())
        if "core id" in fields:
            cores.add((fields.get("physical id"), fields["core id"]))
    return Cpu(model, len(cores) or None, flags)


def parse_mountinfo(text: str) -> tuple[Mount, ...]:
    """Parse ``/proc/self/mountinfo`` (proc_pid_mountinfo(5)); lines of another shape are passed over."""
    mounts = []
    for line in text.splitlines():
        before, separator, after = line.partition(" - ")
        if separator and len(before.split()) >= 5 and len(after.split()) >= 2:
            file_system, source = after.split()[:2]
            mounts.append(Mount(_unescaped(before.split()[4]), file_system, _unescaped(source)))
    return tuple(mounts)


def mount_of(directory: Path, mounts: tuple[Mount, ...]) -> Mount | None:
    """The mount a directory (absolute, resolved) lies on: the deepest one, and of two at one place the later."""
    holding = [mount for mount in mounts if directory.is_relative_to(mount.point)]
    return max(reversed(holding), key=lambda mount: len(Path(mount.point).parts), default=None)


def _os_release() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME") or None
    except OSError:
        return None


def _device_name(source: str) -> str | None:
    """The kernel's name of a local device (``/dev/dm-0`` for ``/dev/mapper/HOST--vg-root``); None for all else."""
    if not source.startswith("/dev/"):
        return None
    device = str(Path(source).resolve())
    return device if device.count("/") == 2 else None


def _is_virtualized(cpu: Cpu, root: Path) -> bool | None:
    """Whether a hypervisor shows itself; None where this architecture's flags could not tell."""
    if "hypervisor" in cpu.flags or (root / "sys/hypervisor/type").exists():
        return True
    return False if "fpu" in cpu.flags else None  # every x86 has `fpu`, no ARM does


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
