"""The factors that can be varied, and how one level of each is written.

Validation at the edge: :func:`parse_vary` reports every fault of ``--vary`` at once. Which ciphers exist is the
engine's to say, not the design's; here a cipher is only a well-formed name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from tdelta.design.actions import DURING, WORK_ACTIONS, parse_action
from tdelta.design.storages import STORAGES, parse_storage
from tdelta.design.takes import Takes
from tdelta.errors import UnknownName, UsageError, raise_together
from tdelta.messages import Refusal
from tdelta.records import Level

DEFAULT_PAGE_SIZE = 4096
PAGE_SIZES = tuple(2**power for power in range(9, 17))
"""The page sizes SQLite has, bytes (https://sqlite.org/pragma.html#pragma_page_size)."""


AES_INSTRUCTIONS = ("on", "off")
"""Whether the twin's process may use the CPU's AES instructions; ``on`` is the baseline's."""

SCOPES = ("data", "+log", "+temp", "+binlog", "all")
"""The files that a server encrypts: its tables; these and one thing more; all that it can."""

WORKLOAD_WORKS = ("warm", "cold")
"""The levels of ``work`` whose trials run the workload; a trial of any other level is one action."""

WORKS = (*WORKLOAD_WORKS, "load", "rebuild", "routine", *WORK_ACTIONS)
"""The work of a trial: transactions, whose data is in caches as far as it fits or not at all; one load of all rows; one
rebuild of the tables; one call of the workload's stored routine; one action."""

COMPRESSIONS = ("none", "zlib", "lz4")
"""How a server compresses the pages of its tables before it encrypts them."""

REPLICATIONS = ("none", "async", "semisync")
"""A replica while its primary's load runs: none, it follows, commits wait for it."""

KEYS = ("file", "vault", "vault-down")
"""Where a server has its keys from: a file, a key service, one that no longer answers once the server has started."""

PROGRAM = "sqlldr"
LOADED_BY = ("direct", "arrays", PROGRAM)
"""How rows are loaded: by the driver past the server's SQL, by its statements with arrays of values, or by the vendor's
own program from a file."""

VERSIONS = ("server", "library")
"""Factors whose levels are programs or libraries, each under test: versions of the same product."""

MOST_LEVELS, MOST_CONDITIONS = 100, 1000
"""Of one factor, and of a run."""

_NUMBER = r"(\d+(?:\.\d*)?|\.\d+)"
_RATE = re.compile(rf"{_NUMBER}(?:\s*/\s*s)?")
_LATENCY = re.compile(r"vault:latency=([1-9][0-9]{0,3})ms")
_SIZE = re.compile(rf"{_NUMBER}\s*([A-Za-z]*)")
_BYTES = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "k": 2**10,
    "m": 2**20,
    "g": 2**30,
    "t": 2**40,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}

BARE_SHARE_MAX = 2.0
"""Above it a share without ``%`` is refused: whoever writes ``cache=10`` means 10%, not 1000%."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor that can be varied.

    ``expects`` says how a level is written, for people. ``parse`` turns the text of one level into its value and raises
    ``ValueError`` for anything else. ``takes`` is whose it is, of a factor that no option sets.
    """

    name: str
    expects: str
    parse: Callable[[str], Level]
    takes: Takes | None = None


def parse_level(factor: str, text: str) -> Level:
    """Parse one level.

    Returns:
        The level: for ``cache`` a share (``10%`` is 0.1) or the text of a size, bytes for ``page_size``, else a count
        or a name.
    """
    if factor not in FACTORS:
        raise UnknownName("factor", factor, FACTORS)
    known = FACTORS[factor]
    try:
        return known.parse(text.strip())
    except ValueError as error:
        raise UsageError(Refusal.of("unexpected", expected=known.expects, found=text.strip()).at(factor)) from error


def require_few(vary: Mapping[str, Sequence[object]]) -> None:
    """See that there are not too many levels of a factor, nor conditions: each condition is compared with others."""
    for factor, levels in vary.items():
        if len(levels) > MOST_LEVELS:
            raise UsageError(Refusal.of("too-many", what=f"levels of {factor}", most=MOST_LEVELS))
    conditions = math.prod(max(1, len(levels)) for levels in vary.values())
    if conditions > MOST_CONDITIONS:
        raise UsageError(Refusal.of("too-many", what="combinations of levels", most=MOST_CONDITIONS))


def parse_vary(items: Iterable[str]) -> dict[str, tuple[Level, ...]]:
    """Parse the values of ``--vary``, e.g. ``["cipher=none,aes-256", "threads=1,4"]``.

    Returns:
        The levels of each factor, in the user's order.
    """
    varied: dict[str, tuple[Level, ...]] = {}
    faults: list[UsageError] = []
    for item in items:
        name, _, text = (part.strip() for part in item.partition("="))
        name = name.replace("-", "_")
        if not name or not all(part.strip() for part in text.split(",")):
            faults.append(
                UsageError(
                    Refusal.of("unexpected", expected="FACTOR=LEVEL,LEVEL such as threads=1,4", found=item).at("--vary")
                )
            )
        elif name in varied:
            faults.append(UsageError(Refusal.of("twice", what=f"--vary {name}=…")))
        else:
            require_few({name: text.split(",")})
            varied[name] = _parse_levels(name, text, faults)
    raise_together(faults, "--vary: ")
    require_few(varied)
    return varied


def _parse_levels(name: str, text: str, faults: list[UsageError]) -> tuple[Level, ...]:
    if name not in FACTORS:
        faults.append(UnknownName("factor", name, FACTORS))
        return ()
    levels: list[Level] = []
    for part in text.split(","):
        try:
            level = parse_level(name, part)
        except UsageError as fault:
            faults.append(fault)
            continue
        if level in levels:
            faults.append(UsageError(Refusal.of("twice", what=f"{name}={part.strip()}")))
        else:
            levels.append(level)
    return tuple(levels)


def size_bytes(text: str) -> int | None:
    """A size as whole bytes, or None if the text is not one (or does not come out at a whole byte)."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or match[2].lower() not in _BYTES:
        return None
    size = float(match[1]) * _BYTES[match[2].lower()]
    return int(size) if size.is_integer() and size > 0 else None


def size_text(size: int) -> str:
    """A size as it is typed, in the unit in which it is shortest: ``50MB``, ``64MiB``."""
    units = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
    units |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
    return min((f"{size // step}{unit}" for unit, step in units.items() if size % step == 0), key=len)


def cache_level(text: str) -> float | str:
    """A level of the factor ``cache``: a share of the data (``10%`` is 0.1), or a size, as `size_text` writes it.

    Raises:
        ValueError: it is neither.
    """
    size = size_bytes(text) if re.search(r"[A-Za-z]\s*$", text) else None
    return _share(text) if size is None else size_text(size)


def cache_bytes(level: Level, data_bytes: int) -> int:
    size = size_bytes(level) if isinstance(level, str) else round(float(level) * data_bytes)
    assert size is not None  # noqa: S101 - `cache_level` wrote it
    return size


def rate_level(text: str) -> float | str:
    """A level of the factor ``rate``: operations per second (``500`` is 500.0), or a share of capacity (``60%``).

    Raises:
        ValueError: it is neither.
    """
    if text.endswith("%"):
        return f"{100 * _share(text):.12g}%"
    match = _RATE.fullmatch(text)
    if match is None or not 0 < float(match[1]) < math.inf:
        raise ValueError(text)
    return float(match[1])


def share_of_capacity(level: Level) -> float | None:
    """The share in a level of ``rate``; None for operations per second."""
    return share_of_percent(level.removesuffix("%")) if isinstance(level, str) else None


def page_bytes(text: str) -> int | None:
    """The size of a page as whole bytes: a power of two, so that ``8kB`` is 8192 as it is for PostgreSQL."""
    return size_bytes(re.sub(r"(?i)kb\s*$", "KiB", text))


def share_of_percent(number: str) -> float:
    """Per cent as a share, without the dust of binary division: ``7`` is 0.07 and not 0.07000000000000001."""
    return float(f"{number}e-2")


def _cipher(text: str) -> str:
    name = text.lower()
    if not re.fullmatch(r"[a-z0-9]+([-_$#]+[a-z0-9]+)*", name):  # or of a tablespace that is encrypted
        raise ValueError(text)
    return name


def _share(text: str) -> float:
    in_percent = text.endswith("%")
    share = share_of_percent(text.removesuffix("%").strip()) if in_percent else float(text)
    if not math.isfinite(share) or share <= 0 or (share > BARE_SHARE_MAX and not in_percent):
        raise ValueError(text)
    return share


def _named(name: str, levels: Sequence[str], takes: Takes | None = None) -> Factor:

    def parse(text: str) -> str:
        if text.lower() not in levels:
            raise ValueError(text)
        return text.lower()

    return Factor(name, f"one of {', '.join(levels)}", parse, takes)


def _action(known: Sequence[str], text: str) -> str:
    level = text.lower()
    if parse_action(level).name not in known:
        raise ValueError(text)
    return level


def _keys(text: str) -> str:
    level = text.lower()
    if level not in KEYS and not _LATENCY.fullmatch(level):
        raise ValueError(text)
    return level


def key_latency_ms(keys: str) -> int:
    """How long a key service holds each answer back, by a level of ``keys``."""
    found = _LATENCY.fullmatch(keys)
    return int(found[1]) if found else 0


def _server(text: str) -> str:
    if "/" not in text or not text.isprintable():
        raise ValueError(text)
    return str(Path(text).expanduser().absolute())


def _library(text: str) -> str:
    if not text or not text.isprintable():
        raise ValueError(text)
    return str(Path(text).expanduser().absolute()) if "/" in text else text


def _threads(text: str) -> int:
    threads = _whole(text)
    if threads < 1:
        raise ValueError(text)
    return threads


def _page_size(text: str) -> int:
    size = page_bytes(text)
    if size is None or size not in PAGE_SIZES:
        raise ValueError(text)
    return size


def _whole(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):  # int() would take "1_000", " 4" and Arabic digits
        raise ValueError(text)
    return int(text)


FACTORS: Mapping[str, Factor] = MappingProxyType(
    {
        factor.name: factor
        for factor in (
            Factor("cipher", "a cipher's name, such as none or aes-256 (`tdelta engines` lists them)", _cipher),
            _named("aes_instructions", AES_INSTRUCTIONS, Takes.INSTANCES),
            _named("scope", SCOPES),
            Factor(
                "storage",
                f"one of {', '.join(STORAGES)}, or a folder's path with a slash in it",
                parse_storage,
                Takes.INSTANCES,
            ),
            Factor("threads", "a whole number of threads, at least 1", _threads),
            Factor("cores", "a whole number of CPUs that a server may use, at least 1", _threads, Takes.SERVER),
            Factor(
                "cache",
                "a share of the data size above 0, such as 10% or 0.1 (with % above 200%), or a size such as 4GB",
                cache_level,
            ),
            Factor("work", f"one of {', '.join(WORKS)}", partial(_action, WORKS)),
            Factor(
                "during", f"one of {', '.join(DURING)}, maybe with knobs (encrypt:iops=200)", partial(_action, DURING)
            ),
            _named("replication", REPLICATIONS, Takes.SERVER),
            Factor(
                "server", "a path with a slash in it: a server's prefix, bin folder or program", _server, Takes.SERVER
            ),
            Factor("library", "a library's name, or its path with a slash in it", _library),
            _named("compression", COMPRESSIONS, Takes.PAGE_COMPRESSION),
            Factor("keys", f"one of {', '.join(KEYS)}, or vault:latency=20ms", _keys, Takes.KEY_SERVICE),
            Factor(
                "fetch_size", "a whole number of rows that a driver fetches at once, at least 1", _threads, Takes.ARRAYS
            ),
            _named("load_by", LOADED_BY, Takes.BULK_LOADS),
            Factor(
                "maxdop", "a whole number of CPUs that a statement may use, at least 1", _threads, Takes.PARALLELISM
            ),
            Factor(
                "rate",
                "operations per second above 0, such as 500, or 60% of the unencrypted database's maximum",
                rate_level,
            ),
            Factor("page_size", f"bytes, one of {', '.join(map(str, PAGE_SIZES))}", _page_size),
        )
    }
)
"""Every factor by its name, in the order in which people meet them."""
