"""The request of ``tdelta run``: a value for every option, typed, or a study's, or the engine's default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tdelta.engines.registry import defaults, servers
from tdelta.engines.server.dsn import engines
from tdelta.errors import UnknownName
from tdelta.session.declared import TOLD, Options
from tdelta.session.options import Option, options_of
from tdelta.session.studies import on_external_servers, study


@dataclass(frozen=True, slots=True, init=False)
class RunRequest(Options):
    """The request of ``tdelta run``, parsed but not yet checked against engine and workload.

    It is made from the options that are given, by their fields' names; the rest is as on the command line: the study's
    settings, the engine's defaults, those of an open loop. A factor that is given replaces the study's levels of that
    factor, and its setting where it has one; the study's other factors stay.

    Raises:
        UnknownName: there is no such option, or no such study.
        UsageError: this version cannot run the study.
    """

    def __init__(self, **given: Any) -> None:
        self._set(_completed({name: _option(name).value.taken(value) for name, value in given.items()}))

    def _set(self, values: Mapping[str, Any]) -> None:
        for name in OPTIONS:
            object.__setattr__(self, name, values[name])

    @classmethod
    def _of(cls, values: Mapping[str, Any]) -> RunRequest:
        """The request of exactly these values, one for each option."""
        made = object.__new__(cls)
        made._set(values)
        return made

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> RunRequest:
        """The request that `to_json` wrote; an option that is not in it has its default."""
        stored = {
            name: value if value is None else _option(name).value.from_json(value) for name, value in values.items()
        }
        return cls._of({**{option.name: option.default for option in OPTIONS.values()}, **stored})

    def to_json(self) -> dict[str, Any]:
        """The options as JSON values, from which `from_json` makes the same request, its paths absolute."""
        return {
            name: value if value is None else OPTIONS[name].value.to_json(value) for name, value in self.values.items()
        }

    def replace(self, **changes: Any) -> RunRequest:
        return self._of({**self.values, **{name: _option(name).value.taken(value) for name, value in changes.items()}})

    @property
    def values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in OPTIONS}

    @property
    def is_served(self) -> bool:
        return self.engine in servers() or self.baseline is not None

    def changed(self) -> Iterator[Option]:
        """The options that are not as they would be on this engine if nothing were typed."""
        usual = RunRequest(engine=self.engine).values
        return (OPTIONS[name] for name, value in self.values.items() if value != usual[name])


OPTIONS: Mapping[str, Option] = {option.name: option for option in options_of(Options)}
"""Every option by its name, in the order in which help texts have them."""


_CONTROLS = ("aa_control", "bb_control")


def _option(name: str) -> Option:
    if name not in OPTIONS:
        raise UnknownName("option", name, sorted(OPTIONS))
    return OPTIONS[name]


def _completed(given: Mapping[str, Any]) -> dict[str, Any]:
    """A value for every option: what was given, then the study's, the engine's, the usual one."""
    typed = tuple(name for name in TOLD if name in given or name in given.get("vary", {}))
    if engine := _engine_of_servers(given):
        # A second copy of the data on one server alone would take its cache: both have one, or neither.
        has_controls = all(given.get(name) is not False for name in _CONTROLS)
        given = {"engine": engine, **given, **dict.fromkeys(_CONTROLS, has_controls)}
    if "rate" in given or "rate" in given.get("vary", {}):
        given = {**{o.name: o.open_loop for o in OPTIONS.values() if o.has_open_loop_default}, **given}
    name = given.get("study")
    settings = study(name).settings_for(given.get("engine"), given.get("study_size", "")) if name else {}
    if name and engine:
        takes = {option.name: option.takes for option in OPTIONS.values()}
        settings = on_external_servers(name, settings, given["engine"], takes)
    of_engine = defaults(given.get("engine", settings.get("engine", OPTIONS["engine"].default)))
    settings = {**of_engine, **settings}
    if "trial_seconds" in given and settings.get("warmup_seconds"):
        del settings["warmup_seconds"]  # the study's is for trials of its usual length
    vary = given.get("vary", {})
    settings = {name: value for name, value in settings.items() if name not in vary}
    factors = {factor: levels for factor, levels in settings.pop("vary", {}).items() if factor not in given}
    usual = {option.name: option.default for option in OPTIONS.values()}
    return {**usual, **settings, "typed": typed, **given, "vary": {**factors, **vary}}


def _engine_of_servers(given: Mapping[str, Any]) -> str | None:
    """The engine of the user's servers, by what their DSN begins with; faults of a DSN are told where it is read."""
    dsn = given.get("baseline") or given.get("encrypted")
    return None if dsn is None else engines().get(str(dsn).partition(":")[0].lower())
