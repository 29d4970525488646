"""A fake engine and a fake clock for tests: whatever drives twins can be tested without a database and without seconds.

Hand a `FakeTwins` to `tdelta.session.conduct` as ``make_twins`` and its clock as ``now``. Time passes only when
a fake twin works, by as much as the `Script` says; everything that was asked of a twin can be read afterwards in
`FakeTwins.started`. A script can also misbehave: rows or settings that differ, a failing statement, a Ctrl-C.

Limits: loaded files are sparse and hold nothing, there are no histograms, and threads cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from support.flat import changed, measurement_of
from tdelta.design import stream
from tdelta.engines.sqlite.engine import SqliteEngine, TwinSettings
from tdelta.evidence import FileClass, MarkerHit
from tdelta.measure.aes import PreloadMode
from tdelta.processes.files import TwinFolder
from tdelta.processes.jobs import AnyJob, TrialJob, WorkloadSpec
from tdelta.processes.openssl_calls import COUNTS_VARIABLE
from tdelta.processes.protocol import NOTHING, Checksums, CipherProof, LoopCost, Tables, Twin, Twins, nobody_waits
from tdelta.records import Measurement, SpanTotals

_ROWS = 1000
_DIGEST = "5eed" * 8
_STATEMENT_NS = 100.0
_CPU_SHARE = 0.5


class FakeClock:
    """Seconds that pass only when told to."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.seconds += seconds


class FakeTwin(Twin):
    """A twin that does nothing at the cost that its script says.

    ``jobs`` holds every trial it was asked for, ``searched`` those during which its files were searched.
    """

    def __init__(
        self, twins: FakeTwins, settings: TwinSettings, name: str, environment: Mapping[str, str] = NOTHING
    ) -> None:
        self._twins = twins
        self._environment = environment
        self._stopped = False
        self.settings = settings
        self.name = name
        self.jobs: list[TrialJob] = []
        self.searched: list[TrialJob] = []
        self.ended = False

    def facts(self) -> dict[str, str]:
        return self._twins.script.facts(self.settings)

    def cipher_facts(self) -> dict[str, str]:
        return self._twins.script.cipher_facts(self.settings)

    def evidence(self, job: TrialJob, _needles: Sequence[bytes]) -> tuple[MarkerHit, ...]:
        """Pretend to run one trial, and to have found what the script says."""
        self.searched.append(job)
        self._twins.script.before_trial(self, job)
        self._measurement(job.operations, self._twins.script.cost_ns(self, job), 0.0, "count")
        return self._twins.script.found(self.settings)

    def checksums(self, tables: Tables) -> Checksums:
        return self._twins.script.rows(self.settings, tables, len(self.jobs))

    def plans(self, _scripts: Mapping[str, str]) -> Mapping[str, object]:
        return self._twins.script.plans(self.settings)

    def prove(self) -> CipherProof:
        page_us = self._twins.script.page_us(self.settings)
        return CipherProof("aes-256", self._twins.library, 0.5, page_us, PreloadMode.NONE, 0, 0, 0)

    def prices(self) -> dict[str, object] | None:
        return self._twins.script.prices

    def trial(self, job: TrialJob, ready: Callable[[], None] = nobody_waits) -> Measurement:
        self._stopped = False
        self.jobs.append(job)
        ready()
        self._twins.script.before_trial(self, job)
        if self._twins.script.calls is not None and COUNTS_VARIABLE in self._environment:
            self._twins.script.calls(self, job, Path(self._environment[COUNTS_VARIABLE]))
        cost_ns = self._twins.script.cost_ns(self, job)
        operations, stopped_by = job.operations, "count"
        if self._stopped:
            operations, stopped_by = 0, "signal"
        elif operations * cost_ns > job.deadline_seconds * 1e9:
            operations, stopped_by = int(job.deadline_seconds * 1e9 / cost_ns), "deadline"
        measured = self._measurement(operations, cost_ns, job.injected, stopped_by)
        script = self._twins.script
        delay_ns = None if script.delay_share is None else round(measured.elapsed_ns * script.delay_share)
        return changed(
            measured,
            engine_counters=script.counters(self, job),
            pressure=script.pressure,
            standstill=script.standstill(self, job),
            run_delay_ns=delay_ns,
            others_delay_ns=delay_ns,
        )

    def processes(self) -> tuple[int, ...]:
        """A process as the script tells it; there is none."""
        return self._twins.script.processes(self.settings)

    def stop(self) -> None:
        self._stopped = True

    def end(self) -> None:
        self.ended = True

    def _measurement(self, operations: int, cost_ns: float, injected: float, stopped_by: str) -> Measurement:
        injected_ns = round(operations * cost_ns * _CPU_SHARE * injected)
        elapsed_ns = round(operations * cost_ns) + injected_ns
        self._twins.clock.advance(elapsed_ns / 1e9)
        totals = SpanTotals(operations, elapsed_ns)
        return measurement_of(
            operations=operations,
            elapsed_ns=elapsed_ns,
            transactions={"work": totals},
            statements={"work/1": totals},
            cpu_user_seconds=(operations * cost_ns * _CPU_SHARE + injected_ns) / 1e9,
            syscall_read_bytes=4096 * operations,
            syscall_written_bytes=4096 * operations,
            injected_cpu_ns=injected_ns,
            injected_elapsed_ns=injected_ns,
            stopped_by=stopped_by,
        )


Cost: TypeAlias = Callable[[FakeTwin, TrialJob], float]


def cost_by_cipher(costs_ns: Mapping[str, float], noise: float = 0.01) -> Cost:
    """A cost in ns an operation for each cipher, with a little luck, the same whenever the same twin does the same."""

    def cost_ns(twin: FakeTwin, job: TrialJob) -> float:
        instance_effect = stream(job.seed, f"fake {twin.name}", job.stream).normal(0.0, noise)
        return costs_ns[twin.settings.cipher] * (1.0 + float(instance_effect))

    return cost_ns


def equal_rows(_settings: TwinSettings, tables: Tables, _trials: int) -> Checksums:
    return {table: (_ROWS, _DIGEST) for table, _ in tables}


def plain_facts(settings: TwinSettings) -> dict[str, str]:
    """The settings as asked for."""
    return {"page_size": str(settings.page_size), "journal_mode": settings.journal_mode}


def cipher_as_asked(settings: TwinSettings) -> dict[str, str]:
    engine = SqliteEngine()
    told = dict.fromkeys(engine.cipher_queries, "") | dict(engine.ciphers[settings.cipher].in_force)
    return told | {"header": "hidden" if engine.needs_key(settings.cipher) else "plain"}


def markers_where_plain(settings: TwinSettings) -> tuple[MarkerHit, ...]:
    """Markers in the database and the log of plain twins, and in no file of an encrypted one."""
    markers = 32 if settings.cipher == "none" else 0
    return (
        MarkerHit("fake.db", FileClass.DATABASE, 3_000_000, markers),
        MarkerHit("fake.db-wal", FileClass.WAL, 50_000, markers),
        MarkerHit("fake.db-shm", FileClass.OTHER, 32_768, 0),
    )


@dataclass(frozen=True, slots=True)
class Script:
    """The behavior of fake twins.

    ``rows`` is told how many trials a twin has run (0 for a loaded file); ``before_trial`` may raise what a statement
    would, or send this process a signal; ``page_us`` is what a page's cipher costs in a twin's process;
    ``hides_header`` says whether a loaded file looks encrypted; ``found`` is what a search of a twin's files brings,
    ``counters`` what the engine counted during a trial, ``processes`` whom to sample, ``prices`` what a page costs its
    own code, ``pressure`` how pressed the machine was in every trial, ``delay_share`` how much of the time others
    took, and ``standstill`` what stood still during a trial; ``calls`` writes what a preload would have counted in a
    trial, None where there is nothing to count.
    """

    cost_ns: Cost = field(default_factory=lambda: cost_by_cipher({"none": 100_000.0, "aes-256": 130_000.0}))
    rows: Callable[[TwinSettings, Tables, int], Checksums] = equal_rows
    facts: Callable[[TwinSettings], dict[str, str]] = plain_facts
    before_trial: Callable[[FakeTwin, TrialJob], None] = lambda _twin, _job: None
    page_us: Callable[[TwinSettings], float] = lambda settings: 1.0 if settings.aes_instructions == "on" else 12.0
    hides_header: Callable[[TwinSettings], bool] = lambda settings: settings.cipher != "none"
    cipher_facts: Callable[[TwinSettings], dict[str, str]] = cipher_as_asked
    plans: Callable[[TwinSettings], Mapping[str, object]] = lambda _settings: {}
    found: Callable[[TwinSettings], tuple[MarkerHit, ...]] = markers_where_plain
    idle_share: Callable[[TwinSettings], float] = lambda settings: 0.01 if settings.cipher == "none" else 0.03
    prices: dict[str, object] | None = None
    calls: Callable[[FakeTwin, TrialJob, Path], None] | None = None
    counters: Callable[[FakeTwin, TrialJob], Mapping[str, int]] = lambda _twin, _job: {}
    pressure: Mapping[str, float] = field(default_factory=dict)
    delay_share: float | None = None
    standstill: Callable[[FakeTwin, TrialJob], str] = lambda _twin, _job: ""
    processes: Callable[[TwinSettings], tuple[int, ...]] = lambda settings: (1 + (settings.cipher != "none"),)


class FakeTwins(Twins[FakeTwin]):
    """Fake twins of one run after another. ``started`` holds every instance in the order of its making."""

    library = "a fake engine"
    observes_ciphers = True

    def __init__(
        self,
        script: Script | None = None,
        clock: FakeClock | None = None,
        *,
        data_bytes: int = 3_000_000,
        start_seconds: float = 0.25,
    ) -> None:
        self.script = script or Script()
        self.clock = clock or FakeClock()
        self.started: list[FakeTwin] = []
        self.joined: list[FakeTwin] = []
        self.loaded: list[TwinSettings] = []
        self._data_bytes = data_bytes
        self._start_seconds = start_seconds

    def __call__(self, _engine: SqliteEngine, folder: TwinFolder, job: AnyJob, _mix: WorkloadSpec) -> FakeTwins:
        """Stand in for the factory of a real engine's twins."""
        self._folder = folder
        self._job = job
        self._paths: dict[Path, TwinSettings] = {}
        return self

    def load(self, settings: TwinSettings) -> tuple[Path, Checksums]:
        path = self._folder.file(f"load-{len(self._paths)}")
        with path.open("wb") as file:
            file.truncate(self._data_bytes)
        self._paths[path] = settings
        self.loaded.append(settings)
        return path, self.script.rows(settings, self._job.tables, 0)

    def expected_checksums(self) -> Checksums:
        return {table: (_ROWS, _DIGEST) for table, _ in self._job.tables}

    @property
    def why_not_timed(self) -> str:
        return "a fake makes no calls" if self.script.calls is None else ""

    def start(self, settings: TwinSettings, name: str, environment: Mapping[str, str] = NOTHING) -> FakeTwin:
        self.clock.advance(self._start_seconds)
        twin = FakeTwin(self, settings, name, environment)
        self.started.append(twin)
        return twin

    def join(self, twin: FakeTwin, settings: TwinSettings) -> FakeTwin:
        joined = FakeTwin(self, settings, twin.name)
        self.joined.append(joined)
        return joined

    def data_bytes(self, path: Path) -> int:
        return path.stat().st_size

    def block(self, entries: Sequence[tuple[FakeTwin, TrialJob]], slots: Sequence[int]) -> tuple[Measurement, ...]:
        """Pretend to run one trial on each, whole, in the order of their first slots."""
        measured = {index: entries[index][0].trial(entries[index][1]) for index in dict.fromkeys(slots)}
        return tuple(measured[index] for index in range(len(entries)))

    def loop_cost(self, _job: TrialJob) -> LoopCost:
        return LoopCost(_STATEMENT_NS, _STATEMENT_NS / 2)

    def end(self) -> None:
        """Nothing is held."""

    def is_encrypted(self, path: Path) -> bool:
        return self.script.hides_header(self._paths[path])
