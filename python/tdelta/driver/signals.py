"""Keeping Ctrl-C out of places where it would do harm.

Blocking signals in the main thread is not enough: the kernel then hands them to another thread (NumPy's libraries start
some), and Python runs the handler in the main thread all the same. So the handler itself waits, by `deliver`.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals by which people and systems ask a run to end."""

_are_ours = False
_depth = 0
_waiting: list[Callable[[], None]] = []


def take() -> None:
    """Allow signal handlers and an alarm in this process, which is the command line's.

    In other programs, notebooks for example, tdelta installs no handler and sets no alarm.
    """
    global _are_ours
    _are_ours = True


def are_ours() -> bool:
    """Whether handlers may be installed here: in the main thread of the command line's process."""
    return _are_ours and threading.current_thread() is threading.main_thread()


@contextmanager
def held() -> Iterator[None]:
    """Let what a handler would do wait until the end of the block (in the main thread; elsewhere no handler runs)."""
    global _depth
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        while _waiting and not _depth:
            _waiting.pop(0)()


def deliver(action: Callable[[], None]) -> None:
    """What a signal's handler calls with what it is to do: done at once, or at the end of the block that holds it."""
    if _depth:
        _waiting.append(action)
    else:
        action()
