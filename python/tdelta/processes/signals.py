"""Keeping Ctrl-C out of places where it would do harm.

Blocking signals in the main thread is not enough: the kernel then hands them to another thread (NumPy's libraries start
some), and Python runs the handler in the main thread all the same. So the handler itself waits, by `deliver`.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from tdelta.leaving import heard

_PATIENCE_SECONDS = 10.0
"""How long a further signal may not disturb the tidying up that the first one began."""

_are_ours = False
_is_answering = False
_raised_seconds: float | None = None
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


def answer() -> None:
    """Have the signals raise `KeyboardInterrupt` by `interrupt`: from now on there may be something to tidy up."""
    global _is_answering
    _is_answering = True
    _install(lambda _number, _frame: deliver(interrupt))


def ignore() -> None:
    """Have the signals do nothing: all is tidied up, and the process is about to end with its code."""
    _install(signal.SIG_IGN)


def interrupt() -> None:
    """Raise `KeyboardInterrupt`, but not soon after another: a second signal is no reason to tidy up half."""
    global _raised_seconds
    now = time.monotonic()
    if _is_answering and _raised_seconds is not None and now - _raised_seconds < _PATIENCE_SECONDS:
        return
    _raised_seconds = now
    raise KeyboardInterrupt


def _install(handler: Callable[[int, FrameType | None], object] | signal.Handlers) -> None:
    for number in heard():
        signal.signal(number, handler)


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
    """Run the action of a signal's handler: at once, or at the end of the block that holds it."""
    if _depth:
        _waiting.append(action)
    else:
        action()
