"""Command lines to go on with: the one that repeats a run, built from its recorded settings, and what shows it again.

``RunSettings.options`` holds JSON values under the field names of :class:`tdelta.session.request.RunRequest`; what
equals the default is left out, and the seed is always written, since it draws everything.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping

from tdelta.errors import UsageError
from tdelta.records import RunSettings
from tdelta.session.request import RunRequest
from tdelta.session.studies import request_for

_FLAGS: Mapping[str, str] = {
    "engine": "--engine",
    "scale": "--scale",
    "server_binary": "--server-binary",
    "scope": "--scope",
    "encrypted_dir": "--encrypted-dir",
    "load": "--load",
    "load_operations": "--load-operations",
    "library": "--library",
    "workload": "--workload",
    "database": "--database",
    "restore": "--restore",
    "baseline": "--baseline",
    "encrypted": "--encrypted",
    "schema": "--schema",
    "threads": "--threads",
    "cache": "--cache",
    "page_size": "--page-size",
    "journal_mode": "--journal-mode",
    "synchronous": "--synchronous",
    "temp_store": "--temp-store",
    "reserve": "--reserve",
    "key": "--key",
    "size_bytes": "--size",
    "rate": "--rate",
    "at": "--at",
    "arrivals": "--arrivals",
    "trial_seconds": "--trial-seconds",
    "slice_seconds": "--slice",
    "discard_seconds": "--discard",
    "blocks_per_round": "--blocks",
    "step_blocks": "--step-blocks",
    "max_seconds": "--max-time",
    "rope": "--rope",
    "budget": "--budget",
    "metric": "--metric",
    "slo_seconds": "--slo",
    "directory": "--dir",
    "store": "--store",
}
_PLAN_FLAGS = {**_FLAGS, "assurance": "--assurance"}
_DSNS = ("baseline", "encrypted")
_DECIDING = ("study", "engine", "scale", *_DSNS)
"""What decides the defaults of the rest."""

_SIZES = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3), ("B", 1))
_DURATIONS = frozenset({"max_seconds", "slice_seconds", "discard_seconds"})
_SHARES = frozenset({"cache", "at", "rope", "budget"})
_MINUTE = 60.0
_TIMES = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))


def repeat_command(settings: RunSettings) -> str:
    """The ``tdelta run`` that draws the same run again, quoted for a shell."""
    return shlex.join([*_run_words(settings.options), "--seed", str(settings.seed)])


def run_command(options: Mapping[str, object]) -> str:
    """The ``tdelta run`` with these options and a seed of its own, quoted for a shell."""
    return shlex.join(_run_words(options))


def _run_words(options: Mapping[str, object]) -> list[str]:
    without = _without_options(options)
    varied = _varied(options)
    words = ["tdelta", "run", *_study(options)]
    for name, flag in _FLAGS.items():
        value = options.get(name)
        default = _default_of(name, options, without)
        is_default = value == default and name not in without.vary
        is_default = is_default and not (name == "trial_seconds" and _is_open(options, varied))
        is_default = is_default and not (name == "rope" and options.get("rope_is_given"))
        if value is not None and not is_default and name not in varied:
            words += [flag, _word(name, value)]
    return [*words, *_vary(varied, without), *_rounds(options, without), *_twins(options, without)]


def next_command(command: str, settings: RunSettings, *words: str) -> str:
    """A command on this run, by its id and from the store it is in: ``tdelta show ID --store ./runs.sqlite``.

    Args:
        command: what comes between ``tdelta`` and the run's id, e.g. ``run --resume``.
        settings: the run's.
        words: what comes after the id.
    """
    store = settings.options.get("store")
    where = ["--store", str(store)] if store else []
    return shlex.join(["tdelta", *command.split(), settings.run_id, *words, *where])


def plan_command(run_ids: Iterable[str], options: Mapping[str, object], *words: str) -> str:
    """The ``tdelta plan`` that goes over stored runs, quoted for a shell.

    Args:
        run_ids: the runs.
        options: by the field names of a run's request, and ``assurance``; all of them are written.
        words: what comes between.
    """
    given = (word for name, value in options.items() for word in (_PLAN_FLAGS[name], _word(name, value)))
    return shlex.join(["tdelta", "plan", *run_ids, *words, *given])


def _is_open(options: Mapping[str, object], varied: Mapping[str, object]) -> bool:
    """An open loop has another default for the length of a trial."""
    return options.get("rate") is not None or options.get("at") is not None or "at" in varied


def _without_options(options: Mapping[str, object]) -> RunRequest:
    """What would run if only the study were named; a study that this version no longer has is no study."""
    try:
        return request_for({name: options[name] for name in _DECIDING if options.get(name)})
    except UsageError:
        return RunRequest()


def _default_of(name: str, options: Mapping[str, object], without: RunRequest) -> object:
    """What runs where this option is not typed. DSNs are always typed, and say the engine."""
    if name in _DSNS:
        return None
    if name == "scale":
        return RunRequest().scale
    return _study_engine(options) if name == "engine" and not options.get("baseline") else getattr(without, name)


def _study_engine(options: Mapping[str, object]) -> str:
    """The engine that runs where none is named."""
    return _without_options({"study": options.get("study")}).engine


def _study(options: Mapping[str, object]) -> list[str]:
    study = options.get("study")
    return [str(study)] if study else []


def _word(name: str, value: object) -> str:
    if name in _SHARES and isinstance(value, int | float):
        return _percent(value)
    if name == "slo_seconds" and isinstance(value, int | float):
        return typed_time(value)
    if name == "size_bytes":
        return _size(int(str(value)))
    if name in _DURATIONS and isinstance(value, int | float):  # whole seconds from Python
        return _duration(value)
    return _plain(value) if isinstance(value, float) else str(value)


def _duration(seconds: float) -> str:
    """``90s``, and whole minutes from two of them on as minutes: ``30m``."""
    is_minutes = seconds >= 2 * _MINUTE and seconds % _MINUTE == 0
    return f"{_plain(seconds / _MINUTE)}m" if is_minutes else f"{_plain(seconds)}s"


def _percent(value: float) -> str:
    return f"{_plain(100 * value)}%"


def _plain(value: float) -> str:
    """All the figures that were typed, and none of the dust of binary fractions."""
    return f"{value:.12g}"


def typed_time(seconds: float) -> str:
    """A time as ``--slo`` takes it: ``20ms``, ``250us``, ``1.5s``."""
    unit, size = next((step for step in _TIMES if seconds >= step[1]), _TIMES[-1])
    return f"{_plain(seconds / size)}{unit}"


def _size(size_bytes: int) -> str:
    return next(f"{size_bytes // step}{unit}" for unit, step in _SIZES if size_bytes % step == 0)


def _varied(options: Mapping[str, object]) -> dict[str, list[object]]:
    varied = options.get("vary")
    return {str(name): list(levels) for name, levels in varied.items()} if isinstance(varied, Mapping) else {}


def _vary(varied: Mapping[str, list[object]], without: RunRequest) -> list[str]:
    """Every factor whose levels are not the study's."""
    own = {name: levels for name, levels in varied.items() if levels != list(without.vary.get(name, ()))}
    return [word for name, levels in own.items() for word in ("--vary", f"{name}={_levels(name, levels)}")]


def _levels(factor: str, levels: Iterable[object]) -> str:
    write: Callable[[object], str] = str
    if factor in _SHARES:
        write = _cache_level
    return ",".join(write(level) for level in levels)


def _cache_level(level: object) -> str:
    return _percent(level) if isinstance(level, int | float) else str(level)


def _rounds(options: Mapping[str, object], without: RunRequest) -> list[str]:
    least, most = (options.get(name, getattr(without, name)) for name in ("min_rounds", "max_rounds"))
    if (least, most) == (without.min_rounds, without.max_rounds):
        return []
    return ["--rounds", f"{least}" if most is None else f"{least}..{most}"]


def _twins(options: Mapping[str, object], without: RunRequest) -> list[str]:
    words = ["--cold"] if options.get("cold") else []
    words += ["--trace"] if options.get("trace") else []
    words += ["--assume-encrypted"] if options.get("assume_encrypted") else []
    words += ["--profile"] if options.get("profile") and not without.profile else []
    words += ["--aa"] if options.get("aa") else []
    words += [] if options.get("aa_twin", True) else ["--no-aa-twin"]
    words += ["--no-bb-twin"] if options.get("bb_twin", False) is False and not options.get("aa") else []
    words += [] if options.get("use_calibration", True) else ["--no-calibration"]
    planted = options.get("plant")
    shares = planted if isinstance(planted, list | tuple) else ()
    return words + [word for value in shares for word in ("--plant", _percent(value))]
