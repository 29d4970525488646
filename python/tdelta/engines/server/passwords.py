"""Where the passwords of users' servers come from: the environment, a file that only its owner can read, a terminal.

Each is read or asked once in a sitting and kept in memory alone: a resumed run reads or asks again. A sitting is a run,
or a command that connects several times. A variable that was read is taken out of the environment, which every process
that tdelta starts would inherit. A file is checked after it was opened, so that it cannot be exchanged in between; a
pipe (``<(pass show db)``) is a file, too.
"""

from __future__ import annotations

import getpass
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar

from tdelta.engines.server.dsn import Dsn
from tdelta.errors import DsnFault
from tdelta.messages import Refusal

_MOST_BYTES = 4096
_OTHERS = 0o077

Prompt = Callable[[str], str]
"""Asks a person for a password, which is not shown while it is typed."""


class Passwords:
    """The passwords of one sitting, by server and user.

    Args:
        environment: where variables are read from, and taken out of.
        prompt: asks a person; None where nobody can be asked.
    """

    def __init__(self, environment: MutableMapping[str, str], prompt: Prompt | None = None) -> None:
        self._environment = environment
        self._prompt = prompt
        self._variables: dict[str, str] = {}
        self._files: dict[str, str] = {}
        self._known: dict[tuple[str, str], str] = {}
        self._rejected: set[tuple[str, str]] = set()

    def read(self, dsns: Iterable[tuple[str, Dsn]]) -> None:
        """Read the passwords of all DSNs that say where they are, before anything is connected to.

        Args:
            dsns: each with the option that it was given to.

        Raises:
            DsnFault: one could not be read; names all of them.
        """
        faults: list[tuple[str, Refusal]] = []
        for option, dsn in dsns:
            try:
                if dsn.password_env is not None:
                    self._known[_whose(dsn)] = self._variable(dsn.password_env)
                elif dsn.password_file is not None:
                    self._known[_whose(dsn)] = self._file(dsn.password_file)
            except _Unreadable as unreadable:
                faults.append((option, unreadable.said))
        if faults:
            raise DsnFault(", ".join(dict.fromkeys(option for option, _ in faults)), [said for _, said in faults])

    def give_back(self) -> None:
        """Put the variables back that were taken out: a program that runs twice reads them twice."""
        self._environment.update(self._variables)

    def of(self, dsn: Dsn) -> str | None:
        """The password that is known; None where none was asked for yet, and a server may want none."""
        return self._known.get(_whose(dsn))

    def ask(self, option: str, dsn: Dsn) -> str | None:
        """Ask a person; None if the DSN says where to look, nobody is there, or the password is known.

        Raises:
            DsnFault: nobody answers.
        """
        is_given = dsn.password_env is not None or dsn.password_file is not None
        if self._prompt is None or is_given or self.of(dsn) is not None:
            return None
        try:
            self._known[_whose(dsn)] = self._prompt(f"Password of {dsn.where} ({option}): ")
        except (EOFError, OSError) as error:
            raise DsnFault(option, [Refusal.of("nobody-to-ask", server=dsn.where)]) from error
        return self.of(dsn)

    def reject(self, dsn: Dsn) -> None:
        """Note that a server rejected a password."""
        self._rejected.add(_whose(dsn))

    def forget_rejected(self) -> None:
        """Forget the passwords that servers rejected: the next connections may ask again."""
        while self._rejected:
            self._known.pop(self._rejected.pop(), None)

    def _variable(self, name: str) -> str:
        if name not in self._variables:
            if name not in self._environment:
                raise _Unreadable(Refusal.of("no-such-variable", name=name))
            self._variables[name] = self._environment.pop(name)
        return self._variables[name]

    def _file(self, path: str) -> str:
        if path not in self._files:
            self._files[path] = _in_file(path)  # a pipe is empty afterwards
        return self._files[path]


_SHARED: ContextVar[Passwords | None] = ContextVar("passwords", default=None)


@contextmanager
def shared_passwords() -> Iterator[Passwords]:
    """The passwords of the sitting that this is part of, or of a new one, which ends with the block."""
    current = _SHARED.get()
    if current is not None:
        yield current
        return
    is_attended = sys.stdin.isatty() and sys.stderr.isatty()
    passwords = Passwords(os.environ, getpass.getpass if is_attended else None)
    token = _SHARED.set(passwords)
    try:
        yield passwords
    finally:
        _SHARED.reset(token)
        passwords.give_back()


class _Unreadable(Exception):
    def __init__(self, said: Refusal) -> None:
        super().__init__(said)
        self.said = said


def _whose(dsn: Dsn) -> tuple[str, str]:
    return dsn.user, dsn.server


def _in_file(path: str) -> str:
    """The first line of a file that only its owner can read."""
    try:
        with open(path, "rb", opener=_opener) as file:
            _require_private(path, os.fstat(file.fileno()))
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise _Unreadable(Refusal.of("unreadable", fault=error.strerror).at(f"password-file={path}")) from error
    return _only_line(path, content)


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOCTTY)


def _require_private(path: str, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise _Unreadable(Refusal.of("unreadable", fault="it is a folder").at(f"password-file={path}"))
    if found.st_mode & _OTHERS:
        mode = stat.S_IMODE(found.st_mode)
        raise _Unreadable(Refusal.of("password-file-is-open", path=path, mode=mode))


def _only_line(path: str, content: bytes) -> str:
    try:
        text = content.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise _Unreadable(
            Refusal.of("dsn-malformed", expected="UTF-8").at(f"password-file={path}")
        ) from None  # the error holds the content
    if not text or len(content) > _MOST_BYTES or any(mark in text for mark in "\n\r\0"):
        raise _Unreadable(Refusal.of("dsn-malformed", expected="one line, the password").at(f"password-file={path}"))
    return text
