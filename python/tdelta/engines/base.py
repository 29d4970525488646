"""An engine as a run sees it. Abilities that only some engines have are methods with a default."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tdelta.engines.layout import ResourceEstimate, RunLayout
from tdelta.engines.profile import Profile
from tdelta.errors import Defect, require_known
from tdelta.evidence import FileClass
from tdelta.messages import Caution, Detail
from tdelta.processes import AnyJob, TwinFolder, Twins, WorkloadSpec
from tdelta.processes.own_data import UserData
from tdelta.records import Condition, Level

_DEFAULT_CIPHER = "aes-256"


@dataclass(frozen=True, slots=True)
class Template:
    """The properties that make two twins copies of the same loaded data: a key, its cipher first, and words for it."""

    key: tuple[str | int, ...]
    words: str


@dataclass(frozen=True, slots=True)
class Build:
    """A program or library under test. ``digest`` gives the file's SHA-256, nothing where it is out of reach."""

    said: str
    digest: Callable[[], str] = str

    def __str__(self) -> str:
        digest = self.digest()
        return f"{self.said}, sha256 {digest}" if digest and digest not in self.said else self.said


class Engine(ABC):
    """One engine, found and ready to be planned with. A twin's settings are its own type, frozen and hashable."""

    @property
    @abstractmethod
    def profile(self) -> Profile:
        """The facts known of the engine in advance."""

    @property
    def product(self) -> str:
        """The product under test, for people."""
        return self.profile.product

    @property
    @abstractmethod
    def crypto(self) -> str:
        """Whose code encrypts: ``own``, ``openssl``, ``none``, or another provider."""

    @property
    @abstractmethod
    def ciphers(self) -> Collection[str]:
        """The levels of the factor ``cipher``."""

    @property
    def default_ciphers(self) -> tuple[str, ...]:
        """The encrypted levels where none are asked for: AES-256, or the first of an engine that has no such cipher."""
        encrypting = [cipher for cipher in self.ciphers if cipher != "none"]
        return (encrypting[0] if encrypting and _DEFAULT_CIPHER not in encrypting else _DEFAULT_CIPHER,)

    @abstractmethod
    def versions(self) -> dict[str, str]:
        """Versions recorded with a run, by name."""

    @abstractmethod
    def identity(self) -> str:
        """Facts that must be the same when a run is resumed."""

    @abstractmethod
    def settings(self, layout: RunLayout, condition: Condition, data_bytes: int) -> Any:
        """Settings that a condition's twins are made and opened with, the cache being a share of ``data_bytes``."""

    @abstractmethod
    def template(self, settings: Any) -> Template:
        """Which loaded data a twin is a copy of."""

    @abstractmethod
    def estimate(self, layout: RunLayout) -> ResourceEstimate:
        """Resources of the machine that a run needs."""

    @abstractmethod
    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> Twins[Any]:
        """Makes the twins of a run."""

    @abstractmethod
    def described(self, settings: Any, facts: Mapping[str, str]) -> str:
        """The cipher in use on a twin, in words for people."""

    @abstractmethod
    def fault(self, settings: Any, facts: Mapping[str, str]) -> Detail | None:
        """How the cipher in force differs from the one requested; None if it does not."""

    @abstractmethod
    def differing(self, settings: Any) -> tuple[str, ...]:
        """The engine's own names of the settings that such a twin is given and a plain one is not, for people."""

    def check_cipher(self, cipher: str) -> None:
        """Raise ``UsageError`` for a level of ``cipher`` that it does not have."""
        require_known("cipher", cipher, self.ciphers)

    def option_checks(
        self, _options: Mapping[str, Any], _levels: Mapping[str, Sequence[Level]]
    ) -> Iterable[Callable[[], object]]:
        """Checks that must not raise ``UsageError`` for a run of these options and levels, ciphers aside."""
        return ()

    def check_layout(self, layout: RunLayout) -> None:  # noqa: B027 - nothing more by default
        """Raise ``UsageError`` for a run whose twins cannot be made though every option by itself can be had."""

    def versions_compared(self) -> Mapping[str, Mapping[str, Build]]:
        """The factor, and its levels by what they are called, in the order asked for; empty if there is one version."""
        return {}

    def actions(self, _factor: str) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """Its actions that are levels of ``work``, or of ``during``, by name, each with its knobs.

        A knob has the words that it takes, the default first; () where it takes a number.
        """
        return {}

    def user_file(self, _file: Path) -> UserData:
        """A user's file, found, that twins are made of.

        Raises:
            DatabaseFault: there is none, or it is no database of this engine's.
        """
        raise Defect(f"{self.product} takes no files")  # whatever its profile says that it takes

    def user_dump(self, _command: str) -> UserData:
        """The dump that a command of the user's restores, which twins are made of."""
        raise Defect(f"{self.product} takes no dumps")

    def recorded_key(self, asked: str | None, *, connects: bool) -> str | None:  # noqa: ARG002 - of those with a choice
        """How keys are given, where there is a choice."""
        return asked

    def page_size(self, _settings: Any) -> int | None:
        """The bytes of a page of an encrypted twin where pages are encrypted one by one; None of a plain one."""
        return None

    def covered(self, _settings: Any) -> frozenset[FileClass] | None:
        """The classes of files that a twin's encryption is to cover; None: every one."""
        return None

    def can_be_searched(self, _settings: Any) -> bool:
        """Whether the bytes of a twin's files can be read as they lie on the disk."""
        return True

    def cautions(self, _settings: Any) -> tuple[Caution, ...]:
        """Cautions that go with every figure of such a twin."""
        return ()

    def settings_compared(self) -> str:
        """Differences between servers that their owner configured; empty for twins that tdelta configures."""
        return ""

    def encryption_status(self, cipher: str, *, is_encrypted: bool) -> str:
        """The encryption found in loaded data of a cipher, in words for people."""
        return f"{cipher} {'hides' if is_encrypted else 'shows'} {self.profile.shown}"


def settings_fault(
    found: Mapping[str, str], expected: Mapping[str, str], normal: Callable[[str], str] = str
) -> Detail | None:
    """The settings that are not in force as expected; None where all are. ``normal`` brings values to one form."""
    differing = [name for name, value in expected.items() if normal(found[name]) != normal(value)]
    if not differing:
        return None
    words = (f"{name} is {found[name] or 'nothing'}, expected {expected[name] or 'nothing'}" for name in differing)
    return Detail.of("settings-not-in-force", settings=", ".join(differing), differences="; ".join(words))
