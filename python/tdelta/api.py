"""tdelta from Python: the same experiments as the command line's, with answers as objects.

    import tdelta.api as td

    run = td.run(max_seconds=60)              # as `tdelta run --max-time 60s`
    print(run)                                # the answer in a sentence
    run.verdicts[0].ratio.hdi95               # of the ratio of means
    pandas.DataFrame(run.trials())            # or polars.DataFrame(...)
    run                                       # in a notebook: the page

    td.analyze("plain/", "tde/")              # as `tdelta analyze plain/ tde/`
    td.load("last")                           # a run of the store, whoever made it

Options are the fields of the records in `tdelta.session.request`; everything that is not given has the command line's
default. No signal handler is installed and no alarm set: Ctrl-C is a ``KeyboardInterrupt``, the run's servers
and files go, its trials stay in the store, and the end of its time is seen between stages and blocks.
"""

from __future__ import annotations

import dataclasses
import html
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tdelta.cli.exit_codes import analysis_exit_code, exit_code
from tdelta.errors import UnknownName
from tdelta.inference.observed.pictures import ComparisonPicture
from tdelta.records import AnalysisResult, Comparison, Decision, Event, RunResult, Verdict
from tdelta.report.analysis.details import analysis_blocks, analysis_document
from tdelta.report.analysis.page import compose_analysis
from tdelta.report.answer import files_answer, run_answer
from tdelta.report.details import run_blocks
from tdelta.report.document import document
from tdelta.report.drawing import draw
from tdelta.report.page.compose import compose
from tdelta.report.page.file import render
from tdelta.report.page.gather import gather
from tdelta.session import RunRequest, conduct
from tdelta.session.analyzing import AnalysisRequest, analyze_files
from tdelta.store import Store
from tdelta.store.export import Cell, columns

__all__ = ["Analysis", "Run", "analyze", "load", "run"]

Observer = Callable[[Event], None]

_FRAME = (
    '<iframe srcdoc="{page}" title="tdelta" style="width:100%;height:75vh;border:0" sandbox="allow-scripts"></iframe>'
)
"""A page has its own styles, which must not mix with the notebook's."""


class _Answered(ABC):
    """Common base of a run and an analysis: an answer, and how a notebook shows it."""

    @property
    @abstractmethod
    def answer(self) -> str:
        """The answer in a sentence."""

    @abstractmethod
    def to_html(self) -> str:
        """One file's text, which needs no network."""

    @abstractmethod
    def _text(self) -> str:
        """The text that the command line prints."""

    def __str__(self) -> str:
        return self.answer

    def _repr_html_(self) -> str:
        return _FRAME.format(page=html.escape(self.to_html()))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self) if cycle else self._text())


class Run(_Answered):
    """A finished run, read from its store.

    Attributes:
        result: the whole record, a `tdelta.records.RunResult`.
        store: the file that keeps it; None for the default one.
    """

    def __init__(self, result: RunResult, store: Path | None = None) -> None:
        self.result = result
        self.store = store

    @property
    def run_id(self) -> str:
        """The id that the store and every command know."""
        return self.result.settings.run_id

    @property
    def answer(self) -> str:
        """The answer in a sentence."""
        return run_answer(self.result).sentence

    @property
    def decision(self) -> Decision:
        """The worst of the primary verdicts."""
        return self.result.decision

    @property
    def exit_code(self) -> int:
        """The command line's exit code for this run (docs/cli.md)."""
        return int(exit_code(self.result))

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Every verdict, primary ones first."""
        return tuple(sorted(self.result.verdicts, key=lambda verdict: not verdict.primary))

    def trials(self) -> dict[str, list[Cell]]:
        """The trials as columns of equal length, which `pandas.DataFrame` and `polars.DataFrame` take as they are.

        The columns are those of ``tdelta export --format csv`` (docs/formats.md); None where a trial has no value.

        Raises:
            UsageError: the store is gone.
            UnknownName: the run is gone.
        """
        with Store.open(self.store, must_exist=True) as opened:
            return columns(opened, self.run_id)

    def to_dict(self) -> dict[str, Any]:
        """The document of ``--json`` (docs/json.md)."""
        return document(self.result, self.exit_code)

    def to_html(self) -> str:
        """The page of ``tdelta report``: one file's text, which needs no network.

        Raises:
            UsageError: the store is gone.
            UnknownName: the run is gone.
        """
        with Store.open(self.store, must_exist=True) as opened:
            return render(compose(gather(opened, self.run_id)))

    def _text(self) -> str:
        return draw(run_blocks(self.result))

    def __repr__(self) -> str:
        return f"Run({self.run_id}: {self.decision.value})"


class Analysis(_Answered):
    """Results of other tools, judged.

    Attributes:
        result: the whole record, a `tdelta.records.AnalysisResult`.
    """

    def __init__(self, result: AnalysisResult, pictures: tuple[ComparisonPicture, ...]) -> None:
        self.result = result
        self._pictures = pictures

    @property
    def answer(self) -> str:
        """The answer in a sentence."""
        return files_answer(self.result).sentence

    @property
    def decision(self) -> Decision:
        """The worst of the primary comparisons."""
        return self.result.decision

    @property
    def exit_code(self) -> int:
        """The command line's exit code for this analysis (docs/cli.md)."""
        return int(analysis_exit_code(self.result))

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Each condition against the baseline, metric by metric."""
        return self.result.comparisons

    def to_dict(self) -> dict[str, Any]:
        """The document of ``tdelta analyze --json`` (docs/json.md)."""
        return analysis_document(self.result, self.exit_code)

    def to_html(self) -> str:
        """The page of ``tdelta analyze --output``: one file's text, which needs no network."""
        return render(compose_analysis(self.result, self._pictures, ""))

    def _text(self) -> str:
        return draw(analysis_blocks(self.result))

    def __repr__(self) -> str:
        return f"Analysis({self.decision.value})"


def run(study: str | None = None, *, observer: Observer | None = None, **options: Any) -> Run:
    """Conduct a run and keep it in the store, as ``tdelta run`` does.

    Args:
        study: a built-in one, or None.
        observer: called with each `tdelta.records.Event` as it happens, in this thread.
        **options: by the names in `tdelta.session.request.OPTIONS`: shares are quotients less one, sizes bytes, times
            seconds, ``vary`` maps a factor to its levels.

    Raises:
        UnknownName: an option or a study that there is not.
        UsageError: what was asked cannot be done; its ``refusals`` say why, as codes with parameters.
        TimeFault: not even one short round fits into ``max_seconds``.
        EnvironmentFault: the machine cannot do it (no room, no engine).
        KeyboardInterrupt: Ctrl-C; trials that were run are in the store, and ``tdelta run --resume last`` goes on.
    """
    given = {name: value for name, value in {"study": study, **options}.items() if value is not None}
    request = RunRequest(**given)
    return Run(conduct(request, observer or _ignored), request.store)


def load(run_id: str = "last", *, store: Path | str | None = None) -> Run:
    """A run of the store, whoever made it.

    Args:
        run_id: its id, the beginning of one, or ``last``.
        store: the file; None for the default one.

    Raises:
        UnknownName: there is no such run.
        UsageError: there is no such store.
        StoreError: the run has no answer yet, or it cannot be read.
    """
    path = None if store is None else Path(store)
    with Store.open(path, must_exist=True) as opened:
        return Run(opened.result(opened.resolve(run_id)), path)


def analyze(*files: Path | str, observer: Observer | None = None, **options: Any) -> Analysis:
    """Judge results that other tools wrote, as ``tdelta analyze`` does.

    Args:
        *files: files and folders, and published tables as ``published:NAME``.
        observer: called with each `tdelta.records.Event` as it happens, in this thread.
        **options: fields of `tdelta.session.analyzing.AnalysisRequest`.

    Raises:
        UnknownName: an option that there is not.
        UsageError: what was asked cannot be done.
        ImportFault: a file cannot be read; names all of them.
    """
    known = {field.name for field in dataclasses.fields(AnalysisRequest)} - {"files"}
    if unknown := options.keys() - known:
        raise UnknownName("option", min(unknown), sorted(known))
    found = analyze_files(AnalysisRequest(tuple(map(str, files)), **options), observer or _ignored)
    return Analysis(found.result, found.pictures)


def _ignored(_event: Event) -> None:
    """The observer where none was given."""
