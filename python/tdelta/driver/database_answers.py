"""What a worker answers about a user's database. A refusal is an answer, not a fault, until whoever asked says so.

A module of its own, since every worker imports what makes twins, and the rest of what examines databases is heavy.
"""

from __future__ import annotations

from typing import Any

from tdelta.driver.workers import failure
from tdelta.errors import StorageFault, TdeltaError
from tdelta.messages import Refusal


class Refused(Exception):
    """What the library said against a statement; ``kind`` is its class in short."""

    def __init__(self, kind: str, said: str | Refusal) -> None:
        super().__init__(str(said))
        self.kind = kind
        self.refusal = Refusal.of("database-says", said=said) if isinstance(said, str) else said


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
