"""Which CPUs a server gets that may use some only."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

_SIBLINGS = "sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def cpus_for(cores: int, allowed: Collection[int] | None = None, root: Path = Path("/")) -> frozenset[int]:
    """So many CPUs, of every physical core one before there is a second.

    Args:
        cores: how many.
        allowed: the CPUs to choose from; None: those that this thread may use.
        root: where the system's files are.

    Raises:
        ValueError: there are fewer.
    """
    found = sorted(os.sched_getaffinity(0) if allowed is None else allowed)
    if cores > len(found):
        raise ValueError(f"expected at most {len(found)} CPUs, found {cores}")
    taken: dict[str, int] = {}
    ranked = []
    for cpu in found:
        core = _core(cpu, root)
        ranked.append((taken.get(core, 0), cpu))
        taken[core] = taken.get(core, 0) + 1
    return frozenset(cpu for _, cpu in sorted(ranked)[:cores])


def _core(cpu: int, root: Path) -> str:
    """What the CPUs of one physical core have in common; where the system does not say, each is one."""
    try:
        return (root / _SIBLINGS.format(cpu)).read_text(encoding="ascii").strip()
    except OSError:
        return f"cpu {cpu}"
