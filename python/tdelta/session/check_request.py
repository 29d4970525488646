"""The check of a request: levels, ciphers, options that do not go together or are for other engines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from tdelta.design import parse_level
from tdelta.design.actions import ACTIONS, NOTHING, AskedAction, parse_action
from tdelta.design.factors import FACTORS, VERSIONS, require_few
from tdelta.design.layout import COMPARED, PLAIN
from tdelta.design.takes import Takes
from tdelta.engines.base import Engine
from tdelta.engines.registry import profiles
from tdelta.engines.server.external_twins import reads_own_tables
from tdelta.errors import UnknownName, UsageError, raise_together
from tdelta.measure.aes import CryptoKind, cannot_hide
from tdelta.messages import Caution, Refusal
from tdelta.processes.jobs import REBUILD, ROUTINE, STEPS, TRANSACTIONS
from tdelta.processes.load_generator.command import LoadGenerator, parse_load, passwords_in
from tdelta.processes.storage.rooms import require_storage
from tdelta.ray.bridge import require_address, require_ray
from tdelta.records import ENCRYPTION, Level
from tdelta.session.request import OPTIONS, RunRequest
from tdelta.session.studies import check_study, study
from tdelta.workloads import BUILT_IN, Workload

Levels: TypeAlias = Mapping[str, Sequence[Level]]
"""The levels of each factor that varies."""

_COLD = "cold"
_FEWEST_HOSTS = _FEWEST_BUILDS = 2
_READING = ("threads", "rate", "cipher", "server")
"""Factors of a run that only reads the user's tables."""

_WRITING = ("size_bytes", "study", "self_test", "inject", "trace", "load_generator", "cold")
"""Options that take tables of tdelta's, or more than reading."""

_BUILDS = "--vary server=A,B, --vary library=A,B, or two servers (--baseline, --other)"
_LONGEST_LATENCY_LIMIT_SECONDS = 3600.0  # histograms of response times end there
_ACTED = ("work", "during")
"""Factors whose levels may be actions."""


def check_request(request: RunRequest, vary: Mapping[str, tuple[Level, ...]], chosen: Engine) -> None:
    """Find all that is wrong with a request, and refuse it for every fault at once.

    Args:
        vary: the factors and their levels, the default cipher included.
    """
    unvaried = {name: (request.values[name],) for name in ("threads", "cache", "page_size", "rate")}
    require_few(vary)  # before anything is done for each of them
    levels = {**{name: of for name, of in unvaried.items() if of != (None,)}, **vary}
    checks: list[Callable[[], object]] = [
        *(partial(_check_level, factor, level) for factor in levels for level in levels[factor]),
        *(partial(_check_cipher, request, chosen, str(cipher)) for cipher in vary.get("cipher", ())),
        *(partial(require_storage, str(level)) for level in vary.get("storage", ())),
        *(partial(check, request, vary) for check in (_storage, _given_once, _contrast, _own_tables)),
        partial(_taken, request, vary, chosen),
        *(partial(check, request) for check in (_place, _database, _restore, _numbers)),
        partial(_check_study, request, chosen.profile.name),
        partial(_discard, request),
        *_checks_of_taken(request, vary, chosen),
        *chosen.option_checks(request.values, vary),
    ]
    faults = []
    for check in checks:
        try:
            found = check()
            if isinstance(found, Iterator) and (refusals := tuple(found)):
                faults.append(UsageError(*refusals))
        except UsageError as fault:
            faults.append(fault)
    raise_together(faults)


def _checks_of_taken(request: RunRequest, vary: Levels, chosen: Engine) -> Iterator[Callable[[], object]]:
    """Checks of what does not go with options that the engine takes."""
    profile = chosen.profile
    if Takes.SERVER in profile.takes:
        yield partial(_replication, request, vary)
        yield partial(_hosts, request, vary)
    if Takes.TRACES in profile.takes:
        yield partial(_trace, request, vary)
    known = {factor: chosen.actions(factor) for factor in _ACTED}
    yield partial(faults_of_actions, request, vary, known, chosen.product)
    if profile.takes & {Takes.INSTANCES, Takes.OWN_SERVERS}:
        yield partial(_work, request, vary, profile.most_cold, chosen.product)
    if Takes.AGENTS in profile.takes:
        yield partial(_agents, request, vary)
    if profile.protocol:
        yield partial(_load, request, vary, profile.protocol)


def _given(request: RunRequest, *names: str) -> list[str]:
    """The flags of these options that were given."""
    return [OPTIONS[name].flag for name in names if request.values[name]]


def _others(levels: Levels, factor: str, *kept: str) -> list[str]:
    """The levels of a factor but for some, as they are typed."""
    return [f"--vary {factor}={level}" for level in levels.get(factor, ()) if level not in kept]


def _paced(request: RunRequest, levels: Levels) -> list[str]:
    """Options that have operations fall due while there is something else to do."""
    return [*([] if request.rate is None else ["--rate"]), *(["--vary rate"] if "rate" in levels else [])]


def _conflict(wrong: Iterable[str], other: str) -> Iterator[Refusal]:
    if named := ", ".join(wrong):
        yield Refusal.of("conflict", one=named, other=other)


def _contrast(request: RunRequest, vary: Levels) -> Iterator[Refusal]:
    """Of a comparison of builds: there are two at least, and nothing is encrypted."""
    contrast = request.contrast
    if contrast == ENCRYPTION:
        return
    has_builds = contrast in VERSIONS and len(vary.get(contrast, ())) >= _FEWEST_BUILDS
    if not has_builds and request.baseline is None:
        yield Refusal.of("requires", what="a comparison of builds", needs=_BUILDS)
    encrypting = [f"--vary {name}" for name in COMPARED if name in vary]
    encrypting += [f"--vary work={level}" for level in map(str, vary.get("work", ())) if _needs_keys(level)]
    encrypting += [f"STUDY {request.study}"] if request.study else []
    encrypting += _given(request, "self_test")
    if encrypting:
        yield Refusal.of("conflict", one="a comparison of builds", other=", ".join(encrypting))


def _own_tables(request: RunRequest, vary: Levels) -> Iterator[Refusal]:
    """On the user's tables: options that need tables of tdelta's, or more than reading."""
    if reads_own_tables(request.baseline, request.schema, request.workload):
        wrong = [f"--vary {name}" for name in vary if name not in _READING]
        wrong += [OPTIONS[name].flag for name in _WRITING if request.values[name] != OPTIONS[name].default]
        if wrong:
            yield Refusal.of("conflict", one="--schema of your own tables", other=", ".join(wrong))
    elif request.schema is None and reads_own_tables(request.baseline, "", request.workload):
        yield Refusal.of("requires", what="on your own servers, a workload without schema.sql", needs="--schema NAME")


def _needs_keys(work: str) -> bool:
    name = parse_action(work).name
    return name in ACTIONS and ACTIONS[name].needs_keys


def _check_study(request: RunRequest, engine: str) -> None:
    """Refuse a study that servers of the user's do not serve for."""
    if request.study is not None and request.baseline is not None:
        check_study(request.study, engine)


def _given_once(request: RunRequest, vary: Levels) -> Iterator[Refusal]:
    twice = [option for option in request.changed() if option.name in vary]
    if twice:
        both = ", ".join(f"{option.flag} and --vary {option.name}=…" for option in twice)
        yield Refusal.of("option-and-factor", options=both)


def _taken(request: RunRequest, vary: Levels, chosen: Engine) -> Iterator[Refusal]:
    """Options and factors that a product, or servers of the user's, do not take."""
    factors = {name: factor.takes for name, factor in FACTORS.items()}
    factors |= {option.name: option.takes for option in OPTIONS.values() if option.takes}
    given = [(option.flag, option.name, option.takes) for option in request.changed()]
    given += [(f"--vary {name}", name, factors.get(name)) for name in vary]
    wrong: dict[str, list[str]] = {}
    for typed, name, takes in given:
        if takes is not None and not chosen.profile.accepts(name, takes):
            wrong.setdefault(_takers(name, takes), []).append(typed)
    by = chosen.product if request.baseline is None else "your own servers"
    for takers, options in wrong.items():
        yield Refusal.of("not-supported", what=", ".join(options), by=by, only=takers)


def _takers(option: str, takes: Takes) -> str:
    engines = " and ".join(one.product for one in profiles() if option in one.settings)
    return str(takes.value).format(engines=engines)


def _check_cipher(request: RunRequest, chosen: Engine, cipher: str) -> None:
    try:
        chosen.check_cipher(cipher)
    except UnknownName as fault:
        if request.study is None or cipher not in study(request.study).settings.get("vary", {}).get("cipher", ()):
            raise
        others = ", ".join(name for name in chosen.ciphers if name != PLAIN)
        asked = {"study": request.study, "cipher": cipher, "product": chosen.product}
        raise UsageError(Refusal.of("study-without-cipher", known=others, **asked)) from fault


def _place(request: RunRequest) -> Iterator[Refusal]:
    """A folder whose name cannot be stored with the run."""
    if request.directory is not None and not _is_text(request.directory):
        yield Refusal.of("path-not-text", option="--dir")


def _database(request: RunRequest) -> Iterator[Refusal]:
    if request.database is not None:
        if not _is_text(request.database):
            yield Refusal.of("path-not-text", option="--database")
        yield from _against_own_rows(request, "--database")


def _restore(request: RunRequest) -> Iterator[Refusal]:
    if request.restore is not None:
        if not request.restore.strip():
            yield Refusal.of("requires", what="--restore", needs="a command")
        yield from (Refusal.of("restore-password", option=option) for option in passwords_in(request.restore))
        yield from _against_own_rows(request, "--restore")


def _against_own_rows(request: RunRequest, option: str) -> Iterator[Refusal]:
    """Options that do not go with rows that are there already."""
    if request.study is not None:
        yield Refusal.of("conflict", one=f"STUDY {request.study}", other=option)
    if request.size_bytes != OPTIONS["size_bytes"].default:
        yield Refusal.of("conflict", one="--size", other=option)
    if request.workload in BUILT_IN:
        yield Refusal.of("conflict", one=f"--workload {request.workload}, which has its own tables,", other=option)
    elif request.workload is not None and not Path(request.workload).is_dir():
        yield Refusal.of("path-unusable", path=request.workload, fault="no such folder of transactions")


def _is_text(path: Path) -> bool:
    """Whether a path can be stored and shown as text; POSIX allows any bytes."""
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_level(factor: str, level: Level) -> None:
    is_share = factor == "cache" and isinstance(level, float)
    parse_level(factor, f"{100 * float(level):.12g}%" if is_share else str(level))


def _numbers(request: RunRequest) -> Iterator[Refusal]:
    for name in ("size_bytes", "trial_seconds", "max_seconds", "tolerance"):
        if not (value := request.values[name]) > 0:
            yield Refusal.of("out-of-range", what=OPTIONS[name].flag, wanted="above 0", found=value)
    latency = request.latency_limit_seconds
    if latency is not None and not 1e-6 <= latency <= _LONGEST_LATENCY_LIMIT_SECONDS:
        yield Refusal.of("out-of-range", what="--latency-limit", wanted="1us to 1h", found=f"{latency:g} s")
    tests = _given(request, "self_test", "inject")
    if tests and request.budget is not None:
        yield Refusal.of("conflict", one=" and ".join(tests), other="--budget")
    least, most = request.min_rounds, request.max_rounds
    if most is not None and most < least:
        found = f"{least}..{most}"
        yield Refusal.of("out-of-range", what="--rounds", wanted="MIN..MAX with MIN up to MAX", found=found)


def _work(request: RunRequest, levels: Levels, most_cold: int | None, product: str) -> Iterator[Refusal]:
    """Options for which caches cannot be emptied, and those that do not go with loads, rebuilds and routines.

    Args:
        most_cold: how many connections can be cold at once; None where it does not matter.
        product: the engine, for people.
    """
    if request.cold and "work" in levels:
        yield Refusal.of("conflict", one="--cold", other="--vary work=…")
        return
    works, paced = (_COLD,) if request.cold else levels.get("work", ()), _paced(request, levels)
    if _COLD in works:
        threads = max(map(int, levels.get("threads", (request.threads,))))
        many = [f"--threads above {most_cold}"] if most_cold is not None and threads > most_cold else []
        yield from _conflict(paced + many, f"cold caches on {product}")
    if set(works).difference(TRANSACTIONS):
        wrong = paced + _given(request, "inject", "load_generator", "database", "restore")
        yield from _conflict(wrong, "--vary work=load, rebuild, routine or a maintenance operation")


def faults_of_actions(
    request: RunRequest,
    levels: Levels,
    actions: Mapping[str, Mapping[str, Mapping[str, tuple[str, ...]]]],
    product: str,
) -> Iterator[Refusal]:
    """Actions that an engine does not have, and what a load does not go with that something goes on beside.

    Args:
        actions: by factor, the engine's actions by name, each with its knobs and the words that these take.
    """
    works = [("work", str(level)) for level in levels.get("work", ()) if level not in (*TRANSACTIONS, *STEPS)]
    beside = [("during", str(level)) for level in levels.get("during", ()) if level != NOTHING]
    for factor, level in (*works, *beside):
        asked, known = parse_action(level), actions.get(factor, {})
        if asked.name not in known and request.baseline is not None:
            yield Refusal.of("unsupported", what=f"{factor}={asked.name}", by="your own servers")
        elif asked.name not in known:
            has = ", ".join(known) or "none"
            yield Refusal.of("unknown", kind=factor, found=asked.name, hint=f" {product} has {has}.")
        else:
            yield from _knob_faults(asked, known[asked.name])
    if "during" in levels:
        wrong = [*_given(request, "load_generator", "trace", "cold"), *_others(levels, "work", "warm")]
        yield from _conflict(wrong, "--vary during=…")


def _knob_faults(asked: AskedAction, known: Mapping[str, tuple[str, ...]]) -> Iterator[Refusal]:
    """Knobs that an action does not have, and values that they do not take."""
    given: dict[str, int | str] = {**asked.knobs, **asked.choices}
    if unknown := sorted(set(given) - set(known)):
        found, has = f"{', '.join(unknown)} of {asked.name}", ", ".join(known) or "none"
        yield Refusal.of("unknown", kind="parameter", found=found, hint=f" Expected one of {has}.")
    for name, value in given.items():
        words = known.get(name)
        if words is not None and (value not in words if words else isinstance(value, str)):
            takes = ", ".join(words) or "a whole number above 0"
            yield Refusal.of("out-of-range", what=name, wanted=takes, found=value).at(asked.name)


def _replication(request: RunRequest, levels: Levels) -> Iterator[Refusal]:
    """Options that do not go with a load whose log a replica applies."""
    if "replication" in levels:
        wrong = [*_given(request, "load_generator", "trace", "cold"), *_others(levels, "work", "warm")]
        yield from _conflict([*wrong, *_others(levels, "during", NOTHING)], "--vary replication=…")


def _agents(request: RunRequest, levels: Levels) -> Iterator[Refusal]:
    """Options that load agents do not support, and more agents than clients."""
    agents = request.agents
    if agents is None:
        if request.ray is not None and request.hosts is None:
            yield Refusal.of("requires", what="--ray", needs="--agents N or --hosts N")
        return
    wrong = _given(request, "load_generator", "cold")
    wrong += ["--vary replication"] if levels.get("replication") else []
    yield from _conflict([*wrong, *_others(levels, "work", "warm"), *_others(levels, "during", NOTHING)], "--agents")
    if min(int(level) for level in levels.get("threads", (request.threads,))) < agents:
        yield Refusal.of("requires", what=f"--agents {agents}", needs=f"--threads {agents} or more")
    yield from _ray_faults(request.ray)


def _hosts(request: RunRequest, levels: Levels) -> Iterator[Refusal]:
    """Options that twins on hosts of a cluster do not support."""
    if request.hosts is None:
        return
    wrong = _given(request, "agents", "load_generator", "restore", "encrypted_dir", "profile")
    elsewhere = ("replication", "server", "storage", "aes_instructions")
    wrong += [f"--vary {factor}" for factor in elsewhere if levels.get(factor)]
    wrong += [*_others(levels, "work", *TRANSACTIONS), *_others(levels, "during", NOTHING)]
    yield from _conflict(wrong, "--hosts")
    if request.hosts < _FEWEST_HOSTS:
        yield Refusal.of("out-of-range", what="--hosts", wanted="2 or more", found=request.hosts)
    if request.ray is None:
        yield Refusal.of("requires", what="--hosts", needs="--ray ADDRESS")
    if request.agents is None:  # else `_agents` has them
        yield from _ray_faults(request.ray)


def _ray_faults(address: str | None) -> Iterator[Refusal]:
    """Objections to a cluster at that address before anything connects to it."""
    for look in (require_ray, *(() if address is None else (lambda: require_address(address),))):
        try:
            look()
        except UsageError as fault:
            yield from fault.refusals


def _storage(request: RunRequest, levels: Levels) -> Iterator[Refusal]:
    """Options under which not all lies in one folder, whose storage is varied."""
    if "storage" in levels:
        wrong = _given(request, "encrypted_dir") + (["--vary replication"] if "replication" in levels else [])
        for factor in _ACTED:
            acts = (level for level in levels.get(factor, ()) if parse_action(str(level)).name in ACTIONS)
            wrong += [f"--vary {factor}={level}" for level in acts]
        yield from _conflict(wrong, "--vary storage=…")


def _trace(request: RunRequest, levels: Levels) -> Iterator[Refusal]:
    """Options with which statements cannot be metered one by one."""
    if not request.trace:
        return
    if {"warm", ROUTINE}.isdisjoint(levels.get("work", ("warm",))):
        needs = "a level of --vary work that runs statements: warm or routine"
        yield Refusal.of("requires", what="--trace", needs=needs)
    wrong = [*_paced(request, levels), *_given(request, "load_generator", "cold", "inject")]
    wrong += _others(levels, "work", "warm", *STEPS)
    if wrong:
        yield Refusal.of("conflict", one="--trace", other=", ".join(wrong))


def _load(request: RunRequest, levels: Levels, protocol: str) -> Iterator[Refusal]:
    """Options that do not go with a load of the user's own; raises ``LoadGeneratorError`` for faults of the load."""
    if request.load_generator is None:
        if request.load_operations is not None:
            yield Refusal.of("requires", what="--load-operations", needs="--load-generator")
        return
    wrong = [*_paced(request, levels), *_given(request, "inject")]
    yield from _conflict(wrong, "--load-generator")
    if not wrong:
        load_generator(request, protocol, levels.get("threads", (request.threads,)))


def load_generator(request: RunRequest, protocol: str, threads: Sequence[Level]) -> LoadGenerator | None:
    """The user's load generator, checked; None where the workload's transactions are the load."""
    if request.load_generator is None:
        return None
    levels = [int(level) for level in threads]
    return parse_load(request.load_generator, protocol, threads_levels=levels, operations=request.load_operations)


def _discard(request: RunRequest) -> Iterator[Refusal]:
    """A head that is not recorded as long as the trial."""
    if request.warmup_seconds is not None and not 0 <= request.warmup_seconds < request.trial_seconds:
        yield Refusal.of("warmup-too-long", warmup=request.warmup_seconds, trial=request.trial_seconds)


def check_steps(vary: Levels, workload: Workload, chosen: Engine) -> None:
    """Refuse a rebuild and a routine that are not written for the engine's dialect."""
    for step, written in ((REBUILD, workload.rebuilds), (ROUTINE, workload.routines)):
        if step in vary.get("work", ()) and not written.get(chosen.profile.dialect.name):
            known, name = ", ".join(sorted(written)) or "none", chosen.profile.dialect.name
            raise UsageError(Refusal.of("no-such-step", step=step, workload=workload.name, known=known, dialect=name))


AES_INSTRUCTIONS = "aes_instructions"
"""The factor whose level ``off`` needs a library that can be kept from the instructions (`tdelta.measure.aes`).

Where it cannot, the level is left out and the run says so; it is never run under a false name.
"""


def available_levels(
    vary: Mapping[str, tuple[Level, ...]], crypto: str
) -> tuple[dict[str, tuple[Level, ...]], tuple[Caution, ...]]:
    """The levels that can be had, and a caution for what was left out.

    Args:
        crypto: whose code the library under test encrypts with, as `tdelta.engines.sqlite.libraries.Library` says.
    """
    levels = vary.get(AES_INSTRUCTIONS, ())
    reason = cannot_switch_off(crypto) if "off" in levels else None
    if reason is None:
        return dict(vary), ()
    kept = tuple(level for level in levels if level != "off")
    if not kept:
        raise UsageError(Refusal.of("level-out-of-reach", factor=AES_INSTRUCTIONS, level="off", why=reason))
    others = {factor: of for factor, of in vary.items() if factor != AES_INSTRUCTIONS}
    return others, (Caution.of("instructions-left-out", factor=AES_INSTRUCTIONS, why=reason),)


def cannot_switch_off(crypto: str) -> str | None:
    """Why the level ``off`` cannot be had here, for people; None where it can.

    Args:
        crypto: whose code encrypts, as `tdelta.engines.sqlite.libraries.Library` says.
    """
    if crypto not in tuple(CryptoKind):
        return f"the library under test encrypts with {crypto!r}, from which nothing can hide the instructions"
    return cannot_hide(CryptoKind(crypto))
