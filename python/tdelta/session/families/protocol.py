"""What a run asks of a family of engines: those that are files (embedded), and those that are servers.

A run's course is the same for all; what differs is which options there are, what decides a twin, and who makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tdelta.driver import AnyJob, Mix, TwinFolder, Twins
from tdelta.driver.load_command.command import LoadCommand
from tdelta.engines.takes import Takes
from tdelta.evidence import FileClass
from tdelta.inference.traces import Nearest
from tdelta.records import Condition, Level
from tdelta.session.families.needs import Needs
from tdelta.workloads.dialect import Dialect

if TYPE_CHECKING:
    from tdelta.session.planning import Plan
    from tdelta.session.request import RunRequest


class Family(Protocol):
    """One engine as a run sees it. The settings of a twin are the family's own type, frozen and hashable."""

    @property
    def name(self) -> str:
        """The engine's name."""

    @property
    def product(self) -> str:
        """The product under test, for people."""

    @property
    def dialect(self) -> Dialect:
        """Whose SQL it speaks."""

    @property
    def crypto(self) -> str:
        """Whose code encrypts, as in `tdelta.engines.sqlite.libraries.Library`."""

    @property
    def ciphers(self) -> tuple[str, ...]:
        """The levels of the factor ``cipher``."""

    @property
    def takes(self) -> frozenset[Takes]:
        """The groups of options that the engine takes."""

    @property
    def unsearched(self) -> str:
        """Why twins are not searched for plaintext, where `can_be_searched` says no."""

    @property
    def settings_told(self) -> str | None:
        """What is said of the twins' settings where they are not compared twin by twin; None where they are."""

    @property
    def nearest(self) -> Nearest:
        """What the engine has under the headings of a statement trace (`tdelta.inference.traces`)."""

    @property
    def fills_cpus(self) -> bool:
        """Whether one connection keeps all CPUs busy: tasks that wait for one tell of no other load then."""

    @property
    def cold_operations(self) -> int | None:
        """How many operations of a cold trial, on each thread, find nothing in any cache; None: all that fill it."""

    @property
    def engine(self) -> Any:
        """The adapter of the engine; handed to whoever makes twins in tests."""

    def versions(self) -> dict[str, str]:
        """What belongs among a run's versions, by name."""

    def identity(self) -> str:
        """What must be the same when a run is resumed."""

    def checks(self, request: RunRequest, levels: Mapping[str, Sequence[Level]]) -> Iterable[Callable[[], object]]:
        """What must not raise ``UsageError`` for a run of these options and levels, ciphers aside."""

    def check_cipher(self, cipher: str) -> None:
        """Raise ``UsageError`` for a level of ``cipher`` that the engine does not have."""

    def recorded_key(self, request: RunRequest, *, connects: bool) -> str | None:
        """How keys are given, where there is a choice."""

    def settings(self, plan: Plan, condition: Condition, data_bytes: int) -> Any:
        """What a condition's twins are made and opened with, the cache being a share of ``data_bytes``."""

    def kind(self, settings: Any) -> tuple[str | int, ...]:
        """What makes two twins copies of the same loaded data; its cipher is first."""

    def kind_words(self, settings: Any) -> str:
        """The same for people."""

    def instance(self, condition: Condition) -> object:
        """What makes two conditions share an instance in a round: the condition itself where each has its own."""

    def page_size(self, settings: Any) -> int | None:
        """The bytes of a page, where its cost can be set beside the floor."""

    def floor_cipher(self, cipher: str) -> str:
        """What `tdelta.measure.floor_us_per_page` calls a cipher."""

    def seen(self, cipher: str, *, is_encrypted: bool) -> str:
        """What loaded data of a cipher was found to be, for people."""

    def told(self, settings: Any, facts: Mapping[str, str]) -> str:
        """What a twin says of its cipher, for people."""

    def fault(self, settings: Any, facts: Mapping[str, str]) -> str | None:
        """What is wrong with the cipher in force; None if it is the one asked for."""

    def covered(self, settings: Any) -> frozenset[FileClass] | None:
        """The classes of files that a twin's encryption is to cover; None: every one."""

    def can_be_searched(self, settings: Any) -> bool:
        """Whether the bytes of a twin's files can be read as they lie on the disk."""

    def cautions(self, settings: Any) -> tuple[str, ...]:
        """What must be said beside every figure of such a twin."""

    def command(self, request: RunRequest, threads: Sequence[Level]) -> LoadCommand | None:
        """The user's own load, checked; None where the workload's transactions are the load."""

    def differing(self, settings: Any) -> tuple[str, ...]:
        """The engine's own names of the settings that such a twin is given and a plain one is not, for people."""

    def observes_ciphers(self) -> bool:
        """Whether its twins can be observed for the ciphers that they really start (`ServerTwins.observe`)."""

    def warms_up_until_settled(self) -> bool:
        """Whether warm-up goes on until cache misses settle, and is not one trial."""

    def needs(self, plan: Plan) -> Needs:
        """What a run takes of the machine."""

    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: Mix) -> Twins[Any]:
        """Makes the twins of a run."""
