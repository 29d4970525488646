"""The interface between a session and twins: two bases for every engine and for the fakes of the tests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar

from tdelta.errors import Defect
from tdelta.evidence import MarkerHit
from tdelta.measure.aes import PreloadMode
from tdelta.processes.files import TwinFolder
from tdelta.processes.jobs import AnyJob, TrialJob, WorkloadSpec
from tdelta.records import Measurement

Checksums: TypeAlias = Mapping[str, tuple[int, str]]
"""Rows and order-independent checksum of each table."""

Tables: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Each table with its columns."""


@dataclass(frozen=True, slots=True)
class CipherProof:
    """The cost of reading a page of 4096 bytes by one library in one environment, µs of CPU.

    ``cipher_us_per_page`` is what an encrypted page costs more than a plain one. ``mode``, ``patched``, ``unpatched``
    and ``answered`` are of the worker's preload (`tdelta.measure.aes.Preload`).
    """

    cipher: str
    library: str
    plain_us_per_page: float
    cipher_us_per_page: float
    mode: PreloadMode
    patched: int
    unpatched: int
    answered: int


@dataclass(frozen=True, slots=True)
class LoopCost:
    """The load loop without a database: ns a statement, and ns a transaction within the spans that are measured."""

    statement_ns: float
    transaction_ns: float


NOTHING: Mapping[str, str] = MappingProxyType({})
"""No variables."""


def nobody_waits() -> None:
    """Nobody waits for the work of a trial to begin."""


class Twin(ABC):
    """One instance: a copy of loaded data, open. Abilities that only some have are methods with a default."""

    @abstractmethod
    def facts(self) -> dict[str, str]:
        """Settings in force, read back from the twin."""

    @abstractmethod
    def cipher_facts(self) -> dict[str, str]:
        """The twin's own report of its cipher, and under ``header`` whether its file begins ``plain`` or ``hidden``."""

    @abstractmethod
    def checksums(self, tables: Tables) -> Checksums:
        """Rows and checksum of each table."""

    @abstractmethod
    def trial(self, job: TrialJob, ready: Callable[[], None] = nobody_waits) -> Measurement:
        """Run one trial.

        Args:
            ready: called once when what comes before the work is done and the work begins (a server was started anew,
                a file opened, a table dropped); not at all where the trial was stopped before.

        Raises:
            ServerLost: the server has died, or hung up.
            StorageFault: the disk is full, or a file cannot be read or written.
            TdeltaError: a statement failed; the message is the engine's.
        """

    @abstractmethod
    def processes(self) -> tuple[int, ...]:
        """The ids of the processes that are the database, on this machine; empty where they are not known."""

    @abstractmethod
    def stop(self) -> None:
        """Have a trial that is running end after the operation it is at."""

    @abstractmethod
    def end(self) -> None:
        """Close it and remove its files."""

    def plans(self, _scripts: Mapping[str, str]) -> Mapping[str, Any]:
        """How it runs each statement of these transactions, by the statement's name; empty where it does not say."""
        return {}

    def prove(self) -> CipherProof | None:
        """The cost of a page cipher of the library in this twin's own process; None where it has none."""
        return None

    def prices(self) -> dict[str, object] | None:
        """The cost of pages in the code under test, as JSON values, for each pass; None where that is not known."""
        return None

    def replica_checksums(self, _tables: Tables) -> Checksums | None:
        """Rows and checksum of each table of the replica, once it has applied all; None where there is none."""
        return None

    def keep_cache(self, _misses: float) -> bool:
        """Keep which pages are in the cache, for later twins of such data and cache; returns whether its engine can.

        One that is kept, with fewer ``misses`` in an operation, stays.
        """
        return False

    def restore_cache(self) -> float | None:
        """Fill the cache of a twin whose tables were read once as it was kept: the misses, None where none was."""
        return None

    def evidence(self, _job: TrialJob, _needles: Sequence[bytes]) -> tuple[MarkerHit, ...]:
        """Run one trial that nobody measures, marker rows on their way through all files, and search these.

        Returns what was found in every file, during the trial and after it. Raises as `trial`, and
        ``EnvironmentFault`` where a file cannot be searched.
        """
        raise Defect("files of a twin were to be searched that are out of reach")


TwinT = TypeVar("TwinT", bound=Twin)
Settings: TypeAlias = Any
"""The settings of a twin, of the engine's own type, frozen and hashable."""


class Twins(ABC, Generic[TwinT]):
    """All twins of one run. Abilities that only some have are methods with a default."""

    library: str
    """The library under test, once something is loaded."""

    why_not_timed = "calls are timed only in processes that tdelta starts on this machine"
    """Why calls of the cipher cannot be timed in the process that encrypts; empty where they can."""

    observes_ciphers = False
    """Whether an engine can be seen to start its ciphers."""

    remembers = False
    """Whether loaded data outlive the run, with what is known of their work on this machine."""

    @abstractmethod
    def load(self, settings: Settings) -> tuple[Path, Checksums]:
        """Load the file that instances of these settings are copied from. Returns it with its checksums."""

    @abstractmethod
    def expected_checksums(self) -> Checksums:
        """The checksums of the rows as generated, before any database had them, or as read from a user's database."""

    @abstractmethod
    def start(self, settings: Settings, name: str, environment: Mapping[str, str] = NOTHING) -> TwinT:
        """Copy the loaded file under an instance's name and open it, ready for trials.

        Args:
            environment: variables for the process that encrypts, where that is one of tdelta's.
        """

    @abstractmethod
    def block(self, entries: Sequence[tuple[TwinT, TrialJob]], slots: Sequence[int]) -> tuple[Measurement, ...]:
        """Run one trial on each twin, one after another.

        Args:
            entries: each twin with its trial.
            slots: the index in ``entries`` of who runs in each slot; each has one.

        Returns what each measured, in the order of ``entries``; raises as `Twin.trial` does.
        """

    @abstractmethod
    def loop_cost(self, job: TrialJob) -> LoopCost:
        """Run the transactions on a client that does nothing."""

    @abstractmethod
    def data_bytes(self, path: Path) -> int:
        """How large loaded data is; what caches are a share of."""

    @abstractmethod
    def end(self) -> None:
        """Let go of the loaded data."""

    @abstractmethod
    def is_encrypted(self, path: Path) -> bool:
        """Whether loaded data does not show itself: a file that does not begin as a plain database does, say."""

    def observe(self, _settings: Settings) -> str:
        """Which ciphers an engine really starts for its pages, for people; empty where that cannot be seen."""
        return ""

    def recall(self, _name: str) -> Any:
        """The notes kept with the data that were loaded first; None for nothing."""
        return None

    def remember(self, name: str, value: Any) -> None:
        """Remember a JSON value with those data, where they are kept."""

    def discard(self) -> bool:
        """Have data that an earlier run loaded be loaded anew from now on; returns whether there were any."""
        return False

    def on(self, _host: int) -> Any:
        """The starter of twins on a host, by its number from 0, as `start` does."""
        return self

    def join(self, _twin: TwinT, _settings: Settings) -> TwinT:
        """Connections of another condition to the instance that a twin is; it ends with that one, or before."""
        raise Defect("instances are shared only by engines that have client factors")


MakeTwins: TypeAlias = Callable[[Any, TwinFolder, AnyJob, WorkloadSpec], Twins[Any]]
"""Makes twins in place of an engine's own, from its adapter, the run's folder, and the work."""
