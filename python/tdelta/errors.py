"""Every exception that tdelta raises on purpose, and the exit code each one ends in.

::

    TdeltaError
    ├── Defect                       1   internal error: something a user cannot fix
    ├── UsageError                   2   what was asked cannot be done as asked
    │   ├── UnknownName              2   a study, engine, cipher, factor, … that does not exist
    │   ├── WorkloadError            2   a workload folder with faults (all of them at once)
    │   ├── ProjectError             2   a project file with faults (all of them at once)
    │   ├── DatabaseFault            2   a database of the user's that cannot be used as it is
    │   ├── DsnFault                 2   a DSN with faults (all of them at once), or no password for it
    │   ├── ExternalServerFault      2   a server of the user's that cannot be used as it is
    │   ├── RestoreFault             2   a command of the user's that did not load a dump
    │   ├── StatementFault           2   a statement that the database does not take, or that fails under load
    │   ├── LoadGeneratorError         2   a command of ``--load-generator`` with faults (all of them at once)
    │   ├── TimeFault                2   a run that does not fit into its time; names the least that would do
    │   ├── ImportFault              2   a file of results of another tool that cannot be read as what it looks like
    │   └── LoadFault                2   a command of ``--load-generator`` that failed, or whose results cannot be read
    ├── EnvironmentFault             2   the machine cannot do it now
    │   ├── StorageFault             2   disk full, folder not writable, …
    │   ├── ServerFault              2   a server of tdelta's own that will not start, or died
    │   ├── ServerLost               2   a server that died, or hung up, while it was at work
    │   └── EngineUnavailable        2   an engine that is not installed
    ├── StoreError                   2   a store that cannot be read
    │   └── StoreTooNew              2   written by a newer tdelta
    ├── InvalidTwins                 4   twins that are none before the first trial: their rows, encryption or settings
    ├── WorkerFault                  1   a worker process died or answered out of turn
    └── Interrupted                130   Ctrl-C, where there is nothing to show yet

Each says what was expected, what was found, where, and what to do. ``main`` prints them without a traceback.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches

from tdelta.messages import Refusal


class TdeltaError(Exception):
    """The root of the tree. ``exit_code`` is what the command line ends with.

    Args:
        said: everything that is wrong.
        text: how all of it reads; one to a line, if left out.

    Attributes:
        refusals: what is wrong, as codes with parameters.
    """

    exit_code = 1

    def __init__(self, *said: Refusal, text: str | None = None) -> None:
        self.refusals = said
        super().__init__("\n".join(map(str, said)) if text is None else text)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as it is: constructors take other arguments than `Exception` keeps."""
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[TdeltaError], args: tuple[object, ...], attributes: dict[str, object]) -> TdeltaError:
    made = kind.__new__(kind, *args)
    made.__dict__.update(attributes)
    return made


class Defect(TdeltaError):
    """A state that tdelta should not get into and users cannot repair, in words for those who can."""

    def __init__(self, said: str) -> None:
        super().__init__(Refusal.of("defect", said=said))


class UsageError(TdeltaError):
    """The request cannot be carried out as given."""

    exit_code = 2


def raise_together(faults: Sequence[UsageError], heading: str | None = None) -> None:
    """Raise all faults at once, if there are any; one alone is raised as it is.

    Args:
        heading: what stands before the number of several, each set in below it; None leaves the number out, too.
    """
    if len(faults) == 1:
        raise faults[0]
    if faults:
        text = "\n".join(map(str, faults)) if heading is None else _listed(heading, faults)
        raise UsageError(*(refusal for fault in faults for refusal in fault.refusals), text=text)


def _listed(heading: str, faults: Sequence[object]) -> str:
    plural = "fault" if len(faults) == 1 else "faults"
    return "\n".join((f"{heading}{len(faults)} {plural}", *(f"  {fault}" for fault in faults)))


class UnknownName(UsageError):
    """A name of something (``kind``: a cipher, say) that does not exist, with the ones that do."""

    def __init__(self, kind: str, found: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = get_close_matches(found, names, n=1)
        hint = f" Expected one of {', '.join(names)}." + (f" Did you mean {near[0]!r}?" if near else "")
        super().__init__(Refusal.of("unknown", kind=kind, found=found, hint=hint))


def require_known(kind: str, found: str, known: Collection[str]) -> None:
    if found not in known:
        raise UnknownName(kind, found, known)


class _Faulty(UsageError):
    """All faults of something that users name; ``kind`` is what it is."""

    kind: str

    def __init__(self, name: str, faults: Sequence[Refusal]) -> None:
        super().__init__(*faults, text=_listed(f"{self.kind} {name}: ", faults))


class WorkloadError(_Faulty):
    kind = "workload"


class ProjectError(_Faulty):
    kind = "project"


class InventoryError(_Faulty):
    kind = "inventory"


class LoadGeneratorError(_Faulty):
    """A command of ``--load-generator`` that cannot be run as it is, by its first word."""

    kind = "load generator"


class DatabaseFault(UsageError):
    """A database file of the user's that cannot be used as it is, with what was found and what to do."""

    def __init__(self, file: object, said: Refusal) -> None:
        super().__init__(said.at(f"database {file}"))


class DsnFault(UsageError):
    """A DSN, of an option such as ``--baseline``, with faults. None of them quotes what may be a password."""

    def __init__(self, option: str, faults: Sequence[Refusal]) -> None:
        placed = [fault.at(option) for fault in faults]
        super().__init__(*placed, text=None if len(faults) == 1 else _listed(f"{option}: ", faults))


class ExternalServerFault(UsageError):
    """A server of the user's, such as ``--baseline (app@db1:3306)``, that cannot be used as it is."""

    def __init__(self, server: object, *faults: Refusal) -> None:
        text = f"{server}: {'; '.join(map(str, faults))}"
        super().__init__(*(fault.at(server) for fault in faults), text=text)


class RestoreFault(UsageError):
    """A command of the user's (``--restore``) that did not load a dump; the message has its last lines."""


class StatementFault(UsageError):
    """A statement that the database does not take, or that fails under load; the message is the database's."""


class LoadFault(UsageError):
    """A command of ``--load-generator`` that failed, or whose results cannot be read, with its last lines."""

    def __init__(self, *said: Refusal, words: str = "") -> None:
        text = "\n".join(map(str, said))
        super().__init__(*said, text=f"{text}. It said:\n{words}" if words else text)


class TimeFault(UsageError):
    """A run that does not fit into the time that an option gives, the least that would do, and where that goes."""

    def __init__(self, found_seconds: float, least_seconds: float, why: str, option: str = "--max-time") -> None:
        self.found_seconds = found_seconds
        self.least_seconds = least_seconds
        self.why = why
        least = time_words(least_seconds)
        times = {"least": least, "found": time_words(found_seconds), "given": least.replace(" ", "")}
        super().__init__(Refusal.of("time-too-short", option=option, why=why, **times))


def time_words(seconds: float) -> str:
    """A time as an option takes it but for the space, in the largest unit that holds it whole: ``90 s``, ``12 m``."""
    for unit, name in ((3600, "h"), (60, "m")):
        if seconds >= unit and seconds % unit == 0:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.6g} s"


class EnvironmentFault(TdeltaError):
    """The machine cannot do it now; the message names the remedy."""

    exit_code = 2


class StorageFault(EnvironmentFault):
    """A folder that is full, missing or not writable."""


class ServerFault(EnvironmentFault):
    """A server of tdelta's own that will not start or stop, or died, with its log's last lines."""

    def __init__(self, said: Refusal, words: str = "") -> None:
        super().__init__(said, text=f"{said}; {_of_log(words)}" if words else f"{said}; its log is empty")


class ServerLost(EnvironmentFault):
    """A server that died, or hung up, while it was at work: the trial is void, and may be run again on a fresh twin."""

    def __init__(self, said: Refusal, words: str = "") -> None:
        self.said = said
        super().__init__(said, text=f"{said}; {_of_log(words)}" if words else None)


def _of_log(words: str) -> str:
    return f"the last lines of its log:\n{words}"


class EngineUnavailable(EnvironmentFault):
    """An engine, library or server that is not installed here."""


class StoreError(TdeltaError):
    exit_code = 2


class StoreTooNew(StoreError):
    """A store that a newer tdelta wrote."""


class Interrupted(TdeltaError):
    """Ctrl-C or its like, where there is nothing to show of what was asked."""

    exit_code = 130


class InvalidTwins(TdeltaError):
    """Twins whose rows, encryption or settings are not as they must be before the first trial.

    Nothing that they measure would mean anything.
    """

    exit_code = 4


class WorkerFault(TdeltaError):
    """A worker process died, or answered out of turn."""


class ImportFault(UsageError):
    """A file of results that cannot be read: what was expected, what was found, ``file:line``, and what to do."""
