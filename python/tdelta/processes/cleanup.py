"""The process that removes a run's folder when tdelta dies before it could.

See `tdelta.processes.rpc`: the end of the input is the death of tdelta, by whatever signal. A tdelta that removed
its folder ends this process first. Started as ``python -m tdelta.processes.cleanup``.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from tdelta import own_folders
from tdelta.processes.files import remove_abandoned
from tdelta.processes.rpc import Request, serve
from tdelta.processes.supervisor import Supervisor

_REMOVAL_SECONDS = 60.0
_LOOK_AGAIN_SECONDS = 0.05


class KeeperHost(Supervisor):
    def __init__(self) -> None:
        super().__init__()
        self._tdelta = os.getppid()
        self._folder: Path | None = None

    def do_keep(self, request: Request) -> None:
        self._folder = Path(request["folder"])

    def end(self) -> None:
        """Remove the folder.

        The lock may be held for a while after tdelta's death: by the dying process itself, which may let go of its pipe
        first, and by a child that it had forked and that had not begun its program yet.
        """
        give_up = time.monotonic() + _REMOVAL_SECONDS
        while self._folder is not None and self._folder.exists() and time.monotonic() < give_up:
            is_dead = os.getppid() != self._tdelta
            if not remove_abandoned(self._folder) and is_dead:
                with contextlib.suppress(OSError):  # it is locked; or the dead one had no lock yet
                    own_folders.remove_empty(self._folder)
            time.sleep(_LOOK_AGAIN_SECONDS)


if __name__ == "__main__":
    serve(KeeperHost())
