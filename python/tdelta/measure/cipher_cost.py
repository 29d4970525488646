"""The price of encrypting a page on this CPU, with and without its AES instructions: the least an overhead can be.

The machine's own OpenSSL encrypts, decrypts and authenticates pages as a database would have it do, in a loop with
nothing else in it. What a database pays for a page beyond this is its own code, its cache and its disk; what it pays
below this it owes to another implementation of the cipher. See docs/how-it-works.md.

Each level of the instructions is a process of its own, and the two take turns, pass by pass, so that what drifts falls
on both. That the instructions were really hidden is not believed but measured.
"""

from __future__ import annotations

import math
import os
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from tdelta.errors import (
    Defect,
    EngineUnavailable,
    EnvironmentFault,
    TdeltaError,
    UnknownName,
    UsageError,
    raise_together,
)
from tdelta.measure.aes import OPENSSL_VARIABLE, CryptoKind, environment_at
from tdelta.measure.children import Child, Declined
from tdelta.measure.machine import machine_facts
from tdelta.measure.pressure import PressureMeter
from tdelta.messages import Caution, Refusal
from tdelta.records import Event, Phase

HMACS = ("hmac-sha1", "hmac-sha256", "hmac-sha512")
ALGORITHMS = ("aes-128", "aes-192", "aes-256", *HMACS)
MODES = ("cbc", "ctr", "gcm", "xts")
PAGE_SIZES = (4096, 8192, 16384, 262144)
LEVELS = ("on", "off")
"""Of the CPU's AES instructions: as OpenSSL finds them, and hidden from it."""

_BLOCK_BYTES = 16
_LARGEST_PAGE_BYTES = 1 << 20
_NO_XTS = "aes-192"  # IEEE Std 1619 has AES-128 and AES-256 only


@dataclass(frozen=True, slots=True)
class PageTask:
    """A cipher's or an HMAC's work on a page. ``mode`` is None for an HMAC, whose ``direction`` is ``authenticate``."""

    algorithm: str
    mode: str | None
    page_bytes: int
    direction: str

    @property
    def name(self) -> str:
        """Algorithm and mode: ``aes-256-cbc``, ``hmac-sha512``."""
        return f"{self.algorithm}-{self.mode}" if self.mode else self.algorithm


def page_tasks(sizes: Iterable[int], algorithms: Iterable[str], modes: Iterable[str]) -> tuple[PageTask, ...]:
    """One task for each combination of size, algorithm and mode. AES-192-XTS does not exist."""
    sizes, algorithms, modes = dict.fromkeys(sizes), dict.fromkeys(algorithms), dict.fromkeys(modes)
    known = {"algorithm": (algorithms, ALGORITHMS), "mode": (modes, MODES)}
    faults: list[UsageError] = [
        UnknownName(kind, name, there) for kind, (given, there) in known.items() for name in given if name not in there
    ]
    faults += [_bad_size(size) for size in sizes if size % _BLOCK_BYTES or not 0 < size <= _LARGEST_PAGE_BYTES]
    raise_together([*faults, *_lacking("algorithm", algorithms), *_lacking("page size", sizes)], "")
    tasks = tuple(
        PageTask(algorithm, mode, size, direction)
        for algorithm in algorithms
        for mode, direction in _ways(algorithm, modes)
        for size in sizes
    )
    if not tasks:
        raise UsageError(Refusal.of("requires", what="AES", needs="a mode, and XTS has no AES-192"))
    return tasks


def check_levels(levels: Iterable[str]) -> tuple[str, ...]:
    wanted, kind = set(levels), "level of the AES instructions"
    unknown = [UnknownName(kind, level, LEVELS) for level in wanted.difference(LEVELS)]
    raise_together(unknown or _lacking(kind, wanted), "")
    return tuple(level for level in LEVELS if level in wanted)


def _ways(algorithm: str, modes: Iterable[str]) -> list[tuple[str | None, str]]:
    if algorithm in HMACS:
        return [(None, "authenticate")]
    possible = [mode for mode in modes if (algorithm, mode) != (_NO_XTS, "xts")]
    return [(mode, direction) for mode in possible for direction in ("decrypt", "encrypt")]


def _lacking(kind: str, given: Collection[object]) -> list[UsageError]:
    what = {"what": "the cipher benchmark", "needs": f"at least one {kind}"}
    return [] if given else [UsageError(Refusal.of("requires", **what))]


def _bad_size(size: int) -> UsageError:
    wanted = f"a multiple of {_BLOCK_BYTES} bytes, at most {_LARGEST_PAGE_BYTES}"
    return UsageError(Refusal.of("out-of-range", what="a page size", wanted=wanted, found=size))


DEFAULT_SECONDS = 20.0
RING_BYTES = 1 << 20
"""The memory that a cell reads and writes, half of each: beyond a first-level cache, about a second-level one."""

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
    """The cost of one task at one level of the CPU's AES instructions.

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


def measure_cipher_cost(
    sizes: Iterable[int] = PAGE_SIZES,
    algorithms: Iterable[str] = ALGORITHMS,
    modes: Iterable[str] = MODES,
    levels: Iterable[str] = LEVELS,
    seconds: float = DEFAULT_SECONDS,
    observe: Callable[[Event], None] = lambda _event: None,
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
    began, tasks, wanted = time.monotonic(), page_tasks(sizes, algorithms, modes), check_levels(levels)
    seed = random.SystemRandom().getrandbits(63) if seed is None else seed
    plan = {"library": library, "ring_bytes": ring_bytes, "seed": seed, "batch_ns": _BATCH_NS}
    proof = _proof_tasks(tasks) if "off" in wanted else ()
    shares = {level: (*(tasks if level in wanted else ()), *proof) for level in LEVELS if level in wanted or proof}
    observe(Phase("prepare", "OpenSSL is loaded, and every cipher checked"))
    try:
        with ExitStack() as stack:
            running = {
                level: _Level(stack.enter_context(level_child(level)), tuple(dict.fromkeys(share)), plan)
                for level, share in shares.items()
            }
            facts = {level: process.facts() for level, process in running.items()}
            meter = PressureMeter()
            passes = _run_passes(running, began + seconds, observe)
            pressure = meter.stop()
    except Declined as refusal:
        raise _fault(refusal) from refusal
    slowdown = _slowdown(running, proof) if proof else None
    machine = {name: fact for name, fact in machine_facts(Path("/")).items() if name in _MACHINE_FACTS}
    is_hidden = slowdown is None or slowdown >= _LEAST_SLOWDOWN
    shown = [level for level in wanted if is_hidden or level == "on"]
    return CipherCost(
        cells=tuple(_cell(task, level, running[level].batches[task]) for task in tasks for level in shown),
        library_version=next(iter(facts.values()))["version"],
        library_cpu={level: fact["cpu"] for level, fact in facts.items()},
        slowdown_without_instructions=slowdown,
        cautions=_cautions(slowdown, machine, pressure),
        machine=machine,
        pressure=pressure,
        passes=passes,
        ring_bytes=ring_bytes,
        seed=seed,
        elapsed_seconds=time.monotonic() - began,
    )


def _proof_tasks(tasks: Sequence[PageTask]) -> tuple[PageTask, ...]:
    """AES-256-CBC decryption at the sizes that are measured anyway, if they are long enough to tell, else at one."""
    found = tuple(
        task
        for task in tasks
        if (task.name, task.direction) == ("aes-256-cbc", "decrypt") and task.page_bytes >= _PROOF_BYTES
    )
    return found or (PageTask("aes-256", "cbc", _PROOF_BYTES, "decrypt"),)


def _cell(task: PageTask, level: str, batches: Sequence[_Batch]) -> CipherCostCell:
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


def _slowdown(running: Mapping[str, _Level], proof: Sequence[PageTask]) -> float:
    ratios = []
    for task in proof:
        off, on = (
            statistics.median(batch.cpu_us_per_page for batch in running[level].batches[task])
            for level in ("off", "on")
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
        cautions.append(Caution.of("cipher-delayed", share=waited))
    return tuple(cautions)


def _why_not_hidden(machine: Mapping[str, object]) -> str:
    if machine.get("cpu_architecture") != "x86_64":
        return "OPENSSL_ia32cap is for x86 only"
    flags = machine.get("cpu_flags")
    if isinstance(flags, Mapping) and not flags.get("aes"):
        return "this CPU has none, so that `on` is software, too"
    return "this libcrypto may not ask the CPU, or another provider may do the work"


_REMEDIES = {
    "library": (
        EngineUnavailable,
        "install OpenSSL's library (apt-get install libssl3), or name another libcrypto with --library",
    ),
    "cipher": (EnvironmentFault, "omit it with --algorithms or --modes, or name another libcrypto with --library"),
}


def _fault(refusal: Declined) -> TdeltaError:
    if refusal.kind not in _REMEDIES:
        return Defect(str(refusal))
    kind, fix = _REMEDIES[refusal.kind]
    return kind(Refusal.of("database-answer", said=refusal, fix=fix))


_BATCH_NS = 2_000_000
_FEWEST_PASSES = 3  # fewer have no quartiles


class _Batch(NamedTuple):
    """The time a page took in one batch: CPU time of the thread, and wall time."""

    pages: int
    cpu_us_per_page: float
    elapsed_us_per_page: float


class _Level:
    """The process of one level, which loads OpenSSL and checks every task first, and its batches."""

    def __init__(self, child: Child, tasks: Sequence[PageTask], plan: Mapping[str, object]) -> None:
        self._child = child
        self._tasks = tasks
        self.batches: dict[PageTask, list[_Batch]] = defaultdict(list)
        child.send("prepare", plan={**plan, "tasks": [asdict(task) for task in tasks]})

    def facts(self) -> dict[str, str]:
        """The library's ``version``, and what it sees of the ``cpu``."""
        facts: dict[str, str] = self._child.answer()
        return facts

    def run_pass(self, index: int) -> None:
        """Have it time one batch of every task, in the order drawn for this pass."""
        self._child.send("pass", index=index)
        for batch in self._child.answer():
            pages = batch["pages"]
            cpu_us, elapsed_us = batch["cpu_ns"] / 1000 / pages, batch["elapsed_ns"] / 1000 / pages
            self.batches[self._tasks[batch["task"]]].append(_Batch(pages, cpu_us, elapsed_us))


def level_child(level: str) -> Child:
    """Start the process of a level. OpenSSL there finds all the CPU's instructions, or all but AES's."""
    return Child("tdelta.processes.cipher_cost_worker", level_environment(level))


def _run_passes(running: Mapping[str, _Level], deadline: float, observe: Callable[[Event], None]) -> int:
    """Run passes, the levels in turns, while another turn of each is likely to end in time, but at least three."""
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
    return others | environment_at(level, CryptoKind.OPENSSL)
