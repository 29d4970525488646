"""The process between tdelta and programs that read and write files of its own: a pipeline, as a shell would run it.

See `tdelta.driver.supervising`. Started as ``python -m tdelta.driver.piping``; `tdelta.driver.programs` speaks to it.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import subprocess
import time
from pathlib import Path
from typing import IO

from tdelta.driver import tree
from tdelta.driver.supervising import Failed, Host, Reply, Request, launch, supervise
from tdelta.measure.private import private

_KILL_SECONDS = 30.0


class PipingHost(Host):
    """One pipeline at a time."""

    def do_hello(self, _request: Request) -> Reply:
        return {}

    def do_run(self, request: Request) -> Reply:
        """Run programs, each of which reads what the one before it writes, until all have ended or time is over."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with contextlib.ExitStack() as files:
            source = files.enter_context(Path(request["source"]).open("rb")) if request["source"] else None
            out = files.enter_context(private(Path(request["target"])))
            err = files.enter_context(private(Path(request["errors"])))
            began_ns = time.monotonic_ns()
            processes = _started(request, source, out, err)
        ended_by = self._wait([process.pid for process in processes], request["deadline_seconds"])
        elapsed_ns = time.monotonic_ns() - began_ns
        if ended_by != "itself":
            tree.kill(os.getpid(), _KILL_SECONDS)
        statuses = [process.wait() for process in processes]
        tree.kill(os.getpid(), _KILL_SECONDS)
        tree.reap(())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "statuses": statuses,
            "ended_by": ended_by,
            "elapsed_ns": elapsed_ns,
            "cpu_user_seconds": after.ru_utime - before.ru_utime,
            "cpu_system_seconds": after.ru_stime - before.ru_stime,
        }

    def _wait(self, pids: list[int], seconds: float) -> str:
        """Wait for the end of all and say what brought it about: ``itself`` or ``deadline``.

        Raises:
            ParentGone: the input ended meanwhile.
        """
        give_up = time.monotonic() + seconds
        with contextlib.ExitStack() as endings:
            waited = []
            for pid in pids:
                waited.append(os.pidfd_open(pid))
                endings.callback(os.close, waited[-1])
            while waited:
                watched = [*waited, self._requests.descriptor]
                found = select.select(watched, [], [], max(0.0, give_up - time.monotonic()))[0]
                waited = [ending for ending in waited if ending not in found]
                if self._requests.descriptor in found:
                    self._requests.line(None)
                if not found:
                    return "deadline"
        return "itself"

    def end(self) -> None:
        tree.kill(os.getpid(), _KILL_SECONDS)


def _started(
    request: Request, source: IO[bytes] | None, out: IO[bytes], err: IO[bytes]
) -> list[subprocess.Popen[bytes]]:
    """The programs of a pipeline, which hold the ends of their pipes, and nobody else.

    Raises:
        Failed: one cannot be started; the others are killed.
    """
    processes: list[subprocess.Popen[bytes]] = []
    stages, folder = request["stages"], Path(request["folder"])
    try:
        for number, argv in enumerate(stages):
            to = out if number == len(stages) - 1 else subprocess.PIPE
            process = launch(tuple(argv), request["environment"], to, err, source=source, folder=folder)
            if processes and source is not None:
                source.close()
            source = process.stdout
            processes.append(process)
    except OSError as error:
        tree.kill(os.getpid(), _KILL_SECONDS)
        raise Failed("cannot be started", f"{argv[0]}: {error.strerror or error}") from error
    return processes


if __name__ == "__main__":
    supervise(PipingHost)
