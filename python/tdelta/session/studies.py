"""The built-in studies, each a published experiment at a size that a laptop finishes: the files ``studies/NAME.toml``.

A study is a set of options for `tdelta.session.request.RunRequest`; options that are typed go before them, and the
answer names those that were changed (`overridden` there). A file has, besides the texts that `tdelta studies` lists,

- ``[settings]``: the options in which the study differs from a run without one;
- ``[engine.NAME]``: those in which it differs once more on that engine; ``unset`` names options that have no value;
- ``[own-servers.NAME]``: the same on servers of the user's;
- ``[published-size]``: those with ``--study-size published``;
- ``[[figures]]``: facts that were published, with their source, never an opinion of them. ``ratio`` is a cost with
  encryption over the same cost without, so that above 1 is worse. Figures of printed tables are read from these
  (`tables` below, each with its source).

A study with an engine of its own runs on this one and on those that have a table here, any other study on all.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tdelta.design.actions import is_action
from tdelta.design.takes import OWN_SERVERS_TAKE, Takes
from tdelta.engines.registry import ENGINES, profile, profiles
from tdelta.errors import UnknownName, UsageError
from tdelta.findings.published import METRIC, STATEMENT, PublishedFigure
from tdelta.messages import Caution, Refusal
from tdelta.processes.jobs import REBUILD, ROUTINE, STEPS, TRANSACTIONS

PREFIX = "published:"
"""The beginning of an argument of ``tdelta analyze`` that names a table and no file."""

FOLDER = Path(__file__).parents[1] / "studies"


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """One file: its name without ending, what it is of, where it comes from, and its rows by the header's names.

    ``notes`` are the rest of the comments above the header.
    """

    name: str
    title: str
    source: str
    notes: tuple[str, ...]
    rows: tuple[Mapping[str, str], ...]
    path: Path


@cache
def tables() -> tuple[PublishedTable, ...]:
    return tuple(_read_table(path) for path in sorted(FOLDER.glob("*.csv")))


def table(name: str) -> PublishedTable:
    known = {found.name: found for found in tables()}
    if name not in known:
        raise UnknownName("published table", name, known)
    return known[name]


def _read_table(path: Path) -> PublishedTable:
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = [line.removeprefix("#").strip() for line in lines if line.startswith("#")]
    (source,) = (comment for comment in comments if comment.startswith("source:"))
    title, *notes = (comment for comment in comments if comment != source)
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return PublishedTable(path.stem, title, source.removeprefix("source:").strip(), tuple(notes), tuple(rows), path)


PUBLISHED_SIZE = "published"
"""The level of ``--study-size`` that repeats a study at the size at which it was published."""

_SWEEP_DATA_GB = 50
"""The sweep's data, of which buffer pools of 5 and 60 GB are 10% and 120%: levels of the factor ``cache``."""

_POOLS = {"5 GB": "5 GB of 50 GB cached", "60 GB": "all in memory"}
_WORKS_PUBLISHED = {"rebuild of the clustered key": REBUILD, "SUM from disk": "cold", "SUM from memory": "warm"}
_LIKE_HERE = "Linux with AES-NI"
_PLAIN = "plain"
_LARGE = 10_000.0

Settings = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Study:
    """A study as ``tdelta studies`` lists it, ``place`` its place there.

    ``runs`` says whether it is a run, and not an analysis of its ``tables``, the published ones that
    ``tdelta analyze published:NAME`` takes. ``{engines}`` in its note stands for the engines that it was run on.
    """

    name: str
    title: str
    published: str
    runs: bool = True
    note: str = ""
    settings: Settings = field(default_factory=dict)
    at_published_size: Settings = field(default_factory=dict)
    tables: tuple[str, ...] = ()
    of_engines: Mapping[str, Settings] = field(default_factory=dict)
    on_own_servers: Mapping[str, Settings] = field(default_factory=dict)
    facts: tuple[PublishedFigure, ...] = ()
    place: int = 0

    def settings_for(self, engine: str | None, size: str) -> dict[str, Any]:
        """The options of a request on that engine (None: the study's own) at that size."""
        if size == PUBLISHED_SIZE and not self.at_published_size:
            raise UsageError(Refusal.of("conflict", one="--study-size", other=f"study {self.name}, which has one size"))
        own = self.of_engines.get(engine or self.settings.get("engine", ""), {})
        return {**self.settings, **own, **(self.at_published_size if size == PUBLISHED_SIZE else {})}

    def runs_on(self, engine: str) -> bool:
        """Whether it runs on that engine: on its own and those that have settings for it, or on any."""
        return self.runs and (self.settings.get("engine") in (None, engine) or engine in self.of_engines)

    @property
    def command(self) -> str:
        tables = " ".join(f"published:{name}" for name in self.tables)
        return f"tdelta run {self.name}" if self.runs else f"tdelta analyze {tables}"

    @property
    def figures(self) -> tuple[PublishedFigure, ...]:
        """Published figures, one by one, with their source; empty where nothing comparable was published."""
        of_table = _OF_TABLES.get(self.name)
        return (*self.facts, *(of_table(table(self.name)) if of_table else ()))


@cache
def studies() -> tuple[Study, ...]:
    """All studies of the design, those that run first in their published order."""
    return tuple(sorted(map(_read, FOLDER.glob("*.toml")), key=lambda one: one.place))


def study(name: str) -> Study:
    known = {study.name: study for study in studies()}
    if name not in known:
        raise UnknownName("study", name, known)
    if not known[name].runs:
        raise UsageError(Refusal.of("study-does-not-run", study=name, command=known[name].command))
    return known[name]


def _read(path: Path) -> Study:
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    settings, of_engines = _settings(found.pop("settings", {})), _by_engine(found.pop("engine", {}))
    note = found.pop("note", "").format(engines=_engines(settings.get("engine"), of_engines))
    return Study(
        name=path.stem,
        note=note,
        settings=settings,
        at_published_size=_settings(found.pop("published-size", {})),
        tables=tuple(found.pop("tables", ())),
        of_engines=of_engines,
        on_own_servers=_by_engine(found.pop("own-servers", {})),
        facts=tuple(PublishedFigure(**one) for one in found.pop("figures", ())),
        **found,
    )


def _by_engine(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Settings]:
    return {engine: _settings(found) for engine, found in tables.items()}


def _settings(found: Mapping[str, Any]) -> Settings:
    """Options as a request takes them: levels are tuples, and what is unset is None."""
    values = {**dict.fromkeys(found.get("unset", ())), **{name: one for name, one in found.items() if name != "unset"}}
    if "vary" in values:
        values["vary"] = {factor: tuple(levels) for factor, levels in values["vary"].items()}
    return values


def _engines(own: str | None, of_engines: Mapping[str, Settings]) -> str:
    """On which engines a study runs: its own, and those that have settings for it and that it was run on."""
    if own is None:
        return ""
    others = [name for name in ENGINES if name != own and name in of_engines and _is_tried(name)]
    return f"{profile(own).product}, or --engine {', '.join(others)}"


def _is_tried(engine: str) -> bool:
    address = profile(engine).address
    return address is None or not address.is_untried


def _sweep(found: PublishedTable) -> Iterator[PublishedFigure]:
    """Throughput, plain over encrypted: in a closed loop the ratio of an operation's times."""
    for plain, encrypted in _pairs(found):
        threads, pool = int(plain["threads"]), plain["buffer_pool"]
        tps = {row["condition"]: float(row["tps"]) for row in (plain, encrypted)}
        levels = (("threads", threads), ("cache", int(pool.split()[0]) / _SWEEP_DATA_GB))
        yield PublishedFigure(
            f"time per operation, {threads} thread{'' if threads == 1 else 's'}, {_POOLS[pool]}",
            f"{tps['encrypted']:,.0f} transactions/s encrypted, {tps[_PLAIN]:,.0f} plain",
            found.source,
            tps[_PLAIN] / tps["encrypted"],
            levels,
        )


def _warehouse(found: PublishedTable) -> Iterator[PublishedFigure]:
    for plain, encrypted in _pairs(found):
        transaction = plain["transaction"]
        for column, name in (("elapsed_ms", "elapsed"), ("cpu_ms", "CPU")):
            levels = (("work", _WORKS_PUBLISHED[transaction]),) if name == "elapsed" else ()
            values = float(encrypted[column]), float(plain[column])
            yield _quotient(f"{name}, {transaction}", *values, "ms", found.source, levels)


def _dml(found: PublishedTable) -> Iterator[PublishedFigure]:
    """The whole procedure on each platform, then its statements on one of them."""
    for plain, encrypted in _pairs(found):
        platform = plain["platform"].replace(", ", " with ")
        levels = (("work", ROUTINE),) if platform == _LIKE_HERE else ()
        values = float(encrypted["elapsed_s"]), float(plain["elapsed_s"])
        yield _quotient(f"elapsed, {platform}", *values, "s", found.source, levels)
    for plain, encrypted in _pairs(statements := table("dml-statements")):
        verb = plain["statement"].split()[0].upper()
        for column, name in (("cpu_s", "CPU"), ("elapsed_s", "elapsed")):
            of = ((STATEMENT, verb), (METRIC, name))
            values = float(encrypted[column]), float(plain[column])
            yield _quotient(f"{name}, {verb}, AIX", *values, "s", statements.source, of)


def _pairs(found: PublishedTable) -> Iterator[tuple[Mapping[str, str], Mapping[str, str]]]:
    """The rows of a table two by two, the plain one first, as the files have them."""
    yield from zip(found.rows[::2], found.rows[1::2], strict=True)


def _quotient(
    what: str, encrypted: float, plain: float, unit: str, source: str, levels: tuple[tuple[str, str], ...] = ()
) -> PublishedFigure:
    quote = f"{_number(encrypted)} {unit} encrypted, {_number(plain)} {unit} plain"
    return PublishedFigure(what, quote, source, encrypted / plain, levels)


def _number(value: float) -> str:
    """Whole where it is large, else five figures."""
    return f"{value:,.0f}" if value >= _LARGE else f"{value:,.5g}"


_OF_TABLES: Mapping[str, Callable[[PublishedTable], Iterator[PublishedFigure]]] = {
    "read-only-sweep": _sweep,
    "warehouse": _warehouse,
    "dml-trace": _dml,
}


_OWN_SERVERS_VARY = ("threads", "rate", "work", "fetch_size", "load_by", "maxdop")
"""Factors that servers of users have."""

_COLD = "cold"


def needs_private_instances(found: Study) -> tuple[str, ...]:
    """Parts of a study that need servers tdelta starts, stops or copies; empty where it runs on users' servers."""
    vary = found.settings.get("vary", {})
    acts = [f"--vary {factor}={level}" for factor in ("work", "during") for level in _acts(factor, vary)]
    return (*acts, *(["--vary replication"] if "replication" in vary else []))


def engines_of(found: Study) -> tuple[str, ...]:
    """On whose servers a study runs where they are the user's, by the engines' names; empty for none."""
    reached = (one.name for one in profiles() if one.address is not None)
    return tuple(name for name in reached if found.runs_on(name) and _needs_nothing_else(found, name))


def _needs_nothing_else(found: Study, engine: str) -> bool:
    return engine in found.on_own_servers or not needs_private_instances(found)


def _acts(factor: str, vary: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    levels = (str(level) for level in vary.get(factor, ()))
    yield from (level for level in levels if factor == "during" or is_action(level))


def check_study(name: str, engine: str) -> None:
    """Refuse a study on servers of the user's that is about servers that tdelta starts.

    Args:
        engine: whose servers they are; what it does to them by SQL it says itself.
    """
    found = study(name)
    if not _needs_nothing_else(found, engine):
        known = ", ".join(one.name for one in studies() if engine in engines_of(one))
        given = {"study": name, "needs": ", ".join(needs_private_instances(found)), "known": known}
        raise UsageError(Refusal.of("study-on-own-servers", **given))


def on_external_servers(
    name: str, settings: Mapping[str, Any], engine: str, takes: Mapping[str, Takes | None]
) -> dict[str, Any]:
    """The settings of a study on servers of the user's.

    Args:
        settings: what it sets for this engine.
        engine: whose servers they are, by what the DSNs begin with.
        takes: by option, who takes it; None where all do.
    """
    taken = {*OWN_SERVERS_TAKE, *_address_takes(engine), None}
    kept = {option: value for option, value in settings.items() if takes.get(option) in taken}
    vary = {factor: levels for factor, levels in settings.get("vary", {}).items() if factor in _OWN_SERVERS_VARY}
    if "work" in vary:
        vary["work"] = tuple(level for level in vary["work"] if level in _works(engine))
    own = study(name).on_own_servers.get(engine, {})
    return {**kept, "vary": {factor: levels for factor, levels in vary.items() if levels}, **own}


def _works(engine: str) -> Collection[str]:
    address = profile(engine).address
    is_cooled = address is not None and address.is_cooled
    return [level for level in (*TRANSACTIONS, *STEPS) if is_cooled or level != _COLD]


def _address_takes(engine: str) -> Collection[Takes]:
    address = profile(engine).address
    return () if address is None else address.takes


def study_cautions(name: str, of_study: Mapping[str, Any], vary: Mapping[str, Sequence[Any]]) -> Iterator[Caution]:
    """Cautions about what a study varies or sets that is left to the user's servers.

    Args:
        of_study: what it sets on servers that tdelta starts.
        vary: what the run varies.
    """
    varied = of_study.get("vary", {})
    left = [factor for factor in varied if factor not in vary and factor != "cipher"]
    left += [f"work={level}" for level in varied.get("work", ()) if level not in vary.get("work", varied["work"])]
    left += [option for option in ("cache", "scope") if of_study.get(option) is not None and option not in left]
    if left:
        yield Caution.of("study-left-to-servers", study=name, left=", ".join(left))
