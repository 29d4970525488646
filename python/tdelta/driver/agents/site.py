"""What runs on a node of a fleet: an actor of Ray's, which makes one run in a separate process."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
import sys
from typing import Any

from tdelta.driver.agents.host import machine, tdelta_version
from tdelta.driver.agents.site_run import GRACE_SECONDS

_PROGRAM = "tdelta.driver.agents.site_run"
_MORE_SECONDS = 5.0


class Site:
    """One node's place for a run. Its methods are called by Ray, several at once."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def hello(self) -> dict[str, Any]:
        """Where it is, and which tdelta is there."""
        return {"node": platform.node(), "machine": machine(), "version": tdelta_version(), "pid": os.getpid()}

    def run(self, words: list[str]) -> dict[str, Any]:
        """Make one run: ``{"ok": …}`` as `tdelta.driver.agents.site_run` answers, or ``{"lost": words}``."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        assert self._process.stdin is not None  # noqa: S101 - a pipe
        assert self._process.stdout is not None  # noqa: S101 - a pipe
        try:
            self._process.stdin.write(json.dumps({"words": words}).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError as fault:
            line = str(fault).encode()
        code = self._process.wait()
        try:
            return {"ok": json.loads(line)}
        except ValueError:
            return {"lost": f"the run's process ended with status {code}"}

    def end(self) -> None:
        """Have the run end, and tidy up after itself."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_SECONDS + _MORE_SECONDS)
