"""Conditions: one combination of factor levels, and the part it plays in the design."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

Level: TypeAlias = str | int | float

ENCRYPTION = "cipher"
"""The contrast of a run that measures encryption: a configuration over the unencrypted one."""

PLAIN_STORAGE = "plain"
"""The storage level of every baseline."""


class Role(StrEnum):
    """The part a condition plays. ``identical`` is a plain twin that is *judged*, as in ``tdelta run --self-test``.

    ``aa`` is a second plain twin, ``bb`` a second twin of a treatment: neither is judged.
    """

    BASELINE = "baseline"
    AA = "aa"
    TREATMENT = "treatment"
    BB = "bb"
    IDENTICAL = "identical"
    INJECTED = "injected"

    @property
    def is_judged(self) -> bool:
        """Whether this condition gets a verdict (baselines, A/A and B/B twins do not)."""
        return self in (Role.TREATMENT, Role.IDENTICAL, Role.INJECTED)


@dataclass(frozen=True, slots=True)
class Condition:
    """One combination of levels.

    ``levels`` holds every factor of the run, in the design's order, e.g. ``(("cipher", "aes-256"), ("threads", 1))``.
    ``stratum`` numbers the combinations of all factors but those that are compared (`tdelta.design.layout.COMPARED`):
    a condition is compared with the baseline (cipher ``none``, plain storage, nothing beside its load, instructions
    on) of its own stratum only. ``injected`` is the share of time added on purpose (0.05 for 5%):
    of a statement's CPU time, or on a server of its elapsed time.
    """

    levels: tuple[tuple[str, Level], ...]
    role: Role
    stratum: int = 0
    injected: float | None = None

    @property
    def key(self) -> str:
        """A short stable name, unique in a run: ``cipher=aes-256,threads=1``, maybe with ``#aa`` behind it."""
        text = ",".join(f"{name}={level}" for name, level in self.levels)
        match self.role:
            case Role.BASELINE | Role.TREATMENT:
                return text
            case Role.INJECTED:
                return f"{text}#injected={self.injected:g}"
            case _:
                return f"{text}#{self.role.value}"

    @property
    def is_encrypted(self) -> bool:
        """Whether this is a condition that is judged for what its cipher costs, on storage as the baseline's."""
        return self.is_protected and self.level("cipher") != "none" and not self.is_on_encrypted_storage

    @property
    def is_protected(self) -> bool:
        """Whether this is judged for what its encryption costs: the engine's, that of its storage, or both."""
        return self.role is Role.TREATMENT and not self.is_plain

    def is_treated(self, contrast: str) -> bool:
        """Whether this is judged for what the contrast of its run costs: its encryption, or another build."""
        return self.is_protected if contrast == ENCRYPTION else self.role is Role.TREATMENT

    @property
    def is_plain(self) -> bool:
        return self.level("cipher") == "none" and not self.is_on_encrypted_storage

    @property
    def is_on_encrypted_storage(self) -> bool:
        """Whether what lies below the database encrypts."""
        return bool(self.get("storage", PLAIN_STORAGE) != PLAIN_STORAGE)

    def level(self, factor: str) -> Level:
        """The level of one factor. Raises ``KeyError`` if the run has no such factor."""
        return dict(self.levels)[factor]

    def get(self, factor: str, default: object = None) -> Any:
        """The level of one factor, or ``default`` if the run has no such factor."""
        return dict(self.levels).get(factor, default)

    def as_json(self) -> dict[str, Level]:
        """The condition as the JSON output names it, ``{"cipher": "aes-256", "threads": 1, "injected": 0.05}``."""
        named = dict(self.levels)
        if self.injected is not None:
            named["injected"] = self.injected
        if self.role in (Role.AA, Role.BB, Role.IDENTICAL):
            named["twin"] = self.role.value
        return named
