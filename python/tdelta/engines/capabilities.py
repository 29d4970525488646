"""What a run asks of an engine: a small protocol that all have, and others for what only some can.

An engine has what it can, and nothing stands for what it cannot: whoever needs a capability asks by ``isinstance``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tdelta.driver import AnyJob, TwinFolder, Twins, WorkloadSpec
from tdelta.driver.user_data import UserData
from tdelta.engines.layout import ResourceEstimate, RunLayout
from tdelta.engines.profile import Profile
from tdelta.evidence import FileClass
from tdelta.messages import Caution, Detail
from tdelta.records import Condition, Level


@dataclass(frozen=True, slots=True)
class Template:
    """What makes two twins copies of the same loaded data: a key, its cipher first, and words for it."""

    key: tuple[str | int, ...]
    words: str


class Engine(Protocol):
    """One engine, found and ready to be planned with. A twin's settings are its own type, frozen and hashable."""

    @property
    def profile(self) -> Profile:
        """What is known of it."""

    @property
    def product(self) -> str:
        """The product under test, for people."""

    @property
    def crypto(self) -> str:
        """Whose code encrypts: ``own``, ``openssl``, ``none``, or another provider."""

    @property
    def ciphers(self) -> Collection[str]:
        """The levels of the factor ``cipher``."""

    def versions(self) -> dict[str, str]:
        """What belongs among a run's versions, by name."""

    def identity(self) -> str:
        """What must be the same when a run is resumed."""

    def settings(self, layout: RunLayout, condition: Condition, data_bytes: int) -> Any:
        """What a condition's twins are made and opened with, the cache being a share of ``data_bytes``."""

    def template(self, settings: Any) -> Template:
        """Which loaded data a twin is a copy of."""

    def estimate(self, layout: RunLayout) -> ResourceEstimate:
        """What a run takes of the machine."""

    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> Twins[Any]:
        """Makes the twins of a run."""


class Encrypting(Protocol):
    """What every engine says of encryption in force."""

    def described(self, settings: Any, facts: Mapping[str, str]) -> str:
        """What a twin says of its cipher, for people."""

    def fault(self, settings: Any, facts: Mapping[str, str]) -> Detail | None:
        """What is wrong with the cipher in force; None if it is the one asked for."""

    def differing(self, settings: Any) -> tuple[str, ...]:
        """The engine's own names of the settings that such a twin is given and a plain one is not, for people."""


class RunEngine(Engine, Encrypting, Protocol):
    """An engine that runs can be made with."""


@runtime_checkable
class ChecksOptions(Protocol):
    """Some options have values that depend on what was found."""

    def option_checks(
        self, options: Mapping[str, Any], levels: Mapping[str, Sequence[Level]]
    ) -> Iterable[Callable[[], object]]:
        """What must not raise ``UsageError`` for a run of these options and levels, ciphers aside."""


@runtime_checkable
class ChecksLayout(Protocol):
    """Some twins cannot be made though every option by itself can be had."""

    def check_layout(self, layout: RunLayout) -> None:
        """Raise ``UsageError`` for a run that cannot be made."""


@runtime_checkable
class ChecksCiphers(Protocol):
    """More is to be said of a cipher that it does not have than that."""

    def check_cipher(self, cipher: str) -> None:
        """Raise ``UsageError`` for a level of ``cipher`` that it does not have."""


@dataclass(frozen=True, slots=True)
class Build:
    """A program or library under test. ``digest`` gives the file's SHA-256, nothing where it is out of reach."""

    said: str
    digest: Callable[[], str] = str

    def __str__(self) -> str:
        digest = self.digest()
        return f"{self.said}, sha256 {digest}" if digest and digest not in self.said else self.said


@runtime_checkable
class Versioned(Protocol):
    """Several versions of it can be set beside each other, as the levels of a factor."""

    def versions_compared(self) -> Mapping[str, Mapping[str, Build]]:
        """The factor, and its levels by what they are called, in the order asked for; empty if there is one version."""


@runtime_checkable
class Acting(Protocol):
    """Something can be done to its twins, as a trial or beside one (`tdelta.design.actions`)."""

    def actions(self, factor: str) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """Its actions that are levels of ``work``, or of ``during``, by name, each with its knobs.

        A knob has the words that it takes, the default first; () where it takes a number.
        """


@runtime_checkable
class TakesFiles(Protocol):
    """Twins can be made of a user's file."""

    def user_file(self, file: Path) -> UserData:
        """The file, found.

        Raises:
            DatabaseFault: there is none, or it is no database of this engine's.
        """


@runtime_checkable
class TakesDumps(Protocol):
    """Twins can be made of a user's dump."""

    def user_dump(self, command: str) -> UserData:
        """The dump that a command of the user's restores."""


@runtime_checkable
class Keyed(Protocol):
    """Keys can be given in several ways."""

    def recorded_key(self, asked: str | None, *, connects: bool) -> str | None:
        """How keys are given, where there is a choice."""


@runtime_checkable
class Paged(Protocol):
    """Pages are encrypted one by one."""

    def page_size(self, settings: Any) -> int | None:
        """The bytes of a page of an encrypted twin; None of a plain one."""


@runtime_checkable
class Scoped(Protocol):
    """Encryption covers some kinds of files, and what lies on the disk cannot always be read."""

    def covered(self, settings: Any) -> frozenset[FileClass]:
        """The classes of files that a twin's encryption is to cover."""

    def can_be_searched(self, settings: Any) -> bool:
        """Whether the bytes of a twin's files can be read as they lie on the disk."""


@runtime_checkable
class Cautioned(Protocol):
    """There is something to be said of its twins."""

    def cautions(self, settings: Any) -> tuple[Caution, ...]:
        """What must be said beside every figure of such a twin."""


@runtime_checkable
class Configured(Protocol):
    """Its servers are configured by their owner, and were compared before the run."""

    def settings_compared(self) -> str:
        """What was found."""

    def encryption_status(self, cipher: str, *, is_encrypted: bool) -> str:
        """What loaded data of a cipher was found to be, for people."""
