"""From what was asked to what will be done: conditions, settings, jobs, the rows' source; also for --dry-run."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tdelta.design import drawn_twin, fresh_seed, lay_out, with_bb_twins
from tdelta.design.actions import connects
from tdelta.design.factors import cache_bytes
from tdelta.design.layout import PLAIN, hosts_of
from tdelta.engines.base import Engine
from tdelta.engines.estimates import templates
from tdelta.engines.layout import RunLayout, instances_of
from tdelta.engines.registry import dialects, driver
from tdelta.engines.server.driver import ExternalDriver
from tdelta.engines.server.pairs import ReachedServers, external_dsns
from tdelta.errors import UsageError
from tdelta.evidence import Markers
from tdelta.messages import Caution, Refusal
from tdelta.processes import AnyJob, Checksums, DatabaseJob, PopulateJob, RestoreJob, WorkloadSpec, default_base
from tdelta.processes.jobs import OwnTablesJob
from tdelta.processes.load_generator.command import LoadGenerator
from tdelta.processes.own_data import StagedCopy
from tdelta.processes.protocol import Tables
from tdelta.processes.rows import with_markers
from tdelta.ray.bridge import NodesRequest
from tdelta.records import ENCRYPTION, Condition, DatabaseFacts, Level, Role, RunSettings
from tdelta.session.check_request import available_levels, check_request, check_steps, load_generator
from tdelta.session.request import RunRequest
from tdelta.session.studies import study, study_cautions
from tdelta.workloads import Workload, load
from tdelta.workloads.database import Database


@dataclass(frozen=True, slots=True)
class Source:
    """The start of a run on rows of the user's, instead of generated ones.

    ``tables`` and ``checksums`` are of the rows as they were read, and of what tdelta added. ``constants`` are the
    variables that scripts are given. ``notes`` say what a proposal left out and why; ``cautions`` go with the answer.
    ``nondeterministic_tables`` are the tables into which transactions write what depends on the clock or on chance, so
    that they cannot be compared after trials. ``has_keys_only``: only keys of the rows are compared.
    """

    copy: StagedCopy
    database: Database
    workload: Workload
    constants: Mapping[str, int]
    tables: Tables
    checksums: Checksums
    is_proposed: bool
    notes: tuple[str, ...] = ()
    cautions: tuple[Caution, ...] = ()
    nondeterministic_tables: tuple[str, ...] = ()
    has_keys_only: bool = False

    def facts(self) -> DatabaseFacts:
        return self.copy.facts(self.database, is_proposed=self.is_proposed)

    def job(self) -> DatabaseJob | RestoreJob | OwnTablesJob:
        return self.copy.job(self.tables, self.checksums)

    def fingerprint(self) -> str:
        """A digest of the work: of the copy's identity, its rows, and the scripts with their variables."""
        rows = {table: list(found) for table, found in self.checksums.items()}
        values = [*self.copy.identity(), rows, self.workload.scripts(), dict(self.constants)]
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()

    def as_json(self) -> dict[str, object]:
        return {
            "workload": self.workload.scripts(),
            "keys": {key.name: key.table for key in self.workload.keys},
            "variables": dict(self.constants),
            "notes": list(self.notes),
        }


_DEFAULT_WORKLOAD = "order-entry"
ROWS_SEED = 1
"""Of generated rows and markers: the same for every run of a workload and size, so that loaded data can be kept. A
run's own seed draws operations and orders."""


@dataclass(frozen=True, kw_only=True)
class Plan(RunLayout):
    """A run, laid out.

    ``base`` is the folder under which the twins' folder goes; ``cautions`` says what was asked for and cannot be had
    here. ``source`` is the user's database that the twins are copies of; None where the rows are generated.
    """

    request: RunRequest
    engine: Engine
    settings: RunSettings
    base: Path
    cautions: tuple[Caution, ...] = ()
    source: Source | None = None

    def __post_init__(self) -> None:
        seen = (self.request.values, self.settings.conditions, None if self.source is None else self.source.copy)
        for name, value in zip(("options", "conditions", "copy"), seen, strict=True):
            object.__setattr__(self, name, value)

    @property
    def rows_are(self) -> str:
        return "the generated rows" if self.source is None else "the rows of the original"

    @property
    def is_open(self) -> bool:
        return any(self.rate(condition) is not None for condition in self.conditions)

    def rate(self, condition: Condition) -> Level | None:
        """At which rate operations fall due, a level of the factor ``rate``; None in a closed loop."""
        found: Level | None = self.level(condition, "rate")
        return found

    def in_round(self, number: int) -> tuple[Condition, ...]:
        """The conditions of a round, in the design's order but for its B/B twin, which is last.

        With several B/B twins one of them takes part, drawn anew; conditions that share its instance go with it. It
        keeps one place in the order of a block, whichever it is, so that the others balance over all rounds.
        """
        others = tuple(condition for condition in self.conditions if condition.role is not Role.BB)
        twins = self.bb_twins
        return (*others, *(twins[drawn_twin(self.settings.seed, number, len(twins))] if twins else ()))

    @property
    def bb_twins(self) -> tuple[tuple[Condition, ...], ...]:
        """The B/B twins of the run: of each instance the conditions that share it."""
        return tuple(of for first, of in self.instances().items() if first.role is Role.BB)

    def blocks_before(self, stratum: int, number: int) -> int | None:
        """Blocks of earlier rounds in which a stratum had as many conditions as in this round.

        None where it has the same in every block, which a block's own number then counts.
        """
        twins = self.bb_twins
        if all(any(c.stratum == stratum for c in of) for of in twins):
            return None
        counts = [sum(c.stratum == stratum for c in self.in_round(n)) for n in range(number + 1)]
        return self.request.blocks_per_round * counts[:-1].count(counts[-1])

    def trials_in(self, number: int) -> int:
        return self.request.blocks_per_round * len(self.in_round(number))

    def of_one_round(self) -> Plan:
        """The same with no more B/B twins than a round has, the largest: what is there at once."""
        largest = max(self.bb_twins, key=partial(_size, self.size_bytes), default=())
        kept = tuple(c for c in self.conditions if c.role is not Role.BB or c in largest)
        return dataclasses.replace(self, settings=dataclasses.replace(self.settings, conditions=kept))

    def decided(self, *, bb_control: bool, cautions: tuple[Caution, ...] = ()) -> Plan:
        settings = dataclasses.replace(
            self.settings,
            conditions=with_bb_twins(self.conditions, self.settings.contrast) if bb_control else self.conditions,
            options={**self.settings.options, "bb_control": bb_control},
        )
        request = self.request.replace(bb_control=bb_control)
        return dataclasses.replace(self, request=request, settings=settings, cautions=(*self.cautions, *cautions))

    def extended(self, max_seconds: float) -> Plan:
        """The same with more time than the default, which holds not even the shortest run."""
        found = self.request.max_seconds
        cautions = (*self.cautions, Caution.of("time-extended", found=found, needed=max_seconds))
        return dataclasses.replace(self.with_options(max_seconds=max_seconds), cautions=cautions)

    def with_options(self, **options: Any) -> Plan:
        settings = dataclasses.replace(self.settings, options={**self.settings.options, **options})
        return dataclasses.replace(self, request=self.request.replace(**options), settings=settings)

    def populate_job(self) -> AnyJob:
        """Where rows come from: the same for every twin."""
        return self._generating_job() if self.source is None else self.source.job()

    def _generating_job(self) -> PopulateJob:
        tables = tuple((t.name, tuple(c.name for c in t.columns)) for t in self.workload.tables)
        job = PopulateJob(
            plan=self.workload.plan(self.scale),
            seed=ROWS_SEED,
            tables_sql=self.workload.tables_sql(self.engine.profile.dialect),
            indexes_sql=self.workload.indexes_sql(self.engine.profile.dialect),
            tables=tables,
            rebuild_sql=self.workload.rebuilds.get(self.engine.profile.dialect.name, ()),
            routine_sql=self.workload.routines.get(self.engine.profile.dialect.name, ()),
        )
        return with_markers(job, self.markers(), self.engine.profile.dialect)

    def markers(self) -> Markers:
        return Markers.drawn(ROWS_SEED)

    def workload_spec(self) -> WorkloadSpec:
        transactions = tuple(
            {"name": name, "weight": script["weight"], "text": script["text"]}
            for name, script in self.workload.scripts().items()
        )
        rows = {f"rows_{table}": float(count) for table, count in self.workload.rows(self.scale).items()}
        given = {} if self.source is None else self.source.constants
        variables = {**rows, **given, "scale": self.scale}
        return WorkloadSpec(transactions, variables, self.command, self.writes, self._steps())

    def _steps(self) -> PopulateJob | None:
        """The steps of the run; None where all its trials are of transactions."""
        job = self.populate_job()
        if not isinstance(job, PopulateJob) or not any(self.step(condition) for condition in self.conditions):
            return None
        return job

    @property
    def command(self) -> LoadGenerator | None:
        """The user's own load; None where the workload's transactions are the load."""
        threads = sorted({int(c.level("threads")) for c in self.conditions})
        return load_generator(self.request, self.engine.profile.protocol, threads)

    @property
    def agents(self) -> NodesRequest | None:
        """The load agents; None where the load is of tdelta's own worker."""
        request = self.request
        return None if request.agents is None else NodesRequest(request.agents, request.ray)

    @property
    def hosts(self) -> NodesRequest | None:
        """The hosts that the run's twins change between; None where they are on this machine."""
        request = self.request
        return None if request.hosts is None else NodesRequest(request.hosts, request.ray)

    def hosts_in(self, number: int) -> Mapping[Condition, int]:
        """The host of each twin of a round, by the first condition of its instance; empty without hosts."""
        if self.hosts is None:
            return {}
        return hosts_of(self.settings.seed, number, tuple(self.instances(number)), self.hosts.count)

    def twin_settings(self, condition: Condition, data_bytes: int) -> Any:
        """Settings that a condition's twins are opened with, of the engine's type; the cache is a share of the data."""
        return self.engine.settings(self, condition, data_bytes)

    def data_templates(self) -> dict[tuple[str | int, ...], Condition]:
        """One condition for each kind of data that must be loaded; plain ones first."""
        return templates(self.engine, self)

    @property
    def warms_until_settled(self) -> bool:
        """Whether twins are warmed up until their caches' misses settle, and not by one trial.

        Pages of temporary tables that do not fit miss in every trial, as often as the mix happens to make them.
        """
        return self.engine.profile.warms_until_settled and not self.workload.spills

    def instances(self, number: int | None = None) -> dict[Condition, tuple[Condition, ...]]:
        """The conditions that share an instance, by the first of them: of one round, or all in the design's order."""
        conditions = self.conditions if number is None else self.in_round(number)
        return instances_of(conditions, self.engine.profile.client_factors)

    def fingerprint(self) -> str:
        """A digest of the work: of the data plan, the schema and the scripts, or of a user's database."""
        if self.source is not None:
            return self.source.fingerprint()
        job = self._generating_job()
        parts = [job.plan, job.tables_sql, job.indexes_sql, job.rebuild_sql, job.routine_sql, self.workload.scripts()]
        text = json.dumps(parts, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def _size(data_bytes: int, conditions: tuple[Condition, ...]) -> tuple[float, ...]:
    """The size of an instance, for sorting: its connections, then its cache."""
    caches = [cache_bytes(of.get("cache", 0.0), data_bytes) for of in conditions]
    return sum(float(of.level("threads")) for of in conditions), max(caches)


def engine_of(request: RunRequest, servers: ReachedServers | None = None) -> Engine:
    """The engine that a request asks for, ready to be planned with.

    Args:
        servers: the user's own, where they were reached already.
    """
    dsns = external_dsns(request.baseline, request.encrypted, request.contrast)
    if dsns is not None:
        return ExternalDriver(dsns, servers, compares_builds=request.contrast != ENCRYPTION)
    return driver(request.engine, request.values)


def plan(request: RunRequest, run_id: str, source: Source | None = None, servers: ReachedServers | None = None) -> Plan:
    """Lay a run out.

    Args:
        source: the user's database of the request, staged; None where the rows are generated.
        servers: the user's own servers of the request; None where tdelta makes its own.

    Raises:
        UsageError: what was asked cannot be done; every fault that can be seen is named at once.
        EngineUnavailable: the engine is not installed.
    """
    chosen = engine_of(request, servers)
    if request.study is not None:
        study(request.study)  # it must exist; its settings are in the request already
    workload = load(request.workload or _DEFAULT_WORKLOAD, dialects()) if source is None else source.workload
    vary = _varied(request, chosen)
    check_request(request, vary, chosen)
    check_steps(vary, workload, chosen)
    vary, left_out = available_levels(_with_versions(vary, chosen), chosen.crypto)
    if servers is not None and "cold" in vary.get("work", ()) and "work" not in request.typed:
        servers.require_alone()
    conditions = _laid_out(request, vary)
    seed = fresh_seed() if request.seed is None else request.seed
    if workload.connects and not chosen.profile.connects:
        raise UsageError(Refusal.of("unsupported", what="\\connect", by=f"{chosen.product}, which runs in the process"))
    key = request.key
    if request.contrast == ENCRYPTION:
        key = chosen.recorded_key(key, connects=workload.connects or connects(vary.get("work", ())))
    settings = RunSettings(
        run_id=run_id,
        seed=seed,
        study=request.study or "",
        engine=chosen.profile.name,
        workload=workload.name,
        conditions=conditions,
        tolerance=request.tolerance,
        budget=request.budget,
        metric=request.metric,
        options=request.replace(seed=seed, key=key).to_json(),
        database=None if source is None else source.facts(),
        external_servers=None if servers is None else servers.facts(),
    )
    scale = workload.scale_for(request.size_bytes) if source is None else 1.0
    base = request.directory or default_base()
    of_servers = () if servers is None else (*servers.cautions, *_work_cautions(request, servers))
    cautions = (*left_out, *of_servers)
    made = Plan(
        request=request,
        engine=chosen,
        workload=workload,
        scale=scale,
        settings=settings,
        base=base,
        cautions=cautions,
        source=source,
    )
    chosen.check_layout(made)
    return made


def _work_cautions(request: RunRequest, servers: ReachedServers) -> Iterator[Caution]:
    """Steps that a study leaves to the user's servers, and unknown facts about their statements."""
    name = request.study
    if name is not None:
        settings = study(name).settings_for(servers.pair.baseline.identity.engine, request.study_size)
        yield from study_cautions(name, settings, request.vary)
    if request.trace and not servers.meters_cpu:
        yield Caution.of("trace-without-cpu")


def check(request: RunRequest) -> tuple[Condition, ...]:
    """See what is wrong with a request before a user's database is copied for it; returns its conditions."""
    chosen = engine_of(request)
    vary = _varied(request, chosen)
    check_request(request, vary, chosen)
    vary, _ = available_levels(_with_versions(vary, chosen), chosen.crypto)
    return _laid_out(request, vary)


def _laid_out(request: RunRequest, vary: Mapping[str, tuple[Level, ...]]) -> tuple[Condition, ...]:
    """The conditions; with B/B twins only where it is certain already that there are to be any."""
    return lay_out(
        vary,
        contrast=request.contrast,
        threads=request.threads,
        self_test=request.self_test,
        aa_control=request.aa_control,
        bb_control=request.bb_control is True,
        inject=request.inject,
    )


def _varied(request: RunRequest, chosen: Engine) -> dict[str, tuple[Level, ...]]:
    """The factors and their levels, with the default cipher where nothing else is to be compared."""
    vary = dict(request.vary)
    if request.contrast != ENCRYPTION:
        return vary
    has_default = chosen.default_ciphers[0] in chosen.ciphers
    if not (request.self_test or request.inject) or (not vary and has_default):
        vary.setdefault("cipher", chosen.default_ciphers)
    if "storage" in vary and set(chosen.ciphers) <= {PLAIN}:
        vary["cipher"] = (PLAIN,)  # of a study, or the default: its files can be encrypted by their storage alone
    return vary


def _with_versions(vary: Mapping[str, tuple[Level, ...]], chosen: Engine) -> Mapping[str, tuple[Level, ...]]:
    """The levels with versions by their numbers: a path says nothing to whoever reads a result."""
    return {**vary, **{factor: tuple(builds) for factor, builds in chosen.versions_compared().items()}}
