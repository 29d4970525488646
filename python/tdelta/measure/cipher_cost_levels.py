"""The processes of `tdelta.measure.cipher_cost`, one for each level of the AES instructions, and their turns."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from tdelta.measure.aes import OPENSSL_VARIABLE, CryptoKind, hidden_environment
from tdelta.measure.children import Child
from tdelta.measure.page_tasks import PageTask
from tdelta.records import Event, Phase

_BATCH_NS = 2_000_000
_FEWEST_PASSES = 3  # fewer have no quartiles


@dataclass(frozen=True, slots=True)
class CipherCostSettings:
    """What every level shares. ``library`` is a libcrypto by its path, None for the machine's."""

    library: str | None
    ring_bytes: int
    seed: int


@dataclass(frozen=True, slots=True)
class Batch:
    """What a page took in one batch: CPU time of the thread, and time on the wall."""

    pages: int
    cpu_us_per_page: float
    elapsed_us_per_page: float


class CipherCostLevel:
    def __init__(self, child: Child, tasks: Sequence[PageTask]) -> None:
        self._child = child
        self._tasks = tasks
        self.batches: dict[PageTask, list[Batch]] = defaultdict(list)

    def ask_to_prepare(self, settings: CipherCostSettings) -> None:
        """Have it load OpenSSL and check every task; `facts` waits for it."""
        tasks = [asdict(task) for task in self._tasks]
        self._child.send("prepare", plan={**asdict(settings), "tasks": tasks, "batch_ns": _BATCH_NS})

    def facts(self) -> dict[str, str]:
        """What it found: the library's ``version``, and what it sees of the ``cpu``."""
        facts: dict[str, str] = self._child.answer()
        return facts

    def run_pass(self, index: int) -> None:
        """Have it time one batch of every task, in the order drawn for this pass."""
        self._child.send("pass", index=index)
        for batch in self._child.answer():
            pages = batch["pages"]
            cpu_us, elapsed_us = batch["cpu_ns"] / 1000 / pages, batch["elapsed_ns"] / 1000 / pages
            self.batches[self._tasks[batch["task"]]].append(Batch(pages, cpu_us, elapsed_us))


def level_child(level: str) -> Child:
    """Start the process of a level. OpenSSL there finds all the CPU's instructions, or all but AES's."""
    return Child("tdelta.driver.cipher_cost_worker", level_environment(level))


def run_passes(running: Mapping[str, CipherCostLevel], deadline: float, observe: Callable[[Event], None]) -> int:
    """Run pass after pass, the levels in turns, as long as another turn of each is likely to end in time.

    Args:
        deadline: on the clock of `time.monotonic`; three passes are run whatever it says.

    Returns:
        The number of passes.
    """
    began, passes, left = time.monotonic(), 0, _FEWEST_PASSES
    detail = f"pages of encryption, AES instructions {' and '.join(running)}"
    observe(Phase("measure", detail))
    while left > 0:
        turns = list(running.values())
        for process in turns if passes % 2 == 0 else reversed(turns):
            process.run_pass(passes)
        passes += 1
        now = time.monotonic()
        left = max(0, _FEWEST_PASSES - passes, int((deadline - now) * passes / (now - began)))
        observe(Phase("measure", detail, passes, passes + left))
    return passes


def level_environment(level: str) -> dict[str, str]:
    """This process's own, with or without the word that hides the instructions.

    The variable is removed for ``on``: an empty one would hide every instruction there is.
    """
    others = {name: value for name, value in os.environ.items() if name != OPENSSL_VARIABLE}
    return others if level == "on" else others | hidden_environment(CryptoKind.OPENSSL)
