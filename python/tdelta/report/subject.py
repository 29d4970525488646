"""The subject of a run, in the words that begin its answer: engine, workload, data and cache, threads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tdelta.design.factors import cache_bytes
from tdelta.design.takes import Takes
from tdelta.document.labels import build_label, cache_text, is_served
from tdelta.document.quantities import amounts, counted
from tdelta.engines.registry import profile
from tdelta.findings.twin_settings import SettingsCompared
from tdelta.records import Role, RunResult, RunSettings

_LIBRARY = "library under test"
_AS_ASKED = 0.1
"""A cache in force that is farther off the one asked for than this is named by its size."""

_MOST_WORDS = 2


def subject(result: RunResult) -> str:
    """``SQLite 3.54.0 (SQLite3 Multiple Ciphers 2.6.1), order-entry, 50 MB, 10% cache, 1 thread``.

    A factor that varies is left out: each condition is named by it.
    """
    return ", ".join(_parts(result))


def _parts(result: RunResult) -> Iterator[str]:
    settings = result.settings
    yield _product(result)
    yield _work(settings)
    yield from _data(result)
    if result.loop.arrival_rates:
        yield "at fixed rates"
    threads = _level("threads", settings)
    if isinstance(threads, int):
        yield counted(threads, "thread")


def _product(result: RunResult) -> str:
    settings = result.settings
    if (own := settings.external_servers) is not None:
        names = dict.fromkeys(f"{one.product} {one.version}" for one in (own.baseline, own.encrypted))
        return f"your servers ({' and '.join(names)})"
    if settings.compares_builds and settings.external_servers is None:
        return " and ".join(dict.fromkeys(build_label(condition, settings) for condition in settings.conditions))
    product = profile(settings.engine).product.partition(",")[0]
    library = str(result.versions.get(_LIBRARY, "")) or product
    if is_served(settings):
        return f"a private {library} server"
    name, _, below = library.partition(f", {product} ")
    if below:
        return f"{product} {below} ({name})"
    return library if re.search(rf"\b{product}\b", name) else f"{product} ({name})"


def _work(settings: RunSettings) -> str:
    load = settings.options.get("load_generator")
    if isinstance(load, str):
        return f"load `{' '.join(load.split()[:_MOST_WORDS])}`"
    facts = settings.database
    if facts is None:
        return settings.workload
    return f"{facts.file}, {'the proposed workload' if facts.proposed else settings.workload}"


def _data(result: RunResult) -> Iterator[str]:
    """How much data, and what share of it the cache holds; of the user's own servers' cache nothing was asked."""
    settings = result.settings
    size = settings.options.get("size_bytes") if settings.database is None else settings.database.size_bytes
    cold = ", cold" if settings.options.get("cold") else ""
    if not isinstance(size, int):
        return
    data = megabytes(size)
    if settings.external_servers is not None and settings.database is None:
        has_controls = any(condition.role is Role.BB for condition in settings.conditions)
        yield f"{'2 × ' if has_controls else ''}{data} on each server{cold}"
        return
    cache = _level("cache", settings)
    is_limited = settings.external_servers is None and Takes.CACHE in profile(settings.engine).takes
    if not is_limited or not isinstance(cache, int | float | str):
        yield f"{data}{cold}"
        return
    compared = result.one(SettingsCompared)
    in_force = None if compared is None else _cache_bytes(compared.shared, profile(settings.engine).cache_setting)
    if in_force is not None and abs(in_force / max(1.0, cache_bytes(cache, size)) - 1.0) > _AS_ASKED:
        yield f"{data}, {megabytes(in_force)} cache ({cache_text(cache)} requested){cold}"
    else:
        yield f"{data}, {cache_text(cache)} cache{cold}"


def _level(name: str, settings: RunSettings) -> object:
    """The value of an option in all conditions, by ``--vary`` with one level, too; None where they differ in it."""
    levels = {condition.get(name) for condition in settings.conditions}
    if len(levels) > 1:
        return None
    (level,) = levels or {None}
    return settings.options.get(name) if level is None else level


def _cache_bytes(shared: Mapping[str, str], setting: str) -> int | None:
    """The size of the cache as it was read back from the twins; None where that is not among their settings."""
    match = re.fullmatch(r"(\d+) ?(B|kB|MB|GB|8kB)?", shared.get(setting, ""))
    if match is None:
        return None
    units = {"kB": 1 << 10, "8kB": 8 << 10, "MB": 1 << 20, "GB": 1 << 30}
    return int(match[1]) * units.get(match[2] or "", 1)


def megabytes(size: int) -> str:
    """As ``--size`` takes it where it is a whole number of megabytes, else in binary units."""
    for unit, whole in (("MB", 10**6), ("MiB", 1 << 20)):
        if size >= whole and size % whole == 0:
            return f"{size // whole:,} {unit}"
    return amounts((size,), "bytes")[0]
