"""A whole run but for its trials, out of one store and into another."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tdelta.errors import UsageError
from tdelta.messages import Refusal
from tdelta.records import RunResult, RunSettings, Trial
from tdelta.records.kept import RunKind
from tdelta.store.codec import dumps
from tdelta.store.seals import RUN, put_fact, put_run, put_trial, seal
from tdelta.store.store import Store
from tdelta.store.summaries import KIND, LABELS, NOTE, RunStatus


@dataclass(frozen=True, slots=True)
class Whole:
    """A run that has its answer; ``facts`` are what its owner says of it, and of what kind it is."""

    settings: RunSettings
    created_unix_seconds: float
    machine: Mapping[str, object]
    versions: Mapping[str, str]
    result: RunResult
    facts: Mapping[str, object]


def whole(store: Store, run_id: str) -> Whole:
    """A run of a store, with its labels and its note.

    Raises:
        UnknownName: the store has no such run.
        StoreError: the run has no result yet.
    """
    summary = store.summary(run_id)
    facts = {LABELS: list(summary.labels)} if summary.labels else {}
    return Whole(
        settings=store.settings(run_id),
        created_unix_seconds=summary.created_unix_seconds,
        machine=store.machine(run_id),
        versions=store.versions(run_id),
        result=store.result(run_id),
        facts={**facts, **({NOTE: summary.note} if summary.note else {})},
    )


def take_in(store: Store, run: Whole, trials: Iterable[Trial]) -> None:
    """Put a run into a store, all of it or nothing.

    Raises:
        StoreError: the store has a run of that id already.
    """
    run_id = run.settings.run_id
    status = RunStatus.INTERRUPTED if run.result.interrupted else RunStatus.DONE
    with store._transaction() as db:
        put_run(db, run.settings, run.created_unix_seconds, run.machine, run.versions)
        for key, value in run.facts.items():
            put_fact(db, run_id, key, value)
        for trial in trials:
            put_trial(db, run_id, trial)
        db.execute("UPDATE runs SET status = ?, result = ? WHERE run_id = ?", (status, dumps(run.result), run_id))
        seal(db, RUN, run_id)


def adopt(store: Store, opened: Store, run_id: str) -> None:
    """Put the run of a pack into a store as one that was opened; the same run is there once, whoever made it.

    Raises:
        UsageError: the store has another run of that id.
    """
    run = whole(opened, run_id)
    if run_id not in store.run_ids():
        marked = dataclasses.replace(run, facts={**run.facts, KIND: RunKind.IMPORTED})
        take_in(store, marked, opened.iter_trials(run_id))
    elif not _is_same(whole(store, run_id), run):
        raise UsageError(Refusal.of("pack-of-other-run", run=run_id, store=str(store.path)))


def _is_same(one: Whole, other: Whole) -> bool:
    """Whether they have the same settings and the same answer, whatever their labels."""
    return (dumps(one.settings), dumps(one.result)) == (dumps(other.settings), dumps(other.result))
