"""Backups as actions: made by a tool, compressed, searched for planted rows, restored until the first answer.

What makes and restores them is the engine's (`Maker`). Backups hold the rows of a database: they are in folders of
0700 below the run's, their files are 0600 from the first byte (all that writes them has the umask 077), and they are
removed after each trial.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from tdelta import own_folders
from tdelta.design.actions import parse_action
from tdelta.errors import EnvironmentFault, UsageError
from tdelta.evidence import FileClass, TwinFile, search
from tdelta.evidence.search import Inflate
from tdelta.measure.private import FOLDER_MODE
from tdelta.messages import Refusal
from tdelta.processes.actions import Act, Halt, Outcome
from tdelta.processes.pipelines import Program, Programs
from tdelta.processes.protocol import Checksums
from tdelta.records import Level, Usage
from tdelta.records.trials import BACKUP, SEARCHED

NONE, ZSTD, OWN = "none", "zstd", "own"
COMPRESSIONS = (NONE, ZSTD, OWN)
ZSTD_PROGRAM = Program("zstd", "install zstd (Debian, Ubuntu, Fedora: zstd), or leave compress=zstd out")
_SUFFIX = ".zst"


@dataclass(frozen=True, slots=True)
class BackupTool:
    """One way to make backups of an engine, in words for people, and the programs that must be installed.

    One that ``is_logical`` writes rows, and not the files in which they lie; one that ``compresses`` can do so itself.
    """

    words: str
    is_logical: bool = False
    compresses: bool = False
    programs: tuple[Program, ...] = ()


class Maker(Protocol):
    def start(self) -> None:
        """Start what is needed, so that it is in no figure."""

    def make(self, into: Path, compress: str, programs: Programs) -> Usage:
        """Make a backup in a folder that is empty: what processes used that are not the database's."""

    def unpack(self, made: Path, compress: str, into: Path, programs: Programs) -> Path:
        """A folder with the files of a backup as a database has them: the backup's, or one that is empty so far."""

    def class_of(self, name: str) -> FileClass:
        """The class of a file in an unpacked backup, by its path there."""

    def data_bytes(self) -> int:
        """How large the files of the database are."""

    def disk_bytes(self) -> int:
        """Bytes on the disk of the files that hold its rows: compressed pages leave holes in them."""

    def checksums(self) -> Checksums:
        """Rows and checksum of each table of the twin."""

    def restore(self, made: Path, compress: str, into: Path, programs: Programs) -> Usage:
        """Restore a backup until it answers with a row: what processes used that are not the database's."""

    def restored(self) -> Checksums:
        """Rows and checksum of each table of what was restored."""

    def let_go(self) -> None:
        """End and remove what was restored, and what else was started."""


def tool_of(choices: Mapping[str, str], tools: Mapping[str, BackupTool]) -> tuple[str, str]:
    """Tool and compression that an action asks for; the first tool and none by default."""
    return choices.get("tool", next(iter(tools))), choices.get("compress", NONE)


def choices_of(tools: Mapping[str, BackupTool]) -> dict[str, tuple[str, ...]]:
    """The choices of an action that makes backups by these; none of one that makes none."""
    if not tools:
        return {}
    has_own = any(tool.compresses for tool in tools.values())
    return {"tool": tuple(tools), "compress": COMPRESSIONS if has_own else (NONE, ZSTD)}


def backup_checks(
    actions: Mapping[str, EngineAction], work: Sequence[Level], during: Sequence[Level]
) -> Iterator[Callable[[], object]]:
    """Checks of levels of ``work`` and ``during`` that must not raise ``UsageError``."""
    tools = {name: tool for action in actions.values() for name, tool in action.tools.items()}
    for level in (*work, *during) if tools else ():
        asked = parse_action(str(level))
        name, compress = tool_of(asked.choices, tools)
        if asked.name not in ("backup", "restore") or name not in tools:
            continue
        tool = tools[name]
        if compress == OWN and not tool.compresses:
            yield partial(_refuse_own, name)
        yield from (program.require for program in tool.programs)
        if compress == ZSTD:
            yield ZSTD_PROGRAM.require


@dataclass(frozen=True, slots=True)
class EngineAction:
    """An action of an engine, and its knobs.

    Attributes:
        make: makes it for a twin, or a schema of a user's server.
        knobs: parameters that take numbers: any, or those in ``numbers``.
        choices: parameters that take one of some words, the default first.
        tools: the tools that make its backups, one of which is a choice.
        tools_beside: those beside a load, if not all.
        is_work: whether it can be a trial by itself.
        is_during: whether it can go on beside a load.
    """

    make: Callable[..., Act]
    knobs: tuple[str, ...] = ()
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: Mapping[str, range] = field(default_factory=dict)
    tools: Mapping[str, BackupTool] = field(default_factory=dict)
    tools_beside: Mapping[str, BackupTool] | None = None
    is_work: bool = False
    is_during: bool = False

    def parameters(self, factor: str) -> dict[str, tuple[str, ...]]:
        """Its knobs as a level of that factor; see `tdelta.engines.base.Engine.actions`."""
        beside = None if factor == "work" else self.tools_beside
        return {
            **dict.fromkeys(self.knobs, ()),
            **self.choices,
            **choices_of(self.tools if beside is None else beside),
        }


def knobs_of(actions: Mapping[str, EngineAction], factor: str) -> dict[str, dict[str, tuple[str, ...]]]:
    return {
        name: one.parameters(factor)
        for name, one in actions.items()
        if (one.is_during if factor == "during" else one.is_work)
    }


def _refuse_own(tool: str) -> None:
    raise UsageError(Refusal.of("unsupported", what="compress=own", by=f"{tool}, only compress={NONE} or {ZSTD}"))


@dataclass(frozen=True, slots=True)
class BackupRequest:
    """The backup to make: by which tool, how compressed, where, and the markers to search for in it.

    ``inflate`` undoes the compression of pages, where the database has its pages compressed.
    """

    tool: BackupTool
    compress: str
    folder: Path
    needles: tuple[bytes, ...]
    inflate: Inflate | None = None


class _OfBackups(Act):
    _programs: Programs | None = None

    def __init__(self, maker: Maker, request: BackupRequest, halt: Halt) -> None:
        self._maker = maker
        self._request = request
        self._halt = halt
        self._made, self._unpacked, self._restored = (request.folder / of for of in ("made", "unpacked", "restored"))

    @property
    def programs(self) -> Programs:
        assert self._programs is not None  # noqa: S101 - prepared
        return self._programs

    def prepare(self) -> None:
        own_folders.remove(self._request.folder)
        for path in (self._request.folder, self._made, self._unpacked, self._restored):
            path.mkdir(FOLDER_MODE)
        self._programs = Programs(self._request.folder, self._halt)
        self._maker.start()

    def _make(self) -> Usage:
        return self._maker.make(self._made, self._request.compress, self.programs)

    def undo(self) -> None:
        self._maker.let_go()
        if self._programs is not None:
            self._programs.end()
        own_folders.remove(self._request.folder)


class Backup(_OfBackups):
    def perform(self) -> Outcome:
        return Outcome(programs=self._make())

    def inspect(self) -> Mapping[str, int]:
        request, made = self._request, self._maker
        looked_at = made.unpack(self._made, request.compress, self._unpacked, self.programs)
        counted = {
            "data_bytes": made.data_bytes(),
            "disk_bytes": made.disk_bytes(),
            "raw_bytes": _size(looked_at),
            "bytes": _size(self._made),
            "is_logical": int(request.tool.is_logical),
        }
        files = tuple(_files(looked_at, made.class_of))
        for file_class in sorted({file.file_class for file in files}):
            counted[f"{SEARCHED}{file_class}"] = 0
        for found in search(files, _needles(request), request.inflate):
            counted[f"{SEARCHED}{found.file_class}"] += found.markers_found
        return {f"{BACKUP}{name}": value for name, value in counted.items()}


class Restore(_OfBackups):
    """A backup that was made before is restored until the first answer; then all rows are compared."""

    def prepare(self) -> None:
        super().prepare()
        self._make()
        self._expected = self._maker.checksums()

    def perform(self) -> Outcome:
        compress = self._request.compress
        return Outcome(programs=self._maker.restore(self._made, compress, self._restored, self.programs))

    def inspect(self) -> Mapping[str, int]:
        """Compare all rows; raises ``EnvironmentFault`` where they are not those of the twin."""
        found = self._maker.restored()
        if differing := [table for table, sums in self._expected.items() if found.get(table) != sums]:
            raise EnvironmentFault(Refusal.of("restored-differs", tables=", ".join(differing)))
        rows = sum(rows for rows, _ in found.values())
        return {"rows_compared": rows, f"{BACKUP}bytes": _size(self._made)}


def packed(programs: Programs, file: Path, into: Path) -> Usage:
    """A file compressed by ``zstd`` into a folder; it is removed then."""
    used = programs.run(("zstd", "-q", "-c"), source=file, target=into / f"{file.name}{_SUFFIX}")
    file.unlink()
    return used


def unpacked(programs: Programs, made: Path, into: Path) -> Usage:
    used = Usage()
    for file in sorted(made.iterdir()):
        if file.suffix == _SUFFIX:
            used += programs.run(("zstd", "-q", "-d", "-c"), source=file, target=into / file.stem)
    return used


def _needles(request: BackupRequest) -> Sequence[bytes]:
    """Byte strings to search for: the markers themselves, and as logical backups write them.

    These have digits of either case, or letters as they are and all other bytes as digits after an escape.
    """
    if not request.tool.is_logical:
        return request.needles
    written = ((raw, raw.hex().encode(), raw.hex().upper().encode(), _escaped(raw)) for raw in request.needles)
    return [text for texts in written for text in texts]


def _escaped(raw: bytes) -> bytes:
    return b"".join(bytes([b]) if 32 <= b < 127 and b not in b"\\'\"" else b"\\x%02X" % b for b in raw)


def _files(folder: Path, class_of: Callable[[str], FileClass]) -> Iterator[TwinFile]:
    for path in sorted(folder.rglob("*")):
        found = path.lstat()
        if stat.S_ISREG(found.st_mode):
            name = path.relative_to(folder).as_posix()
            yield TwinFile(name, str(path), class_of(name), (found.st_dev, found.st_ino))


def _size(folder: Path) -> int:
    """The bytes of the files below a folder; what is gone by now counts nothing."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            if not path.is_dir():
                total += os.lstat(path).st_size
    return total
