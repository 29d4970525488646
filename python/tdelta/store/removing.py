"""How much of the store each run takes, and how runs go out of it. Nothing but rows of the store is ever removed."""

from __future__ import annotations

from collections.abc import Sequence

from tdelta.errors import StorageFault, StoreError
from tdelta.store.faults import store_errors
from tdelta.store.rows import MAPPINGS, MEASURED_COLUMNS
from tdelta.store.seals import delete
from tdelta.store.store import Store

_TRIAL_TEXTS = " + ".join(f"length({name})" for name in ("condition", *sorted(MAPPINGS & MEASURED_COLUMNS.keys())))
_SIZES = f"""
SELECT run_id, sum(bytes) FROM (
    SELECT run_id, length(settings) + length(machine) + length(versions) + coalesce(length(result), 0) AS bytes
    FROM runs
    UNION ALL SELECT run_id, length(value) FROM run_facts
    UNION ALL SELECT run_id, {_TRIAL_TEXTS} FROM trials
    UNION ALL SELECT run_id, length(name) + length(payload) FROM histograms JOIN trials USING (trial)
) GROUP BY run_id
"""


def sizes_bytes(store: Store) -> dict[str, int]:
    """About how many bytes of the store each run takes, by its id: texts and histograms, without what SQLite adds."""
    return {run_id: int(size or 0) for run_id, size in store._query(_SIZES)}


def remove_runs(store: Store, run_ids: Sequence[str]) -> None:
    """Remove runs with their trials, histograms, facts and seals; all of them or none.

    Calibrations stay, whose runs these may have been.

    Raises:
        UnknownName: the store lacks one.
    """
    for run_id in run_ids:
        store.require(run_id)
    with store._transaction() as db:
        for run_id in run_ids:
            delete(db, run_id)


def compact(store: Store) -> bool:
    """Give the room of what was removed back to the file system. Returns whether it could be.

    It cannot, and nothing is lost by it, where the disk has no room for a copy of the store or another process is
    writing to it; what comes next then goes where the removed was.
    """
    try:
        with store_errors(store.path):
            store._db.execute("VACUUM")
    except (StorageFault, StoreError):
        return False
    return True
