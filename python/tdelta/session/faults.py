"""What is wrong with a request: levels, ciphers, options that do not go together or are for other engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from tdelta.design import parse_level
from tdelta.design.actions import ACTIONS, parse_action
from tdelta.design.factors import VERSIONS, require_few
from tdelta.design.layout import COMPARED, PLAIN
from tdelta.engines.base import Engine
from tdelta.engines.server.external_twins import reads_own_tables
from tdelta.engines.takes import Takes
from tdelta.errors import UnknownName, UsageError, raise_together
from tdelta.messages import Refusal
from tdelta.processes.jobs import REBUILD
from tdelta.processes.load_generator.command import passwords_in
from tdelta.processes.storage.rooms import require_storage
from tdelta.records import ENCRYPTION, Level
from tdelta.session.external_servers import check_study
from tdelta.session.request import OPTIONS, RunRequest
from tdelta.session.studies import study
from tdelta.session.work import (
    check_actions,
    check_agents,
    check_discard,
    check_hosts,
    check_load,
    check_replication,
    check_storage,
    check_trace,
    check_work,
)
from tdelta.workloads import BUILT_IN, Workload

_FEWEST_BUILDS = 2
_READING = ("threads", "rate", "cipher", "server")
"""Factors of a run that only reads the user's tables."""

_WRITING = ("size_bytes", "study", "self_test", "inject", "trace", "load_generator", "cold")
"""Options that take tables of tdelta's, or more than reading."""

_BUILDS = "--vary server=A,B, --vary library=A,B, or two servers (--baseline, --other)"
_LONGEST_LATENCY_LIMIT_SECONDS = 3600.0  # histograms of response times end there
_ACTED = ("work", "during")
"""Factors whose levels may be actions."""

_FACTORS_ALONE = {
    "aes_instructions": Takes.INSTANCES,
    "replication": Takes.SERVER,
    "server": Takes.SERVER,
    "storage": Takes.INSTANCES,
    "fetch_size": Takes.ARRAYS,
    "load_by": Takes.BULK_LOADS,
    "compression": Takes.PAGE_COMPRESSION,
    "cores": Takes.SERVER,
}
"""Factors that no option sets, and whose they are."""


def check_request(request: RunRequest, vary: Mapping[str, tuple[Level, ...]], chosen: Engine) -> None:
    """Find all that is wrong with a request.

    Args:
        vary: the factors and their levels, the default cipher included.

    Raises:
        UsageError: every fault, at once.
    """
    unvaried: dict[str, tuple[Level, ...]] = {
        "threads": (request.threads,),
        "cache": (request.cache,),
        **({} if request.page_size is None else {"page_size": (request.page_size,)}),
        **({} if request.rate is None else {"rate": (request.rate,)}),
    }
    require_few(vary)  # before anything is done for each of them
    levels = {**unvaried, **vary}
    checks: list[Callable[[], object]] = [
        *(partial(_check_level, factor, level) for factor in levels for level in levels[factor]),
        *(partial(_check_cipher, request, chosen, str(cipher)) for cipher in vary.get("cipher", ())),
        *(partial(require_storage, str(level)) for level in vary.get("storage", ())),
        partial(check_storage, request, vary),
        partial(_check_given_once, request, vary),
        partial(_check_contrast, request, vary),
        partial(_check_own_tables, request, vary),
        partial(_check_taken, request, vary, chosen),
        partial(_check_place, request),
        partial(_check_database, request),
        partial(_check_restore, request),
        partial(_check_numbers, request),
        partial(_check_study, request, chosen.profile.name),
        partial(check_discard, request),
        *_checks_of_taken(request, vary, chosen),
        *chosen.option_checks(request.values, vary),
    ]
    faults = []
    for check in checks:
        try:
            check()
        except UsageError as fault:
            faults.append(fault)
    raise_together(faults)


def _check_contrast(request: RunRequest, vary: Mapping[str, tuple[Level, ...]]) -> None:
    """Of a comparison of builds: there are two at least, and nothing is encrypted."""
    contrast = request.contrast
    if contrast == ENCRYPTION:
        return
    wrong = []
    has_builds = contrast in VERSIONS and len(vary.get(contrast, ())) >= _FEWEST_BUILDS
    if not has_builds and request.baseline is None:
        wrong.append(Refusal.of("requires", what="a comparison of builds", needs=_BUILDS))
    encrypting = [f"--vary {name}" for name in COMPARED if name in vary]
    encrypting += [f"--vary work={level}" for level in map(str, vary.get("work", ())) if _needs_keys(level)]
    encrypting += [f"STUDY {request.study}"] if request.study else []
    encrypting += ["--self-test"] if request.self_test else []
    if encrypting:
        wrong.append(Refusal.of("conflict", one="a comparison of builds", other=", ".join(encrypting)))
    if wrong:
        raise UsageError(*wrong)


def _check_own_tables(request: RunRequest, vary: Mapping[str, tuple[Level, ...]]) -> None:
    """Refuse what takes tables of tdelta's, or more than reading, on tables of the user's."""
    if not reads_own_tables(request.baseline, request.schema, request.workload):
        return
    wrong = [f"--vary {name}" for name in vary if name not in _READING]
    wrong += [OPTIONS[name].flag for name in _WRITING if request.values[name] != OPTIONS[name].default]
    if wrong:
        raise UsageError(Refusal.of("conflict", one="--schema of your own tables", other=", ".join(wrong)))


def _needs_keys(work: str) -> bool:
    name = parse_action(work).name
    return name in ACTIONS and ACTIONS[name].needs_keys


def _checks_of_taken(
    request: RunRequest, vary: Mapping[str, tuple[Level, ...]], chosen: Engine
) -> Iterator[Callable[[], object]]:
    """What does not go with options that the engine takes."""
    profile = chosen.profile
    if Takes.SERVER in profile.takes:
        yield partial(check_replication, request, vary)
        yield partial(check_hosts, request, vary)
    if Takes.TRACES in profile.takes:
        yield partial(check_trace, request, vary)
    known = {factor: chosen.actions(factor) for factor in _ACTED}
    yield partial(check_actions, request, vary, known, chosen.product)
    if profile.takes & {Takes.INSTANCES, Takes.OWN_SERVERS}:
        yield partial(check_work, request, vary, most_cold=profile.most_cold, product=chosen.product)
    if Takes.AGENTS in profile.takes:
        yield partial(check_agents, request, vary)
    if profile.protocol:
        yield partial(check_load, request, vary, profile.protocol)


def _check_study(request: RunRequest, engine: str) -> None:
    """Refuse a study that servers of the user's do not serve for."""
    if request.study is not None and request.baseline is not None:
        check_study(request.study, engine)


def _check_given_once(request: RunRequest, vary: Mapping[str, tuple[Level, ...]]) -> None:
    twice = [option for option in request.changed() if option.name in vary]
    if twice:
        both = ", ".join(f"{option.flag} and --vary {option.name}=…" for option in twice)
        raise UsageError(Refusal.of("option-and-factor", options=both))


def _check_taken(request: RunRequest, vary: Mapping[str, tuple[Level, ...]], chosen: Engine) -> None:
    factors = {option.factor or option.name: option.takes for option in OPTIONS.values()} | _FACTORS_ALONE
    given = [(option.flag, option.takes) for option in request.changed()]
    given += [(f"--vary {name}", factors.get(name)) for name in vary]
    wrong: dict[Takes, list[str]] = {}
    for typed, takes in given:
        if takes is not None and takes not in chosen.profile.takes:
            wrong.setdefault(takes, []).append(typed)
    if wrong:
        product = chosen.product if request.baseline is None else None
        raise UsageError(*(_not_supported(typed, takes, product) for takes, typed in wrong.items()))


def _not_supported(typed: Sequence[str], takes: Takes, product: str | None) -> Refusal:
    """What a product, or (None) servers of the user's, do not take."""
    options, takers = ", ".join(typed), takes.value
    if product is None:
        return Refusal.of("not-supported", what=options, by="your own servers", only=takers)
    return Refusal.of("not-supported", what=options, by=product, only=takers)


def _check_cipher(request: RunRequest, chosen: Engine, cipher: str) -> None:
    try:
        chosen.check_cipher(cipher)
    except UnknownName as fault:
        if request.study is None or cipher not in study(request.study).settings.get("vary", {}).get("cipher", ()):
            raise
        others = ", ".join(name for name in chosen.ciphers if name != PLAIN)
        asked = {"study": request.study, "cipher": cipher, "product": chosen.product}
        raise UsageError(Refusal.of("study-without-cipher", known=others, **asked)) from fault


def _check_place(request: RunRequest) -> None:
    """Refuse a folder whose name cannot be stored with the run."""
    if request.directory is not None and not _is_text(request.directory):
        raise UsageError(Refusal.of("path-not-text", option="--dir"))


def _check_database(request: RunRequest) -> None:
    if request.database is None:
        return
    wrong = []
    if not _is_text(request.database):
        wrong.append(Refusal.of("path-not-text", option="--database"))
    wrong += _against_own_rows(request, "--database")
    if wrong:
        raise UsageError(*wrong)


def _check_restore(request: RunRequest) -> None:
    if request.restore is None:
        return
    wrong = [] if request.restore.strip() else [Refusal.of("requires", what="--restore", needs="a command")]
    wrong += [Refusal.of("restore-password", option=option) for option in passwords_in(request.restore)]
    wrong += _against_own_rows(request, "--restore")
    if wrong:
        raise UsageError(*wrong)


def _against_own_rows(request: RunRequest, option: str) -> Iterator[Refusal]:
    """What does not go with rows that are there already."""
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


def _check_numbers(request: RunRequest) -> None:
    wrong = [
        Refusal.of("out-of-range", what=name, wanted="above 0", found=value)
        for name, value in (
            ("--size", request.size_bytes),
            ("--trial-time", request.trial_seconds),
            ("--max-time", request.max_seconds),
            ("--tolerance", request.tolerance),
        )
        if not value > 0
    ]
    if (
        request.latency_limit_seconds is not None
        and not 1e-6 <= request.latency_limit_seconds <= _LONGEST_LATENCY_LIMIT_SECONDS
    ):
        wrong.append(
            Refusal.of(
                "out-of-range",
                what="--latency-limit",
                wanted="1us to 1h",
                found=f"{request.latency_limit_seconds:g} s",
            )
        )
    tests = [flag for flag, is_on in (("--self-test", request.self_test), ("--inject", request.inject)) if is_on]
    if tests and request.budget is not None:
        wrong.append(Refusal.of("conflict", one=" and ".join(tests), other="--budget"))
    if request.max_rounds is not None and request.max_rounds < request.min_rounds:
        least, most = request.min_rounds, request.max_rounds
        wrong.append(
            Refusal.of("out-of-range", what="--rounds", wanted="MIN..MAX with MIN up to MAX", found=f"{least}..{most}")
        )
    if wrong:
        raise UsageError(*wrong)


def check_rebuild(vary: Mapping[str, tuple[Level, ...]], workload: Workload, chosen: Engine) -> None:
    """Refuse rebuilds of what is not written for the engine's dialect.

    Raises:
        UsageError: it is not.
    """
    if REBUILD in vary.get("work", ()) and not workload.rebuilds.get(chosen.profile.dialect.name):
        known, name = ", ".join(sorted(workload.rebuilds)) or "none", chosen.profile.dialect.name
        raise UsageError(Refusal.of("no-rebuild", workload=workload.name, known=known, dialect=name))
