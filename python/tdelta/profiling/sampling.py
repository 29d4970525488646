"""One ``perf record``, which is ordered over a pipe when to sample, and what its own words mean where it fails."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from tdelta.errors import EnvironmentFault
from tdelta.measure.procfs import read_text
from tdelta.measure.starting import dying_with
from tdelta.messages import Refusal

_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_STATUS = Path("/proc/self/status")
_PARANOID_OF_CPUS = 0
"""The highest level of it at which anybody may look at whole CPUs."""

_MAY_LOOK_AT_CPUS = (21, 38)
"""CAP_SYS_ADMIN and CAP_PERFMON, capabilities(7)."""


def paranoid_level() -> str:
    return read_text(_PARANOID) or ""


def may_look_at_cpus() -> bool:
    """Whether this process may have perf sample whole CPUs, as far as is known before it is tried."""
    with contextlib.suppress(ValueError):
        if int(paranoid_level()) <= _PARANOID_OF_CPUS:
            return True
    return has_right(*_MAY_LOOK_AT_CPUS)


def has_right(*capabilities: int) -> bool:
    held = re.search(r"^CapEff:\s*([0-9a-f]+)$", read_text(_STATUS) or "", re.MULTILINE)
    return held is not None and any(int(held[1], 16) >> right & 1 for right in capabilities)


def has_maps(pid: int) -> bool:
    """Whether it can be seen which code a process has mapped; one that is gone is no matter."""
    try:
        Path(f"/proc/{pid}/maps").read_bytes()
    except PermissionError:
        return False
    except OSError:
        pass
    return True


FREQUENCY_HZ = 999
"""Not a thousand: what a program does every millisecond would be hit always or never."""

_CAP_IPC_LOCK = 14
_BUFFERS_KIB = 64 << 10
"""The most that perf may hold in memory of all CPUs together, until it gets a CPU to write it down."""

_BUFFER_KIB = 4 << 10
_SMALLEST_BUFFER_KIB = 512
"""perf's own choice, of one CPU."""

_ATTACH_SECONDS = 30.0
_END_SECONDS = 30.0
_AGAIN_SECONDS = 2.0
_MOST_ON_DISK_MIB = 256
"""Small enough for perf to read it in time, twice."""

_LAST_WORDS = 300
_FAILED = 255
"""perf's exit code where a call of its kernel failed."""


@dataclass(frozen=True, slots=True)
class Samples:
    """A file that perf wrote, and whose samples in it are meant: these processes', or (None) everything."""

    file: Path
    processes: frozenset[int] | None = None


class Gone(EnvironmentFault):
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
                env=environment(),
                start_new_session=True,  # Ctrl-C is tdelta's to handle
                preexec_fn=dying_with(os.getpid()),  # perf would go on sampling a server of the user's
            )
        except OSError as error:
            self._close()
            raise EnvironmentFault(Refusal.of("perf-unavailable", fault=error.strerror)) from error
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

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._close()

    def begin(self) -> None:
        """Sample from now on. Raises ``EnvironmentFault`` if perf has given up."""
        self._look_again()
        self._tell("enable")

    def end(self) -> Samples:
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
        raise EnvironmentFault(Refusal.of("perf-failed", fault=f"it did not end within {_END_SECONDS:.0f} s"))

    def _look_again(self) -> None:
        """Find processes whose start perf missed: it writes down who started whom, as far as it can."""
        if self._on_cpus is not None:
            self._processes.update(self._on_cpus())

    def _tell(self, order: str) -> None:
        try:
            os.write(self._orders, f"{order}\n".encode())
            poller = select.poll()
            poller.register(self._answers, select.POLLIN)
            if not poller.poll(1e3 * _ATTACH_SECONDS):
                raise EnvironmentFault(Refusal.of("perf-failed", fault=f"no answer within {_ATTACH_SECONDS:.0f} s"))
            if os.read(self._answers, 64):
                return
        except BrokenPipeError:
            pass
        raise self._given_up()

    def _given_up(self) -> EnvironmentFault:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        self._errors.seek(0)
        return why(self._errors.read().decode(errors="replace"), paranoid_level(), self._process.poll())

    def _close(self) -> None:
        for descriptor in (self._orders, self._answers):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._errors.close()


def why(words: str, paranoid: str, code: int | None = None) -> EnvironmentFault:
    """The meaning of perf's own words, or of the code that it ended with, negative for a signal, for people."""
    lower = words.lower()
    said = last_words(words) or f"no message, exit code {code}"
    if any(part in lower for part in ("access to performance monitoring", "permission", "not permitted", "paranoid")):
        return EnvironmentFault(
            Refusal.of("perf-not-permitted", level=paranoid)
            if paranoid
            else Refusal.of("perf-not-permitted", level="unknown")
        )
    if "unknown option" in lower or "usage: perf record" in lower or "usage: perf <" in lower:
        return EnvironmentFault(Refusal.of("perf-failed", fault="--control requires perf of Linux 5.10 or newer"))
    if "size limit reached" in lower:
        return EnvironmentFault(Refusal.of("perf-failed", fault=f"its file reached {_MOST_ON_DISK_MIB} MiB"))
    # Of a thread that ends while perf attaches, perf 6.1 says one of these, or nothing.
    gone = ("no such process", "couldn't create thread/cpu maps", "ignored open failure for pid")
    if any(part in lower for part in gone) or (not words.strip() and code == _FAILED):
        return Gone(Refusal.of("perf-failed", fault=f"it could not attach: {said}"))
    return EnvironmentFault(Refusal.of("perf-failed", fault=said))


def _buffers() -> list[str]:
    """Arguments for larger buffers than perf's own, where this process may lock memory.

    Where CPUs are busy perf waits for one, too.
    """
    if not has_right(_CAP_IPC_LOCK):
        return []
    fair = min(_BUFFER_KIB, _BUFFERS_KIB // (os.cpu_count() or 1))
    return ["-m", f"{1 << (fair.bit_length() - 1)}K"] if fair >= 2 * _SMALLEST_BUFFER_KIB else []


def environment() -> dict[str, str]:
    """Perf asks servers of debugging symbols over the network where it is told to, and reads a user's own settings."""
    kept = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
    return kept | {"PERF_CONFIG": os.devnull, "PERF_PAGER": "cat", "LC_ALL": "C"}


def last_words(words: str | bytes) -> str:
    text = words.decode(errors="replace") if isinstance(words, bytes) else words
    return " ".join(text.split())[-_LAST_WORDS:]
