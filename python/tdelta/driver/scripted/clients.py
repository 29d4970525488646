"""What the Python loop asks of a database connection, and a client that does nothing."""

from __future__ import annotations

from typing import Protocol

from tdelta.driver.scripted.evaluating import Variables
from tdelta.driver.scripted.programs import Statement


class ClientError(Exception):
    """Why a statement failed.

    Args:
        kind: a short stable name, by which failures are counted: ``conflict``, ``constraint``, ``full``, …
        message: what the engine said, without secrets.
        retryable: whether the same transaction may succeed when it is tried again.
    """

    def __init__(self, kind: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retryable = retryable


class Client(Protocol):
    """One connection, by one thread at a time."""

    def execute(self, statement: Statement, variables: Variables) -> int:
        r"""Run one statement to its end, fetching every column of every row as an application would.

        With ``\gset`` the first row goes into ``variables``.

        Returns:
            The number of rows fetched.

        Raises:
            ClientError: what the engine answered; ``no_row`` if ``\gset`` got none.
        """

    def abandon(self) -> None:
        """Leave any open transaction, without failing."""


class Noop:
    """A client without a database: what is left is the cost of the loop itself."""

    def execute(self, statement: Statement, variables: Variables) -> int:
        r"""Bind, and fill what ``\gset`` would with ones."""
        for name in statement.names:
            variables[name]
        for name in statement.into or ():
            variables[name] = 1
        return 0

    def abandon(self) -> None:
        """Nothing is open."""
