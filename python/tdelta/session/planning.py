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
from tdelta.design.layout import PLAIN
from tdelta.driver import DatabaseJob, LoadJob, Mix, find_library, with_markers
from tdelta.engines import WHEELS, SqliteEngine, TwinSettings, engine
from tdelta.errors import UnknownName, UsageError
from tdelta.evidence import Markers
from tdelta.records import Condition, Level, Metric, RunSettings
from tdelta.session.instructions import available
from tdelta.session.request import RunRequest
from tdelta.session.source import DatabaseSource
from tdelta.session.studies import study
from tdelta.workloads import BUILT_IN, Workload, load

_DEFAULTS = RunRequest()
_DEFAULT_CIPHER = "aes-256"
_DEFAULT_WORKLOAD = "order-entry"
_DEFAULT_PAGE_SIZE = 4096
_LEAST_USABLE_BYTES = 480
_PATHS = ("database", "directory", "store")


@dataclass(frozen=True, slots=True)
class Plan:
    """A run, laid out.

    ``scale`` is the workload's; ``base`` the folder under which the twins' folder goes; ``cautions`` says what was
    asked for and cannot be had here. ``source`` is the user's database that the twins are copies of; None where the
    rows are generated.
    """

    request: RunRequest
    engine: SqliteEngine
    workload: Workload
    scale: float
    settings: RunSettings
    base: Path
    cautions: tuple[str, ...] = ()
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
    def is_open(self) -> bool:
        """Whether operations fall due at a rate, given or found (``--at``)."""
        return self.request.rate is not None or any(self.share_of_capacity(c) is not None for c in self.conditions)

    def share_of_capacity(self, condition: Condition) -> float | None:
        """The share of the baseline's capacity at which operations fall due; None where no such share was asked for."""
        share = dict(condition.levels).get("at", self.request.at)
        return None if share is None else float(share)

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
        job = LoadJob(
            plan=self.workload.plan(self.scale),
            seed=self.settings.seed,
            tables_sql=self.workload.tables_sql(self.engine.dialect),
            indexes_sql=self.workload.indexes_sql(self.engine.dialect),
            tables=tables,
        )
        return with_markers(job, self.markers())

    def markers(self) -> Markers:
        """The rows by which plaintext is recognised."""
        return Markers.drawn(self.settings.seed)

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
            key_kind=self.engine.key_kind(request.key, connects=self.workload.connects),
            aes_instructions=str(levels.get("aes_instructions", "on")),
            temp_store=request.temp_store,
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
    chosen = engine(request.engine, find_library(request.library))
    if request.study is not None:
        study(request.study)  # it must exist; its settings are in the request already
    workload = load(request.workload or _DEFAULT_WORKLOAD) if source is None else source.workload
    vary = _varied(request, chosen)
    _check(request, vary, chosen)
    vary, left_out = available(vary, chosen.crypto)
    conditions = lay_out(vary, threads=request.threads, aa=request.aa, aa_twin=request.aa_twin, plant=request.plant)
    seed = fresh_seed() if request.seed is None else request.seed
    settings = RunSettings(
        run_id=run_id,
        seed=seed,
        study=request.study or "",
        engine=request.engine,
        workload=workload.name,
        conditions=conditions,
        rope=request.rope,
        budget=request.budget,
        metric=request.metric,
        options=request_to_json(dataclasses.replace(request, seed=seed, key=_recorded_key(request, chosen, workload))),
        database=None if source is None else source.facts(),
    )
    scale = workload.scale_for(request.size_bytes) if source is None else 1.0
    made = Plan(request, chosen, workload, scale, settings, request.directory or default_base(), left_out, source)
    if source is not None:
        _check_pages(made)
    return made


def check(request: RunRequest) -> None:
    """See what is wrong with a request before a user's database is copied for it.

    Raises:
        UsageError: what was asked cannot be done; every fault that can be seen is named at once.
        EngineUnavailable: the engine is not installed.
    """
    chosen = engine(request.engine, find_library(request.library))
    vary = _varied(request, chosen)
    _check(request, vary, chosen)
    vary, _ = available(vary, chosen.crypto)
    lay_out(vary, threads=request.threads, aa=request.aa, aa_twin=request.aa_twin, plant=request.plant)


def default_base() -> Path:
    """Where twins go by default: a cache folder of the user's, which is on a real disk more often than /tmp is."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "tdelta"


def _varied(request: RunRequest, chosen: SqliteEngine) -> dict[str, tuple[Level, ...]]:
    """The factors and their levels, with the default cipher where nothing else is to be compared."""
    vary = dict(request.vary)
    has_default = _DEFAULT_CIPHER in chosen.ciphers
    if not (request.aa or request.plant) or (not vary and has_default):
        vary.setdefault("cipher", (_DEFAULT_CIPHER,))
    return vary


def _recorded_key(request: RunRequest, chosen: SqliteEngine, workload: Workload) -> str | None:
    """How keys were given, where there was a choice: the default may be another one in another version."""
    if not chosen.has_choice_of_keys():
        return request.key
    return chosen.key_kind(request.key, connects=workload.connects)


def _check(request: RunRequest, vary: Mapping[str, tuple[Level, ...]], chosen: SqliteEngine) -> None:
    """Name every fault at once."""
    unvaried: dict[str, tuple[Level, ...]] = {
        "threads": (request.threads,),
        "cache": (float(request.cache),),
        "page_size": (_DEFAULT_PAGE_SIZE if request.page_size is None else request.page_size,),
        "journal_mode": (request.journal_mode,),
        **({} if request.at is None else {"at": (float(request.at),)}),
    }
    levels = {**unvaried, **vary}
    checks: list[Callable[[], object]] = [
        *(partial(_check_level, factor, level) for factor in levels for level in levels[factor]),
        *(partial(_check_cipher, request, chosen, str(cipher)) for cipher in vary.get("cipher", ())),
        partial(_check_given_once, request, vary),
        partial(_check_pace, request, vary),
        partial(_check_database, request),
        partial(chosen.check_synchronous, request.synchronous),
        partial(chosen.check_temp_store, request.temp_store),
        partial(_check_numbers, request),
        partial(chosen.key_kind, request.key, connects=False),
        partial(_check_reserve, chosen, levels, request.reserve),
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


def _check_cipher(request: RunRequest, chosen: SqliteEngine, cipher: str) -> None:
    try:
        chosen.check_ciphers([cipher])
    except UnknownName as fault:
        if request.study is None or cipher not in study(request.study).settings.get("vary", {}).get("cipher", ()):
            raise
        others = ", ".join(name for name in chosen.ciphers if name != PLAIN)
        raise UsageError(
            f"study {request.study} asks for cipher {cipher}, which {chosen.library.product} does not have:"
            f" choose among {others} with --vary cipher=…"
        ) from fault


def _check_pace(request: RunRequest, vary: Mapping[str, tuple[Level, ...]]) -> None:
    if request.rate is not None and (request.at is not None or "at" in vary):
        raise UsageError("--rate and --at: expected one of the two; --at finds the rate from the baseline's capacity")


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
    is_share = factor in ("cache", "at") and isinstance(level, float)
    parse_level(factor, f"{100 * float(level):.12g}%" if is_share else str(level))


def _check_reserve(chosen: SqliteEngine, levels: Mapping[str, tuple[Level, ...]], policy: str) -> None:
    known = [cipher for cipher in map(str, levels.get("cipher", ())) if cipher in chosen.ciphers]
    for page_size in levels["page_size"]:
        chosen.check_reserve(["none", *known], policy, page_size if isinstance(page_size, int) else 0)


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
    is_folder = request.workload is not None and request.workload not in BUILT_IN and Path(request.workload).is_dir()
    if request.workload is not None and is_folder:
        values["workload"] = str(Path(request.workload).resolve())
    if request.library not in WHEELS:
        values["library"] = str(Path(request.library).absolute())
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
