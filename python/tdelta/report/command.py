"""Command lines to go on with: the one that repeats a run, built from its recorded settings, and what shows it again.

``RunSettings.options`` holds JSON values under the names of :data:`tdelta.session.request.OPTIONS`; what equals the
default is left out, and the seed is always written, since it draws everything.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from tdelta.errors import UsageError
from tdelta.records import ENCRYPTION, RunSettings
from tdelta.session.options import Option
from tdelta.session.request import OPTIONS, RunRequest
from tdelta.session.values import Value

_LENGTH = "trial_seconds"


def repeat_command(settings: RunSettings) -> str:
    return shlex.join([*_run_words(settings.options), "--seed", str(settings.seed)])


def run_command(options: Mapping[str, object]) -> str:
    return shlex.join(_run_words(options))


def _run_words(options: Mapping[str, object]) -> list[str]:
    given = {name: OPTIONS[name].value.from_json(v) for name, v in options.items() if name in OPTIONS and v is not None}
    deciding = {option.name for option in OPTIONS.values() if option.decides_defaults}
    typed = {name: given[name] for name in deciding & given.keys()}
    without = _request(typed)
    length = _words(OPTIONS[_LENGTH], given, without)
    beside_length = _request({**typed, _LENGTH: given[_LENGTH]}) if length else without
    words = ["tdelta", "run" if given.get("contrast", ENCRYPTION) == ENCRYPTION else "compare"]
    for option in OPTIONS.values():
        if option.name == _LENGTH:
            words += length
        elif option.name in deciding:
            words += _words(option, given, _request({name: typed[name] for name in typed.keys() - {option.name}}))
        else:
            words += _words(option, given, beside_length)
    return words if words[1] == "run" else ["--other" if word == "--encrypted" else word for word in words]


def _words(option: Option, given: Mapping[str, Any], without: RunRequest) -> list[str]:
    """The words that give the option its value, where it would have another if it were not typed."""
    name, varied, usual = option.name, given.get("vary", {}), without.values
    is_never = name == "seed" or name in varied or (name == "bb_control" and given.get("self_test", False))
    if is_never or not option.flag or name not in given:
        return []
    value, default = given[name], usual[name]
    if option.also:
        value, default = (value, given.get(option.also)), (default, usual[option.also])
    if name == "vary":
        value, default = {f: levels for f, levels in value.items() if levels != default.get(f)}, {}
    is_open = "rate" in given or "rate" in varied
    is_written = name in usual["vary"] or (option.has_open_loop_default and is_open) or name in given.get("typed", ())
    return option.words(value) if value != default or is_written else []


def _request(given: Mapping[str, Any]) -> RunRequest:
    """The request if only these were given; a study that this version no longer has is no study."""
    try:
        return RunRequest(**given)
    except UsageError:
        return RunRequest()


def next_command(command: str, settings: RunSettings, *words: str, name: str = "") -> str:
    """A command on this run, from the store it is in: ``tdelta show ID --store ./runs.sqlite``.

    Args:
        command: what comes between ``tdelta`` and the run's id, e.g. ``run --resume``.
        words: what comes after the id.
        name: what the run is called, by default its id.
    """
    store = settings.options.get("store")
    where = ["--store", str(store)] if store else []
    return shlex.join(["tdelta", *command.split(), name or settings.run_id, *words, *where])


def plan_command(run_ids: Iterable[str], options: Mapping[str, object], *words: str) -> str:
    """The ``tdelta plan`` that goes over stored runs, quoted for a shell.

    Args:
        options: JSON values by the names of a run's options, and ``assurance``; all of them are written.
        words: what comes between.
    """
    known = {**OPTIONS, "assurance": Option("--assurance", Value(), "")}
    given = (word for name, value in options.items() for word in known[name].words(value))
    return shlex.join(["tdelta", "plan", *run_ids, *words, *given])
