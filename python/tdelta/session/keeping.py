"""Labels and notes of stored runs, and their removal.

A run is rows of the store and nothing else; what it had on disk went when it ended, and pages and exports that were
written from it are their owner's. So nothing outside the store is ever touched. What a living process is at work on is
not removed.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tdelta.errors import StoreError, UsageError
from tdelta.measure.procfs import process_mark
from tdelta.messages import Refusal
from tdelta.processes import default_base
from tdelta.processes.files import is_owned
from tdelta.records.kept import RunKind
from tdelta.session.request import RunRequest
from tdelta.store import RunStatus, RunSummary, Store
from tdelta.store.store import compact, remove_runs, sizes_bytes
from tdelta.store.summaries import KIND, LABELS, NOTE, PROCESS, checked_labels, checked_note

_UNFINISHED = frozenset({RunStatus.PLANNED, RunStatus.RUNNING})


@dataclass(frozen=True, slots=True)
class Shelf:
    """The runs of a store, the newest first; ``damaged`` are those that are not what tdelta wrote, with why."""

    runs: tuple[RunSummary, ...]
    damaged: dict[str, str]
    sizes_bytes: dict[str, int]
    at_work: frozenset[str]

    def only(self, run_ids: Collection[str]) -> Shelf:
        return Shelf(
            tuple(run for run in self.runs if run.run_id in run_ids),
            {run_id: why for run_id, why in self.damaged.items() if run_id in run_ids},
            {run_id: size for run_id, size in self.sizes_bytes.items() if run_id in run_ids},
            self.at_work.intersection(run_ids),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """Which runs are pruned.

    Those that are older than ``older_seconds``, and the oldest while all take more than ``most_bytes``;
    None: not for that reason. Runs with a label or a note stay, unless ``labelled``. ``kinds`` are looked at.
    """

    older_seconds: float | None = None
    most_bytes: int | None = None
    labelled: bool = False
    kinds: Collection[RunKind] = tuple(RunKind)


def first_facts(request: RunRequest, kind: RunKind) -> dict[str, object]:
    """The facts that a run has from its beginning."""
    facts: dict[str, object] = {PROCESS: _this_process()}
    if kind is not RunKind.RUN:
        return {KIND: kind, **facts}
    labels = checked_labels(request.labels)
    return {LABELS: list(labels), **facts} if labels else facts


def mark_sitting(store: Store, run_id: str) -> None:
    """Note that this process is at work on the run."""
    try:
        store.put_fact(run_id, PROCESS, _this_process())
    except StoreError:
        if run_id in store.run_ids():
            raise
        raise UsageError(Refusal.of("run-removed", run=run_id)) from None


def label(store: Store, run_id: str, added: Sequence[str], removed: Sequence[str] = ()) -> tuple[str, ...]:
    """Give a run labels, and take others away. Returns those that it has then."""
    before = store.summary(run_id).labels
    if absent := [one for one in removed if one not in before]:
        known = ", ".join(before) or "none"
        raise UsageError(
            *(
                Refusal.of("unknown", kind="label", found=f"{one} of run {run_id}", hint=f" Expected one of {known}.")
                for one in absent
            )
        )
    labels = checked_labels([*(one for one in before if one not in removed), *added])
    _keep(store, run_id, LABELS, list(labels))
    return labels


def note(store: Store, run_id: str, text: str) -> str:
    """Keep a note with a run, in place of the one it has; an empty one removes that. Returns it."""
    store.summary(run_id)  # what is damaged is not sealed anew
    kept = checked_note(text)
    _keep(store, run_id, NOTE, kept)
    return kept


def _keep(store: Store, run_id: str, name: str, value: object) -> None:
    if value:
        store.put_fact(run_id, name, value)
    else:
        store.drop_fact(run_id, name)


def shelf(store: Store) -> Shelf:
    """All runs of a store; one that is damaged does not hide the others."""
    runs, damaged = [], {}
    for run_id in store.run_ids():
        try:
            runs.append(store.summary(run_id))
        except StoreError as fault:
            damaged[run_id] = str(fault)
    at_work = frozenset(run.run_id for run in runs if is_at_work(store, run))
    return Shelf(tuple(runs), damaged, sizes_bytes(store), at_work)


def is_at_work(store: Store, run: RunSummary) -> bool:
    """Whether a living process is at work on the run.

    It has the folder of the run's twins; before it has that, and where that lies elsewhere for this process, it is the
    process that the run names.
    """
    directory = store.settings(run.run_id).options.get("directory")
    if is_owned(Path(str(directory)) if directory else default_base(), run.run_id):
        return True
    named = store.get_fact(run.run_id, PROCESS)
    if run.status not in _UNFINISHED or not isinstance(named, dict) or not isinstance(named.get("pid"), int):
        return False
    return named.get("mark") is not None and process_mark(named["pid"]) == named["mark"]


def remove(store: Store, run_ids: Sequence[str]) -> bool:
    """Remove runs with all that the store has of them, all of them or none.

    Returns:
        Whether the store's file is smaller by that: not while a run is at work, whose trials that would disturb.
    """
    busy = []
    for run_id in run_ids:
        with suppress(StoreError):  # a damaged one is nobody's work
            if is_at_work(store, store.summary(run_id)):
                busy.append(Refusal.of("run-at-work", run=run_id))
    if busy:
        raise UsageError(*busy)
    remove_runs(store, run_ids)
    return not shelf(store).at_work and compact(store)


def stale(found: Shelf, which: Stale, now_unix_seconds: float) -> tuple[RunSummary, ...]:
    """The runs that would be pruned, the oldest first."""
    oldest_first = found.runs[::-1]
    may_go = [run for run in oldest_first if _may_go(run, found, which)]
    old = [run for run in may_go if _is_older(run, which, now_unix_seconds)]
    return (*old, *_too_large(found, which, old, [run for run in may_go if run not in old]))


def _too_large(
    found: Shelf, which: Stale, gone: Sequence[RunSummary], may_go: Sequence[RunSummary]
) -> Iterator[RunSummary]:
    left = sum(found.sizes_bytes.values()) - sum(found.sizes_bytes[run.run_id] for run in gone)
    for run in may_go:
        if which.most_bytes is None or left <= which.most_bytes:
            return
        left -= found.sizes_bytes[run.run_id]
        yield run


def _may_go(run: RunSummary, found: Shelf, which: Stale) -> bool:
    is_kept = bool(run.labels or run.note) and not which.labelled
    return run.kind in which.kinds and run.run_id not in found.at_work and not is_kept


def _is_older(run: RunSummary, which: Stale, now_unix_seconds: float) -> bool:
    age = now_unix_seconds - run.created_unix_seconds
    return which.older_seconds is not None and age > which.older_seconds


def _this_process() -> dict[str, object]:
    return {"pid": os.getpid(), "mark": process_mark()}
