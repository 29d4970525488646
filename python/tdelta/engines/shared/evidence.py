"""What is known of a server's files: data alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from tdelta.engines.shared.file_classes import FileRules
from tdelta.engines.shared.settling import Settling
from tdelta.evidence import FileClass
from tdelta.evidence.inflated import Inflate
from tdelta.evidence.markers import MARKER_BYTES

# What puts marker rows on their way through every kind of file a server has, as statements.
#
# At rest rows lie in tables. Under way they lie in logs, undo, temporary tables and the files of sorts, and
# only a server that is made to can be searched there. Every plan does the same:
#
# - a transaction changes the markers twice, back to what they were (bytes that do not change are not
#   written), and commits: log, binary log, undo, which an older snapshot keeps from being purged;
# - a temporary table of them is pressed out of memory;
# - a sort larger than its buffer and, where queries make tables on disk, one of these, are held open
#   half-way;
# - a transaction that has changed the rows stays open, larger than the buffer that transactions have for the
#   binary log;
# - everything dirty is written.
#
# Rows are the same before and after.

HALF = MARKER_BYTES // 2
SPILL = "tdelta_spill"
COPIES = 200
"""512 markers so often are 6.5 MB, more than any buffer that the plans leave."""


@dataclass(frozen=True, slots=True)
class ExposureStep:
    """A statement and whose it is. ``is_held``: it does not end until the plan's `release` has run."""

    connection: str
    sql: str
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class ExposurePlan:
    """What is done, in this order.

    ``steps`` one after another; those that are held run beside what follows. ``held`` asks how many statements are
    being held now. ``settling`` writes what is dirty, and ``settled`` puts back what it set. Then the workload runs and
    files are searched. ``release`` ends what is held and ``after`` the rest; then ``settling`` once more, before the
    last look.
    """

    steps: tuple[ExposureStep, ...]
    settling: Settling
    release: tuple[ExposureStep, ...]
    after: tuple[ExposureStep, ...]
    held: str | None = None
    settled: tuple[str, ...] = ()


def steps(connection: str, *statements: str) -> tuple[ExposureStep, ...]:
    return tuple(ExposureStep(connection, sql) for sql in statements)


Parts: TypeAlias = Mapping[str, frozenset[FileClass]]
"""Classes by the part of a scope that covers them; ``all`` holds what no single part has."""


def parts(**classes: tuple[FileClass, ...]) -> Parts:
    return MappingProxyType({part: frozenset(of) for part, of in classes.items()})


@dataclass(frozen=True, slots=True)
class ServerEvidence:
    """How markers get into every kind of file, which file is what, and what a scope covers.

    ``parts`` are by product; those under ``""`` are of every other. ``change_sql`` changes the markers;
    twice, and they are what they were. ``inflate`` undoes the compression of a page.
    """

    plan: ExposurePlan
    files: FileRules
    parts: Mapping[str, Parts]
    change_sql: str
    inflate: Inflate | None = None

    def inflating(self, *, is_compressed: bool) -> Inflate | None:
        """What undoes the compression of a twin's pages; None where they have none."""
        return self.inflate if is_compressed else None

    def parts_of(self, product: str) -> Parts:
        return self.parts.get(product, self.parts[""])
