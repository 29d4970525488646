"""The signals that end tdelta, and how it leaves while it starts.

Ctrl-C may come at once, so this imports only what Python has loaded by then: `_signal`, and not ``signal``, which
takes longer to import than all else here.
"""

import _signal  # type: ignore[import-not-found]
import os

from tdelta import _native

_CLASS = "PanicException"
"""PyO3's exception for a panic. It is no `Exception`, so that nothing handles it by accident."""


def panic_words(error: BaseException) -> str | None:
    """The words for an exception that is a panic; None where it is anything else."""
    if type(error).__name__ != _CLASS:
        return None
    report = _native.panic_report()
    where = f"{report} says where, without data or keys: please send it with what you ran" if report else "no report"
    return f"an internal error of tdelta's native module; {where}"


ENDING = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT, _signal.SIGUSR1, _signal.SIGUSR2)
"""The signals by which people and systems ask a run to end, and those that would end it without tidying up."""

INTERRUPTED = 130
"""The exit code after any of them."""

_STDERR = 2


def heard() -> tuple[int, ...]:
    """The signals of `ENDING` but for a hang-up that nohup has this process ignore."""
    return tuple(n for n in ENDING if n != _signal.SIGHUP or _signal.getsignal(n) != _signal.SIG_IGN)


def leave_at_once() -> None:
    """Have the signals end this process with a word, as long as nothing is made that would be left: while it starts."""
    for number in heard():
        _signal.signal(number, _leave)


def _leave(_number: int, _frame: object) -> None:
    try:
        os.write(_STDERR, b"error: interrupted\n")
    finally:
        os._exit(INTERRUPTED)
