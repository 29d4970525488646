"""Where a process spends its CPU time: ``perf record`` on the event cpu-clock, and ``perf report`` read by function.

cpu-clock is a timer of the kernel's, which machines without hardware counters have, too. Where it may, perf looks at
every CPU that is at work, each millisecond, and samples that are not the processes' own are left out when it is read.
Else it follows the processes' threads, each millisecond of their CPU time; then the kernel has work with their timers
whenever one goes on or off, which slows servers (``benches/perf_modes.py``). Either way a sample stands for a
millisecond. A function of the kernel that holds interrupts off is seen where it lets them on again.

Whatever keeps ``perf`` from working is an `EnvironmentFault` whose message says what to do: a profile is never worth a
run.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tdelta.errors import EnvironmentFault
from tdelta.measure.children import ready
from tdelta.measure.own_threads import SHOWN, OwnThreads, threads_of
from tdelta.measure.procfs import read_text
from tdelta.records import Sampled

FREQUENCY_HZ = 999
"""Not a thousand: what a program does every millisecond would be hit always or never."""

INSTALL = "install perf: Debian linux-perf, Ubuntu linux-tools-$(uname -r), Fedora perf"
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_STATUS = Path("/proc/self/status")
_PERMIT = "allow it: sysctl kernel.perf_event_paranoid=1, or run as root"
_PERMIT_KERNEL = "sysctl kernel.perf_event_paranoid=1"
_PERMIT_CPUS = "have it look at whole CPUs: sysctl kernel.perf_event_paranoid=0, or CAP_PERFMON"
_PARANOID_OF_CPUS = 0
"""The highest level of it at which anybody may look at whole CPUs."""

_CAP_IPC_LOCK = 14
_MAY_LOOK_AT_CPUS = (21, 38)
"""CAP_SYS_ADMIN and CAP_PERFMON, capabilities(7)."""

_BUFFERS_KIB = 64 << 10
"""What perf may hold in memory of all CPUs together, until it gets a CPU to write it down."""

_BUFFER_KIB = 4 << 10
_SMALLEST_BUFFER_KIB = 512
"""perf's own choice, of one CPU."""

_PR_SET_PDEATHSIG = 1
_ATTACH_SECONDS = 30.0
_END_SECONDS = 30.0
_AGAIN_SECONDS = 2.0
_REPORT_SECONDS = 120.0
_MOST_ON_DISK_MIB = 256
"""To be read in less than `_REPORT_SECONDS`, twice."""

_TRIES = 3
"""A server's processes come and go: one that is gone when perf looks for it makes perf give up."""

_LAST_WORDS = 300
_HEX = re.compile(r"0x[0-9a-f]+")
_EVENT = re.compile(r"# Samples: .* of event '([^']*)'")
_LEVEL = re.compile(r"\[(.)\] ?(.*)")
_FIELDS = 5
_VERSION = re.compile(r"\d+")
_LOOKS_AT_CPUS_SINCE = (5, 15)


@dataclass(frozen=True, slots=True)
class Recording:
    """All functions that were seen in one recording.

    ``has_kernel`` says whether the kernel's could be; ``is_lost`` that perf could not write everything down.
    """

    functions: tuple[Sampled, ...]
    has_kernel: bool = True
    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class Samples:
    """A file that perf wrote, and whose samples in it are meant: these processes', or (None) everything."""

    file: Path
    processes: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class Perf:
    """The program ``perf`` of this machine, which ``looks_at_cpus`` or follows threads."""

    program: str
    looks_at_cpus: bool = False

    def sampling(self, processes: Callable[[], Sequence[int]], file: Path) -> Sampling:
        """Have perf wait for the order to sample processes, their threads, and those that they start.

        Args:
            processes: finds their ids; where whole CPUs are looked at, asked again when sampling begins and ends.
            file: where samples go.

        Raises:
            EnvironmentFault: perf cannot, or may not.
        """
        for left in reversed(range(_TRIES)):
            pids = tuple(processes())
            if not pids:
                raise EnvironmentFault("the database's processes are not known on this machine")
            if self.looks_at_cpus and not all(map(_has_maps, pids)):
                raise EnvironmentFault("the database runs as another user, whose code perf may not look up")
            try:
                return Sampling(self.program, pids, file, processes if self.looks_at_cpus else None)
            except _Gone as gone:
                if not left:
                    raise EnvironmentFault(str(gone)) from gone
        raise AssertionError

    def read(self, samples: Samples) -> Recording:
        """What was sampled, by function.

        Raises:
            EnvironmentFault: perf cannot read it.
        """
        own = self._own_threads(samples)
        # No children: there are no call chains. By dso and symbol: what a stripped file does not name is an address.
        # By thread, which perf calls pid: told to leave processes out (--pid), perf 6.1 counts a symbol that several
        # have for the first that it sees there.
        words = ["--stdio", "--sort", "pid,dso,sym", "-F", "sample,period,pid,dso,sym", "-t", "\t"]
        with self._telling("report", samples.file, *words, "--no-children", "--percent-limit", "0") as printed:
            recording = parse_report(printed, own.threads)
        return dataclasses.replace(recording, is_lost=own.is_lost)

    def _own_threads(self, samples: Samples) -> OwnThreads:
        try:
            with self._telling("script", samples.file, *SHOWN) as printed:
                return threads_of(printed, samples.processes)
        except EnvironmentFault:
            if samples.processes is not None:
                raise
            # Functions are worth having without it, where nobody else's are among them.
            return OwnThreads()

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
                said = f"it took more than {_REPORT_SECONDS:.0f} s" if late.is_set() else _last_words(errors.read())
                raise EnvironmentFault(f"perf could not read its own samples: {said}")

    def _reading(self, command: str, file: Path, words: Sequence[str], errors: IO[bytes]) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                [self.program, command, "-i", str(file), *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=_environment(),
                start_new_session=True,  # at Ctrl-C perf would end as if that were all
            )
        except OSError as error:
            raise EnvironmentFault(f"perf could not read its own samples: {error}") from error


def find_perf() -> Perf:
    """The ``perf`` of this machine.

    Raises:
        EnvironmentFault: there is none, or it does not run here; the message says how to get one.
    """
    program = shutil.which("perf")
    if program is None:
        raise EnvironmentFault(f"there is no perf here; {INSTALL}")
    try:
        # Ubuntu's is a script that looks for the kernel's own, and fails where that is not installed.
        done = subprocess.run([program, "version"], capture_output=True, timeout=_END_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFault(f"perf does not run here ({error}); {INSTALL}") from error
    if done.returncode != 0:
        raise EnvironmentFault(f"perf does not run here ({_last_words(done.stderr)}); {INSTALL}")
    # Told to wait, an older one (up to 5.14) writes down neither forks nor mappings of what starts meanwhile.
    is_new = tuple(map(int, _VERSION.findall(done.stdout.decode(errors="replace"))[:2])) >= _LOOKS_AT_CPUS_SINCE
    return Perf(program, is_new and may_look_at_cpus())


def may_look_at_cpus() -> bool:
    """Whether this process may have perf sample whole CPUs, as far as is known before it is tried."""
    with contextlib.suppress(ValueError):
        if int(read_text(_PARANOID) or "") <= _PARANOID_OF_CPUS:
            return True
    return _has_right(*_MAY_LOOK_AT_CPUS)


def _has_right(*capabilities: int) -> bool:
    """Whether this process has one of these."""
    held = re.search(r"^CapEff:\s*([0-9a-f]+)$", read_text(_STATUS) or "", re.MULTILINE)
    return held is not None and any(int(held[1], 16) >> right & 1 for right in capabilities)


def _has_maps(pid: int) -> bool:
    """Whether it can be told which code a process has mapped; one that is gone is no matter."""
    try:
        Path(f"/proc/{pid}/maps").read_bytes()
    except PermissionError:
        return False
    except OSError:
        pass
    return True


def _buffers() -> list[str]:
    """Arguments for larger buffers than perf's own, where this process may lock memory.

    Where CPUs are busy perf waits for one, too.
    """
    if not _has_right(_CAP_IPC_LOCK):
        return []
    fair = min(_BUFFER_KIB, _BUFFERS_KIB // (os.cpu_count() or 1))
    return ["-m", f"{1 << (fair.bit_length() - 1)}K"] if fair >= 2 * _SMALLEST_BUFFER_KIB else []


class _Gone(EnvironmentFault):
    """A process was gone before perf could attach to it."""


class Sampling:
    """``perf record`` of processes. Use as a context manager: at the end it is gone, whatever happened.

    It is told when to begin and to end over a pipe, so that nothing but the trial is sampled, and is ended by its id.
    Whole CPUs are looked at where ``on_cpus`` finds the processes' ids, later ones included.
    """

    def __init__(
        self, program: str, pids: Sequence[int], file: Path, on_cpus: Callable[[], Sequence[int]] | None = None
    ) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._file = file
        self._on_cpus = on_cpus
        self._processes = set(pids)
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        # I: not while a CPU is idle.
        where = (
            ["-e", "cpu-clock:I", "-a", "--max-size", f"{_MOST_ON_DISK_MIB}M"]
            if on_cpus is not None
            else ["-e", "cpu-clock", "-p", ",".join(map(str, pids))]
        )
        command = [program, "record", *where, "-F", str(FREQUENCY_HZ), "-D", "-1"]
        command += ["--sample-cpu", *_buffers()]
        command += ["--control", f"fd:{orders},{answers}", "-o", str(file)]
        # No copies of the programs go to ~/.debug, where perf would keep them.
        command += ["--no-buildid", "--no-buildid-cache"]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=(orders, answers),
                env=_environment(),
                start_new_session=True,  # Ctrl-C is tdelta's to handle
                preexec_fn=_dying_with(os.getpid()),  # perf would go on sampling a server of the user's
            )
        except OSError as error:
            self._close()
            raise EnvironmentFault(f"perf does not run here: {error.strerror}; {INSTALL}") from error
        finally:
            os.close(orders)
            os.close(answers)
        try:
            self._tell("ping")
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._close()

    def begin(self) -> None:
        """Sample from now on. Raises ``EnvironmentFault`` if perf has given up."""
        self._look_again()
        self._tell("enable")

    def end(self) -> Samples:
        """Sample no more, and have all samples written.

        Raises:
            EnvironmentFault: perf has given up meanwhile.
        """
        self._tell("disable")
        self._look_again()
        self._interrupt()
        return Samples(self._file, None if self._on_cpus is None else frozenset(self._processes))

    def _interrupt(self) -> None:
        """Have perf end. A signal that meets it on its way into a wait is not seen before the wait ends: so again."""
        deadline = time.monotonic() + _END_SECONDS
        while time.monotonic() < deadline:
            self._process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_AGAIN_SECONDS)
                return
        raise EnvironmentFault(f"perf did not end within {_END_SECONDS:.0f} s")

    def _look_again(self) -> None:
        """Find processes whose start perf missed: it writes down who started whom, as far as it can."""
        if self._on_cpus is not None:
            self._processes.update(self._on_cpus())

    def _tell(self, order: str) -> None:
        try:
            os.write(self._orders, f"{order}\n".encode())
            if not ready([_Descriptor(self._answers)], _ATTACH_SECONDS):
                raise EnvironmentFault(f"perf did not answer within {_ATTACH_SECONDS:.0f} s")
            if os.read(self._answers, 64):
                return
        except BrokenPipeError:
            pass
        raise self._given_up()

    def _given_up(self) -> EnvironmentFault:
        """Why perf is gone, as an exception."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        self._errors.seek(0)
        return why(self._errors.read().decode(errors="replace"), (read_text(_PARANOID) or "").strip())

    def _close(self) -> None:
        for descriptor in (self._orders, self._answers):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._errors.close()


@dataclass(frozen=True, slots=True)
class _Descriptor:
    number: int

    def fileno(self) -> int:
        return self.number


def _dying_with(parent: int) -> Callable[[], None]:
    """What a child does first so that it is killed when this process is."""
    library = ctypes.CDLL(None, use_errno=True)

    def prepare() -> None:
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def why(words: str, paranoid: str) -> EnvironmentFault:
    """What perf's own words mean, for people: that it may not, that it is too old, or whatever it said last.

    Args:
        words: what it wrote before it ended.
        paranoid: the level of ``kernel.perf_event_paranoid``; empty where it is not known.
    """
    lower = words.lower()
    if any(said in lower for said in ("access to performance monitoring", "permission", "not permitted", "paranoid")):
        level = f" (kernel.perf_event_paranoid is {paranoid})" if paranoid else ""
        return EnvironmentFault(f"perf may not sample here{level}; {_PERMIT}")
    if "unknown option" in lower or "usage: perf record" in lower or "usage: perf <" in lower:
        return EnvironmentFault("perf is too old: expected one that takes --control, of Linux 5.10 or newer")
    if "size limit reached" in lower:
        remedy = "trials are too long for all that this machine does"
        return EnvironmentFault(f"perf gave up: its file reached {_MOST_ON_DISK_MIB} MiB; {remedy}")
    if "no such process" in lower or "couldn't create thread/cpu maps" in lower:
        return _Gone(f"perf could not attach: {_last_words(words)}")
    return EnvironmentFault(f"perf gave up: {_last_words(words) or 'it said nothing'}")


def without_kernel() -> str:
    """What is said where perf may look at programs and not at the kernel."""
    return f"perf may not look at the kernel here, whose functions are missing; {_PERMIT_KERNEL}"


def following_threads() -> str:
    """What is said where perf follows the threads of a server, which it slows (``benches/perf_modes.py``)."""
    return f"perf follows threads here, which slows servers whose threads hand work to each other; {_PERMIT_CPUS}"


def parse_report(printed: Iterable[str], threads: Collection[int] | None = None) -> Recording:
    """Read ``perf report`` with fields that tabulators separate: samples, period (ns), thread, file, level and symbol.

    Functions of a file that does not name them are added up under no symbol.

    Args:
        printed: its lines.
        threads: whose samples are meant; all, where there are none.
    """
    found: dict[tuple[str, str, bool], tuple[int, int]] = {}
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
        key = (_file_name(fields[3]), "" if _HEX.fullmatch(symbol) or symbol == "[unknown]" else symbol, is_kernel)
        samples, period = found.get(key, (0, 0))
        found[key] = (samples + int(fields[0]), period + int(fields[1]))
    functions = tuple(Sampled(*key[:2], *counted, is_kernel=key[2]) for key, counted in found.items())
    return Recording(functions, has_kernel)


def added(recordings: Iterable[Recording]) -> Recording:
    """Several recordings as one."""
    found: dict[Sampled, tuple[int, int]] = {}
    has_kernel = True
    is_lost = False
    for recording in recordings:
        has_kernel = has_kernel and recording.has_kernel
        is_lost = is_lost or recording.is_lost
        for one in recording.functions:
            key = dataclasses.replace(one, samples=0, cpu_ns=0)
            samples, cpu_ns = found.get(key, (0, 0))
            found[key] = (samples + one.samples, cpu_ns + one.cpu_ns)
    functions = tuple(
        dataclasses.replace(key, samples=samples, cpu_ns=cpu_ns) for key, (samples, cpu_ns) in found.items()
    )
    return Recording(functions, has_kernel, is_lost)


def _file_name(dso: str) -> str:
    """Without folders, which may be somebody's own, nor what perf says of a file that was replaced meanwhile."""
    return dso if dso.startswith("[") else dso.removesuffix(" (deleted)").rpartition("/")[2]


def _environment() -> dict[str, str]:
    """Perf asks servers of debugging symbols over the network where it is told to, and reads a user's own settings."""
    kept = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
    return kept | {"PERF_CONFIG": os.devnull, "PERF_PAGER": "cat", "LC_ALL": "C"}


def _last_words(words: str | bytes) -> str:
    text = words.decode(errors="replace") if isinstance(words, bytes) else words
    return " ".join(text.split())[-_LAST_WORDS:]
