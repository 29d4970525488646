"""What a family takes from its engine as it is, where the engine is one of tdelta's adapters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

from tdelta.engines.registry import profile
from tdelta.engines.takes import Takes
from tdelta.inference.traces import Nearest
from tdelta.workloads.dialect import Dialect


class Named(Protocol):
    """What every adapter says of its engine."""

    @property
    def name(self) -> str:
        """The engine's name."""

    @property
    def dialect(self) -> Dialect:
        """Whose SQL it speaks."""

    @property
    def crypto(self) -> str:
        """Whose code encrypts."""

    @property
    def ciphers(self) -> Mapping[str, object]:
        """The levels of the factor ``cipher``, each with what it stands for."""


EngineT = TypeVar("EngineT", bound=Named)


class OfEngine(Generic[EngineT]):
    """The part of a `tdelta.session.families.Family` that its engine answers."""

    def __init__(self, engine: EngineT) -> None:
        self.engine = engine

    @property
    def name(self) -> str:
        """The engine's name."""
        return self.engine.name

    @property
    def dialect(self) -> Dialect:
        """Whose SQL it speaks."""
        return self.engine.dialect

    @property
    def crypto(self) -> str:
        """Whose code encrypts."""
        return self.engine.crypto

    @property
    def takes(self) -> frozenset[Takes]:
        """The groups of options that the engine takes."""
        return profile(self.engine.name).takes

    @property
    def ciphers(self) -> tuple[str, ...]:
        """The levels of the factor ``cipher``."""
        return tuple(self.engine.ciphers)

    @property
    def settings_told(self) -> str | None:
        """They are read back from each twin."""
        return None

    @property
    def nearest(self) -> Nearest:
        """What the engine has under the headings of a statement trace."""
        return {}

    @property
    def fills_cpus(self) -> bool:
        """One connection is one thread, or little more."""
        return False

    @property
    def cold_operations(self) -> int | None:
        """The first only: those behind it find what it brought."""
        return 1
