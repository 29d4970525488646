"""``tdelta analyze``: files of other tools, read by importers and judged by the models of observed results."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tdelta.errors import ImportFault, UsageError
from tdelta.importers.conditions import Argument, assigning, baseline_of, is_about_encryption, parse_arguments
from tdelta.importers.csv_columns import asked_unit
from tdelta.importers.detect import WITH_TIMES, read_files
from tdelta.importers.reading import total_bytes
from tdelta.inference.observed.pictures import ComparisonPicture, analyze_with_pictures
from tdelta.inference.observed.settings import DEFAULT_TOLERANCE, AnalysisSettings, parse_priors
from tdelta.messages import Caution, Refusal
from tdelta.records import RESPONSE_TIME, AnalysisResult, Comparison, Event, Figure, Observation, Origin, Phase, Summary
from tdelta.session.studies import PREFIX, table, tables

_NOWHERE = Origin("", "")


@dataclass(frozen=True, slots=True)
class Distinct:
    """Files without copies, the copies left out, and files that are alike though of different conditions."""

    observations: tuple[Observation, ...]
    left_out: tuple[Caution, ...]
    cautions: tuple[Caution, ...]


def without_copies(observations: Sequence[Observation]) -> Distinct:
    """Leave out a file that holds, figure for figure, what an earlier file of the same conditions holds.

    A single bare figure may be the same by chance and is kept. The same figures under another condition are kept, too,
    and told: whoever compares a file with itself may want to.
    """
    files: dict[str, list[Observation]] = {}
    for one in observations:
        files.setdefault(one.origin.file, []).append(one)
    seen: dict[str, str] = {}
    left_out: dict[str, Caution] = {}
    cautions = []
    for file, found in files.items():
        if len(found) == 1 and isinstance(found[0], Figure):
            continue
        earlier = seen.setdefault(_signature(found, has_condition=True), file)
        alike = seen.setdefault(_signature(found, has_condition=False), file)
        if earlier != file:
            left_out[file] = Caution.of("copy-left-out", other=earlier).at(file)
        elif alike != file:
            cautions.append(Caution.of("copy-suspected", file=file, other=alike))
    kept = tuple(one for one in observations if one.origin.file not in left_out)
    return Distinct(kept, tuple(left_out.values()), tuple(cautions))


def _signature(found: Sequence[Observation], *, has_condition: bool) -> str:
    """All of a file's figures in any order, without where they were read and which run they are said to be of."""

    def bare(one: Observation) -> Observation:
        condition = one.group.condition if has_condition else ""
        return replace(one, group=replace(one.group, condition=condition, run=""), origin=_NOWHERE)

    return f"{has_condition} {sorted(repr(bare(one)) for one in found)}"


STDIN = "-"
"""Standard input, among the files."""
_STDIN = re.compile(rf"(^|=){STDIN}$")
_QUIET_SECONDS = 1.0
_REASONS = 3
_MEGABYTE = 10**6


@dataclass(frozen=True, slots=True)
class AnalysisRequest:
    """The options as typed, field by field as `tdelta.inference.observed.settings.AnalysisSettings` has them.

    Attributes:
        files: files, folders, globs and ``NAME=GLOB``, each of one condition, and published tables as
            ``published:NAME``.
        baseline: the condition that the others are compared with; None: found by its name.
        tolerance: the overhead not cared about, a share; None for the default.
        budget: the overhead allowed, a share; turns the answer into a gate.
        priors: shown beside the default one, as users write them.
        metric: which one decides; None: response time if there is any.
        transaction: which one decides; None: the whole mix if there is one.
        run_sd: what runs of one system differ by, a share, where the user states it: single runs decide with it.
        latency_limit_seconds: what a transaction may take; how often it took longer is told, and never decided on.
        unit: of figures of which a file says none: ``ms``, ``tps``.
        column: where the figures are, in files that have several: a column, a metric, a unit of results.
        input_format: what the files are, where that is not seen from what is in them.
    """

    files: tuple[str, ...]
    baseline: str | None = None
    tolerance: float | None = None
    budget: float | None = None
    priors: tuple[str, ...] = ()
    metric: str | None = None
    transaction: str | None = None
    latency_limit_seconds: float | None = None
    unit: str | None = None
    column: str | None = None
    input_format: str | None = None
    run_sd: float | None = None


@dataclass(frozen=True, slots=True)
class Analysis:
    result: AnalysisResult
    pictures: tuple[ComparisonPicture, ...]


def analyze_files(request: AnalysisRequest, observe: Callable[[Event], None] = lambda _: None) -> Analysis:
    """Read the files, ``-`` for standard input among them, and compare each condition with the baseline.

    Raises:
        UsageError: as `_analyze`, and where standard input is a terminal.
    """
    if not any(map(_STDIN.search, request.files)):
        return _analyze(request, observe)
    with tempfile.TemporaryDirectory(prefix="stdin-") as folder:
        kept = _kept_stdin(Path(folder))
        files = tuple(_STDIN.sub(rf"\g<1>{kept}", file) for file in request.files)
        try:
            return _analyze(replace(request, files=files), observe)
        except ImportFault as error:
            said = (_renamed(one, str(kept)) for one in error.refusals)
            raise ImportFault(*said, text=str(error).replace(str(kept), STDIN)) from None


def _renamed(said: Refusal, kept: str) -> Refusal:
    given = {name: it.replace(kept, STDIN) if isinstance(it, str) else it for name, it in said.parameters.items()}
    return replace(said, parameters=given)


def _kept_stdin(folder: Path) -> Path:
    """The data from the pipe, as a file: its form must be seen before it is read."""
    if sys.stdin.isatty():
        raise UsageError(Refusal.of("terminal-as-results"))
    kept = folder / STDIN
    with kept.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return kept


def _analyze(request: AnalysisRequest, observe: Callable[[Event], None]) -> Analysis:
    """Read the files, and compare each condition with the baseline.

    Args:
        observe: hears how much is read, once that takes longer than a moment.
    """
    priors = parse_priors(request.priors)
    left_out: list[Refusal] = []
    arguments = _arguments(request.files)
    distinct = without_copies(_read(arguments, request, observe, left_out.append))
    observations = distinct.observations
    conditions = tuple(dict.fromkeys(o.group.condition for o in observations))
    if len(conditions) == 1:
        raise UsageError(Refusal.of("one-condition", condition=conditions[0], command=assigning(arguments)))
    remedy = assigning(arguments) if len(arguments) > 1 else ""
    settings = AnalysisSettings(
        baseline=baseline_of(conditions, request.baseline, remedy),
        tolerance=DEFAULT_TOLERANCE if request.tolerance is None else request.tolerance,
        is_tolerance_given=request.tolerance is not None,
        run_sd=request.run_sd,
        budget=request.budget,
        metric=request.metric,
        transaction=request.transaction,
        priors=priors,
        source=_source(observations),
        latency_limit_ms=None
        if request.latency_limit_seconds is None
        else round(1e3 * request.latency_limit_seconds, 9),  # no dust of binary digits
    )
    result, pictures = analyze_with_pictures(observations, settings)
    result = replace(
        result,
        budget=request.budget,
        is_encryption=_is_encryption(observations),
        comparisons=_with_published(result.comparisons, observations),
        cautions=tuple(
            dict.fromkeys(
                (
                    *_of_published(request.files),
                    *distinct.cautions,
                    *_cautions(observations),
                    *result.cautions,
                    *_without_tail(result),
                )
            )
        ),
        left_out=(*left_out, *distinct.left_out, *result.left_out),
    )
    return Analysis(result, pictures)


def _read(
    arguments: Sequence[Argument],
    request: AnalysisRequest,
    observe: Callable[[Event], None],
    on_refusal: Callable[[Refusal], None],
) -> tuple[Observation, ...]:
    """All observations; ``told`` hears of files in folders that are no results."""
    unit = None if request.unit is None else asked_unit(request.unit)
    found = read_files(
        arguments,
        unit=unit,
        column=request.column,
        input_format=request.input_format,
        progress=_progress(observe, [it.path for it in arguments]),
        on_refusal=on_refusal,
    )
    return tuple(_named(observation) for observation in found)


def _arguments(files: Sequence[str]) -> list[Argument]:
    """Files and their conditions as the user named them; a published table's file is in the package."""
    if not files:
        raise UsageError(Refusal.of("requires", what="tdelta analyze", needs="at least one file of results"))
    return parse_arguments([str(table(f.removeprefix(PREFIX)).path) if f.startswith(PREFIX) else f for f in files])


def _of_published(files: Sequence[str]) -> Iterator[Caution]:
    if any(file.startswith(PREFIX) for file in files):
        yield Caution.of("published-table")


def _named(found: Observation) -> Observation:
    """A published table's figures as the user named them, not by where the package happens to lie."""
    names = {str(known.path): f"{PREFIX}{known.name}" for known in tables()}
    is_stdin = Path(found.origin.file).name == STDIN
    name = STDIN if is_stdin else names.get(found.origin.file)
    return found if name is None else replace(found, origin=replace(found.origin, file=name))


def _progress(observe: Callable[[Event], None], paths: Sequence[Path]) -> Callable[[int], None]:
    """Tells how far the reading is, once it takes longer than a moment."""
    began = time.monotonic()
    megabytes = max(1, total_bytes(paths) // _MEGABYTE)
    done_bytes = 0

    def tick(more_bytes: int) -> None:
        nonlocal done_bytes
        done_bytes += more_bytes
        if time.monotonic() - began > _QUIET_SECONDS:
            observe(Phase("reading", f"{megabytes:,} MB", min(done_bytes // _MEGABYTE, megabytes), megabytes))

    return tick


def _with_published(comparisons: Sequence[Comparison], observations: Sequence[Observation]) -> tuple[Comparison, ...]:
    printed = {
        (o.group.condition, o.group.transaction, frozenset(o.group.levels), o.group.metric): o.published
        for o in observations
        if isinstance(o, Figure | Summary) and o.published
    }

    def of(c: Comparison) -> str | None:
        return printed.get((c.condition.condition, c.transaction, frozenset(c.levels), c.metric))

    return tuple(replace(c, source=replace(c.source, published=of(c))) for c in comparisons)


def _cautions(observations: Sequence[Observation]) -> tuple[Caution, ...]:
    """The importers' cautions: one for several files, with how many of them it is true."""
    files = {o.origin.file for o in observations}
    said: dict[Caution, dict[str, None]] = {}
    for one in observations:
        for caution in one.origin.cautions:
            said.setdefault(caution, {})[one.origin.file] = None
    return tuple(caution.at(_files_words(list(names), len(files))) for caution, names in said.items())


def _files_words(names: Sequence[str], total: int) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} of {total} files"


def _without_tail(result: AnalysisResult) -> Iterator[Caution]:
    """Files that a threshold could not be compared with, and the file that would have had the figures."""
    times = [c for c in result.comparisons if c.metric == RESPONSE_TIME]
    without = [c for c in times or result.comparisons if c.tail_reason]
    if not without:
        return
    some = f", {len(without)} of {len(times)} comparisons of response time" if len(without) < len(times) else ""
    reasons = list(dict.fromkeys(str(c.tail_reason) for c in without))
    more = f"; and {len(reasons) - _REASONS} more, in --json" if len(reasons) > _REASONS else ""
    formats = (origin.format for c in without for origin in c.source.origins)
    remedies = dict.fromkeys(WITH_TIMES[name] for name in formats if name in WITH_TIMES)
    remedy = f". To have one: {'; '.join(remedies)}" if remedies else ""
    yield Caution.of(
        "latency-limit-without-tail", some=some, why="; ".join(reasons[:_REASONS]), more=more, remedy=remedy
    )


def _is_encryption(observations: Sequence[Observation]) -> bool:
    """Whether the conditions' names, or a column's in their files, say that encryption is what they differ in."""
    return is_about_encryption({it.group.condition for it in observations}) or any(
        it.is_encryption for it in observations
    )


def _source(observations: Sequence[Observation]) -> str | None:
    found = dict.fromkeys(o.origin.source for o in observations if o.origin.source)
    return "; ".join(found) or None
