"""A kind of finding: its record, the model that computes it from a run, and what is shown of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tdelta.document.blocks import Block, Line
from tdelta.messages import Caution
from tdelta.records import Finding, Level, RunResult, RunSettings, StorageFound, Trial, Verdict
from tdelta.records.findings import FINDINGS

if TYPE_CHECKING:
    from tdelta.findings.published import PublishedFigure
    from tdelta.inference.cost_breakdown import Explained

F = TypeVar("F", bound=Finding)

FOUND = "Found"
"""The title of lines of the answer on what needs no statistics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """Everything that findings are computed from.

    Attributes:
        trials: without their histograms.
        read_trials: gives the same trials with their histograms, one by one.
        verdicts: as the checks left them.
        known: findings that were made already: by models of the verdicts, checks, profiles and the search of files.
        cpus: how many a server and its client may use together.
        storages: by the level of the factor, what twins were found to be stored on.
        data_bytes: by condition, the size of the loaded data.
        published: the figures that the run's study was published with.
        levels: those of factors that the run does not vary.
        of_transactions: the trials that are neither loads nor actions.
        is_spilling: whether the workload is to write temporary files.
        is_writing: whether its transactions change rows.
        scripts: the statements of each transaction type.
        headings: by heading, the engine's counters of a statement to add up, and words for them.
        explained: what was measured for a cost breakdown apart from the trials.
    """

    settings: RunSettings
    trials: Sequence[Trial]
    read_trials: Callable[[], Iterable[Trial]] = tuple
    verdicts: Sequence[Verdict] = ()
    known: Sequence[Finding] = ()
    cpus: int = 1
    storages: Mapping[str, StorageFound] = field(default_factory=dict)
    data_bytes: Mapping[str, int] = field(default_factory=dict)
    published: Sequence[PublishedFigure] = ()
    levels: Mapping[str, Level] = field(default_factory=dict)
    of_transactions: Sequence[Trial] = ()
    is_spilling: bool = False
    is_writing: bool = False
    scripts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    headings: Mapping[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)
    explained: Explained | None = None

    def of(self, kind: type[F]) -> tuple[F, ...]:
        return tuple(one for one in self.known if isinstance(one, kind))


def _nothing(_found: object, _of: object) -> Iterator[Any]:
    yield from ()


KINDS: dict[str, Kind[Any]] = {}


@dataclass(frozen=True, slots=True)
class Kind(Generic[F]):
    """A kind of finding; declaring it makes it known.

    Attributes:
        record: what one finding is, and what the kind is called in JSON.
        of_run: the model, where findings are not known already.
        blocks: what terminal and page show of those that a run has.
        part: where on the page: the name of a section of its own, or the section that it is added to.
        title: of a section of its own.
        lines: what they add to the lines of the answer.
        cautions: what they add to the run's cautions.
    """

    record: type[F]
    of_run: Callable[[FinishedRun], Iterable[F]] | None = None
    blocks: Callable[[Sequence[F], RunResult], Iterable[Block]] = _nothing
    part: str = ""
    title: str = ""
    lines: Callable[[Sequence[F], RunResult], Iterable[Line]] = _nothing
    cautions: Callable[[Sequence[F], FinishedRun], Iterable[Caution]] = _nothing

    def __post_init__(self) -> None:
        KINDS[self.record.FINDING] = self
        FINDINGS[self.record.FINDING] = self.record

    def found(self, run: FinishedRun) -> tuple[F, ...]:
        return run.of(self.record) if self.of_run is None else tuple(self.of_run(run))

    def shown(self, result: RunResult) -> list[Block]:
        """Its blocks; nothing where a run has none of its findings."""
        found = result.of(self.record)
        return list(self.blocks(found, result)) if found else []
