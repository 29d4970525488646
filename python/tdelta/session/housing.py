"""Where instances are started: each in a room on the storage of its condition, where a run varies that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tdelta import _native
from tdelta.design.layout import PLAIN
from tdelta.design.storages import STORAGES, is_user_folder, storage_of
from tdelta.engines.layout import ResourceEstimate
from tdelta.evidence import MarkerHit
from tdelta.measure.encrypted_folders import encryption_of
from tdelta.messages import Caution
from tdelta.processes import Twin, TwinFolder
from tdelta.processes.protocol import NOTHING
from tdelta.processes.storage.rooms import Rooms, needs_images
from tdelta.records import Condition, Measurement, StorageFound, Usage
from tdelta.session.run_plan import Plan

_TEMPORARY = "TMPDIR"
"""Where an engine within the process has its temporary files, unless it has a place of its own for them."""

_FILE_SYSTEM_BYTES = 64 << 20
"""The size of an empty image: a journal of 16 MiB, tables of inodes."""

_SPARE = 1.0
"""How much larger an image is than what is estimated for its instance, as a share: rewritten files are there twice."""

_ROOM_SECONDS = 0.5
"""The time to make and undo a room: 0.15 s on an idle machine."""


@dataclass(frozen=True, slots=True)
class Housing:
    rooms: Rooms | None = None

    @classmethod
    def of(cls, plan: Plan, folder: TwinFolder) -> Housing:
        levels = plan.storages
        return cls(Rooms(folder, levels, _image_bytes(plan)) if levels else None)

    def started(
        self,
        stack: ExitStack,
        twins: Any,
        condition: Condition,
        settings: Any,
        name: str,
        environment: Mapping[str, str] = NOTHING,
        host: int = 0,
    ) -> Any:
        """A twin under an instance's name, on a host where there are several; it ends with the stack, then its room."""
        level = condition.get("storage")
        if self.rooms is not None and level is not None:
            path = stack.enter_context(self.rooms.room(str(level), name)).path
            name, environment = str(path / name), {**environment, _TEMPORARY: str(path)}
        twin: Twin = twins.on(host).start(settings, name, environment)
        stack.callback(twin.end)
        return twin

    def usage(self, name: str) -> Usage:
        return Usage() if self.rooms is None else self.rooms.usage(name)

    @property
    def processes(self) -> tuple[int, ...]:
        """The processes that encrypt below instances: all that stands still where one of them does."""
        return () if self.rooms is None else self.rooms.processes

    def below(self, name: str, needles: Sequence[bytes]) -> tuple[MarkerHit, ...]:
        return () if self.rooms is None else self.rooms.below(name, needles)

    @property
    def found(self) -> Mapping[str, StorageFound]:
        return {} if self.rooms is None else self.rooms.found


def with_storage(measured: Measurement, before: Usage, after: Usage) -> Measurement:
    """A trial with the CPU time and the disk's bytes of what encrypts below it.

    CPU is of the recorded operations, so a share of what all took; what the engine asked for was counted at the engine.
    """
    share = measured.operations / max(1, measured.counted_operations)
    used = measured.usage
    return replace(
        measured,
        usage=replace(
            used,
            cpu_user_seconds=used.cpu_user_seconds + share * (after.cpu_user_seconds - before.cpu_user_seconds),
            cpu_system_seconds=used.cpu_system_seconds + share * (after.cpu_system_seconds - before.cpu_system_seconds),
            device_read_bytes=used.device_read_bytes + after.device_read_bytes - before.device_read_bytes,
            device_written_bytes=used.device_written_bytes + after.device_written_bytes - before.device_written_bytes,
        ),
    )


def resource_estimate(plan: Plan) -> ResourceEstimate:
    """Resources of the machine that a plan needs, the images of its twins and its workers' histograms included."""
    needs, count = plan.engine.estimate(plan), len(plan.instances())
    of_worker = _native.histograms_bytes(plan.workload.most_spans)
    needs = replace(needs, memory_bytes=needs.memory_bytes + len(plan.conditions) * of_worker)
    if not needs_images(plan.storages):
        return needs
    beside = count * _image_bytes(plan) - needs.disk_bytes  # what is in them was estimated already
    return replace(
        needs, disk_bytes=needs.disk_bytes + beside, start_seconds=needs.start_seconds + count * _ROOM_SECONDS
    )


def user_folders(plan: Plan) -> tuple[Path, ...]:
    return tuple(Path(level) for level in plan.storages if is_user_folder(level))


def _image_bytes(plan: Plan) -> int:
    """How large an image is at most; it takes of the disk what is written to it."""
    of_instance = plan.engine.estimate(plan).disk_bytes / max(1, len(plan.instances()))
    return _FILE_SYSTEM_BYTES + round((1 + _SPARE) * of_instance) // 4096 * 4096


def storage_cautions(plan: Plan) -> Iterator[Caution]:
    levels = [level for level in plan.storages if storage_of(level).encrypts]
    if not levels:
        return
    yield Caution.of("storage-mounted")
    yield Caution.of("storage-cached")
    if needs_images(plan.storages) or any(is_user_folder(level) for level in levels):
        yield Caution.of("storage-kernel-threads")
    if "gocryptfs" in levels:
        yield Caution.of("storage-fuse")
    for level in filter(is_user_folder, levels):
        yield Caution.of("storage-own-folder", folder=level)
    if any(level in STORAGES for level in levels) and not needs_images(plan.storages):
        yield Caution.of("storage-folders")
    if set(plan.engine.ciphers) <= {PLAIN}:
        yield Caution.of("storage-alone", product=plan.engine.product)
    if below := encryption_of(plan.base):
        yield Caution.of("storage-on-encrypted-disk", folder=str(plan.base), found=below)
