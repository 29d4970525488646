"""Parts of the cases of `hostile`: a place, a case, scripts, signals."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "live"))

from support.running import Place, Ran
from support.runs import processes_at

LONGEST_SECONDS = 240.0
"""A case that has not ended by then hangs. Most end within seconds; the machine may be busy."""

SOON_SECONDS = 20.0
"""How long the answer to a signal may take, on a busy machine."""

ANSWERED = (0, 3, 4)
"""Of brief trials on a busy machine; 4 says that something was not sound."""

BRIEF = (
    *("--size", "2MB", "--trial-time", "0.03s", "--blocks", "2", "--rounds", "1..1", "--max-time", "200s"),
    *("--no-bb", "--no-aa", "--workload", "point-select"),
)
LONG = tuple("200..200" if word == "1..1" else word for word in BRIEF)


@dataclass(frozen=True)
class Here(Place):
    """Where a case has its store, caches and temporary files."""

    @classmethod
    def made(cls, base: Path) -> Here:
        """With what every case needs."""
        here = cls(base)
        here.temporary.mkdir()
        (base / "tdelta").write_text(f"#!{sys.executable}\nfrom tdelta.__main__ import main\nmain()\n")
        (base / "tdelta").chmod(0o755)
        return here

    @property
    def temporary(self) -> Path:
        """The folder of temporary files."""
        return self.base / "tmp"

    @property
    def emptied(self) -> tuple[Path, ...]:
        """Folders that must be empty afterwards."""
        return self.twins, self.temporary, self.base / "twins"

    def processes(self) -> list[tuple[int, str]]:
        """The processes that run here."""
        return [(pid, words) for pid, words in processes_at(self.base) if pid != os.getpid()]

    def settle(self) -> None:
        """Wait until what runs here has ended, as keepers do after a kill; what is left then is found afterwards."""
        give_up = time.monotonic() + SOON_SECONDS
        while self.processes() and time.monotonic() < give_up:
            time.sleep(0.05)

    def clear(self) -> None:
        """End what is left."""
        for pid, _ in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def shell(self, script: str, **more: str) -> Ran:
        """The exit status of a bash script that calls ``tdelta``.

        Raises:
            AssertionError: it does not end.
        """
        brief, long = " ".join(BRIEF), " ".join(LONG)
        process = subprocess.Popen(
            ["bash", "-c", script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environment() | {"BRIEF": brief, "LONG": long} | more,
            cwd=self.base,
            process_group=0,
        )
        try:
            out, err = process.communicate(timeout=LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise AssertionError(f"hangs: {script}") from None
        return Ran(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))

    def _environment(self) -> dict[str, str]:
        places = {"HOME": str(self.base), "TMPDIR": str(self.temporary)}
        return super()._environment() | places | {"PATH": f"{self.base}:{os.environ['PATH']}"}


@dataclass(frozen=True)
class Case:
    """A command, and the end that it must have."""

    name: str
    act: Callable[[Here], Ran]
    codes: tuple[int, ...] = (2,)
    said: str = ""
    """A pattern that standard error has."""


def scripts(found: Iterable[tuple[str, tuple[int, ...], str]]) -> Iterator[Case]:
    """Cases that are a script each, the codes and what is said."""
    for script, codes, said in found:
        yield Case(script.replace("\n", "; ")[:150], lambda here, script=script: here.shell(script), codes, said)


def ended(process: subprocess.Popen[str]) -> Ran:
    """Its exit code and output.

    Raises:
        AssertionError: it does not.
    """
    try:
        out, err = process.communicate(timeout=LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise AssertionError("hangs") from None
    return Ran(process.returncode, out, err)


def files_below(folder: Path) -> Iterator[Path]:
    """The files there, however fast they come and go."""
    for parent, _, names in os.walk(folder):
        yield from (Path(parent) / name for name in names)


def many_signals(process: subprocess.Popen[str], numbers: Iterable[signal.Signals]) -> None:
    """Send them, one shortly after the other."""
    for number in numbers:
        process.send_signal(number)
        time.sleep(0.005)
