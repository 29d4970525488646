"""The program ``perf`` of this machine: found, set to sample processes, and asked what it sampled."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias

from tdelta.errors import EnvironmentFault
from tdelta.messages import Refusal
from tdelta.profiling.sampling import Gone, Samples, Sampling, environment, has_maps, last_words, may_look_at_cpus
from tdelta.records import Sampled

_HEX = re.compile(r"0x[0-9a-f]+")
_EVENT = re.compile(r"# Samples: .* of event '([^']*)'")
_LEVEL = re.compile(r"\[(.)\] ?(.*)")
_FIELDS = 5


@dataclass(frozen=True, slots=True)
class Recording:
    """All functions that were seen in one recording.

    ``has_kernel`` says whether the kernel's could be; ``is_lost`` that perf could not write everything down.
    """

    functions: tuple[Sampled, ...]
    has_kernel: bool = True
    is_lost: bool = False


def parse_report(printed: Iterable[str], threads: Collection[int] | None = None) -> Recording:
    """Read ``perf report`` with fields that tabulators separate: samples, period (ns), thread, file, level and symbol.

    Functions of a file that does not name them are added up under no symbol.
    """
    found = []
    has_kernel = True
    for line in printed:
        if event := _EVENT.match(line):
            has_kernel = not event[1].endswith(":u")
        fields = [field.strip() for field in line.split("\t")]
        if line.startswith("#") or len(fields) < _FIELDS or not (fields[0].isdigit() and fields[1].isdigit()):
            continue
        if threads is not None and int(fields[2].partition(":")[0]) not in threads:
            continue
        level = _LEVEL.fullmatch(fields[4])
        symbol, is_kernel = (level[2], level[1] == "k") if level else (fields[4], False)
        symbol = "" if _HEX.fullmatch(symbol) or symbol == "[unknown]" else symbol
        found.append(Sampled(_file_name(fields[3]), symbol, int(fields[0]), int(fields[1]), is_kernel=is_kernel))
    return Recording(_summed(found), has_kernel)


def added(recordings: Iterable[Recording]) -> Recording:
    kept = tuple(recordings)
    functions = _summed(one for recording in kept for one in recording.functions)
    return Recording(functions, all(one.has_kernel for one in kept), any(one.is_lost for one in kept))


def _summed(functions: Iterable[Sampled]) -> tuple[Sampled, ...]:
    found: dict[tuple[str, str, bool], list[int]] = {}
    for one in functions:
        sums = found.setdefault((one.dso, one.symbol, one.is_kernel), [0, 0])
        sums[0] += one.samples
        sums[1] += one.cpu_ns
    return tuple(
        Sampled(dso, symbol, samples, cpu_ns, is_kernel=is_kernel)
        for (dso, symbol, is_kernel), (samples, cpu_ns) in found.items()
    )


def _file_name(dso: str) -> str:
    """Without folders, which may be private, nor what perf says of a file that was replaced meanwhile."""
    return dso if dso.startswith("[") else dso.removesuffix(" (deleted)").rpartition("/")[2]


SHOWN = ("--symfs", "/dev/null", "-F", "pid,tid,cpu,time", "--ns", "--show-task-events", "--show-lost-events")
"""The input of `threads_of`: these words of ``perf script``, which would
otherwise read the symbols of every program, though none is printed: a
second of CPU a call, with it 15 ms."""

_SHOWN = re.compile(r"\s*(-?\d+)/(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s*(?:(PERF_RECORD_\w+)(.*))?$")
_FORKED = re.compile(r"\((\d+):\d+\):\((\d+):")
_FORK = "PERF_RECORD_FORK"
_LOST = "PERF_RECORD_LOST"


Threads: TypeAlias = tuple[frozenset[int] | None, bool]
"""Those that are meant, None for all, and whether perf could not write everything down, samples included."""


def threads_of(printed: Iterable[str], processes: Iterable[int] | None = None) -> Threads:
    """The threads of processes that were sampled, and of those that they and their children started.

    The lines are those of ``perf script`` with `SHOWN`, in the order of time.
    """
    meant = set(processes or ())
    threads: set[int] = set()
    has_begun = is_lost = False
    for line in printed:
        shown = _SHOWN.match(line)
        if shown is None:
            is_lost = is_lost or (has_begun and _LOST in line)
            continue
        process, thread, record, rest = int(shown[1]), int(shown[2]), shown[6] or "", shown[7] or ""
        is_lost = is_lost or (has_begun and record.startswith(_LOST))
        if record == _FORK and (forked := _FORKED.search(rest)) and int(forked[2]) in meant:
            meant.add(int(forked[1]))
        if not record:
            has_begun = True
            if process in meant:
                threads.add(thread)
    return None if processes is None else frozenset(threads), is_lost


_TRIES = 3
"""A server's processes come and go: one that is gone when perf looks for it makes perf give up."""

_VERSION_SECONDS = 30.0
_REPORT_SECONDS = 120.0
_VERSION = re.compile(r"\d+")
_LOOKS_AT_CPUS_SINCE = (5, 15)


@dataclass(frozen=True, slots=True)
class Perf:
    program: str
    looks_at_cpus: bool = False

    def sampling(self, processes: Callable[[], Sequence[int]], file: Path) -> Sampling:
        """Have perf wait for the order to sample processes, their threads, and those that they start.

        Where whole CPUs are looked at, the processes' ids are asked for again when sampling begins and ends.
        """
        for left in reversed(range(_TRIES)):
            pids = tuple(processes())
            if not pids:
                raise EnvironmentFault(Refusal.of("perf-failed", fault="unknown processes of the database"))
            if self.looks_at_cpus and not all(map(has_maps, pids)):
                raise EnvironmentFault(Refusal.of("perf-failed", fault="the database runs as another user"))
            try:
                return Sampling(self.program, pids, file, processes if self.looks_at_cpus else None)
            except Gone as gone:
                if not left:
                    raise EnvironmentFault(*gone.refusals) from gone
        raise AssertionError

    def read(self, samples: Samples) -> Recording:
        threads, is_lost = self._own_threads(samples)
        # No children: there are no call chains. By dso and symbol: what a stripped file does not name is an address.
        # By thread, which perf calls pid: told to leave processes out (--pid), perf 6.1 counts a symbol that several
        # have for the first that it sees there.
        words = ["--stdio", "--sort", "pid,dso,sym", "-F", "sample,period,pid,dso,sym", "-t", "\t"]
        with self._telling("report", samples.file, *words, "--no-children", "--percent-limit", "0") as printed:
            recording = parse_report(printed, threads)
        return dataclasses.replace(recording, is_lost=is_lost)

    def _own_threads(self, samples: Samples) -> Threads:
        try:
            with self._telling("script", samples.file, *SHOWN) as printed:
                return threads_of(printed, samples.processes)
        except EnvironmentFault:
            if samples.processes is not None:
                raise
            # Functions are worth having without it, where nobody else's are among them.
            return None, False

    @contextlib.contextmanager
    def _telling(self, command: str, file: Path, *words: str) -> Iterator[Iterator[str]]:
        """Lines as perf prints them: of a busy machine there are millions, which no memory need hold."""
        with tempfile.TemporaryFile() as errors, self._reading(command, file, words, errors) as process:
            late = threading.Event()

            def end() -> None:
                late.set()
                process.kill()

            timer = threading.Timer(_REPORT_SECONDS, end)
            timer.start()
            try:
                yield (line.decode(errors="replace") for line in process.stdout or ())
                process.wait()
            finally:
                timer.cancel()
                process.kill()
            if process.returncode != 0:
                errors.seek(0)
                said = f"it took more than {_REPORT_SECONDS:.0f} s" if late.is_set() else last_words(errors.read())
                raise EnvironmentFault(Refusal.of("perf-failed", fault=f"its samples cannot be read: {said}"))

    def _reading(self, command: str, file: Path, words: Sequence[str], errors: IO[bytes]) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                [self.program, command, "-i", str(file), *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment(),
                start_new_session=True,  # at Ctrl-C perf would end as if that were all
            )
        except OSError as error:
            raise EnvironmentFault(Refusal.of("perf-failed", fault=f"its samples cannot be read: {error}")) from error


def find_perf() -> Perf:
    program = shutil.which("perf")
    if program is None:
        raise EnvironmentFault(Refusal.of("perf-unavailable", fault="not found"))
    try:
        # Ubuntu's is a script that looks for the kernel's own, and fails where that is not installed.
        done = subprocess.run([program, "version"], capture_output=True, timeout=_VERSION_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFault(Refusal.of("perf-unavailable", fault=error)) from error
    if done.returncode != 0:
        raise EnvironmentFault(Refusal.of("perf-unavailable", fault=last_words(done.stderr)))
    # Told to wait, an older one (up to 5.14) writes down neither forks nor mappings of what starts meanwhile.
    is_new = tuple(map(int, _VERSION.findall(done.stdout.decode(errors="replace"))[:2])) >= _LOOKS_AT_CPUS_SINCE
    return Perf(program, is_new and may_look_at_cpus())
