"""A block of trials whose slices alternate: the workers pass a token among themselves.

The parent draws the order, hands every worker its trial at once and then waits. No message crosses a pipe during the
block; the token is passed by a word in shared memory and a futex (crates/tdelta-core/src/interleave.rs).
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from tdelta.driver.jobs import TrialJob
from tdelta.driver.workers import looks
from tdelta.errors import TdeltaError, WorkerFault
from tdelta.measure.children import ready
from tdelta.messages import Refusal

_WORDS = 1024
"""As `Token` has them: a word for each participant, the last one for the end."""


class Participant(Protocol):
    """The worker of one twin, as `tdelta.driver.workers.Worker` is one."""

    def fileno(self) -> int:
        """Where its answer will arrive, for `ready`."""

    def send(self, do: str, **arguments: object) -> None:
        """Send it a request and do not wait."""

    def answer(self) -> dict[str, Any]:
        """Its answer, once there is one to read."""

    def look(self) -> None:
        """See whether it stands still; called about once a second."""


def interleave(
    entries: Sequence[tuple[Participant, TrialJob]], slots: Sequence[int], seconds: float
) -> list[dict[str, Any]]:
    """Run one trial on each participant, slice by slice.

    Args:
        entries: each participant with its trial.
        slots: the index in ``entries`` of who runs in each slot; each has as many slots as its trial has slices.
        seconds: how long the whole block may take.

    Returns:
        The answers, in the order of ``entries``.

    Raises:
        WorkerFault: a worker died or the time is over; the others are stopped.
        TdeltaError: what a database answered.
    """
    with _token(first=slots[0]) as path:
        for index, (participant, job) in enumerate(entries):
            interleaving = {"path": path, "participant": index, "slots": list(slots)}
            participant.send("trial", trial=job.as_json(), interleaving=interleaving)
        return _gather([participant for participant, _ in entries], seconds)


@contextlib.contextmanager
def _token(first: int) -> Iterator[str]:
    """A token in memory, on no disk, with the first slot given. Yields the path by which the workers can open it."""
    words = bytearray(4 * _WORDS)
    struct.pack_into("=I", words, 4 * first, 1)
    descriptor = os.memfd_create("tdelta-token")
    try:
        os.write(descriptor, words)
        yield f"/proc/{os.getpid()}/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _gather(participants: Sequence[Participant], seconds: float) -> list[dict[str, Any]]:
    """All answers, as they come. After a failure the others are stopped and heard before it is raised."""
    answers: dict[int, dict[str, Any]] = {}
    failures: list[TdeltaError] = []
    waiting = dict(enumerate(participants))
    while waiting:
        for wait in looks(seconds):
            if heard := ready(list(waiting.values()), wait):
                break
            for participant in waiting.values():
                participant.look()
        else:
            raise WorkerFault(Refusal.of("block-silent", seconds=seconds))
        for index in [index for index, participant in waiting.items() if participant in heard]:
            participant = waiting.pop(index)
            try:
                answers[index] = participant.answer()
            except TdeltaError as error:
                failures.append(error)
                for other in waiting.values():
                    with contextlib.suppress(TdeltaError):
                        other.send("stop")
    if failures:
        raise failures[0]
    return [answers[index] for index in range(len(participants))]
