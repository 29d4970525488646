"""First steps of a process that tdelta starts. Each twin has several, so next to nothing is imported for it."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_PR_SET_TIMERSLACK = 29


def dying_with(parent: int, by: signal.Signals = signal.SIGKILL) -> Callable[[], None]:
    """The first call of a child, so that the kernel ends it when its parent goes; it leaves if that has gone already.

    ``by`` is the signal. The C library is loaded before, since between ``fork`` and ``exec`` nothing may be.
    """
    libc = ctypes.CDLL(None, use_errno=True)

    def prepare() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, by, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(0)

    return prepare


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent goes, however it goes; leave now if it has gone already."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    dying_with(parent)()


def raise_open_files() -> None:
    """Let this process, and those that it starts, have as many files and connections open as its user may."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
