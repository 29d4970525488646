"""Every exception that tdelta raises on purpose, and the exit code each one ends in.

::

    TdeltaError                      1   something a user cannot mend: a defect of tdelta
    ├── UsageError                   2   what was asked cannot be done as asked
    │   ├── UnknownName              2   a study, engine, cipher, factor, … that does not exist
    │   ├── WorkloadError            2   a workload folder with faults (all of them at once)
    │   ├── DatabaseFault            2   a database of the user's that cannot be used as it is
    │   └── StatementFault           2   a statement that the database does not take, or that fails under load
    ├── EnvironmentFault             2   the machine cannot do it now
    │   ├── StorageFault             2   disk full, folder not writable, …
    │   └── EngineUnavailable        2   an engine that is not installed
    ├── StoreError                   2   a store that cannot be read
    │   └── StoreTooNew              2   written by a newer tdelta
    ├── UnsoundTwins                 4   twins that do not hold the same rows before the first trial
    └── WorkerFault                  1   a worker process died or answered out of turn

Each says what was expected, what was found, where, and what to do. ``main`` prints them without a traceback.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class TdeltaError(Exception):
    """The root of the tree. ``exit_code`` is what the command line ends with."""

    exit_code = 1


class UsageError(TdeltaError):
    """What was asked cannot be done as asked."""

    exit_code = 2


class UnknownName(UsageError):
    """A name that does not exist, with the ones that do.

    Args:
        kind: what was named, e.g. ``"cipher"``.
        found: the unknown name.
        known: the names there are.
    """

    def __init__(self, kind: str, found: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = get_close_matches(found, names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        super().__init__(f"unknown {kind} {found!r}: expected one of {', '.join(names)}.{hint}")


class WorkloadError(UsageError):
    """A workload folder with faults; ``faults`` holds all of them, each with its file (and line)."""

    def __init__(self, folder: str, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        plural = "fault" if len(self.faults) == 1 else "faults"
        listed = "\n".join(f"  {fault}" for fault in self.faults)
        super().__init__(f"workload {folder}: {len(self.faults)} {plural}\n{listed}")


class DatabaseFault(UsageError):
    """A database of the user's that cannot be used as it is; the message says what was found and what to do.

    Args:
        file: the file, as the user named it.
        said: what was expected, what was found, and the remedy.
    """

    def __init__(self, file: object, said: str) -> None:
        super().__init__(f"database {file}: {said}")


class StatementFault(UsageError):
    """A statement that the database does not take, or that fails under load; the message is the database's."""


class EnvironmentFault(TdeltaError):
    """The machine cannot do it now; the message names the remedy."""

    exit_code = 2


class StorageFault(EnvironmentFault):
    """A folder that is full, missing or not writable."""


class EngineUnavailable(EnvironmentFault):
    """An engine, library or server that is not installed here."""


class StoreError(TdeltaError):
    """A store that cannot be read or written."""

    exit_code = 2


class StoreTooNew(StoreError):
    """A store that a newer tdelta wrote."""


class UnsoundTwins(TdeltaError):
    """Twins that do not hold the same rows before the first trial: nothing that they measure would mean anything."""

    exit_code = 4


class WorkerFault(TdeltaError):
    """A worker process died, or answered out of turn."""
