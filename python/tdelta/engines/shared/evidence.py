"""What is known of a server's files: data alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tdelta.engines.shared.exposures import ExposurePlan
from tdelta.engines.shared.file_classes import FileRules
from tdelta.evidence import FileClass
from tdelta.evidence.inflated import Inflate

Parts: TypeAlias = Mapping[str, frozenset[FileClass]]
"""Classes by the part of a scope that covers them; ``all`` holds what no single part has."""


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
