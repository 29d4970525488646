"""A server's files: which they are, what marker rows are put through on their way into each kind, and their search.

All files of a private server are those in its folder, and those that any process of it has open, named or not. Where an
encrypted file system lies under the data directory, what is searched are the files it keeps, since the view it shows to
the server is plain by design. Their names are encrypted, too; which is which is told by the number of the inode, which
gocryptfs hands on (checked on each: a file that no view shows is ``other`` and is searched as well).

Rules of classes are tried in their order, the first that matches wins. Paths are written with slashes, below the data
directory; what lies in the server's folder for temporary files is ``tmp/…``, what it says to people is ``server.log``.
"""

from __future__ import annotations

import os
import re
import stat
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from tdelta.engines.server.sessions import Session
from tdelta.errors import EnvironmentFault, TdeltaError, WorkerFault
from tdelta.evidence import FileClass, MarkerHit, merged, search
from tdelta.evidence.markers import MARKER_BYTES
from tdelta.evidence.search import Inflate, OpenFile, TwinFile, in_order, open_files
from tdelta.messages import Refusal
from tdelta.processes.process_tree import living
from tdelta.processes.servers.recipes import Mount, ServerPaths

_SETTLE_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Settling:
    """Steps that bring a server to rest after a trial, so that the next twin's trial does not pay for this one.

    ``statements`` are run, then ``query`` until its first value is at most ``at_most`` (None: no waiting), no longer
    than ``seconds``.
    """

    statements: tuple[str, ...] = ()
    query: str | None = None
    at_most: int = 0
    seconds: float = 30.0

    def settle(self, session: Session, *, more: int = 0, is_over: Callable[[], bool] = lambda: False) -> None:
        """Do it; ``more`` is allowed beyond ``at_most``, and nothing is waited for once ``is_over``."""
        for sql in self.statements:
            session.run(sql)
        until = time.monotonic() + self.seconds
        while self.query and session.number(self.query) > self.at_most + more and time.monotonic() < until:
            if is_over():
                return
            time.sleep(_SETTLE_POLL_SECONDS)


FileRules: TypeAlias = tuple[tuple[re.Pattern[str], FileClass], ...]


def rules(*pairs: tuple[str, FileClass]) -> FileRules:
    return tuple((re.compile(pattern), of) for pattern, of in pairs)


def server_file_class(rules: FileRules, path: str, *, is_unlinked: bool = False) -> FileClass:
    """The class of a server's file.

    Args:
        path: relative to the data directory, or ``tmp/…``.
        is_unlinked: whether it is open and has no name any more, as temporary files do.
    """
    found = next((of for pattern, of in rules if pattern.fullmatch(path)), FileClass.OTHER)
    return FileClass.TEMP if is_unlinked and found is FileClass.OTHER else found


# Statements that write marker rows through every kind of file a server has.
#
# At rest rows lie in tables. Under way they lie in logs, undo, temporary tables and the files of sorts, and
# only a server that is made to can be searched there. Every plan does the same:
#
# - a transaction changes the markers twice, back to what they were (bytes that do not change are not
#   written), and commits: log, binary log, undo, which an older snapshot keeps from being purged;
# - a temporary table of them is pressed out of memory;
# - a sort larger than its buffer and, where queries make tables on disk, one of these, are held open
#   half-way;
# - a transaction that has changed the rows stays open, larger than the buffer that transactions have for the
#   binary log;
# - everything dirty is written.
#
# Rows are the same before and after.

HALF = MARKER_BYTES // 2
SPILL = "tdelta_spill"
COPIES = 200
"""512 markers so often are 6.5 MB, more than any buffer that the plans leave."""


@dataclass(frozen=True, slots=True)
class ExposureStep:
    """A statement and whose it is. ``is_held``: it does not end until the plan's `release` has run."""

    connection: str
    sql: str
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class ExposurePlan:
    """Steps of the search, in this order.

    ``steps`` one after another; those that are held run beside what follows. ``held`` asks how many statements are
    being held now. ``settling`` writes what is dirty, and ``settled`` puts back what it set. Then the workload runs and
    files are searched. ``release`` ends what is held and ``after`` the rest; then ``settling`` once more, before the
    last look.
    """

    steps: tuple[ExposureStep, ...]
    settling: Settling
    release: tuple[ExposureStep, ...]
    after: tuple[ExposureStep, ...]
    held: str | None = None
    settled: tuple[str, ...] = ()


def steps(connection: str, *statements: str) -> tuple[ExposureStep, ...]:
    return tuple(ExposureStep(connection, sql) for sql in statements)


Parts: TypeAlias = Mapping[str, frozenset[FileClass]]
"""Classes by the part of a scope that covers them; ``all`` holds what no single part has."""


def parts(**classes: tuple[FileClass, ...]) -> Parts:
    return MappingProxyType({part: frozenset(of) for part, of in classes.items()})


@dataclass(frozen=True, slots=True)
class ServerEvidence:
    """How markers get into every kind of file, which file is what, and what a scope covers.

    ``parts`` are by product; those under ``""`` are of every other. ``change_sql`` changes the markers;
    twice, and they are what they were. ``inflate`` undoes the compression of a page.
    """

    plan: ExposurePlan
    files: FileRules
    parts: Mapping[str, Parts]
    change_sql: str
    inflate: Inflate | None = None

    def inflating(self, *, is_compressed: bool) -> Inflate | None:
        """The function that undoes the compression of a twin's pages; None where they have none."""
        return self.inflate if is_compressed else None

    def parts_of(self, product: str) -> Parts:
        return self.parts.get(product, self.parts[""])


ENCRYPTED_FILE = "(encrypted file)"
"""The suffix of the name of a file that is shown as an encrypted file system keeps it."""

_FEW = 3
"""So many clean files of a class and folder are named one by one; more are told as their folder."""


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """Where the files of one server are.

    Args:
        place: where the server lives; its keys are not read.
        pids: tells the processes whose trees are the server, and the one that serves ``mount``. Asked at each look.
        mount: the encrypted file system under the data directory.
        prefix: what the names of its files begin with.
    """

    rules: FileRules
    place: ServerPaths
    pids: Callable[[], Sequence[int]]
    mount: Mount | None = None
    prefix: str = ""

    def files(self) -> tuple[TwinFile, ...]:
        """Every regular file that the server has now.

        Raises:
            EnvironmentFault: the files that it has open cannot be listed.
        """
        roots = self.pids()
        trees = dict.fromkeys(pid for root in roots for pid in (root, *living(root)))
        opened = tuple(file for pid in trees for file in _open_in(pid, is_root=pid in roots))
        named = (*self._walked(), *(self._listed(file) for file in opened))
        found = in_order(named if self.mount is None else self._beneath(self.mount, named, opened))
        return tuple(replace(file, name=f"{self.prefix}{file.name}") for file in found) if self.prefix else found

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
    """Files that a process has open. One that was forked for a connection may be gone; the server itself may not."""
    try:
        yield from open_files(pid)
    except EnvironmentFault:
        if is_root or Path("/proc", str(pid)).exists():
            raise


_HOLD_SECONDS = 120.0
_POLL_SECONDS = 0.05
_PAGES_HELD = 2
"""Pages that a held statement is at are latched, and stay dirty (MySQL 9.7: two for two statements)."""

CONTROL = "control"
"""The connection that asks and releases; no plan holds a statement on it."""


class ServerExposure:
    """The markers of one server on their way, and what every look at its files found.

    Args:
        inflate: what undoes the compression of pages; they are searched once, when all is written.
    """

    def __init__(
        self,
        plan: ExposurePlan,
        connect: Callable[[], Session],
        files: Sequence[ServerFiles],
        needles: Sequence[bytes],
        inflate: Inflate | None = None,
    ) -> None:
        self._plan = plan
        self._connect = connect
        self._files = files
        self._needles = needles
        self._inflate = inflate
        self._hits: list[MarkerHit] = []
        self._open: dict[str, Session] = {}
        self._held: list[_Held] = []

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Within the block markers are in logs and temporary files, and the workload may run.

        Raises:
            TdeltaError: a statement failed, or did not hold what it is to hold.
        """
        try:
            self._begin(self._plan.steps)
            self._settle()
            yield
            self._release()
            self._begin(self._plan.after)
        finally:
            self._close()

    def scan(self, inflate: Inflate | None = None) -> None:
        """Search every file that the server has now.

        Raises:
            EnvironmentFault: a file cannot be read, or open files cannot be listed.
        """
        self._hits += search([file for place in self._files for file in place.files()], self._needles, inflate)

    def scan_while(self, is_running: Callable[[], bool], seconds: float) -> None:
        """Search all files over and over, at least once, while something runs; not beyond so many seconds."""
        until = time.monotonic() + seconds
        self.scan()
        while is_running() and time.monotonic() < until:
            self.scan()

    def scan_afterwards(self) -> None:
        """Search all files once what is left to write was written."""
        try:
            self._settle()
            self.scan(self._inflate)
        finally:
            self._close()

    def found(self) -> tuple[MarkerHit, ...]:
        """Findings of all scans, file by file; clean files of a folder as one."""
        return condensed(merged(self._hits))

    def _begin(self, steps: Iterable[ExposureStep]) -> None:
        for step in steps:
            connection = self._connection(step.connection)
            if step.is_held:
                self._held.append(_Held(connection, step.sql))
            else:
                connection.run(step.sql)
        if self._held:
            self._wait_until_held()

    def _wait_until_held(self) -> None:
        assert self._plan.held is not None  # noqa: S101 - a plan that holds says how to ask
        until = time.monotonic() + _HOLD_SECONDS
        while (count := self._connection(CONTROL).number(self._plan.held)) < len(self._held):
            for held in self._held:
                held.require_running()
            if time.monotonic() > until:
                raise WorkerFault(
                    Refusal.of("statements-held", count=count, statements=len(self._held), seconds=_HOLD_SECONDS)
                )
            time.sleep(_POLL_SECONDS)

    def _settle(self) -> None:
        """Not all may get written under a load: then the last look has less to find, and its class says so."""
        control = self._connection(CONTROL)
        self._plan.settling.settle(control, more=_PAGES_HELD * len(self._held))
        for sql in self._plan.settled:
            control.run(sql)

    def _connection(self, name: str) -> Session:
        if name not in self._open:
            self._open[name] = self._connect()
        return self._open[name]

    def _release(self) -> None:
        held, self._held = self._held, []
        for step in self._plan.release if held else ():
            self._connection(step.connection).run(step.sql)
        for one in held:
            one.end()

    def _close(self) -> None:
        with suppress(TdeltaError):  # what went wrong before is what matters
            self._release()
        while self._open:
            _, connection = self._open.popitem()
            connection.close()


class _Held:
    """A statement that runs in a thread of its own until it is released."""

    def __init__(self, connection: Session, sql: str) -> None:
        self._fault: Exception | None = None
        self._thread = threading.Thread(target=self._run, args=(connection, sql), daemon=True)
        self._thread.start()

    def _run(self, connection: Session, sql: str) -> None:
        try:
            connection.run(sql)
        except Exception as error:  # whatever it is belongs to the thread that waits for this one
            self._fault = error

    def require_running(self) -> None:
        if not self._thread.is_alive():
            raise self._fault or WorkerFault(Refusal.of("statement-ended"))

    def end(self) -> None:
        self._thread.join(_HOLD_SECONDS)
        if self._fault is not None:
            raise self._fault
