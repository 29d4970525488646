"""From paths to observations: every file is recognized by its content, named, and read by the importer that knows it.

A format is one module and one entry of `tdelta.importers.formats.FORMATS`. No two importers of tools recognize one
file; a test holds that over all fixtures, and the user decides where strangers' files break it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tdelta.errors import ImportFault, UnknownName
from tdelta.importers.conditions import NAME, Argument, Named, namings
from tdelta.importers.formats import FORMATS, format_lines
from tdelta.importers.importer import Importer, Levels, Naming
from tdelta.importers.merging import one_run_each, together
from tdelta.importers.reading import FileSource, Progress, Source, View, excerpt, expand, looks_binary, printable
from tdelta.inputs import conflict, missing, unexpected
from tdelta.messages import Refusal
from tdelta.records.conditions import Level
from tdelta.records.observed import Observation

# Output that went through something which put a prefix before each line: a container's log, a time stamp,
# Ansible.
#
# Only what is beyond doubt no part of a tool's line is taken off: ``sysbench_1  |`` of docker compose, dates
# and times, ``May  1 10:00:00 host name[1]:`` of syslog, quotation marks and a comma of a list of lines in
# JSON.

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PREFIX = re.compile(
    r"\s*(?:"
    r"[\w.-]{1,100}\s*\|(?=\s|$)"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?\s?(?:Z|[+-]\d\d:?\d\d|UTC)?\]?(?::?(?=\s|$)|,(?=\s))"
    r"|\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?:?(?=\s|$)"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,100} [\w./-]{1,100}(?:\[\d{1,9}\])?:(?=\s|$)"
    r")",
    re.ASCII,
)
_QUOTED = re.compile(r'\s*"(.*)",?\s*$')
_MOST_PREFIXES = 3


def without_prefix(line: str) -> str:
    text = _COLOUR.sub("", line) if "\x1b" in line else line
    if quoted := _QUOTED.match(text):
        text = quoted[1]
    for _ in range(_MOST_PREFIXES):
        match = _PREFIX.match(text)
        if match is None:
            break
        text = text[match.end() :]
    return text.lstrip()


class Unprefixed(View):
    @property
    def head(self) -> bytes:
        lines = self._source.head.decode("utf-8", "ignore").split("\n")
        return "\n".join(map(without_prefix, lines)).encode()

    def text_lines(self) -> Iterator[tuple[int, str]]:
        for number, line in self._source.text_lines():
            yield number, without_prefix(line)


IMPORTERS: tuple[Importer, ...] = tuple(importer for it in FORMATS for importer in it.importers())

WITH_TIMES: Mapping[str, str] = {importer.name: it.times for it in FORMATS for importer in it.importers()}
"""By importer: what to do for single response times, or a histogram of them, where its files have none."""

_HINT = re.compile(r"\b[te]ps\b|statistics:|Test execution summary:|Latency histogram|TEST RESULT :|transaction")
"""The sign of every line that marks a format: most lines of other files lack it and are passed over."""
_HAMMERDB_JOBS = "HammerDB's jobs timing, tcount or summaryjson"
_OTHERS = {
    "mysqlslap": re.compile(
        r"Average number of seconds to run all queries:|^[\w-]*,mixed,[\d.]+,[\d.]+,[\d.]+,\d+,\d+$", re.M
    ),
    "go-tpc": re.compile(r"^\[(?:Current|Summary)\] \w+ - Takes\(s\): ", re.MULTILINE),
    "Go benchmarks": re.compile(r"^Benchmark\S*\s+\d+\s+[\d.]+ \S+/op", re.MULTILINE),
    "HammerDB's time profile": re.compile(r"Hammerdb Time Profile Report @|^>>>>> (?:VIRTUAL|SUMMARY)", re.MULTILINE),
    _HAMMERDB_JOBS: re.compile(r'"(?:ratio_pct|[\w ]{1,40} tpm)"\s*:|"hammerdb-job-report-v', re.ASCII),
    "go-ycsb": re.compile(r"^\w+\s+- Takes\(s\): [\d.]+, Count: ", re.MULTILINE),
}
"""Tools whose output is known and not read, by what only they write."""
_AS_CSV = "put its figures into a CSV (condition,run,threads,tps, or n,mean,sd in ms)"
_NEAREST = {_HAMMERDB_JOBS: "use jobs ID result"}
_PER_THREAD = re.compile(r"\.(?P<first>\d+)(?:\.(?P<second>\d+))?$")
_ENDS = re.compile(r"(?:\.(?:gz|txt))+$")
_LOWEST_PROCESS = 300
"""``pgbench_log.PID`` against ``mine.log.1``: a number below is a thread's. Linux gives lower ids to itself."""


OnRefusal = Callable[[Refusal], None]


@dataclass(frozen=True, slots=True)
class _Recognized:
    path: Path
    importer: Importer
    named: Named
    is_prefixed: bool


def read_files(
    arguments: Sequence[Argument],  # files and folders, and their conditions; see `tdelta.importers.conditions`
    *,
    unit: str | None = None,
    column: str | None = None,
    input_format: str | None = None,  # what the files are, where he says it: a tool of `FORMATS`, or an importer
    progress: Progress = lambda _: None,
    on_refusal: OnRefusal = lambda _: None,  # told of files in folders that are no results and were left out
    importers: Sequence[Importer] = IMPORTERS,
) -> tuple[Observation, ...]:
    """All observations in files and folders, in the files' order.

    All files are recognized and named before the first is read, so that what cannot be done is said at once. Raises
    `ImportFault`: files that cannot be found, recognized, named or read; as many faults at once as there are;
    `UsageError`: no such format.
    """
    files = _recognized(arguments, on_refusal, _asked_for(input_format, importers), column)
    if column is not None:
        _must_have_columns(files)
    names = {
        path: replace(naming, unit=unit, column=column)
        for path, naming in namings([file.named for file in files]).items()
    }
    if len(files) == 1 and _must_say_conditions(files[0]):
        names = {path: replace(naming, condition=None) for path, naming in names.items()}
    faults: list[Refusal] = []
    texts: list[str] = []
    found: list[Observation] = []
    runs: dict[object, list[_Recognized]] = {}
    for file in files:
        runs.setdefault(_run_of(file, names[file.path]), []).append(file)
    for run in runs.values():
        try:
            if len(run) == 1:
                found += _observations(run[0], names, progress)
            else:
                found += together([it for file in run for it in _observations(file, names, progress)])
        except ImportFault as fault:
            faults += fault.refusals
            texts.append(str(fault))
    if faults:
        raise ImportFault(*faults, text="\n".join(texts))
    return _without_needless_names(tuple(one_run_each(found)))


def _without_needless_names(found: tuple[Observation, ...]) -> tuple[Observation, ...]:
    """Names of files are no level where other levels tell them apart as well: ``thr16`` of 16 threads."""
    others: dict[Level, set[Levels]] = {}
    for one in found:
        levels = dict(one.group.levels)
        if (name := levels.pop(NAME, None)) is not None:
            others.setdefault(name, set()).add(tuple(levels.items()))
    if any(len(of) > 1 for of in others.values()) or len(set.union(set(), *others.values())) < len(others):
        return found
    return tuple(
        replace(one, group=replace(one.group, levels=tuple(it for it in one.group.levels if it[0] != NAME)))
        for one in found
    )


def recognize(
    source: Source, importers: Sequence[Importer] = IMPORTERS, column: str | None = None
) -> tuple[Importer, Source]:
    """The importer that knows this file, and the file as that importer reads it.

    By its head, where that shows its format; else by the first line that only one tool prints, wherever it stands and
    whatever prefix a container's log or a time stamp put before it; else by a column that the user names. Raises
    `ImportFault`: none does, or more than one.
    """
    found = [it for it in importers if not it.is_general and it.recognizes(source)]
    found = found or [it for it in importers if it.is_general and it.recognizes(source)]
    if len(found) == 1:
        return found[0], source
    if found:
        names = " and ".join(importer.name for importer in found)
        raise ImportFault(Refusal.of("several-formats", formats=names, first=found[0].name).at(source.name))
    kind = looks_binary(source.head)
    within = None if kind else _by_any_line(source, importers)
    if within is not None:
        return within
    if column is not None and not kind:
        for importer in importers:
            if importer.has_column(source, column):
                return importer, source
    line = source.head.split(b"\n", 1)[0].rstrip(b"\r")
    what = kind or _of_other_tool(source) or f"a file that begins {excerpt(line)}"
    raise ImportFault(unexpected("results of a known format", what, source.name))


def _of_other_tool(source: Source) -> str | None:
    """A file of a tool that is not read, with the nearest way to have it read; None where it is not known."""
    found = (tool for tool, mark in _OTHERS.items() if mark.search(source.head_text))
    return next((f"the output of {tool}, which is not read: {_NEAREST.get(tool, _AS_CSV)}" for tool in found), None)


def _asked_for(name: str | None, importers: Sequence[Importer]) -> Sequence[Importer]:
    """The importers that may know the files: all, or those of the format that the user says."""
    if name is None:
        return importers
    asked = name.strip().lower()
    of_tool = {it.name for known in FORMATS if known.tool.lower() == asked for it in known.importers()}
    found = [it for it in importers if it.name in of_tool or it.name.lower() == asked]
    if not found:
        raise UnknownName("input format", name, [it.tool for it in FORMATS])
    return found


def _must_say_conditions(alone: _Recognized) -> bool:
    """Whether a table that stands alone has no column known as the condition: its own name would be the only one."""
    file, importer = alone.named, alone.importer
    return importer.has_conditions and not file.says_itself and file.argument.condition is None


def _must_have_columns(files: Sequence[_Recognized]) -> None:
    faults = [
        conflict("--column", f"a file of {file.importer.name}").at(printable(str(file.path)))
        for file in files
        if not file.importer.has_columns
    ]
    if faults:
        raise ImportFault(*faults)


def _by_any_line(source: Source, importers: Sequence[Importer]) -> tuple[Importer, Source] | None:
    try:
        for _, line in source.text_lines():
            if _HINT.search(line) is None:
                continue
            for importer in importers:
                if importer.is_mark(line.strip()):
                    return importer, source
                if importer.is_mark(without_prefix(line).strip()):
                    return importer, Unprefixed(source)
    except ImportFault:  # a line without end, or no text: not a result
        return None
    return None


def _recognized(
    arguments: Sequence[Argument], on_refusal: OnRefusal, importers: Sequence[Importer], column: str | None
) -> list[_Recognized]:
    """Files with their importers. What lies in a folder without being results is left out, unless all of it is so."""
    found: list[_Recognized] = []
    faults: list[Refusal] = []
    left_out: list[Refusal] = []
    by_path = {it.path: it for it in arguments}
    for path, is_file in expand(by_path):
        argument = next(by_path[it] for it in (path, *path.parents) if it in by_path)
        is_asked_for = is_file and argument.is_asked_for
        try:
            file = _recognized_one(path, argument, importers, column, must_have_results=not is_asked_for)
        except ImportFault as fault:
            (faults if is_asked_for else left_out).extend(fault.refusals)
            continue
        found.append(file)
    if faults or not found:
        shapes = "\n".join(f"  {line}" for line in format_lines())
        raise ImportFault(*faults, *(left_out if not found else ()), Refusal.of("formats", formats=shapes))
    for said in left_out:
        on_refusal(said)
    return found


def _recognized_one(
    path: Path, argument: Argument, importers: Sequence[Importer], column: str | None, *, must_have_results: bool
) -> _Recognized:
    importer, source = recognize(FileSource(path), importers, column)
    if must_have_results and not importer.has_results(source):
        raise ImportFault(missing(f"a result in this {importer.name} output").at(source.name))
    says = importer.says_conditions(source)
    process, thread = _process_and_thread(path) if importer.is_per_thread else (None, None)
    named = Named(path, argument, importer.name, says, thread, process)
    return _Recognized(path, importer, named, isinstance(source, Unprefixed))


def _observations(file: _Recognized, names: Mapping[Path, Naming], progress: Progress) -> Iterator[Observation]:
    source: Source = FileSource(file.path, progress=progress)
    yield from file.importer.read(Unprefixed(source) if file.is_prefixed else source, names[file.path])


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
    """Common facts of the files of one run; files without threads are runs of their own."""
    if file.named.thread is None:
        return file.path
    return file.importer.name, naming, file.named.process
