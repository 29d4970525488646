"""All files of a private server: those in its folder, and those that any process of it has open, named or not.

Where an encrypted file system lies under the data directory, what is searched are the files it keeps, since the view it
shows to the server is plain by design. Their names are encrypted, too; which is which is told by the number of the
inode, which gocryptfs hands on (checked on each: a file that no view shows is ``other`` and is searched as well).
"""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tdelta.driver.servers.recipes import Mount, ServerPaths
from tdelta.engines.shared.file_classes import FileRules, server_file_class
from tdelta.errors import EnvironmentFault
from tdelta.evidence.classes import FileClass
from tdelta.evidence.search import MarkerHit, OpenFile, TwinFile, in_order, open_files
from tdelta.messages import Refusal

ENCRYPTED_FILE = "(encrypted file)"
"""What follows the name of a file that is shown as an encrypted file system keeps it."""

_FEW = 3
"""So many clean files of a class and folder are named one by one; more are told as their folder."""


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """Where the files of one server are.

    Args:
        place: where the server lives; its keys are not read.
        pids: tells the processes whose trees are the server, and the one that serves ``mount``. Asked at each look.
        mount: the encrypted file system under the data directory.
    """

    rules: FileRules
    place: ServerPaths
    pids: Callable[[], Sequence[int]]
    mount: Mount | None = None

    def files(self) -> tuple[TwinFile, ...]:
        """Every regular file that the server has now.

        Raises:
            EnvironmentFault: the files that it has open cannot be listed.
        """
        roots = self.pids()
        opened = tuple(file for pid in _trees(roots) for file in _open_in(pid, is_root=pid in roots))
        named = (*self._walked(), *(self._listed(file) for file in opened))
        return in_order(named if self.mount is None else self._beneath(self.mount, named, opened))

    def stored(self) -> tuple[TwinFile, ...]:
        """The files of a server that does not run, as they lie on the disk: of an encrypted file system, its own."""
        if self.mount is None:
            return in_order(tuple(self._walked()))
        kept = _regular_files(self.mount.ciphertext)
        return tuple(TwinFile(path.name, str(path), FileClass.OTHER, identity) for path, identity in kept)

    def _walked(self) -> Iterator[TwinFile]:
        for folder in (self.place.data, self.place.temporary):
            for path, identity in _regular_files(folder):
                yield self._file(path, str(path), identity)
        yield from (self._file(path, str(path), found) for path, found in _regular(self.place.log))

    def _listed(self, file: OpenFile) -> TwinFile:
        if file.is_stream and file.target != self.place.log:
            return TwinFile(file.label, file.path, FileClass.OTHER, file.identity)
        return self._file(file.target, file.path, file.identity, is_unlinked=file.is_unlinked)

    def _file(self, path: Path, by: str, identity: tuple[int, int], *, is_unlinked: bool = False) -> TwinFile:
        name = self._name(path)
        of = server_file_class(self.rules, name, is_unlinked=is_unlinked)
        return TwinFile(f"{name} (unlinked)" if is_unlinked else name, by, of, identity)

    def _name(self, path: Path) -> str:
        """Its path as the rules of the classes have it; all of it for what lies elsewhere, which no rule knows."""
        if path == self.place.log:
            return "server.log"
        for folder, prefix in ((self.place.data, ""), (self.place.temporary, "tmp/")):
            if path.is_relative_to(folder):
                return prefix + path.relative_to(folder).as_posix()
        return str(path)

    def _beneath(self, mount: Mount, named: Sequence[TwinFile], opened: Sequence[OpenFile]) -> Iterator[TwinFile]:
        """The files that an encrypted file system keeps, called what its view calls them; those of no view as well."""
        view = mount.at.stat().st_dev
        shown: dict[int, TwinFile] = {}
        for file in named:
            if file.identity[0] == view:
                shown.setdefault(file.identity[1], file)
        kept = [(path, str(path), found) for path, found in _regular_files(mount.ciphertext)]
        kept += [
            (file.target, file.path, file.identity) for file in opened if file.target.is_relative_to(mount.ciphertext)
        ]
        for path, by, identity in kept:
            known = shown.get(identity[1])
            name, of = (known.name, known.file_class) if known else (path.name, FileClass.OTHER)
            yield TwinFile(f"{name} {ENCRYPTED_FILE}", by, of, identity)
        yield from (file for file in named if file.identity[0] != view)  # what the encrypted ones are, was said above


def condensed(found: Iterable[MarkerHit]) -> tuple[MarkerHit, ...]:
    """The same with fewer names: a server has hundreds of files, and those without a marker matter by their number."""
    groups: Mapping[tuple[FileClass, str], list[MarkerHit]] = defaultdict(list)
    for one in found:
        key = one.name if one.markers_found else one.name.rpartition("/")[0] + "/"
        groups[one.file_class, key].append(one)
    return tuple(hit for group in groups.values() for hit in _without_repeats(group))


def _without_repeats(group: Sequence[MarkerHit]) -> Sequence[MarkerHit]:
    if len(group) <= _FEW:
        return group
    folder, of = group[0].name.rpartition("/")[0] or ".", group[0].file_class
    return [MarkerHit(f"{folder}/ ({len(group)} files)", of, sum(one.scanned_bytes for one in group), 0)]


def _regular_files(folder: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    """Every regular file below a folder, with device and inode; those that go meanwhile are left out."""
    for inside, _, names in os.walk(folder, onerror=_refuse_unless_gone):
        for name in names:
            yield from _regular(Path(inside, name))


def _refuse_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise EnvironmentFault(Refusal.of("path-unusable", path=error.filename, fault=error.strerror)) from error


def _regular(path: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISREG(found.st_mode):
        yield path, (found.st_dev, found.st_ino)


def _open_in(pid: int, *, is_root: bool) -> Iterator[OpenFile]:
    """What a process has open. One that was forked for a connection may be gone; the server itself may not."""
    try:
        yield from open_files(pid)
    except EnvironmentFault:
        if is_root or Path("/proc", str(pid)).exists():
            raise


def _trees(roots: Iterable[int]) -> tuple[int, ...]:
    """These processes and all that they started, each once."""
    found: dict[int, None] = {}
    left = list(roots)
    while left:
        pid = left.pop()
        if pid not in found:
            found[pid] = None
            left += _children(pid)
    return tuple(found)


def _children(pid: int) -> list[int]:
    """By proc_pid_task(5): each thread lists those that it started."""
    listed: list[int] = []
    for path in Path("/proc", str(pid), "task").glob("*/children"):
        try:
            listed += map(int, path.read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return listed
