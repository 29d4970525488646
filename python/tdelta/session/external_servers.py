"""Studies on servers of the user's: what of them needs no more than a schema of tdelta's.

A study's workload is generated there and its trials are run; what only servers that tdelta starts have (their cache,
the kinds of files that they encrypt, their ciphers, restarts) is theirs, and the study is run without varying it. One
that is about nothing else is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tdelta.design.actions import is_action
from tdelta.engines.registry import profile, profiles
from tdelta.engines.takes import OWN_SERVERS_TAKE, Takes
from tdelta.errors import UsageError
from tdelta.messages import Caution, Refusal
from tdelta.processes.jobs import STEPS, TRANSACTIONS
from tdelta.session.studies import Study, studies, study

_VARIED = ("threads", "rate", "work", "fetch_size", "load_by")
"""Factors that servers of users have."""

_COLD = "cold"


def needs_private_instances(found: Study) -> tuple[str, ...]:
    """What of a study takes servers that tdelta starts, stops or copies; empty where it runs on servers of users."""
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

    Raises:
        UsageError: it is.
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
    vary = {factor: levels for factor, levels in settings.get("vary", {}).items() if factor in _VARIED}
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
    """What a study varies or sets that is left to servers of the user's.

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
