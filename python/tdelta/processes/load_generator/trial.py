"""A load generator as a trial: run on one twin, accounted for, its results read.

The command runs below a supervisor (`tdelta.processes.supervisor`), so that none of it outlives tdelta. Its
CPU, with that of everything that it started, is the client's: what the server used is the caller's to add.
"""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tdelta import own_folders
from tdelta.errors import LoadFault, WorkerFault
from tdelta.measure.children import Declined
from tdelta.measure.pressure import in_words
from tdelta.messages import Refusal
from tdelta.processes.load_generator.command import HOME, LOG_NAME, LoadGenerator, Work
from tdelta.processes.load_generator.connections import Connection, inherited_environment, make_home
from tdelta.processes.load_generator.tools import Finished
from tdelta.processes.workers import GRACE_SECONDS, Supervisor
from tdelta.records import Checkpoint, Client, Measurement, RunDelays, Usage
from tdelta.records.trials import Circumstances

_END_SECONDS = 20.0


class CommandLoad:
    """One twin's side of trials by a load generator, with a private folder for logs and the clients' home."""

    def __init__(self, command: LoadGenerator, connection: Connection, parent: Path) -> None:
        self._command = command
        self._connection = connection
        self._folder = Path(tempfile.mkdtemp(prefix="load-", dir=parent))
        self._deadline_seconds = 0.0
        try:
            home = make_home(self._folder / HOME, connection.option_file())
            self._supervisor = Supervisor("a load generator's supervisor")
            self._supervisor.send("keep", folder=str(self._folder))
        except BaseException:
            own_folders.remove(self._folder)
            raise
        self._environment = {**inherited_environment(), **home, **connection.environment()}

    def fileno(self) -> int:
        return self._supervisor.fileno()

    def begin(self, work: Work, deadline_seconds: float) -> None:
        self._remove_logs()
        self._deadline_seconds = deadline_seconds
        self._supervisor.send(
            "run",
            stages=[self._command.argv(self._connection, work, self._folder)],
            environment=self._environment,
            out=str(self._folder / "out"),
            err=str(self._folder / "err"),
            deadline_seconds=deadline_seconds,
        )

    def answer(self) -> Measurement:
        """Wait for the command's end and read its results. One that was stopped did no operations."""
        name = self._command.tool.name
        try:
            return self._measurement(self._supervisor.answer(self._deadline_seconds + GRACE_SECONDS), name)
        except Declined as error:
            raise LoadFault(Refusal.of("load-failed", tool=name, how=f"failed: {error} ({error.kind})")) from error
        finally:
            self._remove_logs()

    def stop(self) -> None:
        with contextlib.suppress(WorkerFault):
            self._supervisor.send("stop")

    def end(self) -> None:
        self._supervisor.close(_END_SECONDS)
        own_folders.remove(self._folder)

    def _measurement(self, answer: Mapping[str, Any], name: str) -> Measurement:
        cpu = Client(answer["cpu_user_seconds"], answer["cpu_system_seconds"])
        if answer["ended_by"] == "stop":
            return Measurement(0, answer["elapsed_ns"], {}, {}, stopped_by="signal", client=cpu)
        out, err = ((self._folder / name).read_text(errors="replace") for name in ("out", "err"))
        finished = Finished(answer["statuses"][0], answer["elapsed_ns"], out, err, self._folder, LOG_NAME)
        if fault := _fault(answer, name):
            raise LoadFault(fault, words=finished.last_lines)
        result = self._command.reader.read(finished)
        return dataclasses.replace(result, total_operations=result.operations, client=cpu)

    def _remove_logs(self) -> None:
        for path in (*self._folder.glob(f"{LOG_NAME}*"), self._folder / "out", self._folder / "err"):
            if path.is_dir():
                own_folders.remove(path)
            else:
                path.unlink(missing_ok=True)


def with_server(measured: Measurement, used: Mapping[str, Any]) -> Measurement:
    """The measurement of a command with what the twin's server used meanwhile, from `end_external_load` of a worker."""
    return dataclasses.replace(
        measured,
        engine_counters=used["counters"],
        checkpoint=Checkpoint.of(used),
        pressure=used["pressure"],
        delays=RunDelays(used["run_delay_ns"]),
        circumstances=Circumstances(in_words(used["standstill"], "a worker process")),
        usage=Usage.of(used["usage"]),
    )


def _fault(answer: Mapping[str, Any], name: str) -> Refusal | None:
    (status,) = answer["statuses"]
    if answer["ended_by"] == "deadline":
        how = f"did not end within {answer['elapsed_ns'] / 1e9:.0f} s"
    elif status:
        how = f"was killed by signal {-status}" if status < 0 else f"failed with exit status {status}"
    elif answer["left"]:
        how = f"left running: {', '.join(answer['left'])}"
    else:
        return None
    return Refusal.of("load-failed", tool=name, how=how)
