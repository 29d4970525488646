"""Starts one program of a recipe: in a process group of its own, tied to the supervisor's life, its words in a log."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from tdelta.engines.servers import Command
from tdelta.measure.aes import OPENSSL_VARIABLE

IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What the supervisor ignores; its children must not inherit that."""

_CLONE_NEWUSER = 0x10000000
_USER = 1000
_STDERR = 2
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Have the kernel hand orphans below this process to it."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def launch(command: Command, log: Path, folder: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a program.

    Args:
        command: what to run; its secret goes to its standard input.
        log: what it says is added to this file.
        folder: where it runs.
        environment: variables added to this process's and the command's own.

    Raises:
        OSError: it cannot be started.
    """
    with log.open("ab") as said:
        process = subprocess.Popen(
            command.argv,
            stdin=subprocess.DEVNULL if command.secret is None else subprocess.PIPE,
            stdout=said,
            stderr=said,
            cwd=folder,
            env=_kept() | dict(command.environment) | dict(environment),
            process_group=0,
            preexec_fn=_prepared(command),
        )
    if command.secret is not None and process.stdin is not None:
        with process.stdin as secret:
            secret.write(command.secret.encode())
    return process


def _kept() -> dict[str, str]:
    """This process's environment, less the word for OpenSSL, which would hide AES from every twin."""
    return {name: value for name, value in os.environ.items() if name != OPENSSL_VARIABLE}


def _prepared(command: Command) -> Callable[[], None]:
    supervisor = os.getpid()
    leaves_root = command.as_user and os.geteuid() == 0

    def prepare() -> None:
        for number in IGNORED:
            signal.signal(number, signal.SIG_DFL)
        if leaves_root:
            _leave_root()
        _die_with(supervisor)  # after the above: a change of credentials takes it back

    return prepare


def _die_with(parent: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _leave_root() -> None:
    """Enter a user namespace in which this user has the id of nobody in particular, for programs that refuse root."""
    user, group = os.geteuid(), os.getegid()  # within the namespace they are nobody's until they are mapped
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWUSER) != 0:
        os.write(_STDERR, b"cannot leave root: no user namespaces here; run tdelta as another user\n")
        os._exit(1)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{_USER} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{_USER} {group} 1")
