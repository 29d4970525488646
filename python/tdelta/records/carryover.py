"""What the order within a block does to a trial, as `tdelta run` and `tdelta plan` show it."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.messages import Reason
from tdelta.records.findings import Finding


@dataclass(frozen=True, slots=True)
class ShareEffect:
    share: float
    interval95: tuple[float, float]


@dataclass(frozen=True, slots=True)
class CarryOver(Finding):
    """What the place in a block, and the twin before, do to a trial; shares of its cost.

    Attributes:
        positions: a trial at each place of a block over one at the first, median and 95 % interval.
        after_encrypted: a trial right after an encrypted twin's over one after a plain twin's, with its 95 % interval;
            None where no encrypted twin ran, or nothing separates them.
        bias: what that does to an overhead, whose sign is the other way round: it is not corrected for.
        unknown_codes: what these data cannot say, and why.
    """

    FINDING = "order_effect"
    IS_SINGLE = True
    DERIVED = ("unknown",)

    positions: tuple[ShareEffect, ...]
    after_encrypted: ShareEffect | None
    bias: ShareEffect | None
    unknown_codes: tuple[Reason, ...]

    @property
    def unknown(self) -> list[str]:
        """What these data cannot say, in English."""
        return [reason.text for reason in self.unknown_codes]
