"""What a page of encryption costs on this CPU, with and without its AES instructions: the least an overhead can be.

The machine's own OpenSSL encrypts, decrypts and authenticates pages as a database would have it do, in a loop with
nothing else in it. What a database pays for a page beyond this is its own code, its cache and its disk; what it pays
below this it owes to another implementation of the cipher. See docs/how-it-works.md.

Each level of the instructions is a process of its own, and the two take turns, pass by pass, so that what drifts falls
on both. That the instructions were really hidden is not believed but measured.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tdelta.errors import Defect, EngineUnavailable, EnvironmentFault, TdeltaError
from tdelta.measure.children import Declined
from tdelta.measure.cipher_cost_levels import Batch, CipherCostLevel, CipherCostSettings, level_child, run_passes
from tdelta.measure.machine import machine_facts
from tdelta.measure.page_tasks import ALGORITHMS, LEVELS, MODES, PAGE_SIZES, PageTask, check_levels, page_tasks
from tdelta.measure.pressure import PressureMeter
from tdelta.messages import Caution, Refusal
from tdelta.records import Event, Phase

DEFAULT_SECONDS = 20.0
RING_BYTES = 1 << 20
"""What a cell walks through, half of it read and half written: beyond a first-level cache, about a second-level one."""

_PROOF_BYTES = 4096  # in much shorter pages calls and IVs outweigh AES
_LEAST_SLOWDOWN = 1.5
# Without its instructions AES-256-CBC decryption takes several times as long on every x86 that has them; noise of this
# size does not survive a median.
_BUSY_SHARE = 0.1

_MACHINE_FACTS = (
    *("cpu_model", "cpu_architecture", "cpu_flags", "cores", "logical_cpus", "usable_cpus"),
    *("cpu_governor", "virtualized", "kernel", "os_release"),
)


@dataclass(frozen=True, slots=True)
class CipherCostCell:
    """What one task took at one level of the CPU's AES instructions.

    All figures are CPU time of the thread and of batches of pages: their median, their least, their quartiles.
    ``elapsed_us_per_page`` is the median of time on the wall. ``gigabytes_per_second`` goes with the median
    of CPU time (10⁹ bytes).
    """

    algorithm: str
    mode: str | None
    page_bytes: int
    direction: str
    aes_instructions: str
    us_per_page: float
    us_per_page_least: float
    us_per_page_quartiles: tuple[float, float]
    elapsed_us_per_page: float
    gigabytes_per_second: float
    batches: int
    pages: int

    @property
    def task(self) -> PageTask:
        return PageTask(self.algorithm, self.mode, self.page_bytes, self.direction)


@dataclass(frozen=True, slots=True)
class CipherCost:
    """Every cell, and what is needed to judge them.

    ``slowdown_without_instructions`` is AES-256-CBC decryption without over with, the proof that they were hidden; None
    if they were not to be. Where it fails, ``cells`` has none of the level ``off``, and ``cautions`` says so.
    ``library_cpu`` is what OpenSSL says it sees of the CPU, by level. ``pressure`` is as in `PressureMeter.stop`.
    """

    cells: tuple[CipherCostCell, ...]
    library_version: str = ""
    library_cpu: Mapping[str, str] = field(default_factory=dict)
    slowdown_without_instructions: float | None = None
    cautions: tuple[Caution, ...] = ()
    machine: Mapping[str, object] = field(default_factory=dict)
    pressure: Mapping[str, float] = field(default_factory=dict)
    passes: int = 0
    ring_bytes: int = RING_BYTES
    seed: int = 0
    elapsed_seconds: float = 0.0

    def cell(self, task: PageTask, level: str) -> CipherCostCell | None:
        return next((cell for cell in self.cells if cell.task == task and cell.aes_instructions == level), None)


def _unwatched(_event: Event) -> None:
    """Nobody looks."""


def measure_cipher_cost(
    sizes: Iterable[int] = PAGE_SIZES,
    algorithms: Iterable[str] = ALGORITHMS,
    modes: Iterable[str] = MODES,
    levels: Iterable[str] = LEVELS,
    seconds: float = DEFAULT_SECONDS,
    observe: Callable[[Event], None] = _unwatched,
    *,
    library: str | None = None,
    ring_bytes: int = RING_BYTES,
    seed: int | None = None,
) -> CipherCost:
    """Measure pages of every size, algorithm, mode and direction.

    Args:
        sizes: bytes of a page.
        algorithms: some of `ALGORITHMS`.
        modes: some of `MODES`, for the AES among the algorithms; there is no AES-192-XTS.
        levels: some of `LEVELS`.
        seconds: how long it may take, set-up included; three passes are made whatever they take.
        observe: is told how far it has come.
        library: a libcrypto by its path; None takes the machine's.
        ring_bytes: what a cell walks through.
        seed: draws pages, keys and the order; None draws one.

    Raises:
        UsageError: a name or a size that does not exist; all of them at once.
        EngineUnavailable: there is no libcrypto.
        EnvironmentFault: libcrypto refuses a cipher.
        WorkerFault: a process died.
    """
    tasks = page_tasks(sizes, algorithms, modes)
    return _whole_cost(tasks, check_levels(levels), seconds, observe, _settings(library, ring_bytes, seed))


def _settings(library: str | None, ring_bytes: int, seed: int | None) -> CipherCostSettings:
    return CipherCostSettings(library, ring_bytes, random.SystemRandom().getrandbits(63) if seed is None else seed)


@dataclass(frozen=True, slots=True)
class _Measured:
    batches: Mapping[str, Mapping[PageTask, Sequence[Batch]]]
    facts: Mapping[str, Mapping[str, str]]
    pressure: Mapping[str, float]
    passes: int


def _whole_cost(
    tasks: tuple[PageTask, ...],
    levels: tuple[str, ...],
    seconds: float,
    observe: Callable[[Event], None],
    settings: CipherCostSettings,
) -> CipherCost:
    began = time.monotonic()
    proof = _proof_tasks(tasks) if "off" in levels else ()
    try:
        measured = _measured(_shares(tasks, levels, proof), began + seconds, observe, settings)
    except Declined as refusal:
        raise _fault(refusal) from refusal
    slowdown = _slowdown(measured.batches, proof) if proof else None
    machine = {name: fact for name, fact in machine_facts(Path("/")).items() if name in _MACHINE_FACTS}
    is_hidden = slowdown is None or slowdown >= _LEAST_SLOWDOWN
    shown = [level for level in levels if is_hidden or level == "on"]
    return CipherCost(
        cells=tuple(_cell(task, level, measured.batches[level][task]) for task in tasks for level in shown),
        library_version=next(iter(measured.facts.values()))["version"],
        library_cpu={level: fact["cpu"] for level, fact in measured.facts.items()},
        slowdown_without_instructions=slowdown,
        cautions=_cautions(slowdown, machine, measured.pressure),
        machine=machine,
        pressure=measured.pressure,
        passes=measured.passes,
        ring_bytes=settings.ring_bytes,
        seed=settings.seed,
        elapsed_seconds=time.monotonic() - began,
    )


def _measured(
    shares: Mapping[str, tuple[PageTask, ...]],
    deadline: float,
    observe: Callable[[Event], None],
    settings: CipherCostSettings,
) -> _Measured:
    observe(Phase("prepare", "OpenSSL is loaded, and every cipher checked"))
    pressure = PressureMeter()
    with ExitStack() as stack:
        running = {
            level: CipherCostLevel(stack.enter_context(level_child(level)), tasks) for level, tasks in shares.items()
        }
        for process in running.values():
            process.ask_to_prepare(settings)
        facts = {level: process.facts() for level, process in running.items()}
        pressure.start()
        passes = run_passes(running, deadline, observe)
        stalled = pressure.stop()
    return _Measured({level: process.batches for level, process in running.items()}, facts, stalled, passes)


def _proof_tasks(tasks: Sequence[PageTask]) -> tuple[PageTask, ...]:
    """AES-256-CBC decryption at the sizes that are measured anyway, if they are long enough to tell, else at one."""
    found = tuple(
        task
        for task in tasks
        if (task.name, task.direction) == ("aes-256-cbc", "decrypt") and task.page_bytes >= _PROOF_BYTES
    )
    return found or (PageTask("aes-256", "cbc", _PROOF_BYTES, "decrypt"),)


def _shares(
    tasks: Sequence[PageTask], levels: Sequence[str], proof: Sequence[PageTask]
) -> dict[str, tuple[PageTask, ...]]:
    return {
        level: tuple(dict.fromkeys((*(tasks if level in levels else ()), *proof)))
        for level in LEVELS
        if level in levels or proof
    }


def _cell(task: PageTask, level: str, batches: Sequence[Batch]) -> CipherCostCell:
    times_us = [batch.cpu_us_per_page for batch in batches]
    low, middle, high = statistics.quantiles(times_us, n=4, method="inclusive")
    return CipherCostCell(
        algorithm=task.algorithm,
        mode=task.mode,
        page_bytes=task.page_bytes,
        direction=task.direction,
        aes_instructions=level,
        us_per_page=middle,
        us_per_page_least=min(times_us),
        us_per_page_quartiles=(low, high),
        elapsed_us_per_page=statistics.median(batch.elapsed_us_per_page for batch in batches),
        gigabytes_per_second=task.page_bytes / (1000 * middle) if middle else math.inf,
        batches=len(batches),
        pages=sum(batch.pages for batch in batches),
    )


def _slowdown(batches: Mapping[str, Mapping[PageTask, Sequence[Batch]]], proof: Sequence[PageTask]) -> float:
    """The proof's time without the instructions over its time with them: the median over its sizes."""
    ratios = []
    for task in proof:
        off, on = (
            statistics.median(batch.cpu_us_per_page for batch in batches[level][task]) for level in ("off", "on")
        )
        ratios.append(off / on if on else math.inf)
    return statistics.median(ratios)


def _cautions(
    slowdown: float | None, machine: Mapping[str, object], pressure: Mapping[str, float]
) -> tuple[Caution, ...]:
    cautions = []
    if slowdown is not None and slowdown < _LEAST_SLOWDOWN:
        cautions.append(
            Caution.of("instructions-not-hidden", times=slowdown, least=_LEAST_SLOWDOWN, why=_why_not_hidden(machine))
        )
    waited = pressure.get("cpu_some", 0.0)
    if waited > _BUSY_SHARE:
        cautions.append(Caution.of("machine-busy", who="other programs", share=waited))
    return tuple(cautions)


def _why_not_hidden(machine: Mapping[str, object]) -> str:
    if machine.get("cpu_architecture") != "x86_64":
        return "OPENSSL_ia32cap is for x86 only"
    flags = machine.get("cpu_flags")
    if isinstance(flags, Mapping) and not flags.get("aes"):
        return "this CPU has none, so that `on` is software, too"
    return "this libcrypto may not ask the CPU, or another provider may do the work"


def _fault(refusal: Declined) -> TdeltaError:
    match refusal.kind:
        case "library":
            return EngineUnavailable(
                Refusal.of(
                    "database-answer",
                    said=refusal,
                    fix="install OpenSSL's library (apt-get install libssl3), or name another libcrypto with --library",
                )
            )
        case "cipher":
            return EnvironmentFault(
                Refusal.of(
                    "database-answer",
                    said=refusal,
                    fix="omit it with --algorithms or --modes, or name another libcrypto with --library",
                )
            )
    return Defect(str(refusal))
