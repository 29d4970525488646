"""From paths to observations: every file is recognized by its content, named, and read by the importer that knows it.

An importer is one file and one entry of `IMPORTERS`. No two of them recognize one file; a test holds that over all
fixtures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from tdelta.errors import ImportFault
from tdelta.importers import benchbase, hammerdb, swingbench
from tdelta.importers.csv_rows import CsvRows
from tdelta.importers.cutting import Named
from tdelta.importers.merging import together
from tdelta.importers.naming import namings
from tdelta.importers.pgbench import PgbenchReport
from tdelta.importers.pgbench_log import PgbenchAggregates, PgbenchLog
from tdelta.importers.protocol import Importer, Naming, Source
from tdelta.importers.reading import FileSource, Progress, excerpt, expand, looks_binary
from tdelta.importers.sysbench import Sysbench
from tdelta.records.observed import Observation

IMPORTERS: tuple[Importer, ...] = (
    Sysbench(),
    PgbenchReport(),
    PgbenchLog(),
    PgbenchAggregates(),
    *swingbench.IMPORTERS,
    *hammerdb.IMPORTERS,
    *benchbase.IMPORTERS,
    CsvRows(),
)

KNOWN_FORMATS = (
    ("sysbench", "its output ('[ 10s ] thds: 16 tps: …', 'SQL statistics:'), or its CSV hook's rows"),
    ("pgbench", "its report ('tps = …'), its log (-l), its log's aggregates (--aggregate-interval)"),
    ("Swingbench", "its results file in XML ('<Results …>')"),
    ("HammerDB", "'TEST RESULT : System achieved …', a job's JSON, its jobs database, its time profile"),
    ("BenchBase", "'*.raw.csv', '*.samples.csv', '*.summary.json'"),
    ("CSV", "a header such as 'condition,transaction,response_ms' or 'condition,threads,tps'"),
)
"""What the formats look like, for those whose file is none of them."""

_OF_YOUR_OWN = "give a CSV with a row for each response time"
WITH_TIMES: Mapping[str, str] = {
    "sysbench": "run sysbench with --histogram (1.0 and newer)",
    "pgbench": "run pgbench with -l, and give its log",
    "pgbench aggregate log": "run pgbench with -l and without --aggregate-interval",
    "Swingbench": f"tdelta reads no response times from Swingbench's files: {_OF_YOUR_OWN}",
    "HammerDB jobs": f"tdelta reads no response times from HammerDB's files: {_OF_YOUR_OWN}",
    "HammerDB database": f"tdelta reads no response times from HammerDB's files: {_OF_YOUR_OWN}",
    "HammerDB profile": f"tdelta reads no response times from HammerDB's files: {_OF_YOUR_OWN}",
    "BenchBase readings": "give BenchBase's *.raw.csv",
    "BenchBase summary": "give BenchBase's *.raw.csv",
    "CSV": _OF_YOUR_OWN,
}
"""By importer: what to do for single response times, or a histogram of them, where its files have none."""

_PER_THREAD = re.compile(r"\.(?P<first>\d+)(?:\.(?P<second>\d+))?$")
_ENDS = re.compile(r"(?:\.(?:gz|txt))+$")
_LOWEST_PROCESS = 300
"""``pgbench_log.PID`` against ``mine.log.1``: a number below is a thread's. Linux gives lower ids to itself."""


@runtime_checkable
class SaysConditions(Protocol):
    """An importer of files that may say their conditions themselves (a column of a CSV)."""

    def says_conditions(self, source: Source) -> bool:
        """Whether this file does."""


@runtime_checkable
class PerThread(Protocol):
    """An importer of files of which a tool writes one for each of its threads."""

    is_per_thread: bool


Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Recognized:
    path: Path
    importer: Importer
    named: Named


def read_files(
    paths: Iterable[Path],
    conditions: Sequence[str] = (),
    *,
    progress: Progress = lambda _: None,
    told: Told = lambda _: None,
    importers: Sequence[Importer] = IMPORTERS,
) -> Iterator[Observation]:
    """All observations in files and folders, in the files' order.

    All files are recognized and named before the first is read, so that what cannot be done is said at once.

    Args:
        paths: files and folders as the user named them.
        conditions: his ``name=glob``, in their order; see `tdelta.importers.naming`.
        progress: told of every byte read.
        told: told of files in folders that are no results and were left out.
        importers: the registry, for tests.

    Raises:
        ImportFault: files that cannot be found, recognized, named or read; as many faults at once as there are.
    """
    files = _recognized(expand(paths), told, importers)
    names = namings([file.named for file in files], conditions)
    faults: list[str] = []
    runs: dict[object, list[_Recognized]] = {}
    for file in files:
        runs.setdefault(_run_of(file, names[file.path]), []).append(file)
    for run in runs.values():
        try:
            if len(run) == 1:
                yield from _observations(run[0], names, progress)
            else:
                yield from together([it for file in run for it in _observations(file, names, progress)])
        except ImportFault as fault:
            faults.append(str(fault))
    if faults:
        raise ImportFault("\n".join(faults))


def recognize(source: Source, importers: Sequence[Importer] = IMPORTERS) -> Importer:
    """The importer that knows this file.

    Raises:
        ImportFault: none does, or more than one.
    """
    found = [importer for importer in importers if importer.recognizes(source)]
    if len(found) == 1:
        return found[0]
    if found:
        names = " and ".join(importer.name for importer in found)
        raise ImportFault(f"{source.name}: expected one format, found what looks like {names}. Split the file")
    kind = looks_binary(source.head)
    line = source.head.split(b"\n", 1)[0].rstrip(b"\r")
    what = kind or f"a file that begins {excerpt(line)}"
    raise ImportFault(f"{source.name}: expected results of a known format, found {what}")


def _recognized(paths: Sequence[tuple[Path, bool]], told: Told, importers: Sequence[Importer]) -> list[_Recognized]:
    """Files with their importers. What lies in a folder without being results is left out, unless all of it is so."""
    found: list[_Recognized] = []
    faults: list[str] = []
    left_out: list[str] = []
    for path, is_asked_for in paths:
        try:
            source = FileSource(path)
            importer = recognize(source, importers)
        except ImportFault as fault:
            (faults if is_asked_for else left_out).append(str(fault))
            continue
        says = isinstance(importer, SaysConditions) and importer.says_conditions(source)
        process, thread = _process_and_thread(path) if isinstance(importer, PerThread) else (None, None)
        found.append(_Recognized(path, importer, Named(path, importer.name, says, thread, process)))
    if faults or not found:
        shapes = "\n".join(f"  {name:<10}  {looks}" for name, looks in KNOWN_FORMATS)
        raise ImportFault("\n".join((*faults, *(left_out if not found else ()), "Formats that are read:", shapes)))
    for words in left_out:
        told(words)
    return found


def _observations(file: _Recognized, names: Mapping[Path, Naming], progress: Progress) -> Iterator[Observation]:
    yield from file.importer.read(FileSource(file.path, progress=progress), names[file.path])


def _process_and_thread(path: Path) -> tuple[str | None, str | None]:
    """``pgbench_log.4711.2`` is of process 4711, thread 2; the first thread's file has no number for it."""
    match = _PER_THREAD.search(_ENDS.sub("", path.name))
    if match is None:
        return None, None
    first, second = match["first"], match["second"]
    if second is not None:
        return first, second
    return (first, "0") if int(first) >= _LOWEST_PROCESS else (None, first)


def _run_of(file: _Recognized, naming: Naming) -> object:
    """What files of one run have in common; files without threads are runs of their own."""
    if file.named.thread is None:
        return file.path
    return file.importer.name, naming, file.named.process
