"""From what was asked to what will be done: conditions, settings, jobs. Makes nothing, so it also serves --dry-run."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tdelta.design import fresh_seed, lay_out, parse_level
from tdelta.driver import DatabaseJob, LoadJob, Mix
from tdelta.engines import SqliteEngine, TwinSettings, engine
from tdelta.errors import UsageError
from tdelta.records import Condition, Level, Metric, RunSettings
from tdelta.session.request import RunRequest
from tdelta.session.source import DatabaseSource
from tdelta.session.studies import study_workload
from tdelta.workloads import BUILT_IN, Workload, load

_DEFAULTS = RunRequest()
_DEFAULT_CIPHER = "aes-256"
_DEFAULT_PAGE_SIZE = 4096
_LEAST_USABLE_BYTES = 480
_PATHS = ("database", "directory", "store")


@dataclass(frozen=True, slots=True)
class Plan:
    """A run, laid out. ``scale`` is the workload's; ``base`` the folder under which the twins' folder goes.

    ``source`` is the user's database that the twins are copies of; None where the rows are generated.
    """

    request: RunRequest
    engine: SqliteEngine
    workload: Workload
    scale: float
    settings: RunSettings
    base: Path
    source: DatabaseSource | None = None

    @property
    def size_bytes(self) -> int:
        """About how many bytes a plain twin's file takes."""
        return self.workload.size_at(self.scale) if self.source is None else self.source.size_bytes

    @property
    def rows_are(self) -> str:
        """What the rows of every twin must be the same as, in words."""
        return "the generated rows" if self.source is None else "the rows of the original"

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Every condition, in the design's order."""
        return self.settings.conditions

    @property
    def strata(self) -> dict[int, tuple[Condition, ...]]:
        """The conditions of each stratum."""
        numbers = dict.fromkeys(condition.stratum for condition in self.conditions)
        return {n: tuple(c for c in self.conditions if c.stratum == n) for n in numbers}

    def load_job(self) -> LoadJob | DatabaseJob:
        """Where rows come from: the same for every twin."""
        return self._generating_job() if self.source is None else self.source.job()

    def _generating_job(self) -> LoadJob:
        tables = tuple((t.name, tuple(c.name for c in t.columns)) for t in self.workload.tables)
        return LoadJob(
            plan=self.workload.plan(self.scale),
            seed=self.settings.seed,
            tables_sql=self.workload.tables_sql(self.engine.dialect),
            indexes_sql=self.workload.indexes_sql(self.engine.dialect),
            tables=tables,
        )

    def mix(self) -> Mix:
        """The transactions and the variables that every script is given."""
        transactions = tuple(
            {"name": name, "weight": script["weight"], "text": script["text"]}
            for name, script in self.workload.scripts().items()
        )
        rows = {f"rows_{table}": float(count) for table, count in self.workload.rows(self.scale).items()}
        given = {} if self.source is None else self.source.constants
        return Mix(transactions, {**rows, **given, "scale": self.scale})

    def twin_settings(self, condition: Condition, data_bytes: int) -> TwinSettings:
        """What a condition's twins are opened with, the cache being a share of ``data_bytes``."""
        levels = dict(condition.levels)
        request = self.request
        cipher = str(levels["cipher"])
        return TwinSettings(
            cipher=cipher,
            page_size=int(levels.get("page_size", self._page_size())),
            journal_mode=str(levels.get("journal_mode", request.journal_mode)),
            synchronous=request.synchronous,
            reserved_bytes=self._reserved_bytes(cipher),
            threads=int(levels["threads"]),
            cache_bytes=round(float(levels.get("cache", request.cache)) * data_bytes),
        )

    def _page_size(self) -> int:
        own = _DEFAULT_PAGE_SIZE if self.source is None else self.source.layout.page_size
        return own if self.request.page_size is None else self.request.page_size

    def _reserved_bytes(self, cipher: str) -> int:
        wanted = self.engine.reserved_bytes(self._ciphers(), self.request.reserve)[cipher]
        if self.source is None:
            return wanted
        return self.source.reserved_bytes(wanted, is_shared=self.request.reserve == "equal" or cipher == "none")

    def load_kinds(self) -> dict[tuple[str, int], Condition]:
        """One condition for each kind of file that must be loaded, by (cipher, page size); plain ones first."""
        kinds: dict[tuple[str, int], Condition] = {}
        for condition in sorted(self.conditions, key=lambda c: c.level("cipher") != "none"):
            settings = self.twin_settings(condition, 0)
            kinds.setdefault((settings.cipher, settings.page_size), condition)
        return kinds

    def fingerprint(self) -> str:
        """A digest of the work: of the data plan, the schema and the scripts, or of a user's database."""
        if self.source is not None:
            return self.source.fingerprint()
        job = self._generating_job()
        text = json.dumps([job.plan, job.tables_sql, job.indexes_sql, self.workload.scripts()], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def _ciphers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(str(c.level("cipher")) for c in self.conditions))


def plan(request: RunRequest, run_id: str, source: DatabaseSource | None = None) -> Plan:
    """Lay a run out.

    Args:
        request: what was asked.
        run_id: the run's name.
        source: the user's database of the request, staged; None where the rows are generated.

    Raises:
        UsageError: what was asked cannot be done; every fault that can be seen is named at once.
        EngineUnavailable: the engine is not installed.
    """
    chosen = engine(request.engine)
    workload = load(request.workload or study_workload(request.study)) if source is None else source.workload
    if request.study is not None:
        study_workload(request.study)
    vary = _varied(request)
    _check(request, vary, chosen)
    conditions = lay_out(vary, threads=request.threads, aa=request.aa, aa_twin=request.aa_twin, plant=request.plant)
    seed = fresh_seed() if request.seed is None else request.seed
    settings = RunSettings(
        run_id=run_id,
        seed=seed,
        study=request.study or ("order-entry" if request.workload is None and source is None else "custom"),
        engine=request.engine,
        workload=workload.name,
        conditions=conditions,
        rope=request.rope,
        budget=request.budget,
        metric=request.metric,
        options=request_to_json(dataclasses.replace(request, seed=seed)),
        database=None if source is None else source.facts(),
    )
    scale = workload.scale_for(request.size_bytes) if source is None else 1.0
    made = Plan(request, chosen, workload, scale, settings, request.directory or default_base(), source)
    if source is not None:
        _check_pages(made)
    return made


def check(request: RunRequest) -> None:
    """See what is wrong with a request before a user's database is copied for it.

    Raises:
        UsageError: what was asked cannot be done; every fault that can be seen is named at once.
        EngineUnavailable: the engine is not installed.
    """
    vary = _varied(request)
    chosen = engine(request.engine)
    _check(request, vary, chosen)
    lay_out(vary, threads=request.threads, aa=request.aa, aa_twin=request.aa_twin, plant=request.plant)


def _varied(request: RunRequest) -> dict[str, tuple[Level, ...]]:
    vary = dict(request.vary) or {"cipher": (_DEFAULT_CIPHER,)}
    if not request.aa and not request.plant:
        vary.setdefault("cipher", (_DEFAULT_CIPHER,))
    return vary


def default_base() -> Path:
    """Where twins go by default: a cache folder of the user's, which is on a real disk more often than /tmp is."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "tdelta"


def _check(request: RunRequest, vary: Mapping[str, tuple[Level, ...]], chosen: SqliteEngine) -> None:
    """Name every fault at once."""
    unvaried: dict[str, tuple[Level, ...]] = {
        "threads": (request.threads,),
        "cache": (float(request.cache),),
        "page_size": (_DEFAULT_PAGE_SIZE if request.page_size is None else request.page_size,),
        "journal_mode": (request.journal_mode,),
    }
    levels = {**unvaried, **vary}
    checks: list[Callable[[], object]] = [
        *(partial(_check_level, factor, level) for factor in levels for level in levels[factor]),
        *(partial(chosen.check_ciphers, [str(cipher)]) for cipher in vary.get("cipher", ())),
        partial(_check_given_once, request, vary),
        partial(_check_database, request),
        partial(chosen.check_synchronous, request.synchronous),
        partial(_check_numbers, request),
        partial(chosen.reserved_bytes, ["none"], request.reserve),
    ]
    faults = []
    for check in checks:
        try:
            check()
        except UsageError as fault:
            faults.append(fault)
    if len(faults) == 1:
        raise faults[0]
    if faults:
        raise UsageError("\n".join(str(fault) for fault in faults))


def _check_given_once(request: RunRequest, vary: Mapping[str, tuple[Level, ...]]) -> None:
    twice = [name for name in vary if getattr(request, name, None) != getattr(_DEFAULTS, name, None)]
    if twice:
        both = ", ".join(f"--{name.replace('_', '-')} and --vary {name}=…" for name in twice)
        raise UsageError(f"{both}: expected one of the two; list every level you want in --vary")


def _check_database(request: RunRequest) -> None:
    """What does not go with rows that are there already."""
    if request.database is None:
        return
    wrong = []
    if not _is_text(request.database):
        wrong.append("--database: expected a path in UTF-8; rename the file, or name a link to it")
    if request.study is not None:
        wrong.append(f"STUDY {request.study} and --database: expected one of the two, since a study makes its own rows")
    if request.size_bytes != _DEFAULTS.size_bytes:
        wrong.append("--size and --database: expected one of the two, since twins are as large as the database")
    if request.workload in BUILT_IN:
        wrong.append(
            f"--workload {request.workload} and --database: it makes its own tables; leave it out for a proposal, or"
            " give a folder of transactions (--write-workload makes one to begin with)"
        )
    elif request.workload is not None and not Path(request.workload).is_dir():
        wrong.append(f"--workload {request.workload}: expected a folder of transactions, found none of that name")
    if wrong:
        raise UsageError("\n".join(wrong))


def _is_text(path: Path) -> bool:
    """Whether a path can be stored and shown as text; POSIX allows any bytes."""
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_pages(plan: Plan) -> None:
    """A page must leave SQLite 480 bytes to use (https://sqlite.org/fileformat2.html, offset 20 of the header)."""
    kinds = {plan.twin_settings(condition, 0) for condition in plan.conditions}
    narrow = sorted({k.page_size for k in kinds if k.page_size - k.reserved_bytes < _LEAST_USABLE_BYTES})
    if narrow:
        kept = max(kind.reserved_bytes for kind in kinds)
        raise UsageError(
            f"pages of {narrow[0]} bytes: expected at least {_LEAST_USABLE_BYTES} usable bytes, found"
            f" {narrow[0] - kept} beside the {kept} that the ciphers keep; take a larger --page-size"
        )


def _check_level(factor: str, level: Level) -> None:
    is_share = factor == "cache" and isinstance(level, float)
    parse_level(factor, f"{100 * float(level):.12g}%" if is_share else str(level))


def _check_numbers(request: RunRequest) -> None:
    wrong = [
        f"{name}: expected a number above 0, found {value:g}"
        for name, value in (
            ("--size", request.size_bytes),
            ("--trial-seconds", request.trial_seconds),
            ("--max-time", request.max_seconds),
            ("--rope", request.rope),
        )
        if not value > 0
    ]
    if request.max_rounds is not None and request.max_rounds < request.min_rounds:
        wrong.append(f"--rounds: expected MIN..MAX, found {request.min_rounds}..{request.max_rounds}")
    if wrong:
        raise UsageError("\n".join(wrong))


def request_to_json(request: RunRequest) -> dict[str, object]:
    """A request as JSON values, from which `request_from_json` makes the same request, its paths absolute."""
    values = {field.name: getattr(request, field.name) for field in dataclasses.fields(request)}
    values["vary"] = {factor: list(levels) for factor, levels in request.vary.items()}
    values["plant"] = list(request.plant)
    values["metric"] = request.metric.value
    for name in _PATHS:
        values[name] = None if values[name] is None else str(values[name].absolute())
    if request.workload is not None and Path(request.workload).is_dir():
        values["workload"] = str(Path(request.workload).resolve())
    return values


def request_from_json(values: Mapping[str, Any]) -> RunRequest:
    """The request that `request_to_json` wrote."""
    made = dict(values)
    made["vary"] = {factor: tuple(levels) for factor, levels in values["vary"].items()}
    made["plant"] = tuple(values["plant"])
    made["metric"] = Metric(values["metric"])
    for name in _PATHS:
        made[name] = Path(values[name]) if values.get(name) is not None else None
    return RunRequest(**made)
