"""The signals that end tdelta, and how it leaves while it starts. Imports next to nothing: Ctrl-C may come at once."""

import os
import signal

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
"""The signals by which people and systems ask a run to end, and those that would end it without tidying up."""

INTERRUPTED = 130
"""The exit code after any of them."""

_STDERR = 2


def heard() -> tuple[signal.Signals, ...]:
    """The signals of `ENDING` but for a hang-up that nohup has this process ignore."""
    return tuple(n for n in ENDING if n != signal.SIGHUP or signal.getsignal(n) != signal.SIG_IGN)


def leave_at_once() -> None:
    """Have the signals end this process with a word, as long as nothing is made that would be left: while it starts."""
    for number in heard():
        signal.signal(number, _leave)


def _leave(_number: int, _frame: object) -> None:
    try:
        os.write(_STDERR, b"error: interrupted\n")
    finally:
        os._exit(INTERRUPTED)
