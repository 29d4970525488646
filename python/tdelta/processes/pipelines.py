"""Programs that make, compress and restore backups: run one after another, or as a pipeline, and accounted for."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tdelta.errors import EnvironmentFault, UsageError
from tdelta.measure.aes import OPENSSL_VARIABLE
from tdelta.measure.children import Declined
from tdelta.messages import Refusal
from tdelta.processes.actions import ACTION_SECONDS, Halt
from tdelta.processes.workers import GRACE_SECONDS, Supervisor
from tdelta.records import Usage

_END_SECONDS = 20.0
_LAST_WORDS = 1000


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    remedy: str

    def require(self) -> None:
        if shutil.which(self.name) is None:
            raise UsageError(Refusal.of("program-missing", program=self.name, remedy=self.remedy))


class Programs:
    """Runs programs for one action, in a folder where what they say is written; all of them end with it."""

    def __init__(self, folder: Path, halt: Halt) -> None:
        self._folder = folder
        self._halt = halt
        self._child = Supervisor("a supervisor of backup programs")
        self._child.send("hello")
        self._child.answer()

    def __enter__(self) -> Programs:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        return self._child.pid

    def run(self, *stages: Sequence[str], **options: Any) -> Usage:
        """Begin a pipeline and wait for it: what its programs used.

        Raises:
            EnvironmentFault: a program could not be started, failed or took too long, or the action is to end.
        """
        self.begin(*stages, **options)
        return self.answer()

    def begin(
        self,
        *stages: Sequence[str],
        source: Path | None = None,
        target: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start a pipeline; `answer` says what came of it.

        Args:
            *stages: the words of each program; each reads what the one before it writes.
            source: what the first one reads; None: nothing.
            target: where the last one writes; None: nobody reads that.
            environment: variables to add. Others can read them, so none may be secret.
        """
        inherited = {name: value for name, value in os.environ.items() if name != OPENSSL_VARIABLE}
        self._stages = stages
        self._child.send(
            "run",
            stages=[list(stage) for stage in stages],
            source=None if source is None else str(source),
            target=str(self._folder / "said" if target is None else target),
            err=str(self._errors),
            folder=str(self._folder),
            environment={**inherited, **(environment or {})},
            deadline_seconds=ACTION_SECONDS,
        )

    def answer(self) -> Usage:
        names = " | ".join(Path(stage[0]).name for stage in self._stages)
        try:
            answer = self._halt.wait_for(self._child, f"the end of {names}", ACTION_SECONDS + GRACE_SECONDS)
        except Declined as error:
            raise EnvironmentFault(Refusal.of("program-missing", program=names, remedy=str(error))) from error
        if answer["ended_by"] == "deadline":
            raise EnvironmentFault(Refusal.of("action-stopped", what=f"the end of {names}, for {ACTION_SECONDS:.0f} s"))
        # Whoever writes to a program that failed dies of SIGPIPE: that is not what is wrong.
        failed = [(status == -signal.SIGPIPE, n) for n, status in enumerate(answer["statuses"]) if status]
        if failed:
            _, number = min(failed)
            status = answer["statuses"][number]
            name = Path(self._stages[number][0]).name
            raise EnvironmentFault(Refusal.of("program-failed", program=name, status=status, said=self._said()))
        return Usage(answer["cpu_user_seconds"], answer["cpu_system_seconds"])

    def end(self) -> None:
        self._child.close(_END_SECONDS)

    @property
    def _errors(self) -> Path:
        return self._folder / "errors"

    def _said(self) -> str:
        said = b""
        with contextlib.suppress(OSError):
            said = self._errors.read_bytes()[-_LAST_WORDS:]
        return " ".join(said.decode(errors="replace").split()) or "nothing"
