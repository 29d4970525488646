"""What a worker answers about a user's database. A refusal is an answer, not a fault, until whoever asked says so.

A module of its own, since every worker imports what makes twins, and the rest of what examines databases is heavy.
"""

from __future__ import annotations

from typing import Any

from tdelta.driver.protocol import Checksums, Tables
from tdelta.driver.workers import Worker, failure
from tdelta.errors import StorageFault, TdeltaError

_PATIENCE_SECONDS = 24 * 3600.0


class Refused(Exception):
    """What the library said against a statement; ``kind`` is its class in short."""

    def __init__(self, kind: str, said: str) -> None:
        super().__init__(said)
        self.kind = kind


def answered(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer that is no refusal.

    Raises:
        Refused: it is one.
        StorageFault: it is one of the disk's.
    """
    if "refused" not in answer:
        return answer
    kind, said = answer["refused"]
    fault: TdeltaError = failure(kind, said)
    if isinstance(fault, StorageFault):
        raise fault
    raise Refused(kind, said)


def checksums_of(worker: Worker, tables: Tables) -> Checksums:
    """Rows and checksum of each table of the file that a worker has open."""
    sums = worker.ask("checksums", seconds=_PATIENCE_SECONDS, tables=tables)
    return {table: (int(rows), str(digest)) for table, (rows, digest) in sums.items()}
