"""Machine calibrations in the store: one row each, never changed, and looked up by what a run must have in common."""

from __future__ import annotations

import hashlib
import json

from tdelta.records import CalibrationKey, MachineCalibration
from tdelta.store.codec import dumps, encode, loads
from tdelta.store.faults import decoding
from tdelta.store.seals import CALIBRATION, seal
from tdelta.store.store import Store


def key_digest(key: CalibrationKey) -> str:
    """A digest of all that a run must have in common with a calibration, whatever the order of its mappings."""
    return hashlib.sha256(json.dumps(encode(key), sort_keys=True).encode()).hexdigest()


def fresh_calibration_id(store: Store) -> str:
    """Draw an id that this store does not have, e.g. ``cal-20261122-kqmt``: the local date and four letters."""
    taken = {found for (found,) in store._query("SELECT calibration_id FROM calibrations")}
    while (drawn := f"cal-{store.fresh_run_id()}") in taken:
        continue
    return drawn


def add_calibration(store: Store, calibration: MachineCalibration) -> None:
    """Keep a calibration.

    Raises:
        StoreError: the store has one of that id already.
    """
    key = calibration.key
    cells = (calibration.calibration_id, calibration.created_unix_seconds, key.engine, key.workload)
    with store._transaction() as db:
        db.execute(
            "INSERT INTO calibrations (calibration_id, created_unix_seconds, engine, workload, key, calibration)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (*cells, key_digest(key), dumps(calibration)),
        )
        seal(db, CALIBRATION, calibration.calibration_id)


def newest_calibration(store: Store, key: CalibrationKey, *, since_unix_seconds: float) -> MachineCalibration | None:
    """The newest calibration that has all of this in common and was made since then; None where there is none."""
    rows = store._query(
        "SELECT calibration_id, calibration FROM calibrations WHERE key = ? AND created_unix_seconds >= ?"
        " ORDER BY number DESC LIMIT 1",
        (key_digest(key), since_unix_seconds),
    )
    if not rows:
        return None
    found, text = rows[0]
    store._require(CALIBRATION, found)
    with decoding(store.path):
        return loads(MachineCalibration, text)
