"""The process that removes a run's folder when tdelta dies before it could.

See `tdelta.driver.supervising`: the end of the input is the death of tdelta, by whatever signal. A tdelta that removed
its folder ends this process first. Started as ``python -m tdelta.driver.keeper``.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from tdelta.driver.files import remove_abandoned
from tdelta.driver.supervising import Host, Input, Order, supervise

_REMOVAL_SECONDS = 60.0
_LOOK_AGAIN_SECONDS = 0.05


class KeeperHost(Host):
    """The keeper of one folder."""

    def __init__(self, orders: Input) -> None:
        super().__init__(orders)
        self._folder: Path | None = None

    def do_keep(self, order: Order) -> None:
        """Take charge of a folder, which need not be there yet; there is no answer to it."""
        self._folder = Path(order["folder"])

    def end(self) -> None:
        """Remove the folder; a process that dies meanwhile may keep it from that for a moment."""
        folder, give_up = self._folder, time.monotonic() + _REMOVAL_SECONDS
        while folder is not None and remove_abandoned(folder) and folder.exists() and time.monotonic() < give_up:
            time.sleep(_LOOK_AGAIN_SECONDS)
        if folder is not None:
            with contextlib.suppress(OSError):  # tdelta died before it had its lock, or another tdelta has it now
                folder.rmdir()


if __name__ == "__main__":
    supervise(KeeperHost)
